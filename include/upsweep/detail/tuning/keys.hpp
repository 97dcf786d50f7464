// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/tuning/keys.hpp: runs of equal keys, and groups.
#pragma once

#include <cstdint>

#include "upsweep/detail/tuning/capability.hpp"

namespace upsweep::gpu::tuning {

struct RunsTuning {
  int threads;
  int rows;   ///< of 32 words per warp
  int loads;  ///< of 32 keys, in flight
};
constexpr From<RunsTuning> kRunsTunings[] = {{80,
                                              {// Derived: 32,768 keys per block, as for marks of masks.
                                               .threads = 256,
                                               .rows = 4,
                                               .loads = 8}}};
constexpr RunsTuning kRuns = chosen<kRunsTunings>();

// -------------------------------------------------------------------------------------------------------------- groups

/// A block's tables for few groups. Each of its warps has separate sums.
struct FewSize {
  int slots;       ///< a power of two
  int most;        ///< maximum number of keys of a block's rows
  int warps;       ///< per block
  int vote_words;  ///< per warp
};
struct FewOrder {
  static constexpr bool kDeterminesFloatBits = true;
  FewSize sizes[2];         ///< the first size that holds the keys is used
  int lane_rows;            ///< rows of a lane at a time
  std::int64_t blocks;      ///< maximum, if their rows can be counted in 32 bits
  std::int64_t least_rows;  ///< per block
};
// H100, 10^8 rows: 100 groups 0.67 ms, 500 groups 1.17, 1,000 groups 1.70; sums of 1,280 groups by slots and four warps
// 5.4. The first size leaves shared memory for more warps, the second supports more keys. With this number of slots
// most keys are stored where their hash points. A block's tables of 8,192 rows cost less than its rows. An H100 or H200
// runs 132 blocks at a time, one on each multiprocessor; a GPU with fewer multiprocessors runs the other blocks after
// them.
constexpr FewOrder kFewOrder{.sizes = {{.slots = 2048, .most = 512, .warps = 24, .vote_words = 128},
                                       {.slots = 4096, .most = 1280, .warps = 16, .vote_words = 64}},
                             .lane_rows = 4,
                             .blocks = 132,
                             .least_rows = 8192};

/// Rows are numbered by their groups, and summed by the first bits of the numbers.
struct PartitionsOrder {
  static constexpr bool kDeterminesFloatBits = true;
  int most_local;          ///< bits of a number within its partition: sums of a block in shared memory
  int pass_bits;           ///< of the sort by the other bits, per pass
  std::int64_t tile_rows;  ///< rows of a partition that a block processes
};
// H100, 10^5 groups of 10^8 rows: three passes of the sort and a fold as lists take 7.1 ms. One pass and sums in shared
// memory take 6.1.
constexpr PartitionsOrder kPartitionsOrder{.most_local = 10, .pass_bits = 8, .tile_rows = 32'768};

struct GroupsTuning {
  int threads;                 ///< per block
  int shared_slots;            ///< of a block's table in shared memory
  int shared_probes;           ///< maximum distance of a key from the slot of its hash
  int shared_blocks;           ///< with such tables, per multiprocessor
  std::int64_t block_rows;     ///< rows of a partition that a block folds in such a table
  int most_probes;             ///< in a table of all keys, before the table is enlarged
  std::int64_t cached;         ///< maximum number of groups for three empty slots per group
  int registers;               ///< of the sketch that estimates the number of groups
  std::int64_t sketch_rows;    ///< minimum number of rows for a sketch
  std::int64_t least_rows;     ///< minimum number of rows for tables in shared memory
  std::int64_t least_asked;    ///< minimum number of rows for a query of the free memory
  std::int64_t most_numbered;  ///< maximum number of groups; more groups are sorted
};
constexpr From<GroupsTuning> kGroupsTunings[] = {
    {80,
     {.threads = 256,
      // Not measured.
      .shared_slots = 1024,
      // H100: after sixteen probes a thread checks whether the block has stopped. The search for a slot took 1.6 ms
      // before this change and 0.03 since.
      .shared_probes = 16,
      // Derived: the number whose tables fit; a few more cost nothing.
      .shared_blocks = 8,
      // Derived: if all keys differ, half of the rows have a slot in the table.
      .block_rows = 2048,
      // Derived: at the load factors of the tables, a key is found within a few dozen probes.
      .most_probes = 512,
      // Derived: 2^18 groups with four slots of 16 bytes are 16 MB, which fit in the L2 cache of an H100.
      .cached = 1 << 18,
      // 4,096 registers estimate within 1.6 %.
      .registers = 4096,
      // A table for all of these rows costs less than the sketch.
      .sketch_rows = 1 << 16,
      // Fewer rows are finished before tables in shared memory are.
      .least_rows = 1 << 16,
      // The query takes about 10 us.
      .least_asked = std::int64_t{1} << 24,
      // The slots for more groups, which may be rebuilt, cannot be numbered with 32 bits.
      .most_numbered = std::int64_t{1} << 29}}};
constexpr GroupsTuning kGroups = chosen<kGroupsTunings>();

}  // namespace upsweep::gpu::tuning
