// SPDX-License-Identifier: Apache-2.0
// cpu/parallel.cpp: the pool of threads for the callers of run_workers.
//
// The library runs in other programs. These programs have separate threads, often one per core. They call the
// library from several threads at the same time, from tasks of oneTBB and OpenMP, under locks, and in children of
// fork(), and they may unload the library. Therefore:
//   - A caller runs workers itself. It never waits for a thread to begin, only for threads that have begun. It executes
//     only the workers of this call, so a lock that it holds cannot cause a deadlock.
//   - All calls share one pool. Callers and helping threads together are at most hardware_threads(), unless callers are
//     already more. A thread that has finished helping is passed to a call that began without helpers.
//   - Threads are created when they are first needed. They sleep between calls, end a second after their last one, and
//     immediately when the library is unloaded or the program ends.
//   - A caller's thread may be canceled (pthread_cancel): that waits for its next cancellation point after the call.
//   - Signals of the program are not handled on the pool's threads. These threads also do not stay in a real-time class
//     or on the core of the caller that created them.
//   - A child of fork() has none of its parent's threads and creates its own.
// oneTBB is not used for three reasons. Its threads never end. A program crashes if it unloads oneTBB while another
// thread exists that has used oneTBB, and children of fork() crash when they end. If a task of the program is canceled,
// calls within the task are not completed. tests/guests_test.cpp and tests/unload_test.c test these requirements.
#include "cpu/parallel.hpp"
#include "cpu/tuning/threads.hpp"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <xmmintrin.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <ctime>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "system/threads.hpp"

namespace upsweep::cpu {
namespace {

constexpr int kIdleSeconds = tuning::kThreads.idle_seconds;
/// Number of polls before a thread sleeps. The thread waits for the end of a call whose other workers are done, or for
/// the next call of a loop.
constexpr int kPolls = tuning::kThreads.polls;

class Semaphore {
 public:
  Semaphore() noexcept { sem_init(&semaphore_, 0, 0); }
  ~Semaphore() { sem_destroy(&semaphore_); }
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;

  void post() noexcept { sem_post(&semaphore_); }
  void wait() noexcept {
    if (poll()) return;
    while (sem_wait(&semaphore_) != 0) continue;  // a signal interrupted it
  }
  /// Returns false after the timeout.
  bool wait_for(int seconds) noexcept {
    if (poll()) return true;
    timespec until{};
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += seconds;
    int failed = 0;
    // ThreadSanitizer of GCC 12 and Clang 14 does not support it: data for a waiting thread is passed through atomics.
    do failed = sem_clockwait(&semaphore_, CLOCK_MONOTONIC, &until);
    while (failed != 0 && errno == EINTR);
    return failed == 0;
  }

 private:
  bool poll() noexcept {
    for (int polls = 1; polls <= kPolls; ++polls) {
      if (sem_trywait(&semaphore_) == 0) return true;
      if (polls % 128 == 0) std::this_thread::yield();  // the other thread may not have a core
      pause();
    }
    return false;
  }

  sem_t semaphore_{};
};

struct Job;

/// A thread of the pool. After it is lent to a job, it belongs to the job until the job's caller returns it. The thread
/// may begin too late to execute any worker.
struct Helper {
  Semaphore called;                // posted more often than there are jobs: `job` shows whether there is one
  std::atomic<Job*> job{nullptr};  // taken either by the helper, or by the caller that no longer needs it
  std::atomic<bool> ending{false};
  Helper* next = nullptr;  // idle
  pthread_t thread{};
};

/// A call of run_workers, on its caller's stack.
struct Job {
  // `helpers_` stays uninitialized on purpose: 8 KB.
  Job(int count, void (*function)(void*, int), void* argument)  // NOLINT(cppcoreguidelines-pro-type-member-init)
      : body(function), context(argument), workers(count) {}

  void (*body)(void* context, int worker);
  void* context;
  int workers;
  unsigned float_mode = _mm_getcsr();  // rounding and denormals: every thread uses the caller's mode
  Job* next = nullptr;                 // open
  int lent = 0;
  int lent_at_first = 0;
  alignas(64) std::atomic<int> begun{0};    // workers
  alignas(64) std::atomic<int> called{0};   // of the helpers lent at first
  alignas(64) std::atomic<int> present{1};  // the caller, and helpers from which it has not taken the job back
  Semaphore done;
  Helper*& helper(int i) { return helpers_[static_cast<std::size_t>(i)]; }

 private:
  std::array<Helper*, kMaxWorkers> helpers_;
};

void work(Job& job) {
  while (job.begun.load(std::memory_order_relaxed) < job.workers) {
    const int worker = job.begun.fetch_add(1, std::memory_order_relaxed);
    if (worker < job.workers) job.body(job.context, worker);
  }
}

/// Wakes up to `most` helpers that were not woken yet. Helpers that begin wake others in turn. The caller does not rely
/// on this, because a thread may get its core late.
void call_helpers(Job& job, int most) {
  for (; most > 0; --most) {
    const int helper = job.called.fetch_add(1, std::memory_order_relaxed);
    if (helper >= job.lent_at_first) return;
    job.helper(helper)->called.post();
  }
}

void help(Job& job) {
  _mm_setcsr(job.float_mode);
  call_helpers(job, 2);
  work(job);
  if (job.present.fetch_sub(1, std::memory_order_acq_rel) == 1) job.done.post();
}

/// Closes a job that is in no list: takes it back from helpers that have not begun, and waits for the others.
void wait_for_helpers(Job& job) {
  int absent = 0;
  for (int i = 0; i < job.lent; ++i) {
    std::atomic<Job*>& given = job.helper(i)->job;
    if (given.load(std::memory_order_relaxed) != nullptr && given.exchange(nullptr) != nullptr) ++absent;
  }
  if (job.present.fetch_sub(1 + absent, std::memory_order_acq_rel) > 1 + absent) job.done.wait();
}

/// Removes this thread of the pool from the real-time class of the caller that created it, because it serves every
/// caller. The attributes of pthread_create cannot do this: SCHED_IDLE cannot be left, and then there would be no
/// thread.
void leave_real_time() noexcept {
  const int made_in = sched_getscheduler(0);
  if (made_in != SCHED_FIFO && made_in != SCHED_RR) return;
  const sched_param usual{};
  sched_setscheduler(0, SCHED_OTHER, &usual);
}

/// Constant-initialized and never destroyed: it exists before every other object, and after.
class Pool {
 public:
  void run(Job& job) {
    open(job);
    call_helpers(job, job.lent_at_first);
    work(job);
    close(job);
  }

  /// The main function of a thread of the pool.
  void serve(Helper& self) {
    use_every_core();
    leave_real_time();
    do {
      while (self.called.wait_for(kIdleSeconds)) {
        if (self.ending) return;
        Job* const job = self.job.exchange(nullptr);
        if (job != nullptr) help(*job);
      }
    } while (!leave(self));
  }

  /// Ends the idle threads, and waits for their end.
  void end_idle() {
    Helper* ending = nullptr;
    {
      const std::lock_guard locked(mutex_);
      ending = std::exchange(idle_, nullptr);
      join(std::exchange(left_, nullptr));
    }
    for (Helper* helper = ending; helper != nullptr; helper = helper->next) {
      helper->ending = true;
      helper->called.post();
    }
    while (ending != nullptr) join(std::exchange(ending, ending->next));
  }

 private:
  /// Waits for a thread that is about to end.
  static void join(Helper* helper) {
    if (helper == nullptr) return;
    pthread_join(helper->thread, nullptr);
    delete helper;
  }

  void open(Job& job) {
    const std::lock_guard locked(mutex_);
    if (most_ == 0) most_ = std::min(thread_limit(), kMaxWorkers);
    ++callers_;
    Job** last = &open_;
    while (*last != nullptr) last = &(*last)->next;
    *last = &job;
    job.lent_at_first = lend(job);
    hand_to(job, 0);
  }

  void close(Job& job) {
    {
      const std::lock_guard locked(mutex_);
      Job** at = &open_;
      while (*at != &job) at = &(*at)->next;
      *at = job.next;
    }
    wait_for_helpers(job);
    const std::lock_guard locked(mutex_);
    --callers_;
    lent_ -= job.lent;
    while (job.lent > 0) {
      Helper* const helper = job.helper(--job.lent);
      helper->next = idle_;
      idle_ = helper;
    }
    for (Job* other = open_; other != nullptr; other = other->next) {
      const int before = other->lent;
      const int more = lend(*other);
      hand_to(*other, before);
      for (int i = 0; i < more; ++i) other->helper(before + i)->called.post();
    }
  }

  /// Lends a job helpers for the workers that have not begun, as far as threads are free. Returns how many.
  int lend(Job& job) {
    const int waiting = job.workers - std::max(1, job.begun.load(std::memory_order_relaxed));  // the caller takes one
    const int without = job.workers - 1 - job.lent;  // some helpers that are already lent may not have begun yet
    const int wanted = std::min({waiting, without, most_ - callers_ - lent_});
    int count = 0;
    for (; count < wanted; ++count) {
      Helper* const helper = idle_ != nullptr ? std::exchange(idle_, idle_->next) : make();
      if (helper == nullptr) break;
      job.helper(job.lent++) = helper;
    }
    lent_ += count;
    return count;
  }

  /// Allows the helpers lent from `first` on to begin.
  static void hand_to(Job& job, int first) {
    job.present.fetch_add(job.lent - first, std::memory_order_relaxed);
    for (int i = first; i < job.lent; ++i) {
      job.helper(i)->job.store(&job, std::memory_order_release);
    }
  }

  /// Creates a thread; returns null if the system cannot.
  static Helper* make();

  /// Removes an idle helper from the pool; returns false if it has been lent meanwhile.
  bool leave(Helper& self) {
    Helper* before = nullptr;
    {
      const std::lock_guard locked(mutex_);
      Helper** at = &idle_;
      while (*at != nullptr && *at != &self) at = &(*at)->next;
      if (*at == nullptr) return false;
      *at = self.next;
      before = std::exchange(left_, &self);
    }
    join(before);  // each thread joins its predecessor, so only the last one is not joined
    return true;
  }

  std::mutex mutex_;
  int most_ = 0;     // maximum number of callers and helpers together; 0: not known yet
  int callers_ = 0;  // in run()
  int lent_ = 0;     // helpers
  Job* open_ = nullptr;
  Helper* idle_ = nullptr;
  Helper* left_ = nullptr;  // last thread that left the pool, not joined yet
};

constinit Pool pool;

/// Ends the threads when the library is unloaded or the program ends. In a child of fork(), which has no threads, it
/// forgets them. The pool is not locked around fork(): a child does not use its contents, whatever state they were in.
struct Lifetime {
  Lifetime() noexcept {
    pthread_atfork(nullptr, nullptr, [] { new (&pool) Pool; });
  }
  ~Lifetime() {
    const NotCancelled until_joined;
    pool.end_idle();
  }
};
const Lifetime lifetime;

Helper* Pool::make() {
  std::unique_ptr<Helper> helper(new (std::nothrow) Helper);
  pthread_attr_t attributes;
  if (helper == nullptr || pthread_attr_init(&attributes) != 0) return nullptr;
  const auto serve = [](void* self) -> void* {
    pool.serve(*static_cast<Helper*>(self));
    return nullptr;
  };
  const SignalsBlocked while_made;
  const bool made = pthread_attr_setstacksize(&attributes, kThreadStack) == 0 &&
                    pthread_create(&helper->thread, &attributes, serve, helper.get()) == 0;
  pthread_attr_destroy(&attributes);
  return made ? helper.release() : nullptr;
}

}  // namespace

int worker_count(int threads) noexcept { return std::min(threads > 0 ? threads : hardware_threads(), kMaxWorkers); }

void run_workers_erased(int workers, void (*body)(void* context, int worker), void* context) {
  const NotCancelled until_done;
  Job job(workers, body, context);
  pool.run(job);
}

}  // namespace upsweep::cpu
