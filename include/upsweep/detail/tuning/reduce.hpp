// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/tuning/reduce.hpp: reductions in one kernel.
#pragma once

#include "upsweep/detail/tuning/capability.hpp"

namespace upsweep::gpu::tuning {

struct ReduceOrder {
  static constexpr bool kDeterminesFloatBits = true;
  int threads;  ///< per block
  int blocks;   ///< maximum; each of their warps folds a work unit
  int rows;     ///< of 16 bytes per lane, which are in flight at a time
};
// An H200 runs this number of blocks at a time, 8 on each of 132 multiprocessors. H200: 10^8 int64 4.42 TB/s, 2^28
// double 478 us (CUB 480); four blocks with eight rows are within 1 %. A GPU with more multiprocessors has the same
// number of blocks.
constexpr ReduceOrder kReduceOrder{.threads = 256, .blocks = 8 * 132, .rows = 4};

struct ReduceTuning {
  int resident;  ///< blocks of a multiprocessor that the compiler must allow
};
constexpr From<ReduceTuning> kReduceTunings[] = {
    {80,
     {// H200, 2^28 double: 32 registers, all blocks resident, 478 us. Without the limit 42 registers, five blocks
      // resident, 582 us.
      .resident = 8}}};
constexpr ReduceTuning kReduce = chosen<kReduceTunings>();

}  // namespace upsweep::gpu::tuning
