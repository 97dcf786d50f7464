// SPDX-License-Identifier: Apache-2.0
// upsweep/reduce.cuh: reductions on a GPU with operators and types of your own, compiled into your code by nvcc.
//
// As in reduce.hpp, with a gpu::Policy. Elements are trivially copyable; the operator is associative, need not commute, is
// callable in device code, and sees valid elements only.
#pragma once

#include "upsweep/detail/device_reduce.cuh"
#include "upsweep/reduce.hpp"

namespace upsweep {
namespace detail {

template <class In, class T, class Op>
inline constexpr DeviceKernel<ReduceCall> kDeviceReduce{
    [](const ReduceCall& call) noexcept {
      return gpu::detail::run_reduce<In, T, Op, false>(call, *static_cast<const Op*>(call.op_object));
    },
    [](const ReduceCall& call) noexcept {
      return gpu::detail::reduce_bytes<gpu::detail::ReduceProblem<In, T, Op, false>>(call.n);
    }};

}  // namespace detail

/// init ⊕ x0 ⊕ … ⊕ xn-1. Waits for the stream, as the value is returned.
template <class In, class T, class Op>
  requires detail::RunsCustom<In, T, Op>
Reduction<T> reduce(const gpu::Policy& policy, const In* in, std::int64_t n, T init, Op op) {
  return detail::reduce(policy, in, n, init, op, &detail::kDeviceReduce<In, T, Op>);
}

/// The same into *out, in device memory, without waiting. Returns the rung.
template <class In, class T, class Op>
  requires detail::RunsCustom<In, T, Op>
std::string_view reduce_async(const gpu::Policy& policy, const In* in, std::int64_t n, T* out,
                              std::type_identity_t<T> init, Op op) {
  return detail::reduce_async(policy, in, n, out, init, op, &detail::kDeviceReduce<In, T, Op>);
}

}  // namespace upsweep
