// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/cpu_adaptive.cpp: folds each batch of the rows while this makes the batch smaller; the other
// rows go into partitions.
//
// Idea   Rows are processed in batches. The keys of a batch are numbered by their value if they are dense, and
//        otherwise by a small table. Rows are folded by these numbers. When the table is full, rows whose keys are in
//        the table are still folded, because these keys are frequent. All other rows go into partitions. Once hardly
//        any row has a key in the table, all rows go into partitions. Totals and rows are entries of the same kind.
//        Partitions merge these entries in the order of batches. If there are few entries, one thread merges them.
// Cost   For few keys: keys and values read. For many: the cost of cpu.partitioned, and a lookup for a sixteenth of the
//        rows. Work n, depth n/p.
// Needs  Any CPU. Memory for rows that are not folded, at most that of cpu.partitioned.
// Limit  Random writes to partitions in L2, and random reads of tables there.
// From   Leis et al., "Morsel-Driven Parallelism" (SIGMOD 2014), for tables that spill; Müller et al., "Cache-Efficient
//        Aggregation: Hashing Is Sorting" (SIGMOD 2015), for the choice at run time.
#include "problems/keys/group_by/batches.hpp"
#include "problems/keys/group_by/rung.hpp"

namespace upsweep::impl::group_by {

namespace {

Status run(Call& call, const Policy& policy) noexcept { return run_batches(call, policy, Adapts::yes); }

}  // namespace

extern const Rung cpu_adaptive{
    .info = {.id = "cpu.adaptive",
             .idea = "a table per batch while it folds rows, then partitions",
             .needs = "any CPU",
             .traffic = "keys and values read; unfolded rows written and read; groups written",
             .cost = "n, n/p",
             .limit = "random writes and reads within L2"},
    .run = run};

}  // namespace upsweep::impl::group_by
