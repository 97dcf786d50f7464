// SPDX-License-Identifier: Apache-2.0
// problems/keys/by_key/cuda_runs.cu: marks each key that begins a run with a bit; the bits give offsets of lists.
//
// Idea   One pass over the keys writes one bit per key and counts the set bits. The host allocates that number of
//        offsets, and a kernel writes them from the bits. The top rungs of lists do the rest, whatever the lengths of
//        the runs.
// Cost   Keys and values read once, results written; 1/8 of a byte per key and 8 bytes per run written and read; each
//        run's key read once more. The host waits between the passes.
// Needs  Any GPU. 1/8 of a byte per key and 8 bytes per run of memory, in addition to what the lists need.
// Limit  The host's wait, and for short runs their offsets.
// From   problems/keys/by_key/key_runs.cu; src/problems/lists/segmented_reduce and segmented_scan.
#include "problems/keys/by_key/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include <new>

#include "problems/keys/by_key/as_lists.hpp"
#include "problems/keys/by_key/key_runs.hpp"
#endif

namespace upsweep::impl::by_key {

#if UPSWEEP_HAS_CUDA
namespace {

Status launch(Call& call, const Policy&) noexcept try {
  const gpu::Policy top = call.device_policy->with_rung({});
  const DeviceKeyRuns runs(top, call.keys);
  call.runs = runs.count();
  if (call.reduction != nullptr) {
    if (call.runs > capacity_of(call)) return {Code::unequal_lengths};
    runs.write_keys(call.out_keys);  // before the reduction, because the host waits for that
  }
  return run_lists(call, top, runs.lists(), 0);
} catch (const Error& error) {
  call.failure = std::current_exception();
  return {error.code()};
} catch (const std::bad_alloc&) {
  return {Code::out_of_memory};
}

}  // namespace
#endif

extern const Rung cuda_runs{.info = {.id = "cuda.runs",
                                     .idea = "a bit per beginning of a run; runs are lists",
                                     .needs = "any GPU",
                                     .traffic = "keys and values read, results written; run offsets written and read",
                                     .cost = "n, depth of the lists",
                                     .limit = "the host's wait for the number of runs; for short runs their offsets",
                                     .host_adds = true},
                            .refusal = device_refusal,
                            .run = launch};

}  // namespace upsweep::impl::by_key
