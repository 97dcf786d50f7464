// SPDX-License-Identifier: Apache-2.0
// upsweep/operators.hpp: the seven operators with compiled kernels, and how std::plus and its like map to them.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>

#include "upsweep/detail/unreachable.hpp"

// Operators run on GPUs too: nvcc wants to be told.
#ifdef __CUDACC__
#define UPSWEEP_HOST_DEVICE __host__ __device__
#else
#define UPSWEEP_HOST_DEVICE
#endif

namespace upsweep {

/// The associative operators with compiled kernels. `custom` is any other function object: it runs through templates.
enum class Operator : std::uint8_t { add, mul, min, max, bit_and, bit_or, bit_xor, custom };

inline constexpr int kOperatorCount = static_cast<int>(Operator::custom);

namespace detail {

struct OperatorInfo {
  std::string_view name;
  bool bitwise;
};
inline constexpr OperatorInfo kOperators[] = {{"add", false}, {"mul", false}, {"min", false}, {"max", false},
                                              {"and", true},  {"or", true},   {"xor", true},  {"custom", false}};
static_assert(std::size(kOperators) == kOperatorCount + 1, "a new operator needs a name here");

}  // namespace detail

/// "add", "mul", "min", "max", "and", "or", "xor", as the command spells them.
constexpr std::string_view name(Operator op) { return detail::kOperators[static_cast<int>(op)].name; }

constexpr std::optional<Operator> parse_operator(std::string_view text) {
  for (int i = 0; i < kOperatorCount; ++i) {
    if (name(static_cast<Operator>(i)) == text) return static_cast<Operator>(i);
  }
  return std::nullopt;
}

/// Those that floats do not have.
constexpr bool is_bitwise(Operator op) { return detail::kOperators[static_cast<int>(op)].bitwise; }

namespace detail {

/// The unsigned type in which integer arithmetic wraps without undefined behaviour, at least as wide as int: narrower
/// ones would be promoted to a signed int and could overflow there.
template <class T>
using Wrapping = std::common_type_t<std::make_unsigned_t<T>, unsigned>;

}  // namespace detail

/// a + b; integers wrap around.
struct Add {
  template <class T>
  UPSWEEP_HOST_DEVICE constexpr T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<detail::Wrapping<T>>(a) + static_cast<detail::Wrapping<T>>(b));
    } else {
      return a + b;
    }
  }
};

/// a · b; integers wrap around.
struct Mul {
  template <class T>
  UPSWEEP_HOST_DEVICE constexpr T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<detail::Wrapping<T>>(a) * static_cast<detail::Wrapping<T>>(b));
    } else {
      return a * b;
    }
  }
};

/// The smaller one; a NaN on either side wins. Of equal values (0.0 and -0.0 too) the left one.
struct Min {
  template <class T>
  UPSWEEP_HOST_DEVICE constexpr T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (b != b) return b;
    }
    return b < a ? b : a;
  }
};

/// The larger one; a NaN on either side wins. Of equal values (0.0 and -0.0 too) the left one.
struct Max {
  template <class T>
  UPSWEEP_HOST_DEVICE constexpr T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (b != b) return b;
    }
    return a < b ? b : a;
  }
};

struct BitAnd {
  template <class T>
  UPSWEEP_HOST_DEVICE constexpr T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};

struct BitOr {
  template <class T>
  UPSWEEP_HOST_DEVICE constexpr T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};

struct BitXor {
  template <class T>
  UPSWEEP_HOST_DEVICE constexpr T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};

/// x → a·x + b. A scan of these with Compose, applied to x0, gives every term of the recurrence xi = ai·xi-1 + bi.
template <class T>
struct Affine {
  T a;
  T b;
};

/// First f, then g. Associative, but it does not commute.
struct Compose {
  template <class T>
  UPSWEEP_HOST_DEVICE constexpr Affine<T> operator()(const Affine<T>& f, const Affine<T>& g) const {
    return {Mul{}(f.a, g.a), Add{}(Mul{}(f.b, g.a), g.b)};
  }
};

inline constexpr Add add{};
inline constexpr Mul mul{};
inline constexpr Min min{};
inline constexpr Max max{};
inline constexpr BitAnd bit_and{};
inline constexpr BitOr bit_or{};
inline constexpr BitXor bit_xor{};
inline constexpr Compose compose{};

namespace detail {

template <class Op, class... Known>
concept AnyOf = (std::is_same_v<Op, Known> || ...);

/// The operator that a function object is on elements of type T. CUDA's own are added in cuda_operators.cuh.
template <class Op, class T>
struct OperatorOf : std::integral_constant<Operator, Operator::custom> {};
template <class Op, class T>
  requires AnyOf<Op, Add, std::plus<>, std::plus<T>>
struct OperatorOf<Op, T> : std::integral_constant<Operator, Operator::add> {};
template <class Op, class T>
  requires AnyOf<Op, Mul, std::multiplies<>, std::multiplies<T>>
struct OperatorOf<Op, T> : std::integral_constant<Operator, Operator::mul> {};
template <class Op, class T>
  requires AnyOf<Op, Min>
struct OperatorOf<Op, T> : std::integral_constant<Operator, Operator::min> {};
template <class Op, class T>
  requires AnyOf<Op, Max>
struct OperatorOf<Op, T> : std::integral_constant<Operator, Operator::max> {};
template <class Op, class T>
  requires AnyOf<Op, BitAnd, std::bit_and<>, std::bit_and<T>>
struct OperatorOf<Op, T> : std::integral_constant<Operator, Operator::bit_and> {};
template <class Op, class T>
  requires AnyOf<Op, BitOr, std::bit_or<>, std::bit_or<T>>
struct OperatorOf<Op, T> : std::integral_constant<Operator, Operator::bit_or> {};
template <class Op, class T>
  requires AnyOf<Op, BitXor, std::bit_xor<>, std::bit_xor<T>>
struct OperatorOf<Op, T> : std::integral_constant<Operator, Operator::bit_xor> {};

}  // namespace detail

/// The compiled operator that function object `Op` stands for on elements of type T; `custom` for any other.
template <class Op, class T>
constexpr Operator operator_of() {
  constexpr Operator kOp = detail::OperatorOf<Op, T>::value;
  return std::is_floating_point_v<T> && is_bitwise(kOp) ? Operator::custom : kOp;
}

/// Whether op(a, b) is op(b, a), so that a GPU may fold faster, out of order. Known of the operators above on arithmetic
/// types; a type of operators of your own says so by specialising this:
///   template <class T> inline constexpr bool upsweep::is_commutative<MyOperator, T> = true;
template <class Op, class T>
inline constexpr bool is_commutative = std::is_arithmetic_v<T> && operator_of<Op, T>() != Operator::custom;

namespace detail {

/// The operator that computes: std::plus and std::multiplies of integers as Add and Mul, which wrap around where theirs
/// would be undefined; any other as it is.
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

/// The value e with e ⊕ x = x for every x, bit for bit: for float addition that is -0.0, since 0.0 + -0.0 is 0.0. `op` is
/// one that T has, not `custom`.
template <class T>
constexpr T identity(Operator op) {
  using Limits = std::numeric_limits<T>;
  constexpr bool kFloat = std::is_floating_point_v<T>;
  switch (op) {
    case Operator::add:
      return kFloat ? static_cast<T>(-0.0) : T{0};
    case Operator::mul:
      return T{1};
    case Operator::min:
      return kFloat ? Limits::infinity() : Limits::max();
    case Operator::max:
      return kFloat ? -Limits::infinity() : Limits::lowest();
    case Operator::bit_and:
      if constexpr (!kFloat) return static_cast<T>(~T{0});
      break;
    case Operator::bit_or:
    case Operator::bit_xor:
      if constexpr (!kFloat) return T{0};
      break;
    case Operator::custom:
      break;
  }
  detail::no_such_value();
}

}  // namespace upsweep
