// SPDX-License-Identifier: Apache-2.0
// tests/find_groups_test.cpp: each strategy to find rows' groups, tested separately: the groups must equal those of a
// map, with every strategy.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "sql/query/bind.hpp"
#include "sql/query/cpu_folder.hpp"
#include "sql/query/find_by_entries.hpp"
#include "sql/query/find_by_hash.hpp"
#include "sql/query/find_by_string.hpp"
#include "sql/query/find_by_value.hpp"
#include "sql/query/find_by_words.hpp"
#include "sql/query/sql.hpp"
#include "sql/query/unaggregated_writer.hpp"
#include "upsweep/error.hpp"
#include "upsweep/query.hpp"

namespace upsweep::query {
namespace {

using Longs = std::vector<std::int64_t>;
constexpr std::int32_t kUntouched = -77;

/// A plan that groups by these columns: a, b are numbers, s, t are text.
struct GroupBy {
  MemoryTable table;
  QueryPlan plan;
  const Kernels& kernels = expression::kernels(Isa::best);

  explicit GroupBy(const std::string& keys) {
    table.add("a", Longs{}).add("b", Longs{}).add_text("s", {}, {}).add_text("t", {}, {});
    const std::string sql = "SELECT " + keys + ", SUM(a) FROM t GROUP BY " + keys;
    plan = query::bind(sql, parse(sql), "t", table.fields());
  }
};

/// The values of a key for the rows of a block.
struct Key {
  Longs numbers;
  std::vector<std::int32_t> entries;
  std::vector<std::uint8_t> nulls;
  std::shared_ptr<const Dictionary> dictionary;
  Vector vector;

  explicit Key(Longs values, std::vector<std::uint8_t> null_rows = {})
      : numbers(std::move(values)), nulls(std::move(null_rows)) {
    vector = {.form = Form::narrow, .data = numbers.data(), .nulls = nulls.empty() ? nullptr : nulls.data()};
  }
  Key(std::vector<std::int32_t> rows, std::shared_ptr<const Dictionary> strings,
      std::vector<std::uint8_t> null_rows = {})
      : entries(std::move(rows)), nulls(std::move(null_rows)), dictionary(std::move(strings)) {
    vector = {.form = Form::text,
              .data = entries.data(),
              .nulls = nulls.empty() ? nullptr : nulls.data(),
              .dictionary = &dictionary};
  }
  Key(const Key&) = delete;
  Key& operator=(const Key&) = delete;

  [[nodiscard]] std::optional<std::string> at(int i) const {
    if (null_at(vector, i)) return std::nullopt;
    return dictionary ? std::string(string_at(vector, i)) : std::to_string(numbers[static_cast<std::size_t>(i)]);
  }
};

BlockKeys block_of(std::span<const Key* const> keys, int rows, const std::uint64_t* marks = nullptr) {
  BlockKeys block{.rows = rows, .marks = marks};
  for (const Key* key : keys) block.keys.push_back(&key->vector);
  return block;
}

/// The groups that a map finds, in the order of first rows.
class Reference {
 public:
  void expect(std::span<const Key* const> keys, const BlockKeys& block, const std::vector<std::int32_t>& group) {
    for (int i = 0; i < block.rows; ++i) {
      const std::int32_t found = group[static_cast<std::size_t>(i)];
      if (!block.is_kept(i)) {
        ASSERT_EQ(found, kNoGroup) << i;
        continue;
      }
      std::vector<std::optional<std::string>> key;
      for (const Key* one : keys) key.push_back(one->at(i));
      const auto next = static_cast<std::int32_t>(groups_.size());
      ASSERT_EQ(found, groups_.try_emplace(key, next).first->second) << i;
    }
    ASSERT_EQ(group[static_cast<std::size_t>(block.rows)], kUntouched);
  }
  [[nodiscard]] std::int64_t count() const { return std::ssize(groups_); }

 private:
  std::map<std::vector<std::optional<std::string>>, std::int32_t> groups_;
};

constexpr int kRows = 1000;

std::vector<std::int32_t> some_entries(std::mt19937_64& random, std::size_t of) {
  std::vector<std::int32_t> entries(kRows);
  for (std::int32_t& entry : entries) entry = static_cast<std::int32_t>(random() % of);
  return entries;
}
Longs some_numbers(std::mt19937_64& random, std::int64_t first, std::int64_t count, std::int64_t step = 1) {
  Longs numbers(kRows);
  for (std::int64_t& number : numbers) {
    number = first + step * static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(count));
  }
  return numbers;
}
std::shared_ptr<const Dictionary> strings_of(std::size_t count, const std::string& begin) {
  static std::vector<std::unique_ptr<std::vector<std::string>>> kept;
  auto& words = *kept.emplace_back(std::make_unique<std::vector<std::string>>());
  for (std::size_t i = 0; i < count; ++i) words.push_back(begin + std::string(i % 30, 'x') + std::to_string(i));
  return std::make_shared<Dictionary>(words.begin(), words.end());
}
std::vector<std::uint8_t> some_nulls(std::mt19937_64& random) {
  std::vector<std::uint8_t> nulls(kRows);
  for (std::uint8_t& null : nulls) null = random() % 9 == 0 ? 1 : 0;
  return nulls;
}
std::vector<std::uint64_t> some_marks(std::mt19937_64& random) {
  std::vector<std::uint64_t> marks(kBlockMarks);
  for (std::uint64_t& word : marks) word = random();
  return marks;
}

/// Finds the groups of blocks of these keys; every second block has marks.
template <class Find>
void expect_blocks(Groups& groups, const std::vector<std::vector<const Key*>>& blocks, const Find& find) {
  std::mt19937_64 random(7);
  Reference reference;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const std::vector<std::uint64_t> marks = some_marks(random);
    const BlockKeys block = block_of(blocks[b], kRows - static_cast<int>(b), b % 2 == 0 ? nullptr : marks.data());
    std::vector<std::int32_t> group(kRows + 1, kUntouched);
    find(block, group.data());
    reference.expect(blocks[b], block, group);
    ASSERT_EQ(groups.count(), reference.count());
  }
}

TEST(FindGroups, ByEntries) {
  const GroupBy by("s, t");
  std::mt19937_64 random(1);
  const auto few = strings_of(10, "f");
  const auto others = strings_of(12, "f");
  const auto last = strings_of(40, "l");
  const Key a(some_entries(random, 10), few);
  const Key b(some_entries(random, 12), others);
  const Key c(some_entries(random, 40), last);
  const Key null(some_entries(random, 40), last, some_nulls(random));
  const Key many(some_entries(random, 1000), strings_of(1000, "m"));
  const Key number(some_numbers(random, 0, 5));
  FindByEntries entries(by.kernels);
  for (int round = 0; round < 2; ++round) {  // the second round runs after forget()
    Groups groups(by.plan);
    expect_blocks(groups, {{&a, &c}, {&a, &c}, {&b, &c}, {&a, &c}}, [&](const BlockKeys& block, std::int32_t* group) {
      ASSERT_TRUE(entries.find(groups, block, group));
    });
    std::int32_t none[kBlock];
    EXPECT_FALSE(entries.find(groups, block_of(std::vector{&a, &null}, kRows), none));
    EXPECT_FALSE(entries.find(groups, block_of(std::vector{&many, &c}, kRows), none));
    EXPECT_FALSE(entries.find(groups, block_of(std::vector{&a, &number}, kRows), none));
    entries.forget();
  }
}

TEST(FindGroups, ByString) {
  const GroupBy by("s");
  std::mt19937_64 random(2);
  const auto strings = strings_of(5000, "s");
  const Key a(some_entries(random, 5000), strings);
  const Key null(some_entries(random, 5000), strings, some_nulls(random));
  const Key others(some_entries(random, 90), strings_of(90, "s"));
  FindByString find;
  for (int round = 0; round < 2; ++round) {
    Groups groups(by.plan);
    expect_blocks(groups, {{&a}, {&null}, {&others}, {&null}, {&a}},
                  [&](const BlockKeys& block, std::int32_t* group) { find.find(groups, block, group); });
    find.forget();
  }
}

TEST(FindGroups, ByValue) {
  const GroupBy by("a");
  std::mt19937_64 random(3);
  const Key a(some_numbers(random, 1000, 300));
  const Key below(some_numbers(random, -9000, 300));
  const Key far(some_numbers(random, 0, 300, 1'000'003));
  const Key low(some_numbers(random, std::numeric_limits<std::int64_t>::min(), 300));
  const Key null(some_numbers(random, 0, 300), some_nulls(random));
  FindByValue values(by.kernels);
  for (int round = 0; round < 3; ++round) {
    Groups groups(by.plan);
    const auto find = [&](const BlockKeys& block, std::int32_t* group) {
      ASSERT_TRUE(values.find(groups, block, group));
      EXPECT_TRUE(values.has_all(groups, 1 << 18));
    };
    if (round == 1) {
      expect_blocks(groups, {{&low}, {&low}}, find);
    } else {
      expect_blocks(groups, {{&a}, {&below}, {&a}}, find);
      EXPECT_FALSE(values.has_all(groups, 5000));
      std::int32_t found[kBlock];
      EXPECT_FALSE(values.find(groups, block_of(std::vector{&far}, kRows), found));
      EXPECT_FALSE(values.find(groups, block_of(std::vector{&null}, kRows), found));
      const Int128 elsewhere = 77;
      const std::uint8_t not_null = 0;
      (void)groups.find(&elsewhere, &not_null);  // with another strategy
      EXPECT_FALSE(values.has_all(groups, 1 << 18));
      ASSERT_TRUE(values.find(groups, block_of(std::vector{&a}, kRows), found));
      EXPECT_EQ(found[0], groups.find(std::vector<Int128>{a.numbers[0]}.data(), &not_null));
    }
    values.forget(groups);
  }
}

TEST(FindGroups, ByWords) {
  std::mt19937_64 random(4);
  const Key a(some_numbers(random, -150, 300));
  const Key b(some_numbers(random, 5, 3));
  const Key far(some_numbers(random, 5, 3, std::int64_t{1} << 32));
  const Key many(some_numbers(random, 0, 1 << 30, 1'000'003));
  const Key null(some_numbers(random, 0, 300), some_nulls(random));
  const GroupBy by_both("a, b");
  const GroupBy by_one("a");
  FindByWords pairs(by_both.plan, by_both.kernels);
  FindByWords one(by_one.plan, by_one.kernels);
  for (int round = 0; round < 2; ++round) {
    Groups both(by_both.plan);
    expect_blocks(both, {{&a, &b}, {&a, &b}, {&a, &far}, {&b, &a}, {&a, &b}},  // pairs, then hashes
                  [&](const BlockKeys& block, std::int32_t* group) { ASSERT_TRUE(pairs.find(both, block, group)); });
    std::int32_t none[kBlock];
    EXPECT_FALSE(pairs.find(both, block_of(std::vector{&a, &null}, kRows), none));
    pairs.forget(both);
    Groups groups(by_one.plan);
    expect_blocks(groups, {{&many}, {&a}, {&many}, {&far}},
                  [&](const BlockKeys& block, std::int32_t* group) { ASSERT_TRUE(one.find(groups, block, group)); });
    one.forget(groups);
  }
}

TEST(FindGroups, ByHash) {
  const GroupBy by("s, a");
  std::mt19937_64 random(5);
  const auto strings = strings_of(40, "s");
  const Key s(some_entries(random, 40), strings);
  const Key null(some_entries(random, 40), strings, some_nulls(random));
  const Key others(some_entries(random, 50), strings_of(50, "s"));
  const Key a(some_numbers(random, 0, 5, std::int64_t{1} << 60));
  const Key b(some_numbers(random, 0, 3), some_nulls(random));
  FindByHash find(by.plan);
  for (int round = 0; round < 2; ++round) {
    Groups groups(by.plan);
    expect_blocks(groups, {{&s, &a}, {&null, &b}, {&others, &a}, {&null, &a}, {&s, &b}},
                  [&](const BlockKeys& block, std::int32_t* group) { find.find(groups, block, group); });
    find.forget();
  }
}

TEST(UnaggregatedRows, AreWrittenWhereNearlyEachIsAGroup) {
  EXPECT_EQ(decide({.rows = 1000, .new_groups = 1000}), WriteRows::undecided);
  EXPECT_EQ(decide({.rows = 1024, .new_groups = 1024}), WriteRows::yes);
  EXPECT_EQ(decide({.rows = 1024, .new_groups = 500}), WriteRows::no);
  EXPECT_EQ(decide({.rows = 2048, .new_groups = 2048, .are_cached = true}), WriteRows::undecided);
  EXPECT_EQ(decide({.rows = 4096, .new_groups = 4096, .are_cached = true}), WriteRows::no);
  EXPECT_EQ(decide({.rows = 4096, .new_groups = 4096, .are_cached = true, .by_words = true, .most_cached = 9000}),
            WriteRows::yes);
}

// The groups of a failed batch are removed; the next batch starts with none of them.
TEST(FindGroups, AnewAfterAnError) {
  MemoryTable table;
  Longs key, x, y;
  for (std::int64_t i = 0; i < 3000; ++i) {
    key.push_back(i % 900);
    x.push_back(i);
    y.push_back(i == 2500 ? 0 : 1);
  }
  table.add("k", key).add("x", x).add("y", y);
  const std::string sql = "SELECT k, SUM(x / y) FROM t GROUP BY k";
  const QueryPlan plan = query::bind(sql, parse(sql), "t", table.fields());
  CpuFolder folder(plan, expression::kernels(Isa::best));
  Batch batch{.rows = 3000};
  const Longs* const columns[] = {&key, &x, &y};
  for (const int column : plan.columns) batch.columns.push_back({.values = columns[column]->data()});
  EXPECT_THROW((void)folder.fold({&batch, 1}), Error);
  batch.rows = 10;
  batch.columns[0].values = key.data() + 800;
  const Groups groups = folder.fold({&batch, 1});
  ASSERT_EQ(groups.count(), 10);
  for (std::int64_t g = 0; g < 10; ++g) {
    EXPECT_TRUE(groups.key(g, 0) == 800 + g && groups.state(g, 0).exact == g && groups.state(g, 0).count == 1) << g;
  }
}

}  // namespace
}  // namespace upsweep::query
