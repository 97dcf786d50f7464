// SPDX-License-Identifier: Apache-2.0
// upsweep/shards.cuh: scans and reductions of shards with operators and types of your own, compiled into your code by nvcc.
//
// As in shards.hpp, with what scan.cuh says of operators and elements.
#pragma once

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

template <class In, class Out, class Op>
static ScanResult custom_scan(const gpu::Group& group, const std::vector<gpu::Shard<In, Out>>& shards, const Op& op,
                              bool exclusive, const ScanCarry<Out>& carry, const Out* init_at = nullptr) {
  require_device_elements<In, Out>();
  const auto on_device = device_operator<Out>(op);
  return scan(group, shards, on_device, exclusive, carry,
              &kDeviceShards<In, Out, std::remove_const_t<decltype(on_device)>>, init_at);
}

}  // namespace detail

template <class In, class Out, class Op>
  requires detail::RunsCustom<In, Out, Op>
ScanResult inclusive_scan(const gpu::Group& group, const std::vector<gpu::Shard<In, Out>>& shards, Op op) {
  return detail::custom_scan(group, shards, op, false, empty_carry<Out>());
}

/// Starts with `init`.
template <class In, class Out, class Op>
  requires detail::RunsCustom<In, Out, Op>
ScanResult inclusive_scan(const gpu::Group& group, const std::vector<gpu::Shard<In, Out>>& shards,
                          std::type_identity_t<Out> init, Op op) {
  return detail::custom_scan(group, shards, op, false, carry_of<Out>(init));
}

template <class In, class Out, class Op>
  requires detail::RunsCustom<In, Out, Op>
ScanResult exclusive_scan(const gpu::Group& group, const std::vector<gpu::Shard<In, Out>>& shards,
                          std::type_identity_t<Out> init, Op op) {
  return detail::custom_scan(group, shards, op, true, carry_of<Out>(init));
}

/// The same that start with a value in memory of the first member's device, outside all outputs.
template <class In, class Out, class Op>
  requires detail::RunsCustom<In, Out, Op>
ScanResult inclusive_scan(const gpu::Group& group, const std::vector<gpu::Shard<In, Out>>& shards,
                          gpu::ValueAt<Out> init, Op op) {
  detail::require_array(init.at, 1, "initial value");
  return detail::custom_scan(group, shards, op, false, carry_of(Out{}), init.at);
}
template <class In, class Out, class Op>
  requires detail::RunsCustom<In, Out, Op>
ScanResult exclusive_scan(const gpu::Group& group, const std::vector<gpu::Shard<In, Out>>& shards,
                          gpu::ValueAt<Out> init, Op op) {
  detail::require_array(init.at, 1, "initial value");
  return detail::custom_scan(group, shards, op, true, carry_of(Out{}), init.at);
}

template <class In, class T, class Op>
  requires detail::RunsCustom<In, T, Op>
void reduce_async(const gpu::Group& group, const std::vector<gpu::Shard<In>>& shards, T* out,
                  std::type_identity_t<T> init, Op op) {
  detail::with_device_reduce<In, T>(detail::OnDevice{}, op, [&](const auto& on_device, const auto* kernel) {
    using OnDevice = std::remove_cvref_t<decltype(on_device)>;
    detail::reduce_async(group, shards, out, init, on_device, kernel, &detail::kDeviceReduce<T, T, OnDevice>);
  });
}

/// The same with an initial value in memory of the first member's device, which may be *out.
template <class In, class T, class Op>
  requires detail::RunsCustom<In, T, Op>
void reduce_async(const gpu::Group& group, const std::vector<gpu::Shard<In>>& shards, T* out, gpu::ValueAt<T> init,
                  Op op) {
  detail::require_array(init.at, 1, "initial value");
  detail::with_device_reduce<In, T>(detail::OnDevice{}, op, [&](const auto& on_device, const auto* kernel) {
    using OnDevice = std::remove_cvref_t<decltype(on_device)>;
    detail::reduce_async(group, shards, out, T{}, on_device, kernel, &detail::kDeviceReduce<T, T, OnDevice>, init.at);
  });
}

namespace gpu {

/// As in shards.hpp.
template <class In, class Out, class Op>
  requires upsweep::detail::RunsCustom<In, Out, Op>
std::vector<std::int64_t> split(const Group& group, std::int64_t n, const Op& /*op*/) {
  return upsweep::detail::split_by_units(group, n, detail::kShardUnit<detail::ScanProblem<In, Out, Op, false>>);
}

}  // namespace gpu
}  // namespace upsweep
