// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/cpu_columns.cpp: two columns of the table in turn, as no other is ever read again.
//
// Idea   Column j needs column j - 1 only: two columns take turns.
// Cost   2·(S + 1) bytes of memory; per item S bytes written, 2·S read. Work n·S, depth n·S.
// Needs  Any CPU.
// Limit  One core, and a byte for what is one bit. cpu.threads takes every core, cpu.bits a bit per sum.
// From   The usual way to save memory in dynamic programming.
#include "problems/subset_sum/byte_column.hpp"
#include "problems/subset_sum/rung.hpp"

namespace upsweep::impl::subset_sum {
namespace {

Status run(detail::SubsetSumCall& call, const Policy&) noexcept { return run_in_turns(call, 1); }

}  // namespace

extern const Rung cpu_columns{.info = {.id = "cpu.columns",
                                       .idea = "two columns in turn",
                                       .needs = "any CPU",
                                       .traffic = kByteTraffic,
                                       .cost = "n·S, n·S",
                                       .limit = "one core; a byte for a bit",
                                       .threads = Threads::one},
                              .run = run};

}  // namespace upsweep::impl::subset_sum
