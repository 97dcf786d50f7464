// SPDX-License-Identifier: Apache-2.0
// plan/names.cpp: the names of types, operations and reductions, what they are defined for, and scalars of each type.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>

#include "plan/types.hpp"
#include "upsweep/plan.hpp"

namespace upsweep::plan {
namespace {

constexpr std::string_view kTypeNames[] = {"int8",   "int16",  "int32",   "int64",   "uint8", "uint16",
                                           "uint32", "uint64", "float32", "float64", "bool"};
static_assert(std::size(kTypeNames) == kElementTypes);
constexpr int kSizes[] = {1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 1};
static_assert(std::size(kSizes) == kElementTypes);

/// The types that an operation is defined for.
enum Types : std::uint8_t {
  integers = 1,
  floats = 2,
  booleans = 4,
  numbers = integers | floats,
  any = numbers | booleans
};

struct OpInfo {
  std::string_view name;
  int arity;
  Types types;
};
constexpr OpInfo kInfo[] = {{"add", 2, numbers},
                            {"subtract", 2, numbers},
                            {"multiply", 2, numbers},
                            {"divide", 2, floats},
                            {"floor_divide", 2, numbers},
                            {"remainder", 2, numbers},
                            {"fmod", 2, numbers},
                            {"power", 2, numbers},
                            {"maximum", 2, numbers},
                            {"minimum", 2, numbers},
                            {"fmax", 2, floats},
                            {"fmin", 2, floats},
                            {"negative", 1, numbers},
                            {"absolute", 1, numbers},
                            {"sign", 1, numbers},
                            {"bit_and", 2, static_cast<Types>(integers | booleans)},
                            {"bit_or", 2, static_cast<Types>(integers | booleans)},
                            {"bit_xor", 2, static_cast<Types>(integers | booleans)},
                            {"invert", 1, static_cast<Types>(integers | booleans)},
                            {"shift_left", 2, integers},
                            {"shift_right", 2, integers},
                            {"less", 2, any},
                            {"less_equal", 2, any},
                            {"greater", 2, any},
                            {"greater_equal", 2, any},
                            {"equal", 2, any},
                            {"unequal", 2, any},
                            {"where", 3, any},
                            {"is_nan", 1, floats},
                            {"is_infinite", 1, floats},
                            {"is_finite", 1, floats},
                            {"sign_bit", 1, floats},
                            {"copysign", 2, floats},
                            {"floor", 1, floats},
                            {"ceil", 1, floats},
                            {"trunc", 1, floats},
                            {"rint", 1, floats},
                            {"sqrt", 1, floats},
                            {"cbrt", 1, floats},
                            {"exp", 1, floats},
                            {"exp2", 1, floats},
                            {"expm1", 1, floats},
                            {"log", 1, floats},
                            {"log2", 1, floats},
                            {"log10", 1, floats},
                            {"log1p", 1, floats},
                            {"sin", 1, floats},
                            {"cos", 1, floats},
                            {"tan", 1, floats},
                            {"arcsin", 1, floats},
                            {"arccos", 1, floats},
                            {"arctan", 1, floats},
                            {"sinh", 1, floats},
                            {"cosh", 1, floats},
                            {"tanh", 1, floats},
                            {"arcsinh", 1, floats},
                            {"arccosh", 1, floats},
                            {"arctanh", 1, floats},
                            {"arctan2", 2, floats},
                            {"hypot", 2, floats}};
static_assert(std::size(kInfo) == kOps, "an operation needs a line here");

constexpr std::string_view kReductions[] = {"sum", "product", "any", "all", "minimum", "maximum", "argmin", "argmax"};

template <class E, class Names>
std::optional<E> parsed(std::string_view text, const Names& names) {
  for (std::size_t i = 0; i < std::size(names); ++i) {
    std::string_view name;
    if constexpr (requires { names[i].name; }) {
      name = names[i].name;
    } else {
      name = names[i];
    }
    if (name == text) return static_cast<E>(i);
  }
  return std::nullopt;
}

const OpInfo& info(Op op) { return kInfo[static_cast<std::size_t>(op)]; }

/// Converts as C does, but defines what C leaves undefined: a float that does not fit becomes the minimum.
template <class T, class From>
T converted(From number) {
  if constexpr (std::is_same_v<T, bool>) {
    return number != 0;
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<T>) {
    const double end = std::ldexp(1.0, std::numeric_limits<T>::digits);
    const double low = std::is_signed_v<T> ? -end - 1 : -1;
    const bool fits = number < end && (number > low || (std::is_signed_v<T> && number == -end));
    return fits ? static_cast<T>(number) : std::numeric_limits<T>::min();
  } else {
    return static_cast<T>(number);
  }
}

template <class From>
Scalar scalar_of(ElementType type, From number) {
  return detail::visit_element(type, [&]<class T>(std::type_identity<T>) { return Scalar(converted<T>(number)); });
}

}  // namespace

std::string_view name(ElementType type) noexcept { return kTypeNames[static_cast<std::size_t>(type)]; }
int size_of(ElementType type) noexcept { return kSizes[static_cast<std::size_t>(type)]; }
std::optional<ElementType> parse_element_type(std::string_view text) noexcept {
  return parsed<ElementType>(text, kTypeNames);
}

std::string_view name(Op op) noexcept { return info(op).name; }
int arity(Op op) noexcept { return info(op).arity; }
std::optional<Op> parse_op(std::string_view text) noexcept { return parsed<Op>(text, kInfo); }
bool is_defined(Op op, ElementType type) noexcept {
  const Types kind = type == ElementType::boolean ? booleans : detail::is_float(type) ? floats : integers;
  return (info(op).types & kind) != 0;
}

std::string_view name(Reduction reduction) noexcept { return kReductions[static_cast<std::size_t>(reduction)]; }
std::optional<Reduction> parse_reduction(std::string_view text) noexcept {
  return parsed<Reduction>(text, kReductions);
}

Scalar Scalar::of(ElementType type, double number) { return scalar_of(type, number); }
Scalar Scalar::of(ElementType type, std::int64_t number) { return scalar_of(type, number); }
Scalar Scalar::of(ElementType type, std::uint64_t number) { return scalar_of(type, number); }

}  // namespace upsweep::plan
