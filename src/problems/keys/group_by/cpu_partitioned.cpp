// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/cpu_partitioned.cpp: rows go into partitions by the hashes of their keys, and each partition has a table of its own.
//
// Idea   A key's rows all go to one partition. Threads take batches of rows that fit the second cache and sort them by
//        partition there; then they take partitions, whose groups fit it too, and read each batch's share of them in
//        order. Groups are written by batches again, ranked by a bit for each of a batch's rows, and not sorted.
// Cost   Keys and values read, entries of a key, a value and 2 bytes written and read, groups written. Work n, depth n/p.
// Needs  Any CPU. Memory for entries of a key, a result and 2 bytes: at most 12 for each group, or some millions. Then they are
//        merged. Never more than one for each row.
// Limit  Rows of few keys are moved too, though a small table would fold them where they are; and a key that has most rows makes
//        one partition that one thread does. cpu.adaptive looks first.
// From   Manegold, Boncz and Kersten, "Optimizing Main-Memory Join on Modern Hardware" (TKDE 2002); Polychroniou and Ross, "A
//        Comprehensive Study of Main-Memory Partitioning" (SIGMOD 2014).
#include "problems/keys/group_by/batches.hpp"
#include "problems/keys/group_by/rung.hpp"

namespace upsweep::impl::group_by {

namespace {

Status run(Call& call, const Policy& policy) noexcept { return run_batches(call, policy, Adapts::no); }

}  // namespace

extern const Rung cpu_partitioned{
    .info = {.id = "cpu.partitioned",
             .idea = "rows by partition of their hashes, then a table each",
             .needs = "any CPU",
             .traffic = "keys and values read, entries both ways, groups written",
             .cost = "n, n/p",
             .limit = "rows of few keys are moved too; a key with most rows is one thread's"},
    .run = run};

}  // namespace upsweep::impl::group_by
