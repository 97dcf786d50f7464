// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_scan/problem.cpp: the segmented-scan ladder in order, the choice of a rung, and the public
// calls: validate, run, throw failures as Errors.
#include <string>

#include "core/apart.hpp"
#include "core/checked.hpp"
#include "core/lists.hpp"
#include "cuda/list_call.hpp"
#include "problems/lists/segmented_scan/rung.hpp"
#include "upsweep/detail/segmented_scan_call.hpp"

namespace upsweep {
namespace impl::segmented_scan {

// The ladder, starting with the naive loop. Every rung is declared in the file of its name.
extern const Rung cpu_serial, cpu_columns, cuda_thread_per_list, cuda_block_per_list, cuda_tiles, cuda_lookahead;

constexpr const Rung* kRungs[] = {&cpu_serial,          &cpu_columns, &cuda_thread_per_list,
                                  &cuda_block_per_list, &cuda_tiles,  &cuda_lookahead};
constexpr Ladder<const detail::SegmentedScanCall> kLadder = kRungs;

std::vector<RungInfo> rungs() { return infos(kLadder); }

namespace {

/// Returns the rung that the policy names, or the highest one. Throws unknown_rung, unsupported.
const Rung& choose(const detail::SegmentedScanCall& call, const Policy& policy) {
  if (!policy.rung.empty()) return named_rung(kLadder, call, policy);
  if (call.launch == nullptr) return cpu_columns;
  return usable(cuda_lookahead.refusal(call, policy) == nullptr ? &cuda_lookahead : &cuda_tiles, call, policy);
}

void require_arrays(const detail::SegmentedScanCall& call) {
  detail::require_array(call.in, call.n, "content");
  detail::require_array(call.out, call.n, "output");
  detail::require_lists(call.lists, call.n);
  detail::require_mask(call.valid, call.n, "the validity of the elements");
  if (!call.lists.are_adjacent()) {
    throw Error(Code::unsupported, "lists by starts and stops are not supported: they may overlap; pack them first");
  }
  const std::int64_t bytes = call.n * call.out_size;
  if (!detail::same_or_apart(call.in, call.n * call.in_size, call.out, bytes)) {
    throw Error(Code::invalid_argument, "the output overlaps the content: it must be the same memory, or separate");
  }
  CallArrays others;
  others.read(call.valid);
  others.read(call.lists);
  others.write(call.out, call.n, call.out_size);
  others.require_apart();
}

[[noreturn]] void throw_failure(const Status& status, const detail::SegmentedScanCall& call, std::string_view rung) {
  if (status.index == kNoIndex) throw_status(status, rung);
  if (status.code != Code::overflow) throw_bad_list(call.lists, status.index, call.n);
  throw Error(Code::overflow,
              "a sum of list " + std::to_string(status.index) + " does not fit " + std::string(name(call.out_type)) +
                  ": scan into a wider type, or let it wrap",
              status.index);
}

void require_memory(const gpu::Policy& policy, const detail::SegmentedScanCall& call) {
  gpu::require_device_lists(call.lists, policy.device);
  gpu::require_device_array(call.in, call.n, policy.device, "content");
  gpu::require_device_array(call.out, call.n, policy.device, "output");
  gpu::require_device_mask(call.valid, policy.device, "the validity of the elements");
}

}  // namespace
}  // namespace impl::segmented_scan

std::string_view detail::run_segmented_scan(const Policy& policy, const SegmentedScanCall& call) {
  impl::segmented_scan::require_arrays(call);
  require_policy(policy);
  require_checks(call, policy.overflow);
  const auto& rung = impl::segmented_scan::choose(call, policy);
  const Status status = rung.run(call, policy);
  if (!status.ok()) impl::segmented_scan::throw_failure(status, call, rung.info.id);
  return rung.info.id;
}

std::string_view detail::run_segmented_scan(const gpu::Policy& policy, const SegmentedScanCall& asked) {
  impl::segmented_scan::require_arrays(asked);
  SegmentedScanCall call = asked;
  return gpu::run_on_device(
      policy, call, &impl::segmented_scan::choose, "segmented_inclusive_scan_async or segmented_exclusive_scan_async",
      [&] { impl::segmented_scan::require_memory(policy, call); },
      [&] { gpu::await_lists(*call.launch, call.lists, call.n, call.status); });
}

gpu::WorkspaceSize detail::segmented_scan_workspace(const gpu::Policy& policy, const SegmentedScanCall& asked) {
  return gpu::workspace_on_device(policy, asked, &impl::segmented_scan::choose);
}

}  // namespace upsweep
