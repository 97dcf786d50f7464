// SPDX-License-Identifier: Apache-2.0
// upsweep/shards.cuh: scans and reduces shards with custom operators and types, compiled into your code by nvcc.
//
// The calls are those of shards.hpp. The rules for operators and elements are those of scan.cuh.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

#include "upsweep/detail/shard_scan.cuh"
#include "upsweep/reduce.cuh"
#include "upsweep/scan.cuh"
#include "upsweep/shards.hpp"

namespace upsweep {
namespace detail {

template <class In, class Out, class Op>
static constexpr DeviceShards kDeviceShards{
    .refusal = gpu::detail::lookahead_refusal<>,
    .step =
        [](const ScanCall& call, const ShardStep& step) noexcept {
          return gpu::detail::run_shard<In, Out, Op, false>(call, *static_cast<const Op*>(call.op_object), step);
        },
    .workspace =
        [](const ScanCall& call) noexcept {
          return gpu::detail::shard_workspace_bytes<gpu::detail::ScanProblem<In, Out, Op, false>>(call.n);
        },
    .groups =
        [](const ScanCall& call) noexcept {
          return gpu::detail::groups_bytes<gpu::detail::ScanProblem<In, Out, Op, false>>(call.n);
        }};

/// Calls f(operator, kernels): the custom operator in the form that kernels call, and the kernels compiled for it.
template <class In, class Out, class Op, class F>
  requires RunsCustom<In, Out, Op>
static auto with_device_shards(OnDevice /*here*/, const Op& op, F f) {
  require_device_elements<In, Out>();
  const auto on_device = device_operator<Out>(op);
  return f(on_device, &kDeviceShards<In, Out, std::remove_const_t<decltype(on_device)>>);
}

}  // namespace detail

namespace gpu {

/// Returns where each shard begins, and n, as split() of shards.hpp does.
template <class In, class Out, class Op>
  requires upsweep::detail::RunsCustom<In, Out, Op>
std::vector<std::int64_t> split(const Group& group, std::int64_t n, const Op& /*op*/) {
  return upsweep::detail::split_by_blocks(group, n, detail::kShardBlock<detail::ScanProblem<In, Out, Op, false>>);
}

}  // namespace gpu
}  // namespace upsweep
