// SPDX-License-Identifier: Apache-2.0
// cpu/tuning/lists.hpp: how many lists or elements are done at a time. Nothing here determines the bits of floats.
#pragma once

#include <cstdint>

namespace upsweep::cpu::tuning {

/// Lists that are read, checked or converted at a time.
struct ListsTuning {
  std::int64_t batch;            ///< lists whose bounds are read and checked together
  std::int64_t block_lists;      ///< lists of a block, which workers take in any order
  std::int64_t run;              ///< lists of a run, which a kernel gets
  std::int64_t list_bytes;       ///< that a list counts for beside its elements
  std::int64_t units_of_worker;  ///< work units that a worker takes one after the other
  std::int64_t work_unit_bytes;  ///< of lists of the mean length, which a worker takes at a time
};
constexpr ListsTuning kLists{
    // Derived: bounds of 4 KB stay in L1.
    .batch = 256,
    // Derived: enough that taking a block costs nothing compared with its work; its bounds stay in L1.
    .block_lists = 1024,
    // Derived: bounds that are converted stay in L1.
    .run = 512,
    // Derived: its offsets and starts, or its bounds and result.
    .list_bytes = 16,
    // Derived: a core that is slow, or taken away, holds up few others.
    .units_of_worker = 16,
    // Derived: what is fetched past a work unit's end, which another thread reads, does not count; no thread is left alone
    // with many long lists.
    .work_unit_bytes = 512 * 1024};

/// Kernels of lists.
struct ListKernelsTuning {
  std::int64_t short_bytes;   ///< of a list that is copied by whole vectors, without a branch on its length
  std::int64_t lists_ahead;   ///< of the one that is copied: their content is fetched
  std::int64_t stage_bytes;   ///< of an output that is put together before it is stored
  std::int64_t fetch_bytes;   ///< ahead of what is loaded, at least
  std::int64_t index_lists;   ///< whose numbers are computed at a time
  std::int64_t table_lists;   ///< lists of fewer elements may have their combinations in a table
  std::int64_t table_tuples;  ///< of such a list, at most
};
constexpr ListKernelsTuning kListKernels{
    // Not measured.
    .short_bytes = 512,
    // Not measured against other values.
    .lists_ahead = 32,
    // A few cache lines, so that memory takes them while the next ones are made. Local indices of 10^7 lists of
    // Poisson(3) on two cores of an EPYC: 10 ms, with 8 KB 14 (single runs on a machine that others used).
    .stage_bytes = 512,
    // What memory takes to answer: of 1 to 16 KB the fastest on an EPYC.
    .fetch_bytes = 4096,
    // Derived: numbers stay in L1.
    .index_lists = 256,
    .table_lists = 16,
    .table_tuples = 64};

/// Lists in any order, which are measured before they are divided into equal work units.
struct MeasuredListsTuning {
  std::int64_t list_work;    ///< that a list counts for beside its elements
  std::int64_t block_lists;  ///< lists of a block
  std::int64_t blocks;       ///< that are measured at a time
  std::int64_t unit_work;    ///< of a work unit
};
// Not measured.
constexpr MeasuredListsTuning kMeasuredLists{
    .list_work = 4, .block_lists = 256, .blocks = 32, .unit_work = std::int64_t{1} << 16};

/// Combinations.
struct CombinationsTuning {
  std::int64_t work_unit;         ///< tuples of a work unit
  std::int64_t work;              ///< positions and lists of a worker, at least
  std::int64_t gathered;          ///< tuples that are gathered before they are written
  std::int64_t table_positions;   ///< tuples of more have no table
  std::int64_t table_tuples;      ///< calls with fewer have none
  std::int64_t least_work_units;  ///< of lists that a worker checks
};
constexpr CombinationsTuning kCombinations{// Derived: some 50 us, no less than waking a thread takes.
                                           .work_unit = 1 << 16,
                                           .work = 1 << 15,
                                           // Derived: 8 KB for each position.
                                           .gathered = 1024,
                                           .table_positions = 16,
                                           // Making a table takes 2 us.
                                           .table_tuples = 128,
                                           // Derived: 50 us.
                                           .least_work_units = 32};

/// Reductions and scans of lists.
struct ListFoldsTuning {
  std::int64_t short_list;   ///< longer lists are done beside others of about their length, wherever these are
  std::int64_t blocks;       ///< of long lists that a worker takes at a time
  std::int64_t scan_blocks;  ///< that a scan of lists converts at a time
};
constexpr ListFoldsTuning kListFolds{
    // Not measured.
    .short_list = 32,
    // Derived: as many as the kernels do side by side; elements that are converted stay in L2.
    .blocks = 16,
    .scan_blocks = 8};

/// Sorts of lists.
struct ListSortTuning {
  std::int64_t long_list;         ///< lists that are not sorted next to others of their work unit
  std::int64_t work;              ///< elements and lists of a worker, at least
  std::int64_t least_together;    ///< lists of fewer elements are one thread's
  std::int64_t least_work_units;  ///< of lists that a worker checks
};
constexpr ListSortTuning kListSort{// Not measured.
                                   .long_list = 1024,
                                   // Derived: 50 us.
                                   .work = 1 << 15,
                                   // Waking the other threads for each merge takes 10 us.
                                   .least_together = 1 << 17,
                                   // Derived: 50 us.
                                   .least_work_units = 64};

}  // namespace upsweep::cpu::tuning
