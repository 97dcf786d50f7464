// SPDX-License-Identifier: Apache-2.0
// upsweep/scan.cuh: scans on a GPU with custom operators and types, compiled into your code by nvcc.
//
// The calls are those of scan.hpp, with a gpu::Policy. Elements must be trivially copyable, and at most 32 bytes. The
// operator must be associative and callable in device code; host code need not be able to call it. The operator only
// receives valid elements. Elements are folded in order, unless the operator is known to commute: see
// upsweep::is_commutative. CUDA's function objects (cuda::std::plus, cuda::minimum, …) are treated as the library's
// operators. Therefore cuda::minimum and cuda::maximum propagate NaN in these calls, like Min and Max. Everything in
// this header is static: each file of a program contains separate kernels, for the architectures that the file is
// compiled for.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

#include "upsweep/detail/capability.cuh"
#include "upsweep/detail/cuda_operators.cuh"
#include "upsweep/detail/device_scan.cuh"
#include "upsweep/scan.hpp"

namespace upsweep {
namespace detail {

template <class In, class Out, class Op>
static constexpr DeviceScans kDeviceScans{
    .lookahead_refusal = gpu::detail::lookahead_refusal<>,
    .lookahead = {[](const ScanCall& call) noexcept {
                    return gpu::detail::run_lookahead<In, Out, Op, false>(call,
                                                                          *static_cast<const Op*>(call.op_object));
                  },
                  [](const ScanCall& call) noexcept {
                    using Problem = gpu::detail::ScanProblem<In, Out, Op, false>;
                    return gpu::WorkspaceSize{.kept = gpu::detail::workspace_bytes<Problem>(call.n)};
                  }},
    .lookback = {[](const ScanCall& call) noexcept {
                   return gpu::detail::run_lookback<In, Out, Op, false>(call, *static_cast<const Op*>(call.op_object));
                 },
                 [](const ScanCall& call) noexcept {
                   using Problem = gpu::detail::ScanProblem<In, Out, Op, false>;
                   return gpu::WorkspaceSize{.kept = gpu::detail::lookback_bytes<Problem>(call.n)};
                 }}};

/// Calls f(operator, kernels): the custom operator in the form that kernels call, and the kernels compiled for it.
template <class In, class Out, class Op, class F>
  requires RunsCustom<In, Out, Op>
static auto with_device_scans(OnDevice /*here*/, const Op& op, F f) {
  require_device_elements<In, Out>();
  const auto on_device = device_operator<Out>(op);
  return f(on_device, &kDeviceScans<In, Out, std::remove_const_t<decltype(on_device)>>);
}

}  // namespace detail
}  // namespace upsweep
