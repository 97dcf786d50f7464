// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/problem.cpp: the ladder in order, the choice of a rung, and the public calls:
// validate, run, throw failures as Errors.
#include <cstddef>
#include <string>

#include "core/apart.hpp"
#include "core/checked.hpp"
#include "core/lists.hpp"
#include "cuda/list_call.hpp"
#include "problems/lists/segmented_reduce/rung.hpp"
#include "upsweep/detail/segmented_reduce_call.hpp"

namespace upsweep {
namespace impl::segmented_reduce {

// The ladder, starting with the naive loop. Every rung is declared in the file of its name.
extern const Rung cpu_serial, cpu_threads, cpu_shares, cpu_tbb, cpu_columns, cuda_thread_per_list, cuda_warp_per_list,
    cuda_block_per_list, cuda_shares, cuda_cub, cuda_lanes, cuda_pipeline;

constexpr const Rung* kRungs[] = {
    &cpu_serial,         &cpu_threads,         &cpu_shares,  &cpu_tbb,  &cpu_columns, &cuda_thread_per_list,
    &cuda_warp_per_list, &cuda_block_per_list, &cuda_shares, &cuda_cub, &cuda_lanes,  &cuda_pipeline};
constexpr Ladder<const detail::SegmentedReduceCall> kLadder = kRungs;

std::vector<RungInfo> rungs() { return infos(kLadder); }

namespace {

/// Returns the rung that the policy names, or the highest one that supports the call. Throws unknown_rung, unsupported.
const Rung& choose(const detail::SegmentedReduceCall& call, const Policy& policy) {
  if (!policy.rung.empty()) {
    const Rung& rung = named_rung(kLadder, call, policy);
    if (&rung != &cuda_lanes) detail::require_length_of_host(call.count_at, rung.info.id);
    return rung;
  }
  if (call.launch != nullptr) {
    return refusal_of(cuda_pipeline, call, policy) == nullptr ? cuda_pipeline : usable(&cuda_lanes, call, policy);
  }
  return cpu_columns;
}

void require_arrays(const detail::SegmentedReduceCall& call) {
  detail::require_array(call.in, call.n, "content");
  detail::require_lists(call.lists, call.n);
  detail::require_array(call.out, call.lists.count, "output");
  detail::require_mask(call.valid, call.n, "the validity of the elements");
  CallArrays arrays;
  arrays.read(call.in, call.n, call.in_size);
  arrays.read(call.valid);
  arrays.read(call.lists);
  arrays.write(call.out, call.lists.count, call.out_size);
  arrays.require_apart();
}

[[noreturn]] void throw_overflow(const detail::SegmentedReduceCall& call, std::int64_t list) {
  throw Error(Code::overflow,
              "the sum of list " + std::to_string(list) + " does not fit " + std::string(name(call.out_type)) +
                  ": reduce into a wider type, or let it wrap",
              list);
}

[[noreturn]] void throw_failure(const Status& status, const detail::SegmentedReduceCall& call, std::string_view rung) {
  if (status.index == kNoIndex) throw_status(status, rung);
  if (status.code != Code::overflow) throw_bad_list(call.lists, status.index, call.n);
  throw_overflow(call, status.index);
}

// ---- On a GPU.

/// Returns whether the call reads any content.
bool reads_content(const detail::SegmentedReduceCall& call) { return call.n > 0 && call.reducer != Reducer::count; }

void require_on_device(const detail::SegmentedReduceCall& call, int device) {
  if (call.lists.count == 0) return;
  if (reads_content(call)) gpu::require_device_memory(call.in, device, "content");
  gpu::require_device_mask(call.valid, device, "the validity of the elements");
  if (!call.out_is_reached) gpu::require_device_memory(call.out, device, "output");
  gpu::require_device_lists(call.lists, device);
}

/// Waits for the call and throws its error, if any.
void await(const detail::SegmentedReduceCall& call) {
  gpu::ListsStatus status = {};
  gpu::fetch(&status, call.status, sizeof status, call.launch->stream);
  if (status.first_bad == kNoIndex) return;
  if (status.code == Code::overflow) throw_overflow(call, status.first_bad);
  gpu::throw_bad_device_list(status.code, call.lists, status.first_bad, call.n, call.launch->stream);
}

}  // namespace
}  // namespace impl::segmented_reduce

std::string_view detail::run_segmented_reduce(const Policy& policy, const SegmentedReduceCall& call) {
  impl::segmented_reduce::require_arrays(call);
  require_policy(policy);
  require_checks(call, policy.overflow);
  const auto& rung = impl::segmented_reduce::choose(call, policy);
  const Status status = rung.run(call, policy);
  if (!status.ok()) impl::segmented_reduce::throw_failure(status, call, rung.info.id);
  return rung.info.id;
}

std::string_view detail::run_segmented_reduce(const gpu::Policy& policy, const SegmentedReduceCall& asked) {
  impl::segmented_reduce::require_arrays(asked);
  SegmentedReduceCall call = asked;
  const auto require = [&] {
    impl::segmented_reduce::require_on_device(call, policy.device);
    gpu::require_length(call.count_at, call.out, call.lists.count * call.out_size, policy.device);
  };
  return gpu::run_on_device(policy, call, &impl::segmented_reduce::choose, "segmented_reduce_async", require,
                            [&] { impl::segmented_reduce::await(call); });
}

gpu::WorkspaceSize detail::segmented_reduce_workspace(const gpu::Policy& policy, const SegmentedReduceCall& asked) {
  require_lists(asked.lists, asked.n, ArraysAre::to_come);
  return gpu::workspace_on_device(policy, asked, &impl::segmented_reduce::choose);
}

}  // namespace upsweep
