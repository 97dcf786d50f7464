// SPDX-License-Identifier: Apache-2.0
// tests/by_key_test.cpp: reductions and scans by keys are compared with a loop: types, lengths of runs, NaN, errors,
// threads.
#include "upsweep/by_key.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "key_runs.hpp"
#include "patterns.hpp"
#include "rungs.hpp"

namespace upsweep {
namespace {

using tests::code_of;
using tests::Guarded;
using tests::runs_of;

constexpr std::int64_t kSizes[] = {0, 1, 2, 3, 511, 512, 513, 4097, 200'003};

/// Returns the offsets of the runs, one key after the other.
template <class T>
std::vector<std::int64_t> expected_offsets(const std::vector<T>& keys) {
  std::vector<std::int64_t> offsets;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i == 0 || keys[i] != keys[i - 1]) offsets.push_back(static_cast<std::int64_t>(i));
  }
  offsets.push_back(std::ssize(keys));
  return offsets;
}

template <class T>
class ByKeys : public testing::Test {};
TYPED_TEST_SUITE(ByKeys, tests::ElementTypes);

TYPED_TEST(ByKeys, AllRunsAreFoundReducedAndScanned) {
  using T = TypeParam;
  for (const std::int64_t n : kSizes) {
    for (const std::int64_t longest : {1, 3, 700}) {
      for (const int threads : {1, 3}) {
        SCOPED_TRACE(testing::Message() << n << " keys, runs of up to " << longest << ", threads " << threads);
        const Policy policy = par.with_threads(threads);
        const auto keys = runs_of<T>(n, longest);
        const auto right = expected_offsets(keys);
        const std::int64_t runs = std::ssize(right) - 1;
        ASSERT_EQ(count_key_runs(policy, keys), runs);
        Guarded<std::int64_t> offsets(runs + 1, 0);
        ASSERT_EQ(key_offsets(policy, keys, std::span(offsets.data(), right.size())), runs);
        ASSERT_TRUE(offsets.intact());
        ASSERT_TRUE(std::equal(right.begin(), right.end(), offsets.data()));

        std::vector<std::int64_t> values(keys.size());
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i % 17) - 8;
        std::vector<T> out_keys(static_cast<std::size_t>(runs));
        std::vector<std::int64_t> sums(static_cast<std::size_t>(runs));
        std::vector<std::int64_t> inclusive(keys.size());
        std::vector<std::int64_t> exclusive(keys.size());
        ASSERT_EQ(reduce_by_key(policy, keys, values, out_keys, sums).runs, runs);
        inclusive_scan_by_key(policy, keys, values, inclusive);
        exclusive_scan_by_key(policy, keys, values, exclusive, 5, add);
        for (std::size_t r = 0; r < sums.size(); ++r) {
          std::int64_t sum = 0;
          for (auto i = static_cast<std::size_t>(right[r]); i < static_cast<std::size_t>(right[r + 1]); ++i) {
            ASSERT_EQ(exclusive[i], sum + 5) << "element " << i;
            sum += values[i];
            ASSERT_EQ(inclusive[i], sum) << "element " << i;
          }
          ASSERT_EQ(sums[r], sum) << "run " << r;
          ASSERT_EQ(out_keys[r], keys[static_cast<std::size_t>(right[r])]) << "run " << r;
        }
      }
    }
  }
}

TEST(ByKey, PointersAndLengthsGiveWhatArraysDo) {
  const std::vector<std::int32_t> keys{2, 2, 5, 5, 5, 7};
  const std::vector<std::int64_t> values{1, 2, 3, 4, 5, 6};
  const std::int64_t n = std::ssize(keys);
  EXPECT_EQ(count_key_runs(par, keys.data(), n), 3);
  std::vector<std::int64_t> offsets(4);
  EXPECT_EQ(key_offsets(par, keys.data(), n, offsets.data(), 4), 3);
  EXPECT_EQ(offsets, (std::vector<std::int64_t>{0, 2, 5, 6}));
  EXPECT_EQ(code_of([&] { key_offsets(par, keys.data(), n, offsets.data(), 3); }), Code::unequal_lengths);

  std::vector<std::int32_t> out_keys(3);
  std::vector<std::int64_t> out(3);
  EXPECT_EQ(reduce_by_key(par, keys.data(), values.data(), n, out_keys.data(), out.data(), 3).runs, 3);
  EXPECT_EQ(out_keys, (std::vector<std::int32_t>{2, 5, 7}));
  EXPECT_EQ(out, (std::vector<std::int64_t>{3, 12, 6}));
  reduce_by_key(par, keys.data(), values.data(), n, out_keys.data(), out.data(), 3, 4, max);
  EXPECT_EQ(out, (std::vector<std::int64_t>{4, 5, 6}));
  EXPECT_EQ(code_of([&] { reduce_by_key(par, keys.data(), values.data(), n, out_keys.data(), out.data(), 2); }),
            Code::unequal_lengths);

  std::vector<std::int64_t> scanned(6);
  inclusive_scan_by_key(par, keys.data(), values.data(), n, scanned.data(), 10, add);
  EXPECT_EQ(scanned, (std::vector<std::int64_t>{11, 13, 13, 17, 22, 16}));
  inclusive_scan_by_key(par, keys.data(), values.data(), n, scanned.data());
  EXPECT_EQ(scanned, (std::vector<std::int64_t>{1, 3, 3, 7, 12, 6}));
  exclusive_scan_by_key(par, keys.data(), values.data(), n, scanned.data(), 10);
  EXPECT_EQ(scanned, (std::vector<std::int64_t>{10, 11, 10, 13, 17, 10}));
  exclusive_scan_by_key(par, keys.data(), values.data(), n, scanned.data());
  EXPECT_EQ(scanned, (std::vector<std::int64_t>{0, 1, 0, 3, 7, 0}));
}

TEST(ByKey, FloatsAreEqualAsNumbersAreAndNanIsOneKey) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> keys{-0.0, 0.0, 1.0, nan, -nan, 1.0};
  std::vector<std::int64_t> offsets(5);
  EXPECT_EQ(key_offsets(par, keys, offsets), 4);
  EXPECT_EQ(offsets, (std::vector<std::int64_t>{0, 2, 3, 5, 6}));
}

TEST(ByKey, OperatorsOfOnesOwnAreAppliedInOrder) {
  const std::vector<int> keys{1, 1, 1, 4, 4};
  const std::vector<int> digits{1, 2, 3, 4, 5};
  std::vector<int> out_keys(2);
  std::vector<int> numbers(2);
  const auto join = [](int left, int right) { return 10 * left + right; };
  reduce_by_key(par, keys, digits, out_keys, numbers, 0, join);
  EXPECT_EQ(numbers, (std::vector<int>{123, 45}));
}

TEST(ByKey, WhatIsWrongIsReported) {
  const std::vector<int> keys{1, 1, 2};
  const std::vector<std::int32_t> values{1, std::numeric_limits<std::int32_t>::max(), 3};
  std::vector<int> out_keys(2);
  std::vector<std::int32_t> out(2);
  try {
    reduce_by_key(par.with_overflow(Overflow::checked), keys, values, out_keys, out);
    ADD_FAILURE() << "the overflow of the first run's sum was not reported";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::overflow);
    EXPECT_EQ(error.index(), 0);
  }

  std::vector<std::int32_t> few(1);
  EXPECT_EQ(code_of([&] { reduce_by_key(par, keys, values, out_keys, few); }), Code::unequal_lengths);
  std::vector<int> few_keys(1);
  EXPECT_EQ(code_of([&] { reduce_by_key(par, keys, values, few_keys, out); }), Code::unequal_lengths);
  std::vector<std::int64_t> few_offsets(2);
  EXPECT_EQ(code_of([&] { key_offsets(par, keys, few_offsets); }), Code::unequal_lengths);
  EXPECT_EQ(code_of([&] { key_offsets(par.with_rung("cpu.serial"), keys, few_offsets); }), Code::unsupported);
  EXPECT_EQ(code_of([&] { count_key_runs(par.with_rung("cpu.serial"), keys); }), Code::unsupported);
  const std::vector<std::int32_t> more(4);
  EXPECT_EQ(code_of([&] { reduce_by_key(par, keys, more, out_keys, out); }), Code::unequal_lengths);
  auto both = keys;
  EXPECT_EQ(code_of([&] { reduce_by_key(par, both, values, both, out); }), Code::invalid_argument);
}

}  // namespace
}  // namespace upsweep
