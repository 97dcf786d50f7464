// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/cuda_operators.cuh: maps CUDA's function objects to the library's operators.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cuda/functional>
#include <cuda/std/functional>
#include <tuple>
#include <type_traits>

#include "upsweep/detail/device.cuh"
#include "upsweep/operators.hpp"

namespace upsweep::detail {

/// CUDA's function objects in the order of `Operators`.
template <class T>
using CudaOperators =
    std::tuple<::cuda::std::plus<T>, ::cuda::std::multiplies<T>, ::cuda::minimum<T>, ::cuda::maximum<T>,
               ::cuda::std::bit_and<T>, ::cuda::std::bit_or<T>, ::cuda::std::bit_xor<T>>;

/// The position of Op in a list, or the length of the list if Op is not in it.
template <class Op, class... Known>
constexpr std::size_t index_in(std::type_identity<std::tuple<Known...>>) {
  std::size_t index = 0;
  (void)((std::is_same_v<Op, Known> || (++index, false)) || ...);
  return index;
}
template <class Op, class T>
inline constexpr std::size_t kCudaIndex = std::min(index_in<Op>(std::type_identity<CudaOperators<void>>{}),
                                                   index_in<Op>(std::type_identity<CudaOperators<T>>{}));

template <class Op, class T>
  requires(kCudaIndex<Op, T> < std::tuple_size_v<CudaOperators<T>>)
struct OperatorOf<Op, T> : std::integral_constant<Operator, static_cast<Operator>(kCudaIndex<Op, T>)> {};

/// The operator that kernels compute with. If `op` maps to one of the library's operators, kernels use the library's,
/// as other implementations may not run on a device.
template <class T, class Op>
constexpr auto device_operator(const Op& op) {
  constexpr Operator kOp = operator_of<Op, T>();
  if constexpr (kOp == Operator::custom) {
    return op;
  } else {
    return OperatorAt<static_cast<std::size_t>(kOp)>{};
  }
}

/// Refuses at compile time elements that the kernels cannot move.
template <class In, class T>
constexpr void require_device_elements() {
  constexpr int kMost = gpu::detail::kMaxElementBytes;
  static_assert(sizeof(In) <= kMost && sizeof(T) <= kMost, "on a GPU an element may have at most 32 bytes");
}

}  // namespace upsweep::detail
