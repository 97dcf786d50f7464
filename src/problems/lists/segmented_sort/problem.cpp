// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_sort/problem.cpp: the ladder in order, the choice of a rung, and the public calls: check
// lists, run, throw failures as Errors.
#include <algorithm>
#include <limits>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "core/apart.hpp"
#include "core/ladder.hpp"
#include "core/lists.hpp"
#include "cpu/parallel.hpp"
#include "cpu/tuning/lists.hpp"
#include "cpu/work_partition.hpp"
#include "cuda/list_call.hpp"
#include "problems/lists/segmented_sort/rung.hpp"
#include "upsweep/detail/scan_call.hpp"

namespace upsweep {
namespace impl::segmented_sort {

// The ladder, starting with the naive loop. Every rung is declared in the file of its name.
extern const Rung cpu_serial, cpu_threads, cpu_tbb, cpu_networks, cuda_thread_per_list, cuda_warp_per_list,
    cuda_block_per_list, cuda_cub, cuda_tiles;

constexpr const Rung* kRungs[] = {
    &cpu_serial,         &cpu_threads,         &cpu_tbb,  &cpu_networks, &cuda_thread_per_list,
    &cuda_warp_per_list, &cuda_block_per_list, &cuda_cub, &cuda_tiles};
constexpr Ladder<Call> kLadder = kRungs;

std::vector<RungInfo> rungs() { return infos(kLadder); }

namespace {

/// Returns the rung that the policy names, or the highest one. Throws unknown_rung, unsupported.
const Rung& choose(const Call& call, const Policy& policy) {
  if (!policy.rung.empty()) return named_rung(kLadder, call, policy);
  return usable(call.launch != nullptr ? &cuda_tiles : &cpu_networks, call, policy);
}

/// Minimum number of work units of lists that a worker checks.
constexpr std::int64_t kLeastWorkUnits = cpu::tuning::kListSort.least_work_units;

/// Throws the overflow that only overlapping lists can cause.
[[noreturn]] void throw_too_many() {
  throw Error(Code::overflow, "the total number of elements of the lists exceeds int64");
}

/// Checks the lists and plans their sort. Throws the Error of the first bad list, or std::bad_alloc.
SortPlan make_plan(const Call& call, int threads) {
  const std::int64_t work_units = cpu::list_blocks(call.lists);
  const bool is_packed = !call.lists.are_adjacent();
  SortPlan plan;
  std::vector<std::int64_t> elements(static_cast<std::size_t>(work_units) + 1);
  std::vector<std::pair<std::int64_t, std::int64_t>> longest;  // (negated length, list)
  std::mutex mutex;
  cpu::LowestIndex first_bad;
  bool no_memory = false;
  cpu::for_each_work_unit(work_units, kLeastWorkUnits, threads, [&](cpu::WorkUnit share) noexcept {
    cpu::ListBlock work_unit;
    for (std::int64_t which = share.first; which < share.last; ++which) {
      const std::int64_t bad = cpu::read_block(call.lists, which, call.n, work_unit);
      if (bad != kNoIndex) return first_bad.add(bad);
      elements[static_cast<std::size_t>(which) + 1] = work_unit.elements();
      if (work_unit.most <= kLongList) continue;
      const std::lock_guard locked(mutex);
      for (std::int64_t i = 0; i < work_unit.count; ++i) {
        if (work_unit.lengths[i] <= kLongList || no_memory) continue;
        try {
          longest.emplace_back(-work_unit.lengths[i], which * cpu::kBlockLists + i);
        } catch (const std::bad_alloc&) {
          no_memory = true;
        }
      }
    }
  });
  if (const std::int64_t bad = first_bad.get(); bad != kNoIndex) throw_bad_list(call.lists, bad, call.n);
  if (no_memory) throw std::bad_alloc();
  for (std::size_t i = 1; i < elements.size(); ++i) {
    // Overlapping lists may have more elements in total than int64 can represent.
    if (__builtin_add_overflow(elements[i], elements[i - 1], &elements[i])) {
      throw_too_many();
    }
  }
  plan.elements = elements.back();
  if (is_packed) plan.first_out = std::move(elements);
  std::sort(longest.begin(), longest.end());
  plan.long_lists.reserve(longest.size());
  for (const auto& [length, list] : longest) plan.long_lists.push_back(list);
  return plan;
}

void require_arrays(const Call& call) {
  detail::require_array(call.content, call.n, "content");
  detail::require_lists(call.lists, call.n);
  const void* const out = call.positions != nullptr ? call.positions : call.out;
  const std::int64_t in_bytes = call.n * size_of(call.type);
  const std::int64_t out_bytes =
      call.capacity * (call.positions != nullptr ? std::int64_t{sizeof(std::int64_t)} : size_of(call.type));
  const bool may_be_same = call.positions == nullptr && call.lists.are_adjacent();
  const bool is_same = out == call.content && call.n > 0 && call.capacity > 0;
  if (is_same ? may_be_same : detail::same_or_apart(call.content, in_bytes, out, out_bytes)) return;
  throw Error(Code::invalid_argument,
              "the output overlaps the content: only sorted elements of adjacent lists "
              "may replace it");
}

/// Throws if the output has less capacity than `elements`, if lists are packed.
void require_capacity(const Call& call, bool is_packed, std::int64_t elements) {
  upsweep::require_capacity("the output", call.capacity, is_packed ? elements : call.n);
}

/// Throws if the outputs overlap the bounds of the lists.
void require_apart_from_bounds(const Call& call) {
  CallArrays others;
  others.read(call.lists);
  others.write(call.out, call.capacity, size_of(call.type));
  others.write(call.positions, call.capacity, sizeof(std::int64_t));
  others.require_apart();
}

void require_memory(const gpu::Policy& policy, const Call& call) {
  gpu::require_device_array(call.content, call.n, policy.device, "content");
  gpu::require_device_lists(call.lists, policy.device);
  if (call.out != nullptr) gpu::require_device_array(call.out, call.capacity, policy.device, "output");
  if (call.positions != nullptr) gpu::require_device_array(call.positions, call.capacity, policy.device, "positions");
}

}  // namespace
}  // namespace impl::segmented_sort

std::string_view detail::run_segmented_sort(const Policy& policy, SegmentedSortCall& call) try {
  require_policy(policy);
  impl::segmented_sort::require_arrays(call);
  impl::segmented_sort::require_apart_from_bounds(call);
  const auto& rung = impl::segmented_sort::choose(call, policy);
  const int threads = rung.info.threads == Threads::one ? 1 : policy.threads;
  const impl::segmented_sort::SortPlan plan = impl::segmented_sort::make_plan(call, threads);
  call.plan = &plan;
  impl::segmented_sort::require_capacity(call, !plan.first_out.empty(), plan.elements);
  call.elements = plan.elements;
  const Status status = rung.run(call, policy);
  call.plan = nullptr;
  if (!status.ok()) throw_status(status, rung.info.id);
  return rung.info.id;
} catch (const std::bad_alloc&) {
  throw Error(Code::out_of_memory, "no memory left to plan the sort");
}

std::string_view detail::run_segmented_sort(const gpu::Policy& policy, SegmentedSortCall& call) {
  impl::segmented_sort::require_arrays(call);
  const bool is_packed = !call.lists.are_adjacent();
  if (!is_packed) impl::segmented_sort::require_capacity(call, false, 0);
  impl::segmented_sort::require_apart_from_bounds(call);
  call.waits = call.waits || call.status == nullptr;
  if (call.waits && call.status != nullptr) gpu::require_no_capture(policy.stream, "segmented_sort_async");
  const auto report = [&] {
    call.elements = gpu::await_lists(*call.launch, call.lists, call.n, call.status);
    if (call.elements == std::numeric_limits<std::int64_t>::max()) impl::segmented_sort::throw_too_many();
    if (is_packed) impl::segmented_sort::require_capacity(call, true, call.elements);
  };
  return gpu::run_on_device(
      policy, call, &impl::segmented_sort::choose, "segmented_sort_async",
      [&] { impl::segmented_sort::require_memory(policy, call); }, report);
}

gpu::WorkspaceSize detail::segmented_sort_workspace(const gpu::Policy& policy, const SegmentedSortCall& asked) {
  SegmentedSortCall call = asked;
  require_lists(call.lists, call.n, ArraysAre::to_come);
  call.waits = true;  // the value makes no difference
  return gpu::workspace_on_device(policy, call, &impl::segmented_sort::choose);
}

}  // namespace upsweep
