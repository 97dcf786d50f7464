// SPDX-License-Identifier: Apache-2.0
// cpu/parallel.cpp: the workers of run_workers on oneTBB.
#include "cpu/parallel.hpp"

#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>

namespace upsweep::cpu {

int hardware_threads() noexcept {
  static const int threads = std::max(1, oneapi::tbb::info::default_concurrency());
  return threads;
}

int worker_count(int threads) noexcept { return std::min(threads > 0 ? threads : hardware_threads(), kMaxWorkers); }

void run_workers_erased(int workers, void (*body)(void* context, int worker), void* context) {
  // oneTBB already orders the caller's writes before the workers' reads and theirs before the caller's return. The two
  // atomics say so once more where race checkers see it: oneTBB's own library is not instrumented.
  std::atomic<int> begun{0};
  std::atomic<int> done{0};
  begun.store(1, std::memory_order_release);
  // A range per worker that is never split further; not isolated in an arena of its own, so nested calls share threads.
  oneapi::tbb::parallel_for(
      0, workers,
      [&](int worker) {
        (void)begun.load(std::memory_order_acquire);
        body(context, worker);
        done.fetch_add(1, std::memory_order_acq_rel);
      },
      oneapi::tbb::simple_partitioner{});
  (void)done.load(std::memory_order_acquire);
}

}  // namespace upsweep::cpu
