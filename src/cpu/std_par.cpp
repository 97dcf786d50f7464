// SPDX-License-Identifier: Apache-2.0
// cpu/std_par.cpp: limits oneTBB to the threads that the system can create.
#include "cpu/std_par.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>

#include "system/threads.hpp"

namespace upsweep::cpu {
namespace {

/// Makes oneTBB start its workers now, and waits for them, but not for long: it guarantees none. Meanwhile this thread
/// executes no other work, which could start the same wait again.
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

/// Returns the limit on oneTBB's threads that the system's limits require; null if all threads can be created. The
/// limit is never removed: otherwise oneTBB would start the missing threads, even at the program's end.
Limit* limit_workers() {
  if (spare_threads().enough && !address_space_is_limited()) return nullptr;
  auto* const limit = new Limit(Limit::max_allowed_parallelism, static_cast<std::size_t>(thread_limit()));
  // Later allocations of the program may leave no memory for them.
  start_workers(thread_limit());
  return limit;
}

}  // namespace

void keep_to_spare_threads() { [[maybe_unused]] static const Limit* const limit = limit_workers(); }

}  // namespace upsweep::cpu
