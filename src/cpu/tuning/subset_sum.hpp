// SPDX-License-Identifier: Apache-2.0
// cpu/tuning/subset_sum.hpp: subset sums: the work that is worth a thread, and costs of strategies. Sums are integers.
#pragma once

#include <cstdint>

namespace upsweep::cpu::tuning {

/// The minimum work for which a thread is worth its start.
struct SubsetWork {
  std::int64_t column_rows;   ///< of a column of bytes
  std::int64_t bitmap_words;  ///< of a bitmap
  std::int64_t merged_sums;
  std::int64_t matched_pairs;
};
constexpr SubsetWork kSubsetWork{// 10 us. One column follows another, so that threads still poll.
                                 .column_rows = 1 << 17,
                                 // 512 KB, 20 us: about the time to wake a thread.
                                 .bitmap_words = 1 << 16,
                                 // 64 KB, 10 us. One merge follows another, so that threads still poll.
                                 .merged_sums = 1 << 13,
                                 // 50 us, at least the time to wake a thread.
                                 .matched_pairs = 1 << 13};

/// Items that process a bitmap one behind the other. These values determine where a search ends, and so which items it
/// finds.
struct WavefrontTuning {
  std::int64_t block_words;      ///< that an item processes before the next item does
  std::int64_t work_unit_tiles;  ///< minimum, of open words of a work unit
  std::int64_t least_work;       ///< minimum words times items of a pass on several threads
  std::int64_t most_items;       ///< maximum per pass
  std::int64_t pass_share;       ///< items join a pass while its halos are at most 1/pass_share of its work
  std::int64_t least_halves;     ///< the same limit for one item
  std::int64_t reach_words;      ///< maximum distance between items of a pass
  std::int64_t most_passes;      ///< maximum per region
  std::int64_t most_work;        ///< maximum words times items of a region with several passes
};
constexpr WavefrontTuning kWavefront{
    // Xeon at 2.5 GHz: blocks of 8, 16, 64 and 128 KB 8.8 (a busy machine), 3.4, 2.6 and 2.7 ms per item.
    .block_words = 8192,
    // Derived: borders are rounded to a tile.
    .work_unit_tiles = 4,
    // With half of this the ten items of "Notes on GPU Programming with Julia" take 0.5 to 0.9 ms on two threads, 0.45
    // on one.
    .least_work = 1 << 18,
    // Derived: then a word's transfer to memory and back is a small fraction of the work on it.
    .most_items = 16,
    // Derived: a work unit's halo is computed twice, an eighth of the work of each of two threads.
    .pass_share = 16,
    // The transfer of a halo from the core that wrote it takes longer than the work on it. From this value on, one
    // thread is as fast as two.
    .least_halves = 2,
    // Items 0.25, 0.5, 1, 2, 4 and 8 MB apart: no difference beyond noise (2 MB of L2).
    .reach_words = 128 * 1024,
    // Derived: the beginning of a region costs at most a sixteenth of what it was.
    .most_passes = 16,
    // Derived: 0.1 s of one core, so that progress is reported soon.
    .most_work = std::int64_t{1} << 28};

/// The seconds of strategies on two threads, used for any number of threads: the same instance must have the same
/// answer on every machine.
struct SubsetCosts {
  double per_enumerated;     ///< per sum
  double per_listed;         ///< per sum of a half: merges of both lists, and the search
  double per_matched;        ///< per pair of quarters on one side
  double per_byte_in_cache;  ///< per item and byte of the bitmap that it processes
  double per_byte_of_bits;   ///< if the bitmap is in memory, and several items share a pass
  double per_byte_alone;     ///< for an item whose reach is too large for that
  double per_byte_of_table;  ///< per item and byte of a column
  double per_new_byte;       ///< of memory that the system must allocate
  double start;              ///< of a rung
  double start_with_memory;  ///< of a rung that allocates memory from the system
  double start_of_classes;   ///< of a rung that sorts by remainders
  double cached_bits;        ///< of a bitmap that is in the caches
  std::int64_t alone_from;   ///< the maximum reach of a pass
};
// Two cores of a Xeon at 2.5 GHz: 5.6 ns per pair of quarters. A bitmap of 125 MB in memory takes 2.6 ms per item if
// items share passes (a copy of the bitmap takes 5.6 to 8 ms). The other measurements are not on record.
constexpr SubsetCosts kSubsetCosts{.per_enumerated = 0.4e-9,
                                   .per_listed = 10e-9,
                                   .per_matched = 6e-9,
                                   .per_byte_in_cache = 14e-12,
                                   .per_byte_of_bits = 40e-12,
                                   .per_byte_alone = 120e-12,
                                   .per_byte_of_table = 0.3e-9,
                                   .per_new_byte = 0.2e-9,
                                   .start = 0.2e-6,
                                   .start_with_memory = 5e-6,
                                   .start_of_classes = 10e-6,
                                   .cached_bits = 16e6,
                                   .alone_from = std::int64_t{1} << 23};

}  // namespace upsweep::cpu::tuning
