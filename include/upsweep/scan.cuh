// SPDX-License-Identifier: Apache-2.0
// upsweep/scan.cuh: scans on a GPU with operators and types of your own, compiled into your code by nvcc.
//
// As in scan.hpp, with a gpu::Policy. Elements are trivially copyable and at most 16 bytes; the operator is associative,
// callable in device code, and sees valid elements only.
#pragma once

#include "upsweep/detail/capability.cuh"
#include "upsweep/detail/device_scan.cuh"
#include "upsweep/scan.hpp"

namespace upsweep {
namespace detail {

template <class In, class Out, class Op>
static constexpr DeviceScans kDeviceScans{
    .has_lookahead = gpu::detail::has_lookahead<>,
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

}  // namespace detail

template <class In, class Out, class Op>
  requires detail::RunsCustom<In, Out, Op>
ScanResult inclusive_scan(const gpu::Policy& policy, const In* in, std::int64_t n, Out* out, Op op) {
  return detail::scan(policy, in, n, out, op, false, empty_carry<Out>(), &detail::kDeviceScans<In, Out, Op>);
}

template <class In, class Out, class Op>
  requires detail::RunsCustom<In, Out, Op>
ScanResult exclusive_scan(const gpu::Policy& policy, const In* in, std::int64_t n, Out* out,
                          std::type_identity_t<Out> init, Op op) {
  return detail::scan(policy, in, n, out, op, true, carry_of<Out>(init), &detail::kDeviceScans<In, Out, Op>);
}

}  // namespace upsweep
