// SPDX-License-Identifier: Apache-2.0
// bench/clock.cpp: rounds of contenders under std::chrono::steady_clock.
#include "clock.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

namespace upsweep::bench {
namespace {

// A sample shorter than this says more about the clock and the interrupts than about the contender.
constexpr double kShortestSample = 200e-6;
constexpr int kMaxRepeats = 20000;
constexpr int kMinRounds = 5;
constexpr int kMaxRounds = 31;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double sample(const Contender& contender) {
  const double begin = now();
  for (int i = 0; i < contender.repeats; ++i) contender.run();
  return (now() - begin) / contender.repeats;
}

}  // namespace

double seconds_of(const std::function<void()>& run) {
  const double begin = now();
  run();
  return now() - begin;
}

void time_in_turn(std::vector<Contender>& contenders, double budget) {
  for (auto& contender : contenders) {
    contender.run();  // the first run meets cold caches and sleeping threads
    const double once = seconds_of(contender.run);
    contender.repeats = std::clamp(static_cast<int>(kShortestSample / std::max(once, 1e-9)), 1, kMaxRepeats);
  }
  const double begin = now();
  for (int round = 0; round < kMaxRounds && (round < kMinRounds || now() - begin < budget); ++round) {
    for (auto& contender : contenders) contender.samples.push_back(sample(contender));
  }
}

double median(std::vector<double> samples) {
  if (samples.empty()) return 0;
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

std::string estimated(double seconds) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), seconds < 99.5 ? "estimated %.2g s" : "estimated %.0f s", seconds);
  return text.data();
}

}  // namespace upsweep::bench
