// SPDX-License-Identifier: Apache-2.0
// core/threads.cpp: makes threads that do nothing, to see how many there can be.
#include "core/threads.hpp"

#include <pthread.h>
#include <sys/resource.h>

#include <cstddef>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

namespace upsweep {
namespace {

constexpr int kOfLibraries = 8;                       // as many as Arrow makes for reading
constexpr std::size_t kStack = std::size_t{4} << 20;  // of oneTBB's workers
// Where address space is short: what the C library maps when a thread allocates for the first time.
constexpr std::size_t kHeap = std::size_t{128} << 20;

void* wait_at(void* gate) {
  const std::lock_guard wait(*static_cast<std::mutex*>(gate));
  return nullptr;
}

/// How many of `wanted` threads there can be at once.
int try_threads(int wanted, std::size_t stack) {
  std::vector<pthread_t> made;
  made.reserve(static_cast<std::size_t>(wanted));
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return 0;
  pthread_attr_setstacksize(&attributes, stack);
  std::mutex gate;
  std::unique_lock closed(gate);
  for (pthread_t thread; std::ssize(made) < wanted && pthread_create(&thread, &attributes, wait_at, &gate) == 0;) {
    made.push_back(thread);
  }
  closed.unlock();
  for (const pthread_t thread : made) pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  return static_cast<int>(made.size());
}

SpareThreads find_spare_threads() noexcept try {
  const int wanted = static_cast<int>(std::thread::hardware_concurrency()) + kOfLibraries;
  const int made = try_threads(wanted, address_space_is_limited() ? kStack + kHeap : kStack);
  return {made, made == wanted};
} catch (const std::bad_alloc&) {
  return {0, false};
}

}  // namespace

const SpareThreads& spare_threads() noexcept {
  static const SpareThreads found = find_spare_threads();
  return found;
}

bool address_space_is_limited() noexcept {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

}  // namespace upsweep
