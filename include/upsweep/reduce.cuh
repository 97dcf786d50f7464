// SPDX-License-Identifier: Apache-2.0
// upsweep/reduce.cuh: reductions on a GPU with custom operators and types, compiled into your code by nvcc.
//
// The calls are those of reduce.hpp, with a gpu::Policy. The rules for elements and operators are those of scan.cuh.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

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

/// Calls f(operator, kernel): the custom operator in the form that its kernel calls, and the kernel compiled for it.
template <class In, class T, class Op, class F>
  requires RunsCustom<In, T, Op>
static auto with_device_reduce(OnDevice /*here*/, const Op& op, F f) {
  require_device_elements<In, T>();
  const auto on_device = device_operator<T>(op);
  return f(on_device, &kDeviceReduce<In, T, std::remove_const_t<decltype(on_device)>>);
}

}  // namespace detail
}  // namespace upsweep
