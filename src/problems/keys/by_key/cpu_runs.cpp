// SPDX-License-Identifier: Apache-2.0
// problems/keys/by_key/cpu_runs.cpp: a bit for each key that begins a run, by all threads, offsets from the bits, and then the runs are lists.
//
// Idea   Threads compare blocks of keys with those before them, by vectors, and leave a bit for each key; sums of how many are set
//        say where each block's offsets go. Then the runs are lists, and the top rungs of lists take short ones one per SIMD lane and split
//        long ones.
// Cost   Keys and values read once, results written; 1/8 of a byte a key and 8 bytes a run written and read; each run's key read
//        once more. Work n, depth n/p.
// Needs  AVX-512, AVX2 or baseline. 1/8 of a byte a key and 8 bytes a run of memory.
// Limit  Of short runs their offsets, which are new memory in each call, and a second look at the keys.
// From   src/problems/lists/segmented_reduce and src/problems/lists/segmented_scan, which say where theirs are from.
#include <new>

#include "problems/keys/by_key/as_lists.hpp"
#include "problems/keys/by_key/key_runs.hpp"
#include "problems/keys/by_key/rung.hpp"

namespace upsweep::impl::by_key {

namespace {

Status run(Call& call, const Policy& policy) noexcept try {
  const Policy top = policy.with_rung({});
  const KeyRuns runs(top, call.keys);
  call.runs = runs.count();
  if (call.reduction != nullptr && call.runs > capacity_of(call)) return {Code::unequal_lengths};
  const Status status = run_lists(call, top, runs.lists(), 0);
  if (status.ok() && call.reduction != nullptr) runs.write_keys(top, call.keys, call.out_keys);
  return status;
} catch (const Error& error) {
  call.failure = std::current_exception();
  return {error.code()};
} catch (const std::bad_alloc&) {
  return {Code::out_of_memory};
}

}  // namespace

extern const Rung cpu_runs{.info = {.id = "cpu.runs",
                                    .idea = "a bit where a run begins; runs done as lists",
                                    .needs = "AVX2, AVX-512 or baseline",
                                    .traffic = "keys and values read, results written; offsets of runs both ways",
                                    .cost = "n, n/p",
                                    .limit = "of short runs their offsets, new memory in each call"},
                           .refusal = needs_isa,
                           .run = run};

}  // namespace upsweep::impl::by_key
