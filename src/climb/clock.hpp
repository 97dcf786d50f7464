// SPDX-License-Identifier: Apache-2.0
// climb/clock.hpp: the one clock: contenders run in turn, round after round, and the median of each is what counts.
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
  /// Samples shorter than this are of several runs: they would say more about the clock and interrupts than about a run.
  [[nodiscard]] virtual double shortest_sample() const = 0;
  /// What a run takes that does nothing: shorter ones say nothing about the length.
  [[nodiscard]] virtual double launch_seconds() const = 0;
  /// Before every sample.
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

/// Runs every contender once per round, in turn, so that a machine that slows down slows all of them; after one round
/// that is not counted. There are at most 31 rounds; a contender is left out of further ones once it has used `budget`
/// seconds and has five samples, or four times that and three.
void time_in_turn(std::vector<Contender>& contenders, Clock& clock, double budget);

[[nodiscard]] double median(std::vector<double> samples);

}  // namespace upsweep
