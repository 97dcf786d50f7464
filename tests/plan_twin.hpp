// SPDX-License-Identifier: Apache-2.0
// tests/plan_twin.hpp: records a program, and evaluates each node naively: over whole arrays, one node at a time.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plan/types.hpp"
#include "upsweep/plan.hpp"

namespace upsweep::plan::test {

using detail::visit_element;

/// An array of any type: one element per 64 bits.
struct Elements {
  ElementType type = ElementType::float64;
  std::vector<std::uint64_t> bits;

  [[nodiscard]] std::size_t size() const { return bits.size(); }
  template <class T>
  [[nodiscard]] T at(std::size_t i) const {
    T number;
    std::memcpy(&number, &bits[i], sizeof number);
    return number;
  }
  template <class T>
  void push(T number) {
    bits.push_back(0);
    std::memcpy(&bits.back(), &number, sizeof number);
  }
  [[nodiscard]] std::int64_t integer(std::size_t i) const {
    return visit_element(type, [&]<class T>(std::type_identity<T>) { return static_cast<std::int64_t>(at<T>(i)); });
  }
  /// Returns the elements one after the other, as a column has them.
  [[nodiscard]] std::vector<std::byte> packed() const {
    const auto size = static_cast<std::size_t>(size_of(type));
    std::vector<std::byte> bytes(bits.size() * size);
    for (std::size_t i = 0; i < bits.size(); ++i) std::memcpy(bytes.data() + i * size, &bits[i], size);
    return bytes;
  }
};

// ------------------------------------------------------------------------------------------------ functions of numbers

template <class T>
T naive_remainder(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    const T rest = std::fmod(x, y);
    if (y == 0) return rest;
    if (rest == 0) return std::copysign(T{0}, y);
    return (rest < 0) != (y < 0) ? rest + y : rest;
  } else {
    if (y == 0) return 0;
    if (std::is_signed_v<T> && y == static_cast<T>(-1)) return 0;
    const T rest = static_cast<T>(x % y);
    return rest != 0 && (rest < 0) != (y < 0) ? static_cast<T>(rest + y) : rest;
  }
}

template <class T>
T naive_floor_divide(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    if (y == 0) return x / y;
    const T rest = std::fmod(x, y);
    T quotient = (x - rest) / y;
    if (rest != 0 && (y < 0) != (rest < 0)) quotient -= 1;
    if (quotient == 0) return std::copysign(T{0}, x / y);
    const T rounded = std::floor(quotient);
    return quotient - rounded > T(0.5) ? rounded + 1 : rounded;
  } else {
    using U = std::make_unsigned_t<T>;
    if (y == 0) return 0;
    if (std::is_signed_v<T> && y == static_cast<T>(-1)) return static_cast<T>(U{0} - static_cast<U>(x));
    const T quotient = static_cast<T>(x / y);
    return static_cast<T>(quotient - (x % y != 0 && (x < 0) != (y < 0) ? 1 : 0));
  }
}

/// Integers of two values modulo 2^bits, without undefined overflow.
template <class T, class F>
T modulo(T x, T y, F f) {
  return static_cast<T>(f(static_cast<std::uint64_t>(x), static_cast<std::uint64_t>(y)));
}

template <class T>
T naive_arithmetic(Op op, T x, T y) {
  constexpr bool kIsFloat = std::is_floating_point_v<T>;
  switch (op) {
    case Op::add:
      if constexpr (kIsFloat)
        return x + y;
      else
        return modulo(x, y, [](auto a, auto b) { return a + b; });
    case Op::subtract:
      if constexpr (kIsFloat)
        return x - y;
      else
        return modulo(x, y, [](auto a, auto b) { return a - b; });
    case Op::multiply:
      if constexpr (kIsFloat)
        return x * y;
      else
        return modulo(x, y, [](auto a, auto b) { return a * b; });
    case Op::floor_divide:
      return naive_floor_divide(x, y);
    case Op::remainder:
      return naive_remainder(x, y);
    case Op::fmod:
      if constexpr (kIsFloat)
        return std::fmod(x, y);
      else
        return y == 0 || (std::is_signed_v<T> && y == static_cast<T>(-1)) ? T{0} : static_cast<T>(x % y);
    case Op::maximum:
      return x >= y || x != x ? x : y;
    case Op::minimum:
      return x <= y || x != x ? x : y;
    case Op::negative:
      if constexpr (kIsFloat)
        return -x;
      else
        return modulo(T{0}, x, [](auto a, auto b) { return a - b; });
    case Op::absolute:
      if constexpr (kIsFloat)
        return std::fabs(x);
      else
        return x < 0 ? modulo(T{0}, x, [](auto a, auto b) { return a - b; }) : x;
    case Op::sign:
      return x > 0 ? T{1} : x < 0 ? static_cast<T>(-1) : x == 0 ? T{0} : x;
    default:
      break;
  }
  if constexpr (kIsFloat) {
    switch (op) {
      case Op::divide:
        return x / y;
      case Op::fmax:
        return x >= y || y != y ? x : y;
      case Op::fmin:
        return x <= y || y != y ? x : y;
      case Op::copysign:
        return std::copysign(x, y);
      case Op::floor:
        return std::floor(x);
      case Op::ceil:
        return std::ceil(x);
      case Op::trunc:
        return std::trunc(x);
      case Op::rint:
        return std::nearbyint(x);
      case Op::sqrt:
        return std::sqrt(x);
      case Op::power:
        return std::pow(x, y);
      case Op::arctan2:
        return std::atan2(x, y);
      case Op::hypot:
        return std::hypot(x, y);
      case Op::cbrt:
        return std::cbrt(x);
      case Op::exp:
        return std::exp(x);
      case Op::exp2:
        return std::exp2(x);
      case Op::expm1:
        return std::expm1(x);
      case Op::log:
        return std::log(x);
      case Op::log2:
        return std::log2(x);
      case Op::log10:
        return std::log10(x);
      case Op::log1p:
        return std::log1p(x);
      case Op::sin:
        return std::sin(x);
      case Op::cos:
        return std::cos(x);
      case Op::tan:
        return std::tan(x);
      case Op::arcsin:
        return std::asin(x);
      case Op::arccos:
        return std::acos(x);
      case Op::arctan:
        return std::atan(x);
      case Op::sinh:
        return std::sinh(x);
      case Op::cosh:
        return std::cosh(x);
      case Op::tanh:
        return std::tanh(x);
      case Op::arcsinh:
        return std::asinh(x);
      case Op::arccosh:
        return std::acosh(x);
      case Op::arctanh:
        return std::atanh(x);
      default:
        break;
    }
  } else {
    constexpr T kBits = static_cast<T>(8 * sizeof(T));
    const bool is_shift = y >= 0 && y < kBits;
    switch (op) {
      case Op::power: {
        if (y < 0) return 0;
        std::uint64_t result = 1, factor = static_cast<std::uint64_t>(x);
        for (T left = y; left > 0; left = static_cast<T>(left / 2), factor *= factor) {
          if (left % 2 != 0) result *= factor;
        }
        return static_cast<T>(result);
      }
      case Op::bit_and:
        return static_cast<T>(x & y);
      case Op::bit_or:
        return static_cast<T>(x | y);
      case Op::bit_xor:
        return static_cast<T>(x ^ y);
      case Op::invert:
        return static_cast<T>(~x);
      case Op::shift_left:
        return is_shift ? static_cast<T>(static_cast<std::uint64_t>(x) << y) : T{0};
      case Op::shift_right:
        return is_shift ? static_cast<T>(x >> y) : static_cast<T>(x < 0 ? -1 : 0);
      default:
        break;
    }
  }
  ADD_FAILURE() << "no naive " << name(op);
  return x;
}

template <class T>
bool naive_test(Op op, T x, T y) {
  switch (op) {
    case Op::less:
      return x < y;
    case Op::less_equal:
      return x <= y;
    case Op::greater:
      return x > y;
    case Op::greater_equal:
      return x >= y;
    case Op::equal:
      return x == y;
    case Op::unequal:
      return x != y;
    default:
      break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    switch (op) {
      case Op::is_nan:
        return std::isnan(x);
      case Op::is_infinite:
        return std::isinf(x);
      case Op::is_finite:
        return std::isfinite(x);
      default:
        return std::signbit(x);
    }
  }
  ADD_FAILURE() << "no naive " << name(op);
  return false;
}

inline bool is_test(Op op) { return (op >= Op::less && op <= Op::unequal) || (op >= Op::is_nan && op <= Op::sign_bit); }

/// The operation on two numbers of one type; of one operand y is not used.
inline std::uint64_t naive(Op op, ElementType type, std::uint64_t x, std::uint64_t y) {
  const Elements operands{type, {x, y}};
  Elements result;
  visit_element(type, [&]<class T>(std::type_identity<T>) {
    const T a = operands.at<T>(0), b = operands.at<T>(1);
    if (is_test(op)) {
      result.push(naive_test(op, a, b));
    } else if constexpr (std::is_same_v<T, bool>) {
      result.push(op == Op::bit_and ? a && b : op == Op::bit_or ? a || b : op == Op::bit_xor ? a != b : !a);
    } else {
      result.push(naive_arithmetic(op, a, b));
    }
  });
  return result.bits[0];
}

template <class To, class T>
To naive_conversion(T x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != 0;
  } else if constexpr (std::is_floating_point_v<T> && std::is_integral_v<To>) {
    const long double low = static_cast<long double>(std::numeric_limits<To>::min()) - 1;
    const long double end = static_cast<long double>(std::numeric_limits<To>::max()) + 1;
    const bool fits = static_cast<long double>(x) > low && static_cast<long double>(x) < end;
    return fits ? static_cast<To>(x) : std::numeric_limits<To>::min();
  } else {
    return static_cast<To>(x);
  }
}

// -------------------------------------------------------------------------------------------------------- the programs

/// The members of every tuple of k of n elements, in lexicographic order.
inline std::vector<std::vector<int>> naive_tuples(int n, int k, bool replacement) {
  std::vector<std::vector<int>> tuples;
  std::vector<int> tuple;
  const auto extend = [&](auto&& self, int first) -> void {
    if (static_cast<int>(tuple.size()) == k) {
      tuples.push_back(tuple);
      return;
    }
    for (int i = first; i < n; ++i) {
      tuple.push_back(i);
      self(self, replacement ? i : i + 1);
      tuple.pop_back();
    }
  };
  extend(extend, 0);
  return tuples;
}

/// A Builder, and what its domains and values are for given inputs.
// ---------------------------------------------------------------------------------------------------------- histograms

/// The number of a bin: -1 for the underflow, n for the overflow.
inline std::int64_t naive_bin(const Axis& axis, std::int64_t x) {
  if (axis.kind == Axis::Kind::integer) {
    return x < axis.start ? -1 : x < axis.stop ? x - axis.start : axis.stop - axis.start;
  }
  return std::ranges::find(axis.values, x) - axis.values.begin();
}
inline std::int64_t naive_bin(const Axis& axis, double x) {
  if (axis.kind == Axis::Kind::integer) {
    const double z = x - static_cast<double>(axis.start);
    const auto n = axis.stop - axis.start;
    return z < static_cast<double>(n) ? (z >= 0 ? static_cast<std::int64_t>(z) : -1) : n;
  }
  if (axis.kind == Axis::Kind::variable) {
    if (!axis.overflow && x == axis.edges.back()) return static_cast<std::int64_t>(axis.edges.size()) - 2;
    return std::upper_bound(axis.edges.begin(), axis.edges.end(), x) - axis.edges.begin() - 1;
  }
  const double z = (x - axis.low) / (axis.high - axis.low);
  if (z < 0) return -1;
  if (z < 1) return static_cast<std::int64_t>(std::floor(z * static_cast<double>(axis.bins)));
  return !axis.overflow && z == 1 ? axis.bins - 1 : axis.bins;
}
inline std::int64_t naive_bins(const Axis& axis) {
  switch (axis.kind) {
    case Axis::Kind::regular:
      return axis.bins;
    case Axis::Kind::variable:
      return static_cast<std::int64_t>(axis.edges.size()) - 1;
    case Axis::Kind::integer:
      return axis.stop - axis.start;
    default:
      return static_cast<std::int64_t>(axis.values.size());
  }
}

class Twin {
 public:
  struct Lists {
    std::vector<std::int64_t> offsets;  ///< over the parent; empty for the events and filters of them
    std::int64_t length = 0;
    std::map<int, std::vector<std::int64_t>> sources;
  };

  Builder builder;
  std::vector<Column> columns;
  std::vector<Scalar> parameters;
  std::int64_t events = 0;

  explicit Twin(std::int64_t count) : events(count) { lists_[builder.events()] = {{}, count, {}}; }

  [[nodiscard]] const Lists& lists(Domain d) const { return lists_.at(d); }
  [[nodiscard]] const Elements& elements(Value v) const { return values_.at(v); }

  // Inputs: `begin` elements precede those of the run.

  Domain list(Domain parent, const std::vector<std::int64_t>& lengths, ElementType type, std::int64_t begin) {
    std::int64_t before = begin;
    Elements given{type, {}};
    Lists made{{0}, 0, {}};
    const auto put = [&](std::int64_t offset) {
      visit_element(type, [&]<class T>(std::type_identity<T>) { given.push(static_cast<T>(offset)); });
    };
    const std::int64_t skipped = begins_.count(parent) != 0 ? begins_[parent] : 0;
    for (std::int64_t i = 0; i < skipped; ++i) put(0);
    put(before);
    for (const std::int64_t length : lengths) {
      put(before += length);
      made.offsets.push_back(made.offsets.back() + length);
    }
    made.length = made.offsets.back();
    const Domain d = builder.list(parent, add_column(given), type);
    lists_[d] = made, begins_[d] = begin;
    return d;
  }
  Value column(const Elements& elements, Domain d) {
    Elements given{elements.type, std::vector<std::uint64_t>(static_cast<std::size_t>(begins_[d]), 0)};
    given.bits.insert(given.bits.end(), elements.bits.begin(), elements.bits.end());
    const Value v = builder.column(add_column(given), elements.type, d);
    values_[v] = elements;
    return v;
  }
  int add_column(const Elements& elements) {
    columns_.push_back(elements.packed());
    columns.push_back({columns_.back().data(), static_cast<std::int64_t>(elements.size())});
    return static_cast<int>(columns.size()) - 1;
  }
  Value constant(Scalar number) {
    const Value v = builder.constant(number);
    values_[v] = {number.type(), {number.bits()}};
    return v;
  }
  Value parameter(Scalar number) {
    parameters.push_back(number);
    const Value v = builder.parameter(static_cast<int>(parameters.size()) - 1, number.type());
    values_[v] = {number.type(), {number.bits()}};
    return v;
  }

  // Values.

  Value map(Op op, std::vector<Value> args) {
    const Value v = builder.map(op, args);
    Elements made{builder.type(v), {}};
    const std::size_t n = size(v);
    for (std::size_t i = 0; i < n; ++i) {
      if (op == Op::where) {
        made.bits.push_back(bits(args[0], i) != 0 ? bits(args[1], i) : bits(args[2], i));
      } else {
        made.bits.push_back(naive(op, builder.type(args[0]), bits(args[0], i), bits(args.back(), i)));
      }
    }
    return values_[v] = made, v;
  }
  Value convert(Value x, ElementType type) {
    const Value v = builder.convert(x, type);
    Elements made{type, {}};
    for (std::size_t i = 0; i < size(v); ++i) {
      visit_element(type, [&]<class To>(std::type_identity<To>) {
        visit_element(values_[x].type, [&]<class T>(std::type_identity<T>) {
          made.push(naive_conversion<To>(values_[x].at<T>(is_scalar(x) ? 0 : i)));
        });
      });
    }
    return values_[v] = made, v;
  }
  Value fill(Value x, Domain d) {
    const Value v = builder.fill(x, d);
    return values_[v] = {values_[x].type, std::vector<std::uint64_t>(count(d), values_[x].bits[0])}, v;
  }
  Value take(Value x, Value index) {
    const Value v = builder.take(x, index);
    if (is_scalar(x)) return v;
    Elements made{values_[x].type, {}};
    const Elements from = values_[x], at = values_[index];
    for (std::size_t i = 0; i < at.size(); ++i) {
      const auto place = static_cast<std::size_t>(at.at<std::int32_t>(i));
      made.bits.push_back(place < from.size() ? from.bits[place] : 0);
    }
    return values_[v] = made, v;
  }
  Value lookup(const Elements& table, Value index) {
    const Value v = builder.lookup(add_column(table), table.type, index);
    Elements made{table.type, {}};
    for (std::size_t i = 0; i < size(v); ++i) {
      const auto last = static_cast<std::int64_t>(table.size()) - 1;
      made.bits.push_back(
          table.bits[static_cast<std::size_t>(std::clamp<std::int64_t>(values_[index].integer(i), 0, last))]);
    }
    return values_[v] = made, v;
  }
  Value search(const Elements& table, Value x, bool right) {
    const Value v = builder.search(add_column(table), x, right);
    Elements made{ElementType::int64, {}};
    for (std::size_t i = 0; i < size(v); ++i) {
      visit_element(table.type, [&]<class T>(std::type_identity<T>) {
        const T value = values_[x].at<T>(i);
        const auto less = [](T a, T b) { return a < b || (b != b && a == a); };
        std::int64_t count = 0;
        for (std::size_t k = 0; k < table.size(); ++k) {
          count += (right ? !less(value, table.at<T>(k)) : less(table.at<T>(k), value)) ? 1 : 0;
        }
        made.push(count);
      });
    }
    return values_[v] = made, v;
  }
  Value positions(Domain d) {
    Elements made{ElementType::int32, {}};
    for (std::size_t i = 0; i < count(d); ++i) made.push(static_cast<std::int32_t>(i));
    const Value v = builder.positions(d);
    return values_[v] = made, v;
  }
  Value numbers(Value index, Domain d) {
    Elements made{ElementType::int64, {}};
    for (std::size_t i = 0; i < values_[index].size(); ++i) {
      const std::int64_t place = values_[index].integer(i);
      made.push(place < 0 ? place : begins_[d] + place);
    }
    const Value v = builder.numbers(index, d);
    return values_[v] = made, v;
  }
  Value parents(Domain d) {
    Elements made{ElementType::int32, {}};
    const auto& offsets = lists_[d].offsets;
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
      for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) made.push(static_cast<std::int32_t>(i));
    }
    const Value v = builder.parents(d);
    return values_[v] = made, v;
  }
  Value starts(Domain d) {
    Elements made{ElementType::int32, {}};
    for (std::size_t i = 0; i + 1 < lists_[d].offsets.size(); ++i)
      made.push(static_cast<std::int32_t>(lists_[d].offsets[i]));
    const Value v = builder.starts(d);
    return values_[v] = made, v;
  }
  Value counts(Domain d) {
    Elements made{ElementType::int32, {}};
    const auto& offsets = lists_[d].offsets;
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
      made.push(static_cast<std::int32_t>(offsets[i + 1] - offsets[i]));
    const Value v = builder.counts(d);
    return values_[v] = made, v;
  }
  Value source(Domain d, int which = 0) {
    Elements made{ElementType::int32, {}};
    for (const std::int64_t place : lists_[d].sources.at(which)) made.push(static_cast<std::int32_t>(place));
    const Value v = builder.source(d, which);
    return values_[v] = made, v;
  }
  Value reduce(Reduction reduction, Value x, Domain d) {
    const Value v = builder.reduce(reduction, x, d);
    Elements made{builder.type(v), {}};
    const auto& offsets = lists_[d].offsets;
    visit_element(values_[x].type, [&]<class T>(std::type_identity<T>) {
      for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
        std::vector<T> list;
        for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
          list.push_back(values_[x].at<T>(is_scalar(x) ? 0 : static_cast<std::size_t>(k)));
        }
        reduce_list(reduction, list, offsets[i], made);
      }
    });
    return values_[v] = made, v;
  }
  Value argsort(Value x, Domain d, bool ascending) {
    const Value v = builder.argsort(x, d, ascending);
    Elements made{ElementType::int32, {}};
    const auto& offsets = lists_[d].offsets;
    visit_element(values_[x].type, [&]<class T>(std::type_identity<T>) {
      for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
        std::vector<std::int32_t> places(static_cast<std::size_t>(offsets[i + 1] - offsets[i]));
        std::iota(places.begin(), places.end(), static_cast<std::int32_t>(offsets[i]));
        std::stable_sort(places.begin(), places.end(), [&](std::int32_t a, std::int32_t b) {
          const T p = values_[x].at<T>(static_cast<std::size_t>(a)), q = values_[x].at<T>(static_cast<std::size_t>(b));
          if (p != p || q != q) return p != p && q == q;
          return ascending ? p < q : p > q;
        });
        for (const std::int32_t place : places) made.push(place);
      }
    });
    return values_[v] = made, v;
  }

  // Domains.

  Domain filter(Domain d, Value mask) {
    const Domain made = builder.filter(d, mask);
    Lists kept;
    std::vector<std::int64_t> before{0}, places;
    for (std::size_t i = 0; i < count(d); ++i) {
      if (bits(mask, i) != 0) places.push_back(static_cast<std::int64_t>(i));
      before.push_back(static_cast<std::int64_t>(places.size()));
    }
    for (const std::int64_t offset : lists_[d].offsets)
      kept.offsets.push_back(before[static_cast<std::size_t>(offset)]);
    kept.length = static_cast<std::int64_t>(places.size()), kept.sources[0] = places;
    return lists_[made] = kept, made;
  }
  Domain gather(Domain d, Value index) {
    const Domain made = builder.gather(d, index);
    return lists_[made] = by_list(values_[index].size(), 1,
                                  [&](std::size_t i, auto put) {
                                    const auto list = static_cast<std::size_t>(values_[index].at<std::int32_t>(i));
                                    for (std::int64_t k = lists_[d].offsets[list]; k < lists_[d].offsets[list + 1]; ++k)
                                      put({k});
                                  }),
           made;
  }
  Domain combinations(Domain d, int k, bool replacement) {
    const Domain made = builder.combinations(d, k, replacement);
    return lists_[made] = by_list(lists_[d].offsets.size() - 1, k,
                                  [&](std::size_t i, auto put) {
                                    const std::int64_t first = lists_[d].offsets[i];
                                    for (const auto& tuple : naive_tuples(
                                             static_cast<int>(lists_[d].offsets[i + 1] - first), k, replacement)) {
                                      std::vector<std::int64_t> places;
                                      places.reserve(tuple.size());
                                      for (const int member : tuple) places.push_back(first + member);
                                      put(places);
                                    }
                                  }),
           made;
  }
  Domain product(Domain a, Domain b, bool nested) {
    if (!nested) (void)product(a, b, true);  // has the same elements
    const Domain made = builder.product(a, b, nested);
    const auto &x = lists_[a].offsets, &y = lists_[b].offsets;
    std::vector<std::size_t> list_of;
    for (std::size_t i = 0; i + 1 < x.size(); ++i) list_of.resize(static_cast<std::size_t>(x[i + 1]), i);
    const auto pairs = [&](std::size_t element, auto put) {
      const std::size_t list = list_of[element];
      for (std::int64_t k = y[list]; k < y[list + 1]; ++k) put({static_cast<std::int64_t>(element), k});
    };
    if (nested) return lists_[made] = by_list(count(a), 2, pairs), made;
    return lists_[made] = by_list(x.size() - 1, 2,
                                  [&](std::size_t i, auto put) {
                                    for (std::int64_t e = x[i]; e < x[i + 1]; ++e)
                                      pairs(static_cast<std::size_t>(e), put);
                                  }),
           made;
  }
  Domain concatenation(const std::vector<Domain>& parts) {
    const Domain made = builder.concatenation(parts);
    std::vector<std::int64_t> bases{0};
    for (const Domain part : parts) bases.push_back(bases.back() + lists_[part].length);
    return lists_[made] = by_list(lists_[parts[0]].offsets.size() - 1, 1,
                                  [&](std::size_t i, auto put) {
                                    for (std::size_t p = 0; p < parts.size(); ++p) {
                                      const auto& offsets = lists_[parts[p]].offsets;
                                      for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) put({bases[p] + k});
                                    }
                                  }),
           made;
  }
  Value concatenate(Domain d, const std::vector<Domain>& parts, const std::vector<Value>& values) {
    const Value v = builder.concatenate(d, values);
    Elements beside{values_[values[0]].type, {}}, made = beside;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      for (std::size_t i = 0; i < count(parts[p]); ++i) beside.bits.push_back(bits(values[p], i));
    }
    for (const std::int64_t place : lists_[d].sources.at(0))
      made.bits.push_back(beside.bits[static_cast<std::size_t>(place)]);
    return values_[v] = made, v;
  }
  Domain pad(Domain d, std::int64_t length) {
    const Domain made = builder.pad(d, length);
    return lists_[made] = by_list(lists_[d].offsets.size() - 1, 1,
                                  [&](std::size_t i, auto put) {
                                    const std::int64_t begin = lists_[d].offsets[i], end = lists_[d].offsets[i + 1];
                                    for (std::int64_t k = begin; k < std::max(end, begin + length); ++k)
                                      put({k < end ? k : -1});
                                  }),
           made;
  }
  Domain regular(Domain parent, std::int64_t size) {
    const Domain made = builder.regular(parent, size);
    Lists lists{{}, static_cast<std::int64_t>(count(parent)) * size, {}};
    for (std::size_t i = 0; i <= count(parent); ++i) lists.offsets.push_back(static_cast<std::int64_t>(i) * size);
    if (begins_.count(parent) != 0) begins_[made] = begins_[parent] * size;
    return lists_[made] = lists, made;
  }
  Domain flatten(Domain d) {
    const Domain made = builder.flatten(d);
    Lists lists = lists_[d];
    lists.offsets.clear();
    for (const std::int64_t offset : lists_[*builder.parent(d)].offsets) {
      lists.offsets.push_back(lists_[d].offsets[static_cast<std::size_t>(offset)]);
    }
    return lists_[made] = lists, made;
  }

  struct Histogram {
    std::vector<std::int64_t> counts;
    std::vector<WeightedBin> sums;  ///< of the weights; without a weight, of ones
    bool has_weights = false;
  };
  Histogram histogram(const std::vector<Value>& values, const std::vector<Axis>& axes, std::optional<Value> weight) {
    builder.histogram(values, axes, weight);
    std::int64_t size = 1;
    for (const Axis& axis : axes) size *= naive_bins(axis) + (axis.underflow ? 1 : 0) + (axis.overflow ? 1 : 0);
    Histogram made;
    made.counts.resize(static_cast<std::size_t>(size)), made.sums.resize(made.counts.size());
    made.has_weights = weight.has_value();
    std::size_t n = 0;
    for (const Value value : values) n = is_scalar(value) ? n : count(*builder.domain(value));
    if (weight && !is_scalar(*weight)) n = count(*builder.domain(*weight));
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t at = place(values, axes, i);
      if (at < 0) continue;
      const double w = weight ? number(*weight, i) : 1;
      WeightedBin& sum = made.sums[static_cast<std::size_t>(at)];
      ++made.counts[static_cast<std::size_t>(at)];
      sum.sum += w, sum.squares += w * w;
    }
    return made;
  }

  [[nodiscard]] bool is_scalar(Value v) const { return !builder.domain(v).has_value(); }
  [[nodiscard]] std::size_t count(Domain d) const { return static_cast<std::size_t>(lists_.at(d).length); }

  /// Returns the bytes of columns[i].
  [[nodiscard]] std::span<const std::byte> column_bytes(std::size_t i) const { return columns_[i]; }

 private:
  [[nodiscard]] std::size_t size(Value v) const { return is_scalar(v) ? 1 : count(*builder.domain(v)); }
  [[nodiscard]] std::uint64_t bits(Value v, std::size_t i) const { return values_.at(v).bits[is_scalar(v) ? 0 : i]; }

  [[nodiscard]] double number(Value v, std::size_t i) const {
    const Elements& x = values_.at(v);
    return visit_element(
        x.type, [&]<class T>(std::type_identity<T>) { return static_cast<double>(x.at<T>(is_scalar(v) ? 0 : i)); });
  }
  /// The index of the bin of element i; -1: it has none.
  [[nodiscard]] std::int64_t place(const std::vector<Value>& values, const std::vector<Axis>& axes,
                                   std::size_t i) const {
    std::int64_t at = 0;
    for (std::size_t a = 0; a < axes.size(); ++a) {
      const Axis& axis = axes[a];
      const ElementType type = builder.type(values[a]);
      const bool as_float =
          detail::is_float(type) || axis.kind == Axis::Kind::regular || axis.kind == Axis::Kind::variable;
      std::int64_t bin = 0;
      if (as_float) {
        bin = naive_bin(axis, number(values[a], i));
      } else if (type == ElementType::uint64 && bits(values[a], i) > INT64_MAX) {
        bin = naive_bins(axis);
      } else {
        bin = visit_element(type, [&]<class T>(std::type_identity<T>) {
          const auto x = values_.at(values[a]).at<T>(is_scalar(values[a]) ? 0 : i);
          return naive_bin(axis, static_cast<std::int64_t>(x));
        });
      }
      const std::int64_t bins = naive_bins(axis);
      if ((bin < 0 && !axis.underflow) || (bin == bins && !axis.overflow)) return -1;
      const std::int64_t extent = bins + (axis.underflow ? 1 : 0) + (axis.overflow ? 1 : 0);
      at = at * extent + bin + (axis.underflow ? 1 : 0);
    }
    return at;
  }

  template <class F>
  static Lists by_list(std::size_t count, int members, F each) {
    Lists made{{0}, 0, {}};
    for (int m = 0; m < members; ++m) made.sources[m];
    for (std::size_t i = 0; i < count; ++i) {
      each(i, [&](const std::vector<std::int64_t>& places) {
        for (int m = 0; m < members; ++m) made.sources[m].push_back(places[static_cast<std::size_t>(m)]);
        ++made.length;
      });
      made.offsets.push_back(made.length);
    }
    return made;
  }

  template <class T>
  static void reduce_list(Reduction reduction, const std::vector<T>& list, std::int64_t first, Elements& made) {
    using Sum = std::conditional_t<
        std::is_floating_point_v<T>, T,
        std::conditional_t<std::is_signed_v<T> || std::is_same_v<T, bool>, std::int64_t, std::uint64_t>>;
    const auto is_true = [](T x) { return x != 0; };
    using Limits = std::numeric_limits<T>;
    switch (reduction) {
      case Reduction::sum:
      case Reduction::product: {
        Sum result = reduction == Reduction::sum ? Sum{0} : Sum{1};
        for (const T x : list) {
          result = naive_arithmetic(reduction == Reduction::sum ? Op::add : Op::multiply, result, static_cast<Sum>(x));
        }
        return made.push(result);
      }
      case Reduction::any:
        return made.push(std::any_of(list.begin(), list.end(), is_true));
      case Reduction::all:
        return made.push(std::all_of(list.begin(), list.end(), is_true));
      case Reduction::minimum: {
        T result = Limits::has_infinity ? Limits::infinity() : Limits::max();
        for (const T x : list) result = x < result ? x : result;
        return made.push(result);
      }
      case Reduction::maximum: {
        T result = Limits::has_infinity ? -Limits::infinity() : Limits::min();
        for (const T x : list) result = x > result ? x : result;
        return made.push(result);
      }
      default:
        break;
    }
    std::int64_t place = list.empty() ? -1 : 0;
    for (std::size_t i = 1; i < list.size(); ++i) {
      const T best = list[static_cast<std::size_t>(place)];
      if (reduction == Reduction::argmin ? list[i] < best : list[i] > best) place = static_cast<std::int64_t>(i);
    }
    made.push(static_cast<std::int32_t>(place < 0 ? -1 : first + place));
  }

  std::map<Domain, Lists> lists_;
  std::map<Domain, std::int64_t> begins_{};
  std::map<Value, Elements> values_;
  std::vector<std::vector<std::byte>> columns_;
};

/// Expects an output of a Result or DeviceResult to have these elements; every NaN is one.
template <class R>
void expect_equal(const R& result, int output, const Elements& expected, const std::string& what) {
  ASSERT_EQ(result.size(output), static_cast<std::int64_t>(expected.size())) << what;
  ASSERT_EQ(result.type(output), expected.type) << what;
  std::vector<std::byte> bytes(expected.size() * static_cast<std::size_t>(size_of(expected.type)));
  result.copy(output, bytes.data());
  if (bytes == expected.packed()) return;  // what follows takes a sanitizer 10 times as long
  visit_element(expected.type, [&]<class T>(std::type_identity<T>) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      T got;
      std::memcpy(&got, bytes.data() + i * sizeof got, sizeof got);
      const T want = expected.at<T>(i);
      if (got != got && want != want) continue;
      ASSERT_TRUE(std::ranges::equal(std::as_bytes(std::span(&got, 1)), std::as_bytes(std::span(&want, 1))))
          << what << ": output " << output << ", element " << i << ": " << +got << ", expected " << +want;
    }
  });
}

/// Expects a histogram of a Result or DeviceResult to have these bins.
template <class R>
void expect_bins(const Plan& plan, const R& result, int histogram, const Twin::Histogram& expected,
                 const std::string& what) {
  std::int64_t size = 1;
  for (const std::int64_t extent : plan.shape(histogram)) size *= extent;
  ASSERT_EQ(size, static_cast<std::int64_t>(expected.counts.size())) << what;
  ASSERT_EQ(plan.has_weights(histogram), expected.has_weights) << what;
  if (expected.has_weights) {
    std::vector<WeightedBin> sums(expected.sums.size(), {-1, -1});
    result.copy_sums(histogram, sums.data());
    for (std::size_t i = 0; i < sums.size(); ++i) {
      ASSERT_EQ(sums[i].sum, expected.sums[i].sum) << what << ", bin " << i;
      ASSERT_EQ(sums[i].squares, expected.sums[i].squares) << what << ", bin " << i;
    }
  } else {
    std::vector<std::int64_t> counts(expected.counts.size(), -1);
    result.copy_counts(histogram, counts.data());
    ASSERT_EQ(counts, expected.counts) << what;
  }
}

}  // namespace upsweep::plan::test
