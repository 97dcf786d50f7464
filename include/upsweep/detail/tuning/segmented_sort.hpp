// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/tuning/segmented_sort.hpp: sorts of lists. The result of a sort does not depend on these.
#pragma once

#include "upsweep/detail/tuning/capability.hpp"

namespace upsweep::gpu::tuning {

struct SortTuning {
  int items;             ///< of a thread
  int run;               ///< elements of a block's tile; longer lists are sorted in runs of so many
  int nominal_tile;      ///< elements of the tiles that lists are assigned to by where they begin
  int small_threads;     ///< of a block that sorts such a tile
  int resident_runs;     ///< blocks of a multiprocessor that sort or merge runs
  int resident_tiles;    ///< that sort tiles
  int resident_wide;     ///< that sort tiles of 8 bytes
  int blocks;            ///< of the grid that sorts and merges runs, per multiprocessor
  int per_list_threads;  ///< of a block whose threads have a list each
};
constexpr From<SortTuning> kSortTunings[] = {
    {80,
     {// Derived: eight elements of 8 bytes are 16 registers, and their merge as many again.
      .items = 8,
      // Derived: 512 threads, of which two blocks fit 227 KB beside their orders of 2 bytes.
      .run = 4096,
      // Derived: 128 elements less than the 2,048 of 256 threads, so that the last list of a tile mostly fits, too.
      .nominal_tile = 1920,
      .small_threads = 256,
      .resident_runs = 2,
      // Derived: 40 registers per thread, and 64 where elements have 8 bytes.
      .resident_tiles = 6,
      .resident_wide = 4,
      // Derived: twice what is resident, so that blocks whose lists are short take others.
      .blocks = 4,
      .per_list_threads = 256}}};
constexpr SortTuning kSort = chosen<kSortTunings>();

}  // namespace upsweep::gpu::tuning
