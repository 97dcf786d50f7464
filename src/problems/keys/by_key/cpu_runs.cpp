// SPDX-License-Identifier: Apache-2.0
// problems/keys/by_key/cpu_runs.cpp: marks each key that begins a run with a bit; the bits give offsets of lists.
//
// Idea   Threads compare blocks of keys with the keys before them, by vectors, and write one bit per key. Prefix sums
//        of the number of set bits give the place of each block's offsets. Then the runs are lists. The top rungs of
//        lists process one short list per SIMD lane and split long lists.
// Cost   Keys and values read once, results written; 1/8 of a byte per key and 8 bytes per run written and read; each
//        run's key read once more. Work n, depth n/p.
// Needs  AVX-512, AVX2 or baseline. 1/8 of a byte per key and 8 bytes per run of memory.
// Limit  For short runs their offsets, which are new memory in each call, and a second read of the keys.
// From   src/problems/lists/segmented_reduce and src/problems/lists/segmented_scan, which name their sources.
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
                                    .idea = "a bit per beginning of a run; runs are lists",
                                    .needs = "AVX2, AVX-512 or baseline",
                                    .traffic = "keys and values read, results written; run offsets written and read",
                                    .cost = "n, n/p",
                                    .limit = "for short runs their offsets, new memory in each call"},
                           .refusal = needs_isa,
                           .run = run};

}  // namespace upsweep::impl::by_key
