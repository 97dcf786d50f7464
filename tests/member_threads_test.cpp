// SPDX-License-Identifier: Apache-2.0
// tests/member_threads_test.cpp: the threads that a group of GPUs keeps for its members; the test needs no GPU.
#include "scale/shards/member_threads.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace upsweep::shards {
namespace {

TEST(MemberThreads, EveryMemberWorksOnceInEveryCall) {
  MemberThreads threads;
  std::vector<int> calls(5);
  for (int call = 1; call <= 1000; ++call) {
    threads.run(calls.size(), [&](std::size_t member) { ++calls[member]; });
    ASSERT_EQ(calls, std::vector<int>(5, call));
  }
}

TEST(MemberThreads, AThreadIsAlwaysThatOfTheSameMember) {
  MemberThreads threads;
  std::vector<std::thread::id> first(4);
  std::vector<std::thread::id> later(4);
  threads.run(4, [&](std::size_t member) { first[member] = std::this_thread::get_id(); });
  for (int call = 0; call < 100; ++call) {
    threads.run(4, [&](std::size_t member) { later[member] = std::this_thread::get_id(); });
    ASSERT_EQ(later, first);
  }
  EXPECT_EQ(first[0], std::this_thread::get_id());
  for (std::size_t a = 0; a < 4; ++a) {
    for (std::size_t b = a + 1; b < 4; ++b) EXPECT_NE(first[a], first[b]);
  }
}

/// Each member waits for all others.
TEST(MemberThreads, MembersWorkAtTheSameTime) {
  MemberThreads threads;
  std::atomic<int> arrived{0};
  threads.run(3, [&](std::size_t) {
    ++arrived;
    while (arrived < 3) std::this_thread::yield();
  });
  EXPECT_EQ(arrived, 3);
}

TEST(MemberThreads, CallsOfSeveralThreadsComeOneAfterTheOther) {
  MemberThreads threads;
  std::vector<int> calls(3);
  std::atomic<int> working{0};
  std::atomic<bool> overlapped{false};
  std::vector<std::thread> callers;
  callers.reserve(4);
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int call = 0; call < 100; ++call) {
        threads.run(3, [&](std::size_t member) {
          if (++working > 3) overlapped = true;
          ++calls[member];
          --working;
        });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(calls, std::vector<int>(3, 400));
  EXPECT_FALSE(overlapped);
}

TEST(MemberThreads, OneMemberNeedsNone) {
  MemberThreads threads;
  std::thread::id found;
  threads.run(1, [&](std::size_t) { found = std::this_thread::get_id(); });
  EXPECT_EQ(found, std::this_thread::get_id());
}

TEST(MemberThreads, ThoseThatWereNeverCalledEnd) { const MemberThreads threads; }

}  // namespace
}  // namespace upsweep::shards
