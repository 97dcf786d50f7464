// SPDX-License-Identifier: Apache-2.0
// climb/clock.hpp: times contenders in turn, round after round; the median of each counts.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace upsweep {

/// Measures one run: by the host's clock, or by events of a device.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual double seconds_of(const std::function<void()>& run) = 0;
  /// Samples shorter than this are several runs: a single run would be lost in the clock's resolution and interrupts.
  [[nodiscard]] virtual double shortest_sample() const = 0;
  /// The time of a run that does nothing: shorter times say nothing about the length.
  [[nodiscard]] virtual double launch_seconds() const = 0;
  /// Called before every sample.
  virtual void next() {}
};

class HostClock final : public Clock {
 public:
  double seconds_of(const std::function<void()>& run) override;
  [[nodiscard]] double shortest_sample() const override { return 200e-6; }
  [[nodiscard]] double launch_seconds() const override { return 0; }
};

/// Something to be timed against others on the same data.
struct Contender {
  std::string name;
  std::function<void()> run;
  std::vector<double> samples = {};  ///< seconds per run

  [[nodiscard]] double median() const;
};

/// Seconds for the rounds of a contender of a ladder.
inline constexpr double kBudget = 0.3;

/// Runs every contender once per round, in turn, so that a machine that slows down slows all of them. One round before
/// these is not counted. There are at most 31 rounds. A contender is left out of further rounds once it has used
/// `budget` seconds and has five samples, or four times that and three.
void time_in_turn(std::vector<Contender>& contenders, Clock& clock, double budget);

[[nodiscard]] double median(std::vector<double> samples);

}  // namespace upsweep
