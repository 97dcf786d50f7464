// SPDX-License-Identifier: Apache-2.0
// problems/dense/select/problem.cpp: the order of the rungs, the choice of a rung, validation, execution, errors.
#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/columns.hpp"
#include "core/lists.hpp"
#include "cpu/tuning/dense.hpp"
#include "cuda/list_call.hpp"
#include "problems/dense/select/rung.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep {
namespace impl::select {

// The ladder, from the naive loop up. Every rung is declared in the file of its name, or next to the rung from which
// it differs by one argument.
extern const Rung cpu_serial, cpu_branchless, cpu_threads, cpu_tbb, cpu_compress, cuda_thread_per_list,
    cuda_warp_per_list, cuda_block_per_list, cuda_cub, cuda_ranks;

constexpr const Rung* kRungs[] = {
    &cpu_serial,           &cpu_branchless,     &cpu_threads,         &cpu_tbb,  &cpu_compress,
    &cuda_thread_per_list, &cuda_warp_per_list, &cuda_block_per_list, &cuda_cub, &cuda_ranks};
constexpr Ladder<detail::SelectCall> kLadder = kRungs;
/// Rungs that call has_capacity() before they move anything.
constexpr const Rung* kCountFirst[] = {&cpu_branchless, &cpu_threads, &cpu_compress};

std::vector<RungInfo> rungs() { return infos(kLadder); }

namespace {

using detail::ArraysAre;

constexpr std::int64_t kMostSerial = cpu::tuning::kDense.select_serial;

const Rung& choose(const detail::SelectCall& call, const Policy& policy) {
  if (!policy.rung.empty()) return named_rung(kLadder, call, policy);
  if (call.launch != nullptr) return usable(&cuda_ranks, call, policy);
  const bool few = call.mask.length <= kMostSerial && call.lists.count <= kMostSerial;
  return few ? cpu_serial : cpu_compress;
}

/// Throws the Error of an output whose capacity is below the number of kept elements.
[[noreturn]] void throw_no_capacity(std::span<const SelectColumn> columns, std::int64_t kept) {
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (columns[c].capacity >= kept) continue;
    throw_too_small("the output of column " + std::to_string(c), columns[c].capacity, kept);
  }
  throw_changed("the mask");
}

/// Throws the same Error if the count is unknown, or if outputs could not be made. The error of a bad list comes first.
[[noreturn]] void throw_no_capacity(const Policy& policy, const detail::SelectCall& call) {
  detail::SelectCall count{.has_lists = call.has_lists, .lists = call.lists, .mask = call.mask};
  detail::run_select(policy.with_rung({}), count);
  if (call.failure != nullptr) std::rethrow_exception(call.failure);
  throw_no_capacity(call.columns, count.kept);
}

// ---- On a GPU.

/// Waits for the call, sets the number of kept elements, and throws any error.
void await(const gpu::Launch& launch, detail::SelectCall& call) {
  gpu::SelectStatus status = {};
  gpu::fetch(&status, call.status, sizeof status, launch.stream);
  call.kept = status.kept;
  if (status.code == Code::ok) return;
  if (status.first_bad == kNoIndex) throw_no_capacity(call.columns, status.kept);
  if (status.code == Code::overflow) throw Error(Code::overflow, "more elements are kept than int64 counts");
  gpu::throw_bad_device_list(status.code, call.lists, status.first_bad, call.mask.length, launch.stream);
}

void require_on_device(const detail::SelectCall& call, int device) {
  gpu::require_device_mask(call.mask, device, "the mask");
  gpu::require_device_columns(call.columns, device);
  if (!call.has_lists) return;
  gpu::require_device_lists(call.lists, device);
  if (call.out_offsets != nullptr) gpu::require_device_memory(call.out_offsets, device, "out_offsets");
}

/// Checks all requirements of a selection on its arrays. Throws Error.
void require_views(detail::SelectCall& call, ArraysAre arrays = ArraysAre::there) {
  if (!call.mask.is_given()) throw Error(Code::invalid_argument, "there is no mask to select by");
  detail::require_mask(call.mask, call.mask.length, "the mask", arrays);
  if (call.has_lists) detail::require_lists(call.lists, call.mask.length, arrays);
  call.capacity = require_columns(call.columns, call.mask.length, "the mask", arrays);
  if (arrays == ArraysAre::to_come) return;
  CallArrays given;
  add_columns(call.columns, given);
  given.read(call.mask);
  if (call.has_lists) {
    given.read(call.lists);
    if (call.out_offsets != nullptr) given.write(call.out_offsets, call.lists.count + 1, sizeof(std::int64_t));
  }
  given.require_apart();
}

/// Runs a rung twice if it counts elements while it moves them. The first run has no columns: outputs wait for the
/// count.
Status count_and_run(const Rung& rung, detail::SelectCall& call, const Policy& policy) {
  const auto columns = std::exchange(call.columns, {});
  call.capacity = std::numeric_limits<std::int64_t>::max();
  const Status counted = rung.run(call, policy);
  call.columns = columns;
  if (!counted.ok()) return counted;
  if (!has_capacity(call)) return kNoCapacity;
  call.allocate_outputs = {};
  call.kept = 0;
  return rung.run(call, policy);
}

}  // namespace

bool has_capacity(detail::SelectCall& call) noexcept try {
  if (call.allocate_outputs) {
    call.allocate_outputs(call.kept);
    require_views(call);
  }
  return call.kept <= call.capacity;
} catch (...) {
  call.failure = std::current_exception();
  return false;
}

}  // namespace impl::select

std::string_view detail::run_select(const Policy& policy, SelectCall& call) {
  require_policy(policy);
  impl::select::require_views(call);
  const auto& rung = impl::select::choose(call, policy);
  call.kept = 0;
  const bool runs_once = !call.allocate_outputs ||
                         std::ranges::find(impl::select::kCountFirst, &rung) != std::end(impl::select::kCountFirst);
  const Status status = runs_once ? rung.run(call, policy) : impl::select::count_and_run(rung, call, policy);
  if (status.ok()) return rung.info.id;
  if (status.index != kNoIndex) throw_bad_list(call.lists, status.index, call.mask.length);
  if (status.code == Code::unequal_lengths) impl::select::throw_no_capacity(policy, call);
  throw_status(status, rung.info.id);
}

std::string_view detail::run_select(const gpu::Policy& policy, SelectCall& call) {
  if (call.allocate_outputs) {
    SelectCall count{.has_lists = call.has_lists, .lists = call.lists, .mask = call.mask};
    run_select(policy, count);
    call.allocate_outputs(count.kept);
  }
  impl::select::require_views(call);
  return gpu::run_on_device(
      policy, call, &impl::select::choose, "select_async",
      [&] { impl::select::require_on_device(call, policy.device); }, [&] { impl::select::await(*call.launch, call); });
}

gpu::WorkspaceSize detail::select_workspace(const gpu::Policy& policy, const SelectCall& asked) {
  SelectCall call = asked;
  impl::select::require_views(call, ArraysAre::to_come);
  return gpu::workspace_on_device(policy, call, &impl::select::choose);
}

}  // namespace upsweep
