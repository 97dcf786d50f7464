// SPDX-License-Identifier: Apache-2.0
// cuda/compiled.hpp: the types and operators that kernels for all of them are compiled for, and the way from a call to its own.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/visit.hpp"
#include "upsweep/error.hpp"
#include "upsweep/operators.hpp"
#include "upsweep/types.hpp"

namespace upsweep {

/// Null where such kernels take a call, else the reason why not: same type in and out; integers into the 64 bits of their
/// sign, which is where sums of them are kept.
constexpr const char* compiled_refusal(Operator op, Type in, Type out) {
  const bool widens = op == Operator::add && is_integer(in) && is_integer(out) && size_of(out) == 8 &&
                      size_of(in) < 8 && is_signed(in) == is_signed(out);
  return in == out || widens ? nullptr
                             : "takes the same type in and out, or sums of integers in the 64 bits of their sign";
}

/// The same of the simple rungs that are there to be read.
constexpr const char* teaching_refusal(Operator op, Type in, Type out) {
  const bool sums = op == Operator::add && in == out && (out == Type::int32 || out == Type::int64 || is_float(out));
  return sums ? nullptr : "is compiled for sums of int32, int64, float32 and float64, same type in and out";
}

/// f(std::type_identity<Out>{}, op) for the operator of a call whose elements are of type In.
template <class In, class Call, class F>
Status with_operator(const Call& call, F f) {
  if constexpr (std::is_integral_v<In> && sizeof(In) < 8) {
    using Wide = std::conditional_t<std::is_signed_v<In>, std::int64_t, std::uint64_t>;
    if (call.out_type == type_of<Wide>()) return f(std::type_identity<Wide>{}, Add{});
  }
  return visit_operator<In>(call.op, [&](auto op) { return f(std::type_identity<In>{}, op); });
}

/// f(std::type_identity<T>{}, op) for what the simple rungs are compiled for: add on int32, int64, float and double, and
/// Compose on Affine<uint32>, which does not commute.
template <class F>
Status with_few_types(Type out, F f) {
  if (out == Type::custom) return f(std::type_identity<Affine<std::uint32_t>>{}, Compose{});
  if (out == Type::int32) return f(std::type_identity<std::int32_t>{}, Add{});
  if (out == Type::int64) return f(std::type_identity<std::int64_t>{}, Add{});
  if (out == Type::float32) return f(std::type_identity<float>{}, Add{});
  if (out == Type::float64) return f(std::type_identity<double>{}, Add{});
  detail::no_such_value();
}

}  // namespace upsweep
