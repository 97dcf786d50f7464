// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/tuning/shards.hpp: arrays across the GPUs of a host.
#pragma once

#include "upsweep/detail/tuning/capability.hpp"

namespace upsweep::gpu::tuning {

struct ShardsOrder {
  static constexpr bool kDeterminesFloatBits = true;
  int group_warps;  ///< per block: each warp folds one group of tiles, and all warps fold the elements of the last tile
};
// Derived: a launch for 2^29 float64 has 164 blocks of eight warps. Other values were not measured.
constexpr ShardsOrder kShardsOrder{.group_warps = 8};

struct ShardsTuning {
  int chain_warps;   ///< of the block that folds groups in order: one warp folds, the other warps load the next groups
  int most_groups;   ///< maximum number of groups that a block loads at a time
  int group_bytes;   ///< maximum number of bytes of these groups
  int most_shards;   ///< maximum number of shards whose groups a launch folds
  int look_threads;  ///< of the block that searches for an element that is not null
};
constexpr From<ShardsTuning> kShardsTunings[] = {
    {90,
     {.chain_warps = 32,
      // Two H200: a load from the other device's memory takes 2 us, so a block loads a large number of groups at a
      // time. 2^29 float64 took 3.200 ms when a warp waited eleven times, once per load. They take 3.149 ms with all
      // loads of a warp in flight at the same time.
      .most_groups = 320,
      .group_bytes = 80 * 1024,
      // Derived: the warp that finds the groups uses one lane per shard.
      .most_shards = 32,
      .look_threads = 256}}};
constexpr ShardsTuning kShards = chosen<kShardsTunings>();

}  // namespace upsweep::gpu::tuning
