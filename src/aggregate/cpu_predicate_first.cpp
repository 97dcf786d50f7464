// SPDX-License-Identifier: Apache-2.0
// aggregate/cpu_predicate_first.cpp: vectors of keys first, then the payload of the rows that are kept; on every core.
//
// Idea   Keys are compared 64 at a time. Rows that are kept are noted down and their payload is prefetched; it is added
//        up a few thousand rows later, when it has arrived: the core never waits for one cache line at a time. Where an
//        eighth of the rows is kept most lines are touched anyway: there both columns are read in order, and products of
//        rows that are not kept are masked out. Which of both it is follows the rows just seen.
// Cost   One pass: the keys and the touched lines of the payload, or all of it. Work n/16 + rows kept, depth n/(16·p).
// Needs  AVX-512, AVX2 or baseline.
// Limit  The read bandwidth of the machine. Keys of fewer bits are the only way on.
// From   Selection vectors of vectorised query execution (Boncz, Zukowski, Nes: MonetDB/X100, CIDR 2005).
#include "aggregate/blocks.hpp"
#include "aggregate/rung.hpp"

namespace upsweep::aggregate {

namespace {

Status run(detail::AggregateCall& call, const Policy& policy) noexcept {
  return sum_blocks(call, cpu::kernels(policy.isa).select_sum, policy.threads);
}

}  // namespace

extern const Rung cpu_predicate_first{.info = {.id = "cpu.predicate_first",
                                               .idea = "vectors of keys, then the payload that is kept",
                                               .needs = "AVX2, AVX-512 or baseline",
                                               .traffic = kTouched},
                                      .refusal = needs_isa,
                                      .run = run};

}  // namespace upsweep::aggregate
