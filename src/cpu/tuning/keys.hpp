// SPDX-License-Identifier: Apache-2.0
// cpu/tuning/keys.hpp: runs of equal keys, and groups.
#pragma once

#include <cstdint>

namespace upsweep::cpu::tuning {

/// The division of rows into batches and partitions whose groups are folded separately. It depends on neither the
/// threads nor the CPU.
struct GroupsOrder {
  static constexpr bool kDeterminesFloatBits = true;
  std::int64_t least_rows;       ///< per block with a separate table
  std::int64_t rows_per_key;     ///< per block with a table of all keys of the range
  std::int64_t most_tables;      ///< maximum per call
  std::int64_t batch;            ///< rows of a batch
  std::int64_t most_keys;        ///< maximum per table of a batch
  std::int64_t worth_one_of;     ///< a full table is searched while it has at least one of worth_one_of rows of a block
  std::int64_t entries;          ///< per partition, if all keys differ
  std::int64_t most_partitions;  ///< maximum that a batch writes to at a time
  std::int64_t least_merged;     ///< minimum number of entries that are merged at a time
  std::int64_t merged_by_group;  ///< the same minimum, as a multiple of the number of groups
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
    // A search costs about a quarter of an entry.
    .worth_one_of = 4,
    // Derived: this number of groups fits L2, and half of it is expected.
    .entries = 65536,
    // Derived: its lines stay in L2.
    .most_partitions = 2048,
    // Derived: about 75 MB.
    .least_merged = std::int64_t{1} << 22,
    // Derived: a merge reads and writes all groups, in addition to entries, which it reads once.
    .merged_by_group = 8};

struct GroupsTuning {
  std::int64_t runs;          ///< runs of equal keys whose bounds are read together
  std::int64_t keys;          ///< keys that are compared at a time
  std::int64_t sorted_rows;   ///< positions of sorted rows that a thread takes at a time
  std::int64_t alone;         ///< entries that one thread merges faster than other threads can start
  std::int64_t most_written;  ///< consecutive batches whose known groups a thread writes
};
constexpr GroupsTuning kGroups{// Derived: bounds stay in L1.
                               .runs = 256,
                               // Derived: the results of the comparisons stay in L1; whole words of bits.
                               .keys = 512,
                               // Not measured.
                               .sorted_rows = 65536,
                               .alone = 16384,
                               .most_written = 64};

}  // namespace upsweep::cpu::tuning
