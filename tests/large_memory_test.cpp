// SPDX-License-Identifier: Apache-2.0
// tests/large_memory_test.cpp: memory of large vectors: no two allocations share a byte, and freed memory is reused.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "patterns.hpp"
#include "upsweep/detail/unwritten_memory.hpp"

namespace upsweep {
namespace {

/// Memory that is filled with one value.
class Block {
 public:
  Block(std::size_t bytes, std::uint8_t value)
      : data_(static_cast<std::uint8_t*>(detail::take_memory(bytes))), bytes_(bytes), value_(value) {
    std::fill_n(data_, bytes_, value_);
  }
  Block(Block&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_), value_(other.value_) {}
  Block& operator=(Block&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(value_, other.value_);
    return *this;
  }
  ~Block() {
    if (data_ != nullptr) detail::give_memory(data_, bytes_);
  }

  [[nodiscard]] bool is_whole() const {
    return std::all_of(data_, data_ + bytes_, [&](std::uint8_t byte) { return byte == value_; });
  }
  [[nodiscard]] const std::uint8_t* data() const { return data_; }

 private:
  std::uint8_t* data_;
  std::size_t bytes_;
  std::uint8_t value_;
};

/// From one byte to some megabytes, mostly near the borders of units and chunks.
std::size_t some_bytes(std::mt19937_64& random) {
  const std::size_t borders[] = {1, 1 << 10, 1 << 16, 3 << 16, 1 << 20, 2 << 20, 5 << 20};
  const std::size_t border = borders[random() % std::size(borders)];
  const std::size_t bytes = random() % 2 == 0 ? border + random() % 3 - 1 : border + random() % border;
  return std::max<std::size_t>(bytes, 1);
}

void take_and_give(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Block> blocks;
  std::optional<detail::LargeMemoryUse> use;
  for (int i = 0; i < (tests::kSanitized ? 60 : 400); ++i) {
    if (i % 30 == 0) use.emplace();
    if (i % 30 == 20) use.reset();
    if (blocks.size() > 12 || (!blocks.empty() && random() % 3 == 0)) {
      const auto which = blocks.begin() + static_cast<std::ptrdiff_t>(random() % blocks.size());
      ASSERT_TRUE(which->is_whole());
      std::swap(*which, blocks.back());
      blocks.pop_back();
    } else {
      blocks.emplace_back(some_bytes(random), static_cast<std::uint8_t>(random()));
    }
  }
  for (const Block& block : blocks) ASSERT_TRUE(block.is_whole());
}

TEST(LargeMemory, NoTwoBlocksHaveAByteInCommon) { take_and_give(1); }

TEST(LargeMemory, NorThoseOfSeveralThreads) {
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (std::uint64_t t = 0; t < 4; ++t) threads.emplace_back(take_and_give, t + 10);
  for (std::thread& thread : threads) thread.join();
}

TEST(LargeMemory, WhatIsGivenBackIsTheNextOnes) {
  if (tests::kSanitized) GTEST_SKIP() << "sanitizers watch malloc()'s memory";
  constexpr std::size_t kBytes = std::size_t{6} << 20;
  const std::uint8_t* first = nullptr;
  {
    const Block block(kBytes, 1);
    first = block.data();
  }
  const Block second(kBytes - 1, 2);
  EXPECT_EQ(second.data(), first);
}

TEST(LargeMemory, AChildOfForkHasWhatItsParentHad) {
  const detail::LargeMemoryUse use;
  std::atomic<bool> stop{false};
  std::thread other([&] {
    for (std::uint8_t i = 0; !stop; ++i) (void)Block(std::size_t{100} << 10, i);
  });
  const Block mine(std::size_t{3} << 20, 7);
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      const Block its(std::size_t{200} << 10, 9);
      _exit(mine.is_whole() && its.is_whole() ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  other.join();
}

TEST(LargeMemory, VectorsOfItAreVectors) {
  detail::Large<std::int32_t> zeros(100'000);
  EXPECT_TRUE(std::all_of(zeros.begin(), zeros.end(), [](std::int32_t value) { return value == 0; }));
  detail::Large<std::int32_t> grown;
  for (std::int32_t i = 0; i < 100'000; ++i) grown.push_back(i);
  const detail::Large<std::int32_t> copy = grown;
  for (std::int32_t i = 0; i < 100'000; ++i) ASSERT_EQ(copy[static_cast<std::size_t>(i)], i);
  EXPECT_THROW(detail::Large<std::int64_t>().reserve(std::size_t{1} << 61), std::length_error);
}

}  // namespace
}  // namespace upsweep
