// SPDX-License-Identifier: Apache-2.0
// tests/offsets_rungs_test.cpp: every rung of the offsets ladder is compared with 128-bit arithmetic. Cases: types,
// sizes, patterns, alignment, threads, instruction sets, the first invalid list at any position, options and carries.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/list_length.hpp"
#include "lists.hpp"
#include "patterns.hpp"
#include "problems/lists/offsets/reference.hpp"
#include "rungs.hpp"
#include "upsweep/ladder.hpp"
#include "upsweep/machine.hpp"
#include "upsweep/offsets.hpp"

namespace upsweep {
namespace {

using tests::Bounds;
using tests::ExpectedOffsets;
using tests::Failure;
using tests::failure_of;
using tests::Guarded;
using tests::isas;
using tests::kSanitized;
using tests::ListPattern;

constexpr std::int64_t kBlock = 16384;  // lists of a block
constexpr std::int64_t kSegment = std::int64_t{1} << 18;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

// Sizes around a vector (8 offsets), a page (512), a block, several blocks on several threads, and a long block.
constexpr std::int64_t kSizes[] = {0,     1,     2,     7,     8,     9,        15,    16,   17,
                                   63,    64,    65,    511,   513,   1023,     1024,  1025, 16383,
                                   16384, 16385, 65535, 65536, 65537, kSegment, 300001};

bool is_adjacent(const RungInfo& rung) { return rung.needs.starts_with("stops == starts"); }

/// Runs lists and checks the outcome, the specified offsets, the result and the guards.
template <class T>
void check(const Policy& policy, const T* starts, const T* stops, std::int64_t n, const ExpectedOffsets& expected,
           Guarded<std::int64_t>& offsets, bool strict = false) {
  OffsetsResult result{-1, -1, ""};
  const Failure outcome =
      failure_of([&] { result = upsweep::offsets(policy, starts, stops, n, offsets.data(), strict); });
  EXPECT_EQ(tests::complaint(expected, outcome, offsets.data()), "")
      << policy.rung << " n " << n << " threads " << policy.threads << " isa " << name(policy.isa);
  EXPECT_TRUE(offsets.intact()) << policy.rung << " n " << n;
  if (outcome.code != Code::ok) return;
  EXPECT_EQ(result.lists, n);
  EXPECT_EQ(result.total, expected.offsets.back());
  EXPECT_EQ(result.rung, policy.rung);
}

/// Checks every rung that supports lists in two arrays.
template <class T>
void check_rungs(const Bounds<T>& lists, const Policy& policy, bool strict = false) {
  const auto n = std::ssize(lists.starts);
  const auto expected = tests::expected_offsets(lists.starts.data(), lists.stops.data(), n, strict);
  for (const auto& rung : tests::cpu_rungs("offsets")) {
    if (is_adjacent(rung)) continue;
    Guarded<std::int64_t> offsets(n + 1, n % 8);
    check(policy.with_rung(rung.id), lists.starts.data(), lists.stops.data(), n, expected, offsets, strict);
  }
}

template <class T>
class OffsetsRungs : public testing::Test {};
using Types = testing::Types<std::int32_t, std::uint32_t, std::int64_t>;
TYPED_TEST_SUITE(OffsetsRungs, Types);

TYPED_TEST(OffsetsRungs, MatchTheReferenceAtEverySizeAndPattern) {
  for (const ListPattern pattern : tests::kListPatterns) {
    for (const std::int64_t n : kSizes) {
      const auto lists = tests::make_lists<TypeParam>(pattern, n, static_cast<unsigned>(n));
      const auto expected = tests::expected_offsets(lists.starts.data(), lists.stops.data(), n);
      ASSERT_EQ(expected.outcome.code, Code::ok) << name(pattern);
      // Poison after the ends: a rung that reads it gets another total.
      Guarded<TypeParam> starts(n, n % 5);
      Guarded<TypeParam> stops(n, n % 3);
      std::copy(lists.starts.begin(), lists.starts.end(), starts.data());
      std::copy(lists.stops.begin(), lists.stops.end(), stops.data());
      for (const auto& rung : tests::cpu_rungs("offsets")) {
        if (is_adjacent(rung)) continue;
        for (const std::int64_t misaligned : {1, 0, 7}) {
          if (kSanitized && misaligned != 1) continue;
          Guarded<std::int64_t> offsets(n + 1, misaligned);
          check(par.with_rung(rung.id).with_threads(3), starts.data(), stops.data(), n, expected, offsets);
          EXPECT_EQ(impl::offsets::first_wrong(starts.data(), stops.data(), n, offsets.data()), kNoIndex)
              << rung.id << " " << name(pattern) << " n " << n;
        }
      }
    }
  }
}

TYPED_TEST(OffsetsRungs, AgreeForAnyThreadsAndInstructionSet) {
  for (const std::int64_t n : {std::int64_t{100}, kBlock + 3, std::int64_t{600011}}) {
    const auto lists = tests::make_lists<TypeParam>(ListPattern::random, n, 3);
    for (const Isa isa : isas()) {
      for (const int threads : {1, 2, 3, 7}) check_rungs(lists, par.with_threads(threads).with_isa(isa));
    }
  }
}

TYPED_TEST(OffsetsRungs, StorePastTheCachesWhereOffsetsAreMany) {
  const std::int64_t n = (std::int64_t{1} << 20) + 5;  // 8 MB of offsets: from here on stores are non-temporal
  const auto lists = tests::make_lists<TypeParam>(ListPattern::random, n, 4);
  const auto expected = tests::expected_offsets(lists.starts.data(), lists.stops.data(), n);
  for (const auto& rung : tests::cpu_rungs("offsets")) {
    if (is_adjacent(rung)) continue;
    for (const Isa isa : isas()) {
      // The rung writes from offsets[1] on: it is aligned for 7, not for the others.
      for (const std::int64_t misaligned : {7, 0, 2}) {
        Guarded<std::int64_t> offsets(n + 1, misaligned);
        check(par.with_rung(rung.id).with_isa(isa).with_threads(2), lists.starts.data(), lists.stops.data(), n,
              expected, offsets);
      }
    }
  }
}

/// Positions where errors are likely: both ends, around vectors, pages, blocks and long blocks.
std::vector<std::int64_t> places(std::int64_t n) {
  if (kSanitized && n > kSegment) return {kBlock, n - 1};
  std::vector<std::int64_t> all;
  for (const std::int64_t at : {std::int64_t{0}, std::int64_t{7}, std::int64_t{8}, std::int64_t{512}, kBlock - 1,
                                kBlock, kBlock + 1, n / 2, 8 * kBlock, kSegment - 1, kSegment, kSegment + 1, n - 1}) {
    if (at < n) all.push_back(at);
  }
  return all;
}

/// Lists that are changed for one check; the destructor restores them.
template <class T>
class Changed {
 public:
  explicit Changed(Bounds<T>& lists) : lists_(lists) {}
  Changed(const Changed&) = delete;
  Changed& operator=(const Changed&) = delete;
  ~Changed() {
    for (const auto& old : old_) {
      lists_.starts[old.at] = old.start;
      lists_.stops[old.at] = old.stop;
    }
  }
  void set(std::int64_t list, T start, T stop) {
    const auto at = static_cast<std::size_t>(list);
    old_.insert(old_.begin(), {at, lists_.starts[at], lists_.stops[at]});
    lists_.starts[at] = start;
    lists_.stops[at] = stop;
  }

 private:
  struct Old {
    std::size_t at;
    T start;
    T stop;
  };
  Bounds<T>& lists_;
  std::vector<Old> old_;
};

TYPED_TEST(OffsetsRungs, NameTheFirstListThatStopsBeforeItsStart) {
  using Limits = std::numeric_limits<TypeParam>;
  for (const std::int64_t n : {std::int64_t{1}, std::int64_t{9}, std::int64_t{520}, std::int64_t{300001}}) {
    auto lists = tests::make_lists<TypeParam>(ListPattern::random, n, 5);
    for (const std::int64_t at : places(n)) {
      Changed<TypeParam> changed(lists);
      changed.set(at, 6, 5);
      for (const Isa isa : isas()) check_rungs(lists, par.with_threads(2).with_isa(isa));
      changed.set(at, Limits::max(), Limits::min());
      for (const Isa isa : isas()) check_rungs(lists, par.with_threads(2).with_isa(isa));
    }
  }
}

TYPED_TEST(OffsetsRungs, NameTheFirstOfSeveralBadLists) {
  const std::int64_t n = 300001;
  auto lists = tests::make_lists<TypeParam>(ListPattern::empty, n, 6);
  for (const std::int64_t first : places(n)) {
    for (const std::int64_t apart : {std::int64_t{1}, std::int64_t{9}, kBlock, 15 * kBlock}) {
      if (first + apart >= n) continue;
      Changed<TypeParam> changed(lists);
      changed.set(first, 9, 2);
      changed.set(first + apart, 9, 2);
      for (const int threads : {1, 3}) check_rungs(lists, par.with_threads(threads));
    }
  }
}

TYPED_TEST(OffsetsRungs, StrictRefusesNegativeStartsAndOnlyThose) {
  const std::int64_t n = 300001;
  auto lists = tests::make_lists<TypeParam>(ListPattern::packed, n, 7);
  check_rungs(lists, par.with_threads(3), true);
  if constexpr (std::is_signed_v<TypeParam>) {
    for (const std::int64_t at : places(n)) {
      Changed<TypeParam> changed(lists);
      changed.set(at, -1, at % 2 == 0 ? 0 : -1);
      const auto expected = tests::expected_offsets(lists.starts.data(), lists.stops.data(), n, true);
      ASSERT_EQ(expected.outcome.code, Code::negative_start);
      ASSERT_EQ(expected.outcome.index, at);
      for (const Isa isa : isas()) check_rungs(lists, par.with_isa(isa).with_threads(2), true);
      check_rungs(lists, par.with_threads(2), false);
    }
    // A list with both errors is reported as stopping before its start.
    check_rungs(Bounds<TypeParam>{{0, -3}, {1, -4}}, par, true);
  } else {
    // The largest uint32 is not a negative number.
    check_rungs(Bounds<TypeParam>{{0U, 0xFFFFFFFFU}, {0U, 0xFFFFFFFFU}}, par, true);
  }
}

TEST(OffsetsRungs, DifferencesOf32BitBoundsAreTakenIn64Bits) {
  const std::int32_t low = std::numeric_limits<std::int32_t>::min();
  const std::int32_t high = std::numeric_limits<std::int32_t>::max();
  for (const std::int64_t n : {1, 8, 100, 40000}) {
    const auto size = static_cast<std::size_t>(n);
    const Bounds<std::int32_t> lists{std::vector<std::int32_t>(size, low), std::vector<std::int32_t>(size, high)};
    const auto expected = tests::expected_offsets(lists.starts.data(), lists.stops.data(), n);
    ASSERT_EQ(expected.outcome.code, Code::ok);
    ASSERT_EQ(expected.offsets.back(), n * 0xFFFFFFFFLL);
    for (const Isa isa : isas()) check_rungs(lists, par.with_isa(isa));
  }
}

TEST(OffsetsRungs, ADifferenceThatLeavesInt64IsAnOverflow) {
  const std::int64_t n = 300001;
  auto lists = tests::make_lists<std::int64_t>(ListPattern::empty, n, 8);
  for (const std::int64_t at : places(n)) {
    Changed<std::int64_t> changed(lists);
    for (const auto& [start, stop] : {std::pair{std::int64_t{-5}, kMost}, std::pair{kLeast, kMost},
                                      std::pair{std::int64_t{-1}, kMost}, std::pair{kLeast, std::int64_t{0}}}) {
      changed.set(at, start, stop);
      ASSERT_EQ(tests::expected_offsets(lists.starts.data(), lists.stops.data(), n).outcome.code, Code::overflow);
      for (const Isa isa : isas()) check_rungs(lists, par.with_isa(isa).with_threads(2));
    }
    changed.set(at, kLeast, -1);  // the longest list that fits
    check_rungs(lists, par.with_threads(3));
  }
}

TEST(OffsetsRungs, ATotalThatLeavesInt64IsAnOverflowOfTheListThatTakesItThere) {
  const std::int64_t n = 600011;
  auto lists = tests::make_lists<std::int64_t>(ListPattern::empty, n, 9);
  for (const std::int64_t first : {std::int64_t{0}, kBlock - 1, kSegment - 1, kSegment, std::int64_t{300000}, n - 3}) {
    for (const std::int64_t apart : {std::int64_t{1}, kBlock, kSegment - 1, kSegment + kBlock}) {
      if (first + apart + 1 >= n || (kSanitized && first != kBlock - 1)) continue;
      Changed<std::int64_t> changed(lists);
      changed.set(first, 3, kMost);
      changed.set(first + apart, 3, 6);  // exactly the maximum total
      check_rungs(lists, par.with_threads(2));
      changed.set(first + apart, 3, 7);
      changed.set(first + apart + 1, 3, kMost);  // another overflow: after two of them, the total looks valid again
      const auto expected = tests::expected_offsets(lists.starts.data(), lists.stops.data(), n);
      ASSERT_EQ(expected.outcome.code, Code::overflow);
      ASSERT_EQ(expected.outcome.index, first + apart);
      for (const Isa isa : isas()) check_rungs(lists, par.with_threads(2).with_isa(isa));
    }
  }
}

TEST(OffsetsRungs, TheFirstOfABadListAndAnOverflowWins) {
  const std::int64_t n = 600011;
  auto lists = tests::make_lists<std::int64_t>(ListPattern::empty, n, 10);
  for (const int threads : {1, 7}) {
    for (const std::int64_t apart : {std::int64_t{1}, kBlock, kSegment}) {
      for (const std::int64_t first : {std::int64_t{0}, kBlock - 1, kSegment - 1, std::int64_t{300000}}) {
        if (kSanitized && first != kBlock - 1) continue;
        Changed<std::int64_t> changed(lists);
        changed.set(first, 2, 1);
        changed.set(first + apart, -5, kMost);
        check_rungs(lists, par.with_threads(threads));
        changed.set(first, -5, kMost);
        changed.set(first + apart, 2, 1);
        check_rungs(lists, par.with_threads(threads));
        // Two lists that fit separately but not together, followed by an invalid list.
        changed.set(first, 0, kMost);
        changed.set(first + apart, 0, 1);
        changed.set(first + apart + 1, 2, 1);
        check_rungs(lists, par.with_threads(threads));
      }
    }
  }
}

TYPED_TEST(OffsetsRungs, LetStartsAndStopsBeTheSameArray) {
  const auto lists = tests::make_lists<TypeParam>(ListPattern::random, 50000, 11);
  check_rungs(Bounds<TypeParam>{lists.starts, lists.starts}, par.with_threads(2));
  for (const auto& rung : tests::cpu_rungs("offsets")) {
    if (is_adjacent(rung)) continue;
    std::vector<std::int64_t> offsets(lists.starts.size() + 1, 77);
    upsweep::offsets(par.with_rung(rung.id), lists.starts, lists.starts, offsets);
    EXPECT_EQ(offsets, std::vector<std::int64_t>(offsets.size(), 0)) << rung.id;
  }
}

// ------------------------------------------------------------------------------------------- stops one place on

/// n + 1 bounds in order: starts are all except the last, stops all except the first.
template <class T>
std::vector<T> chain(std::int64_t n, T first = 0) {
  std::mt19937_64 random(static_cast<unsigned>(n) + 1);
  std::vector<T> bounds(static_cast<std::size_t>(n) + 1, first);
  for (std::size_t i = 1; i < bounds.size(); ++i) bounds[i] = bounds[i - 1] + static_cast<T>(random() % 10);
  return bounds;
}

template <class T>
void check_chain(const std::vector<T>& bounds, const Policy& policy, bool strict = false) {
  const std::int64_t n = std::ssize(bounds) - 1;
  const auto expected = tests::expected_offsets(bounds.data(), bounds.data() + 1, n, strict);
  for (const auto& rung : tests::cpu_rungs("offsets")) {
    Guarded<std::int64_t> offsets(n + 1, n % 8);
    std::fill_n(offsets.data(), n + 1, kMost - 7);  // a rung could mistake this for an offset
    check(policy.with_rung(rung.id), bounds.data(), bounds.data() + 1, n, expected, offsets, strict);
  }
}

TYPED_TEST(OffsetsRungs, TakeListsThatLieOneBehindTheOther) {
  for (const std::int64_t n : kSizes) {
    if (n == 0) continue;
    for (const TypeParam first : {TypeParam{0}, TypeParam{1000}, std::numeric_limits<TypeParam>::min()}) {
      const auto bounds = chain<TypeParam>(n, first);
      for (const Isa isa : isas()) check_chain(bounds, par.with_isa(isa).with_threads(3));
    }
  }
  check_chain(chain<TypeParam>((1 << 20) + 3), par.with_threads(2));
}

TYPED_TEST(OffsetsRungs, NameTheFirstListOfAChainThatStopsBeforeItsStart) {
  for (const std::int64_t n : {std::int64_t{1}, std::int64_t{9}, std::int64_t{520}, std::int64_t{300001}}) {
    const auto good = chain<TypeParam>(n, 100);
    for (const std::int64_t at : places(n)) {
      auto bounds = good;
      // From its stop on, all bounds are lower, but in order.
      for (std::int64_t i = at + 1; i <= n; ++i) {
        bounds[static_cast<std::size_t>(i)] = good[static_cast<std::size_t>(i)] - good[static_cast<std::size_t>(at)];
      }
      bounds[static_cast<std::size_t>(at) + 1] = 0;
      ASSERT_EQ(tests::expected_offsets(bounds.data(), bounds.data() + 1, n).outcome.index, at);
      for (const Isa isa : isas()) check_chain(bounds, par.with_isa(isa).with_threads(2));
      // Only one stop is too low: the list before it is invalid, and the next one is valid again.
      bounds = good;
      bounds[static_cast<std::size_t>(at) + 1] = good[static_cast<std::size_t>(at)] - TypeParam{1};
      check_chain(bounds, par.with_threads(3));
    }
  }
}

TYPED_TEST(OffsetsRungs, NameTheRightListOfAChainWhoeverOffsetsTheBlockBefore) {
  const std::int64_t blocks = kSanitized ? 9 : 24;
  const auto good = chain<TypeParam>(blocks * kBlock, 100);
  auto bounds = good;
  for (const int threads : {2, 4}) {
    for (std::int64_t block = 1; block < blocks; ++block) {
      const auto at = static_cast<std::size_t>(block * kBlock + kBlock / 2);
      bounds[at] = bounds[at - 1] - TypeParam{1};
      check_chain(bounds, par.with_threads(threads));
      bounds[at] = good[at];
    }
  }
}

TEST(OffsetsRungs, ChainsAreCheckedForNegativeStartsAndOverflow) {
  const std::int64_t n = 300001;
  for (const std::int64_t at : places(n)) {
    auto bounds = chain<std::int64_t>(n, 1);
    bounds[static_cast<std::size_t>(at)] = -2;
    if (at > 0) std::fill_n(bounds.begin(), at, std::int64_t{-2});
    for (const Isa isa : isas()) {
      check_chain(bounds, par.with_isa(isa).with_threads(2), true);
      check_chain(bounds, par.with_isa(isa).with_threads(2), false);
    }
    // From the minimum of int64 to its maximum: in one list, or over two.
    auto steep = std::vector<std::int64_t>(static_cast<std::size_t>(n) + 1, kMost);
    std::fill_n(steep.begin(), at + 1, kLeast);
    for (const Isa isa : isas()) check_chain(steep, par.with_isa(isa).with_threads(2));
    steep[static_cast<std::size_t>(at) + 1] = -1;  // this one still fits
    for (const Isa isa : isas()) check_chain(steep, par.with_isa(isa).with_threads(2));
  }
}

/// Values where bounds change their sign or reach a limit.
template <class T>
constexpr T kCorners[] = {std::numeric_limits<T>::min(),
                          std::numeric_limits<T>::min() + 1,
                          T(-1),
                          T{0},
                          T{1},
                          std::numeric_limits<T>::max() / 2,
                          std::numeric_limits<T>::max() - 1,
                          std::numeric_limits<T>::max()};

TYPED_TEST(OffsetsRungs, ChecksAFewListsAtEveryCornerOfTheirType) {
  constexpr std::size_t kCount = std::size(kCorners<TypeParam>);
  constexpr std::size_t kPairs = kCount * kCount;
  const auto start = [&](std::size_t pair) { return kCorners<TypeParam>[pair / kCount]; };
  const auto stop = [&](std::size_t pair) { return kCorners<TypeParam>[pair % kCount]; };
  for (std::size_t at = 0; at < kPairs * kPairs; ++at) {
    const TypeParam starts[] = {start(at / kPairs), start(at % kPairs)};
    const TypeParam stops[] = {stop(at / kPairs), stop(at % kPairs)};
    for (const bool strict : {false, true}) {
      std::int64_t offsets[3];
      const Failure outcome = failure_of([&] { upsweep::offsets(par, starts, stops, 2, offsets, strict); });
      ASSERT_EQ(tests::complaint(tests::expected_offsets(starts, stops, 2, strict), outcome, offsets), "")
          << starts[0] << ".." << stops[0] << ", " << starts[1] << ".." << stops[1] << " strict " << strict;
    }
  }
}

// The check that the GPU rungs use.
TYPED_TEST(OffsetsRungs, ListsThatAreBadHaveANegativeLength) {
  for (const TypeParam start : kCorners<TypeParam>) {
    for (const TypeParam stop : kCorners<TypeParam>) {
      for (const bool strict : {false, true}) {
        const impl::List<TypeParam> list{start, stop};
        const auto expected = tests::expected_offsets(&start, &stop, 1, strict);
        EXPECT_EQ(list.check(strict), expected.outcome.code) << start << ".." << stop << " strict " << strict;
        const std::int64_t length = list.length_or_bad(strict);
        const bool right = expected.outcome.code == Code::ok ? length == expected.offsets[1] : length < 0;
        EXPECT_TRUE(right) << start << ".." << stop << " strict " << strict << ": " << length;
      }
    }
  }
}

TEST(Extend, KeepsWhatIsBadOrDoesNotFitNegative) {
  constexpr std::int64_t kSome[] = {0, 1, kMost / 2, kMost / 2 + 1, kMost - 1, kMost, -1, kLeast, kLeast + 1};
  constexpr impl::Extend kExtend;
  for (std::size_t at = 0; at < 9 * 9 * 9 * 9; ++at) {
    const std::int64_t before = kSome[at / 729];
    const std::int64_t lengths[3] = {kSome[at / 81 % 9], kSome[at / 9 % 9], kSome[at % 9]};
    std::int64_t offsets[3] = {lengths[0], lengths[1], lengths[2]};
    const std::int64_t last = kExtend.scan_exclusive(before, offsets);
    std::int64_t one_by_one = before;
    tests::Int128 sum = before;
    bool bad = before < 0;
    const auto agrees = [&](std::int64_t value) { return bad ? value < 0 : value == static_cast<std::int64_t>(sum); };
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(agrees(offsets[i]) && agrees(one_by_one)) << at << " at " << i;
      sum += lengths[i];
      bad = bad || lengths[i] < 0 || sum > kMost;
      one_by_one = kExtend(one_by_one, lengths[i]);
    }
    ASSERT_TRUE(agrees(last) && agrees(one_by_one) && agrees(kExtend(before, kExtend.fold(lengths)))) << at;
  }
}

TEST(OffsetsApi, AdjacentIsRefusedUnlessStopsAreTheStartsOnePlaceOn) {
  const std::vector<std::int64_t> bounds{0, 1, 2, 3, 4};
  const std::vector<std::int64_t> others{1, 2, 3, 4};
  std::vector<std::int64_t> offsets(5, 77);
  const auto run = [&](const std::int64_t* starts, const std::int64_t* stops, std::int64_t n) {
    return failure_of([&] { upsweep::offsets(par.with_rung("cpu.adjacent"), starts, stops, n, offsets.data()); }).code;
  };
  EXPECT_EQ(run(bounds.data(), others.data(), 4), Code::unsupported);
  EXPECT_EQ(run(bounds.data(), bounds.data(), 4), Code::unsupported);
  EXPECT_EQ(run(bounds.data(), bounds.data() + 2, 3), Code::unsupported);
  EXPECT_EQ(run(bounds.data() + 1, bounds.data(), 4), Code::unsupported);
  EXPECT_EQ(offsets, std::vector<std::int64_t>(5, 77)) << "a refused call must not write";
  EXPECT_EQ(run(bounds.data(), bounds.data() + 1, 4), Code::ok);
  EXPECT_EQ(offsets, bounds);
}

TEST(OffsetsApi, AFewListsAreCheckedLikeMany) {
  const std::vector<std::int64_t> starts{0, 5, -2, 7};
  const std::vector<std::int64_t> stops{3, 9, 4, 7};
  std::vector<std::int64_t> offsets(5);
  EXPECT_EQ(upsweep::offsets(par, starts, stops, offsets).total, 13);
  EXPECT_EQ(offsets, (std::vector<std::int64_t>{0, 3, 7, 13, 13}));
  const auto outcome = [&](const std::vector<std::int64_t>& ends, std::int64_t before, bool strict) {
    OffsetsCarry carry{.total = before};
    return failure_of([&] { upsweep::offsets(par, starts.data(), ends.data(), 4, offsets.data(), strict, carry); });
  };
  EXPECT_EQ(outcome(stops, 0, true).code, Code::negative_start);
  EXPECT_EQ(outcome(stops, 0, true).index, 2);
  EXPECT_EQ(outcome({3, 4, 4, 7}, 0, false).code, Code::stop_before_start);
  EXPECT_EQ(outcome({3, 4, 4, 7}, 0, false).index, 1);
  EXPECT_EQ(outcome({3, 9, kMost, 7}, 0, false).code, Code::overflow);
  EXPECT_EQ(outcome(stops, kMost - 5, false).code, Code::overflow);
  EXPECT_EQ(outcome(stops, kMost - 5, false).index, 1);
  EXPECT_EQ(outcome(stops, kMost - 13, false).code, Code::ok);
  EXPECT_EQ(failure_of([&] {
              upsweep::offsets(par, starts.data(), stops.data(), 4, const_cast<std::int64_t*>(&stops[0]));
            }).code,
            Code::invalid_argument);
}

TEST(OffsetsApi, PicksAdjacentForChainsAndAScanForEverythingElse) {
  for (const std::int64_t n :
       {std::int64_t{1}, detail::kInlineLength, detail::kInlineLength + 1, std::int64_t{100000}}) {
    const bool few = n <= detail::kInlineLength;  // the loop, inlined
    const auto bounds = chain<std::int32_t>(n);
    const auto size = static_cast<std::size_t>(n);
    std::vector<std::int64_t> offsets(size + 1);
    const auto whole = std::span(bounds);
    const char* const adjacent = few ? "cpu.serial" : "cpu.adjacent";
    EXPECT_EQ(upsweep::offsets(par, whole.first(size), whole.last(size), offsets).rung, adjacent);
    EXPECT_EQ(upsweep::offsets(seq, whole, whole, offsets, {.stops_offset = 1, .length = n}).rung, adjacent);
    const std::vector<std::int32_t> stops(bounds.begin() + 1, bounds.end());
    const auto one = upsweep::offsets(seq, whole.first(size), stops, offsets);
    const auto many = upsweep::offsets(par.with_threads(8), whole.first(size), stops, offsets);
    EXPECT_EQ(one.rung, few ? "cpu.serial" : "cpu.lookahead");
    EXPECT_EQ(many.rung, one.rung);
  }
}

// ---------------------------------------------------------------------------------------------------------- options

TEST(OffsetsApi, OffsetsAndLengthChooseTheLists) {
  const std::vector<std::int64_t> starts{90, 91, 0, 10, 20, 30};
  const std::vector<std::int64_t> stops{92, 1, 12, 23, 34};
  std::vector<std::int64_t> offsets(5);
  const auto run = [&](const ListOptions& options, std::size_t lists) {
    offsets.assign(lists + 1, 77);
    const auto result = upsweep::offsets(par, starts, stops, offsets, options);
    EXPECT_EQ(result.lists, static_cast<std::int64_t>(lists));
    EXPECT_EQ(result.total, offsets.back());
    return offsets;
  };
  using Offsets = std::vector<std::int64_t>;
  EXPECT_EQ(run({.starts_offset = 2, .stops_offset = 1}, 4), (Offsets{0, 1, 3, 6, 10}));
  EXPECT_EQ(run({.starts_offset = 2, .stops_offset = 1, .length = 4}, 4), (Offsets{0, 1, 3, 6, 10}));
  EXPECT_EQ(run({.starts_offset = 2, .stops_offset = 1, .length = 2}, 2), (Offsets{0, 1, 3}));
  EXPECT_EQ(run({.starts_offset = 3, .stops_offset = 2, .length = 1}, 1), (Offsets{0, 2}));
  EXPECT_EQ(run({.starts_offset = 2, .stops_offset = 1, .length = 0}, 0), (Offsets{0}));
  EXPECT_EQ(run({.starts_offset = 6, .stops_offset = 5}, 0), (Offsets{0}));
  EXPECT_EQ(run({.starts_offset = 6, .stops_offset = 0, .length = 0}, 0), (Offsets{0}));
  EXPECT_EQ(run({.length = 1}, 1), (Offsets{0, 2}));  // lengths may differ if one is given

  // No lists are left; the output is directly after the bounds in memory.
  std::vector<std::int64_t> memory(5, 77);
  const auto whole = std::span(memory);
  upsweep::offsets(par, whole.first(4), whole.first(4), whole.last(1), {.starts_offset = 4, .stops_offset = 4});
  EXPECT_EQ(memory.back(), 0);

  // i counts lists from the given starts and stops offsets on.
  const auto bad = failure_of([&] { run({.starts_offset = 2, .stops_offset = 0, .length = 3}, 3); });
  EXPECT_EQ(bad.code, Code::stop_before_start);
  EXPECT_EQ(bad.index, 1);
  const std::vector<std::int64_t> negative{0, 0, -1};
  const std::vector<std::int64_t> zero{0, 0, 0};
  offsets.assign(3, 77);
  const auto refused = failure_of(
      [&] { upsweep::offsets(par, negative, zero, offsets, {.starts_offset = 1, .stops_offset = 1, .strict = true}); });
  EXPECT_EQ(refused.code, Code::negative_start);
  EXPECT_EQ(refused.index, 1);
  EXPECT_EQ(offsets[0], 0);
  EXPECT_EQ(offsets[1], 0);
}

TEST(OffsetsApi, SaysWhichLengthsDoNotFit) {
  const std::vector<std::int32_t> three{0, 0, 0};
  const std::vector<std::int32_t> four{1, 1, 1, 1};
  std::vector<std::int64_t> offsets(4, 77);
  const auto code_of = [&](const auto& starts, const auto& stops, const ListOptions& options) {
    const Failure outcome = failure_of([&] { upsweep::offsets(par, starts, stops, offsets, options); });
    EXPECT_EQ(outcome.index, kNoIndex);
    EXPECT_TRUE(outcome.code == Code::ok || offsets == std::vector<std::int64_t>(4, 77)) << "an error must not write";
    return outcome.code;
  };
  // No length is given: the remaining lengths must be equal.
  EXPECT_EQ(code_of(three, four, {}), Code::unequal_lengths);
  EXPECT_EQ(code_of(four, three, {}), Code::unequal_lengths);
  EXPECT_EQ(code_of(three, three, {.starts_offset = 1}), Code::unequal_lengths);
  EXPECT_EQ(code_of(three, three, {.stops_offset = 1}), Code::unequal_lengths);
  // Offsets past the end, with and without a length.
  EXPECT_EQ(code_of(three, three, {.starts_offset = 4, .stops_offset = 4}), Code::unequal_lengths);
  EXPECT_EQ(code_of(three, three, {.starts_offset = 4, .length = 0}), Code::unequal_lengths);
  EXPECT_EQ(code_of(three, three, {.stops_offset = 4, .length = 0}), Code::unequal_lengths);
  EXPECT_EQ(code_of(three, three, {.starts_offset = kMost}), Code::unequal_lengths);
  EXPECT_EQ(code_of(three, three, {.stops_offset = kMost, .length = kMost}), Code::unequal_lengths);
  // A length that one of the arrays does not have.
  EXPECT_EQ(code_of(three, four, {.length = 4}), Code::unequal_lengths);
  EXPECT_EQ(code_of(four, three, {.length = 4}), Code::unequal_lengths);
  EXPECT_EQ(code_of(four, four, {.stops_offset = 2, .length = 3}), Code::unequal_lengths);
  EXPECT_EQ(code_of(three, three, {.length = kMost}), Code::unequal_lengths);
  // More or fewer than n + 1 outputs.
  EXPECT_EQ(code_of(four, four, {}), Code::unequal_lengths);
  EXPECT_EQ(code_of(three, three, {.length = 2}), Code::unequal_lengths);
  // Negative requests.
  EXPECT_EQ(code_of(three, three, {.starts_offset = -1}), Code::invalid_argument);
  EXPECT_EQ(code_of(three, three, {.stops_offset = -1}), Code::invalid_argument);
  EXPECT_EQ(code_of(three, three, {.starts_offset = kLeast, .stops_offset = kLeast}), Code::invalid_argument);
  EXPECT_EQ(code_of(three, three, {.length = -2}), Code::invalid_argument);
  EXPECT_EQ(code_of(three, three, {.length = kLeast}), Code::invalid_argument);
  EXPECT_EQ(code_of(three, three, {}), Code::ok);
}

TEST(OffsetsApi, SaysWhatIsWrongWithPointersPoliciesAndOverlap) {
  std::vector<std::int64_t> memory(64, 3);
  std::vector<std::int64_t> offsets(11, 77);
  const std::int64_t* nothing = nullptr;
  const auto code_of = [&](const Policy& policy, const std::int64_t* starts, const std::int64_t* stops, std::int64_t n,
                           std::int64_t* out) {
    return failure_of([&] { upsweep::offsets(policy, starts, stops, n, out); }).code;
  };
  const std::int64_t* in = memory.data();
  EXPECT_EQ(code_of(par, nothing, in, 10, offsets.data()), Code::invalid_argument);
  EXPECT_EQ(code_of(par, in, nothing, 10, offsets.data()), Code::invalid_argument);
  EXPECT_EQ(code_of(par, in, in, 10, nullptr), Code::invalid_argument);
  EXPECT_EQ(code_of(par, nothing, nothing, 0, nullptr), Code::invalid_argument);
  EXPECT_EQ(code_of(par, in, in, -1, offsets.data()), Code::invalid_argument);
  EXPECT_EQ(code_of(par, in, in, 10, memory.data()), Code::invalid_argument);
  EXPECT_EQ(code_of(par, in + 20, in, 10, memory.data() + 10), Code::invalid_argument);  // an offset overwrites a start
  EXPECT_EQ(code_of(par, in, in + 20, 10, memory.data() + 29), Code::invalid_argument);  // an offset overwrites a stop
  EXPECT_EQ(memory, std::vector<std::int64_t>(64, 3));
  EXPECT_EQ(code_of(par.with_threads(-1), in, in, 10, offsets.data()), Code::invalid_argument);
  EXPECT_EQ(code_of(par.with_rung("cpu.quick"), in, in, 10, offsets.data()), Code::unknown_rung);
  EXPECT_EQ(code_of(par.with_rung("cpu.simd"), in, in, 10, offsets.data()), Code::unsupported);
  EXPECT_EQ(offsets, std::vector<std::int64_t>(11, 77));
  EXPECT_EQ(code_of(par, nothing, nothing, 0, offsets.data()), Code::ok);
  EXPECT_EQ(offsets[0], 0);
  EXPECT_EQ(offsets[1], 77);
  EXPECT_EQ(code_of(par, in + 11, in + 11, 10, memory.data()), Code::ok);  // adjacent arrays do not overlap
}

TEST(OffsetsApi, MessagesNameTheListAndItsBounds) {
  const std::vector<std::int32_t> starts{0, -7, 5};
  const std::vector<std::int32_t> stops{1, -7, -4};
  std::vector<std::int64_t> offsets(4);
  const auto message = [&](const ListOptions& options) {
    try {
      upsweep::offsets(par, starts, stops, offsets, options);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  for (const auto* part : {"list 2", "5", "-4"}) EXPECT_NE(message({}).find(part), std::string::npos) << message({});
  for (const auto* part : {"list 1", "-7"}) {
    EXPECT_NE(message({.strict = true}).find(part), std::string::npos) << message({.strict = true});
  }
}

// ---------------------------------------------------------------------------------------------------------- carries

TYPED_TEST(OffsetsRungs, ListsInPartsMakeTheWhole) {
  const std::int64_t n = 300001;
  const auto lists = tests::make_lists<TypeParam>(ListPattern::random, n, 12);
  const auto expected = tests::expected_offsets(lists.starts.data(), lists.stops.data(), n);
  for (const auto& rung : tests::cpu_rungs("offsets")) {
    if (is_adjacent(rung)) continue;
    for (const std::int64_t part : {std::int64_t{977}, kBlock, kBlock + 1, kSegment}) {
      Guarded<std::int64_t> offsets(n + 1, 3);
      OffsetsCarry carry;
      for (std::int64_t first = 0; first < n; first += part) {
        const std::int64_t count = std::min(part, n - first);
        const auto result = upsweep::offsets(par.with_rung(rung.id).with_threads(2), lists.starts.data() + first,
                                             lists.stops.data() + first, count, offsets.data() + first, false, carry);
        EXPECT_EQ(result.lists, count);
        EXPECT_EQ(result.total, carry.total);
        EXPECT_EQ(carry.lists, first + count);
      }
      EXPECT_EQ(tests::complaint(expected, {}, offsets.data()), "") << rung.id << " parts of " << part;
      EXPECT_EQ(carry.total, expected.offsets.back());
      EXPECT_EQ(carry.first_bad, kNoIndex);
      EXPECT_TRUE(offsets.intact());
    }
  }
}

TYPED_TEST(OffsetsRungs, ChainsInPartsMakeTheWhole) {
  const std::int64_t n = 100003;
  const auto bounds = chain<TypeParam>(n, 40);
  const auto expected = tests::expected_offsets(bounds.data(), bounds.data() + 1, n);
  for (const auto& rung : tests::cpu_rungs("offsets")) {
    std::vector<std::int64_t> offsets(bounds.size(), 77);
    OffsetsCarry carry;
    for (std::int64_t first = 0; first < n; first += 30011) {
      const std::int64_t count = std::min<std::int64_t>(30011, n - first);
      upsweep::offsets(par.with_rung(rung.id).with_threads(2), bounds.data() + first, bounds.data() + first + 1, count,
                       offsets.data() + first, false, carry);
    }
    EXPECT_EQ(tests::complaint(expected, {}, offsets.data()), "") << rung.id;
  }
}

TYPED_TEST(OffsetsRungs, AnErrorInAPartCountsFromTheFirstPart) {
  const std::int64_t n = 120000;
  auto lists = tests::make_lists<TypeParam>(ListPattern::packed, n, 13);
  const std::int64_t bad = 90001;
  lists.starts[bad] = 9;
  lists.stops[bad] = 8;
  const std::int64_t part = 50000;
  for (const auto& rung : tests::cpu_rungs("offsets")) {
    if (is_adjacent(rung)) continue;
    const Policy policy = par.with_rung(rung.id).with_threads(2);
    std::vector<std::int64_t> offsets(static_cast<std::size_t>(n) + 1, 77);
    OffsetsCarry carry;
    upsweep::offsets(policy, lists.starts.data(), lists.stops.data(), part, offsets.data(), false, carry);
    const Failure outcome = failure_of([&] {
      upsweep::offsets(policy, lists.starts.data() + part, lists.stops.data() + part, part, offsets.data() + part,
                       false, carry);
    });
    const auto expected = tests::expected_offsets(lists.starts.data(), lists.stops.data(), n);
    EXPECT_EQ(tests::complaint(expected, outcome, offsets.data()), "") << rung.id;
  }
}

TEST(OffsetsRungs, ATotalCanOverflowBehindACarry) {
  const std::vector<std::int64_t> starts(40000, 0);
  std::vector<std::int64_t> stops(starts.size(), 1);
  for (const std::int64_t left : {0, 1, 16383, 16384, 39999, 40000}) {
    for (const auto& rung : tests::cpu_rungs("offsets")) {
      if (is_adjacent(rung)) continue;
      OffsetsCarry carry{.total = kMost - left, .lists = 1000};
      std::vector<std::int64_t> offsets(starts.size() + 1, 77);
      const Failure outcome = failure_of([&] {
        upsweep::offsets(par.with_rung(rung.id).with_threads(3), starts.data(), stops.data(), std::ssize(starts),
                         offsets.data(), false, carry);
      });
      auto expected = tests::expected_offsets(starts.data(), stops.data(), std::ssize(starts), false, kMost - left);
      if (expected.outcome.index != kNoIndex) expected.outcome.index += 1000;
      EXPECT_EQ(tests::complaint(expected, outcome, offsets.data()), "") << rung.id << " left " << left;
    }
  }
  // Also with adjacent lists.
  for (const std::int64_t left : {0, 50, 30000}) {
    const auto bounds = chain<std::int64_t>(40000, 5);
    OffsetsCarry carry{.total = kMost - left, .lists = 7};
    std::vector<std::int64_t> offsets(bounds.size(), 77);
    const Failure outcome = failure_of(
        [&] { upsweep::offsets(par, bounds.data(), bounds.data() + 1, 40000, offsets.data(), false, carry); });
    auto expected = tests::expected_offsets(bounds.data(), bounds.data() + 1, 40000, false, kMost - left);
    ASSERT_EQ(expected.outcome.code, Code::overflow);
    expected.outcome.index += 7;
    EXPECT_EQ(tests::complaint(expected, outcome, offsets.data()), "") << "left " << left;
  }
}

TEST(OffsetsCarry, PartsMergeInOrder) {
  const OffsetsCarry none;
  const OffsetsCarry left{.total = 10, .lists = 4};
  const OffsetsCarry right{.total = 5, .lists = 3};
  const OffsetsCarry bad{.total = 2, .lists = 6, .first_bad = 5};
  const auto same = [](const OffsetsCarry& a, const OffsetsCarry& b) {
    return a.total == b.total && a.lists == b.lists && a.first_bad == b.first_bad;
  };
  EXPECT_TRUE(same(merge_carries(none, left), left));
  EXPECT_TRUE(same(merge_carries(left, none), left));
  EXPECT_TRUE(same(merge_carries(left, right), {.total = 15, .lists = 7}));
  EXPECT_EQ(merge_carries(left, bad).first_bad, 9);
  EXPECT_EQ(merge_carries(bad, left).first_bad, 5);
  EXPECT_EQ(merge_carries(bad, bad).first_bad, 5);
  EXPECT_EQ(merge_carries(merge_carries(left, right), bad).first_bad,
            merge_carries(left, merge_carries(right, bad)).first_bad);
  EXPECT_EQ(merge_carries({.total = kMost, .lists = 2}, right).first_bad, 2) << "the total overflows after list 1";
  EXPECT_EQ(merge_carries({.total = kMost, .lists = 2, .first_bad = 0}, right).first_bad, 0);
  EXPECT_EQ(merge_carries({.total = kMost - 5, .lists = 2}, right).first_bad, kNoIndex);
}

TEST(OffsetsCarry, CarriesOfPartsAloneMergeToTheWholes) {
  const std::int64_t n = 100003;
  const auto lists = tests::make_lists<std::int64_t>(ListPattern::random, n, 14);
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(n) + 1);
  OffsetsCarry whole;
  upsweep::offsets(par, lists.starts.data(), lists.stops.data(), n, offsets.data(), false, whole);
  for (const auto& rung : tests::cpu_rungs("offsets")) {
    if (is_adjacent(rung)) continue;
    OffsetsCarry merged;
    for (std::int64_t first = 0; first < n; first += 20001) {
      const std::int64_t count = std::min<std::int64_t>(20001, n - first);
      OffsetsCarry part;
      upsweep::offsets(par.with_rung(rung.id), lists.starts.data() + first, lists.stops.data() + first, count,
                       offsets.data(), false, part);
      merged = merge_carries(merged, part);
    }
    EXPECT_EQ(merged.total, whole.total) << rung.id;
    EXPECT_EQ(merged.lists, n) << rung.id;
    EXPECT_EQ(merged.first_bad, kNoIndex) << rung.id;
  }
}

}  // namespace
}  // namespace upsweep
