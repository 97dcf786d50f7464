// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/tuning/keys.hpp: runs of equal keys, and groups.
#pragma once

#include <cstdint>

#include "upsweep/detail/tuning/capability.hpp"

namespace upsweep::gpu::tuning {

struct RunsTuning {
  int threads;
  int rows;   ///< of 32 words for a warp
  int loads;  ///< of 32 keys in flight
};
constexpr From<RunsTuning> kRunsTunings[] = {{80,
                                              {// Derived: 32,768 keys per block, as marks of masks.
                                               .threads = 256,
                                               .rows = 4,
                                               .loads = 8}}};
constexpr RunsTuning kRuns = chosen<kRunsTunings>();

// ----------------------------------------------------------------------------------------------------------------- groups

/// A block's tables of few groups. Each of its warps has sums of its own.
struct FewSize {
  int slots;       ///< a power of two
  int most;        ///< keys of a block's rows, at most
  int warps;       ///< of a block
  int vote_words;  ///< of a warp
};
struct FewOrder {
  static constexpr bool kDeterminesFloatBits = true;
  FewSize sizes[2];         ///< the first that holds the keys is taken
  int lane_rows;            ///< rows of a lane at a time
  std::int64_t blocks;      ///< at most, where their rows can be counted in 32 bits
  std::int64_t least_rows;  ///< of a block
};
// H100, 10^8 rows: 100 groups 0.67 ms, 500 groups 1.17, 1,000 groups 1.70; sums of 1,280 groups by slots and four warps
// 5.4. The first size leaves shared memory for more warps, the second takes more keys. So many slots keep a key where
// its hash says. A block's tables of 8,192 rows cost less than its rows. As many blocks as an H100 or H200 holds
// at a time, one on each of 132 multiprocessors; a GPU with fewer runs the others after them.
constexpr FewOrder kFewOrder{.sizes = {{.slots = 2048, .most = 512, .warps = 24, .vote_words = 128},
                                       {.slots = 4096, .most = 1280, .warps = 16, .vote_words = 64}},
                             .lane_rows = 4,
                             .blocks = 132,
                             .least_rows = 8192};

/// Rows that are numbered by their groups, and summed by the first bits of the numbers.
struct PartitionsOrder {
  static constexpr bool kDeterminesFloatBits = true;
  int most_local;          ///< bits of a number within its partition: sums of a block in shared memory
  int pass_bits;           ///< of the sort by the other bits
  std::int64_t tile_rows;  ///< of a partition, done by a block
};
// H100, 10^5 groups of 10^8 rows: three passes of the sort and a fold as lists 7.1 ms, one pass and sums in shared
// memory 6.1.
constexpr PartitionsOrder kPartitionsOrder{.most_local = 10, .pass_bits = 8, .tile_rows = 32'768};

struct GroupsTuning {
  int threads;                 ///< of a block
  int shared_slots;            ///< of a block's table in shared memory
  int shared_probes;           ///< how far a key may be from where its hash says
  int shared_blocks;           ///< with such tables, per multiprocessor
  std::int64_t block_rows;     ///< of a partition that a block folds in such a table
  int most_probes;             ///< in a table of all keys, before it is made larger
  std::int64_t cached;         ///< groups up to which a table has three empty slots for each
  int registers;               ///< of the sketch that estimates how many groups there are
  std::int64_t sketch_rows;    ///< of fewer rows no sketch is made
  std::int64_t least_rows;     ///< of fewer rows tables in shared memory are not tried
  std::int64_t least_asked;    ///< of fewer rows it is not asked how much memory is free
  std::int64_t most_numbered;  ///< groups: more are sorted
};
constexpr From<GroupsTuning> kGroupsTunings[] = {
    {80,
     {.threads = 256,
      // Not measured.
      .shared_slots = 1024,
      // H100: who has looked sixteen times asks whether the block has stopped; looking for a place took 1.6 ms before,
      // and 0.03 since.
      .shared_probes = 16,
      // Derived: as many as have space for their tables; a few more cost nothing.
      .shared_blocks = 8,
      // Derived: if all keys differ, half of the rows have a slot in the table.
      .block_rows = 2048,
      // Derived: at the loads that tables have, a key is found within a few dozen.
      .most_probes = 512,
      // Derived: 2^18 groups with four slots of 16 bytes are 16 MB, which the L2 cache of an H100 holds.
      .cached = 1 << 18,
      // 4,096 registers estimate within 1.6 %.
      .registers = 4096,
      // A table for all of so few costs less than the sketch.
      .sketch_rows = 1 << 16,
      // Fewer rows are done before tables in shared memory are.
      .least_rows = 1 << 16,
      // To ask takes some 10 us.
      .least_asked = std::int64_t{1} << 24,
      // Slots for more, which may be made anew, have no numbers of 32 bits.
      .most_numbered = std::int64_t{1} << 29}}};
constexpr GroupsTuning kGroups = chosen<kGroupsTunings>();

}  // namespace upsweep::gpu::tuning
