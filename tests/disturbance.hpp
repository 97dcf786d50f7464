// SPDX-License-Identifier: Apache-2.0
// tests/disturbance.hpp: delays threads of this process at random, like a host that takes cores away.
#pragma once

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <ctime>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace upsweep::tests {

/// Sleeps for one to five milliseconds in the interrupted thread.
inline void hold_up(int) {
  static std::atomic<unsigned> count{0};
  const int saved = errno;
  const timespec pause{0, 1000000L * (1 + count++ % 5)};
  nanosleep(&pause, nullptr);
  errno = saved;
}

/// Binds every thread of this process to one core, including new threads, and delays one of them from time to time.
/// Either can be disabled.
class Disturbance {
 public:
  explicit Disturbance(bool binds = true, bool holds_up = true) : binds_(binds), holds_up_(holds_up) {
    struct sigaction action{};
    action.sa_handler = hold_up;
    action.sa_flags = SA_RESTART;
    sigaction(kSignal, &action, nullptr);
    thread_ = std::thread([this] { disturb(); });
  }
  ~Disturbance() {
    ended_ = true;
    thread_.join();
  }
  Disturbance(const Disturbance&) = delete;
  Disturbance& operator=(const Disturbance&) = delete;

 private:
  static constexpr int kSignal = SIGPROF;  // the library's own threads do not block this signal

  void disturb() {
    std::mt19937 random(7);
    cpu_set_t core;
    CPU_ZERO(&core);
    CPU_SET(static_cast<std::size_t>(sched_getcpu()), &core);
    while (!ended_) {
      std::vector<pid_t> threads;
      for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        const pid_t thread = std::stoi(task.path().filename());
        if (binds_) sched_setaffinity(thread, sizeof core, &core);  // fails if the thread has ended
        if (thread != gettid()) threads.push_back(thread);
      }
      if (holds_up_) syscall(SYS_tgkill, getpid(), threads[random() % threads.size()], kSignal);
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
    }
  }

  bool binds_;
  bool holds_up_;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

}  // namespace upsweep::tests
