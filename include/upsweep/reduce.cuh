// SPDX-License-Identifier: Apache-2.0
// upsweep/reduce.cuh: reductions on a GPU with operators and types of your own, compiled into your code by nvcc.
//
// As in reduce.hpp, with a gpu::Policy. Elements and operators are as in scan.cuh.
#pragma once

#include "upsweep/detail/cuda_operators.cuh"
#include "upsweep/detail/device_reduce.cuh"
#include "upsweep/reduce.hpp"

namespace upsweep {
namespace detail {

template <class In, class T, class Op>
static constexpr DeviceKernel<ReduceCall> kDeviceReduce{
    [](const ReduceCall& call) noexcept {
      return gpu::detail::run_reduce<In, T, Op, false>(call, *static_cast<const Op*>(call.op_object));
    },
    [](const ReduceCall& call) noexcept {
      return gpu::detail::reduce_bytes<gpu::detail::ReduceProblem<In, T, Op, false>>(call.n);
    }};

/// f(operator, its kernel), both as the device has them.
template <class In, class T, class Op, class F>
static auto with_device_reduce(const Op& op, F f) {
  require_device_elements<In, T>();
  const auto on_device = device_operator<T>(op);
  return f(on_device, &kDeviceReduce<In, T, std::remove_const_t<decltype(on_device)>>);
}

}  // namespace detail

/// init ⊕ x0 ⊕ … ⊕ xn-1. Waits for the stream, as the value is returned.
template <class In, class T, class Op>
  requires detail::RunsCustom<In, T, Op>
Reduction<T> reduce(const gpu::Policy& policy, const In* in, std::int64_t n, T init, Op op) {
  return detail::with_device_reduce<In, T>(op, [&](const auto& on_device, const auto* kernel) {
    return detail::reduce(policy, in, n, init, on_device, kernel);
  });
}

/// The same into *out, in device memory, without waiting. Returns the rung.
template <class In, class T, class Op>
  requires detail::RunsCustom<In, T, Op>
std::string_view reduce_async(const gpu::Policy& policy, const In* in, gpu::Length n, T* out,
                              std::type_identity_t<T> init, Op op) {
  return detail::with_device_reduce<In, T>(op, [&](const auto& on_device, const auto* kernel) {
    return detail::reduce_async(policy, in, n, out, init, on_device, kernel);
  });
}

/// The same with an initial value in device memory, which may be *out.
template <class In, class T, class Op>
  requires detail::RunsCustom<In, T, Op>
std::string_view reduce_async(const gpu::Policy& policy, const In* in, gpu::Length n, T* out, gpu::ValueAt<T> init,
                              Op op) {
  detail::require_array(init.at, 1, "initial value");
  return detail::with_device_reduce<In, T>(op, [&](const auto& on_device, const auto* kernel) {
    return detail::reduce_async(policy, in, n, out, T{}, on_device, kernel, init.at);
  });
}

namespace gpu {

/// As in reduce.hpp.
template <class In, class T, class Op>
  requires upsweep::detail::RunsCustom<In, T, Op>
WorkspaceSize reduce_workspace(const Policy& policy, std::int64_t n, Op op) {
  return upsweep::detail::with_device_reduce<In, T>(op, [&](const auto& on_device, const auto* kernel) {
    return upsweep::detail::reduce_workspace<In, T>(policy, n, on_device, kernel);
  });
}

}  // namespace gpu
}  // namespace upsweep
