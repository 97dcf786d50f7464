// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/tuning/subset_sum.hpp: subset sums. They are integers.
#pragma once

#include <cstdint>

#include "upsweep/detail/tuning/capability.hpp"

namespace upsweep::gpu::tuning {

/// cuda.bits_fused.
struct BitsFusedTuning {
  int threads;
  int resident;               ///< blocks of a multiprocessor that the compiler must allow
  int group;                  ///< neighboring tiles that a block takes in a row
  int items_per_pass;         ///< maximum
  std::int64_t most_threads;  ///< per launch: more than any device holds
};
constexpr From<BitsFusedTuning> kBitsFusedTunings[] = {
    {80,
     {// H200, a thousand items, S = 10^9, even, random, ms: two blocks of 512 27.9, 1.88; four of 256 28.1, 2.08; one
      // of 1,024 28.1, 1.89; three of 384 27.6, 1.96; one of 768 29.9, 2.22. The seven loads of a tile are in flight in
      // 64 registers.
      .threads = 512,
      .resident = 2,
      // H200: two are equally fast; with eight and more, few blocks get the few tiles at the ends of a full bitmap.
      .group = 4,
      // H200: three items per pass 32.9 ms, two 29.6.
      .items_per_pass = 2,
      .most_threads = 1 << 19}}};
constexpr BitsFusedTuning kBitsFused = chosen<kBitsFusedTunings>();

/// cuda.slices.
struct SlicesTuning {
  int first_items;           ///< whose subsets are the threads of a block
  std::int64_t most_words;   ///< maximum per tile
  std::int64_t least_words;  ///< minimum per tile, so that a small bitmap still has several blocks
};
constexpr From<SlicesTuning> kSlicesTunings[] = {
    {80,
     {// H200: 1,024 threads and 24 KB, in addition to 16 KB of sums, so that two blocks fill a multiprocessor with
      // threads. 512 threads and 12 KB are equally fast for ten items, slower for twenty.
      .first_items = 10,
      .most_words = 3072,
      .least_words = 64}}};
constexpr SlicesTuning kSlices = chosen<kSlicesTunings>();

/// cuda.two_list.
struct TwoListTuning {
  int threads;
  int sums;  ///< per thread of a merge: odd, so that threads that write a run each to shared memory use different banks
  int seed_items;  ///< of a half whose sums one block computes
  int seed_threads;
};
constexpr From<TwoListTuning> kTwoListTunings[] = {
    {80,
     {// H200, 60 items, ms: 5, 7, 9 and 15 sums 40.7, 37.6, 39.5, 41.5. Blocks of 512 threads with 7: 36.4, but small
      // instances are slower.
      .threads = 256,
      .sums = 7,
      // Derived: two lists of 16 KB in shared memory, and twenty launches less.
      .seed_items = 11,
      .seed_threads = 1024}}};
constexpr TwoListTuning kTwoList = chosen<kTwoListTunings>();

/// The expected seconds of strategies. The host chooses a strategy by them. It asks the device for its capability.
struct SubsetDeviceCosts {
  double start;
  double per_bit;           ///< per bit of the bitmap and item: cuda.bits_fused
  double per_byte_fetched;  ///< per byte of the bitmap, copied to the host
  double per_listed;        ///< per sum of a half: cuda.two_list
};
constexpr From<SubsetDeviceCosts> kSubsetDeviceCosts[] = {
    {80,
     {// H200: a few launches, and the wait for them.
      .start = 20e-6,
      // H200, a thousand items, S = 10^9: 3.6·10^13 sums per second.
      .per_bit = 1.0 / 3.6e13,
      // H200, to pageable memory: 10 GB/s.
      .per_byte_fetched = 0.1e-9,
      // H200: 60 items, 2^30 sums of a half, take 38 ms.
      .per_listed = 0.036e-9}}};

}  // namespace upsweep::gpu::tuning
