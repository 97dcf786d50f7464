// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/tuning/segmented_reduce.hpp: reductions of lists.
#pragma once

#include <cstdint>

#include "upsweep/detail/tuning/capability.hpp"

namespace upsweep::gpu::tuning {

// ---------------------------------------------------------------------------------------------------------- cuda.lanes

/// Which lanes fold a list, and in which order. Both depend only on its length.
struct LanesOrder {
  static constexpr bool kDeterminesFloatBits = true;
  std::int64_t lane_list;   ///< maximum length of lists that a lane folds
  std::int64_t group_list;  ///< maximum for eight lanes
  std::int64_t warp_list;   ///< maximum for a warp; blocks fold longer lists
  std::int64_t list_tile;   ///< elements of a long list that a block folds
  int threads;              ///< per block
  int loads;                ///< per lane in flight
  int warp_loads;           ///< if a warp or a block folds a list, and the operator commutes
};
// Each step is the length from which eight times the number of lanes have an element each. 16,384 elements are 64 per
// thread: eight rounds of eight loads. With 256 threads, a multiprocessor holds eight blocks. Other values were not
// measured.
constexpr LanesOrder kLanesOrder{.lane_list = 8,
                                 .group_list = 64,
                                 .warp_list = 2048,
                                 .list_tile = 16384,
                                 .threads = 256,
                                 .loads = 4,
                                 .warp_loads = 8};

struct LanesTuning {
  int blocks;  ///< of the kernel for long lists, on a multiprocessor
};
constexpr From<LanesTuning> kLanesTunings[] = {
    {80,
     {// Derived: 8 blocks of 256 threads are the 2048 that a multiprocessor of capability 8.0 or 9.0 holds.
      .blocks = 8}}};
constexpr LanesTuning kLanes = chosen<kLanesTunings>();

// ------------------------------------------------------------------------------------------------------- cuda.pipeline

/// How lists are split into shares, and shares into tiles.
struct PipelineOrder {
  static constexpr bool kDeterminesFloatBits = true;
  int consumers;            ///< warps that fold a tile
  int stage_bytes;          ///< of shared memory: the size limit of a tile
  int most_share_bits;      ///< a share is a power of two of bytes, about a thousandth of the work, between these;
  int least_share_bits;     ///< in the last eighth of the work a quarter of it, so that blocks end together
  std::int64_t snap_bytes;  ///< maximum size of lists that are always within one share
  int most_unit;            ///< maximum unit: tiles begin at multiples of it, in lists; for tiny lists it is doubled
  std::int64_t tiny_bytes;  ///< of a tiny list
};
// H200, sums of 2^28 float32, in us, for lists of 3, Poisson(3), 8, 32, 300 and 1,000 elements:
//   eleven consumers                  529, 563, 365, 306, 264, 257
//   ten consumers                     519, 554, 354, 290, 259, 255
//   eight consumers                   524, 601, 354, 288, 256, 248
//   twelve consumers in 64 registers  530, 565, 363, 296, 265, 259
// Stages: five stages of 14 KB had no effect. Shares: a kernel that only does bulk copies runs at the full read rate if
// shares are 92 KB or more, and at 0.92 of that rate if a share is one tile. Shares of 32 KB for small calls reduced
// the time for 2^20 elements from 24–30 us to 14–18 us.
constexpr PipelineOrder kPipelineOrder{.consumers = 11,
                                       .stage_bytes = 26 * 1024,
                                       .most_share_bits = 18,
                                       .least_share_bits = 15,
                                       .snap_bytes = 4096,
                                       .most_unit = 128,
                                       .tiny_bytes = 12};

struct PipelineTuning {
  int blocks;      ///< per multiprocessor
  int stages;      ///< of shared memory
  int head_bytes;  ///< of shared memory in front of the stages
};
constexpr From<PipelineTuning> kPipelineTunings[] = {
    {90,
     {// H200: two blocks of 14 warps have 72 registers per thread. With three blocks of fewer warps, the state of the
      // loader warp spills, and all other warps wait for the loader. Sums of lists of 3 take 544 us with three blocks
      // and 529 us with two.
      .blocks = 2,
      // Derived: four stages of 26 KB and 3 KB of barriers and tiles fill half of 227 KB.
      .stages = 4,
      .head_bytes = 3072}}};
constexpr PipelineTuning kPipeline = chosen<kPipelineTunings>();

// --------------------------------------------------------------------------------------------------------- cuda.shares

struct SharesOrder {
  static constexpr bool kDeterminesFloatBits = true;
  std::int64_t items;  ///< elements and ends of a thread's share
};
// A share's search takes about 30 loads, which is little compared with 128 items. Other values were not measured.
constexpr SharesOrder kSharesOrder{.items = 128};

}  // namespace upsweep::gpu::tuning
