// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_scan/cpu_columns.cpp: one list per SIMD lane, on every core.
//
// Idea   As cpu.columns of the segmented-reduce ladder. Eight elements of each of 8 or 16 lists are transposed and
//        scanned lane by lane. Then they are transposed back, and stored up to the end of each list. Groups with a list
//        of more than 32 elements run the loop. Threads take ranges of lists dynamically. Blocks of long lists are
//        folded, and then scanned.
// Cost   One pass: content and bounds read, the same number of elements written. Lists of more than 4,096 elements are
//        read twice. Work n, depth n/p.
// Needs  AVX-512, AVX2 or baseline vectors for compiled operators. Other operators run the plain loop, with the same
//        load balancing.
// Limit  Memory bandwidth; for lists of 33 to 4,096 elements, the latency of one operation per element.
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
             .idea = "one list per SIMD lane, on every core",
             .needs = "AVX2, AVX-512 or baseline",
             .traffic = kOnePass,
             .cost = "n, n/p",
             .limit = "memory bandwidth; latency with lists of 33 to 4,096 elements next to much shorter ones"},
    .refusal = needs_isa,
    .run = run};

}  // namespace upsweep::impl::segmented_scan
