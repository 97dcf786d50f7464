// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/cpu_thread_maps.cpp: a table for each work unit of rows, on all threads; then a merge.
//
// Idea   The rows are split into work units, whose number depends only on the number of rows. Threads fold work units
//        into tables with open addressing. One thread merges these tables in the order of the rows, so that groups are
//        in the order of their first rows.
// Cost   One pass: keys and values read, groups written. Work n and the groups of all work units, depth n/p and these.
// Needs  Any CPU. Memory for the groups of all work units.
// Limit  If there are many groups, every table contains most of them. Then no table fits a cache, and one thread merges
//        the groups of all tables. cpu.partitioned splits the keys instead of the rows.
// From   Cieslewicz and Ross, "Adaptive Aggregation on Chip Multiprocessors" (VLDB 2007): independent tables.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include "cpu/parallel.hpp"
#include "cpu/tuning/keys.hpp"
#include "cpu/work_partition.hpp"
#include "problems/keys/group_by/answer.hpp"
#include "problems/keys/group_by/folds.hpp"
#include "problems/keys/group_by/rung.hpp"
#include "problems/keys/group_by/table.hpp"

namespace upsweep::impl::group_by {

namespace {

/// Minimum number of rows of a block: with fewer, a separate table is not worth it.
constexpr std::int64_t kLeastRows = cpu::tuning::kGroupsOrder.least_rows;
/// Maximum number of blocks. It does not depend on the number of threads, because the bits of float sums depend on it.
constexpr std::int64_t kMostTables = cpu::tuning::kGroupsOrder.most_tables;

template <class Key>
Status run_keys(Call& call, const Policy& policy) {
  const Folds folds = folds_of(call);
  const bool counted = call.out_counts != nullptr;
  const int size = size_of(call.in_type);
  const auto work_units = static_cast<int>(std::clamp<std::int64_t>(call.n / kLeastRows, 1, kMostTables));
  std::vector<std::unique_ptr<GroupTotals<Key>>> tables(static_cast<std::size_t>(work_units));
  const int workers = cpu::workers_for(work_units, 1, policy.threads);
  cpu::run_allocating_workers(workers, [&](int worker) {
    const cpu::WorkUnit mine = cpu::work_unit_of(work_units, worker, workers);
    for (std::int64_t s = mine.first; s < mine.last; ++s) {
      const cpu::WorkUnit rows = cpu::work_unit_of(call.n, static_cast<int>(s), work_units);
      auto table = std::make_unique<GroupTotals<Key>>(folds, counted);
      table->add(static_cast<const Key*>(call.keys) + rows.first,
                 static_cast<const std::byte*>(call.in) + rows.first * size, size, rows.first, rows.last - rows.first);
      tables[static_cast<std::size_t>(s)] = std::move(table);
    }
  });
  GroupTotals<Key>& all = *tables[0];
  for (std::size_t s = 1; s < tables.size(); ++s) {
    const std::unique_ptr<GroupTotals<Key>> one = std::move(tables[s]);
    all.merge(one->table.keys(), one->totals(), one->counts(), one->size(),
              [&](std::int64_t g) { return one->table.firsts()[g]; });
  }
  return write_in_order(call, folds, all);
}

Status run(Call& call, const Policy& policy) noexcept try {
  return visit_key(call.key_type, [&]<class Key>(std::type_identity<Key>) { return run_keys<Key>(call, policy); });
} catch (const std::bad_alloc&) {
  return {Code::out_of_memory};
}

}  // namespace

extern const Rung cpu_thread_maps{.info = {.id = "cpu.thread_maps",
                                           .idea = "a table for each work unit of rows, merged in order",
                                           .needs = "any CPU",
                                           .traffic = kOnePass,
                                           .cost = "n + g per work unit, n/p + g per work unit",
                                           .limit = "every table has most groups, and one thread merges them"},
                                  .refusal = one_table_refusal,
                                  .run = run};

}  // namespace upsweep::impl::group_by
