// SPDX-License-Identifier: Apache-2.0
// shards/reduce.cpp: a value of each member of a group, of its shard, folded in their order by the first one.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cuda/device_call.hpp"
#include "shards/group.hpp"

namespace upsweep {
namespace {

/// On the member's device, until the end of the work that is in its stream.
std::unique_ptr<gpu::Workspace> room_for(std::int64_t bytes, const gpu::Policy& member) {
  gpu::MemoryResource& memory = member.memory != nullptr ? *member.memory : gpu::pool();
  return std::make_unique<gpu::Workspace>(gpu::WorkspaceSize{.scratch = bytes}, member.device, member.stream, memory);
}

}  // namespace

void detail::run_fold(const gpu::Group& group, const ValueOfShard& value, const ReduceCall& totals) {
  const gpu::Group::State& state = group.state();
  const std::size_t count = state.members.size();
  {
    const gpu::CurrentDevice current(state.members[0].device);
    gpu::require_device_memory(totals.out, state.members[0].device, "result");
  }
  const std::lock_guard lock(state.calling);
  const bool is_forked = state.fork();
  {
    std::vector<std::unique_ptr<gpu::Workspace>> own(count);
    for (std::size_t m = 0; m < count; ++m) {
      own[m] = room_for(totals.out_size, state.members[m]);
      try {
        if (!value(m, state.members[m], own[m]->scratch())) own[m].reset();
      } catch (const Error& error) {
        throw Error(error.code(), "shard " + std::to_string(m) + ": " + error.what(), error.index());
      }
      state.given.record(m);
    }
    // In the order of the array; shards without a value are left out.
    const auto all = room_for(totals.out_size * static_cast<std::int64_t>(count), state.members[0]);
    ReduceCall last = totals;
    last.in = all->scratch();
    last.n = 0;
    for (std::size_t m = 0; m < count; ++m) {
      if (own[m] == nullptr) continue;
      state.given.wait_for(m, 0);
      state.copy(m, own[m]->scratch(), 0, static_cast<std::byte*>(all->scratch()) + totals.out_size * last.n++,
                 totals.out_size);
    }
    state.taken.record(0);
    for (std::size_t m = 1; m < count; ++m) state.taken.wait_for(0, m);  // before its memory is given back
    run_reduce(state.members[0], last);
  }
  if (is_forked) state.join();
}

void detail::require_members(const gpu::Group& group, std::size_t shards) {
  const auto members = static_cast<std::size_t>(group.size());
  if (shards == members) return;
  throw Error(Code::invalid_argument, std::to_string(shards) + " shards are given for a group of " +
                                          std::to_string(members) + " devices: each needs one");
}

}  // namespace upsweep
