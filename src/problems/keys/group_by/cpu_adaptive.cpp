// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/cpu_adaptive.cpp: each batch of the rows is folded while that makes it smaller, and what is
// left goes into partitions.
//
// Idea   A batch numbers its keys by their place while these are dense, else by a small table, and folds its rows. When
//        the table is full, rows of keys that it has are still folded: they are those that come often. The others go
//        into partitions, and once hardly a row is known, all do. Totals and rows are entries of the same kind:
//        partitions merge them in the order of batches. Few entries are merged by one thread.
// Cost   Of few keys: keys and values read. Of many: that of cpu.partitioned, and a look at a sixteenth of the rows. Work n, depth
//        n/p.
// Needs  Any CPU. Memory for what is left, at most that of cpu.partitioned.
// Limit  Random writes to partitions in the second cache, and reads of tables there.
// From   Leis et al., "Morsel-Driven Parallelism" (SIGMOD 2014), of which the tables that spill are; Müller et al., "Cache-Efficient
//        Aggregation: Hashing Is Sorting" (SIGMOD 2015), which choose while they run.
#include "problems/keys/group_by/batches.hpp"
#include "problems/keys/group_by/rung.hpp"

namespace upsweep::impl::group_by {

namespace {

Status run(Call& call, const Policy& policy) noexcept { return run_batches(call, policy, Adapts::yes); }

}  // namespace

extern const Rung cpu_adaptive{
    .info = {.id = "cpu.adaptive",
             .idea = "tables of batches while they fold rows, then partitions",
             .needs = "any CPU",
             .traffic = "keys and values read; what tables do not fold both ways; groups written",
             .cost = "n, n/p",
             .limit = "random writes and reads within the second cache"},
    .run = run};

}  // namespace upsweep::impl::group_by
