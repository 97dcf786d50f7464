// SPDX-License-Identifier: Apache-2.0
// cpu/parallel.cpp: the workers of run_workers on oneTBB.
#include "cpu/parallel.hpp"

#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>

#ifdef UPSWEEP_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace upsweep::cpu {
namespace {

// oneTBB orders the caller's writes before the workers' reads, and theirs before the caller's return. Its library is
// not instrumented, so ThreadSanitizer is told; this file is compiled without it (src/CMakeLists.txt).
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

}  // namespace

int hardware_threads() noexcept {
  static const int threads = std::max(1, oneapi::tbb::info::default_concurrency());
  return threads;
}

int worker_count(int threads) noexcept { return std::min(threads > 0 ? threads : hardware_threads(), kMaxWorkers); }

void run_workers_erased(int workers, void (*body)(void* context, int worker), void* context) {
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
