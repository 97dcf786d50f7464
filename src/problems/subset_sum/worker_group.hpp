// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/worker_group.hpp: the threads that joined a parallel region in time and may wait for each other.
//
// cpu::run_workers() may run its workers one after the other, on fewer threads than asked for. A worker that joined in
// time runs on a separate thread. A worker that joins later is refused.
#pragma once

#include <atomic>
#include <chrono>

#include "cpu/parallel.hpp"
#include "cpu/tuning/threads.hpp"

namespace upsweep::impl::subset_sum {

/// Spins for about 2 us, which is the time that adjacent threads usually wait for each other. Then it yields the core
/// at every test, because the thread that it waits for may have no core.
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

class WorkerGroup {
 public:
  static constexpr int kLate = -1;
  static constexpr std::chrono::microseconds kSpinLimit{cpu::tuning::kThreads.region_us};

  explicit WorkerGroup(int most, std::chrono::microseconds limit = kSpinLimit) : most_(most), spin_limit_(limit) {}

  /// Returns the worker id, from 0 on, or kLate. Each thread calls it once. The first thread waits until `most` threads
  /// have joined or the spin limit has passed. Then it calls begin(the number of workers) before any worker continues.
  template <class Begin>
  int join(Begin begin) {
    const int id = joined_.fetch_add(1, std::memory_order_relaxed);
    if (id >= kClosed) return kLate;
    if (id == 0) {
      const auto deadline = std::chrono::steady_clock::now() + spin_limit_;
      wait_until([&] {
        return joined_.load(std::memory_order_relaxed) >= most_ || std::chrono::steady_clock::now() >= deadline;
      });
      begin(joined_.exchange(kClosed, std::memory_order_relaxed));
      has_begun_.store(true, std::memory_order_release);  // publishes the writes of begin()
    } else {
      wait_until([&] { return has_begun_.load(std::memory_order_acquire); });
    }
    return id;
  }

 private:
  static constexpr int kClosed = 1 << 20;  // more than the number of workers

  int most_;
  std::chrono::microseconds spin_limit_;
  alignas(64) std::atomic<int> joined_{0};
  alignas(64) std::atomic<bool> has_begun_{false};
};

}  // namespace upsweep::impl::subset_sum
