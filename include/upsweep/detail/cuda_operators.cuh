// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/cuda_operators.cuh: CUDA's function objects as the library's own operators.
#pragma once

#include <cuda/functional>
#include <cuda/std/functional>

#include "upsweep/detail/device.cuh"
#include "upsweep/operators.hpp"

namespace upsweep::detail {

template <class Op, class T>
  requires AnyOf<Op, ::cuda::std::plus<>, ::cuda::std::plus<T>>
struct OperatorOf<Op, T> : std::integral_constant<Operator, Operator::add> {};
template <class Op, class T>
  requires AnyOf<Op, ::cuda::std::multiplies<>, ::cuda::std::multiplies<T>>
struct OperatorOf<Op, T> : std::integral_constant<Operator, Operator::mul> {};
template <class Op, class T>
  requires AnyOf<Op, ::cuda::minimum<>, ::cuda::minimum<T>>
struct OperatorOf<Op, T> : std::integral_constant<Operator, Operator::min> {};
template <class Op, class T>
  requires AnyOf<Op, ::cuda::maximum<>, ::cuda::maximum<T>>
struct OperatorOf<Op, T> : std::integral_constant<Operator, Operator::max> {};
template <class Op, class T>
  requires AnyOf<Op, ::cuda::std::bit_and<>, ::cuda::std::bit_and<T>>
struct OperatorOf<Op, T> : std::integral_constant<Operator, Operator::bit_and> {};
template <class Op, class T>
  requires AnyOf<Op, ::cuda::std::bit_or<>, ::cuda::std::bit_or<T>>
struct OperatorOf<Op, T> : std::integral_constant<Operator, Operator::bit_or> {};
template <class Op, class T>
  requires AnyOf<Op, ::cuda::std::bit_xor<>, ::cuda::std::bit_xor<T>>
struct OperatorOf<Op, T> : std::integral_constant<Operator, Operator::bit_xor> {};

/// The operator that kernels compute with: the library's where it is one of those, as others' may not run on a device.
template <class T, class Op>
constexpr auto device_operator(const Op& op) {
  constexpr Operator kOp = operator_of<Op, T>();
  if constexpr (kOp == Operator::add) {
    return Add{};
  } else if constexpr (kOp == Operator::mul) {
    return Mul{};
  } else if constexpr (kOp == Operator::min) {
    return Min{};
  } else if constexpr (kOp == Operator::max) {
    return Max{};
  } else if constexpr (kOp == Operator::bit_and) {
    return BitAnd{};
  } else if constexpr (kOp == Operator::bit_or) {
    return BitOr{};
  } else if constexpr (kOp == Operator::bit_xor) {
    return BitXor{};
  } else {
    static_assert(kOp == Operator::custom);
    return op;
  }
}

/// Refuses at compile time what the kernels cannot move.
template <class In, class T>
constexpr void require_device_elements() {
  constexpr int kMost = gpu::detail::kMaxElementBytes;
  static_assert(sizeof(In) <= kMost && sizeof(T) <= kMost, "on a GPU an element may have at most 32 bytes");
}

}  // namespace upsweep::detail
