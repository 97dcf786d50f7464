// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/tuning/segmented_sort.hpp: sorts of lists. The result of a sort does not depend on these values.
#pragma once

#include "upsweep/detail/tuning/capability.hpp"

namespace upsweep::gpu::tuning {

struct SortTuning {
  int items;             ///< per thread
  int run;               ///< elements of a block's tile; longer lists are sorted in runs of this length
  int nominal_tile;      ///< elements of the tiles that lists are assigned to by their beginning
  int small_threads;     ///< of a block that sorts such a tile
  int resident_runs;     ///< blocks of a multiprocessor that sort or merge runs
  int resident_tiles;    ///< that sort tiles
  int resident_wide;     ///< that sort tiles of 8 bytes
  int blocks;            ///< of the grid that sorts and merges runs, per multiprocessor
  int per_list_threads;  ///< of a block whose threads process a list each
};
constexpr From<SortTuning> kSortTunings[] = {
    {80,
     {// Derived: eight elements of 8 bytes are 16 registers, and their merge needs 16 more.
      .items = 8,
      // Derived: 512 threads. Two such blocks, with their orders of 2 bytes, fit 227 KB.
      .run = 4096,
      // Derived: 128 elements less than the 2,048 of 256 threads, so that the last list of a tile usually also fits.
      .nominal_tile = 1920,
      .small_threads = 256,
      .resident_runs = 2,
      // Derived: 40 registers per thread, and 64 for elements of 8 bytes.
      .resident_tiles = 6,
      .resident_wide = 4,
      // Derived: twice the resident number, so that blocks with short lists take other lists.
      .blocks = 4,
      .per_list_threads = 256}}};
constexpr SortTuning kSort = chosen<kSortTunings>();

}  // namespace upsweep::gpu::tuning
