// SPDX-License-Identifier: Apache-2.0
// cpu/parallel.cpp: the workers of run_workers on oneTBB.
#include "cpu/parallel.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "core/threads.hpp"

#ifdef UPSWEEP_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace upsweep::cpu {
namespace {

// oneTBB orders the caller's writes before the workers' reads, and theirs before the caller's return. Its library is
// not instrumented, so the order is annotated for ThreadSanitizer; this file is compiled without it (src/CMakeLists.txt).
void order_before([[maybe_unused]] void* point) {
#ifdef UPSWEEP_THREAD_SANITIZER
  __tsan_release(point);
#endif
}
void order_after([[maybe_unused]] void* point) {
#ifdef UPSWEEP_THREAD_SANITIZER
  __tsan_acquire(point);
#endif
}

/// Has oneTBB start its workers now, and waits for them, but not for long: it guarantees none. Meanwhile this thread
/// takes up no other work, which might come here too.
void start_workers(int workers) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  std::atomic<int> arrived{0};
  const auto arrive = [&](int) {
    ++arrived;
    while (arrived < workers && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  };
  oneapi::tbb::this_task_arena::isolate(
      [&] { oneapi::tbb::parallel_for(0, workers, arrive, oneapi::tbb::simple_partitioner{}); });
}

using Limit = oneapi::tbb::global_control;

/// The limit on oneTBB's threads that the system's limits call for; null where all can be made. It is never lifted: at
/// the program's end, too, oneTBB would then start the threads that it did without.
Limit* limit_workers() {
  const SpareThreads& spare = spare_threads();
  if (spare.enough && !address_space_is_limited()) return nullptr;
  // Where they are short, half of them are left to whatever else makes threads meanwhile.
  const int most = spare.enough ? hardware_threads() : std::min(hardware_threads(), 1 + spare.count / 2);
  auto* const limit = new Limit(Limit::max_allowed_parallelism, static_cast<std::size_t>(most));
  // What the program allocates later may leave no memory for them.
  start_workers(most);
  return limit;
}

}  // namespace

void keep_to_spare_threads() { [[maybe_unused]] static const Limit* const limit = limit_workers(); }

int worker_count(int threads) noexcept { return std::min(threads > 0 ? threads : hardware_threads(), kMaxWorkers); }

void run_workers_erased(int workers, void (*body)(void* context, int worker), void* context) {
  keep_to_spare_threads();
  int begun = 0;
  int done = 0;
  order_before(&begun);
  // A range per worker that is never split further; not isolated in an arena of its own, so nested calls share threads.
  oneapi::tbb::parallel_for(
      0, workers,
      [&](int worker) {
        order_after(&begun);
        body(context, worker);
        order_before(&done);
      },
      oneapi::tbb::simple_partitioner{});
  order_after(&done);
}

}  // namespace upsweep::cpu
