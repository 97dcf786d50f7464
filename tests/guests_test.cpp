// SPDX-License-Identifier: Apache-2.0
// tests/guests_test.cpp: the library as a guest in programs with threads. Cases: concurrent callers, calls from
// oneTBB's and OpenMP's threads, children of fork(), and the library's threads between calls.
#include <gtest/gtest.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_group.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cpu/parallel.hpp"
#include "in_child.hpp"
#include "patterns.hpp"
#include "upsweep/offsets.hpp"
#include "upsweep/query.hpp"
#include "upsweep/reduce.hpp"
#include "upsweep/segmented_sort.hpp"
#include "upsweep/subset_sum.hpp"

namespace upsweep {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kCount = 1000003;

/// Time limit for events that always happen: longer than they take on a machine that is busy with other work.
constexpr auto kTimeLimit = 10min;

/// The number of threads of a process without calls: ThreadSanitizer has one thread.
#ifdef __SANITIZE_THREAD__
constexpr int kAlone = 2;
#else
constexpr int kAlone = 1;
#endif

int threads_of_this_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<int>(std::distance(begin(tasks), end(tasks)));
}

/// Waits until there are at most `expected` threads, up to the time limit.
int threads_at_last(int expected, Clock::duration limit = kTimeLimit) {
  const auto deadline = Clock::now() + limit;
  while (threads_of_this_process() > expected && Clock::now() < deadline) std::this_thread::sleep_for(20ms);
  return threads_of_this_process();
}

double sum_of(const Policy& policy, const std::vector<double>& values) { return reduce(policy, values).value; }

/// Inputs and expected results of every kind of call; checks whether all results are right.
class Calls {
 public:
  Calls() : values_(tests::rounded<double>(kCount, 3)), starts_(kCount), stops_(kCount), table_(new MemoryTable) {
    for (std::size_t i = 0; i < starts_.size(); ++i) {
      starts_[i] = static_cast<std::int64_t>(i * 7919 % 1000);
      stops_[i] = starts_[i] + static_cast<std::int64_t>(i % 10);
    }
    for (std::int64_t item = 1000; item < 1400; item += 13) items_.push_back(item);
    table_->add("start", starts_).add("stop", stops_);
    query_ = std::make_unique<Query>("SELECT SUM(stop - start), COUNT(*) FROM t WHERE start < 500", *table_);
    expected_ = answers(seq);
  }

  [[nodiscard]] bool right(const Policy& policy = par) const { return answers(policy) == expected_; }

 private:
  struct Answers {
    std::vector<double> prefixes;
    double sum = 0;
    std::vector<std::int64_t> offsets;
    std::vector<std::uint64_t> sums;
    std::int64_t in_lists = 0;
    bool operator==(const Answers&) const = default;
  };

  [[nodiscard]] Answers answers(const Policy& policy) const {
    Answers all;
    all.prefixes.resize(values_.size());
    all.offsets.resize(starts_.size() + 1);
    all.sums.resize(4000000 / 64 + 1);
    inclusive_scan(policy, values_, all.prefixes);
    all.sum = sum_of(policy, values_);
    upsweep::offsets(policy, starts_, stops_, all.offsets);
    reachable_sums(policy, items_.data(), std::ssize(items_), 4000000, all.sums.data());
    all.in_lists = static_cast<std::int64_t>(query_->run(policy, *table_).rows[0][0].exact);
    return all;
  }

  std::vector<double> values_;
  std::vector<std::int64_t> starts_;
  std::vector<std::int64_t> stops_;
  std::vector<std::int64_t> items_;
  std::unique_ptr<MemoryTable> table_;
  std::unique_ptr<Query> query_;
  Answers expected_;
};

const Calls& calls() {
  static const Calls all;
  return all;
}

/// Whether two workers of a call run at the same time. Waits for the second one up to the time limit.
bool two_at_once() {
  std::atomic<int> arrived{0};
  cpu::run_workers(2, [&](int) {
    ++arrived;
    const auto deadline = Clock::now() + kTimeLimit;
    while (arrived < 2 && Clock::now() < deadline) std::this_thread::yield();
    if (arrived < 2) arrived = -2;
  });
  return arrived == 2;
}

/// Executes `act` in a worker of a call that runs on another thread than the caller; returns false if none arrives in
/// time.
bool on_a_helper(const std::function<void()>& act) {
  const auto caller = std::this_thread::get_id();
  const auto deadline = Clock::now() + kTimeLimit;
  std::atomic<bool> done{false};
  cpu::run_workers(2, [&](int) {
    if (std::this_thread::get_id() != caller) {
      act();
      done = true;
    }
    while (!done && Clock::now() < deadline) std::this_thread::sleep_for(100us);
  });
  return done;
}

/// N threads, which are joined at the end of the block at the latest.
class Threads {
 public:
  Threads(int count, const std::function<void(int)>& act) : threads_(static_cast<std::size_t>(count)) {
    for (int t = 0; t < count; ++t) threads_[static_cast<std::size_t>(t)] = std::thread(act, t);
  }
  ~Threads() { join(); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  void join() {
    for (auto& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }

 private:
  std::vector<std::thread> threads_;
};

/// Threads that repeat one action until the end of the block.
class Meanwhile {
 public:
  Meanwhile(int threads, const std::function<void()>& act)
      : threads_(threads, [this, act](int) {
          while (!ended_) act();
        }) {}
  ~Meanwhile() { ended_ = true; }
  Meanwhile(const Meanwhile&) = delete;
  Meanwhile& operator=(const Meanwhile&) = delete;

 private:
  std::atomic<bool> ended_{false};
  Threads threads_;
};

// ---- callers at the same time

TEST(Guests, ConcurrentCallersShareTheThreads) {
  constexpr int kCallers = 8;
  ASSERT_TRUE(calls().right(par.with_threads(7)));  // the first call determines how many threads can be created
  const int others = threads_at_last(kAlone);
  std::atomic<int> wrong{0};
  std::atomic<int> most{0};
  {
    const Meanwhile watch(1, [&] {
      most = std::max(most.load(), threads_of_this_process());
      std::this_thread::sleep_for(100us);
    });
    Threads(kCallers, [&](int c) {
      for (int again = 0; again < (tests::kSanitized ? 2 : 10); ++again) {
        if (!calls().right(par.with_threads(c % 2 == 0 ? 0 : 7))) ++wrong;
      }
    }).join();
  }
  EXPECT_EQ(wrong, 0);
  // The observing thread, the callers, and the library's threads: with one caller the library has one thread per core.
  // On a busy machine, threads that end for lack of work may be counted together with their replacements.
  EXPECT_LE(most, others + 1 + kCallers + 2 * (cpu::hardware_threads() - 1));
}

TEST(Guests, ShortCallsRunEveryWorkerOnce) {
  // The call ends before a thread joins it, or at the same moment.
  const auto call_again_and_again = [](int callers, int calls) {
    std::atomic<int> wrong{0};
    Threads(callers, [&](int) {
      for (int call = 0; call < calls; ++call) {
        constexpr int kWorkers = 5;
        std::array<std::atomic<int>, kWorkers> ran{};
        cpu::run_workers(kWorkers, [&](int worker) {
          for (int i = 0; i < call % 100; ++i) cpu::pause();
          ++ran[static_cast<std::size_t>(worker)];
        });
        for (const auto& times : ran) wrong += times != 1;
      }
    }).join();
    EXPECT_EQ(wrong, 0) << callers << " callers";
  };
  const int calls = tests::kSanitized ? 2000 : 100000;
  call_again_and_again(1, calls);
  call_again_and_again(3, calls / 4);
}

TEST(Guests, ThreadsGoOnToTheCallsThatAreStillRunning) {
  if (cpu::hardware_threads() < 2) GTEST_SKIP() << "there is one core";
  ASSERT_TRUE(two_at_once());
  // There is one caller per core, so this call begins with only its own thread. The callers end; then other threads
  // must join its workers.
  std::atomic<int> callers{0};
  std::atomic<bool> begun{false};
  Threads others(cpu::hardware_threads(), [&](int) {
    cpu::run_workers(2, [&](int) {
      ++callers;
      while (!begun) std::this_thread::sleep_for(1ms);
    });
  });
  while (callers < cpu::hardware_threads()) std::this_thread::yield();
  std::mutex lock;
  std::set<std::thread::id> ran;
  const auto deadline = Clock::now() + kTimeLimit;
  cpu::run_workers(1000, [&](int) {
    begun = true;
    const std::lock_guard locked(lock);
    ran.insert(std::this_thread::get_id());
    if (ran.size() == 1 && Clock::now() < deadline) std::this_thread::sleep_for(5ms);
  });
  others.join();
  EXPECT_GE(ran.size(), 2U);
}

TEST(Guests, ACallerThatWaitsDoesNotKeepOthersFromRunning) {
  // A worker that reads a pipe may wait for data that another call writes.
  std::atomic<bool> written{false};
  const Threads readers(cpu::hardware_threads() + 2, [&](int) {
    cpu::run_workers(4, [&](int) {
      while (!written) std::this_thread::sleep_for(1ms);
    });
  });
  std::this_thread::sleep_for(20ms);
  EXPECT_TRUE(calls().right());
  written = true;
}

TEST(Guests, CallersNeedAStackOf256KiB) {
  if (tests::kSanitized) GTEST_SKIP() << "sanitizers need a larger stack";
  static_cast<void>(calls());  // its stack may have any size
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 << 10);  // as stated in policy.hpp
  static bool right = false;
  pthread_t caller{};
  const auto call = [](void*) -> void* {
    right = calls().right() && calls().right(seq);
    std::vector<std::int64_t> numbers(kCount);
    std::iota(numbers.rbegin(), numbers.rend(), 0);
    segmented_sort(par, std::array<std::int64_t, 2>{0, kCount}, numbers, numbers);
    right = right && std::ranges::is_sorted(numbers);
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&caller, &attributes, call, nullptr), 0);
  pthread_join(caller, nullptr);
  pthread_attr_destroy(&attributes);
  EXPECT_TRUE(right);
}

TEST(Guests, FloatModesOfTheCallerHoldOnEveryThread) {
  const std::vector<double> tiny(kCount, 1e-310);  // sums of these are denormal at first
  const unsigned mode = _mm_getcsr();
  for (const unsigned bits : {0U, unsigned{_MM_FLUSH_ZERO_ON}, unsigned{_MM_ROUND_UP}}) {
    const unsigned changed = mode | bits;
    _mm_setcsr(changed);
    const double one = sum_of(seq, tiny);
    const double all = sum_of(par.with_threads(4), tiny);
    _mm_setcsr(mode);
    EXPECT_EQ(one, all) << std::hex << changed;
  }
}

TEST(Guests, ThreadsAreNotBoundToTheCoreOfWhoCallsFirst) {
  if (cpu::hardware_threads() < 2) GTEST_SKIP() << "there is one core";
  ASSERT_EQ(threads_at_last(kAlone), kAlone);  // the next threads are new
  cpu_set_t usual;
  ASSERT_EQ(sched_getaffinity(0, sizeof usual, &usual), 0);
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(sched_getcpu()), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    int cores = 0;
    EXPECT_TRUE(on_a_helper([&] {
      cpu_set_t mine;
      sched_getaffinity(0, sizeof mine, &mine);
      cores = CPU_COUNT(&mine);
    }));
    EXPECT_EQ(cores, CPU_COUNT(&usual));
  }).join();
}

TEST(Guests, ThreadsAreNotOfTheRealTimeClassOfWhoCallsFirst) {
  if (cpu::hardware_threads() < 2) GTEST_SKIP() << "there is one core";
  ASSERT_EQ(threads_at_last(kAlone), kAlone);  // the next threads are new
  bool refused = false;
  int scheduling = -1;
  std::thread([&] {
    const sched_param lowest{.sched_priority = 1};
    refused = sched_setscheduler(0, SCHED_FIFO, &lowest) != 0;
    EXPECT_TRUE(refused || on_a_helper([&] { scheduling = sched_getscheduler(0); }));
  }).join();
  if (refused) GTEST_SKIP() << "the real-time classes are not available";
  EXPECT_EQ(scheduling, SCHED_OTHER);
}

TEST(Guests, HandlersOfTheProgramRunOnItsOwnThreads) {
  if (cpu::hardware_threads() < 2) GTEST_SKIP() << "there is one core";
  ASSERT_EQ(threads_at_last(kAlone), kAlone);  // the next threads are new
  const auto blocked = [] {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    std::set<int> signals;
    for (int signal = 1; signal < 32; ++signal) {
      if (sigismember(&mask, signal) == 1) signals.insert(signal);
    }
    return signals;
  };
  const std::set<int> before = blocked();
  std::set<int> on_helper;
  ASSERT_TRUE(on_a_helper([&] { on_helper = blocked(); }));
  for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGALRM, SIGCHLD, SIGIO, SIGPIPE}) {
    EXPECT_TRUE(on_helper.contains(signal)) << signal;
  }
  // If a signal that a thread's own instructions raise is blocked, the program ends silently. Profilers sample every
  // thread with SIGPROF.
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGPROF}) {
    EXPECT_FALSE(on_helper.contains(signal)) << signal;
  }
  EXPECT_EQ(blocked(), before) << "of the caller";
}

TEST(Guests, ACancelledThreadEndsAfterItsCall) {
  if (tests::kSanitized) GTEST_SKIP() << "sanitizers cannot follow a child of a program with threads";
  if (cpu::hardware_threads() < 2) GTEST_SKIP() << "there is one core";
  EXPECT_EQ(tests::in_child([] {
              static std::atomic<bool> waits{false};
              static std::atomic<bool> cancelled{false};
              static std::atomic<bool> returned{false};
              const auto call = [](void*) -> void* {
                on_a_helper([] {
                  waits = true;
                  while (!cancelled) std::this_thread::sleep_for(1ms);
                });
                returned = true;
                pthread_testcancel();
                return nullptr;
              };
              pthread_t caller{};
              pthread_create(&caller, nullptr, call, nullptr);
              while (!waits) std::this_thread::sleep_for(1ms);
              std::this_thread::sleep_for(10ms);
              pthread_cancel(caller);
              cancelled = true;
              void* result = nullptr;
              pthread_join(caller, &result);
              return returned && result == PTHREAD_CANCELED;
            }),
            0);
}

// ---- fork()

TEST(Guests, AChildComputesOnThreadsOfItsOwn) {
  if (tests::kSanitized) GTEST_SKIP() << "sanitizers cannot follow a child of a program with threads";
  ASSERT_TRUE(calls().right());
  EXPECT_EQ(tests::in_child([] { return calls().right() && calls().right(par.with_threads(7)); }), 0);
  EXPECT_TRUE(cpu::hardware_threads() == 1 || tests::in_child(two_at_once) == 0);
  EXPECT_EQ(tests::in_child([] {  // a grandchild, while the child has threads
              return calls().right() && tests::in_child([] { return calls().right(); }) == 0 && calls().right();
            }),
            0);
  EXPECT_TRUE(calls().right());
}

TEST(Guests, AChildForkedWhileOtherThreadsAreInCalls) {
  if (tests::kSanitized) GTEST_SKIP() << "sanitizers cannot follow a child of a program with threads";
  const std::vector<double> values(kCount / 4, 1.0);
  const auto sum = [&] { return sum_of(par.with_threads(7), values) == static_cast<double>(values.size()); };
  const Meanwhile others(3, sum);
  for (int child = 0; child < 100; ++child) ASSERT_EQ(tests::in_child([&] { return sum() && sum(); }), 0) << child;
  ASSERT_EQ(tests::in_child([] { return calls().right(); }), 0);
}

TEST(Guests, AProgramMayEndWhileAThreadIsInACall) {
  if (tests::kSanitized) GTEST_SKIP() << "sanitizers cannot follow a child of a program with threads";
  for (int again = 0; again < 20; ++again) {
    ASSERT_EQ(tests::in_child([] {
                const auto* const values = new std::vector<double>(kCount / 4, 1.0);  // is never freed
                for (int t = 0; t < 2; ++t) {
                  std::thread([values] {
                    for (;;) sum_of(par.with_threads(7), *values);
                  }).detach();
                }
                std::this_thread::sleep_for(3ms);
                return true;
              }),
              0);
  }
}

// ---- between calls

TEST(Guests, BetweenCallsThreadsSleep) {
  ASSERT_TRUE(calls().right(par.with_threads(7)));
  const auto used = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto time = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_usec) / 1e3;
    };
    return time(usage.ru_utime) + time(usage.ru_stime);
  };
  double in_300_ms = 0;
  for (const auto deadline = Clock::now() + kTimeLimit;
       Clock::now() < deadline;) {  // repeated, because a thread may not have run yet
    const double before = used();
    std::this_thread::sleep_for(300ms);
    in_300_ms = used() - before;
    if (in_300_ms < 30) break;
  }
  EXPECT_LT(in_300_ms, 30) << "milliseconds of CPU time";
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == std::to_string(getpid())) continue;
    std::string stat;
    std::getline(std::ifstream(task.path() / "stat"), stat);
    EXPECT_EQ(stat.substr(stat.rfind(')') + 1, 2), " S") << stat;
  }
}

TEST(Guests, AfterTheLastCallTheThreadsEnd) {
  ASSERT_TRUE(calls().right(par.with_threads(7)));
  if (tests::kSanitized) {
    EXPECT_EQ(threads_at_last(kAlone), kAlone);
    return;
  }
  // Not in this process: its other tests may leave threads of oneTBB and OpenMP.
  EXPECT_EQ(tests::in_child([] {
              const bool begun = cpu::hardware_threads() == 1 || two_at_once();
              return begun && calls().right(par.with_threads(7)) && threads_at_last(1) == 1;
            }),
            0);
}

// ---- calls from threads of oneTBB and OpenMP. They are last: after oneTBB has created threads, children of fork()
// crash in its destructors.

TEST(Guests, CallsInsideOneTbb) {
  if (tests::kSanitized) GTEST_SKIP() << "oneTBB is not instrumented";
  std::atomic<int> wrong{0};
  oneapi::tbb::parallel_for(0, 4, [&](int) {
    oneapi::tbb::parallel_for(0, 3, [&](int) {
      if (!calls().right()) ++wrong;
    });
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Guests, ACallInsideOneTbbTakesUpNoOtherTaskOfTheProgram) {
  if (tests::kSanitized) GTEST_SKIP() << "oneTBB is not instrumented";
  // The program may hold a lock during the call that its other tasks acquire.
  std::atomic<int> entered_again{0};
  oneapi::tbb::parallel_for(0, 64, [&](int) {
    static thread_local bool inside = false;
    if (inside) ++entered_again;
    inside = true;
    const auto caller = std::this_thread::get_id();
    cpu::run_workers(4, [&](int) {
      std::this_thread::sleep_for(std::this_thread::get_id() == caller ? 200us
                                                                       : 2ms);  // the caller waits for the others
    });
    inside = false;
  });
  EXPECT_EQ(entered_again, 0);
}

TEST(Guests, ACancelledTaskOfTheProgramStillGetsItsAnswer) {
  if (tests::kSanitized) GTEST_SKIP() << "oneTBB is not instrumented";
  bool right = false;
  oneapi::tbb::task_group group;
  group.run([&] {
    group.cancel();
    right = calls().right();
  });
  group.wait();
  EXPECT_TRUE(right);
}

TEST(Guests, CallsInsideOpenMp) {
#ifdef _OPENMP
  std::atomic<int> wrong{0};
#pragma omp parallel for num_threads(4)
  for (int i = 0; i < 12; ++i) {
    if (!calls().right()) ++wrong;
  }
  EXPECT_EQ(wrong, 0);
#else
  GTEST_SKIP() << "compiled without OpenMP";
#endif
}

}  // namespace
}  // namespace upsweep
