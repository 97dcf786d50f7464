// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/tuning/filtered_sum.hpp: filtered sums. They are exact, so no value here determines bits.
#pragma once

#include "upsweep/detail/tuning/capability.hpp"

namespace upsweep::gpu::tuning {

/// cuda.fused.
struct FusedTuning {
  int threads;
  int resident;  ///< blocks of a multiprocessor that the compiler must allow
  int loads;     ///< loads of 16 bytes of keys per lane and tile; twice this number is in flight
  int many;      ///< minimum kept rows of 128 for which these are read in order
  int queue;     ///< maximum number of rows that a warp keeps waiting
};
constexpr From<FusedTuning> kFusedTunings[] = {
    {80,
     {// H200, Z = 30, in cache, in turn, us by events: 384 threads, 2 blocks, 4 loads 11.6, 14.2; 512, 2, 2 11.9, 14.6;
      // 256, 4, 2 13.1, 15.6. More threads spill registers, and few large blocks leave few sums. In 80 registers at
      // most 96 KB of keys are in flight. 40 KB hide the memory latency (35 KB per us and multiprocessor, about 1 us).
      .threads = 384,
      .resident = 2,
      .loads = 4,
      // Derived: then half of the sectors, of four rows, contain a kept row.
      .many = 20,
      // Derived: 31 waiting rows and fewer than `many` new ones.
      .queue = 64}}};
constexpr FusedTuning kFused = chosen<kFusedTunings>();

/// cuda.shuffle.
struct ShuffledSumTuning {
  int resident;
  int keys;  ///< in flight per thread
};
constexpr From<ShuffledSumTuning> kShuffledSumTunings[] = {
    {80,
     {// Derived: 8 blocks of 256 threads are the 2048 of a multiprocessor, with 32 registers each, which is enough
      // for four keys.
      .resident = 8,
      .keys = 4}}};
constexpr ShuffledSumTuning kShuffledSum = chosen<kShuffledSumTunings>();

}  // namespace upsweep::gpu::tuning
