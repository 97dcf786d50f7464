// SPDX-License-Identifier: Apache-2.0
// sql/tuning.hpp: the constants of queries on the CPU, as data. Those of a GPU are in upsweep/detail/tuning/query.hpp.
//
// The following constants are elsewhere. The block of 1,024 rows and the lanes of a sum determine the bits of float
// sums (expression/evaluate.hpp, kernels.cpp). Limits of query contents and the shape of encoded batches are also
// elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>

namespace upsweep::query::tuning {

/// Thresholds for the rows of a block that WHERE keeps. Each is a fraction of the block: a value of N means 1/N.
struct SelectionTuning {
  int few;    ///< a block that keeps fewer rows passes them on, to be computed with those of later blocks
  int dense;  ///< if more rows are kept, sums that need no row list are computed over the whole block
  int many;   ///< if more rows are kept, the whole block is computed
  int some;   ///< if more rows are kept, bounds of a column are tested on all of its rows
};
constexpr SelectionTuning kSelection{
    // Derived: the fixed cost of an operator per block is then paid once for several blocks.
    .few = 4,
    // 6·10^6 rows on two cores of an EPYC: lists take 5.3 ms if 5 % are kept and 9 ms if 15 % are. Whole blocks take 4
    // ms. One core of a Xeon takes 6 and 11 ms with lists, and 9 to 11 ms with whole blocks. A twelfth is in between.
    .dense = 12,
    // Derived: compacting the kept rows costs more than computing some rows in vain.
    .many = 2,
    // Derived: nearly all cache lines of the column are read anyway.
    .some = 16};

/// Prefetch distances.
struct PrefetchTuning {
  int slots;  ///< slots of a group table
  int lines;  ///< cache lines of the next block that each operator prefetches
};
constexpr PrefetchTuning kPrefetch{// Derived: a dozen loads are in flight while one completes.
                                   .slots = 12,
                                   // TPC-H Q1 takes a tenth to a fifth less time. More prefetches would delay the
                                   // computation.
                                   .lines = 64};

/// Lookup structures for the values of an IN list.
struct MembersTuning {
  std::size_t most_compared;  ///< maximum number of constants that are compared one by one
  std::size_t most_bits;      ///< maximum number of bits of a bitmap
};
constexpr MembersTuning kMembers{// Not measured.
                                 .most_compared = 3,
                                 // Derived: 32 KB, which fits in L1.
                                 .most_bits = 1 << 18};

/// Sizes of the tables that find the groups of rows.
struct FindersTuning {
  std::size_t most_entries;   ///< maximum number of combinations of dictionary entries
  std::int64_t least_values;  ///< slots of a table of values
  std::int64_t most_values;
  std::size_t least_words;  ///< slots of a hash table
  std::size_t most_words;
};
constexpr FindersTuning kFinders{// Not measured.
                                 .most_entries = 1 << 14,
                                 // Derived: 16 KB to 1 MB.
                                 .least_values = 1 << 12,
                                 .most_values = 1 << 18,
                                 // Derived: 16 KB to 8 MB.
                                 .least_words = 1 << 10,
                                 .most_words = 1 << 19};

/// How workers fold a table's row groups.
struct WorkersTuning {
  int most_waiting;           ///< chunks per worker that may wait for the totals
  int most_ahead;             ///< multiple of this number at which workers begin no row group
  std::int64_t most_held;     ///< number of groups up to which further chunks are folded into them
  std::int64_t most_cached;   ///< like most_held, for groups that are found immediately
  std::int64_t rows_of_each;  ///< minimum number of rows of each cached group per worker
};
constexpr WorkersTuning kWorkers{// Not measured.
                                 .most_waiting = 4,
                                 .most_ahead = 4,
                                 // Derived: the groups then fit in a core's L2.
                                 .most_held = 1 << 14,
                                 // Derived: each group touches a table entry, a sum and a count.
                                 .most_cached = 1 << 18,
                                 // Derived: the groups of all workers are merged at the end.
                                 .rows_of_each = 16};

/// Decides when a batch's rows stay unaggregated, and how groups are merged.
struct GroupsTuning {
  std::int64_t tried;               ///< rows of a batch from which its number of groups is estimated
  std::int64_t tried_cached;        ///< rows from which it is decided whether groups may stay cached
  std::int64_t apart;               ///< number of groups from which the batch's other rows stay unaggregated
  int merged_at_once;               ///< groups that are found before each aggregate is folded
  std::int64_t near_bytes;          ///< bytes of groups that are in L2 after the first rows
  std::int64_t partitioned_from;    ///< number of groups from which merges are partitioned
  std::size_t least_waiting;        ///< chunks that a partition waits for
  std::int64_t waiting;             ///< chunks that may wait, independent of the memory limit
  std::int64_t most_waiting_bytes;  ///< maximum bytes of these chunks
};
constexpr GroupsTuning kGroups{
    // Derived: among n rows of G groups, about n·n / 2G are in groups that were seen before. The decision to cache
    // needs more rows.
    .tried = 1 << 10,
    .tried_cached = 1 << 12,
    .apart = 1 << 14,
    // Not measured.
    .merged_at_once = 64,
    .near_bytes = 1 << 18,
    // Derived: with fewer groups, a thread takes about ten microseconds for a chunk.
    .partitioned_from = 1 << 11,
    // 10^5 groups of 10^7 rows take a tenth less time with the number of chunks that the memory is meant for than with
    // a third of it. With a tenth of that number they take a fifth more.
    .least_waiting = 12,
    .waiting = 32,
    // 10^6 groups of 10^7 rows take 10 to 15 % less time with 80 MB than with 25 MB. 10^7 groups do not take less time
    // with 300 MB.
    .most_waiting_bytes = std::int64_t{1} << 27};

/// Groups in temporary files.
struct SpillTuning {
  std::int64_t least_buffer;  ///< bytes that are written at once
  std::int64_t most_buffer;
  std::int64_t groups_at_once;   ///< groups that are encoded before each check whether there are enough to write
  std::int64_t least_partition;  ///< minimum bytes of memory, however small the memory limit is
};
constexpr SpillTuning kSpill{// Derived: disks are fastest with one megabyte per write, and there are 64 such buffers.
                             .least_buffer = 1 << 14,
                             .most_buffer = 1 << 20,
                             // Not measured.
                             .groups_at_once = 1 << 14,
                             .least_partition = 1 << 18};

/// Rows of an answer.
struct AnswerTuning {
  int blocks;              ///< blocks of groups that a thread takes at a time
  std::int64_t least_few;  ///< minimum bytes for rows if a limit drops most of them, however small the memory limit is
  std::size_t rows;        ///< rows that a thread sorts at a time
  std::size_t sparse;      ///< positions are sorted if fewer than one in N of them has a row
};
constexpr AnswerTuning kAnswer{// Derived: keys and states of a block are in L2 while its rows are created.
                               .blocks = 4,
                               // Not measured.
                               .least_few = std::int64_t{4} << 20,
                               .rows = std::size_t{1} << 14,
                               .sparse = 16};

/// Tables in memory.
struct MemoryTableTuning {
  std::int64_t batches;    ///< batches of a row group
  std::size_t least_text;  ///< bytes of a chunk of strings
  std::size_t most_text;
};
constexpr MemoryTableTuning kMemoryTable{
    // Derived: opening a row group costs nothing compared with reading it. Threads end within the time of one row
    // group.
    .batches = 4,
    // Not measured.
    .least_text = 1 << 12,
    .most_text = 1 << 20};

}  // namespace upsweep::query::tuning
