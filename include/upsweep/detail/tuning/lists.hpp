// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/tuning/lists.hpp: offsets, and what problems of lists share. Nothing here adds up floats.
#pragma once

#include <cstdint>

#include "upsweep/detail/tuning/capability.hpp"

namespace upsweep::gpu::tuning {

// ---------------------------------------------------------------------------------------------------------------- offsets

/// cuda.lookahead of offsets, by the size of bounds.
struct OffsetsTuning {
  int warps;  ///< that scan a tile
  int loads_in_flight;
  int stores_in_flight;
};
constexpr From<OffsetsTuning> kOffsetsTunings[] = {
    {90,
     {// H200, 10^8 lists of int32 bounds, results over both arrays, us: 8 warps 391, 5 422, 10 405–408.
      .warps = 8,
      .loads_in_flight = 3,
      .stores_in_flight = 1}}};
constexpr OffsetsTuning kOffsets = chosen<kOffsetsTunings>();
constexpr From<OffsetsTuning> kWideOffsetsTunings[] = {
    {90,
     {// H200, 10^8 lists of int64 bounds, us: 6 warps (7 stages) 566–568, 7 574, 5 594, 8 646, 10 741.
      .warps = 6,
      // Three 570; two stores 589.
      .loads_in_flight = 2,
      .stores_in_flight = 1}}};
constexpr OffsetsTuning kWideOffsets = chosen<kWideOffsetsTunings>();

/// Offsets of adjacent lists: a thread has 16 bytes of bounds.
struct AdjacentTuning {
  int threads;
};
constexpr From<AdjacentTuning> kAdjacentTunings[] = {
    {80,
     {// H200, 16 bytes per list, us: 256 threads and one load each 387; 512 threads and four loads 476.
      .threads = 256}}};
constexpr AdjacentTuning kAdjacent = chosen<kAdjacentTunings>();

// ----------------------------------------------------------------------------------------------------------------- checks

/// Kernels that go through lists in strides of their grid.
struct StridesTuning {
  int threads;
  int blocks;  ///< of a multiprocessor, at most
};
constexpr From<StridesTuning> kStridesTunings[] = {
    {80,
     {// Derived: 8 blocks of 256 threads are the 2048 that a multiprocessor of capability 8.0 or 9.0 holds.
      .threads = 256,
      .blocks = 8}}};
constexpr StridesTuning kStrides = chosen<kStridesTunings>();

// ------------------------------------------------------------------------------------------------- lists that are moved

struct MovedTuning {
  int chunk_threads;   ///< of a block that measures lists
  int chunk_rows;      ///< lists of each of its threads
  int chunk_loads;     ///< of these in flight
  int total_threads;   ///< of the one block that scans the chunks' totals
  int total_items;     ///< of each of its threads at a time
  int tile_threads;    ///< of a block that writes a tile of the result
  int tile_items;      ///< elements of each of its threads
  int searched_tiles;  ///< where more lists touch a tile than so many tiles have elements, elements search for theirs
  int tile_loads;      ///< lists of a thread whose bounds are loaded at a time
  int first_threads;   ///< of a block that finds the first list of each tile
  std::int64_t most_blocks;  ///< of a launch
};
constexpr From<MovedTuning> kMovedTunings[] = {
    {80,
     {// Derived: a block of 4,096 lists leaves 25,000 totals of 10^8 lists, which one block scans in six steps.
      .chunk_threads = 256,
      .chunk_rows = 16,
      // Derived: loads come before the stores that may change what they read.
      .chunk_loads = 4,
      .total_threads = 1024,
      .total_items = 4,
      // Not measured: tiles of 1,024 elements, small enough that blocks are many and end together.
      .tile_threads = 128,
      .tile_items = 8,
      .searched_tiles = 4,
      .tile_loads = 4,
      .first_threads = 128,
      // Below the 2^31 - 1 blocks that a grid may have.
      .most_blocks = std::int64_t{1} << 30}}};
constexpr MovedTuning kMoved = chosen<kMovedTunings>();

// --------------------------------------------------------------------------------------------------------- the merge path

struct PathTuning {
  int threads;
  int find_threads;      ///< of a block that finds where work units begin
  int list_loads;        ///< lists of a thread whose bounds are loaded at a time
  int element_loads;     ///< elements of a thread at a time
  int elements_of_1;     ///< of a work unit, by the bytes of an element: of 1 or 2
  int elements_of_4;     ///< of 4
  int elements_of_8;     ///< of 8 and more
  int tuples;            ///< of a work unit of combinations
  int binomial_threads;  ///< of a block that makes the table of binomials, or stores what a launch carries
};
constexpr From<PathTuning> kPathTunings[] = {
    {80,
     {.threads = 256,
      .find_threads = 128,
      // Not measured: loads that do not wait for each other.
      .list_loads = 2,
      .element_loads = 4,
      // Derived: a word of heads for each thread, 8,192 elements at most, and 16 KB of wider ones.
      .elements_of_1 = 8192,
      .elements_of_4 = 4096,
      .elements_of_8 = 2048,
      .tuples = 2048,
      .binomial_threads = 256}}};
constexpr PathTuning kPath = chosen<kPathTunings>();

}  // namespace upsweep::gpu::tuning
