// SPDX-License-Identifier: Apache-2.0
// system/cores.cpp: reads affinity masks, once.
#include "system/cores.hpp"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <new>

#include "system/quota.hpp"
#include "system/threads.hpp"

namespace upsweep {
namespace {

/// 8192 processors, the maximum that Linux can be built for. Linux refuses sets that are smaller than its own.
using Mask = std::array<cpu_set_t, 8>;

/// Adds the cores that a thread may run on; none if they cannot be determined.
void add_cores_of(pid_t thread, Mask& mask) noexcept {
  Mask own{};
  if (sched_getaffinity(thread, sizeof own, own.data()) != 0) return;
  CPU_OR_S(sizeof own, mask.data(), mask.data(), own.data());
}

/// Values that are determined once. It is constant-initialized. A child of fork() starts again, whatever the state was.
class Cores {
 public:
  int count() noexcept {
    const int known = count_.load(std::memory_order_acquire);
    return known != 0 ? known : find();
  }
  const Mask& mask() noexcept {
    count();
    return mask_;
  }

 private:
  int find() noexcept {
    const NotCancelled until_found;
    const std::lock_guard locked(finding_);
    if (count_.load(std::memory_order_relaxed) == 0) {
      add_cores_of(getpid(), mask_);  // the main thread
      add_cores_of(0, mask_);
      const int cores = std::min(CPU_COUNT_S(sizeof mask_, mask_.data()), quota_cores("/"));
      count_.store(std::max(1, cores), std::memory_order_release);
    }
    return count_.load(std::memory_order_relaxed);
  }

  std::mutex finding_;
  std::atomic<int> count_{0};  // 0: not determined yet
  Mask mask_{};
};

constinit Cores cores;

struct AtFork {
  AtFork() noexcept {
    pthread_atfork(nullptr, nullptr, [] { new (&cores) Cores; });
  }
};
const AtFork at_fork;

}  // namespace

void use_every_core() noexcept {
  const Mask& mask = cores.mask();
  sched_setaffinity(0, sizeof mask, mask.data());  // if refused, the thread keeps its cores
}

int hardware_threads() noexcept { return cores.count(); }

}  // namespace upsweep
