// SPDX-License-Identifier: Apache-2.0
// by_key/cpu_runs.cpp: the runs are counted by all threads, written as offsets, and done as lists.
//
// Idea   Threads count the ends of runs in blocks of keys, without a branch on them; sums of the counts say where each block's
//        offsets go. Then the runs are lists, and the top rungs of lists take short ones abreast and cut long ones.
// Cost   Keys read twice, of short blocks from a cache; 8 bytes a run written and read; values read, results written.
//        Work n, depth n/p.
// Needs  AVX-512, AVX2 or baseline. 8 bytes of memory a run.
// Limit  The memory: keys are read once more than they must be, and so are offsets.
// From   src/segmented and src/segmented_scan, which say where theirs are from.
#include <new>

#include "by_key/as_lists.hpp"
#include "by_key/key_runs.hpp"
#include "by_key/rung.hpp"

namespace upsweep::by_key {

namespace {

Status run(Call& call, const Policy& policy) noexcept try {
  const Policy top = policy.with_rung({});
  const KeyRuns runs(top, call.keys);
  call.runs = runs.count();
  if (call.reduction != nullptr && call.runs > room_of(call)) return {Code::unequal_lengths};
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
                                    .idea = "runs counted by all threads, then done as lists",
                                    .needs = "AVX2, AVX-512 or baseline",
                                    .traffic = "keys read twice, values once; offsets of runs both ways"},
                           .refusal = needs_isa,
                           .run = run};

}  // namespace upsweep::by_key
