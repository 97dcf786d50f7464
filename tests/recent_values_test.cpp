// SPDX-License-Identifier: Apache-2.0
// tests/recent_values_test.cpp: a cache of recently used values: what it keeps, drops and makes again, for one thread
// and for several.
#include "system/recent_values.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace upsweep {
namespace {

using Values = RecentValues<int, std::string>;

std::shared_ptr<const std::string> text_of(int key) { return std::make_shared<const std::string>(std::to_string(key)); }

TEST(RecentValues, KeepsTheLastOnesUsed) {
  Values values(3);
  std::vector<int> made;
  const auto get = [&](int key) {
    return *values.get(key, [&] {
      made.push_back(key);
      return text_of(key);
    });
  };
  for (const int key : {1, 2, 3, 1, 4}) EXPECT_EQ(get(key), std::to_string(key));  // 4 replaces 2
  EXPECT_EQ(made, (std::vector<int>{1, 2, 3, 4}));
  for (const int key : {1, 3, 4}) EXPECT_EQ(get(key), std::to_string(key));
  EXPECT_EQ(made.size(), 4U);
  EXPECT_EQ(get(2), "2");
  EXPECT_EQ(made.back(), 2);
}

TEST(RecentValues, AValueThatIsDroppedLivesAsLongAsItIsHeld) {
  Values values(1);
  const auto held = values.get(1, [] { return text_of(1); });
  const std::weak_ptr<const std::string> second = values.get(2, [] { return text_of(2); });
  EXPECT_FALSE(second.expired());
  (void)values.get(3, [] { return text_of(3); });
  EXPECT_TRUE(second.expired());
  EXPECT_EQ(*held, "1");
}

TEST(RecentValues, WhatFailedIsTriedAgain) {
  Values values(2);
  const auto fail = []() -> std::shared_ptr<const std::string> { throw std::runtime_error("not made"); };
  EXPECT_THROW((void)values.get(1, fail), std::runtime_error);
  EXPECT_EQ(*values.get(1, [] { return text_of(1); }), "1");
}

TEST(RecentValues, OneThatTakesLongDelaysNoOther) {
  Values values(8);
  std::promise<void> may_end;
  std::promise<void> has_begun;
  std::thread slow([&] {
    (void)values.get(1, [&] {
      has_begun.set_value();
      may_end.get_future().wait();
      return text_of(1);
    });
  });
  has_begun.get_future().wait();
  EXPECT_EQ(*values.get(2, [] { return text_of(2); }), "2");  // would wait forever if it waited for 1
  may_end.set_value();
  slow.join();
}

/// A value that accesses the cache when it is dropped.
struct AsksWhenDropped {
  RecentValues<int, AsksWhenDropped>* values;
  ~AsksWhenDropped() {
    if (values == nullptr) return;
    (void)values->get(2, [] { return std::make_shared<const AsksWhenDropped>(nullptr); });
  }
};

TEST(RecentValues, OneThatIsDroppedDelaysNoOther) {
  RecentValues<int, AsksWhenDropped> values(1);
  (void)values.get(1, [&] { return std::make_shared<const AsksWhenDropped>(&values); });
  // Would wait forever if 1 were dropped under the lock.
  (void)values.get(2, [] { return std::make_shared<const AsksWhenDropped>(nullptr); });
}

TEST(RecentValues, ThreadsThatAskForOneKeyMakeItOnce) {
  Values values(8);
  std::atomic<int> made{0};
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int key = 0; key < 8; ++key) {
        const auto value = values.get(key, [&] {
          ++made;
          return text_of(key);
        });
        EXPECT_EQ(*value, std::to_string(key));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 8);
}

}  // namespace
}  // namespace upsweep
