// SPDX-License-Identifier: Apache-2.0
// tests/group_rows_test.cpp: groups as rows of words, compared with a simple record of each group, while keys and
// states become wide.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "sql/query/bind.hpp"
#include "sql/query/group_rows.hpp"
#include "sql/query/sql.hpp"
#include "upsweep/query.hpp"

namespace upsweep {
namespace {

constexpr std::size_t kKeys = 3;
constexpr std::size_t kStates = 4;  // a sum of integers, a count, a sum of floats, a maximum

/// The expected contents of a group.
struct Expected {
  std::uint64_t hash = 0;
  std::array<Int128, kKeys> keys = {};
  std::array<bool, kKeys> nulls = {};
  std::array<query::State, kStates> states = {};
};

class GroupRows : public testing::Test {
 protected:
  GroupRows() {
    table_.add("a", std::vector<std::int64_t>{}).add("b", std::vector<std::int64_t>{});
    table_.add("f", std::vector<double>{}).add_text("w", {}, {});
    const std::string sql = "SELECT a, w, b, SUM(b), COUNT(*), SUM(f), MAX(b) FROM t GROUP BY a, w, b";
    plan_ = query::bind(sql, query::parse(sql), "t", table_.fields());
  }

  void add(query::GroupRows& rows, std::vector<Expected>& all) {
    Expected group{.hash = random_()};
    group.states[2].set_real(-0.0);  // sums of floats begin with it
    rows.push_back(group.hash);
    const std::int64_t number = std::ssize(all);
    for (std::size_t k = 0; k < kKeys; ++k) {
      group.keys[k] = static_cast<std::int64_t>(random_());
      rows.set_key(number, k, group.keys[k]);
    }
    all.push_back(group);
  }

  static void expect_same(const query::GroupRows& rows, const std::vector<Expected>& all) {
    ASSERT_EQ(rows.count(), std::ssize(all));
    for (std::int64_t g = 0; g < rows.count(); ++g) {
      const Expected& group = all[static_cast<std::size_t>(g)];
      ASSERT_EQ(rows.hash(g), group.hash) << g;
      bool any_null = false;
      for (std::size_t k = 0; k < kKeys; ++k) {
        ASSERT_TRUE(rows.key(g, k) == group.keys[k]) << g << ", key " << k;
        ASSERT_EQ(rows.is_null(g, k), group.nulls[k]) << g << ", key " << k;
        any_null = any_null || group.nulls[k];
        if (rows.is_word(k)) {
          ASSERT_TRUE(rows.key_word(g, k) == group.keys[k]);
        }
      }
      ASSERT_EQ(rows.any_null(g), any_null);
      for (std::size_t a = 0; a < kStates; ++a) {
        const query::State state = rows.state(g, a);
        ASSERT_EQ(state.count, group.states[a].count) << g << ", aggregate " << a;
        ASSERT_EQ(rows.count(g, a), group.states[a].count) << g << ", aggregate " << a;
        ASSERT_TRUE(state.exact == group.states[a].exact) << g << ", aggregate " << a;
        ASSERT_EQ(state.high(), group.states[a].high()) << g << ", aggregate " << a;
      }
    }
  }

  MemoryTable table_;
  query::QueryPlan plan_;
  std::mt19937_64 random_{7};
};

TEST_F(GroupRows, KeepWhatTheyHaveWhileTheyBecomeWide) {
  query::GroupRows rows(plan_);
  std::vector<Expected> all;
  for (int g = 0; g < 1000; ++g) add(rows, all);
  EXPECT_TRUE(rows.are_narrow());
  EXPECT_FALSE(rows.have_nulls());
  const auto change = [&](std::int64_t g) -> Expected& { return all[static_cast<std::size_t>(g)]; };
  for (std::int64_t g = 0; g < 1000; ++g) {
    Expected& group = change(g);
    rows.count(g, 1) += g;
    group.states[1].count = g;
    rows.add_exact(g, 0, Int128{5} * g);
    group.states[0].exact = Int128{5} * g;
    rows.add_real(g, 2, 0.5);
    group.states[2].set_real(0.5);
  }
  expect_same(rows, all);

  rows.set_null(17, 2);  // it widens all rows
  rows.set_key(17, 2, 0);
  change(17).nulls[2] = true;
  change(17).keys[2] = 0;
  EXPECT_TRUE(rows.have_nulls());
  expect_same(rows, all);

  const Int128 wide = Int128{1} << 100;
  EXPECT_TRUE(rows.is_word(0));
  rows.set_key(999, 0, wide);
  change(999).keys[0] = wide;
  EXPECT_FALSE(rows.is_word(0));
  EXPECT_TRUE(rows.is_word(2));
  EXPECT_FALSE(rows.are_narrow());
  expect_same(rows, all);

  EXPECT_TRUE(rows.is_narrow(0));
  rows.add_exact(3, 0, std::numeric_limits<std::int64_t>::max());
  change(3).states[0].exact += std::numeric_limits<std::int64_t>::max();
  EXPECT_FALSE(rows.is_narrow(0));
  EXPECT_TRUE(rows.is_narrow(3));
  expect_same(rows, all);

  for (std::int64_t g = 0; g < 100; ++g) add(rows, all);
  expect_same(rows, all);
  rows.pop_back();
  all.pop_back();
  expect_same(rows, all);
}

TEST_F(GroupRows, SumsPastBothEndsOf128BitsComeBack) {
  query::GroupRows rows(plan_);
  rows.push_back(1);
  const Int128 half = Int128{1} << 126;
  for (int i = 0; i < 4; ++i) rows.add_exact(0, 0, half);
  EXPECT_TRUE(rows.state(0, 0).exact == 0);
  EXPECT_EQ(rows.state(0, 0).high(), 1);
  for (int i = 0; i < 8; ++i) rows.add_exact(0, 0, -half);
  EXPECT_EQ(rows.state(0, 0).high(), -1);
  rows.add_high(0, 0, 1);
  EXPECT_EQ(rows.state(0, 0).high(), 0);
  EXPECT_TRUE(rows.state(0, 0).exact == 0);
}

TEST_F(GroupRows, ARowCountsForAllAggregatesAndAddsToSums) {
  query::GroupRows rows(plan_);
  rows.push_back(1);
  rows.push_back(2);
  const std::array<std::size_t, 2> sums = {0, 2};
  const auto real = [](double value) { return std::bit_cast<std::uint64_t>(value); };
  const std::array<std::uint64_t, 2> first = {static_cast<std::uint64_t>(std::int64_t{-5}), real(1.5)};
  const std::array<std::uint64_t, 2> second = {std::uint64_t{1} << 62, real(-0.25)};
  rows.add_row(1, sums, first.data());
  for (int i = 0; i < 3; ++i) rows.add_row(1, sums, second.data());  // more than 64 bits
  EXPECT_TRUE(rows.state(1, 0).exact == (Int128{3} << 62) - 5);
  EXPECT_EQ(rows.state(1, 2).real(), 0.75);
  for (std::size_t a = 0; a < kStates; ++a) {
    EXPECT_EQ(rows.count(1, a), 4);
    EXPECT_EQ(rows.count(0, a), 0);
  }
}

TEST_F(GroupRows, AreCopiedToOthersThatAreWideEnough) {
  query::GroupRows narrow(plan_);
  query::GroupRows wide(plan_);
  std::vector<Expected> all;
  for (int g = 0; g < 50; ++g) add(narrow, all);
  std::vector<Expected> others;
  add(wide, others);
  wide.set_null(0, 1);
  wide.set_key(0, 1, 0);
  wide.set_key(0, 2, -(Int128{1} << 90));
  others[0].nulls[1] = true;
  others[0].keys[1] = 0;
  others[0].keys[2] = -(Int128{1} << 90);
  query::GroupRows to(plan_);
  to.widen_as(narrow);
  to.widen_as(wide);
  to.resize(51);
  for (std::int64_t g = 0; g < 50; ++g) to.copy_row(50 - g, narrow, g);
  to.copy_row(0, wide, 0);
  std::vector<Expected> expected = others;
  expected.insert(expected.end(), all.rbegin(), all.rend());
  expect_same(to, expected);
  to.clear();
  EXPECT_TRUE(to.are_narrow());
  EXPECT_EQ(to.count(), 0);
}

TEST_F(GroupRows, ShortTextsLieInTheirKeys) {
  query::GroupRows rows(plan_);
  rows.push_back(1);
  rows.set_key(0, 1, query::short_string_key("fifteen letters"));
  EXPECT_EQ(rows.short_string(0, 1), "fifteen letters");
  rows.set_key(0, 1, query::short_string_key(""));
  EXPECT_EQ(rows.short_string(0, 1), "");
  EXPECT_TRUE(rows.are_narrow());  // text has two words from the beginning
}

}  // namespace
}  // namespace upsweep
