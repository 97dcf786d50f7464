// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/tuning/segmented_reduce.hpp: reductions of lists.
#pragma once

#include <cstdint>

#include "upsweep/detail/tuning/capability.hpp"

namespace upsweep::gpu::tuning {

// ------------------------------------------------------------------------------------------------------------- cuda.lanes

/// Which lanes fold a list, and in which order. Both depend on its length alone.
struct LanesOrder {
  static constexpr bool kDeterminesFloatBits = true;
  std::int64_t lane_list;   ///< lists of up to so many elements are folded by a lane
  std::int64_t group_list;  ///< by eight lanes
  std::int64_t warp_list;   ///< by a warp; longer ones by blocks
  std::int64_t list_tile;   ///< elements of a long list that a block folds
  int threads;              ///< of a block
  int loads;                ///< of a lane in flight
  int warp_loads;           ///< where a warp or a block folds a list, and the operator commutes
};
// Each step is the length from which eight times as many lanes have an element each. 16,384 elements are 64 of a
// thread: eight rounds of eight loads. 256 threads leave eight blocks to a multiprocessor. Other values were not
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

// ---------------------------------------------------------------------------------------------------------- cuda.pipeline

/// How lists are split into shares, and shares into tiles.
struct PipelineOrder {
  static constexpr bool kDeterminesFloatBits = true;
  int consumers;            ///< warps that fold a tile
  int stage_bytes;          ///< of shared memory: what a tile fits in
  int most_share_bits;      ///< a share is a power of two of bytes, about a thousandth of the work, between these;
  int least_share_bits;     ///< in the last eighth of the work a quarter of it, so that blocks end together
  std::int64_t snap_bytes;  ///< lists of up to so many bytes lie in one share
  int most_unit;            ///< tiles begin at multiples of at most so many lists, of twice as many tiny ones
  std::int64_t tiny_bytes;  ///< of a tiny list
};
// H200, sums of 2^28 float32 in lists of 3, Poisson(3), 8, 32, 300, 1,000, us: eleven consumers 529, 563, 365, 306,
// 264, 257; ten 519, 554, 354, 290, 259, 255; eight 524, 601, 354, 288, 256, 248; twelve in 64 registers 530, 565, 363,
// 296, 265, 259. Stages: five of 14 KB made no difference. Shares: bulk copies alone run at the full rate from 92 KB
// on, at 0.92 of it in shares of a tile; 32 KB for small calls took 2^20 elements from 24–30 us to 14–18.
constexpr PipelineOrder kPipelineOrder{.consumers = 11,
                                       .stage_bytes = 26 * 1024,
                                       .most_share_bits = 18,
                                       .least_share_bits = 15,
                                       .snap_bytes = 4096,
                                       .most_unit = 128,
                                       .tiny_bytes = 12};

struct PipelineTuning {
  int blocks;      ///< of a multiprocessor
  int stages;      ///< of shared memory
  int head_bytes;  ///< of shared memory in front of the stages
};
constexpr From<PipelineTuning> kPipelineTunings[] = {
    {90,
     {// H200: 14 warps of two blocks have 72 registers each. With three blocks of fewer warps the loader's state
      // spills, and all wait for it: lists of 3 took 544 us, not 529.
      .blocks = 2,
      // Derived: four stages of 26 KB and 3 KB of barriers and tiles fill half of 227 KB.
      .stages = 4,
      .head_bytes = 3072}}};
constexpr PipelineTuning kPipeline = chosen<kPipelineTunings>();

// ------------------------------------------------------------------------------------------------------------ cuda.shares

struct SharesOrder {
  static constexpr bool kDeterminesFloatBits = true;
  std::int64_t items;  ///< elements and ends of a thread's share
};
// A share's search takes some 30 loads, which 128 items outweigh. Other values were not measured.
constexpr SharesOrder kSharesOrder{.items = 128};

}  // namespace upsweep::gpu::tuning
