// SPDX-License-Identifier: Apache-2.0
// tests/groups_test.cpp: GROUP BY of a few and of millions of groups, compared with a map. Cases: keys of all kinds,
// the order of first rows, and the same bits on any number of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "patterns.hpp"
#include "sql/query/bind.hpp"
#include "sql/query/cpu_folder.hpp"
#include "sql/query/group_merge.hpp"
#include "sql/query/sql.hpp"
#include "sql/query/string_key.hpp"
#include "sql/query/string_table.hpp"
#include "sql/query/totals.hpp"
#include "system/hash.hpp"
#include "upsweep/error.hpp"
#include "upsweep/query.hpp"

namespace upsweep {
namespace {

using Longs = std::vector<std::int64_t>;

/// The expected result of a group.
struct Expected {
  Int128 sum = 0;
  std::int64_t count = 0;
  std::int64_t least = 0;
  std::int64_t greatest = 0;
};

/// Rows by a key of any type, and the keys in the order of their first rows.
template <class Key>
struct Reference {
  std::map<Key, Expected> groups;
  std::vector<Key> order;

  void add(const Key& key, std::int64_t x) {
    auto [at, is_new] = groups.try_emplace(key, Expected{.least = x, .greatest = x});
    if (is_new) order.push_back(key);
    Expected& group = at->second;
    group.sum += x;
    ++group.count;
    group.least = std::min(group.least, x);
    group.greatest = std::max(group.greatest, x);
  }
};

struct Rows {
  Longs x;
  std::vector<double> f;

  explicit Rows(std::size_t n) {
    std::mt19937_64 random(n);
    for (std::size_t i = 0; i < n; ++i) {
      x.push_back(static_cast<std::int64_t>(random() >> 2) - (std::int64_t{1} << 61));
      f.push_back(static_cast<double>(random() >> 11) * 0x1p-30 - 0x1p22);
    }
  }
};

constexpr std::string_view kAggregates = ", SUM(x), COUNT(*), MIN(x), MAX(x), SUM(f) FROM t GROUP BY ";

/// The answer's rows, from which `key_of` makes keys, must equal those of the reference, in its order. With other
/// numbers of threads the bits are the same.
template <class Key, class KeyOf>
void expect_groups(const std::string& keys, const Table& t, const Reference<Key>& expected, const KeyOf& key_of) {
  const Query query("SELECT " + keys + std::string(kAggregates) + keys, t);
  const Answer answer = query.run(par.with_threads(1), t);
  ASSERT_EQ(answer.rows.size(), expected.order.size());
  const std::size_t width = answer.columns.size() - 5;
  for (std::size_t i = 0; i < answer.rows.size(); ++i) {
    const auto row = answer.rows[i];
    ASSERT_TRUE(key_of(row) == expected.order[i]) << "row " << i;
    const Expected& group = expected.groups.at(expected.order[i]);
    ASSERT_TRUE(row[width].exact == group.sum && row[width + 1].exact == group.count &&
                row[width + 2].exact == group.least && row[width + 3].exact == group.greatest)
        << "row " << i;
  }
  for (const int threads : tests::kSanitized ? std::vector{3} : std::vector{2, 5}) {
    const Answer other = query.run(par.with_threads(threads), t);
    ASSERT_EQ(other.rows.size(), answer.rows.size());
    for (std::size_t i = 0; i < answer.rows.size(); ++i) {
      for (std::size_t c = 0; c < answer.columns.size(); ++c) {
        const Cell a = answer.rows[i][c];
        const Cell b = other.rows[i][c];
        ASSERT_TRUE(a.null == b.null && a.exact == b.exact && a.word == b.word &&
                    std::bit_cast<std::uint64_t>(a.real) == std::bit_cast<std::uint64_t>(b.real))
            << threads << " threads, row " << i << ", column " << c;
      }
    }
  }
  // If no float is summed, a thread's groups are those of several batches.
  const Query exact("SELECT " + keys + ", SUM(x), COUNT(*) FROM t WHERE x != 0 GROUP BY " + keys, t);
  for (const int threads : tests::kSanitized ? std::vector{3} : std::vector{1, 2, 5}) {
    const Answer other = exact.run(par.with_threads(threads), t);
    ASSERT_EQ(other.rows.size(), answer.rows.size());
    for (std::size_t i = 0; i < answer.rows.size(); ++i) {
      const Expected& group = expected.groups.at(expected.order[i]);
      ASSERT_TRUE(key_of(other.rows[i]) == expected.order[i] && other.rows[i][width].exact == group.sum &&
                  other.rows[i][width + 1].exact == group.count)
          << threads << " threads, row " << i;
    }
  }
}

// Several batches, with many groups in each.
constexpr std::size_t kRows = tests::kSanitized ? 150'000 : 400'000;

std::vector<std::int64_t> counts() {
  if (tests::kSanitized) return {300, 10'000'000};
  return {1, 2, 300, 3000, 70'000, 10'000'000};
}

TEST(Groups, OfIntegersNearAndFar) {
  const Rows rows(kRows);
  std::mt19937_64 random(1);
  for (const std::int64_t groups : counts()) {
    for (const std::int64_t factor : {std::int64_t{1}, std::int64_t{922'337'203'685}}) {
      Longs key;
      Reference<std::int64_t> expected;
      for (std::size_t i = 0; i < kRows; ++i) {
        key.push_back((static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(groups)) - groups / 2) * factor);
        expected.add(key.back(), rows.x[i]);
      }
      MemoryTable t;
      t.add("k", key).add("x", rows.x).add("f", rows.f);
      expect_groups("k", t, expected, [](const auto& row) { return static_cast<std::int64_t>(row[0].exact); });
    }
  }
}

TEST(Groups, ThatAreFarAndThenNear) {  // both strategies, in one batch
  const Rows rows(kRows);
  std::mt19937_64 random(2);
  Longs key;
  Reference<std::int64_t> expected;
  for (std::size_t i = 0; i < kRows; ++i) {
    const bool is_far = i / 5000 % 3 == 0;
    key.push_back(static_cast<std::int64_t>(random() % 5000) * (is_far && random() % 2 == 0 ? 1'000'003 : 1));
    expected.add(key.back(), rows.x[i]);
  }
  MemoryTable t;
  t.add("k", key).add("x", rows.x).add("f", rows.f);
  expect_groups("k", t, expected, [](const auto& row) { return static_cast<std::int64_t>(row[0].exact); });
}

// Runs of a key: some cross borders of batches, and one contains whole batches. Keys ascend up to the end, or up to a
// row with a smaller key.
TEST(Groups, OfKeysThatAscend) {
  const Rows rows(kRows);
  for (const std::int64_t run : tests::kSanitized ? std::vector<std::int64_t>{3} : std::vector<std::int64_t>{1, 3, 7}) {
    for (const bool goes_back : {false, true}) {
      Longs key;
      Reference<std::int64_t> expected;
      for (std::size_t i = 0; i < kRows; ++i) {
        const bool is_same = i > 50'000 && i < 210'000 && run == 3;
        const std::int64_t at = is_same ? 50'000 : static_cast<std::int64_t>(i);
        key.push_back((goes_back && i == kRows - 300 ? 17 : at / run) - 60'000);
        expected.add(key.back(), rows.x[i]);
      }
      MemoryTable t;
      t.add("k", key).add("x", rows.x).add("f", rows.f);
      expect_groups("k", t, expected, [](const auto& row) { return static_cast<std::int64_t>(row[0].exact); });
      const Query exact("SELECT k, SUM(x), COUNT(*) FROM t GROUP BY k", t);
      for (const int threads : {1, 3}) {
        for (const Answer& answer :
             {exact.run(par.with_threads(threads), t), exact.answer(exact.fold(par.with_threads(threads), t))}) {
          ASSERT_EQ(answer.rows.size(), expected.order.size());
          for (std::size_t i = 0; i < answer.rows.size(); ++i) {
            const auto row = answer.rows[i];
            const Expected& group = expected.groups.at(expected.order[i]);
            ASSERT_TRUE(row[0].exact == expected.order[i] && row[1].exact == group.sum && row[2].exact == group.count)
                << "row " << i;
          }
        }
      }
    }
  }
}

TEST(Groups, AtTheEndsOfTheirType) {
  const Rows rows(kRows);
  Longs key;
  Reference<std::int64_t> expected;
  std::mt19937_64 random(3);
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto some = static_cast<std::int64_t>(random() % 4000);
    key.push_back(i / 3000 % 2 == 0 ? std::numeric_limits<std::int64_t>::min() + some
                                    : std::numeric_limits<std::int64_t>::max() - some);
    expected.add(key.back(), rows.x[i]);
  }
  MemoryTable t;
  t.add("k", key).add("x", rows.x).add("f", rows.f);
  expect_groups("k", t, expected, [](const auto& row) { return static_cast<std::int64_t>(row[0].exact); });
}

// 64-bit keys up to a row, and then wider ones. In a pair of keys only the first is wider; some keys are negative, and
// some are NULL.
TEST(Groups, OfKeysThatBecomeWide) {
  const Rows rows(kRows);
  std::mt19937_64 random(13);
  std::vector<Int128> wide;
  Longs small;
  std::vector<std::uint8_t> validity(kRows / 8 + 1);
  using Key = std::tuple<std::optional<Int128>, std::int64_t>;
  Reference<Key> expected;
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto value = static_cast<std::int64_t>(random() % 90'000) - 45'000;
    const bool is_wide = i > kRows / 2 && random() % 3 == 0;
    wide.push_back(is_wide ? Int128{value} << 64 : Int128{value} << (random() % 2 == 0 ? 47 : 0));
    small.push_back(i % 100 == 0 ? std::numeric_limits<std::int64_t>::min() : -static_cast<std::int64_t>(i % 2));
    const bool is_null = i % 65'536 < 9000 && random() % 50 == 0;
    if (!is_null) validity[i / 8] |= static_cast<std::uint8_t>(1 << (i % 8));
    expected.add({is_null ? std::nullopt : std::optional(wide.back()), small.back()}, rows.x[i]);
  }
  MemoryTable t;
  t.add(Field{.name = "w", .kind = ValueKind::decimal, .storage = Storage::int128, .scale = 2}, wide.data(),
        std::ssize(wide), validity.data());
  t.add("s", small).add("x", rows.x).add("f", rows.f);
  expect_groups("w, s", t, expected, [](const auto& row) {
    return Key(row[0].null ? std::nullopt : std::optional(row[0].exact), static_cast<std::int64_t>(row[1].exact));
  });
  const Query query("SELECT w, s, COUNT(*) FROM t GROUP BY w, s", t);
  const Answer answer = query.answer(query.fold(par, t));
  ASSERT_EQ(answer.rows.size(), expected.order.size());
  for (std::size_t i = 0; i < answer.rows.size(); ++i) {
    const auto row = answer.rows[i];
    const auto& [first, second] = expected.order[i];
    ASSERT_TRUE(row[0].null != first.has_value() && (!first || row[0].exact == *first) && row[1].exact == second) << i;
    ASSERT_TRUE(row[2].exact == expected.groups.at(expected.order[i]).count) << i;
  }
}

// All keys are far apart. Or they are close to each other up to a row, and then also at multiples of 2^32 from the
// earlier ones. Or all are close.
TEST(Groups, OfPairsOfNumbers) {
  const Rows rows(kRows);
  std::mt19937_64 random(14);
  for (const std::int64_t groups : counts()) {
    for (const std::size_t first_far : {std::size_t{0}, kRows / 2 + 100, kRows}) {
      Longs a, b;
      Reference<std::pair<std::int64_t, std::int64_t>> expected;
      for (std::size_t i = 0; i < kRows; ++i) {
        const auto some = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(groups));
        const auto far = i < first_far ? std::int64_t{0} : static_cast<std::int64_t>(random() % 3 << 32);
        a.push_back(first_far == 0 ? some / 7 * 922'337'203'685 : some / 7 + far);
        b.push_back(some % 7 - 3);
        expected.add({a.back(), b.back()}, rows.x[i]);
      }
      MemoryTable t;
      t.add("a", a).add("b", b).add("x", rows.x).add("f", rows.f);
      expect_groups("a, b", t, expected, [](const auto& row) {
        return std::pair(static_cast<std::int64_t>(row[0].exact), static_cast<std::int64_t>(row[1].exact));
      });
    }
  }
}

TEST(Groups, OfSeveralKeysSomeNull) {
  const Rows rows(kRows);
  std::mt19937_64 random(4);
  for (const std::int64_t groups : {40, 3000, 600'000}) {
    Longs key;
    std::vector<std::int32_t> day;
    std::vector<std::uint8_t> validity(kRows / 8 + 1);
    Reference<std::tuple<std::optional<std::int64_t>, std::int64_t>> expected;
    for (std::size_t i = 0; i < kRows; ++i) {
      key.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(groups)));
      day.push_back(static_cast<std::int32_t>(random() % 3));
      const bool is_there = random() % 7 != 0;
      if (is_there) validity[i / 8] |= static_cast<std::uint8_t>(1 << (i % 8));
      expected.add({is_there ? std::optional(key.back()) : std::nullopt, day.back()}, rows.x[i]);
    }
    MemoryTable t;
    t.add(Field{.name = "k"}, key.data(), std::ssize(key), validity.data()).add_dates("d", day);
    t.add("x", rows.x).add("f", rows.f);
    expect_groups("k, d", t, expected, [](const auto& row) {
      const auto first = row[0].null ? std::nullopt : std::optional(static_cast<std::int64_t>(row[0].exact));
      return std::tuple(first, static_cast<std::int64_t>(row[1].exact));
    });
  }
}

TEST(Groups, OfText) {
  const Rows rows(kRows);
  std::mt19937_64 random(5);
  for (const std::size_t groups : {std::size_t{5}, std::size_t{5000}, std::size_t{300'000}}) {
    if (tests::kSanitized && groups == 5000) continue;
    std::vector<std::string> words;
    words.reserve(groups);
    for (std::size_t i = 0; i < groups; ++i) words.push_back(std::string(i % 40, 'x') + std::to_string(i));
    std::vector<std::int32_t> index;
    Longs key;
    Reference<std::string> by_word;
    Reference<std::tuple<std::string, std::int64_t>> by_both;
    for (std::size_t i = 0; i < kRows; ++i) {
      index.push_back(static_cast<std::int32_t>(random() % groups));
      key.push_back(static_cast<std::int64_t>(random() % 2));
      const std::string& word = words[static_cast<std::size_t>(index.back())];
      by_word.add(word, rows.x[i]);
      by_both.add({word, key.back()}, rows.x[i]);
    }
    MemoryTable t;
    t.add_text("w", index, words).add("k", key).add("x", rows.x).add("f", rows.f);
    expect_groups("w", t, by_word, [](const auto& row) { return std::string(row[0].word); });
    expect_groups("w, k", t, by_both, [](const auto& row) {
      return std::tuple(std::string(row[0].word), static_cast<std::int64_t>(row[1].exact));
    });
  }
}

TEST(Groups, WithTextsThatAreLeastAndGreatest) {
  std::mt19937_64 random(6);
  std::vector<std::string> words;
  words.reserve(1000);
  for (int i = 0; i < 1000; ++i) words.push_back("word " + std::to_string(i * 7919 % 1000));
  std::vector<std::int32_t> index;
  Longs key;
  std::map<std::int64_t, std::pair<std::string, std::string>> expected;
  for (std::size_t i = 0; i < kRows; ++i) {
    index.push_back(static_cast<std::int32_t>(random() % 1000));
    key.push_back(static_cast<std::int64_t>(random() % 50'000));
    const std::string& word = words[static_cast<std::size_t>(index.back())];
    auto& [least, greatest] = expected.try_emplace(key.back(), word, word).first->second;
    least = std::min(least, word);
    greatest = std::max(greatest, word);
  }
  MemoryTable t;
  t.add_text("w", index, words).add("k", key);
  for (const int threads : {1, 3}) {
    const Answer answer = Query("SELECT k, MIN(w), MAX(w) FROM t GROUP BY k", t).run(par.with_threads(threads), t);
    ASSERT_EQ(answer.rows.size(), expected.size());
    for (const auto& row : answer.rows) {
      const auto& [least, greatest] = expected.at(static_cast<std::int64_t>(row[0].exact));
      ASSERT_EQ(row[1].word, least);
      ASSERT_EQ(row[2].word, greatest);
    }
  }
}

// Batches in which nearly every row is a separate group: their rows are merged without a lookup. Some ranges of rows
// have NULLs, which this strategy does not support. Some batches keep only few rows.
TEST(Groups, OfRowsThatAreNearlyAllApart) {
  const Rows rows(kRows);
  std::mt19937_64 random(11);
  Longs key;
  Longs y;
  std::vector<std::int32_t> day;
  std::vector<std::uint8_t> key_validity(kRows / 8 + 1);
  std::vector<std::uint8_t> y_validity(kRows / 8 + 1);
  using Key = std::tuple<std::optional<std::int64_t>, std::int64_t>;
  struct Sums {
    Int128 x = 0;
    std::int64_t rows = 0;
    std::int64_t y = 0;
    std::int64_t y_rows = 0;
    double f = 0;
  };
  std::map<Key, Sums> expected;
  std::vector<Key> order;
  const auto is_kept = [&](std::size_t i) { return y[i] % 10 < (i / 65'536 % 2 == 0 ? 9 : 3); };
  for (std::size_t i = 0; i < kRows; ++i) {
    key.push_back(random() % 12 == 0 ? static_cast<std::int64_t>(random() % 9)
                                     : static_cast<std::int64_t>(random() >> 3));
    day.push_back(static_cast<std::int32_t>(random() % 2));
    y.push_back(static_cast<std::int64_t>(random() % 1000));
    const bool has_nulls = i % 65'536 > 20'000 && i % 65'536 < 22'000;
    const bool key_is_there = !has_nulls || random() % 3 != 0;
    const bool y_is_there = i < kRows / 2 || !has_nulls || random() % 3 != 0;
    if (key_is_there) key_validity[i / 8] |= static_cast<std::uint8_t>(1 << (i % 8));
    if (y_is_there) y_validity[i / 8] |= static_cast<std::uint8_t>(1 << (i % 8));
    if (!is_kept(i)) continue;
    const auto [at, is_new] = expected.try_emplace(Key{key_is_there ? std::optional(key[i]) : std::nullopt, day[i]});
    if (is_new) order.push_back(at->first);
    Sums& sums = at->second;
    sums.x += rows.x[i];
    ++sums.rows;
    sums.y += y_is_there ? y[i] : 0;
    sums.y_rows += y_is_there ? 1 : 0;
    sums.f += rows.f[i];
  }
  MemoryTable t;
  t.add(Field{.name = "k"}, key.data(), std::ssize(key), key_validity.data()).add_dates("d", day);
  t.add(Field{.name = "y"}, y.data(), std::ssize(y), y_validity.data());
  t.add("x", rows.x).add("f", rows.f).add("z", y);
  Longs limit;
  for (std::size_t i = 0; i < kRows; ++i) limit.push_back(i / 65'536 % 2 == 0 ? 9 : 3);
  t.add("limit_of_row", limit);
  const Query query(
      "SELECT k, d, SUM(x), COUNT(*), SUM(y), COUNT(y), SUM(f) FROM t WHERE z - z / 10 * 10 < limit_of_row GROUP BY k, "
      "d",
      t);
  std::vector<std::uint64_t> bits;
  for (const int threads : {1, 2, 5}) {
    const Answer answer = query.run(par.with_threads(threads), t);
    ASSERT_EQ(answer.rows.size(), order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto row = answer.rows[i];
      const auto first = row[0].null ? std::nullopt : std::optional(static_cast<std::int64_t>(row[0].exact));
      ASSERT_TRUE((Key{first, static_cast<std::int64_t>(row[1].exact)} == order[i]))
          << threads << " threads, row " << i;
      const Sums& sums = expected.at(order[i]);
      ASSERT_TRUE(row[2].exact == sums.x && row[3].exact == sums.rows && row[5].exact == sums.y_rows) << i;
      ASSERT_TRUE(sums.y_rows == 0 ? row[4].null : row[4].exact == sums.y) << i;
      ASSERT_NEAR(row[6].real, sums.f, 1e-6 * (1 + std::abs(sums.f))) << i;
      if (threads == 1) bits.push_back(std::bit_cast<std::uint64_t>(row[6].real));
      ASSERT_EQ(std::bit_cast<std::uint64_t>(row[6].real), bits[i]) << threads << " threads, row " << i;
    }
  }
}

// The same test with text, which includes empty and long strings.
TEST(Groups, OfTextsThatAreNearlyAllApart) {
  const Rows rows(kRows);
  std::mt19937_64 random(12);
  std::vector<std::string> words;
  std::vector<std::int32_t> index;
  std::vector<std::uint8_t> validity(kRows / 8 + 1);
  struct Sums {
    Int128 x = 0;
    std::int64_t rows = 0;
    double f = 0;
  };
  std::map<std::optional<std::string>, Sums> expected;
  std::vector<std::optional<std::string>> order;
  words.emplace_back();
  for (std::size_t i = 0; i < kRows; ++i) {
    const bool is_new = random() % 16 != 0;
    if (is_new) words.push_back(std::string(i % 1000 == 0 ? 3000 : i % 50, 'w') + std::to_string(i / 2));
    if (is_new && i % 2 != 0) words.back() += '\0';  // the previous string, and one more letter
    index.push_back(static_cast<std::int32_t>(is_new              ? words.size() - 1
                                              : random() % 8 == 0 ? 0
                                                                  : random() % words.size()));
    const bool is_null = i / 65'536 % 2 == 1 && i % 65'536 > 20'000 && i % 65'536 < 22'000 && random() % 3 == 0;
    if (!is_null) validity[i / 8] |= static_cast<std::uint8_t>(1 << (i % 8));
    const auto& word = words[static_cast<std::size_t>(index.back())];
    const auto [at, is_first] = expected.try_emplace(is_null ? std::nullopt : std::optional(word));
    if (is_first) order.push_back(at->first);
    at->second.x += rows.x[i];
    ++at->second.rows;
    at->second.f += rows.f[i];
  }
  const Dictionary entries(words.begin(), words.end());
  MemoryTable t;
  t.add(Field{.name = "w", .kind = ValueKind::text, .storage = Storage::int32}, index.data(), std::ssize(index),
        validity.data(), {std::shared_ptr<const void>(), &entries});
  t.add("x", rows.x).add("f", rows.f);
  const Query query("SELECT w, SUM(x), COUNT(*), SUM(f) FROM t GROUP BY w", t);
  std::vector<std::uint64_t> bits;
  for (const int threads : {1, 2, 5, 0}) {
    const Answer answer = threads > 0 ? query.run(par.with_threads(threads), t) : query.answer(query.fold(par, t));
    ASSERT_EQ(answer.rows.size(), order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto row = answer.rows[i];
      ASSERT_TRUE((row[0].null ? std::nullopt : std::optional(std::string(row[0].word))) == order[i])
          << threads << ", row " << i;
      const Sums& sums = expected.at(order[i]);
      ASSERT_TRUE(row[1].exact == sums.x && row[2].exact == sums.rows) << i;
      ASSERT_NEAR(row[3].real, sums.f, 1e-6 * (1 + std::abs(sums.f))) << i;
      if (threads == 1) bits.push_back(std::bit_cast<std::uint64_t>(row[3].real));
      ASSERT_EQ(std::bit_cast<std::uint64_t>(row[3].real), bits[i]) << threads << " threads, row " << i;
    }
  }
}

// Two texts and a number: nearly all rows are different, and some have the same first or second key.
TEST(Groups, OfSeveralKeysThatAreNearlyAllApart) {
  const Rows rows(kRows);
  std::mt19937_64 random(15);
  std::vector<std::string> words;
  words.reserve(30'000);
  for (std::size_t i = 0; i < 30'000; ++i) words.push_back(std::string(i % 70, 'v') + std::to_string(i / 3));
  std::vector<std::int32_t> first, last;
  Longs number;
  using Key = std::tuple<std::string, std::int64_t, std::string>;
  Reference<Key> expected;
  for (std::size_t i = 0; i < kRows; ++i) {
    const bool is_again = i > 0 && random() % 100 == 0;
    const std::size_t before = random() % std::max<std::size_t>(i, 1);
    first.push_back(is_again ? first[before] : static_cast<std::int32_t>(random() % words.size()));
    number.push_back(is_again ? number[before] : static_cast<std::int64_t>(random() % 1000) << 40);
    last.push_back(is_again ? last[before] : static_cast<std::int32_t>(random() % 100));
    expected.add(
        {words[static_cast<std::size_t>(first.back())], number.back(), words[static_cast<std::size_t>(last.back())]},
        rows.x[i]);
  }
  const Dictionary entries(words.begin(), words.end());
  const std::shared_ptr<const Dictionary> shared(std::shared_ptr<const void>(), &entries);
  MemoryTable t;
  const auto text = [](const char* name) {
    return Field{.name = name, .kind = ValueKind::text, .storage = Storage::int32};
  };
  t.add(text("a"), first.data(), std::ssize(first), nullptr, shared);
  t.add(text("c"), last.data(), std::ssize(last), nullptr, shared);
  t.add("b", number).add("x", rows.x).add("f", rows.f);
  expect_groups("a, b, c", t, expected,
                [](const auto& row) { return Key(row[0].word, static_cast<std::int64_t>(row[1].exact), row[2].word); });
}

// Like chunks of a GPU that the CPU computes: several batches at once, each of which ends in unaggregated rows.
TEST(Groups, HaveTheOrderOfFirstRowsInPiecesOfSeveralBatches) {
  constexpr std::int64_t kEach = 20'000;
  Longs key;
  for (std::int64_t i = 0; i < 3 * kEach; ++i) key.push_back(i % kEach * 7'919'000'011 + (i < kEach ? 0 : i / 9));
  MemoryTable t;
  t.add("k", key).add("x", key);
  const std::string sql = "SELECT k, SUM(x) FROM t GROUP BY k";
  const query::QueryPlan plan = query::bind(sql, query::parse(sql), "t", t.fields());
  query::CpuFolder folder(plan, expression::kernels(Isa::best));
  std::vector<Batch> batches(3);
  for (std::int64_t b = 0; b < 3; ++b) {
    Batch& batch = batches[static_cast<std::size_t>(b)];
    batch.rows = kEach;
    for (int column = 0; column < 2; ++column) batch.columns.push_back({.values = key.data() + b * kEach});
  }
  query::Groups whole(plan);
  merge(whole, folder.fold(batches));
  std::map<std::int64_t, std::int64_t> sums;
  Longs first;
  for (const std::int64_t k : key) {
    if (sums.try_emplace(k, 0).second) first.push_back(k);
    sums[k] += k;
  }
  ASSERT_EQ(whole.count(), std::ssize(first));
  for (std::int64_t g = 0; g < whole.count(); ++g) {
    const std::int64_t k = first[static_cast<std::size_t>(g)];
    ASSERT_TRUE(whole.key(g, 0) == k && whole.state(g, 0).exact == sums[k]) << g;
  }
}

// Unaggregated rows of one batch have keys of more than 32 bits. Rows of the next batch have other keys with the same
// lower bits.
TEST(Groups, OfPairsInPiecesOfSeveralBatches) {
  constexpr std::int64_t kEach = 20'000;
  Longs a, b(2 * kEach, 1);
  for (std::int64_t i = 0; i < kEach; ++i) a.push_back(i < 4096 ? i : i + (std::int64_t{1} << 32));
  for (std::int64_t i = 0; i < kEach; ++i) a.push_back(i);
  MemoryTable t;
  t.add("a", a).add("b", b);
  const std::string sql = "SELECT a, b, SUM(a) FROM t GROUP BY a, b";
  const query::QueryPlan plan = query::bind(sql, query::parse(sql), "t", t.fields());
  query::CpuFolder folder(plan, expression::kernels(Isa::best));
  std::vector<Batch> batches(2);
  for (std::size_t i = 0; i < batches.size(); ++i) {
    batches[i].rows = kEach;
    batches[i].columns = {{.values = a.data() + i * kEach}, {.values = b.data()}};
  }
  query::Groups whole(plan);
  merge(whole, folder.fold(batches));
  std::map<std::int64_t, std::int64_t> sums;
  for (const std::int64_t k : a) sums[k] += k;
  ASSERT_EQ(whole.count(), std::ssize(sums));
  for (std::int64_t g = 0; g < whole.count(); ++g) {
    ASSERT_TRUE(whole.state(g, 0).exact == sums.at(static_cast<std::int64_t>(whole.key(g, 0)))) << g;
  }
}

TEST(Groups, MoreThanAMillion) {
  constexpr std::int64_t kMany = 1'300'000;
  Longs key;
  Longs x;
  for (std::int64_t i = 0; i < kMany; ++i) {
    key.push_back(i * 7919 % kMany);
    x.push_back(i);
  }
  for (std::int64_t i = 0; i < kMany; i += 1000) {
    key.push_back(i);
    x.push_back(1);
  }
  MemoryTable t;
  t.add("k", key).add("x", x);
  const Query query("SELECT k, SUM(x) FROM t GROUP BY k", t);
  const Answer answer = query.run(par, t);
  ASSERT_EQ(answer.rows.size(), static_cast<std::size_t>(kMany));
  for (std::int64_t i = 0; i < kMany; ++i) {
    const auto row = answer.rows[static_cast<std::size_t>(i)];
    ASSERT_TRUE(row[0].exact == key[static_cast<std::size_t>(i)]);
    ASSERT_TRUE(row[1].exact == i + (row[0].exact % 1000 == 0 ? 1 : 0)) << i;
  }
  const Answer first = Query("SELECT k, SUM(x) AS s FROM t GROUP BY k ORDER BY s DESC, k LIMIT 3", t).run(par, t);
  ASSERT_EQ(first.rows.size(), 3U);
  for (std::int64_t i = 0; i < 3; ++i) {
    const auto row = first.rows[static_cast<std::size_t>(i)];
    EXPECT_TRUE(row[1].exact == kMany - 1 - i + (row[0].exact % 1000 == 0 ? 1 : 0));
  }
}

TEST(Groups, MergeAndGoOnFromBytes) {
  const Rows rows(100'000);
  Longs key;
  for (std::size_t i = 0; i < rows.x.size(); ++i) key.push_back(rows.x[i] % 30'000);
  MemoryTable whole;
  whole.add("k", key).add("x", rows.x).add("f", rows.f);
  const Query query("SELECT k, SUM(x), COUNT(*) FROM t GROUP BY k", whole);
  constexpr std::size_t kHalf = 50'000;
  const auto part = [&](std::size_t first, std::size_t last) {
    MemoryTable t;
    const std::span<const std::int64_t> all_keys(key);
    const std::span<const std::int64_t> all_x(rows.x);
    const std::span<const double> all_f(rows.f);
    t.add("k", all_keys.subspan(first, last - first)).add("x", all_x.subspan(first, last - first));
    t.add("f", all_f.subspan(first, last - first));
    return query.fold(par, t);
  };
  QueryCarry carry = query.carry(part(0, kHalf).bytes());
  carry.merge(part(kHalf, key.size()));
  const Answer expected = query.run(par, whole);
  const Answer answer = query.answer(carry);
  ASSERT_EQ(answer.rows.size(), expected.rows.size());
  for (std::size_t i = 0; i < answer.rows.size(); ++i) {
    for (std::size_t c = 0; c < 3; ++c) ASSERT_TRUE(answer.rows[i][c].exact == expected.rows[i][c].exact) << i;
  }
}

TEST(Totals, RefuseMoreGroupsThanMemoryHolds) {
  MemoryTable t;
  t.add("k", Longs{}).add("x", Longs{});
  const std::string sql = "SELECT k, SUM(x) FROM t GROUP BY k";
  const query::QueryPlan plan = query::bind(sql, query::parse(sql), "t", t.fields());
  const auto merge = [&](std::int64_t most_bytes) {
    query::Totals totals(plan, most_bytes);
    for (std::int64_t piece = 0; piece < 10; ++piece) {
      query::Groups groups(plan);
      for (std::int64_t i = 0; i < 10'000; ++i) {
        const Int128 key = piece * 10'000 + i;
        const std::uint8_t not_null = 0;
        query::State one;
        one.count = 1;
        groups.set_state(groups.find(&key, &not_null), 0, one);
      }
      totals.add(totals.chunk_of(groups));
    }
    totals.merge_all();
    return std::move(totals).take(1).count();
  };
  EXPECT_EQ(merge(0), 100'000);
  EXPECT_EQ(merge(100 << 20), 100'000);
  try {
    (void)merge(4 << 20);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::out_of_memory);
    EXPECT_NE(std::string(error.what()).find("and 4 MB are allowed"), std::string::npos) << error.what();
  }
}

// Bytes of any value are letters, including 0.
TEST(TextKey, HasAllLettersAndTheirNumber) {
  std::map<std::string, Int128> keys;
  for (std::size_t length = 0; length <= query::kMostInKey; ++length) {
    for (std::size_t changed = 0; changed <= length; ++changed) {
      for (const char letter : {'\0', '\1', '\xff'}) {
        std::string text(length, '\0');
        if (changed < length) text[changed] = letter;
        const Int128 key = query::short_string_key(text);
        ASSERT_EQ(query::short_string(key), text);
        ASSERT_TRUE(query::is_short_string(key) && !query::is_long_string(key));
        keys.emplace(text, key);
      }
    }
  }
  std::set<Int128> apart;
  for (const auto& [text, key] : keys) apart.insert(key);
  EXPECT_EQ(apart.size(), keys.size());
  for (const std::int32_t entry : {0, 1, std::numeric_limits<std::int32_t>::max()}) {
    const Int128 key = query::long_string_key(entry);
    EXPECT_TRUE(query::is_long_string(key) && !query::is_short_string(key));
    EXPECT_EQ(query::entry_of_long(key), entry);
  }
  EXPECT_FALSE(query::is_short_string(query::short_string_key("") | Int128{16} << 120));
}

TEST(StringTable, KeepsTextsOfOneHashApart) {
  query::StringTable texts;
  std::vector<std::string> words;
  words.reserve(500);
  for (int i = 0; i < 500; ++i) words.push_back(std::string(static_cast<std::size_t>(i % 30), 'a') + std::to_string(i));
  for (std::size_t i = 0; i < words.size(); ++i) EXPECT_EQ(texts.entry(words[i], 7), static_cast<std::int32_t>(i));
  for (std::size_t i = 0; i < words.size(); ++i) {
    EXPECT_EQ(texts.entry(words[i], 7), static_cast<std::int32_t>(i));
    EXPECT_EQ(texts[static_cast<std::int32_t>(i)], words[i]);
  }
  texts.clear();
  EXPECT_EQ(texts.entry("", 7), 0);
  EXPECT_EQ(texts.entry("a"), 1);
  EXPECT_EQ(texts.all().size(), 2U);
}

TEST(Hash, DependsOnEveryByteAndOnTheLength) {
  const Secret& by = secret();
  const std::string text(40, 'q');
  for (std::size_t length = 0; length < text.size(); ++length) {
    const std::string_view whole = std::string_view(text).substr(0, length);
    EXPECT_NE(hash_of(by, whole), hash_of(by, std::string(whole) + '\0'));
    for (std::size_t i = 0; i < length; ++i) {
      std::string other(whole);
      other[i] = 'r';
      EXPECT_NE(hash_of(by, whole), hash_of(by, other)) << length << " " << i;
    }
  }
}

}  // namespace
}  // namespace upsweep
