// SPDX-License-Identifier: Apache-2.0
// scale/shards/member_threads.hpp: a thread for each member of a group, kept from call to call, for work that waits on its device.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace upsweep::shards {

/// The first member's is the calling thread. A new thread's first call of CUDA takes 100 us and more.
class MemberThreads {
 public:
  MemberThreads() = default;
  ~MemberThreads() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    begin_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  MemberThreads(const MemberThreads&) = delete;
  MemberThreads& operator=(const MemberThreads&) = delete;

  /// work(m) of every member, which must not throw, at the same time. `members` is always the same.
  void run(std::size_t members, const std::function<void(std::size_t)>& work) {
    const std::lock_guard one_call(calling_);
    while (threads_.size() + 1 < members) {
      threads_.emplace_back([this, member = threads_.size() + 1, seen = round_] { serve(member, seen); });
    }
    {
      const std::lock_guard lock(mutex_);
      work_ = &work;
      left_ = members - 1;
      ++round_;
    }
    begin_.notify_all();
    work(0);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return left_ == 0; });
  }

 private:
  void serve(std::size_t member, std::uint64_t seen) {
    std::unique_lock lock(mutex_);
    for (;;) {
      begin_.wait(lock, [&] { return ends_ || round_ != seen; });
      if (ends_) return;
      seen = round_;
      const auto& work = *work_;
      lock.unlock();
      work(member);
      lock.lock();
      if (--left_ == 0) done_.notify_one();
    }
  }

  std::mutex calling_;
  std::mutex mutex_;
  std::condition_variable begin_;
  std::condition_variable done_;
  const std::function<void(std::size_t)>* work_ = nullptr;
  std::size_t left_ = 0;     ///< members whose work is not done
  std::uint64_t round_ = 0;  ///< calls so far
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace upsweep::shards
