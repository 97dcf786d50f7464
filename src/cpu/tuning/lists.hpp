// SPDX-License-Identifier: Apache-2.0
// cpu/tuning/lists.hpp: numbers of lists or elements processed at a time. They do not determine the bits of floats.
#pragma once

#include <cstdint>

namespace upsweep::cpu::tuning {

/// Lists that are read, checked or converted at a time.
struct ListsTuning {
  std::int64_t batch;            ///< lists whose bounds are read and checked together
  std::int64_t block_lists;      ///< lists per block; workers take blocks in any order
  std::int64_t run;              ///< lists per run that a kernel gets
  std::int64_t list_bytes;       ///< cost of a list in addition to its elements
  std::int64_t units_of_worker;  ///< work units that a worker takes one after the other
  std::int64_t work_unit_bytes;  ///< of lists of the mean length, which a worker takes at a time
};
constexpr ListsTuning kLists{
    // Derived: bounds of 4 KB stay in L1.
    .batch = 256,
    // Derived: the start of a block costs nothing compared with its work, and its bounds stay in L1.
    .block_lists = 1024,
    // Derived: converted bounds stay in L1.
    .run = 512,
    // Derived: its offsets and starts, or its bounds and result.
    .list_bytes = 16,
    // Derived: a core that is slow, or taken away, delays few others.
    .units_of_worker = 16,
    // Derived: data that is fetched past a work unit's end, which another thread reads, costs little compared with it.
    // No single thread is left with many long lists.
    .work_unit_bytes = 512 * 1024};

/// Kernels of lists.
struct ListKernelsTuning {
  std::int64_t short_bytes;   ///< of a list that is copied by whole vectors, without a branch on its length
  std::int64_t lists_ahead;   ///< lists after the copied one whose content is prefetched
  std::int64_t stage_bytes;   ///< of an output that is assembled before it is stored
  std::int64_t fetch_bytes;   ///< minimum distance of prefetches from loads
  std::int64_t index_lists;   ///< lists whose numbers are computed at a time
  std::int64_t table_lists;   ///< lists of fewer elements may have their combinations in a table
  std::int64_t table_tuples;  ///< maximum per such list
};
constexpr ListKernelsTuning kListKernels{
    // Not measured.
    .short_bytes = 512,
    // Not measured against other values.
    .lists_ahead = 32,
    // A few cache lines, so that memory stores them while the next lines are computed. Local indices of 10^7 lists of
    // Poisson(3) on two cores of an EPYC take 10 ms with this value and 14 ms with 8 KB. These are single runs on a
    // machine that others used.
    .stage_bytes = 512,
    // The data that arrives during the latency of memory: the fastest of 1 to 16 KB on an EPYC.
    .fetch_bytes = 4096,
    // Derived: numbers stay in L1.
    .index_lists = 256,
    .table_lists = 16,
    .table_tuples = 64};

/// Lists in any order. They are measured before they are divided into equal work units.
struct MeasuredListsTuning {
  std::int64_t list_work;    ///< cost of a list in addition to its elements
  std::int64_t block_lists;  ///< lists per block
  std::int64_t blocks;       ///< blocks that are measured at a time
  std::int64_t unit_work;    ///< per work unit
};
// Not measured.
constexpr MeasuredListsTuning kMeasuredLists{
    .list_work = 4, .block_lists = 256, .blocks = 32, .unit_work = std::int64_t{1} << 16};

/// Combinations.
struct CombinationsTuning {
  std::int64_t work_unit;         ///< tuples per work unit
  std::int64_t work;              ///< minimum positions and lists per worker
  std::int64_t gathered;          ///< tuples that are gathered before they are written
  std::int64_t table_positions;   ///< tuples of more positions have no table
  std::int64_t table_tuples;      ///< calls with fewer tuples have no table
  std::int64_t least_work_units;  ///< minimum, of lists that a worker checks
};
constexpr CombinationsTuning kCombinations{// Derived: about 50 us, at least the time to wake a thread.
                                           .work_unit = 1 << 16,
                                           .work = 1 << 15,
                                           // Derived: 8 KB for each position.
                                           .gathered = 1024,
                                           .table_positions = 16,
                                           // The computation of a table takes 2 us.
                                           .table_tuples = 128,
                                           // Derived: 50 us.
                                           .least_work_units = 32};

/// Reductions and scans of lists.
struct ListFoldsTuning {
  std::int64_t short_list;   ///< longer lists are processed with others of about their length, wherever these are
  std::int64_t blocks;       ///< of long lists that a worker takes at a time
  std::int64_t scan_blocks;  ///< that a scan of lists converts at a time
};
constexpr ListFoldsTuning kListFolds{
    // Not measured.
    .short_list = 32,
    // Derived: the number that the kernels process side by side; converted elements stay in L2.
    .blocks = 16,
    .scan_blocks = 8};

/// Sorts of lists.
struct ListSortTuning {
  std::int64_t long_list;         ///< lists that are not sorted together with others of their work unit
  std::int64_t work;              ///< minimum elements and lists per worker
  std::int64_t least_together;    ///< one thread sorts a list of fewer elements
  std::int64_t least_work_units;  ///< minimum, of lists that a worker checks
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
