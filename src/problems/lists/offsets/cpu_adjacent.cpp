// SPDX-License-Identifier: Apache-2.0
// problems/lists/offsets/cpu_adjacent.cpp: adjacent lists need no scan: offsets are the bounds minus the first bound.
//
// Idea   If stops[i] is starts[i+1], the lengths before list i add up to starts[i] - starts[0].
// Cost   One pass: n bounds read, n offsets written; 16 bytes per list of int64. Work 2n, depth 1. Lists are also
//        checked.
// Needs  stops.data() == starts.data() + 1: both are views of one array.
// Limit  The machine's memory bandwidth, at two thirds of the traffic of cpu.lookahead.
// From   Awkward Array's awkward_ListOffsetArray_compact_offsets, which subtracts the first offset; here on threads.
#include "cpu/kernels.hpp"
#include "cpu/work_partition.hpp"
#include "problems/lists/offsets/ranges.hpp"
#include "problems/lists/offsets/rung.hpp"

namespace upsweep::impl::offsets {

namespace {

Status run(detail::OffsetsCall& call, const Policy& policy) noexcept {
  return run_ranges(call, cpu::kernels(policy.isa), [&](const OffsetsRanges& ranges, OffsetsRanges::Carry& carry) {
    const std::int64_t before = carry;
    const std::int64_t bad = cpu::for_each_block(call.n, ranges.block(), policy.threads,
                                                 [&](cpu::Range range) { return ranges.difference(range, before); });
    carry = call.offsets[call.n];
    return bad;
  });
}

const char* refusal(const detail::OffsetsCall& call, const Policy& policy) noexcept {
  return is_adjacent(call) ? isa_refusal(policy.isa) : kNotAdjacent;
}

}  // namespace

extern const Rung cpu_adjacent{.info = {.id = "cpu.adjacent",
                                        .idea = "no scan: stops are the starts shifted by one",
                                        .needs = "stops == starts + 1",
                                        .traffic = "n read, n written",
                                        .cost = "2n, 1",
                                        .limit = "memory bandwidth; needs `stops == starts + 1`"},
                               .refusal = refusal,
                               .run = run};

}  // namespace upsweep::impl::offsets
