// SPDX-License-Identifier: Apache-2.0
// cpu/tuning/threads.hpp: how long a thread polls, spins or yields before it sleeps.
#pragma once

#include <cstdint>

namespace upsweep::cpu::tuning {

struct ThreadsTuning {
  int idle_seconds;  ///< after which a thread of the pool ends
  int polls;         ///< before it sleeps
  int yields;        ///< of a thread that waits for one without a core, before it sleeps
  int spins;         ///< of a thread that waits for a neighbor in step, before it yields
  int region_us;     ///< that a region waits for threads which were asked to join
};
constexpr ThreadsTuning kThreads{
    // Not measured.
    .idle_seconds = 1,
    // 20 to 60 us: about what it takes to sleep and be woken.
    .polls = 1000,
    // Half a millisecond where nobody else wants the core.
    .yields = 1000,
    // About 2 us; not measured against other counts.
    .spins = 64,
    // As long as waking a thread takes. Of 1968 regions on two cores of an EPYC (a virtual machine) one thread was left
    // alone in 24 with 5 us, in 26 with 10, 7 with 20, 5 with 50, 7 with 100 and 16 with 200; times differed less than
    // from run to run.
    .region_us = 50};

/// A scan with look-ahead.
struct LookaheadTuning {
  int ahead;                        ///< blocks that a worker folds before it scans
  std::uint64_t min_spin_cycles;    ///< before a worker folds a block in its owner's place
  std::uint64_t first_spin_cycles;  ///< the same, when nothing is known of the block that it waits for
};
constexpr LookaheadTuning kLookahead{
    // On 64 cores a block takes up to three times as long as another: with two, workers wait. Four gain nothing.
    .ahead = 3,
    // What one core of a Xeon takes to read a block from memory (16 GB/s); ten times as long at first, when others may
    // only be starting. Not measured against other values.
    .min_spin_cycles = 20'000,
    .first_spin_cycles = 200'000};

}  // namespace upsweep::cpu::tuning
