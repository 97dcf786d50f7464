// SPDX-License-Identifier: Apache-2.0
// upsweep/operators.hpp: the operators with compiled kernels, each with one descriptor that everything is derived from.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "upsweep/detail/unreachable.hpp"

// Operators run also on GPUs: nvcc requires their functions to be marked.
#ifdef __CUDACC__
#define UPSWEEP_HOST_DEVICE __host__ __device__
#else
#define UPSWEEP_HOST_DEVICE
#endif

namespace upsweep {

/// The operators with compiled kernels, in the order of `Operators` below. `custom` is any other function object,
/// which runs through templates.
enum class Operator : std::uint8_t { add, mul, min, max, bit_and, bit_or, bit_xor, custom };

inline constexpr int kOperatorCount = static_cast<int>(Operator::custom);

namespace detail {

/// The unsigned type in which integer arithmetic wraps without undefined behavior. It is at least as wide as int,
/// because C++ promotes narrower types to a signed int, which could overflow.
template <class T>
using Wrapping = std::common_type_t<std::make_unsigned_t<T>, unsigned>;

}  // namespace detail

/// Properties of an operator whose descriptor does not override them. The struct is not in `detail`, because
/// argument-dependent lookup would then find functions of `detail` for operators.
struct OperatorDefaults {
  static constexpr bool kIntegersOnly = false;
  static constexpr bool kSelects = false;  ///< the result is one of the operands, so nothing rounds or overflows
  /// op(k·a, k·b) = k·op(a, b) for k > 0: decimals combine as the scaled integers that represent them.
  static constexpr bool kKeepsScale = false;
  template <class T>
  using Standard = void;  ///< the function object of the standard library that is this operator
};

// A descriptor is a function object with the properties of the operator. The operator is associative and commutative
// (a SIMD reduction combines by lanes). `identity<T>()` is the value e with e ⊕ x = x for every x, bit for bit.

/// a + b; integers wrap (modulo 2^bits).
struct Add : OperatorDefaults {
  static constexpr Operator kOperator = Operator::add;
  static constexpr std::string_view kName = "add";
  static constexpr bool kKeepsScale = true;
  template <class T>
  using Standard = std::plus<T>;

  /// Returns -0.0 for floats, because 0.0 + -0.0 is 0.0.
  template <class T>
  static constexpr T identity() {
    return std::is_floating_point_v<T> ? static_cast<T>(-0.0) : T{0};
  }
  template <class T>
    requires requires(T a, T b) { a + b; }
  UPSWEEP_HOST_DEVICE constexpr T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<detail::Wrapping<T>>(a) + static_cast<detail::Wrapping<T>>(b));
    } else {
      return a + b;
    }
  }
};

/// a · b; integers wrap (modulo 2^bits).
struct Mul : OperatorDefaults {
  static constexpr Operator kOperator = Operator::mul;
  static constexpr std::string_view kName = "mul";
  template <class T>
  using Standard = std::multiplies<T>;

  template <class T>
  static constexpr T identity() {
    return T{1};
  }
  template <class T>
    requires requires(T a, T b) { a * b; }
  UPSWEEP_HOST_DEVICE constexpr T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<detail::Wrapping<T>>(a) * static_cast<detail::Wrapping<T>>(b));
    } else {
      return a * b;
    }
  }
};

/// The smaller operand, or the NaN if one operand is NaN. If the operands are equal (also 0.0 and -0.0), the left one.
struct Min : OperatorDefaults {
  static constexpr Operator kOperator = Operator::min;
  static constexpr std::string_view kName = "min";
  static constexpr bool kSelects = true;
  static constexpr bool kKeepsScale = true;

  template <class T>
  static constexpr T identity() {
    using Limits = std::numeric_limits<T>;
    return std::is_floating_point_v<T> ? Limits::infinity() : Limits::max();
  }
  template <class T>
    requires requires(T a, T b) { a < b; }
  UPSWEEP_HOST_DEVICE constexpr T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (b != b) return b;
    }
    return b < a ? b : a;
  }
};

/// The larger operand, or the NaN if one operand is NaN. If the operands are equal (also 0.0 and -0.0), the left one.
struct Max : OperatorDefaults {
  static constexpr Operator kOperator = Operator::max;
  static constexpr std::string_view kName = "max";
  static constexpr bool kSelects = true;
  static constexpr bool kKeepsScale = true;

  template <class T>
  static constexpr T identity() {
    using Limits = std::numeric_limits<T>;
    return std::is_floating_point_v<T> ? -Limits::infinity() : Limits::lowest();
  }
  template <class T>
    requires requires(T a, T b) { a < b; }
  UPSWEEP_HOST_DEVICE constexpr T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (b != b) return b;
    }
    return a < b ? b : a;
  }
};

struct BitAnd : OperatorDefaults {
  static constexpr Operator kOperator = Operator::bit_and;
  static constexpr std::string_view kName = "and";
  static constexpr bool kIntegersOnly = true;
  template <class T>
  using Standard = std::bit_and<T>;

  template <class T>
  static constexpr T identity() {
    return static_cast<T>(~T{0});
  }
  template <class T>
  UPSWEEP_HOST_DEVICE constexpr T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};

struct BitOr : OperatorDefaults {
  static constexpr Operator kOperator = Operator::bit_or;
  static constexpr std::string_view kName = "or";
  static constexpr bool kIntegersOnly = true;
  template <class T>
  using Standard = std::bit_or<T>;

  template <class T>
  static constexpr T identity() {
    return T{0};
  }
  template <class T>
  UPSWEEP_HOST_DEVICE constexpr T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};

struct BitXor : OperatorDefaults {
  static constexpr Operator kOperator = Operator::bit_xor;
  static constexpr std::string_view kName = "xor";
  static constexpr bool kIntegersOnly = true;
  template <class T>
  using Standard = std::bit_xor<T>;

  template <class T>
  static constexpr T identity() {
    return T{0};
  }
  template <class T>
  UPSWEEP_HOST_DEVICE constexpr T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};

/// The map x → a·x + b. A scan of maps with Compose, applied to x0, computes every term of the recurrence xi = ai·xi-1
/// + bi.
template <class T>
struct Affine {
  T a;
  T b;
};

/// The composition of two maps: first f, then g. It is associative, but does not commute.
struct Compose {
  template <class T>
  UPSWEEP_HOST_DEVICE constexpr Affine<T> operator()(const Affine<T>& f, const Affine<T>& g) const {
    return {Mul{}(f.a, g.a), Add{}(Mul{}(f.b, g.a), g.b)};
  }
};

// NOLINTBEGIN(readability-identifier-naming): callers use them as functions, so they are named as functions
inline constexpr Add add{};
inline constexpr Mul mul{};
inline constexpr Min min{};
inline constexpr Max max{};
inline constexpr BitAnd bit_and{};
inline constexpr BitOr bit_or{};
inline constexpr BitXor bit_xor{};
inline constexpr Compose compose{};
// NOLINTEND(readability-identifier-naming)

/// The operators for which the library contains compiled kernels. Whatever needs all of them iterates over this list,
/// for example the table of their names, the instantiation of the kernels, and the tests.
using Operators = std::tuple<Add, Mul, Min, Max, BitAnd, BitOr, BitXor>;

namespace detail {

template <std::size_t kIndex>
using OperatorAt = std::tuple_element_t<kIndex, Operators>;

struct OperatorInfo {
  Operator op;
  std::string_view name;
  bool integers_only;
  bool selects;
  bool keeps_scale;
};
inline constexpr auto kOperators = []<class... Op>(std::type_identity<std::tuple<Op...>>) {
  return std::array{OperatorInfo{Op::kOperator, Op::kName, Op::kIntegersOnly, Op::kSelects, Op::kKeepsScale}...,
                    OperatorInfo{Operator::custom, "custom", false, false, false}};
}(std::type_identity<Operators>{});

constexpr bool lists_every_operator() {
  for (int i = 0; i <= kOperatorCount; ++i) {
    if (kOperators[static_cast<std::size_t>(i)].op != static_cast<Operator>(i)) return false;
  }
  return kOperators.size() == kOperatorCount + 1;
}
static_assert(lists_every_operator(), "Operators and the enumeration Operator must name the same in the same order");

constexpr const OperatorInfo& info_of(Operator op) { return kOperators[static_cast<std::size_t>(op)]; }

}  // namespace detail

/// Returns the name of an operator as the command spells it: "add", "mul", "min", "max", ….
constexpr std::string_view name(Operator op) { return detail::info_of(op).name; }

constexpr std::optional<Operator> parse_operator(std::string_view text) {
  for (int i = 0; i < kOperatorCount; ++i) {
    if (name(static_cast<Operator>(i)) == text) return static_cast<Operator>(i);
  }
  return std::nullopt;
}

/// Returns whether floats do not support the operator.
constexpr bool is_integer_only(Operator op) { return detail::info_of(op).integers_only; }
/// Returns whether the operator's result is one of its operands.
constexpr bool selects(Operator op) { return detail::info_of(op).selects; }
/// Returns whether the operator combines decimals of one scale as it combines the integers that represent them.
constexpr bool keeps_scale(Operator op) { return detail::info_of(op).keeps_scale; }

namespace detail {

template <class T, class Op>
inline constexpr bool kHasOperator = std::is_integral_v<T> || !Op::kIntegersOnly;

template <class Op, class... Known>
concept AnyOf = (std::is_same_v<Op, Known> || ...);

template <class Op, class T, class... Known>
constexpr Operator find_operator(std::type_identity<std::tuple<Known...>>) {
  Operator found = Operator::custom;
  ((AnyOf<Op, Known, typename Known::template Standard<void>, typename Known::template Standard<T>>
        ? void(found = Known::kOperator)
        : void()),
   ...);
  return found;
}

/// The compiled operator that a function object represents for elements of type T. cuda_operators.cuh adds CUDA's
/// function objects.
template <class Op, class T>
struct OperatorOf : std::integral_constant<Operator, find_operator<Op, T>(std::type_identity<Operators>{})> {};

}  // namespace detail

/// Returns the compiled operator that function object `Op` represents for elements of type T; `custom` for any other.
template <class Op, class T>
constexpr Operator operator_of() {
  constexpr Operator kOp = detail::OperatorOf<Op, T>::value;
  return std::is_floating_point_v<T> && is_integer_only(kOp) ? Operator::custom : kOp;
}

/// Calls f with the operator `op`, which T must support and which is not `custom`, and returns its result.
template <class T, std::size_t kIndex = 0, class F>
constexpr auto visit_operator(Operator op, F&& f) -> decltype(f(Add{})) {
  if constexpr (kIndex < std::tuple_size_v<Operators>) {
    using Op = detail::OperatorAt<kIndex>;
    if constexpr (detail::kHasOperator<T, Op>) {
      if (op == Op::kOperator) return f(Op{});
    }
    return visit_operator<T, kIndex + 1>(op, f);
  } else {
    detail::no_such_value();
  }
}

/// Calls f with every compiled operator that elements of type T support.
template <class T, class F>
constexpr void for_each_operator(F&& f) {
  const auto call = [&]<class Op>(Op op) {
    if constexpr (detail::kHasOperator<T, Op>) f(op);
  };
  std::apply([&](auto... op) { (call(op), ...); }, Operators{});
}

/// Whether op(a, b) equals op(b, a). If true, a GPU may fold out of order, which is faster. It is true for the
/// operators above on arithmetic types. For a custom operator type, specialize it:
/// `template <class T> inline constexpr bool upsweep::is_commutative<MyOperator, T> = true;`
template <class Op, class T>
inline constexpr bool is_commutative = std::is_arithmetic_v<T> && operator_of<Op, T>() != Operator::custom;

namespace detail {

/// Returns the function object to call. It is Add or Mul for std::plus or std::multiplies of integers: Add and Mul
/// wrap, where the standard operators are undefined. Any other operator is returned unchanged.
template <class T, class Op>
constexpr auto wrapping(const Op& op) {
  if constexpr (std::is_integral_v<T> && operator_of<Op, T>() == Operator::add) {
    return Add{};
  } else if constexpr (std::is_integral_v<T> && operator_of<Op, T>() == Operator::mul) {
    return Mul{};
  } else {
    return op;
  }
}

}  // namespace detail

/// Returns the value e with e ⊕ x = x for every x, bit for bit. T must support `op`, which is not `custom`.
template <class T>
constexpr T identity(Operator op) {
  return visit_operator<T>(op, []<class Op>(Op) { return Op::template identity<T>(); });
}

}  // namespace upsweep
