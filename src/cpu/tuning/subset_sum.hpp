// SPDX-License-Identifier: Apache-2.0
// cpu/tuning/subset_sum.hpp: subset sums: what is worth a thread, and what strategies cost. Sums are integers.
#pragma once

#include <cstdint>

namespace upsweep::cpu::tuning {

/// Work that is worth a thread.
struct SubsetWork {
  std::int64_t column_rows;   ///< of a column of bytes
  std::int64_t bitmap_words;  ///< of a bitmap
  std::int64_t merged_sums;
  std::int64_t matched_pairs;
};
constexpr SubsetWork kSubsetWork{// 10 us. One column follows another, so that threads still poll.
                                 .column_rows = 1 << 17,
                                 // 512 KB, 20 us: about what waking a thread takes.
                                 .bitmap_words = 1 << 16,
                                 // 64 KB, 10 us. One merge follows another, so that threads still poll.
                                 .merged_sums = 1 << 13,
                                 // 50 us, no less than waking a thread takes.
                                 .matched_pairs = 1 << 13};

/// Items that go through a bitmap one behind the other. Where a search ends, and so which items it finds, depends on these.
struct WavefrontTuning {
  std::int64_t block_words;      ///< which an item goes through before the next one does
  std::int64_t work_unit_tiles;  ///< of open words of a work unit, at least
  std::int64_t least_work;       ///< words times items of a pass on several threads
  std::int64_t most_items;       ///< of a pass
  std::int64_t pass_share;       ///< further items join a pass while its halos are so small a fraction of its work
  std::int64_t least_halves;     ///< the same of one item
  std::int64_t reach_words;      ///< that items of a pass may lie apart
  std::int64_t most_passes;      ///< of a region
  std::int64_t most_work;        ///< words times items of a region with several passes
};
constexpr WavefrontTuning kWavefront{
    // Xeon at 2.5 GHz: blocks of 8, 16, 64 and 128 KB 8.8 (a busy machine), 3.4, 2.6 and 2.7 ms per item.
    .block_words = 8192,
    // Derived: borders are rounded to a tile.
    .work_unit_tiles = 4,
    // With half of this the ten items of "Notes on GPU Programming with Julia" take 0.5 to 0.9 ms on two threads, 0.45
    // on one.
    .least_work = 1 << 18,
    // Derived: then a word's way to memory and back is a small fraction of the work on it.
    .most_items = 16,
    // Derived: a work unit's halo is done twice, an eighth of what each of two threads does.
    .pass_share = 16,
    // To fetch a halo from the core that wrote it takes longer than the work on it; from here on one thread is as fast
    // as two.
    .least_halves = 2,
    // Items 0.25, 0.5, 1, 2, 4 and 8 MB apart: no difference beyond noise (2 MB of L2).
    .reach_words = 128 * 1024,
    // Derived: to begin a region is no more than a sixteenth of what it was.
    .most_passes = 16,
    // Derived: 0.1 s of one core, so that progress is reported soon.
    .most_work = std::int64_t{1} << 28};

/// Seconds of strategies on two threads, for any number of threads: the same instance must give the same answer on every
/// machine.
struct SubsetCosts {
  double per_enumerated;     ///< per sum
  double per_listed;         ///< per sum of a half: merges of both lists, and the search
  double per_matched;        ///< per pair of quarters on one side
  double per_byte_in_cache;  ///< per item and byte of the bitmap that it touches
  double per_byte_of_bits;   ///< where the bitmap is in memory, and several items share a pass
  double per_byte_alone;     ///< an item that reaches too far for that
  double per_byte_of_table;  ///< per item and byte of a column
  double per_new_byte;       ///< of memory that the system has to give
  double start;              ///< of a rung
  double start_with_memory;  ///< of one that asks the system for memory
  double start_of_classes;   ///< of one that sorts by remainders
  double cached_bits;        ///< of a bitmap that is in the caches
  std::int64_t alone_from;   ///< the reach of a pass
};
// Two cores of a Xeon at 2.5 GHz: 5.6 ns per pair of quarters; a bitmap in memory 2.6 ms per item of 125 MB where items
// share passes (a copy of it takes 5.6 to 8). The other measurements are not on record.
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
