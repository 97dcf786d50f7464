// SPDX-License-Identifier: Apache-2.0
// cpu/tuning/keys.hpp: runs of equal keys, and groups.
#pragma once

#include <cstdint>

namespace upsweep::cpu::tuning {

/// How rows are divided where groups of them are folded apart. So it depends on neither the threads nor the CPU.
struct GroupsOrder {
  static constexpr bool kDeterminesFloatBits = true;
  std::int64_t least_rows;       ///< of a block with a table of its own
  std::int64_t rows_per_key;     ///< of a block with a table of all keys of the range
  std::int64_t most_tables;      ///< of a call
  std::int64_t batch;            ///< rows of a batch
  std::int64_t most_keys;        ///< of a batch's table
  std::int64_t worth_one_of;     ///< a full table is looked into while it has one of so many of a block's rows
  std::int64_t entries;          ///< of a partition, if all keys differ
  std::int64_t most_partitions;  ///< that a batch writes to at a time
  std::int64_t least_merged;     ///< entries that are merged at a time
  std::int64_t merged_by_group;  ///< so many times the groups
};
constexpr GroupsOrder kGroupsOrder{
    // Derived: with fewer a table costs more than its rows.
    .least_rows = 1 << 17,
    .rows_per_key = 8,
    // Not measured.
    .most_tables = 64,
    // Derived: the last 16 bits of a row are its number in the batch; keys and values of 8 bytes fit an L2 of 1 MB.
    .batch = 65536,
    // Derived: a sixteenth of the rows: table and totals stay in L2.
    .most_keys = 4096,
    // To look costs about a quarter of what an entry does.
    .worth_one_of = 4,
    // Derived: so many groups fit L2, and half as many are expected.
    .entries = 65536,
    // Derived: its lines stay in L2.
    .most_partitions = 2048,
    // Derived: some 75 MB.
    .least_merged = std::int64_t{1} << 22,
    // Derived: a merge reads and writes all groups, beside entries that it reads once.
    .merged_by_group = 8};

struct GroupsTuning {
  std::int64_t runs;          ///< of equal keys whose bounds are read together
  std::int64_t keys;          ///< that are compared at a time
  std::int64_t sorted_rows;   ///< positions that a thread takes at a time, of sorted rows
  std::int64_t alone;         ///< entries that one thread merges sooner than others come to help
  std::int64_t most_written;  ///< consecutive batches whose known groups a thread writes
};
constexpr GroupsTuning kGroups{// Derived: bounds stay in L1.
                               .runs = 256,
                               // Derived: what comes of them stays in L1; whole words of bits.
                               .keys = 512,
                               // Not measured.
                               .sorted_rows = 65536,
                               .alone = 16384,
                               .most_written = 64};

}  // namespace upsweep::cpu::tuning
