// SPDX-License-Identifier: Apache-2.0
// scale/shards/reduce.cpp: reduces each member's shard to a value; the first member folds the values in order.
#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include "cuda/device_call.hpp"
#include "scale/shards/group.hpp"

namespace upsweep {

void detail::run_fold(const gpu::Group& group, const ValueOfShard& value, const ReduceCall& totals) {
  const gpu::Group::State& state = group.state();
  {
    const gpu::CurrentDevice current(state.members[0].device);
    gpu::require_device_memory(totals.out, state.members[0].device, "result");
    if (totals.init_at != nullptr) {
      gpu::require_device_memory(totals.init_at, state.members[0].device, "initial value");
    }
  }
  const std::lock_guard lock(state.calling);
  ReduceCall last = totals;
  last.in = state.values->get();
  last.n = 0;
  state.run([&] {
    std::vector<std::size_t> giving;
    for (std::size_t m = 0; m < state.members.size(); ++m) {
      // In the order of the array; shards without a value are omitted.
      void* const to = static_cast<std::byte*>(state.values->get()) + totals.out_size * last.n;
      void* const near = m == 0 || state.has_access(m, 0) ? to : state.buffers[m]->get();
      if (!gpu::in_shard(m, [&] { return value(m, state.members[m], near); })) continue;
      giving.push_back(m);
      if (near != to) state.copy(near, to, totals.out_size, m);
      ++last.n;
    }
    // Only after all members have started, because each wait takes the host a few microseconds.
    for (const std::size_t m : giving) state.give(m);
    run_reduce(group, 0, last);
    state.release();
  });
}

std::string_view detail::run_reduce(const gpu::Group& group, std::size_t member, const ReduceCall& call) {
  const gpu::Group::State& state = group.state();
  const gpu::WorkspaceSize needed = reduce_workspace(state.members[member], call);
  return run_reduce_in_reach(state.policy_for(gpu::Work::reduction, member, needed), call);
}

void detail::require_members(const gpu::Group& group, std::size_t shards) {
  const auto members = static_cast<std::size_t>(group.size());
  if (shards == members) return;
  throw Error(Code::invalid_argument, std::to_string(shards) + " shards for a group of " + std::to_string(members) +
                                          " devices: the numbers must be equal");
}

}  // namespace upsweep
