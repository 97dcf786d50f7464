// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/tuning/teaching.hpp: rungs that show an idea, and run only if they are named.
#pragma once

#include <cstdint>

#include "upsweep/detail/tuning/capability.hpp"

namespace upsweep::gpu::tuning {

struct TeachingOrder {
  static constexpr bool kDeterminesFloatBits = true;
  int scan_tile;               ///< elements of a block that scans by rounds or shuffles, one per thread
  int blelloch_threads;        ///< of a block that sweeps a tree of two elements per thread
  int reduce_warps;            ///< per block of cuda.shuffle
  std::int64_t reduce_blocks;  ///< maximum
  int list_threads;            ///< of a block that reduces a list
};
// The maximum number of threads of a block, so that a tile is as long as possible. With half of them, Blelloch's tree
// and its padding fit 48 KB for elements of 32 bytes. 1,024 blocks of 8 warps: one block folds their totals, one per
// thread. The purpose of these rungs is not speed.
constexpr TeachingOrder kTeachingOrder{
    .scan_tile = 1024, .blelloch_threads = 512, .reduce_warps = 8, .reduce_blocks = 1024, .list_threads = 256};

struct TeachingTuning {
  int threads;       ///< of a block whose threads process an element, a list, a word or a share each
  int turn_threads;  ///< of the one block whose threads take turns
  int list_warps;    ///< of a block whose warps process a list each
};
constexpr From<TeachingTuning> kTeachingTunings[] = {
    {80,
     {// Derived: 8 blocks of 256 threads fill a multiprocessor of 2048.
      .threads = 256,
      // The maximum number of threads of a block, as in the sources.
      .turn_threads = 1024,
      .list_warps = 8}}};
constexpr TeachingTuning kTeaching = chosen<kTeachingTunings>();

}  // namespace upsweep::gpu::tuning
