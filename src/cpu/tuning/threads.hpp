// SPDX-License-Identifier: Apache-2.0
// cpu/tuning/threads.hpp: how long a thread polls, spins or yields before it sleeps.
#pragma once

#include <cstdint>

namespace upsweep::cpu::tuning {

struct ThreadsTuning {
  int idle_seconds;  ///< after which a thread of the pool ends
  int polls;         ///< before a thread sleeps
  int yields;        ///< of a thread that waits for a thread without a core, before it sleeps
  int spins;         ///< of a thread that waits for a neighbor in step, before it yields
  int region_us;     ///< that a region waits for threads that were asked to join
};
constexpr ThreadsTuning kThreads{
    // Not measured.
    .idle_seconds = 1,
    // 20 to 60 us: about the time to sleep and wake.
    .polls = 1000,
    // Half a millisecond if no other thread wants the core.
    .yields = 1000,
    // About 2 us; not measured against other counts.
    .spins = 64,
    // The time to wake a thread. 1968 regions were measured on two cores of an EPYC (a virtual machine). The number of
    // regions that one thread executed without the other was 24 with 5 us, 26 with 10, 7 with 20, 5 with 50, 7 with 100
    // and 16 with 200 us. The times differed less than they do from run to run.
    .region_us = 50};

/// A scan with look-ahead.
struct LookaheadTuning {
  int ahead;                        ///< blocks that a worker folds before it scans
  std::uint64_t min_spin_cycles;    ///< before a worker folds a block instead of its owner
  std::uint64_t first_spin_cycles;  ///< the same, if nothing is known of the block that the worker waits for
};
constexpr LookaheadTuning kLookahead{
    // On 64 cores a block takes up to three times as long as another. With two blocks ahead, workers wait. Four gain
    // nothing.
    .ahead = 3,
    // The time in which one core of a Xeon reads a block from memory (16 GB/s). At first it is ten times longer,
    // because other workers may only be starting. Not measured against other values.
    .min_spin_cycles = 20'000,
    .first_spin_cycles = 200'000};

}  // namespace upsweep::cpu::tuning
