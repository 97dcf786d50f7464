// SPDX-License-Identifier: Apache-2.0
// cpu/parallel.hpp: runs a function once per worker on the available threads, and computes worker counts.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <type_traits>

#include "cpu/tuning/threads.hpp"
#include "system/cores.hpp"

namespace upsweep::cpu {

using upsweep::hardware_threads;

/// Returns the worker count for a policy's `threads`: at most kMaxWorkers; 0 means hardware_threads().
[[nodiscard]] int worker_count(int threads) noexcept;

inline constexpr int kMaxWorkers = 1024;

/// Returns the worker count for `count` items, if each worker must have at least `least` of them.
[[nodiscard]] inline int workers_for(std::int64_t count, std::int64_t least, int threads) noexcept {
  return static_cast<int>(std::clamp<std::int64_t>(count / least, 1, worker_count(threads)));
}

/// Tells the pipeline and the other thread of the core that this thread spins.
inline void pause() noexcept { __builtin_ia32_pause(); }

/// Repeatedly gives the core to a thread that this thread waits for: by yielding, and after a while by sleeping.
/// Sleeping is necessary because a real-time thread never yields to threads of another class.
class GiveWay {
 public:
  void operator()() noexcept {
    if (++times_ <= kYields) return std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds{50});
  }

 private:
  static constexpr int kYields = tuning::kThreads.yields;
  int times_ = 0;
};

/// A clock that is cheap to read and runs at one rate on all cores: about 2 to 4 cycles per nanosecond.
inline std::uint64_t cycles() noexcept { return __builtin_ia32_rdtsc(); }

/// Non-temporal stores reach memory in any order. This function orders them before everything that the thread does
/// next.
inline void finish_stores() noexcept { __builtin_ia32_sfence(); }

/// Does what run_workers() does, with the type of its function erased.
void run_workers_erased(int workers, void (*body)(void* context, int worker), void* context);

/// Runs body(0) … body(workers - 1), each once, and returns when all are done. The caller then sees their writes.
/// Workers may run one after the other on fewer threads, so a worker must not wait for a worker that may not have
/// started. `body` must not throw, nor return in a child that it has forked.
///
/// A thread of the pool polls for 20 to 60 us after the previous call. If it still polls, it begins 0.3 to 1 us after
/// the call. Waking a sleeping thread takes 20 to 50 us (two cores of an EPYC, a virtual machine). Each problem derives
/// from these times how much work per thread is enough: see the comment at its constant.
template <class Body>
void run_workers(int workers, Body&& body) {
  const auto run = [](void* context, int worker) {
    (*static_cast<std::remove_reference_t<Body>*>(context))(worker);
    finish_stores();  // also of non-temporal stores
  };
  if (workers <= 1) return run(&body, 0);
  run_workers_erased(workers, run, &body);
}

/// Runs workers whose body may throw std::bad_alloc. If one does, throws it once all are done.
template <class Body>
void run_allocating_workers(int workers, Body&& body) {
  std::atomic<bool> no_memory{false};
  run_workers(workers, [&](int worker) {
    try {
      body(worker);
    } catch (const std::bad_alloc&) {
      no_memory.store(true, std::memory_order_relaxed);  // read when the threads are done
    }
  });
  if (no_memory.load(std::memory_order_relaxed)) throw std::bad_alloc();
}

/// Calls use(i) for all i below `count`, each by the next free thread. After a call has thrown no further ones begin.
/// The first exception is thrown again once all are done.
template <class Use>
void for_each_of(std::int64_t count, int workers, const Use& use) {
  std::atomic<std::int64_t> next{0};
  std::mutex failing;
  std::exception_ptr error;
  run_workers(workers, [&](int) {
    try {
      for (std::int64_t i = next++; i < count; i = next++) use(i);
    } catch (...) {
      next = count;
      const std::lock_guard lock(failing);
      if (!error) error = std::current_exception();
    }
  });
  if (error) std::rethrow_exception(error);
}

}  // namespace upsweep::cpu
