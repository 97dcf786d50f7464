// SPDX-License-Identifier: Apache-2.0
// climb/clock.cpp: rounds of contenders under a clock.
#include "climb/clock.hpp"

#include <algorithm>
#include <chrono>

#include "system/float_mode.hpp"
#include "upsweep/error.hpp"

namespace upsweep {
namespace {

constexpr int kMaxRepeats = 20000;
constexpr int kRounds = 31;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct Timed {
  Contender& contender;
  int repeats = 1;
  double used = 0;

  [[nodiscard]] bool is_done(double budget) const {
    const std::size_t enough = used > 4 * budget ? 3 : 5;
    return used > budget && contender.samples.size() >= enough;
  }
  double sample(Clock& clock) {
    clock.next();
    const double seconds = seconds_of(clock);
    used += seconds;
    return seconds / repeats;
  }

 private:
  /// An error names the contender: work on a GPU fails after its call.
  double seconds_of(Clock& clock) const {
    try {
      return clock.seconds_of([&] {
        for (int i = 0; i < repeats; ++i) contender.run();
      });
    } catch (const Error& error) {
      const std::string message = error.what();
      if (message.starts_with(contender.name)) throw;
      throw Error(error.code(), contender.name + ": " + message, error.index());
    }
  }
};

}  // namespace

double HostClock::seconds_of(const std::function<void()>& run) {
  const KeptFloatMode kept;
  const double begin = now();
  run();
  return now() - begin;
}

double Contender::median() const { return upsweep::median(samples); }

void time_in_turn(std::vector<Contender>& contenders, Clock& clock, double budget) {
  std::vector<Timed> all;
  for (auto& contender : contenders) {
    all.push_back({.contender = contender});
    (void)all.back().sample(clock);  // the first run has cold caches and sleeping threads
    const double once = all.back().sample(clock);
    all.back().repeats = std::clamp(static_cast<int>(clock.shortest_sample() / std::max(once, 1e-9)), 1, kMaxRepeats);
  }
  for (int round = 0; round < kRounds; ++round) {
    for (auto& timed : all) {
      if (!timed.is_done(budget)) timed.contender.samples.push_back(timed.sample(clock));
    }
  }
}

double median(std::vector<double> samples) {
  if (samples.empty()) return 0;
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

}  // namespace upsweep
