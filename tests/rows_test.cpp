// SPDX-License-Identifier: Apache-2.0
// tests/rows_test.cpp: queries of rows: sinks, LIMIT that ends the reading, errors in order, columns of the answer.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "upsweep/error.hpp"
#include "upsweep/query.hpp"

namespace upsweep {
namespace {

using Longs = std::vector<std::int64_t>;
constexpr std::int64_t kRows = 10 * kBatchRows + 5;

/// Columns i = 0, 1, … and z, which is 1 except in these rows, where it is 0.
class Numbers {
 public:
  explicit Numbers(const std::vector<std::int64_t>& zeros = {}) : i_(kRows), z_(kRows, 1) {
    std::iota(i_.begin(), i_.end(), 0);
    for (const std::int64_t row : zeros) z_[static_cast<std::size_t>(row)] = 0;
    table_.add("i", i_).add("z", z_);
  }
  [[nodiscard]] const Table& get() const { return table_; }

 private:
  Longs i_;
  Longs z_;
  MemoryTable table_;
};

/// Returns the first column of integers.
Longs values(const AnswerRows& rows) {
  Longs all;
  for (std::size_t row = 0; row < rows.size(); ++row) all.push_back(static_cast<std::int64_t>(rows[row][0].exact));
  return all;
}

Longs counted(std::int64_t first, std::int64_t end, std::int64_t step = 1) {
  Longs all;
  for (std::int64_t i = first; i < end; i += step) all.push_back(i);
  return all;
}

Code code_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.code();
  }
  return Code::ok;
}

TEST(Rows, ASinkGetsTheRowsOfTheAnswerInOrder) {
  const Numbers table;
  for (const char* sql : {"SELECT i * 3, z FROM t WHERE i / 5 * 5 = i", "SELECT i FROM t WHERE i >= 600000 LIMIT 20",
                          "SELECT i FROM t LIMIT 200000 OFFSET 100000", "SELECT z, i FROM t ORDER BY i DESC",
                          "SELECT i FROM t ORDER BY z, i DESC LIMIT 70000 OFFSET 7", "SELECT i FROM t WHERE i < 0",
                          "SELECT i FROM t LIMIT 0", "SELECT COUNT(*) FROM t", "SELECT i, COUNT(*) FROM t GROUP BY i",
                          "SELECT i FROM t GROUP BY i ORDER BY i LIMIT 5 OFFSET 2"}) {
    const Query query(sql, table.get());
    const Answer whole = query.run(par, table.get());
    for (const int threads : {1, 2, 7}) {
      Longs all;
      const Answer answer = query.run(par.with_threads(threads), table.get(), {}, {}, [&](AnswerRows&& chunk) {
        EXPECT_FALSE(chunk.empty());
        EXPECT_EQ(chunk.columns.size(), whole.columns.size());
        const Longs some = values(chunk);
        all.insert(all.end(), some.begin(), some.end());
      });
      EXPECT_TRUE(answer.rows.empty());
      EXPECT_EQ(answer.columns.size(), whole.columns.size());
      EXPECT_EQ(all, values(whole.rows)) << sql;
    }
  }
}

TEST(Rows, ChunksForASinkAreNeitherFewRowsNorAll) {
  const Numbers table;
  const Query query("SELECT i FROM t WHERE i / 100 * 100 = i", table.get());
  std::vector<std::size_t> sizes;
  (void)query.run(par, table.get(), {}, {}, [&](AnswerRows&& chunk) { sizes.push_back(chunk.size()); });
  EXPECT_EQ(sizes, std::vector<std::size_t>{kRows / 100 + 1});
  sizes.clear();
  const Query all("SELECT i FROM t", table.get());
  (void)all.run(par, table.get(), {}, {}, [&](AnswerRows&& chunk) { sizes.push_back(chunk.size()); });
  EXPECT_GE(sizes.size(), 10U);
}

TEST(Rows, AnErrorOfTheSinkEndsTheQuery) {
  const Numbers table;
  for (const char* sql : {"SELECT i FROM t", "SELECT i FROM t ORDER BY i", "SELECT COUNT(*) FROM t"}) {
    const Query query(sql, table.get());
    int calls = 0;
    const auto run = [&] {
      (void)query.run(par, table.get(), {}, {}, [&](AnswerRows&&) {
        ++calls;
        throw Error(Code::disk_full, "full");
      });
    };
    EXPECT_EQ(code_of(run), Code::disk_full);
    EXPECT_EQ(calls, 1);
  }
}

TEST(Rows, ThreadsWaitForASinkThatIsBusy) {
  const Numbers table;
  const Query query("SELECT i, i * 2, i * 3, i * 4 FROM t", table.get());
  // A small limit of memory: then few rows may wait for the sink.
  Longs all;
  (void)query.run(par.with_threads(4), table.get(), {}, {.bytes = 1 << 20}, [&](AnswerRows&& chunk) {
    const Longs some = values(chunk);
    all.insert(all.end(), some.begin(), some.end());
  });
  EXPECT_EQ(all, counted(0, kRows));
}

TEST(Rows, ALimitEndsTheReading) {
  const Numbers table;
  for (const int threads : {1, 4}) {
    const Policy policy = par.with_threads(threads);
    const auto rows_read = [&](const char* sql) { return Query(sql, table.get()).run(policy, table.get()).rows_read; };
    EXPECT_EQ(rows_read("SELECT i FROM t LIMIT 10"), kBatchRows);
    EXPECT_EQ(rows_read("SELECT i FROM t LIMIT 10 OFFSET 1000"), kBatchRows);
    EXPECT_EQ(rows_read("SELECT i FROM t LIMIT 0"), 0);
    EXPECT_LE(rows_read("SELECT i FROM t WHERE i > 70000 LIMIT 10"), 4 * kBatchRows);
    EXPECT_EQ(rows_read("SELECT i FROM t ORDER BY i LIMIT 10"), kRows);
    EXPECT_EQ(rows_read("SELECT i FROM t"), kRows);
  }
}

TEST(Rows, TheFirstErrorIsThrownUnlessTheLimitEndsBeforeIt) {
  const Numbers table({7 * kBatchRows + 3, 70'003, 70'001});
  for (const int threads : {1, 2, 8}) {
    const Policy policy = par.with_threads(threads);
    const auto run = [&](const std::string& sql) { return Query(sql, table.get()).run(policy, table.get()); };
    EXPECT_EQ(values(run("SELECT i / z FROM t LIMIT 70001").rows), counted(0, 70'001));
    for (const char* sql : {"SELECT i / z FROM t LIMIT 70002", "SELECT i / z FROM t", "SELECT i / z FROM t ORDER BY i",
                            "SELECT i FROM t WHERE i / z >= 0", "SELECT i FROM t ORDER BY i / z LIMIT 1"}) {
      try {
        (void)run(sql);
        FAIL() << sql;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::division_by_zero);
        EXPECT_EQ(error.index(), 70'001) << sql;
      }
    }
  }
}

TEST(Rows, EqualRowsKeepTheOrderOfTheTable) {
  const Numbers table;
  for (const int threads : {1, 4}) {
    const auto run = [&](const char* sql) {
      return values(Query(sql, table.get()).run(par.with_threads(threads), table.get()).rows);
    };
    EXPECT_EQ(run("SELECT i FROM t ORDER BY z"), counted(0, kRows));
    EXPECT_EQ(run("SELECT i FROM t ORDER BY z DESC LIMIT 100000 OFFSET 7"), counted(7, 100'007));
    EXPECT_EQ(run("SELECT i FROM t WHERE i > 99 ORDER BY i * 0 LIMIT 5"), counted(100, 105));
  }
}

TEST(Rows, ColumnsHaveTheStorageOfTheTableOrOneThatHoldsAllValues) {
  const std::vector<std::uint64_t> u{std::numeric_limits<std::uint64_t>::max()};
  const std::vector<float> f{0.5F};
  const std::vector<std::int16_t> h{-3};
  const Longs p{150};
  MemoryTable table;
  table.add("u", u).add("f", f).add("h", h).add_decimal("p", p, 2);
  const std::vector<Field> columns =
      Query("SELECT *, h + 1, u + 1 AS more, f * 2, p * p, h > 1 FROM t", table).columns();
  const auto is = [&](std::size_t which, const char* name, ValueKind kind, Storage storage, int scale) {
    EXPECT_EQ(columns[which].name, name);
    EXPECT_EQ(columns[which].kind, kind);
    EXPECT_EQ(columns[which].storage, storage);
    EXPECT_EQ(columns[which].scale, scale);
  };
  ASSERT_EQ(columns.size(), 9U);
  is(0, "u", ValueKind::integer, Storage::uint64, 0);
  is(1, "f", ValueKind::real, Storage::float32, 0);
  is(2, "h", ValueKind::integer, Storage::int16, 0);
  is(3, "p", ValueKind::decimal, Storage::int64, 2);
  is(4, "?column?", ValueKind::integer, Storage::int64, 0);
  is(5, "more", ValueKind::integer, Storage::int128, 0);
  is(6, "?column?", ValueKind::real, Storage::float64, 0);
  is(7, "?column?", ValueKind::decimal, Storage::int128, 4);
  is(8, "?column?", ValueKind::boolean, Storage::bit, 0);
  EXPECT_EQ(Query("SELECT SUM(h) FROM t", table).columns()[0].storage, Storage::int128);
}

TEST(Rows, HaveNoCarryAndRunOnTheCpuOnly) {
  const Numbers table;
  const Query query("SELECT i FROM t", table.get());
  EXPECT_EQ(code_of([&] { (void)query.fold(par, table.get()); }), Code::unsupported);
  EXPECT_EQ(code_of([&] { (void)query.carry("upsweep"); }), Code::unsupported);
  EXPECT_EQ(code_of([&] { (void)query.run(gpu::Policy{}, table.get()); }), Code::unsupported);
  EXPECT_TRUE(Statement("SELECT i FROM t").selects_rows());
  EXPECT_TRUE(Statement("SELECT * FROM t ORDER BY i").selects_rows());
  EXPECT_FALSE(Statement("SELECT i FROM t GROUP BY i").selects_rows());
  EXPECT_FALSE(Statement("SELECT SUM(i) + 1 FROM t").selects_rows());
  EXPECT_TRUE(Statement("SELECT * FROM t").may_name("any"));
  EXPECT_FALSE(Statement("SELECT COUNT(*) FROM t").may_name("any"));
}

}  // namespace
}  // namespace upsweep
