// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/cpu_partitioned.cpp: partitions rows by the hashes of their keys; each partition has a table.
//
// Idea   All rows of a key go to one partition. Threads take batches of rows that fit L2 and sort them there by
//        partition. Then they take partitions, whose groups also fit L2, and read each batch's rows of the partition in
//        order. Groups are again written by batches. A bit for each row of a batch ranks its groups, so nothing is
//        sorted.
// Cost   Keys and values read; entries of a key, a value and 2 bytes written and read; groups written. Work n, depth
//        n/p.
// Needs  Any CPU. Memory for entries of a key, a result and 2 bytes. There are at most 12 entries per group, or a few
//        million, before they are merged, and never more than one per row.
// Limit  Rows of few keys are also moved, although a small table would fold them in place. If most rows have one key,
//        one thread processes most rows. cpu.adaptive tests for both cases first.
// From   Manegold, Boncz and Kersten, "Optimizing Main-Memory Join on Modern Hardware" (TKDE 2002); Polychroniou and
//        Ross, "A Comprehensive Study of Main-Memory Partitioning" (SIGMOD 2014).
#include "problems/keys/group_by/batches.hpp"
#include "problems/keys/group_by/rung.hpp"

namespace upsweep::impl::group_by {

namespace {

Status run(Call& call, const Policy& policy) noexcept { return run_batches(call, policy, Adapts::no); }

}  // namespace

extern const Rung cpu_partitioned{
    .info = {.id = "cpu.partitioned",
             .idea = "rows partitioned by hash, then a table per partition",
             .needs = "any CPU",
             .traffic = "keys and values read, entries written and read, groups written",
             .cost = "n, n/p",
             .limit = "rows of few keys are also moved; one thread has a key with most rows"},
    .run = run};

}  // namespace upsweep::impl::group_by
