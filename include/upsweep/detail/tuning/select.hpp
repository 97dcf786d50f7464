// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/tuning/select.hpp: masks as bits with ranks, and the problems select and partition, which use them.
#pragma once

#include "upsweep/detail/tuning/capability.hpp"

namespace upsweep::gpu::tuning {

struct MarksTuning {
  int threads;  ///< of a block that converts a mask to bits
  int rows;     ///< words per thread
};
constexpr From<MarksTuning> kMarksTunings[] = {
    {80,
     {// Derived: 32,768 booleans per block, so that one block scans the totals of 2^30 booleans in eight steps.
      .threads = 256,
      .rows = 4}}};
constexpr MarksTuning kMarks = chosen<kMarksTunings>();

struct SelectTuning {
  int threads;         ///< of a block that moves a tile's kept elements
  int rows;            ///< words per warp of such a block
  int few;             ///< if less than 1/few of a tile is kept, its elements are stored without staging
  int offset_threads;  ///< of a block that finds the ranks of bounds
  int offset_items;    ///< bounds per thread of such a block
  int list_threads;    ///< of a block whose threads, warps or all threads together process a list each
};
constexpr From<SelectTuning> kSelectTunings[] = {
    {80,
     {// Derived: 2,048 elements, 16 KB of doubles, so that eight blocks have their staged elements in shared memory.
      .threads = 256,
      .rows = 8,
      // Derived: if every eighth element is kept, each store is a separate sector anyway.
      .few = 8,
      .offset_threads = 256,
      .offset_items = 4,
      .list_threads = 256}}};
constexpr SelectTuning kSelect = chosen<kSelectTunings>();

struct PartitionTuning {
  int threads;
  int rows;  ///< words per warp
};
constexpr From<PartitionTuning> kPartitionTunings[] = {{80,
                                                        {// As for select.
                                                         .threads = 256,
                                                         .rows = 8}}};
constexpr PartitionTuning kPartition = chosen<kPartitionTunings>();

}  // namespace upsweep::gpu::tuning
