// SPDX-License-Identifier: Apache-2.0
// bench/clock.hpp: the one clock: contenders run in turn, round after round, and the median of each is what counts.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace upsweep::bench {

/// Something to be timed against others on the same data.
struct Contender {
  std::string name;
  std::function<void()> run;
  int repeats = 1;              ///< runs per sample: short ones are repeated until the clock can tell
  std::vector<double> samples;  ///< seconds per run
};

/// Seconds of one call.
double seconds_of(const std::function<void()>& run);

/// Runs every contender once per round, in turn, so that a machine that slows down slows all of them; after one round
/// that is not counted. Rounds are at least 5 and go on until `budget` seconds are used or there are 31.
void time_in_turn(std::vector<Contender>& contenders, double budget);

[[nodiscard]] double median(std::vector<double> samples);

/// "estimated 1.5 s": why something was not run.
[[nodiscard]] std::string estimated(double seconds);

}  // namespace upsweep::bench
