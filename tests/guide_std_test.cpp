// SPDX-License-Identifier: Apache-2.0
// tests/guide_std_test.cpp: the examples of docs/guide/for_thrust.md on the CPU: the standard library and upsweep must
// produce the same results.
//
// The guide shows the code between `// [name]` and `// [end]`.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <execution>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "upsweep/filtered_sum.hpp"
#include "upsweep/reduce.hpp"
#include "upsweep/scan.hpp"
#include "upsweep/segmented_reduce.hpp"
#include "upsweep/segmented_sort.hpp"
#include "upsweep/select.hpp"

namespace {

/// Each test computes the same result twice: into `theirs` with the standard library, into `ours` with upsweep.
struct GuideStd : testing::Test {
  GuideStd() {
    std::mt19937_64 random(7);
    for (int& each : x) each = static_cast<int>(random() % 200) - 100;
    for (std::uint8_t& each : flags) each = static_cast<std::uint8_t>(random() % 2);
    while (offsets.back() + 7 < std::ssize(x)) {
      offsets.push_back(offsets.back() + static_cast<std::int64_t>(random() % 8));
    }
    offsets.push_back(std::ssize(x));
  }

  static constexpr std::size_t kLength = 100'003;
  // Names as in the guide's text. `theirs` and `ours` differ before the calls.
  std::vector<int> x = std::vector<int>(kLength);
  std::vector<std::uint8_t> flags = std::vector<std::uint8_t>(kLength);
  std::vector<std::int64_t> offsets = {0};
  std::vector<int> theirs = std::vector<int>(kLength, 1'000'000'000);
  std::vector<int> ours = std::vector<int>(kLength, -1'000'000'000);
};

TEST_F(GuideStd, InclusiveScan) {
  // [inclusive scan]
  // std
  std::inclusive_scan(std::execution::par, x.begin(), x.end(), theirs.begin());
  // upsweep
  upsweep::inclusive_scan(upsweep::par, x, ours);
  // [end]
  EXPECT_EQ(theirs, ours);
}

TEST_F(GuideStd, WiderSums) {
  std::vector<std::int64_t> their_longs(kLength, 1);
  std::vector<std::int64_t> our_longs(kLength, 2);
  // [wider sums]
  // std: the type of the initial value
  std::inclusive_scan(std::execution::par, x.begin(), x.end(), their_longs.begin(), std::plus<>{}, std::int64_t{0});
  // upsweep: the type of the output
  upsweep::inclusive_scan(upsweep::par, x, our_longs);
  // [end]
  EXPECT_EQ(their_longs, our_longs);
}

TEST_F(GuideStd, ExclusiveScan) {
  constexpr int kLeast = std::numeric_limits<int>::min();
  // [exclusive scan]
  // std
  const auto larger = [](int a, int b) { return std::max(a, b); };
  std::exclusive_scan(std::execution::par, x.begin(), x.end(), theirs.begin(), kLeast, larger);
  // upsweep
  upsweep::exclusive_scan(upsweep::par, x, ours, kLeast, upsweep::max);
  // [end]
  EXPECT_EQ(theirs, ours);
}

TEST_F(GuideStd, OperatorsOfOnesOwn) {
  // [own operator]
  const auto fill_forward = [](int before, int after) { return after != 0 ? after : before; };
  // std
  std::inclusive_scan(std::execution::par, x.begin(), x.end(), theirs.begin(), fill_forward);
  // upsweep
  upsweep::inclusive_scan(upsweep::par, x, ours, fill_forward);
  // [end]
  EXPECT_EQ(theirs, ours);
}

TEST_F(GuideStd, Reduce) {
  // [reduce]
  // std
  const std::int64_t sum = std::reduce(std::execution::par, x.begin(), x.end(), std::int64_t{0});
  // upsweep
  const std::int64_t same = upsweep::reduce(upsweep::par, x, std::int64_t{0});
  // [end]
  EXPECT_EQ(sum, same);
}

TEST_F(GuideStd, Count) {
  // [count]
  // std
  const auto kept = std::count(std::execution::par, flags.begin(), flags.end(), 1);
  // upsweep
  const std::int64_t same = upsweep::count_kept(upsweep::par, flags);
  // [end]
  EXPECT_EQ(kept, same);
}

TEST_F(GuideStd, CopyIf) {
  // [copy if]
  // std: the condition only sees the element
  const auto end =
      std::copy_if(std::execution::par, x.begin(), x.end(), theirs.begin(), [](int each) { return each > 0; });
  // upsweep: a mask, one byte or one bit per element, computed in any way
  std::vector<std::uint8_t> mask(x.size());
  std::transform(x.begin(), x.end(), mask.begin(), [](int each) { return each > 0 ? 1 : 0; });
  const std::int64_t kept = upsweep::select(upsweep::par, mask, x, ours);
  // [end]
  ASSERT_EQ(end - theirs.begin(), kept);
  EXPECT_TRUE(std::equal(theirs.begin(), end, ours.begin()));
}

TEST_F(GuideStd, StablePartition) {
  theirs = x;
  std::vector<std::uint8_t> mask(x.size());
  std::transform(x.begin(), x.end(), mask.begin(), [](int each) { return each > 0 ? 1 : 0; });
  // [stable partition]
  // std: in place; theirs is a copy of x
  std::stable_partition(std::execution::par, theirs.begin(), theirs.end(), [](int each) { return each > 0; });
  // upsweep: into another array
  upsweep::partition(upsweep::par, mask, x, ours);
  // [end]
  EXPECT_EQ(theirs, ours);
}

TEST_F(GuideStd, Gather) {
  std::vector<std::int64_t> at(kLength);
  for (std::size_t i = 0; i < kLength; ++i) at[i] = static_cast<std::int64_t>(i * 7919 % kLength);
  // [gather]
  // std: an invalid index reads other memory
  std::transform(std::execution::par, at.begin(), at.end(), theirs.begin(),
                 [&](std::int64_t i) { return x[static_cast<std::size_t>(i)]; });
  // upsweep: an invalid index is an error; -1 is the last element
  upsweep::take(upsweep::par, x, at, ours);
  // [end]
  EXPECT_EQ(theirs, ours);
}

TEST_F(GuideStd, FilteredSum) {
  std::vector<std::uint32_t> key(kLength);
  std::iota(key.begin(), key.end(), 0U);
  const std::vector<std::int64_t> quantity(kLength, 3);
  const std::vector<std::int64_t> price(key.begin(), key.end());
  // [filtered sum]
  // std
  std::vector<std::size_t> row(key.size());
  std::iota(row.begin(), row.end(), std::size_t{0});
  const std::int64_t sum =
      std::transform_reduce(std::execution::par, row.begin(), row.end(), std::int64_t{0}, std::plus<>{},
                            [&](std::size_t i) { return key[i] < 3000 ? quantity[i] * price[i] : std::int64_t{0}; });
  // upsweep
  const std::int64_t same = upsweep::filtered_sum(upsweep::par, key, quantity, price, 3000);
  // [end]
  EXPECT_EQ(sum, same);
  EXPECT_EQ(sum, 3 * 2999 * 3000 / 2);
}

TEST_F(GuideStd, MaximaOfLists) {
  const std::size_t lists = offsets.size() - 1;
  theirs.resize(lists);
  ours.resize(lists);
  // [segmented reduce]
  // std: threads share lists, whatever their lengths
  std::transform(std::execution::par, offsets.begin(), offsets.end() - 1, offsets.begin() + 1, theirs.begin(),
                 [&](std::int64_t start, std::int64_t stop) {
                   return std::accumulate(x.begin() + start, x.begin() + stop, 0,
                                          [](int a, int b) { return std::max(a, b); });
                 });
  // upsweep: threads share elements
  upsweep::segmented_reduce(upsweep::par, offsets, x, ours, 0, upsweep::max);
  // [end]
  EXPECT_EQ(theirs, ours);
}

TEST_F(GuideStd, ListsSorted) {
  theirs = x;
  // [segmented sort]
  // std; theirs is a copy of x
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    std::stable_sort(theirs.begin() + offsets[i], theirs.begin() + offsets[i + 1]);
  }
  // upsweep
  upsweep::segmented_sort(upsweep::par, offsets, x, ours);
  // [end]
  EXPECT_EQ(theirs, ours);
}

}  // namespace
