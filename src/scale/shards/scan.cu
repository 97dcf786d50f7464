// SPDX-License-Identifier: Apache-2.0
// scale/shards/scan.cu: a scan over the members of a group: aggregates of all tiles, their prefixes across members,
// results.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/checked.hpp"
#include "core/visit.hpp"
#include "cuda/device_call.hpp"
#include "scale/shards/group.hpp"
#include "scale/shards/steps.cuh"

namespace upsweep::shards {
namespace {

/// Calls f(std::type_identity<gpu::detail::ScanProblem<…>>{}) for these types; the operator does not matter.
template <class F>
std::int64_t with_problem(Type in, Type out, F f) {
  return visit_type(in, [&]<class In>(std::type_identity<In>) {
    return visit_type(out, [&]<class Out>(std::type_identity<Out>) -> std::int64_t {
      if constexpr (compiled_refusal(Operator::add, type_of<In>(), type_of<Out>()) == nullptr) {
        return f(std::type_identity<gpu::detail::ScanProblem<In, Out, Add, true>>{});
      } else {
        return 0;
      }
    });
  });
}

constexpr std::string_view kRung = "cuda.lookahead";

// The library's own functions; a custom operator supplies its own.

const char* refusal(int device) noexcept { return gpu::lookahead_refusal(device); }
std::int64_t workspace(const detail::ScanCall& call) noexcept {
  return with_problem(call.in_type, call.out_type, [&]<class Problem>(std::type_identity<Problem>) {
    return gpu::detail::shard_workspace_bytes<Problem>(call.n);
  });
}
Status step(const detail::ScanCall& call, const detail::ShardStep& step) noexcept {
  return visit_type(call.in_type, [&]<class In>(std::type_identity<In>) { return step_from<In>(call, step); });
}
std::int64_t groups(const detail::ScanCall& call) noexcept {
  return with_problem(call.in_type, call.out_type, [&]<class Problem>(std::type_identity<Problem>) {
    return gpu::detail::groups_bytes<Problem>(call.n);
  });
}
constexpr detail::DeviceShards kCompiled{.refusal = refusal, .step = step, .workspace = workspace, .groups = groups};

const detail::DeviceShards& kernels_of(const detail::DeviceShards* custom) {
  return custom != nullptr ? *custom : kCompiled;
}

void require_shard(const gpu::Policy& policy, const detail::ScanCall& call, const detail::DeviceShards* custom,
                   const std::string& which) {
  const char* reason = custom == nullptr ? compiled_refusal(call.op, call.in_type, call.out_type) : nullptr;
  if (reason == nullptr) reason = kernels_of(custom).refusal(policy.device);
  if (!policy.rung.empty() && policy.rung != kRung) reason = "supports only rung cuda.lookahead";
  require_checks(call, policy.overflow);
  if (policy.overflow == Overflow::checked && call.op == Operator::add && is_integer(call.out_type)) {
    reason = "wraps sums on overflow and cannot check them";
  }
  if (reason != nullptr) {
    throw Error(Code::unsupported, "a scan of shards on device " + std::to_string(policy.device) + ": " + reason);
  }
  if (!detail::same_or_apart(call.in, call.n * call.in_size, call.out, call.n * call.out_size)) {
    throw Error(Code::invalid_argument,
                "input and output" + which + " overlap: they must be the same array or disjoint");
  }
  if (call.n_at != nullptr) gpu::require_device_memory(call.n_at, policy.device, ("the length" + which).c_str());
  if (call.n == 0) return;
  gpu::require_device_memory(call.in, policy.device, ("input" + which).c_str());
  gpu::require_device_memory(call.out, policy.device, ("output" + which).c_str());
}

/// Aggregates of a member's groups, in memory that other members may read.
struct GivenGroups {
  void* memory;
  std::int64_t bytes;
};

/// Returns the buffers of all members except the last, which passes nothing on.
std::vector<GivenGroups> buffers_for_groups(const gpu::Group::State& state, std::span<const detail::ScanCall> calls,
                                            const detail::DeviceShards* custom) {
  std::vector<GivenGroups> groups;
  for (std::size_t m = 0; m + 1 < calls.size(); ++m) {
    const std::int64_t bytes = detail::ShardScan::groups_bytes(calls[m], custom);
    groups.push_back({state.shared_memory(m, bytes), bytes});
    for (std::size_t later = m + 1; later < calls.size(); ++later) state.reserve(m, later, bytes);
  }
  return groups;
}

/// Copies an initial value in device memory to the group's memory. The value belongs to the caller, and other devices
/// may not have access to it. The copy runs in the first member's stream before its results are passed on.
void give_init(const gpu::Group::State& state, const detail::ScanCall& call) {
  if (call.init_at != nullptr) state.copy(call.init_at, state.initial(), call.out_size, 0);
}
void take_init(const gpu::Group::State& state, const detail::ScanCall& call, std::size_t member,
               const detail::ShardScan& scan) {
  if (call.init_at == nullptr || member == 0) return;
  scan.begin_with(state.reach(0, state.initial(), member, scan.init_buffer(), call.out_size));
}

/// Requires that values read from device memory are outside all outputs, because one device may be several members.
void require_values(const gpu::Group::State& state, std::span<const detail::ScanCall> calls) {
  const void* const init_at = calls[0].init_at;
  if (init_at != nullptr) {
    const gpu::CurrentDevice current(state.members[0].device);
    gpu::require_device_memory(init_at, state.members[0].device, "initial value");
  }
  for (const detail::ScanCall& call : calls) {
    detail::require_outside_output(init_at, call.out_size, "initial value", call);
    for (const detail::ScanCall& other : calls) {
      detail::require_outside_output(other.n_at, sizeof *other.n_at, "length", call);
    }
  }
}

/// Runs each member's scan, after the groups of all members before it.
void scan_all(const gpu::Group::State& state, std::span<const detail::ScanCall> calls,
              const std::vector<detail::ShardScan>& members, const std::vector<GivenGroups>& groups) {
  for (std::size_t m = 0; m < members.size(); ++m) {
    std::vector<const void*> earlier;
    for (std::size_t j = 0; j < m; ++j) {
      state.given.wait_for(j, m);
      earlier.push_back(state.bring(j, groups[j].memory, m, groups[j].bytes));
    }
    void* const before = m > 0 ? members[m].before_buffer() : nullptr;
    if (m > 0 && calls[m].n > 0) members[m].fold(nullptr, earlier, before);
    const bool reads_init = calls[0].init_at != nullptr;
    if (m > 0 && !reads_init) state.taken.record(m);
    take_init(state, calls[0], m, members[m]);
    members[m].scan(before);
    if (m > 0 && reads_init) state.taken.record(m);
  }
  // The next call overwrites the groups, and later work in the first member's stream may overwrite the initial value.
  for (std::size_t m = 1; m < members.size(); ++m) {
    for (std::size_t j = 0; j < m; ++j) state.taken.wait_for(m, j);
  }
}

}  // namespace
}  // namespace upsweep::shards

namespace upsweep {

struct detail::ShardScan::State {
  State(const gpu::Policy& where, const ScanCall& what, const DeviceShards* custom)
      : policy(where),
        call(what),
        kernels(shards::kernels_of(custom)),
        memory(where, ShardScan::workspace(what, custom)) {
    call.launch = &memory.launch();
  }

  static constexpr int kBuffers = 3;  ///< buffers of the scratch; the groups follow

  gpu::Policy policy;
  ScanCall call;
  DeviceShards kernels;
  gpu::DeviceCall memory;
};

gpu::WorkspaceSize detail::ShardScan::workspace(const ScanCall& call, const DeviceShards* custom) {
  return {.kept = shards::kernels_of(custom).workspace(call),
          .scratch = State::kBuffers * kRowsBytes + groups_bytes(call, custom)};
}
std::int64_t detail::ShardScan::groups_bytes(const ScanCall& call, const DeviceShards* custom) {
  return shards::kernels_of(custom).groups(call);
}

detail::ShardScan::ShardScan(const gpu::Policy& policy, const ScanCall& call, const DeviceShards* custom,
                             const std::string& which) {
  const gpu::CurrentDevice current(policy.device);
  shards::require_shard(policy, call, custom, which);
  state_ = std::make_unique<State>(policy, call, custom);
}
detail::ShardScan::~ShardScan() = default;
detail::ShardScan::ShardScan(ShardScan&&) noexcept = default;

void* detail::ShardScan::before_buffer() const { return state_->memory.launch().scratch; }
void* detail::ShardScan::after_buffer() const { return static_cast<std::byte*>(before_buffer()) + kRowsBytes; }
void* detail::ShardScan::init_buffer() const { return static_cast<std::byte*>(after_buffer()) + kRowsBytes; }
void* detail::ShardScan::groups_buffer() const { return static_cast<std::byte*>(init_buffer()) + kRowsBytes; }
void detail::ShardScan::begin_with(const void* init_at) const { state_->call.init_at = init_at; }

void detail::ShardScan::run(const ShardStep& step) const {
  const bool needs_elements = step.kind == ShardStep::Kind::publish || step.kind == ShardStep::Kind::scan;
  if (state_->call.n == 0 && needs_elements) return;
  const gpu::CurrentDevice current(state_->policy.device);
  const Status status = state_->kernels.step(state_->call, step);
  if (!status.ok()) throw_status(status, shards::kRung);
}

std::string_view detail::run_scan(const gpu::Group& group, std::span<const ScanCall> calls,
                                  const DeviceShards* custom) {
  const gpu::Group::State& state = group.state();
  require_members(group, calls.size());
  if (calls.size() == 1 && custom == nullptr) return run_scan(state.members[0], calls[0]);
  shards::require_values(state, calls);
  const std::lock_guard lock(state.calling);
  state.run([&] {
    std::vector<ShardScan> members;
    for (std::size_t m = 0; m < calls.size(); ++m) {
      const gpu::Policy policy = state.policy_for(gpu::Work::scan, m, ShardScan::workspace(calls[m], custom));
      members.emplace_back(policy, calls[m], custom, " of shard " + std::to_string(m));
    }
    const std::vector<shards::GivenGroups> groups = shards::buffers_for_groups(state, calls, custom);
    for (const ShardScan& member : members) member.publish();
    shards::give_init(state, calls[0]);
    for (std::size_t m = 0; m + 1 < members.size(); ++m) {
      members[m].groups(groups[m].memory);
      state.given.record(m);
    }
    shards::scan_all(state, calls, members, groups);
  });
  return shards::kRung;
}

std::int64_t detail::shard_block(Type in, Type out) {
  return shards::with_problem(
      in, out, []<class Problem>(std::type_identity<Problem>) { return gpu::detail::kShardBlock<Problem>; });
}

}  // namespace upsweep
