// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/tuning/pack.hpp: packing of lists, and conversions between representations of lists.
#pragma once

#include <cstdint>

#include "upsweep/detail/tuning/capability.hpp"

namespace upsweep::gpu::tuning {

struct PackTuning {
  int threads;                 ///< of a block that moves elements
  int run_loads;               ///< of 16 bytes per thread in flight, if elements are moved in runs
  int scattered_loads;         ///< of an element per thread in flight, for elements of up to 8 bytes
  int scattered_wide_loads;    ///< for elements of 16 bytes
  int unaligned_loads;         ///< for types whose alignment is smaller than their size
  int tile_results;            ///< results per tile
  int tile_rows;               ///< lists per thread; if more lists touch a tile, its elements search for theirs
  int tile_resident;           ///< blocks of a multiprocessor that move tiles
  std::int64_t long_bytes;     ///< if lists are long, a block moves long_bytes / (bytes of an element) tiles
  int most_results;            ///< of a block that takes lists by ticket; it leaves more results to another kernel
  int crowded_blocks;          ///< of that kernel, per multiprocessor
  std::int64_t few_elements;   ///< mean length below which most_rows lists are taken, if there are `many_lists`
  std::int64_t many_lists;     ///< minimum number of lists for that; otherwise least_rows lists are taken
  std::int64_t many_elements;  ///< minimum mean length of lists whose offsets come first, then tiles of results
  int most_rows;
  int least_rows;
  int list_blocks;         ///< of a multiprocessor that take lists by ticket
  int list_blocks_narrow;  ///< for elements below 8 bytes, if a block takes least_rows
  int look_back;           ///< windows of 32 blocks that look-back reads at a time
};
constexpr From<PackTuning> kPackTunings[] = {
    {80,
     {.threads = 256,
      // Derived: 32 KB per block in flight; 40 KB per multiprocessor hide the memory latency of an H200.
      .run_loads = 8,
      // The number that registers hold: twelve loads of 8 bytes are 24 registers.
      .scattered_loads = 12,
      .scattered_wide_loads = 6,
      .unaligned_loads = 4,
      // Not measured.
      .tile_results = 4096,
      .tile_rows = 8,
      .tile_resident = 4,
      // Derived: 64 KB per block; compared with that, the wait before its first load is short.
      .long_bytes = 16,
      // Derived: 4 KB of heads.
      .most_results = 32768,
      .crowded_blocks = 3,
      // From these lengths on, the other strategy was faster (H200; the times are not on record).
      .few_elements = 12,
      .many_lists = 1'000'000,
      .many_elements = 48,
      .most_rows = 8,
      .least_rows = 2,
      // With more blocks each has fewer registers. For elements of 4 bytes in no order, more blocks are faster.
      .list_blocks = 3,
      .list_blocks_narrow = 4,
      // With this little work, blocks arrive faster than a walk by 32 advances.
      .look_back = 2}}};
constexpr PackTuning kPack = chosen<kPackTunings>();

struct ConversionsTuning {
  int check_threads;    ///< of a block that checks offsets
  int flatten_threads;  ///< of a block that flattens offsets of two levels to one
  int list_threads;     ///< of a block whose threads, warps or all threads together process a list each
};
constexpr From<ConversionsTuning> kConversionsTunings[] = {{80,
                                                            {// Derived: 8 blocks of 256 threads fill a multiprocessor.
                                                             .check_threads = 256,
                                                             .flatten_threads = 256,
                                                             .list_threads = 256}}};
constexpr ConversionsTuning kConversions = chosen<kConversionsTunings>();

}  // namespace upsweep::gpu::tuning
