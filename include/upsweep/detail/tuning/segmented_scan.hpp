// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/tuning/segmented_scan.hpp: scans of lists.
#pragma once

#include "upsweep/detail/tuning/capability.hpp"

namespace upsweep::gpu::tuning {

// ----------------------------------------------------------------------------------------- cuda.tiles, and lists alone

struct ListTilesOrder {
  static constexpr bool kDeterminesFloatBits = true;
  int threads;     ///< per block
  int items;       ///< per thread
  int wide_items;  ///< per thread, of 8 bytes
  int group;       ///< tiles whose folds a block scans
};
// Derived: 64 bytes per thread, 16 KB per tile, so that four blocks fit a multiprocessor. A group is a block with the
// maximum number of threads.
constexpr ListTilesOrder kListTilesOrder{.threads = 256, .items = 16, .wide_items = 8, .group = 1024};

struct ListTilesTuning {
  int resident;  ///< blocks of a multiprocessor that the compiler must allow
  int loads;     ///< per lane in flight, if a warp folds a tile
};
constexpr From<ListTilesTuning> kListTilesTunings[] = {
    {80,
     {// Derived: 64 registers for each of 1,024 threads; not measured.
      .resident = 4,
      .loads = 8}}};
constexpr ListTilesTuning kListTiles = chosen<kListTilesTunings>();

// ------------------------------------------------------------------------------------------------------ cuda.lookahead

struct ListLookaheadOrder {
  static constexpr bool kDeterminesFloatBits = true;
  int warps;  ///< that scan a tile
};
// H200, Poisson(3), 2^27 float64: ten warps 790 us, eight 857.
constexpr ListLookaheadOrder kListLookaheadOrder{.warps = 10};

struct ListLookaheadTuning {
  int loads_in_flight;
  int stores_in_flight;
};
constexpr From<ListLookaheadTuning> kListLookaheadTunings[] = {{90,
                                                                {// As in scan.hpp; not measured with lists.
                                                                 .loads_in_flight = 3,
                                                                 .stores_in_flight = 1}}};
constexpr ListLookaheadTuning kListLookahead = chosen<kListLookaheadTunings>();

// ---------------------------------------------------------------------------------- the pass that marks heads of lists

struct HeadsTuning {
  int threads;
  int lists;        ///< consecutive lists of a thread, most of which begin in the same word of heads
  int blocks;       ///< of a multiprocessor, for bounds of 4 bytes
  int wide_blocks;  ///< for bounds of 8 bytes
};
constexpr From<HeadsTuning> kHeadsTunings[] = {
    {80,
     {.threads = 256,
      // H200, 2^28 float32 in lists of Poisson(3): bits by atomics on memory 273 us; assembled in shared memory 177;
      // two words per thread without branches 141.
      .lists = 8,
      // The maximum that registers allow: with more blocks, the registers of eight bounds spill.
      .blocks = 5,
      .wide_blocks = 4}}};
constexpr HeadsTuning kHeads = chosen<kHeadsTunings>();

}  // namespace upsweep::gpu::tuning
