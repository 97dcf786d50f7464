// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/cpu_columns.cpp: two columns of the table in turn, because no other column is ever read again.
//
// Idea   Column j depends only on column j - 1: two columns are used in turn.
// Cost   2·(S + 1) bytes of memory; per item S bytes written, 2·S read. Work n·S, depth n·S.
// Needs  Any CPU.
// Limit  One core, and a byte for each bit of information. cpu.threads uses every core, cpu.bits one bit per sum.
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
                                       .limit = "one core; a byte per bit of information",
                                       .threads = Threads::one},
                              .run = run};

}  // namespace upsweep::impl::subset_sum
