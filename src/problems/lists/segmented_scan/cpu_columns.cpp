// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_scan/cpu_columns.cpp: lists side by side in vector lanes, on every core.
//
// Idea   As cpu.columns of the ladder of segmented-reduce: eight elements of each of 8 or 16 lists are transposed, scanned lane by lane,
//        transposed back, and stored as far as their lists go. Groups with a list of more than 32 elements are done by the
//        loop. Threads take ranges of lists as they come; blocks of long lists are folded, and then scanned.
// Cost   One pass: content and bounds read, as much content written; lists of more than 4,096 elements are read twice. Work n,
//        depth n/p.
// Needs  A compiled operator has vectors: AVX-512, AVX2 or baseline. Others run the plain loop, balanced the same way.
// Limit  The memory; of lists of 33 to 4,096 elements the latency of one operation per element.
// From   Own.
#include "cpu/list_kernels.hpp"
#include "cpu/list_values.hpp"
#include "cpu/work_partition.hpp"
#include "problems/lists/segmented_scan/rung.hpp"
#include "problems/lists/segmented_scan/scan_lists.hpp"

namespace upsweep::impl::segmented_scan {

namespace {

Status run(const detail::SegmentedScanCall& call, const Policy& policy) noexcept {
  const int workers =
      cpu::list_workers(call.lists.count, call.n * (std::int64_t{call.in_size} + call.out_size), policy.threads);
  return scan_lists(call, policy, cpu::list_kernels(policy.isa), workers);
}

}  // namespace

extern const Rung cpu_columns{
    .info = {.id = "cpu.columns",
             .idea = "lists side by side in vector lanes, on every core",
             .needs = "AVX2, AVX-512 or baseline",
             .traffic = kOnePass,
             .cost = "n, n/p",
             .limit = "the memory; of lists of 33 to 4,096 elements beside much shorter ones the latency"},
    .refusal = needs_isa,
    .run = run};

}  // namespace upsweep::impl::segmented_scan
