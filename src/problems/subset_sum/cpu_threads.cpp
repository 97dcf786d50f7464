// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/cpu_threads.cpp: two columns, each divided among the threads.
//
// Idea   The rows of a column are independent of each other: each thread processes a share of them, column after
//        column.
// Cost   As cpu.columns. Work n·S, depth n·S/p.
// Needs  Any CPU.
// Limit  A byte for each bit of information: 24 bytes of traffic for 8 sums. cpu.bits needs 3.
// From   The data decomposition of "Notes on GPU Programming with Julia" (E. Aubanel 2021), on threads.
#include "problems/subset_sum/byte_column.hpp"
#include "problems/subset_sum/rung.hpp"

namespace upsweep::impl::subset_sum {
namespace {

Status run(detail::SubsetSumCall& call, const Policy& policy) noexcept { return run_in_turns(call, policy.threads); }

}  // namespace

extern const Rung cpu_threads{.info = {.id = "cpu.threads",
                                       .idea = "each column divided among threads",
                                       .needs = "any CPU",
                                       .traffic = kByteTraffic,
                                       .cost = "n·S, n·S/p",
                                       .limit = "a byte per bit of information"},
                              .run = run};

}  // namespace upsweep::impl::subset_sum
