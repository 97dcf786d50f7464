// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/tuning/scan.hpp: scans by look-ahead, by look-back, and of short arrays.
#pragma once

#include <cstdint>

#include "upsweep/detail/tuning/capability.hpp"

namespace upsweep::gpu::tuning {

/// The tiles of a scan by look-ahead, and the order in which their aggregates are folded.
struct LookaheadOrder {
  static constexpr bool kDeterminesFloatBits = true;
  int warps;  ///< that scan a tile; the same number of other warps reduces it
  /// of 16 bytes per lane, if results are not wider than elements: odd, so that lanes use different banks
  int loads;
  int wide_loads;    ///< if results are up to twice as wide
  int shared_bytes;  ///< per block. Wide elements have fewer warps, so that min_stages tiles fit
  int min_stages;    ///< one tile each that is loaded, scanned and stored
  int group_tiles;   ///< tiles per group; groups of an array in shards are folded at the same time
};
// H200, 2^28 int32: tiles of 25 KB (ten warps, five loads); 20 KB are 0.5 % slower, 12 KB 7 %, 35 KB 1 to 5 %. A block
// of capability 9.0 has 227 KB of shared memory. Groups: two H200, 2^29 float64, 3.25 ms by rows from GPU to GPU, 3.15
// by groups.
constexpr LookaheadOrder kLookaheadOrder{
    .warps = 10, .loads = 5, .wide_loads = 3, .shared_bytes = 227 * 1024, .min_stages = 3, .group_tiles = 128};

struct LookaheadTuning {
  int max_stages;
  int loads_in_flight;   ///< bulk copies of tiles that a loader has started and that have not ended
  int stores_in_flight;  ///< bulk copies out, before the oldest must have ended
  int poll_tiles;        ///< aggregates that one poll reads: the number that registers hold
  int wide_poll_tiles;   ///< for values of more than 16 bytes
};
constexpr From<LookaheadTuning> kLookaheadTunings[] = {
    {90,
     {// Derived: eight tiles of 25 KB fit; only shorter ones reach the limit.
      .max_stages = 16,
      // H200: like the prototype, 0.974 of a copy (int32) and 0.977 (double) at 2^28. Offsets: see lists.hpp.
      .loads_in_flight = 3,
      .stores_in_flight = 1,
      // H200: one tree of shuffles for six rows of 32 takes hardly longer than one for a row. 8-byte operators in order
      // improved from 0.903–0.912 of a copy to 0.962–0.966. Larger values use 96, because registers spill with more.
      .poll_tiles = 192,
      .wide_poll_tiles = 96}}};
constexpr LookaheadTuning kLookahead = chosen<kLookaheadTunings>();

/// A scan held in the registers of one block or one cluster of blocks.
struct SmallScanOrder {
  static constexpr bool kDeterminesFloatBits = true;
  int least_threads;  ///< of the block, for arrays of at most one row of 16 bytes per thread
  int threads;        ///< of a block otherwise
  int rows;           ///< of 16 bytes per thread, if one is not enough
};
// H200: 4.7 us at 2^10 and 5.6 at 2^13, the same as cudaMemcpyAsync (4.9). A block has 16 warps, whose totals one warp
// scans in four steps; five steps were slower.
constexpr SmallScanOrder kSmallScanOrder{.least_threads = 256, .threads = 512, .rows = 4};

/// Floats of a scan by look-back differ from run to run, whatever these values are.
struct LookbackTuning {
  int threads;
  int resident;    ///< blocks of a multiprocessor that the compiler must allow: limits registers
  int item_bytes;  ///< per thread
  int most_items;  ///< per thread, for narrow elements
};
constexpr From<LookbackTuning> kLookbackTunings[] = {
    {80,
     {// H200, 2^28 int32, ms: 256 threads and 32 KB 0.91; 512 threads 1.05; 16 KB 1.03; 128 threads 0.94.
      .threads = 256,
      // 64 registers instead of 80: 0.91 to 0.87 ms.
      .resident = 4,
      .item_bytes = 128,
      .most_items = 32}}};
constexpr LookbackTuning kLookback = chosen<kLookbackTunings>();

}  // namespace upsweep::gpu::tuning
