// SPDX-License-Identifier: Apache-2.0
// problems/lists/broadcast/problem.cpp: the ladder in order, the choice of a rung, and the public calls: validate, run,
// throw failures as Errors.
#include <limits>
#include <string>

#include "core/adjacent_lists.hpp"
#include "core/apart.hpp"
#include "core/columns.hpp"
#include "core/lists.hpp"
#include "cuda/list_call.hpp"
#include "problems/lists/broadcast/rung.hpp"
#include "upsweep/detail/scan_call.hpp"

namespace upsweep {
namespace impl::broadcast {

// The ladder, starting with the naive loop. Every rung is declared in the file of its name.
extern const Rung cpu_serial, cpu_staged, cuda_merge_path;

constexpr const Rung* kRungs[] = {&cpu_serial, &cpu_staged, &cuda_merge_path};
constexpr Ladder<const Call> kLadder = kRungs;

std::vector<RungInfo> rungs() { return infos(kLadder); }

namespace {

const Rung& choose(const Call& call, const Policy& policy) {
  if (!policy.rung.empty()) return named_rung(kLadder, call, policy);
  return usable(call.launch != nullptr ? &cuda_merge_path : &cpu_staged, call, policy);
}

/// Checks the call before any list is read, and throws an Error if it is invalid. If lists have no elements, there may
/// be more lists than a call supports: then the returned call has no lists.
Call require_call(Call call) {
  require_moved_size(call.element_size, "the array of values", Code::invalid_argument);
  if (call.kind == Kind::broadcast) detail::require_array(call.values, call.lists.count, "values");
  Lists& lists = call.lists;
  if (lists.has_size && lists.size == 0 && lists.count > 0 && !lists.valid.is_given()) lists.count = 0;
  require_adjacent(lists);
  detail::require_array(call.out, call.capacity, "output");
  return call;
}

/// Throws if the output, `capacity` elements, overlaps an input.
void require_apart(const Call& call) {
  CallArrays arrays;
  arrays.read(call.lists);
  if (call.kind == Kind::broadcast) arrays.read(call.values, call.lists.count, call.element_size);
  arrays.write(call.out, call.capacity, call.element_size);
  arrays.require_apart();
}

/// Throws stop_before_start for the first list whose offsets decrease, if there is one.
template <class Offsets>
void require_order(const Offsets& offsets, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t start = offsets(i);
    const std::int64_t stop = offsets(i + 1);
    if (stop < start) throw_bad_list(Code::stop_before_start, i, start, stop, 0);
  }
}

/// Returns the number of elements of all lists. Throws if it exceeds the output's capacity or int64.
std::int64_t total_of(const Call& call) {
  return visit_offsets(call.lists, [&](const auto& offsets) {
    const std::int64_t n = call.lists.count;
    std::int64_t total = 0;
    const bool fits = !__builtin_sub_overflow(offsets(n), offsets(0), &total) && total >= 0;
    if (fits && total <= call.capacity) return total;
    require_order(offsets, n);
    if (!fits) throw_too_many_elements();
    throw_too_small("an output", call.capacity, total);
  });
}

// ---- On a GPU.

void require_memory(const gpu::Policy& policy, const Call& call) {
  gpu::require_device_lists(call.lists, policy.device);
  if (call.kind == Kind::broadcast) gpu::require_device_array(call.values, call.lists.count, policy.device, "values");
  if (call.out != nullptr) gpu::require_device_memory(call.out, policy.device, "the output");
}

/// Waits for the call. Returns the number of elements of all lists.
std::int64_t await(const Call& call) {
  gpu::PackStatus status = {};
  gpu::fetch(&status, call.status, sizeof status, call.launch->stream);
  if (status.first_bad != kNoIndex) {
    gpu::throw_bad_device_list(status.code, call.lists, status.first_bad, 0, call.launch->stream);
  }
  if (status.code == Code::overflow) throw_too_many_elements();
  if (status.code != Code::ok) throw_too_small("an output", call.capacity, status.total);
  return status.total;
}

}  // namespace
}  // namespace impl::broadcast

detail::BroadcastResult detail::run_broadcast(const Policy& policy, const BroadcastCall& asked) {
  require_policy(policy);
  BroadcastCall call = impl::broadcast::require_call(asked);
  const auto& rung = impl::broadcast::choose(call, policy);
  call.capacity = impl::broadcast::total_of(call);  // more is not written and need not be allocated
  impl::broadcast::require_apart(call);
  const Status status = rung.run(call, policy);
  if (status.code == Code::stop_before_start) {
    visit_offsets(call.lists, [&](const auto& offsets) { impl::broadcast::require_order(offsets, call.lists.count); });
  }
  if (!status.ok()) throw_status(status, rung.info.id);
  return {call.capacity, rung.info.id};
}

detail::BroadcastResult detail::run_broadcast(const gpu::Policy& policy, const BroadcastCall& asked) {
  BroadcastCall call = impl::broadcast::require_call(asked);
  impl::broadcast::require_apart(call);
  std::int64_t elements = 0;
  const std::string_view rung = gpu::run_on_device(
      policy, call, &impl::broadcast::choose, "the call of that name in _async",
      [&] { impl::broadcast::require_memory(policy, call); }, [&] { elements = impl::broadcast::await(call); });
  return {elements, rung};
}

std::string_view detail::run_broadcast_async(const gpu::Policy& policy, BroadcastCall call, gpu::PackStatus* status) {
  require_array(status, 1, "status");
  call.status = status;
  return run_broadcast(policy, call).rung;
}

}  // namespace upsweep
