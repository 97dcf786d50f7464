// SPDX-License-Identifier: Apache-2.0
// cuda/compiled.hpp: the types and operators for which kernels are compiled, and the dispatch of a call.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/visit.hpp"
#include "upsweep/error.hpp"
#include "upsweep/operators.hpp"
#include "upsweep/types.hpp"

namespace upsweep {

/// Returns null if compiled kernels support a call, otherwise the reason. They support equal input and output types,
/// and sums of integers into the 64-bit type of the same signedness.
constexpr const char* compiled_refusal(Operator op, Type in, Type out) {
  const bool widens = op == Operator::add && is_integer(in) && is_integer(out) && size_of(out) == 8 &&
                      size_of(in) < 8 && is_signed(in) == is_signed(out);
  return in == out || widens
             ? nullptr
             : "needs the same type in and out, or sums of integers into 64 bits of the same signedness";
}

/// Returns null or the reason for the simple teaching rungs.
constexpr const char* teaching_refusal(Operator op, Type in, Type out) {
  const bool sums = op == Operator::add && in == out && (out == Type::int32 || out == Type::int64 || is_float(out));
  return sums ? nullptr : "is compiled for sums of int32, int64, float32 and float64, same type in and out";
}

/// Calls f(std::type_identity<Out>{}, op) for the operator of a call whose elements have type In.
template <class In, class Call, class F>
Status with_operator(const Call& call, F f) {
  if constexpr (std::is_integral_v<In> && sizeof(In) < 8) {
    using Wide = std::conditional_t<std::is_signed_v<In>, std::int64_t, std::uint64_t>;
    if (call.out_type == type_of<Wide>()) return f(std::type_identity<Wide>{}, Add{});
  }
  return visit_operator<In>(call.op, [&](auto op) { return f(std::type_identity<In>{}, op); });
}

/// Calls f(std::type_identity<T>{}, op) for the types and operators of the simple rungs: add on int32, int64, float and
/// double, and Compose on Affine<uint32>, which does not commute.
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
