// SPDX-License-Identifier: Apache-2.0
// tests/large_test.cpp: lengths above 2^31 and 2^32, in place and on 8-bit elements, so that they fit in 12 GB. Runs on
// two threads, which have the longest shares, and on 64.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <bit>
#include <climits>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "cpu/parallel.hpp"
#include "rungs.hpp"
#include "sparse.hpp"
#include "system/pages.hpp"
#include "system/quota.hpp"
#include "upsweep/filtered_sum.hpp"
#include "upsweep/ladder.hpp"
#include "upsweep/offsets.hpp"
#include "upsweep/reduce.hpp"
#include "upsweep/subset_sum.hpp"

// The library must see 64 cores on any machine: these functions replace those of the C library and its own.
extern "C" int sched_getaffinity(pid_t, std::size_t bytes, cpu_set_t* mask) noexcept {
  CPU_ZERO_S(bytes, mask);
  for (std::size_t core = 0; core < 64; ++core) CPU_SET_S(core, bytes, mask);
  return 0;
}
int upsweep::quota_cores(const std::filesystem::path&) noexcept { return INT_MAX; }

namespace upsweep {
namespace {

using tests::Sparse;

constexpr std::int64_t kPast31 = (std::int64_t{1} << 31) + 12345;
constexpr std::int64_t kPast32 = (std::int64_t{1} << 32) + 12345;

std::uint8_t element(std::int64_t i) { return static_cast<std::uint8_t>(i * 7 + (i >> 13)); }

TEST(Large, HasSixtyFourThreads) { ASSERT_EQ(cpu::hardware_threads(), 64); }

struct Size {
  std::int64_t n;
  int threads;
};

TEST(Large, ScansInPlacePastTheLimitsOf32Bits) {
  for (const auto& [n, threads] : {Size{kPast31, 64}, Size{kPast32, 2}}) {
    cpu::Pages<std::uint8_t> data(n);
    for (const auto& rung : tests::cpu_rungs("scan")) {
      if (rung.kind == Kind::library) continue;  // it is only compiled for wider elements
      for (std::int64_t i = 0; i < n; ++i) data[i] = element(i);
      inclusive_scan(par.with_threads(threads).with_rung(rung.id), data.data(), n, data.data());
      std::uint8_t sum = 0;
      std::int64_t wrong = -1;
      for (std::int64_t i = 0; i < n && wrong < 0; ++i) {
        sum = static_cast<std::uint8_t>(sum + element(i));
        if (data[i] != sum) wrong = i;
      }
      EXPECT_EQ(wrong, -1) << rung.id << " n " << n;
    }
  }
}

TEST(Large, CheckedFindsAnOverflowPastTheLimitsOf32Bits) {
  cpu::Pages<std::int8_t> data(kPast32);  // zeros
  data[0] = 127;
  data[kPast32 - 2] = 1;
  try {
    inclusive_scan(par.with_overflow(Overflow::checked), data.data(), kPast32, data.data());
    FAIL() << "no overflow found";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::overflow);
    EXPECT_EQ(error.index(), kPast32 - 2);
  }
}

TEST(Large, ReducesPastTheLimitsOf32Bits) {
  for (const std::int64_t n : {kPast31, kPast32}) {
    cpu::Pages<std::uint8_t> data(n);
    std::uint64_t expected = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      data[i] = element(i);
      expected += data[i];
    }
    for (const auto& rung : tests::cpu_rungs("reduce")) {
      if (rung.kind == Kind::library) continue;  // it needs the same type in and out
      EXPECT_EQ(reduce(par.with_rung(rung.id), data.data(), n, std::uint64_t{0}).value, expected) << rung.id;
    }
  }
}

/// Checks n lists of `each` elements, on `threads` threads, with every rung.
template <class T>
void check_offsets(std::int64_t n, std::int64_t each, int threads) {
  cpu::Pages<T> bounds(n + 1);
  for (std::int64_t i = 0; i <= n; ++i) bounds[i] = static_cast<T>(i * each);
  cpu::Pages<std::int64_t> offsets(n + 1);
  for (const auto& rung : tests::cpu_rungs("offsets")) {
    // Stops that follow the starts by one position are the adjacent case, which every rung must support.
    const Policy policy = par.with_threads(threads).with_rung(rung.id);
    const auto result = upsweep::offsets(policy, bounds.data(), bounds.data() + 1, n, offsets.data());
    EXPECT_EQ(result.total, each * n) << rung.id;
    std::int64_t wrong = -1;
    for (std::int64_t i = 0; i <= n && wrong < 0; ++i) wrong = offsets[i] == each * i ? -1 : i;
    EXPECT_EQ(wrong, -1) << rung.id;
  }
}

TEST(Large, OffsetsPastTheLimitsOf32Bits) {
  // 2^29 lists: byte offsets exceed 2^32; 2 GB of bounds shared by starts and stops, 4 GB of offsets.
  constexpr std::int64_t kLists = (std::int64_t{1} << 29) + 77;
  check_offsets<std::int32_t>(kLists, 3, 2);
  check_offsets<std::uint32_t>(kLists, 5, 64);  // 2.7e9 elements
}

TEST(Large, FilteredSumsPastTheLimitsOf32Bits) {
  // Payload that is not written uses no memory. There are 9 GB of keys, of which few are kept, and rows beyond 2^32
  // that are all kept.
  for (const std::int64_t n : {kPast31, kPast32}) {
    const bool few = n == kPast31;
    Sparse<std::uint32_t> key(n);
    Sparse<std::int64_t> quantity(n);
    Sparse<std::int64_t> price(n);
    if (few) std::fill_n(key.data(), n, 7U);
    std::int64_t expected = 0;
    for (const std::int64_t i : {std::int64_t{0}, std::int64_t{12345}, (std::int64_t{1} << 31) + 3, n - 2, n - 1}) {
      if (i >= n) continue;
      key[i] = 0;
      quantity[i] = i + 1;
      price[i] = 3;
      expected += 3 * (i + 1);
    }
    for (const auto& rung : tests::cpu_rungs("filtered-sum")) {
      EXPECT_EQ(filtered_sum(par.with_rung(rung.id), key.data(), quantity.data(), price.data(), n, 1), expected)
          << rung.id << " n " << n;
      EXPECT_EQ(filtered_sum(par.with_rung(rung.id), key.data(), quantity.data(), price.data(), n, 0), 0) << rung.id;
    }
  }
}

/// Ten items, one of them above 2^32. They have 274 sums up to kPast32, of which 42 are also above 2^32.
std::vector<std::int64_t> items_past_32() {
  constexpr std::int64_t k31 = std::int64_t{1} << 31;
  return {1, 63, 4096 - 64, 8193, 2 * k31 + 5, k31 / 4 - 7, k31 / 2 + 1000, k31 - 1, k31 + 64, k31 + 4159};
}

/// Returns the sums of all subsets, ascending, without duplicates.
std::vector<std::int64_t> all_sums(const std::vector<std::int64_t>& items) {
  std::vector<std::int64_t> sums{0};
  for (const std::int64_t item : items) {
    const auto without = std::ssize(sums);
    for (std::int64_t i = 0; i < without; ++i) sums.push_back(sums[static_cast<std::size_t>(i)] + item);
  }
  std::sort(sums.begin(), sums.end());
  sums.erase(std::unique(sums.begin(), sums.end()), sums.end());
  return sums;
}

TEST(Large, SubsetSumsPastTheLimitsOf32Bits) {
  // Bitmaps of 537 MB. The rungs with tables of bytes would need 8.6 and 43 GB.
  const std::vector<std::int64_t> items = items_past_32();
  std::vector<std::int64_t> expected = all_sums(items);
  std::erase_if(expected, [](std::int64_t sum) { return sum > kPast32; });
  ASSERT_GT(expected.back(), kPast32 - 100);
  const std::int64_t words = kPast32 / 64 + 1;
  cpu::Pages<std::uint64_t> sums(words);
  for (const std::string_view rung : {"cpu.bits", "cpu.bits_simd", "cpu.enumerate"}) {
    std::fill_n(sums.data(), words, 0xA5A5A5A5A5A5A5A5U);
    EXPECT_EQ(reachable_sums(par.with_rung(rung), items.data(), std::ssize(items), kPast32, sums.data()), rung);
    std::int64_t bits = 0;
    for (std::int64_t w = 0; w < words; ++w) bits += std::popcount(sums[w]);
    EXPECT_EQ(bits, std::ssize(expected)) << rung;
    const auto missing = std::find_if(expected.begin(), expected.end(),
                                      [&](std::int64_t sum) { return (sums[sum / 64] >> (sum % 64) & 1) == 0; });
    EXPECT_EQ(missing - expected.begin(), std::ssize(expected)) << rung;
  }
}

TEST(Large, SubsetsThatAddUpPastTheLimitsOf32Bits) {
  const std::vector<std::int64_t> items = items_past_32();
  const std::vector<std::int64_t> sums = all_sums(items);
  const std::int64_t target = *(std::upper_bound(sums.begin(), sums.end(), kPast32) - 1);
  ASSERT_NE(target, kPast32);
  const Policy policy = par.with_rung("cpu.bits_simd");
  const SubsetSum yes = find_subset(policy, items, target, {.reduce = false});
  ASSERT_TRUE(yes);
  EXPECT_EQ(yes.rung, policy.rung);
  std::int64_t sum = 0;
  for (const std::int64_t index : yes.indices) sum += items[static_cast<std::size_t>(index)];
  EXPECT_EQ(sum, target);
  // This sum does not exist; the nearest one below is the previous one again.
  EXPECT_FALSE(find_subset(policy, items, kPast32, {.witness = false, .reduce = false}));
  const SubsetSumOptions closest{.witness = false, .below = kPast32, .reduce = false};
  EXPECT_EQ(find_subset(policy, items, kPast32, closest).sum, target);
}

TEST(Large, TotalsPassTwoToTheThirtyTwo) {
  const std::int64_t n = 6;
  const std::vector<std::uint32_t> starts(n, 0);
  const std::vector<std::uint32_t> stops(n, UINT32_MAX);
  std::vector<std::int64_t> offsets(n + 1);
  for (const auto& rung : tests::cpu_rungs("offsets")) {
    if (rung.id == "cpu.adjacent") continue;
    upsweep::offsets(par.with_rung(rung.id), starts, stops, offsets);
    for (std::int64_t i = 0; i <= n; ++i)
      EXPECT_EQ(offsets[static_cast<std::size_t>(i)], i * INT64_C(4294967295)) << rung.id;
  }
}

}  // namespace
}  // namespace upsweep
