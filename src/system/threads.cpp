// SPDX-License-Identifier: Apache-2.0
// system/threads.cpp: creates threads that do nothing, to find out how many can exist.
#include "system/threads.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <limits>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "system/cores.hpp"

namespace upsweep {
namespace {

constexpr int kOfLibraries = 8;  // the number that Arrow creates for reading
// The memory that the C library maps when a thread allocates for the first time, if address space is short.
constexpr std::size_t kHeap = std::size_t{128} << 20;

void* wait_at(void* gate) {
  const std::lock_guard wait(*static_cast<std::mutex*>(gate));
  return nullptr;
}

/// A stack that is released. The C library would keep the stacks of threads that have ended, and less would be left of
/// the process's limits for data.
class Stack {
 public:
  explicit Stack(std::size_t bytes)
      : bytes_(bytes),
        memory_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~Stack() {
    if (is_there()) ::munmap(memory_, bytes_);
  }
  Stack(Stack&& other) noexcept : bytes_(other.bytes_), memory_(std::exchange(other.memory_, MAP_FAILED)) {}
  Stack& operator=(Stack&&) = delete;

  [[nodiscard]] bool is_there() const { return memory_ != MAP_FAILED; }
  [[nodiscard]] void* memory() const { return memory_; }

 private:
  std::size_t bytes_;
  void* memory_;
};

/// Returns how many of `wanted` threads can exist at once.
int try_threads(int wanted, std::size_t stack_bytes) {
  std::vector<Stack> stacks;
  std::vector<pthread_t> made;
  stacks.reserve(static_cast<std::size_t>(wanted));
  made.reserve(static_cast<std::size_t>(wanted));
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return 0;
  std::mutex gate;
  std::unique_lock closed(gate);
  while (std::ssize(made) < wanted) {
    Stack stack(stack_bytes);
    pthread_t thread = 0;
    const bool began = stack.is_there() && pthread_attr_setstack(&attributes, stack.memory(), stack_bytes) == 0 &&
                       pthread_create(&thread, &attributes, wait_at, &gate) == 0;
    if (!began) break;
    stacks.push_back(std::move(stack));
    made.push_back(thread);
  }
  closed.unlock();
  for (const pthread_t thread : made) pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  return static_cast<int>(made.size());
}

constexpr int kEnough = std::numeric_limits<int>::max();

/// Returns kEnough if there can be a thread per core and the threads of libraries, otherwise the number of possible
/// threads.
int find_spare_threads() noexcept try {
  const NotCancelled until_found;
  const SignalsBlocked meanwhile;
  const int wanted = hardware_threads() + kOfLibraries;
  const int made = try_threads(wanted, address_space_is_limited() ? kThreadStack + kHeap : kThreadStack);
  return made == wanted ? kEnough : made;
} catch (const std::bad_alloc&) {
  return 0;
}

}  // namespace

SpareThreads spare_threads() noexcept {
  // Not a guarded static: in a child forked during its initialization the guard would stay locked.
  constexpr int kNotTried = -1;
  static constinit std::atomic<int> found{kNotTried};
  int count = found.load();
  if (count == kNotTried) {
    count = find_spare_threads();
    found.store(count);
  }
  return {count, count == kEnough};
}

int thread_limit() noexcept {
  const SpareThreads spare = spare_threads();
  return spare.enough ? hardware_threads() : std::min(hardware_threads(), 1 + spare.count / 2);
}

bool address_space_is_limited() noexcept {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

}  // namespace upsweep
