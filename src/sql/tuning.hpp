// SPDX-License-Identifier: Apache-2.0
// sql/tuning.hpp: the constants of queries on the CPU, as data. Those of a GPU are in upsweep/detail/tuning/query.hpp.
//
// Not here: the block of 1,024 rows and the lanes of a sum (expression/evaluate.hpp, kernels.cpp), which determine the bits of
// float sums, limits of what a query may contain, and the shape of encoded batches.
#pragma once

#include <cstddef>
#include <cstdint>

namespace upsweep::query::tuning {

/// Rows of a block of which some are left by WHERE. Each is a fraction: one in so many.
struct SelectionTuning {
  int few;    ///< a block with fewer rows left gives them away
  int dense;  ///< with more rows left, sums that need no list of rows are added up over the whole block
  int many;   ///< with more rows left, a block is computed whole
  int some;   ///< with more rows left, bounds of a column are tried on all of it
};
constexpr SelectionTuning kSelection{
    // Derived: what an operator costs per block, whatever its rows, is then paid once for several blocks.
    .few = 4,
    // 6·10^6 rows on two cores of an EPYC: lists take 5.3 ms where 5 % are kept and 9 where 15 % are, whole blocks 4. On one
    // core of a Xeon 6 and 11, and 9 to 11. A twelfth is in between.
    .dense = 12,
    // Derived: moving the other rows together costs more than computing some in vain.
    .many = 2,
    // Derived: nearly all lines of the column are read anyway.
    .some = 16};

/// What is asked for ahead of its use.
struct PrefetchTuning {
  int slots;  ///< of a table of groups
  int lines;  ///< by each operator, of what the next block reads
};
constexpr PrefetchTuning kPrefetch{// Derived: a dozen loads are in flight while one is waited for.
                                   .slots = 12,
                                   // TPC-H Q1 takes a tenth to a fifth less. More would hold up what is computed.
                                   .lines = 64};

/// Where the values of an IN list are looked up.
struct MembersTuning {
  std::size_t most_compared;  ///< constants that are compared one by one
  std::size_t most_bits;      ///< of a bitmap
};
constexpr MembersTuning kMembers{// Not measured.
                                 .most_compared = 3,
                                 // Derived: 32 KB, which L1 holds.
                                 .most_bits = 1 << 18};

/// Tables in which the groups of rows are found.
struct FindersTuning {
  std::size_t most_entries;   ///< combinations of dictionary entries
  std::int64_t least_values;  ///< of a table of values
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
  int most_waiting;           ///< chunks for each worker that may wait for the totals
  int most_ahead;             ///< with so many times as many, workers begin no row group
  std::int64_t most_held;     ///< groups up to which further chunks are folded into them
  std::int64_t most_cached;   ///< the same, of groups that are found at once
  std::int64_t rows_of_each;  ///< that each of these has for every worker
};
constexpr WorkersTuning kWorkers{// Not measured.
                                 .most_waiting = 4,
                                 .most_ahead = 4,
                                 // Derived: they are in a core's L2 then.
                                 .most_held = 1 << 14,
                                 // Derived: an entry of a table, a sum and a count of each are touched.
                                 .most_cached = 1 << 18,
                                 // Derived: all workers' groups are merged at the end.
                                 .rows_of_each = 16};

/// When a batch's rows stay unaggregated, and how groups are merged.
struct GroupsTuning {
  std::int64_t tried;               ///< rows of a batch from which its number of groups is estimated
  std::int64_t tried_cached;        ///< the same, of whether groups may stay cached
  std::int64_t apart;               ///< groups from which on the batch's other rows are not looked for
  int merged_at_once;               ///< groups that are found before each aggregate is folded
  std::int64_t near_bytes;          ///< of groups that are in L2 after the first rows
  std::int64_t partitioned_from;    ///< groups
  std::size_t least_waiting;        ///< chunks that a partition waits for
  std::int64_t waiting;             ///< chunks that may wait, whatever the memory is meant for
  std::int64_t most_waiting_bytes;  ///< for these chunks
};
constexpr GroupsTuning kGroups{
    // Derived: among n rows of G groups some n·n / 2G were seen before. The second question takes more rows.
    .tried = 1 << 10,
    .tried_cached = 1 << 12,
    .apart = 1 << 14,
    // Not measured.
    .merged_at_once = 64,
    .near_bytes = 1 << 18,
    // Derived: with fewer groups a chunk takes one thread some ten microseconds.
    .partitioned_from = 1 << 11,
    // 10^5 groups of 10^7 rows take a tenth less time with as many chunks as the memory is meant for than with a third of these,
    // and a fifth more with a tenth.
    .least_waiting = 12,
    .waiting = 32,
    // 10^6 groups of 10^7 rows take 10 to 15 % less time with 80 MB than with 25, and 10^7 groups no less with 300 MB.
    .most_waiting_bytes = std::int64_t{1} << 27};

/// Groups in temporary files.
struct SpillTuning {
  std::int64_t least_buffer;  ///< bytes written at once
  std::int64_t most_buffer;
  std::int64_t groups_at_once;   ///< made into encoded batches before it is asked whether there is enough to be written
  std::int64_t least_partition;  ///< bytes of memory, however little is allowed in all
};
constexpr SpillTuning kSpill{// Derived: disks are at their best with a megabyte, and there are 64 such buffers.
                             .least_buffer = 1 << 14,
                             .most_buffer = 1 << 20,
                             // Not measured.
                             .groups_at_once = 1 << 14,
                             .least_partition = 1 << 18};

/// Rows of an answer.
struct AnswerTuning {
  int blocks;              ///< of groups that a thread takes at a time
  std::int64_t least_few;  ///< bytes for rows of which a limit drops most, however little is allowed in all
  std::size_t rows;        ///< that a thread orders at a time
  std::size_t sparse;      ///< with fewer rows than one in so many places, places are sorted
};
constexpr AnswerTuning kAnswer{// Derived: keys and states of a block are in L2 while its rows are made.
                               .blocks = 4,
                               // Not measured.
                               .least_few = std::int64_t{4} << 20,
                               .rows = std::size_t{1} << 14,
                               .sparse = 16};

/// Tables in memory.
struct MemoryTableTuning {
  std::int64_t batches;    ///< of a row group
  std::size_t least_text;  ///< bytes of a chunk of strings
  std::size_t most_text;
};
constexpr MemoryTableTuning kMemoryTable{
    // Derived: opening a row group costs nothing compared with reading it, and threads end within the time of one.
    .batches = 4,
    // Not measured.
    .least_text = 1 << 12,
    .most_text = 1 << 20};

}  // namespace upsweep::query::tuning
