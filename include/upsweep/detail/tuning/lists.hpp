// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/tuning/lists.hpp: offsets, and constants that problems of lists share. Nothing here adds floats.
#pragma once

#include <cstdint>

#include "upsweep/detail/tuning/capability.hpp"

namespace upsweep::gpu::tuning {

// ------------------------------------------------------------------------------------------------------------- offsets

/// cuda.lookahead of offsets, by the size of bounds.
struct OffsetsTuning {
  int warps;  ///< that scan a tile
  int loads_in_flight;
  int stores_in_flight;
};
constexpr From<OffsetsTuning> kOffsetsTunings[] = {
    {90,
     {// H200, 10^8 lists of int32 bounds, results stored over both arrays, us: 8 warps 391, 5 422, 10 405–408.
      .warps = 8,
      .loads_in_flight = 3,
      .stores_in_flight = 1}}};
constexpr OffsetsTuning kOffsets = chosen<kOffsetsTunings>();
constexpr From<OffsetsTuning> kWideOffsetsTunings[] = {
    {90,
     {// H200, 10^8 lists of int64 bounds, us: 6 warps (7 stages) 566–568, 7 574, 5 594, 8 646, 10 741.
      .warps = 6,
      // Three loads 570; two stores 589.
      .loads_in_flight = 2,
      .stores_in_flight = 1}}};
constexpr OffsetsTuning kWideOffsets = chosen<kWideOffsetsTunings>();

/// Offsets of adjacent lists. A thread processes 16 bytes of bounds.
struct AdjacentTuning {
  int threads;
};
constexpr From<AdjacentTuning> kAdjacentTunings[] = {
    {80,
     {// H200, 16 bytes per list, us: 256 threads and one load each 387; 512 threads and four loads 476.
      .threads = 256}}};
constexpr AdjacentTuning kAdjacent = chosen<kAdjacentTunings>();

// -------------------------------------------------------------------------------------------------------------- checks

/// Kernels that process lists in strides of their grid.
struct StridesTuning {
  int threads;
  int blocks;  ///< maximum per multiprocessor
};
constexpr From<StridesTuning> kStridesTunings[] = {
    {80,
     {// Derived: 8 blocks of 256 threads are the 2048 that a multiprocessor of capability 8.0 or 9.0 holds.
      .threads = 256,
      .blocks = 8}}};
constexpr StridesTuning kStrides = chosen<kStridesTunings>();

// ------------------------------------------------------------------------------------------------ lists that are moved

struct MovedTuning {
  int chunk_threads;   ///< of a block that measures lists
  int chunk_rows;      ///< lists per thread of such a block
  int chunk_loads;     ///< lists of these in flight
  int total_threads;   ///< of the one block that scans the chunks' totals
  int total_items;     ///< totals per thread of that block at a time
  int tile_threads;    ///< of a block that writes a tile of the result
  int tile_items;      ///< elements per thread of such a block
  int searched_tiles;  ///< if a tile has more lists than this number of tiles has elements, elements search for theirs
  int tile_loads;      ///< lists of a thread whose bounds are loaded at a time
  int first_threads;   ///< of a block that finds the first list of each tile
  std::int64_t most_blocks;  ///< per launch
};
constexpr From<MovedTuning> kMovedTunings[] = {
    {80,
     {// Derived: with blocks of 4,096 lists, 10^8 lists have 25,000 totals, which one block scans in six steps.
      .chunk_threads = 256,
      .chunk_rows = 16,
      // Derived: loads precede the stores that may change what they read.
      .chunk_loads = 4,
      .total_threads = 1024,
      .total_items = 4,
      // Not measured: tiles of 1,024 elements, small enough that there are many blocks and they end together.
      .tile_threads = 128,
      .tile_items = 8,
      .searched_tiles = 4,
      .tile_loads = 4,
      .first_threads = 128,
      // Below the 2^31 - 1 blocks that a grid may have.
      .most_blocks = std::int64_t{1} << 30}}};
constexpr MovedTuning kMoved = chosen<kMovedTunings>();

// ------------------------------------------------------------------------------------------------------ the merge path

struct PathTuning {
  int threads;
  int find_threads;      ///< of a block that finds the beginnings of work units
  int list_loads;        ///< lists of a thread whose bounds are loaded at a time
  int element_loads;     ///< elements of a thread at a time
  int elements_of_1;     ///< per work unit, for elements of 1 or 2 bytes
  int elements_of_4;     ///< per work unit, for elements of 4 bytes
  int elements_of_8;     ///< per work unit, for elements of 8 and more bytes
  int tuples;            ///< per work unit of combinations
  int binomial_threads;  ///< of a block that computes the table of binomials, or stores the arguments of a launch
};
constexpr From<PathTuning> kPathTunings[] = {
    {80,
     {.threads = 256,
      .find_threads = 128,
      // Not measured: the number of loads that do not wait for each other.
      .list_loads = 2,
      .element_loads = 4,
      // Derived: one word of heads per thread, so at most 8,192 elements, and 16 KB of wider elements.
      .elements_of_1 = 8192,
      .elements_of_4 = 4096,
      .elements_of_8 = 2048,
      .tuples = 2048,
      .binomial_threads = 256}}};
constexpr PathTuning kPath = chosen<kPathTunings>();

}  // namespace upsweep::gpu::tuning
