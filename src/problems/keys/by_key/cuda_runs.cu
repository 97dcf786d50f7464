// SPDX-License-Identifier: Apache-2.0
// problems/keys/by_key/cuda_runs.cu: a bit for each key that begins a run, offsets from the bits, and then the runs are lists.
//
// Idea   One pass over the keys leaves a bit for each and the bits' count. The host allocates as many offsets, a kernel writes
//        them from the bits, and the top rungs of lists do the rest, whatever the lengths of runs.
// Cost   Keys and values read once, results written; 1/8 of a byte a key and 8 bytes a run written and read; each run's key read
//        once more. The host waits between the passes.
// Needs  Any GPU. 1/8 of a byte a key and 8 bytes a run of memory, besides what the lists need.
// Limit  The host's wait, and of short runs their offsets.
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
    runs.write_keys(call.out_keys);  // first, as the reduction is waited for
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
                                     .idea = "a bit where a run begins; runs done as lists",
                                     .needs = "any GPU",
                                     .traffic = "keys and values read, results written; offsets of runs both ways",
                                     .cost = "n, that of the lists",
                                     .limit = "the host's wait for the number of runs; of short runs their offsets",
                                     .host_adds = true},
                            .refusal = device_refusal,
                            .run = launch};

}  // namespace upsweep::impl::by_key
