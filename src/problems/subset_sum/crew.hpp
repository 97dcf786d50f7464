// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/crew.hpp: the threads that have come to a parallel region in time, and which may therefore wait for each other.
//
// cpu::run_workers() may run its workers one after the other, on as many threads as there are to be had. Who has come is
// running, on a thread of its own; the others, should they ever come, are sent away.
#pragma once

#include <atomic>
#include <chrono>

#include "cpu/parallel.hpp"
#include "cpu/tuning/threads.hpp"

namespace upsweep::impl::subset_sum {

/// Spins as long as neighbours that are in step wait for each other, about 2 us; then it gives the core up at every look,
/// as the thread that it waits for may have none.
template <class Done>
void wait_until(Done done) {
  constexpr int kSpins = cpu::tuning::kThreads.spins;
  cpu::GiveWay give_way;
  for (int spins = 0; !done(); ++spins) {
    if (spins < kSpins) {
      cpu::pause();
    } else {
      give_way();
    }
  }
}

class Crew {
 public:
  static constexpr int kLate = -1;
  static constexpr std::chrono::microseconds kPatience{cpu::tuning::kThreads.region_us};

  explicit Crew(int most, std::chrono::microseconds patience = kPatience) : most_(most), patience_(patience) {}

  /// To be called once by each thread: its seat, from 0 on, or kLate. The first one waits until `most` have come, or its
  /// patience ends, and calls begin(how many have come) before any of them goes on.
  template <class Begin>
  int join(Begin begin) {
    const int seat = come_.fetch_add(1, std::memory_order_relaxed);
    if (seat >= kClosed) return kLate;
    if (seat == 0) {
      const auto deadline = std::chrono::steady_clock::now() + patience_;
      wait_until([&] {
        return come_.load(std::memory_order_relaxed) >= most_ || std::chrono::steady_clock::now() >= deadline;
      });
      begin(come_.exchange(kClosed, std::memory_order_relaxed));
      has_begun_.store(true, std::memory_order_release);  // what begin() wrote is seen by all
    } else {
      wait_until([&] { return has_begun_.load(std::memory_order_acquire); });
    }
    return seat;
  }

 private:
  static constexpr int kClosed = 1 << 20;  // more than there are workers

  int most_;
  std::chrono::microseconds patience_;
  alignas(64) std::atomic<int> come_{0};
  alignas(64) std::atomic<bool> has_begun_{false};
};

}  // namespace upsweep::impl::subset_sum
