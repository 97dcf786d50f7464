// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/tuning/shards.hpp: arrays across the GPUs of a host.
#pragma once

#include "upsweep/detail/tuning/capability.hpp"

namespace upsweep::gpu::tuning {

struct ShardsOrder {
  static constexpr bool kDeterminesFloatBits = true;
  int group_warps;  ///< of a block that folds groups of tiles, one each; together they fold the elements of the last tile
};
// Derived: eight warps; a launch for 2^29 float64 has 164 blocks of them. Other values were not measured.
constexpr ShardsOrder kShardsOrder{.group_warps = 8};

struct ShardsTuning {
  int chain_warps;   ///< of the block that folds groups in order: one folds while the others load the next ones
  int most_groups;   ///< that are loaded at a time,
  int group_bytes;   ///< in so many bytes
  int most_shards;   ///< whose groups a launch folds
  int look_threads;  ///< of the block that looks for an element that is not null
};
constexpr From<ShardsTuning> kShardsTunings[] = {
    {90,
     {.chain_warps = 32,
      // Two H200: another device's memory takes 2 us to answer, so that many groups are loaded at a time. All values of
      // a warp in flight, in place of eleven waits one after the other, took 2^29 float64 from 3.200 to 3.149 ms.
      .most_groups = 320,
      .group_bytes = 80 * 1024,
      // Derived: a lane each of the warp that finds them.
      .most_shards = 32,
      .look_threads = 256}}};
constexpr ShardsTuning kShards = chosen<kShardsTunings>();

}  // namespace upsweep::gpu::tuning
