// SPDX-License-Identifier: Apache-2.0
// scale/shards/offsets.cu: offsets of the lists of a group's members: sums of lengths, then offsets that continue from
// them.
//
// The total length of a member's lists is the sum of its stops minus the sum of its starts. If the stops are the starts
// shifted by one, it is the last stop minus the first start. All arithmetic is modulo 2^64, so the total is wrong if a
// list is bad or the sum exceeds int64. In that case the offsets of this member or an earlier member report it, because
// they are checked while they are written. The results after that point are ignored.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <mutex>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/visit.hpp"
#include "cuda/device_call.hpp"
#include "scale/shards/group.hpp"
#include "scale/shards/one_thread.cuh"
#include "upsweep/lists.hpp"
#include "upsweep/reduce.hpp"

namespace upsweep::shards {
namespace {

/// Summary of a member's lists.
struct OffsetsValue {
  std::int64_t stops;  ///< sum of the stops; `starts` is the sum of the starts
  std::int64_t starts;
  std::int64_t begin;  ///< the first offset
  gpu::OffsetsStatus outcome;
};
static_assert(sizeof(OffsetsValue) <= gpu::kValueBytes);

/// The summaries of all members, in the first member's memory.
struct Values {
  std::byte* first;

  __host__ __device__ OffsetsValue& operator[](std::size_t member) const {
    return *reinterpret_cast<OffsetsValue*>(first + member * gpu::kValueBytes);
  }
};

__global__ void begin_members(Values values, std::size_t members) {
  std::int64_t before = 0;
  for (std::size_t m = 0; m < members; ++m) {
    values[m].begin = before;
    const auto lengths = static_cast<std::uint64_t>(values[m].stops) - static_cast<std::uint64_t>(values[m].starts);
    before = Add{}(before, static_cast<std::int64_t>(lengths));
  }
}

/// Writes the status of the first bad list of all members, or the total.
__global__ void conclude(Values values, std::size_t members, gpu::OffsetsStatus* status) {
  std::size_t m = 0;
  while (m + 1 < members && values[m].outcome.first_bad == kNoIndex) ++m;
  *status = values[m].outcome;
}

void require_memory(const gpu::Policy& policy, const detail::OffsetsCall& call) {
  const gpu::CurrentDevice current(policy.device);
  if (call.n > 0) gpu::require_device_memory(call.starts, policy.device, "starts");
  if (call.n > 0) gpu::require_device_memory(call.stops, policy.device, "stops");
}

/// Enqueues the sum into *sum, in the member's stream.
template <class T>
void add_up(const gpu::Group::State& state, std::size_t member, const T* bounds, gpu::Length n, std::int64_t* sum) {
  using Sum = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
  const auto wrapping = [](const gpu::Policy& policy) { return policy.with_rung({}).with_overflow(Overflow::wrap); };
  const gpu::WorkspaceSize needed = gpu::reduce_workspace<T, Sum>(wrapping(state.members[member]), n.most);
  const gpu::Policy policy = state.policy_for(gpu::Work::reduction, member, needed);
  reduce_async(wrapping(policy), bounds, n, reinterpret_cast<Sum*>(sum), Sum{0});
}

void add_up_lengths(const gpu::Group::State& state, std::size_t member, const detail::OffsetsCall& call,
                    OffsetsValue* value) {
  visit_list_bound(call.type, [&]<class T>(std::type_identity<T>) {
    const T* const starts = static_cast<const T*>(call.starts);
    const T* const stops = static_cast<const T*>(call.stops);
    // If only the device has the number of lists, the host does not have the last stop, and all are summed.
    const bool are_adjacent =
        call.n > 0 && call.n_at == nullptr && Lists::by_bounds(starts, stops, call.n).are_adjacent();
    gpu::Length n = are_adjacent ? 1 : call.n;
    n.at = call.n_at;
    add_up(state, member, are_adjacent ? stops + call.n - 1 : stops, n, &value->stops);
    add_up(state, member, starts, n, &value->starts);
  });
}

/// Throws the Error of the bad list.
[[noreturn]] void throw_bad_list(const gpu::Group::State& state, const std::vector<detail::OffsetsCall>& calls,
                                 const gpu::OffsetsStatus& status) {
  std::size_t m = calls.size() - 1;
  while (status.first_bad < calls[m].carry.lists) --m;
  gpu::in_shard(m, [&] {
    const gpu::CurrentDevice current(state.members[m].device);
    detail::throw_bad_offsets(calls[m], status, state.members[m].stream);
  });
  detail::no_such_value();
}

/// Writes each member's offsets, and their outcomes into the first member's memory. Returns the rung of the first
/// member that has lists.
std::string_view write_offsets(const gpu::Group::State& state, std::vector<detail::OffsetsCall>& calls) {
  const Values values{static_cast<std::byte*>(state.values->get())};
  std::string_view rung;
  bool has_lists = false;
  for (std::size_t m = 0; m < calls.size(); ++m) {
    auto* const near = static_cast<OffsetsValue*>(state.value_near(m));
    detail::OffsetsCall& call = calls[m];
    if (m > 0) {
      state.given.wait_for(0, m);
      call.before_at =
          static_cast<const std::int64_t*>(state.reach(0, &values[m].begin, m, &near->begin, sizeof values[m].begin));
    }
    call.status = &near->outcome;
    const auto its_rung = gpu::in_shard(m, [&] {
      const gpu::WorkspaceSize needed = offsets_workspace(state.members[m], call);
      return run_offsets(state.policy_for(gpu::Work::offsets, m, needed), call);
    });
    if (m == 0 || (call.n > 0 && !has_lists)) rung = its_rung;
    has_lists = has_lists || call.n > 0;
    if (m > 0) state.copy(&near->outcome, &values[m].outcome, sizeof near->outcome, m);
    if (m > 0) state.give(m);
  }
  return rung;
}

}  // namespace
}  // namespace upsweep::shards

namespace upsweep {

detail::ShardOffsets detail::run_offsets(const gpu::Group& group, std::vector<OffsetsCall>& calls,
                                         gpu::OffsetsStatus* status) {
  using shards::OffsetsValue;
  const gpu::Group::State& state = group.state();
  require_members(group, calls.size());
  const gpu::Policy& first = state.members[0];
  const shards::Values values{static_cast<std::byte*>(state.values->get())};
  const bool waits = status == nullptr;
  for (std::size_t m = 0; m < calls.size(); ++m) {
    gpu::in_shard(m, [&] { shards::require_memory(state.members[m], calls[m]); });
  }
  const gpu::CurrentDevice current(first.device);
  if (waits) gpu::require_no_capture(first.stream, "offsets_async");
  if (!waits) gpu::require_device_memory(status, first.device, "status");
  if (waits) status = &values[calls.size()].outcome;

  const std::lock_guard lock(state.calling);
  std::string_view rung;
  state.run([&] {
    for (std::size_t m = 0; m + 1 < calls.size(); ++m) {
      auto* const near = static_cast<OffsetsValue*>(state.value_near(m));
      gpu::in_shard(m, [&] { shards::add_up_lengths(state, m, calls[m], near); });
      if (m == 0) continue;
      state.copy(near, &values[m], offsetof(OffsetsValue, begin), m);
      state.give(m);
    }
    shards::launch_one(shards::begin_members, first.stream, values, calls.size());
    state.given.record(0);
    rung = shards::write_offsets(state, calls);
    shards::launch_one(shards::conclude, first.stream, values, calls.size(), status);
    state.release();
  });
  if (!waits) return {0, rung};
  gpu::OffsetsStatus outcome = {};
  gpu::fetch(&outcome, status, sizeof outcome, first.stream);
  if (outcome.first_bad != kNoIndex) shards::throw_bad_list(state, calls, outcome);
  return {outcome.total, rung};
}

}  // namespace upsweep
