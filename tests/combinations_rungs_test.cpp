// SPDX-License-Identifier: Apache-2.0
// tests/combinations_rungs_test.cpp: every rung of combinations, and of cartesian products, is compared with the
// reference. Cases: tuples of 1 to 6, replacement, patterns, bounds, shares that end within lists, misalignment,
// threads, instruction sets, invalid lists, overflow, and refused arguments.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "climb/generated_lists.hpp"
#include "expected_tuples.hpp"
#include "failure.hpp"
#include "patterns.hpp"
#include "problems/lists/combinations/reference.hpp"
#include "rungs.hpp"
#include "upsweep/combinations.hpp"

namespace upsweep {
namespace {

using tests::code_of;
using tests::Expected;
using tests::expected_of;
using tests::Failure;
using tests::failure_of;
using tests::Guarded;
using tests::isas;
using tests::Positions;

using Kind = impl::combinations::ExpectedTuples::Kind;

/// Checks that count(offsets) and make(offsets, out, capacity) produce the expected results.
template <class Count, class Make>
void check(const Expected& expected, std::int64_t misaligned, Count count, Make make) {
  const std::int64_t total = expected.total();
  const std::int64_t offsets = std::ssize(expected.offsets);
  const auto is_right = [&](Guarded<std::int64_t>& found, const Positions& right) {
    return found.intact() && std::equal(right.begin(), right.end(), found.data());
  };
  Guarded<std::int64_t> counted(offsets, misaligned);
  EXPECT_EQ(count(counted.data()).total, total);
  EXPECT_TRUE(is_right(counted, expected.offsets)) << "counted";
  std::vector<Guarded<std::int64_t>> out;
  std::vector<std::int64_t*> pointers;
  for (std::int64_t d = 0; d < expected.n; ++d) {
    out.emplace_back(total, misaligned + d);
    pointers.push_back(out.back().data());
  }
  Guarded<std::int64_t> made(offsets, misaligned / 2);
  EXPECT_EQ(make(made.data(), pointers.data(), total).total, total);
  EXPECT_TRUE(is_right(made, expected.offsets)) << "offsets";
  for (std::size_t d = 0; d < out.size(); ++d) EXPECT_TRUE(is_right(out[d], expected.out[d])) << "position " << d;
}

void check_rungs(const Policy& policy, const Lists& lists, std::int64_t content, const Expected& expected,
                 std::int64_t misaligned = 0) {
  const bool replacement = expected.kind == Kind::with_replacement;
  for (const auto& rung : tests::cpu_rungs("combinations")) {
    const Policy by = policy.with_rung(rung.id);
    SCOPED_TRACE(testing::Message() << rung.id << " n " << expected.n << (replacement ? " with" : " without")
                                    << " replacement, threads " << policy.threads << " isa " << name(policy.isa));
    check(
        expected, misaligned,
        [&](std::int64_t* offsets) {
          return combinations_offsets(by, lists, content, expected.n, replacement, offsets);
        },
        [&](std::int64_t* offsets, std::int64_t* const* out, std::int64_t capacity) {
          return combinations(by, lists, content, expected.n, replacement, offsets, out, capacity);
        });
  }
}

TEST(CombinationsRungs, EveryLengthAndN) {
  for (const bool replacement : {false, true}) {
    for (std::int64_t n = 1; n <= 6; ++n) {
      Positions lists{5};
      const std::int64_t longest = n == 1 ? 200 : n == 2 ? 70 : n == 3 ? 25 : 12;
      for (std::int64_t length = 0; length <= longest; ++length) lists.push_back(lists.back() + length);
      for (std::int64_t length = 0; length <= 6; ++length) lists.push_back(lists.back() + length);
      const auto expected = expected_of(lists, n, replacement);
      for (const Isa isa : isas()) check_rungs(seq.with_isa(isa), Lists(lists), lists.back(), expected, n % 3);
    }
  }
}

TEST(CombinationsRungs, OneShortListAtTheEndOfMemory) {
  for (std::int64_t length = 0; length <= 17; ++length) {
    const Positions lists{3, 3 + length};
    for (const Isa isa : isas()) {
      check_rungs(seq.with_isa(isa), Lists(lists), lists.back(), expected_of(lists, 2, false), length % 3);
      check_rungs(seq.with_isa(isa), Lists(lists), lists.back(), expected_of(lists, 3, true), length % 3);
    }
  }
}

TEST(CombinationsRungs, EveryPatternThreadCountAndInstructionSet) {
  for (int pattern = 0; pattern < static_cast<int>(std::size(kListPatterns)); ++pattern) {
    const auto which = static_cast<ListPattern>(pattern);
    const bool is_long = which == ListPattern::one || which == ListPattern::pareto || which == ListPattern::fixed1000;
    const auto lists = generated_offsets(which, is_long ? 1000 : 100001);
    SCOPED_TRACE(kListPatterns[pattern]);
    const auto expected = expected_of(lists, 2, pattern % 2 == 1);
    for (const int threads : {1, 2, 3, 4}) {
      for (const Isa isa : isas()) {
        check_rungs(par.with_threads(threads).with_isa(isa), Lists(lists), lists.back(), expected, threads);
      }
    }
  }
}

/// Shares begin within lists. Binary search finds their begin, in every position of a tuple.
TEST(CombinationsRungs, SharesWithinLongLists) {
  for (const auto& [length, n, replacement] : {std::tuple{900, 2, false},
                                               {900, 2, true},
                                               {120, 3, false},
                                               {110, 3, true},
                                               {50, 4, false},
                                               {21, 6, true},
                                               {29, 24, false},
                                               {400000, 1, false}}) {
    const Positions lists{2, 4, 4 + length, 10 + length};
    const auto expected = expected_of(lists, n, replacement);
    ASSERT_GT(expected.total(), 3 * 65536 / 2);
    check_rungs(par.with_threads(3), Lists(lists), lists.back(), expected, 1);
  }
}

TEST(CombinationsRungs, PastTheCaches) {
  const auto lists = generated_offsets(ListPattern::poisson, 600001);
  const auto expected = expected_of(lists, 2, false);
  ASSERT_GT(expected.total() * 16, std::int64_t{8} << 20);
  for (const Isa isa : isas()) check_rungs(par.with_threads(2).with_isa(isa), Lists(lists), lists.back(), expected, 1);
}

template <class T>
class CombinationBounds : public testing::Test {};
using BoundTypes = testing::Types<std::int32_t, std::uint32_t, std::int64_t>;
TYPED_TEST_SUITE(CombinationBounds, BoundTypes);

TYPED_TEST(CombinationBounds, ListsAnywhereAndNullOnes) {
  std::mt19937 random(4);
  std::vector<TypeParam> starts;
  std::vector<TypeParam> stops;
  std::vector<std::uint8_t> valid;
  Expected expected(Kind::without_replacement, 3);
  for (std::int64_t i = 0; i < 3000; ++i) {
    const std::int64_t start = static_cast<std::int64_t>(random() % 1000);
    const std::int64_t stop = start + static_cast<std::int64_t>(random() % 8);
    valid.push_back(random() % 3 != 0);
    starts.push_back(
        static_cast<TypeParam>(valid.back() != 0 ? start : start + 9));  // bounds of null lists are not checked
    stops.push_back(static_cast<TypeParam>(stop));
    expected.add(start, valid.back() != 0 ? stop : start);
  }
  check_rungs(par.with_threads(2), Lists(starts, stops).with_validity(valid), 1008, expected);
}

TEST(CombinationLists, OfOneSize) {
  for (const std::int64_t size : {0, 1, 2, 5, 40}) {
    Positions lists;
    for (std::int64_t i = 0; i <= 2000; ++i) lists.push_back(i * size);
    check_rungs(par.with_threads(2), Lists::of_size(2000, size), 2000 * size, expected_of(lists, 2, true));
  }
}

// -------------------------------------------------------------------------------------------------- cartesian products

void check_cartesian(const Policy& policy, const std::vector<CartesianInput>& inputs, const Expected& expected) {
  for (const auto& rung : tests::cpu_rungs("combinations")) {
    const Policy by = policy.with_rung(rung.id);
    SCOPED_TRACE(testing::Message() << rung.id << " threads " << policy.threads);
    check(
        expected, 1, [&](std::int64_t* offsets) { return cartesian_offsets(by, inputs, offsets); },
        [&](std::int64_t* offsets, std::int64_t* const* out, std::int64_t capacity) {
          return cartesian(by, inputs, offsets, out, capacity);
        });
  }
}

TEST(Cartesian, OfOneToFourLists) {
  std::mt19937 random(8);
  for (std::size_t n = 1; n <= 4; ++n) {
    for (const bool is_long : {false, true}) {
      constexpr std::size_t kLists = 2500;
      const std::size_t count = is_long ? 3 : kLists;
      std::vector<Positions> offsets(n, Positions{7});
      for (Positions& input : offsets) {
        for (std::size_t i = 0; i < count; ++i) {
          const unsigned most = is_long ? (n == 2 ? 500 : n == 3 ? 60 : 20) : 5;
          input.push_back(input.back() + static_cast<std::int64_t>(is_long ? most : random() % most));
        }
      }
      Expected expected(Kind::cartesian, static_cast<std::int64_t>(n));
      for (std::size_t i = 0; i < count; ++i) {
        Positions starts;
        Positions stops;
        for (const Positions& input : offsets) {
          starts.push_back(input[i]);
          stops.push_back(input[i + 1]);
        }
        expected.add(starts, stops);
      }
      std::vector<CartesianInput> inputs;
      inputs.reserve(offsets.size());
      for (const Positions& input : offsets) inputs.push_back({Lists(input), input.back()});
      for (const int threads : {1, 3}) check_cartesian(par.with_threads(threads), inputs, expected);
    }
  }
}

// ------------------------------------------------------------------------------------------------------------- errors

TEST(CombinationErrors, TheFirstBadListIsNamed) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kLists = 100000;
  constexpr std::int64_t kContent = kMost - 1;  // the content is not read
  Positions starts(kLists, 3);
  Positions stops(kLists, 5);
  Positions offsets(kLists + 1);
  const auto expect = [&](const Failure& expected) {
    for (const auto& rung : tests::cpu_rungs("combinations")) {
      for (const int threads : {1, 4}) {
        const Policy policy = par.with_threads(threads).with_rung(rung.id);
        EXPECT_EQ(failure_of([&] { combinations_offsets(policy, Lists(starts, stops), kContent, 2, false, offsets); }),
                  expected)
            << rung.id << " list " << expected.index;
      }
    }
  };
  const auto with = [&](std::int64_t list, std::int64_t start, std::int64_t stop, const auto& run) {
    const auto at = static_cast<std::size_t>(list);
    const std::pair kept(std::exchange(starts[at], start), std::exchange(stops[at], stop));
    run();
    std::tie(starts[at], stops[at]) = kept;
  };
  expect({Code::ok, kNoIndex});
  for (const std::int64_t list : {std::int64_t{0}, std::int64_t{1023}, std::int64_t{1024}, kLists - 1}) {
    with(list, 5, 4, [&] { expect({Code::stop_before_start, list}); });
    with(list, -1, 4, [&] { expect({Code::negative_start, list}); });
    with(list, 5, kMost, [&] { expect({Code::stop_past_end, list}); });
    with(list, 0, kMost - 1, [&] { expect({Code::overflow, list}); });
  }
  // With replacement, from more elements than int64 can count.
  with(4, 0, kMost - 1, [&] {
    EXPECT_EQ(failure_of([&] { combinations_offsets(par, Lists(starts, stops), kContent, 3, true, offsets); }),
              (Failure{Code::overflow, 4}));
  });
  // A single list just fits: 4294967296 choose 2. With other lists it does not.
  with(2000, 0, std::int64_t{1} << 32, [&] {
    with(2001, 0, std::int64_t{1} << 15, [&] { expect({Code::ok, kNoIndex}); });
    with(2001, 0, std::int64_t{1} << 17, [&] { expect({Code::overflow, 2001}); });
    with(50000, 0, std::int64_t{1} << 17, [&] { expect({Code::overflow, 50000}); });
  });
  with(70000, 5, 4, [&] { with(60000, -1, 4, [&] { expect({Code::negative_start, 60000}); }); });
  with(1026, 5, 4, [&] { with(1025, 0, kMost - 1, [&] { expect({Code::overflow, 1025}); }); });
  with(1025, 5, 4, [&] { with(1026, 0, kMost - 1, [&] { expect({Code::stop_before_start, 1025}); }); });
  // With two inputs, the error names the first invalid list of either.
  const Positions good(kLists + 1, 0);
  with(777, 5, 4, [&] {
    EXPECT_EQ(
        failure_of([&] { cartesian_offsets(par, {{Lists(good), 0}, {Lists(starts, stops), kContent}}, offsets); }),
        (Failure{Code::stop_before_start, 777}));
  });
  with(778, 0, kMost / 2, [&] {
    EXPECT_EQ(failure_of([&] {
                cartesian_offsets(par, {{Lists(starts, stops), kContent}, {Lists(starts, stops), kContent}}, offsets);
              }),
              (Failure{Code::overflow, 778}));
  });
}

TEST(CombinationErrors, WhatCallsRefuse) {
  const Positions lists{0, 3};
  Positions offsets(2);
  std::vector<Positions> out(2, Positions(3));
  const auto pairs = [&](const Policy& policy, const Lists& of, auto& to) {
    return code_of([&] { combinations(policy, of, 3, false, offsets, to); });
  };
  EXPECT_EQ(pairs(par, Lists(lists), out), Code::ok);
  EXPECT_EQ(pairs(par.with_rung("cpu.quick"), Lists(lists), out), Code::unknown_rung);
  EXPECT_EQ(pairs(par.with_threads(-1), Lists(lists), out), Code::invalid_argument);
  EXPECT_EQ(pairs(par, Lists::of_size(2, 1), out), Code::unequal_lengths) << "the offsets have another length";
  std::int64_t* const arrays[] = {out[0].data(), out[1].data()};
  const Lists most = Lists::of_size(std::numeric_limits<std::int64_t>::max(), 0);
  EXPECT_EQ(code_of([&] { combinations(par, most, 0, 2, false, nullptr, arrays, 3); }), Code::invalid_argument);
  std::vector<Positions> shorter{Positions(3), Positions(2)};
  EXPECT_EQ(pairs(par, Lists(lists), shorter), Code::unequal_lengths);
  std::vector<Positions> none;
  EXPECT_EQ(pairs(par, Lists(lists), none), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { combinations_offsets(par, Lists(lists), 3, 0, false, offsets); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { combinations_offsets(par, Lists(lists), -3, 2, false, offsets); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { combinations_offsets(par, Lists(lists), 3, 2, false, nullptr); }), Code::invalid_argument);
  std::int64_t* const null[] = {offsets.data(), nullptr};
  EXPECT_EQ(code_of([&] { combinations(par, Lists(lists), 3, 2, false, nullptr, null, 3); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { cartesian_offsets(par, {{Lists(lists), 3}, {Lists(), 0}}, offsets); }),
            Code::unequal_lengths);
  EXPECT_EQ(code_of([&] { cartesian(par, {{Lists(lists), 3}}, offsets, out); }), Code::unequal_lengths);
  EXPECT_EQ(code_of([&] { cartesian_offsets(par, {}, offsets); }), Code::invalid_argument);
}

TEST(CombinationsApi, OffsetsAloneTakeNoMemoryForTuples) {
  const std::vector<std::int64_t> offsets{0, 0, 1, 3};
  const std::int64_t n = std::int64_t{1} << 40;
  for (const std::string_view rung : {"cpu.serial", "cpu.shares"}) {
    std::vector<std::int64_t> of_tuples(4, -1);
    combinations_offsets(par.with_rung(rung), Lists(offsets), 3, n, true, of_tuples.data());
    EXPECT_EQ(of_tuples, (std::vector<std::int64_t>{0, 0, 1, n + 2})) << rung;
    combinations_offsets(par.with_rung(rung), Lists(offsets), 3, n, false, of_tuples.data());
    EXPECT_EQ(of_tuples, (std::vector<std::int64_t>{0, 0, 0, 0})) << rung;
  }
}

TEST(CombinationsApi, NoListsNoTuplesAndNoOffsets) {
  Positions offsets(1, -1);
  std::vector<Positions> out(3);
  EXPECT_EQ(combinations(par, Lists(), 0, false, offsets, out).total, 0);
  EXPECT_EQ(offsets[0], 0);
  const Positions lists{0, 2, 4};
  std::int64_t first[2];
  std::int64_t second[2];
  std::int64_t* const pointers[] = {first, second};
  EXPECT_EQ(combinations(par, Lists(lists), 4, 2, false, nullptr, pointers, 2).rung, "cpu.shares");
  EXPECT_EQ(std::vector(first, first + 2), (std::vector<std::int64_t>{0, 2}));
  EXPECT_EQ(std::vector(second, second + 2), (std::vector<std::int64_t>{1, 3}));
}

TEST(CombinationErrors, OutputsThatOverlap) {
  Positions lists{0, 3, 0, 0};
  Positions offsets(2);
  Positions first(3);
  Positions second(3);
  const Lists of = Lists::by_offsets(lists.data(), 1);
  const auto pairs = [&](const auto& policy, std::int64_t* to_offsets, std::int64_t* a, std::int64_t* b) {
    std::int64_t* const out[] = {a, b};
    return code_of([&] { combinations(policy, of, 3, 2, false, to_offsets, out, 3); });
  };
  EXPECT_EQ(pairs(par, offsets.data(), first.data(), second.data()), Code::ok);
  EXPECT_EQ(pairs(par, offsets.data(), first.data(), first.data()), Code::invalid_argument) << "outputs overlap";
  EXPECT_EQ(pairs(par, offsets.data(), lists.data() + 1, second.data()), Code::invalid_argument) << "the lists";
  EXPECT_EQ(pairs(par, lists.data(), first.data(), second.data()), Code::invalid_argument) << "overlaps bounds";
  EXPECT_EQ(pairs(par, second.data(), first.data(), second.data()), Code::invalid_argument) << "overlaps positions";
  EXPECT_EQ(pairs(gpu::Policy{}, offsets.data(), first.data(), first.data()), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { combinations_offsets(par, of, 3, 2, false, lists.data()); }), Code::invalid_argument);
  EXPECT_EQ(lists, (Positions{0, 3, 0, 0}));
}

}  // namespace
}  // namespace upsweep
