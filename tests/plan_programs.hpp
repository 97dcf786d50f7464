// SPDX-License-Identifier: Apache-2.0
// tests/plan_programs.hpp: random numbers, axes and programs, for tests of plans on the CPU and on a GPU.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "plan_twin.hpp"
#include "upsweep/plan.hpp"

namespace upsweep::plan::test {

using Random = std::mt19937_64;

inline int below(Random& random, int n) { return static_cast<int>(random() % static_cast<std::uint64_t>(n)); }

template <class T>
Elements elements_of(const std::vector<T>& numbers) {
  Elements made{Scalar(T{}).type(), {}};
  for (const T number : numbers) made.push(number);
  return made;
}

/// Numbers of a type, many of them at its limits.
inline Elements any_numbers(ElementType type, std::size_t n, Random& random) {
  Elements made{type, {}};
  visit_element(type, [&]<class T>(std::type_identity<T>) {
    using Limits = std::numeric_limits<T>;
    for (std::size_t i = 0; i < n; ++i) {
      const int kind = below(random, 12);
      if constexpr (std::is_same_v<T, bool>) {
        made.push(kind % 2 == 0);
      } else if constexpr (std::is_floating_point_v<T>) {
        const T special[] = {0,
                             -T{0},
                             1,
                             -1,
                             Limits::quiet_NaN(),
                             Limits::infinity(),
                             -Limits::infinity(),
                             Limits::max(),
                             Limits::denorm_min()};
        const T number = static_cast<T>(below(random, 2000) - 1000) / 8;
        made.push(kind < 9 && below(random, 2) == 0 ? special[kind] : number);
      } else {
        const T special[] = {0, 1, static_cast<T>(-1), Limits::min(), Limits::max(), 2, 3, 7};
        made.push(kind < 8 ? special[kind] : static_cast<T>(random()));
      }
    }
  });
  return made;
}

/// Small numbers, of which many are equal; without NaN.
inline Elements small_numbers(ElementType type, std::size_t n, Random& random) {
  Elements made{type, {}};
  visit_element(type, [&]<class T>(std::type_identity<T>) {
    for (std::size_t i = 0; i < n; ++i) {
      if constexpr (std::is_same_v<T, bool>) {
        made.push(below(random, 3) != 0);
      } else if constexpr (std::is_floating_point_v<T>) {
        made.push(static_cast<T>(below(random, 200) - 100) / 4);
      } else {
        made.push(static_cast<T>(below(random, 20)));
      }
    }
  });
  return made;
}

inline std::vector<std::int64_t> lengths(std::int64_t n, int most, Random& random) {
  std::vector<std::int64_t> made(static_cast<std::size_t>(n));
  for (std::int64_t& one : made) one = below(random, most + 1);
  return made;
}

inline bool is_elementary(Op op) { return (op >= Op::cbrt) || op == Op::power; }

/// An axis with some flow bins, whose edges are values that occur.
inline Axis any_axis(ElementType type, Random& random) {
  const bool is_integer = !detail::is_float(type);
  Axis axis;
  switch (below(random, is_integer ? 5 : 4)) {
    case 0:
      axis = Axis::regular(1 + below(random, 40), below(random, 9) - 4, 5 + below(random, 30));
      break;
    case 1:
      axis = Axis::regular(1 + below(random, 9), 7, -2);
      break;
    case 2: {
      std::vector<double> edges{-1000.0 / 8};
      const int bins = 1 + below(random, random() % 2 == 0 ? 9 : 200);  // few edges, and many
      for (int i = 0; i < bins; ++i) edges.push_back(edges.back() + (1 + below(random, 40)) / 8.0);
      axis = Axis::variable(edges);
      break;
    }
    case 3:
      axis = Axis::integer(below(random, 9) - 4, 5 + below(random, 30));
      break;
    default: {
      const std::vector<std::int64_t> values{7, -1, 3, 0, INT64_MAX - 1, 127, INT64_MIN, 1};
      axis = Axis::category({values.begin(), values.begin() + 1 + below(random, 8)});
    }
  }
  axis.underflow = axis.kind != Axis::Kind::category && below(random, 2) == 0;
  axis.overflow = below(random, 2) == 0;
  return axis;
}

/// Grows a program by random calls, whose values it also computes.
class RandomProgram {
 public:
  RandomProgram(std::uint64_t seed, std::int64_t events) : random_(seed), twin_(events) {
    const Domain root = twin_.builder.events();
    domains_ = {root};
    for (int i = 0; i < 2; ++i) {
      const ElementType offsets[] = {ElementType::int32, ElementType::uint32, ElementType::int64};
      std::vector<std::int64_t> sizes = lengths(events, 1 + below(random_, 5), random_);
      if (events > 3 && below(random_, 4) == 0)
        sizes[static_cast<std::size_t>(below(random_, static_cast<int>(events)))] = 9 + below(random_, 60);
      add(twin_.list(root, sizes, offsets[below(random_, 3)], std::int64_t{7} * below(random_, 2)));
    }
    add(twin_.list(domains_[1], lengths(twin_.lists(domains_[1]).length, 3, random_), ElementType::int64,
                   std::int64_t{3} * below(random_, 2)));
    inputs_ = domains_;
    for (int i = 0; i < 10; ++i) add_column();
    for (const ElementType type :
         {ElementType::float64, ElementType::int64, ElementType::int32, ElementType::float32}) {
      scalars_.push_back(twin_.constant(Scalar::of(type, std::int64_t{below(random_, 9)})));
      scalars_.push_back(twin_.parameter(Scalar::of(type, std::int64_t{below(random_, 9)})));
    }
  }

  void grow(int steps) {
    for (int i = 0; i < steps; ++i) step();
  }

  Twin& finish() {
    for (const Value v : values_) {
      if (below(random_, 3) == 0) put(v);
    }
    put(values_.back());
    for (const Value v : values_) {
      if (below(random_, 6) != 0) continue;
      histograms_.push_back(twin_.histogram({v}, {any_axis(twin_.builder.type(v), random_)}, {}));
    }
    for (const Domain d : domains_) {
      if (twin_.builder.parent(d) && below(random_, 3) == 0) {
        Elements offsets{ElementType::int64, {}};
        for (const std::int64_t offset : twin_.lists(d).offsets) offsets.push(offset);
        twin_.builder.output_offsets(d), outputs_.push_back(offsets);
      }
    }
    return twin_;
  }

  /// Expects the outputs and histograms of a result of the CPU or of a GPU.
  template <class R>
  void expect(const Plan& plan, const R& result, const std::string& what) const {
    ASSERT_FALSE(result.failure()) << what;
    for (std::size_t i = 0; i < outputs_.size(); ++i) expect_equal(result, static_cast<int>(i), outputs_[i], what);
    for (std::size_t i = 0; i < histograms_.size(); ++i) {
      expect_bins(plan, result, static_cast<int>(i), histograms_[i], what);
    }
  }

 private:
  void put(Value v) { twin_.builder.output(v), outputs_.push_back(twin_.elements(v)); }
  void add(Domain d) {
    if (twin_.count(d) < 60'000) domains_.push_back(d);
  }
  void add(Value v) {
    if (twin_.count(*twin_.builder.domain(v)) < 60'000) values_.push_back(v);
  }
  Domain any_domain() { return domains_[static_cast<std::size_t>(below(random_, static_cast<int>(domains_.size())))]; }
  Domain any_lists() {
    for (;;) {
      const Domain d = any_domain();
      if (twin_.builder.parent(d)) return d;
    }
  }
  /// Lists of which the tuples are not too many.
  std::optional<Domain> short_lists(std::int64_t most) {
    const Domain d = any_lists();
    std::int64_t longest = 0;
    const auto& offsets = twin_.lists(d).offsets;
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) longest = std::max(longest, offsets[i + 1] - offsets[i]);
    if (longest > most || twin_.count(d) > 20'000) return std::nullopt;
    return d;
  }
  void add_column() {
    const Domain d = inputs_[static_cast<std::size_t>(below(random_, static_cast<int>(inputs_.size())))];
    const ElementType type =
        below(random_, 2) == 0 ? ElementType::float64 : static_cast<ElementType>(below(random_, kElementTypes));
    add(twin_.column(below(random_, 4) == 0 ? any_numbers(type, twin_.count(d), random_)
                                            : small_numbers(type, twin_.count(d), random_),
                     d));
  }
  Value any_value() { return values_[static_cast<std::size_t>(below(random_, static_cast<int>(values_.size())))]; }
  /// A value over the elements of d; if there is none, a new one.
  Value value_over(Domain d, std::optional<ElementType> type = std::nullopt) {
    std::vector<Value> found;
    for (const Value v : values_) {
      if (twin_.builder.same_elements(*twin_.builder.domain(v), d) && (!type || twin_.builder.type(v) == *type))
        found.push_back(v);
    }
    if (!found.empty()) return found[static_cast<std::size_t>(below(random_, static_cast<int>(found.size())))];
    const ElementType to = type.value_or(ElementType::float64);
    return twin_.convert(twin_.fill(twin_.constant(Scalar(1.5)), d), to);
  }
  Value mask_over(Domain d) {
    const Value x = value_over(d);
    const ElementType type = twin_.builder.type(x);
    if (type == ElementType::boolean) return x;
    const Value y = below(random_, 2) == 0 ? twin_.constant(Scalar::of(type, std::int64_t{3})) : value_over(d, type);
    return twin_.map(below(random_, 2) == 0 ? Op::less : Op::greater_equal, {x, y});
  }
  Value moved(Value x, Value index) { return twin_.take(x, index); }

  void step() {
    switch (below(random_, 18)) {
      case 0:
        return add_column();
      case 1:
      case 2:
      case 3:
        return arithmetic();
      case 4: {
        const Value x = any_value();
        return add(twin_.convert(x, static_cast<ElementType>(below(random_, kElementTypes))));
      }
      case 5: {
        const Domain d = *twin_.builder.domain(any_value());
        const Value x = value_over(d), mask = mask_over(d);
        return add(twin_.map(Op::where, {mask, x, value_over(d, twin_.builder.type(x))}));
      }
      case 6:
      case 7: {
        const Domain d = any_domain();
        const Domain kept = twin_.filter(d, mask_over(d));
        add(kept);
        for (int i = 0; i < 2; ++i) add(moved(value_over(d), twin_.source(kept)));
        if (twin_.builder.parent(kept) == std::nullopt) keep_lists(d, kept);
        return;
      }
      case 8: {
        const auto d = short_lists(8);
        if (!d) return;
        const int k = 1 + below(random_, 4);
        const Domain made = twin_.combinations(*d, k, below(random_, 3) == 0);
        if (twin_.count(made) >= 60'000) return;
        add(made);
        for (int m = 0; m < k; ++m) add(moved(value_over(*d), twin_.source(made, m)));
        if (k == 1) return;
        const Value x = value_over(*d, ElementType::float64);
        return add(twin_.map(Op::add, {moved(x, twin_.source(made, 0)), moved(x, twin_.source(made, 1))}));
      }
      case 9: {
        const Domain a = any_lists(), b = any_lists();
        if (twin_.builder.parent(a) != twin_.builder.parent(b) || twin_.count(a) > 10'000 || twin_.count(b) > 10'000)
          return;
        const bool nested = below(random_, 2) == 0;
        const Domain made = twin_.product(a, b, nested);
        if (twin_.count(made) >= 60'000) return;
        add(made), add(moved(value_over(a), twin_.source(made, 0))), add(moved(value_over(b), twin_.source(made, 1)));
        return;
      }
      case 10: {
        std::vector<Domain> parts{any_lists()};
        for (int i = 0; i < 2; ++i) {
          const Domain d = any_lists();
          if (twin_.builder.parent(d) == twin_.builder.parent(parts[0])) parts.push_back(d);
        }
        const Domain made = twin_.concatenation(parts);
        add(made);
        for (const ElementType type : {ElementType::float64, ElementType::int32, ElementType::boolean}) {
          std::vector<Value> values;
          values.reserve(parts.size());
          for (const Domain part : parts) values.push_back(value_over(part, type));
          if (type == ElementType::float64 && below(random_, 2) == 0) {  // the same operation of all parts
            const bool has_scalars = below(random_, 2) == 0;
            for (Value& v : values) {
              const Value factor = has_scalars ? twin_.constant(Scalar(1.0 + below(random_, 3))) : v;
              v = twin_.map(Op::multiply, {v, factor});
            }
          }
          if (type != ElementType::float64) values[0] = twin_.constant(Scalar::of(type, std::int64_t{1}));
          add(twin_.concatenate(made, parts, values));
        }
        return;
      }
      case 11: {
        const Domain d = any_lists();
        const Domain made = twin_.pad(d, below(random_, 4));
        const Value index = twin_.source(made), x = value_over(d);
        if (std::ranges::find(inputs_, d) != inputs_.end()) add(twin_.numbers(index, d));
        const Value is_there = twin_.map(Op::greater_equal, {index, twin_.constant(Scalar(0))});
        const Value none = twin_.constant(Scalar::of(twin_.builder.type(x), std::int64_t{1}));
        add(made);
        return add(twin_.map(Op::where, {is_there, moved(x, index), none}));
      }
      case 12: {
        const Domain d = any_lists(), outer = *twin_.builder.parent(d);
        if (!twin_.builder.parent(outer)) return;
        return add(twin_.flatten(d));
      }
      case 13: {
        const Domain d = any_lists();
        const Domain outer = *twin_.builder.parent(d);
        return add(moved(value_over(outer), twin_.parents(d)));
      }
      case 14:
        return reduction();
      case 15: {
        const Domain d = any_lists();
        return add(moved(value_over(d), twin_.argsort(value_over(d), d, below(random_, 2) == 0)));
      }
      case 16: {
        const Domain d = any_lists();
        add(twin_.map(Op::subtract, {twin_.positions(d), moved(twin_.starts(d), twin_.parents(d))}));
        add(twin_.counts(d));
        const Domain outer = *twin_.builder.parent(d);
        if (twin_.count(outer) < 10'000) add(twin_.regular(outer, below(random_, 3)));
        const Domain input = inputs_[static_cast<std::size_t>(below(random_, static_cast<int>(inputs_.size())))];
        add(twin_.numbers(twin_.source(twin_.filter(input, mask_over(input))), input));
        return add(twin_.numbers(twin_.positions(input), input));
      }
      default: {
        const Domain d = *twin_.builder.domain(any_value());
        const Value index = twin_.convert(value_over(d), ElementType::int16);
        const Elements table = small_numbers(ElementType::float64, 10, random_);
        add(twin_.lookup(table, index));
        Elements edges = elements_of<double>({-3, 0, 0, 1.5, 2, 20, std::numeric_limits<double>::quiet_NaN()});
        return add(twin_.search(edges, value_over(d, ElementType::float64), below(random_, 2) == 0));
      }
    }
  }

  void arithmetic() {
    const Value x = any_value();
    const ElementType type = twin_.builder.type(x);
    const Domain d = *twin_.builder.domain(x);
    for (;;) {
      const auto op = static_cast<Op>(below(random_, kOps));
      // The sign of NaN is not specified, and elementary functions have their own test.
      if (!is_defined(op, type) || is_elementary(op) || op == Op::where || op == Op::copysign || op == Op::sign_bit)
        continue;
      if (arity(op) == 1) return add(twin_.map(op, {x}));
      std::vector<Value> args{x, value_over(d, type)};
      for (const Value scalar : scalars_) {
        if (twin_.builder.type(scalar) == type && below(random_, 4) == 0) args[1] = scalar;
      }
      if (below(random_, 2) == 0) std::swap(args[0], args[1]);
      return add(twin_.map(op, args));
    }
  }

  void reduction() {
    const Domain d = any_lists();
    const Value x = value_over(d);
    const auto reduction = static_cast<Reduction>(below(random_, 8));
    const Value made = twin_.reduce(reduction, x, d);
    if (reduction < Reduction::argmin) return add(made);
    const Domain outer = *twin_.builder.domain(made);
    const Value is_there = twin_.map(Op::greater, {twin_.counts(d), twin_.constant(Scalar(0))});
    const Value y = value_over(d);
    if (below(random_, 2) == 0) {
      const Value none = twin_.constant(Scalar::of(twin_.builder.type(y), std::int64_t{1}));
      return add(twin_.map(Op::where, {is_there, moved(y, made), none}));
    }
    const Domain kept = twin_.filter(outer, is_there);  // as firsts and drop_none do
    add(kept), add(moved(moved(y, made), twin_.source(kept)));
  }

  /// The lists of the events that a mask keeps.
  void keep_lists(Domain d, Domain kept) {
    for (const Domain lists : std::vector(domains_)) {
      if (twin_.builder.parent(lists) != d || below(random_, 2) == 0) continue;
      const Domain made = twin_.gather(lists, twin_.source(kept));
      add(made), add(moved(value_over(lists), twin_.source(made)));
    }
  }

  Random random_;
  Twin twin_;
  std::vector<Domain> domains_, inputs_;
  std::vector<Value> values_, scalars_;
  std::vector<Elements> outputs_;
  std::vector<Twin::Histogram> histograms_;
};

}  // namespace upsweep::plan::test
