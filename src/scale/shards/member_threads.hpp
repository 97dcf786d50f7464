// SPDX-License-Identifier: Apache-2.0
// scale/shards/member_threads.hpp: one thread per member of a group, kept from call to call, for work that waits on a
// device.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace upsweep::shards {

/// The calling thread serves the first member. The first CUDA call of a new thread takes 100 us or more.
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

  /// Runs work(m) for every member at the same time. It must not throw. `members` is the same in every call.
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
  std::size_t left_ = 0;     ///< members whose work is not finished
  std::uint64_t round_ = 0;  ///< number of calls so far
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace upsweep::shards
