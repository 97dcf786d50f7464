// SPDX-License-Identifier: Apache-2.0
// tests/awkward_golden_test.cpp: Awkward Array's own cases for compact_offsets, run with every rung and with the three
// C functions of libupsweep-awkward. The other functions are tested in awkward_kernels_test.cpp.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "awkward_library.hpp"
#include "golden.hpp"
#include "lists.hpp"
#include "patterns.hpp"
#include "rungs.hpp"
#include "upsweep/awkward.h"
#include "upsweep/ladder.hpp"
#include "upsweep/offsets.hpp"

namespace upsweep {
namespace {

using tests::Bounds;
using tests::Failure;
using tests::Guarded;
using tests::kNothing;
using tests::ListPattern;

// The layout that callers compiled against Awkward's own header expect.
static_assert(sizeof(upsweep_awkward_error) == 32 && offsetof(upsweep_awkward_error, str) == 0 &&
              offsetof(upsweep_awkward_error, filename) == 8 && offsetof(upsweep_awkward_error, identity) == 16 &&
              offsetof(upsweep_awkward_error, attempt) == 24);

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

template <class T>
using Kernel = upsweep_awkward_error (*)(std::int64_t*, const T*, const T*, std::int64_t);

template <class T>
Kernel<T> kernel() {
  const char* name = std::is_same_v<T, std::int32_t>    ? "awkward_ListArray32_compact_offsets_64"
                     : std::is_same_v<T, std::uint32_t> ? "awkward_ListArrayU32_compact_offsets_64"
                                                        : "awkward_ListArray64_compact_offsets_64";
  return reinterpret_cast<Kernel<T>>(tests::awkward_symbol(name));
}

/// Converts the struct to the outcome that it represents, and checks its other members.
Failure outcome_of(const upsweep_awkward_error& error) {
  EXPECT_EQ(error.attempt, kNothing);
  if (error.str == nullptr) {
    EXPECT_EQ(error.identity, kNothing);
    return {};
  }
  EXPECT_NE(error.filename, nullptr);
  const std::string text = error.str;
  if (text == "stops[i] < starts[i]") return {Code::stop_before_start, error.identity};
  if (text == "offsets overflow int64") return {Code::overflow, error.identity};
  ADD_FAILURE() << "an error that the header does not list: " << text;
  return {Code::malformed, error.identity};
}

template <class T>
void check_kernel(const Bounds<T>& lists) {
  const auto run = kernel<T>();
  if (run == nullptr) return;
  const auto n = std::ssize(lists.starts);
  Guarded<std::int64_t> offsets(n + 1, 1);
  const Failure outcome = outcome_of(run(offsets.data(), lists.starts.data(), lists.stops.data(), n));
  const auto expected = tests::expected_offsets(lists.starts.data(), lists.stops.data(), n);
  EXPECT_EQ(tests::complaint(expected, outcome, offsets.data()), "") << "n " << n;
  EXPECT_TRUE(offsets.intact());
}

// --------------------------------------------------------------------------------------------------- Awkward's cases

template <class T>
class AwkwardGolden : public testing::Test {};
using Types = testing::Types<std::int32_t, std::uint32_t, std::int64_t>;
TYPED_TEST_SUITE(AwkwardGolden, Types);

TYPED_TEST(AwkwardGolden, EveryRungPasses) {
  std::string reason;
  const auto cases = tests::golden_cases(reason);
  if (!reason.empty()) GTEST_SKIP() << reason;
  ASSERT_GE(cases.size(), 40U);
  for (const auto& [lists, expected] : cases) {
    const auto bounds = tests::as<TypeParam>(lists);
    for (const auto& rung : tests::cpu_rungs("offsets")) {
      Guarded<std::int64_t> offsets(std::ssize(bounds.starts) + 1, 1);
      Failure outcome;
      try {
        upsweep::offsets(par.with_rung(rung.id), bounds.starts, bounds.stops, offsets.span());
      } catch (const Error& error) {
        if (error.code() == Code::unsupported) continue;  // some rungs need one array of offsets; these pass two
        outcome = {error.code(), error.index()};
      }
      EXPECT_EQ(tests::complaint(expected, outcome, offsets.data()), "") << rung.id;
      EXPECT_TRUE(offsets.intact()) << rung.id;
    }
  }
}

TYPED_TEST(AwkwardGolden, TheCFunctionPasses) {
  std::string reason;
  const auto cases = tests::golden_cases(reason);
  if (!reason.empty()) GTEST_SKIP() << reason;
  const auto run = kernel<TypeParam>();
  ASSERT_NE(run, nullptr);
  for (const auto& [lists, expected] : cases) {
    const auto bounds = tests::as<TypeParam>(lists);
    Guarded<std::int64_t> offsets(std::ssize(bounds.starts) + 1, 1);
    const Failure outcome =
        outcome_of(run(offsets.data(), bounds.starts.data(), bounds.stops.data(), std::ssize(bounds.starts)));
    EXPECT_EQ(tests::complaint(expected, outcome, offsets.data()), "");
    EXPECT_TRUE(offsets.intact());
  }
}

// --------------------------------------------------------------------------------------------------------- our cases

template <class T>
class AwkwardKernel : public testing::Test {};
TYPED_TEST_SUITE(AwkwardKernel, Types);

TYPED_TEST(AwkwardKernel, MatchesTheReferenceAtEverySizeAndPattern) {
  for (const ListPattern pattern : tests::kListPatterns) {
    for (const std::int64_t n : {0, 1, 2, 9, 100, 16385, 70001}) check_kernel(tests::make_lists<TypeParam>(pattern, n));
  }
}

TYPED_TEST(AwkwardKernel, NamesTheFirstBadList) {
  for (const std::int64_t n : {1, 100, 70001}) {
    for (const std::int64_t at : {std::int64_t{0}, n / 2, n - 1}) {
      auto lists = tests::make_lists<TypeParam>(ListPattern::random, n);
      lists.starts[static_cast<std::size_t>(at)] = 5;
      lists.stops[static_cast<std::size_t>(at)] = 4;
      lists.stops.back() = lists.starts.back() == 0 ? TypeParam{0} : static_cast<TypeParam>(lists.starts.back() - 1);
      check_kernel(lists);
    }
  }
}

TYPED_TEST(AwkwardKernel, WritesOneOffsetForNoLists) {
  const auto run = kernel<TypeParam>();
  ASSERT_NE(run, nullptr);
  for (const std::int64_t length : {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
    const TypeParam one[] = {9, 9};
    for (const TypeParam* bounds : {static_cast<const TypeParam*>(nullptr), static_cast<const TypeParam*>(one)}) {
      Guarded<std::int64_t> offsets(1, 1);
      EXPECT_EQ(outcome_of(run(offsets.data(), bounds, bounds, length)).code, Code::ok) << length;
      EXPECT_EQ(offsets.data()[0], 0);
      EXPECT_TRUE(offsets.intact());
    }
  }
}

TYPED_TEST(AwkwardKernel, TakesListsThatLieOneBehindTheOther) {
  const auto run = kernel<TypeParam>();
  ASSERT_NE(run, nullptr);
  std::vector<TypeParam> bounds(50001);
  std::iota(bounds.begin(), bounds.end(), TypeParam{100});
  Guarded<std::int64_t> offsets(50001, 1);
  EXPECT_EQ(outcome_of(run(offsets.data(), bounds.data(), bounds.data() + 1, 50000)).code, Code::ok);
  for (std::int64_t i = 0; i <= 50000; ++i) ASSERT_EQ(offsets.data()[i], i);
  bounds[40000] = 0;
  const Failure bad = outcome_of(run(offsets.data(), bounds.data(), bounds.data() + 1, 50000));
  EXPECT_EQ(bad.code, Code::stop_before_start);
  EXPECT_EQ(bad.index, 39999);
}

TEST(AwkwardKernel, ReportsWhatWouldWrapAround) {
  check_kernel(Bounds<std::int64_t>{{0, -5, 3}, {1, kMost, 4}});
  check_kernel(Bounds<std::int64_t>{{0, 0, 7}, {kMost, 1, 6}});
  check_kernel(Bounds<std::int64_t>{{0, 0, 7}, {kMost - 1, 1, 7}});
  // Bounds of narrower types cannot overflow: they are subtracted in 64 bits.
  check_kernel(Bounds<std::int32_t>{{std::numeric_limits<std::int32_t>::min(), 0},
                                    {std::numeric_limits<std::int32_t>::max(), 1}});
  check_kernel(Bounds<std::uint32_t>{{0, 0xFFFFFFFFU}, {0xFFFFFFFFU, 0xFFFFFFFFU}});
  check_kernel(Bounds<std::uint32_t>{{0x80000000U}, {0x7FFFFFFFU}});
}

TEST(AwkwardKernel, AllowsNegativeStartsAsAwkwardDoes) {
  check_kernel(Bounds<std::int32_t>{{-3, -1}, {-1, 4}});
  check_kernel(Bounds<std::int64_t>{{-3, -1, -4}, {-1, 4, -5}});
}

TEST(AwkwardKernel, AnswersANullPointerWithAnError) {
  const auto run = kernel<std::int64_t>();
  ASSERT_NE(run, nullptr);
  const std::int64_t bounds[] = {0, 1};
  std::int64_t offsets[3] = {};
  for (const auto& error :
       {run(offsets, nullptr, bounds, 2), run(offsets, bounds, nullptr, 2), run(nullptr, bounds, bounds, 2)}) {
    EXPECT_NE(error.str, nullptr);
    EXPECT_EQ(error.identity, kNothing);
    EXPECT_EQ(error.attempt, kNothing);
  }
}

TEST(AwkwardKernel, MayBeCalledFromManyThreads) {
  ASSERT_NE(kernel<std::int64_t>(), nullptr);
  const auto lists = tests::make_lists<std::int64_t>(ListPattern::random, 200001);
  auto bad = lists;
  bad.stops[150000] = bad.starts[150000] - 1;
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 3; ++round) check_kernel(t % 2 == 0 ? lists : bad);
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace upsweep
