// SPDX-License-Identifier: Apache-2.0
// tests/device_query_test.cpp: queries by generated kernels give the CPU's results, on a GPU or with emulated kernels.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "metered_memory.hpp"
#include "rungs.hpp"
#include "sql/expression/dictionary.hpp"
#include "sql/expression/number.hpp"
#include "sql/query/answer.hpp"
#include "sql/query/bind.hpp"
#include "sql/query/cuda_source.hpp"
#include "sql/query/device_chunk.hpp"
#include "sql/query/execute.hpp"
#include "sql/query/gpu_kernels.hpp"
#include "sql/query/sql.hpp"
#include "upsweep/device_table.hpp"
#include "upsweep/error.hpp"
#include "upsweep/interval.hpp"
#include "upsweep/query.hpp"

namespace upsweep {
namespace {

/// A table of every kind of column, with NULLs or without; small values in columns `s…`.
class Columns {
 public:
  Columns(std::int64_t rows, bool with_nulls, unsigned seed) : rows_(rows), random_(seed) {
    add<std::int8_t>("i8", Storage::int8);
    add<std::int16_t>("i16", Storage::int16);
    add<std::int32_t>("i32", Storage::int32);
    add<std::int64_t>("i64", Storage::int64);
    add<std::uint8_t>("u8", Storage::uint8);
    add<std::uint16_t>("u16", Storage::uint16);
    add<std::uint32_t>("u32", Storage::uint32);
    add<std::uint64_t>("u64", Storage::uint64);
    add<std::int64_t>("si", Storage::int64, ValueKind::integer, 0, -50, 50);
    add<std::int64_t>("sd", Storage::int64, ValueKind::decimal, 2, 0, 10);
    add<std::int64_t>("price", Storage::int64, ValueKind::decimal, 2, 90'000, 10'494'950);
    add<std::int32_t>("d4", Storage::int32, ValueKind::decimal, 4, -99'999, 99'999);
    add<Int128>("d16", Storage::int128, ValueKind::decimal, 3, -1'000'000, 1'000'000);
    add<std::int32_t>("day", Storage::int32, ValueKind::date, 0, 8'000, 10'500);
    add_reals<float>("f32", Storage::float32);
    add_reals<double>("f64", Storage::float64);
    add_bits("b");
    add_text("few", {"N", "R", "A", "", "zwölf"});
    add_text("flag", {"O", "F"});
    constexpr std::int64_t kMost = 4'000'000'000'000'000;
    add<std::int64_t>("us", Storage::int64, ValueKind::timestamp, 6, -kMost, kMost);
    add<std::int64_t>("ns", Storage::int64, ValueKind::timestamp, 9, -kMost, kMost);
    add<std::int64_t>("span", Storage::int64, ValueKind::duration, 3, -1'000'000, 1'000'000);
    add<std::int32_t>("tod", Storage::int32, ValueKind::time, 3, 0, 86'399'999);
    add_intervals("iv");
    if (with_nulls) validity_ = random_bits();
    for (const auto& column : columns_) {
      table_.add(column.field, column.bytes.data(), rows, with_nulls ? validity_.data() : nullptr, column.words);
    }
    // These columns never have NULLs.
    table_.add(Field{.name = "n"}, counted_.data(), rows);
  }
  [[nodiscard]] const MemoryTable& table() const { return table_; }

 private:
  struct Column {
    Field field;
    std::vector<char> bytes;
    std::shared_ptr<const Dictionary> words;
  };

  template <class T>
  void add(const std::string& name, Storage storage, ValueKind kind = ValueKind::integer, int scale = 0,
           std::int64_t least = 0, std::int64_t greatest = -1) {
    std::vector<T> values;
    for (std::int64_t i = 0; i < rows_; ++i) {
      if (least <= greatest) {
        values.push_back(static_cast<T>(std::uniform_int_distribution<std::int64_t>(least, greatest)(random_)));
      } else {
        const auto any = random_();
        values.push_back(any % 8 == 0   ? std::numeric_limits<T>::min()
                         : any % 8 == 1 ? std::numeric_limits<T>::max()
                                        : static_cast<T>(random_()));
      }
    }
    put({.name = name, .kind = kind, .storage = storage, .scale = scale}, values);
    if (counted_.empty()) {
      for (std::int64_t i = 0; i < rows_; ++i) counted_.push_back(i);
    }
  }
  template <class T>
  void add_reals(const std::string& name, Storage storage) {
    std::vector<T> values;
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    for (std::int64_t i = 0; i < rows_; ++i) {
      const auto any = random_() % 64;
      values.push_back(any == 0   ? std::numeric_limits<T>::quiet_NaN()
                       : any == 1 ? kInfinity
                       : any == 2 ? -kInfinity
                       : any == 3 ? T{0}
                                  : static_cast<T>(std::uniform_real_distribution<double>(-100, 100)(random_)));
    }
    put({.name = name, .kind = ValueKind::real, .storage = storage}, values);
  }
  void add_intervals(const std::string& name) {
    std::vector<Int128> values;
    for (std::int64_t i = 0; i < rows_; ++i) {
      const auto months = static_cast<std::int32_t>(random_() % 7) - 3;
      const auto days = static_cast<std::int32_t>(random_() % 61) - 30;
      values.push_back(element_of({months, days, static_cast<std::int64_t>(random_() % 3) - 1}).value());
    }
    put({.name = name, .kind = ValueKind::interval, .storage = Storage::int128}, values);
  }
  void add_bits(const std::string& name) {
    put({.name = name, .kind = ValueKind::boolean, .storage = Storage::bit}, random_bits());
  }
  void add_text(const std::string& name, std::vector<std::string> words) {
    std::vector<std::int32_t> values(static_cast<std::size_t>(rows_));
    for (std::int32_t& value : values) value = static_cast<std::int32_t>(random_() % words.size());
    put({.name = name, .kind = ValueKind::text, .storage = Storage::int32}, values);
    columns_.back().words = expression::dictionary_of(std::move(words));
  }
  std::vector<std::uint8_t> random_bits() {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(rows_ / 8 + 1));
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random_());
    return bytes;
  }
  template <class T>
  void put(Field field, const std::vector<T>& values) {
    const auto* first = reinterpret_cast<const char*>(values.data());
    columns_.push_back({std::move(field), {first, first + values.size() * sizeof(T)}, nullptr});
  }

  std::int64_t rows_;
  std::mt19937_64 random_;
  std::vector<Column> columns_;
  std::vector<std::int64_t> counted_;
  std::vector<std::uint8_t> validity_;
  MemoryTable table_;
};

/// Cells by rows, or the error's code, row and message.
struct Outcome {
  std::vector<std::vector<std::string>> cells;
  std::vector<std::vector<double>> reals;  ///< NaN if a cell is not a real
  std::string error;
  std::int64_t rows_by_cpu = 0;
};

template <class Policy>
Outcome ask(const std::string& sql, const Policy& policy, const Table& table) {
  Outcome outcome;
  try {
    const Answer answer = Query(sql, table).run(policy, table);
    outcome.rows_by_cpu = answer.rows_by_cpu;
    for (const auto& row : answer.rows) {
      auto& cells = outcome.cells.emplace_back();
      auto& reals = outcome.reals.emplace_back();
      for (std::size_t c = 0; c < row.size(); ++c) {
        cells.push_back(text(answer.columns[c], row[c]));
        const bool is_real = answer.columns[c].kind == ValueKind::real && !row[c].null;
        reals.push_back(is_real ? row[c].real : std::numeric_limits<double>::quiet_NaN());
      }
    }
  } catch (const Error& error) {
    outcome.error = std::string(word(error.code())) + " at " + std::to_string(error.index()) + ": " + error.what();
  }
  return outcome;
}

/// Floats may be folded in a different order.
bool is_near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)); }

void expect_same(const Outcome& there, const Outcome& here, const std::string& what) {
  EXPECT_EQ(there.error, here.error) << what;
  ASSERT_EQ(there.cells.size(), here.cells.size()) << what;
  for (std::size_t row = 0; row < here.cells.size(); ++row) {
    for (std::size_t c = 0; c < here.cells[row].size(); ++c) {
      if (is_near(there.reals[row][c], here.reals[row][c])) continue;
      EXPECT_EQ(there.cells[row][c], here.cells[row][c]) << what << ", row " << row << ", column " << c;
    }
  }
}

#if UPSWEEP_EMULATED_GPU
bool has_device() { return true; }
constexpr std::int64_t kRows[] = {1, 900};
constexpr std::int64_t kManyRows = 5'000;
#else
bool has_device() { return !gpu::devices().empty(); }
constexpr std::int64_t kRows[] = {0, 1, 33, 70'000};
constexpr std::int64_t kManyRows = 3'000'000;
#endif

class DeviceQuery : public testing::Test {
 protected:
  void SetUp() override {
    if (has_device()) return;
    std::cout << "skipped: no device\n";
    GTEST_SKIP();
  }
};

enum class By : std::uint8_t { device, either };  ///< the device must, or either may, compute the rows

void compare(const std::vector<std::string>& queries, const Columns& columns, const std::string& what, By by) {
  const Table& table = columns.table();
  const DeviceTable there(gpu::Policy{}, table);
  for (const std::string& query : queries) {
    const std::string sql = "SELECT " + query;
    const Outcome expected = ask(sql, par, table);
    for (const Table* from : {&table, static_cast<const Table*>(&there)}) {
      const Outcome found = ask(sql, gpu::Policy{}, *from);
      expect_same(found, expected, fmt::format("{}, {}: {}", what, from == &table ? "brought" : "there", sql));
      if (by == By::device) {
        EXPECT_EQ(found.rows_by_cpu, 0) << what << ": " << sql;
      }
    }
  }
}

void compare(const std::vector<std::string>& queries, By by = By::device) {
  for (const bool with_nulls : {false, true}) {
    for (const std::int64_t rows : kRows) {
      const Columns columns(rows, with_nulls, static_cast<unsigned>(rows) + 17);
      compare(queries, columns, std::to_string(rows) + (with_nulls ? " rows with NULLs" : " rows"), by);
    }
  }
}

// Queries 6 and 1 of TPC-H.
constexpr const char* kForecast =
    "SUM(price * sd) FROM t WHERE day >= date '1994-01-01' AND day < date '1994-01-01' + interval '1' year AND "
    "sd BETWEEN 0.05 AND 0.07 AND si < 24";
constexpr const char* kPricing =
    "few, flag, SUM(si), SUM(price), SUM(price * (1 - sd)), SUM(price * (1 - sd) * (1 + sd)), AVG(si), AVG(price), "
    "AVG(sd), COUNT(*) FROM t WHERE day <= date '1998-12-01' - interval '90' day GROUP BY few, flag ORDER BY few, "
    "flag";
constexpr const char* kSumsOfSome =
    "SUM(sd), SUM(price), SUM(d4), SUM(d16), AVG(price), AVG(i64), SUM(price * (1 - sd)) FROM t WHERE n % 2 = 0 OR n "
    "< 5";

TEST_F(DeviceQuery, SumsAndCounts) {
  compare({
      "COUNT(*) FROM t",
      "COUNT(*), COUNT(i8), SUM(i8), SUM(i16), SUM(i32), SUM(i64), SUM(u8), SUM(u16), SUM(u32), SUM(u64) FROM t",

      kSumsOfSome,
      "SUM(sd), SUM(price), SUM(d4), SUM(d16), AVG(price), AVG(i64), SUM(price * (1 - sd) * (1 + sd)) FROM t",
      "SUM(f32), SUM(f64), AVG(f64), COUNT(f64) FROM t WHERE f64 < 1000 AND f64 > -1000 AND f32 < 1000 AND f32 > -1000",
      "SUM(n), SUM(n), COUNT(n), SUM(n + 1) FROM t",
  });
}

TEST_F(DeviceQuery, Extremes) {
  compare({
      "MIN(i8), MAX(i8), MIN(i16), MAX(i32), MIN(i64), MAX(i64), MIN(u64), MAX(u64), MIN(u32) FROM t",
      "MIN(f32), MAX(f32), MIN(f64), MAX(f64), MIN(d16), MAX(d16), MIN(day), MAX(day), MIN(price) FROM t",
      "MIN(few), MAX(few), MIN(flag), MAX(few) FROM t WHERE si > 0",
      "MIN(f64), MAX(f64) FROM t WHERE f64 <> f64 + 1",
      "MIN(u64 + i8), MAX(d4 * d4), MIN(si * si) FROM t",
  });
}

TEST_F(DeviceQuery, SumsAndScalesBeyond38DigitsAreTheCpus) {
  Int128 large = 1;
  for (int digit = 0; digit < 37; ++digit) large *= 10;
  const std::vector<Int128> wide{large, 5, -large, large, 7};
  const std::vector<Int128> widest(5, 9 * large);
  const std::vector<std::int64_t> some{1, 2, 3, 4, 5};
  const std::uint8_t there = 0b10010;
  const auto decimals = [](const char* name) {
    return Field{.name = name, .kind = ValueKind::decimal, .storage = Storage::int128};
  };
  MemoryTable t;
  t.add(decimals("wide"), wide.data(), 5)
      .add(decimals("widest"), widest.data(), 5)
      .add(Field{.name = "some"}, some.data(), 5, &there);
  for (const char* sql : {"SELECT SUM(wide + 99.07 * some), COUNT(*) FROM t", "SELECT AVG(widest), AVG(-widest) FROM t",
                          "SELECT COUNT(*) FROM t WHERE wide + 0.05 * some > 0", "SELECT SUM(widest) FROM t"}) {
    expect_same(ask(sql, gpu::Policy{}, t), ask(sql, par, t), sql);
  }
}

TEST_F(DeviceQuery, Conditions) {
  compare({
      "SUM(si * n) FROM t WHERE day < date '1995-03-01'",

      kForecast,
      "COUNT(*), SUM(n) FROM t WHERE i8 < 0 OR (i16 > 5 AND NOT b)",
      "COUNT(*) FROM t WHERE i8 IS NULL",
      "COUNT(*), SUM(n) FROM t WHERE NOT (si > 10 AND sd IS NOT NULL) OR few IS NULL",
      "COUNT(*) FROM t WHERE few IN ('N', 'A', 'x') AND flag = 'O'",
      "COUNT(*) FROM t WHERE few >= 'N' OR few < 'A' OR few <> 'R'",
      "COUNT(*) FROM t WHERE f64 > 0 OR f32 <= f64",
      "COUNT(*) FROM t WHERE f64 = f64 AND f32 <> 1",
      "COUNT(*) FROM t WHERE sd < d4 AND d16 >= price",
      "COUNT(*) FROM t WHERE i64 * 2 > 5 OR TRUE",
      "COUNT(*) FROM t WHERE FALSE",
      "COUNT(*) FROM t WHERE NULL",
      "COUNT(*) FROM t WHERE u64 > 9223372036854775807 AND i64 < 9223372036854775807",
      "COUNT(*) FROM t WHERE b = TRUE AND b IS NOT NULL",
      "COUNT(*) FROM t WHERE si IN (1, 2, NULL, 3) OR si NOT IN (4, 5)",
      "COUNT(*), SUM(n) FROM t WHERE si IN (1, 2, 3, 5, 8, -13, 21.5, 34.00)",
      "COUNT(*), SUM(n) FROM t WHERE si NOT IN (1.5, 2.5, 3.5, 4.5)",
      "COUNT(*) FROM t WHERE u64 IN (0, 1, 2, 18446744073709551615, 9223372036854775808, -1)",
      "COUNT(*) FROM t WHERE price IN (900, 1000.5, 1.25e4, 90000.00, 10494950, 1e30)",
      "COUNT(*) FROM t WHERE f64 IN (0, 1.5, -2, 1e300, 3) OR f64 NOT IN (0, 7, 1e-300, 2, NULL)",
      "COUNT(*) FROM t WHERE day IN (date '1994-01-01', '1995-06-17', '1996-02-29', '1997-01-01', '1998-08-02')",
      "SUM(CASE WHEN d16 IN (-1, 0, 0.5, 0.125, 0.0625, 99999999999999999999) THEN n ELSE 1 END) FROM t",
      "COUNT(*) FROM t WHERE few IN ('N', 'A', 'x', 'y', 'z', 'u', 'v', 'w', 'q', 'p')",
      "SUM(n) FROM t WHERE si <> 0 AND 100 / si > 3",
      "SUM(n) FROM t WHERE si = 0 OR 100 / si > 3",
  });
}

TEST_F(DeviceQuery, Expressions) {
  compare({
      "SUM(CASE WHEN si > 0 THEN price ELSE 0 END), SUM(CASE WHEN few = 'N' THEN 1 WHEN b THEN 2 END) FROM t",
      "SUM(CASE WHEN si <> 0 THEN 1000 / si END), SUM(CASE WHEN si = 0 THEN -1 ELSE n / si END) FROM t",
      "SUM(CASE WHEN b THEN f64 ELSE 1.5e0 END) FROM t WHERE f64 < 1000 AND f64 > -1000",
      "SUM(CASE WHEN f32 < 0 THEN u64 ELSE i8 END) FROM t",
      "SUM(CASE WHEN b THEN CASE WHEN si > 3 THEN 1 ELSE 2 END ELSE 3 END * n) FROM t",
      "SUM(-si), SUM(-price), SUM(i32 - i16), SUM(i32 * i16 + i8), SUM(si / 7) FROM t",
      "SUM(price / 3), AVG(sd / (price + 1)), SUM(si / 3e0) FROM t",
      "SUM(d16 * d16), SUM(d16 * price * d4), SUM(price - d4) FROM t",
      "SUM(day - date '1990-01-01'), MIN(day + 30), MAX(day - 30) FROM t",
      "SUM(f64 * f64 - f64 / 2), SUM(-f64) FROM t WHERE f64 < 1000 AND f64 > -1000",
      "SUM(n) + COUNT(*), SUM(si) * 2, MAX(si) - MIN(si) FROM t",
      "SUM(price * 1.000000000000000001), SUM(u64 / 3), SUM(i64 / 3) FROM t",
      "SUM(ABS(si)), SUM(ABS(d4)), SUM(ABS(d16)), MIN(ABS(f64)), MAX(ABS(f32)), SUM(ABS(i32)) FROM t WHERE ABS(si) > 3",
      "SUM(ROUND(price)), SUM(ROUND(d4, 1)), SUM(ROUND(d16, -2)), SUM(ROUND(i32, -3)), MAX(ROUND(u64, -4)) FROM t",
      "MIN(ROUND(f64, 1)), MAX(ROUND(f32)), SUM(ROUND(sd, 5)), MAX(SQRT(ABS(f64))), SUM(SQRT(sd)) FROM t",
      "ROUND(AVG(price), 2), ABS(SUM(si)), SQRT(COUNT(*)), ROUND(SUM(price), -3), ROUND(SUM(n), -2) FROM t",
  });
}

TEST_F(DeviceQuery, Groups) {
  compare({
      kPricing,
      "few, COUNT(*), MIN(i64), MAX(f64), MIN(flag) FROM t GROUP BY few",
      "b, COUNT(*), SUM(d16) FROM t GROUP BY b",
      "few, b, flag, SUM(n) FROM t GROUP BY few, b, flag",
      "si, COUNT(*), SUM(price) FROM t GROUP BY si",
      "day, si, COUNT(*), MIN(few) FROM t WHERE si > 40 GROUP BY day, si",
      "d16, SUM(si) FROM t GROUP BY d16 ORDER BY d16 LIMIT 20",
      "u64, COUNT(*) FROM t GROUP BY u64 ORDER BY u64 LIMIT 10",
      "si + 1, few, SUM(n), SUM(f64) FROM t WHERE f64 < 1000 AND f64 > -1000 GROUP BY si + 1, few",
      "i8, COUNT(i8), COUNT(*), SUM(i16) FROM t GROUP BY i8 ORDER BY i8 DESC LIMIT 7",
      "few, SUM(si) FROM t WHERE si > 1000 GROUP BY few",
      "ROUND(price, -4), ABS(si), COUNT(*), SUM(ROUND(d4, 2)) FROM t GROUP BY ROUND(price, -4), ABS(si)",
      "n, SUM(si) FROM t GROUP BY n ORDER BY n DESC LIMIT 3",
      "si, SUM(f64) FROM t WHERE few = 'none' GROUP BY si",
      "f64 * 0, COUNT(*), SUM(n) FROM t GROUP BY f64 * 0 ORDER BY 1",
      "f64, few, COUNT(*) FROM t GROUP BY f64, few ORDER BY f64 DESC, few LIMIT 20",
      "ROUND(f32 / 10), b, COUNT(*) FROM t GROUP BY ROUND(f32 / 10), b",
      "few, MIN(b), MAX(b), MIN(si > 20), MAX(f64 < 0) FROM t GROUP BY few",
  });
}

TEST_F(DeviceQuery, Times) {
  compare({
      "MIN(us), MAX(us), MIN(ns), MAX(ns), SUM(span), MIN(span), MIN(tod), MAX(tod), COUNT(us) FROM t",
      "COUNT(*), MIN(n) FROM t WHERE us > timestamp '1980-01-02 03:04:05.5' AND tod < '12:30'",
      "COUNT(*) FROM t WHERE us > ns",
      "COUNT(*), SUM(n) FROM t WHERE us > day OR us = ns",
      "MAX(us + span), MIN(us - interval '1 day'), MAX(us - ns), SUM(us - ns) FROM t",
      "SUM(span * 3 - interval '00:00:01.000001'), MAX(span / 7), MAX(span / interval '1 hour') FROM t",
      "COUNT(*) FROM t WHERE day + interval '36 hours' < us",
      "tod, COUNT(*), MAX(us) FROM t GROUP BY tod ORDER BY tod LIMIT 5",
      "MIN(iv), MAX(iv), COUNT(iv), MAX(CASE WHEN si > 0 THEN iv END) FROM t WHERE iv > '-20 days'",
      "COUNT(*) FROM t WHERE iv = interval '1 month' OR iv IN ('2 months', '-3 days')",
      "COUNT(*) FROM t WHERE iv BETWEEN '9 days' AND '11 days'",
      "few, MIN(iv), MAX(iv) FROM t WHERE iv <> '1 month' GROUP BY few",
      "iv, COUNT(*), SUM(si) FROM t WHERE iv < interval '2 months' GROUP BY iv ORDER BY iv LIMIT 20",
      "few, us, SUM(span) FROM t WHERE us > '1990-01-01' GROUP BY few, us ORDER BY us LIMIT 5",
      "MAX(CASE WHEN b THEN us ELSE day END), COUNT(*) FROM t WHERE us IN ('1980-01-01', '1990-01-01 00:00:00.5')",
  });
}

// Errors that kernels find are reported as on the CPU, and rows that kernels skip are still processed. Each row is NULL
// in a different key. So every row is a separate group, however many words the NULL bits need.
TEST_F(DeviceQuery, ManyKeysThatMayBeNull) {
  for (const std::size_t keys : {std::size_t{65}, std::size_t{130}}) {
    const std::vector<std::int64_t> zeros(keys, 0);
    std::vector<std::vector<std::uint8_t>> there(keys);
    MemoryTable t;
    std::string list;
    for (std::size_t k = 0; k < keys; ++k) {
      there[k].assign(keys / 8 + 1, 0xFF);
      there[k][k / 8] ^= static_cast<std::uint8_t>(1U << k % 8);
      t.add(Field{.name = fmt::format("k{}", k)}, zeros.data(), std::ssize(zeros), there[k].data());
      list += (k > 0 ? ", k" : "k") + std::to_string(k);
    }
    const std::string sql = fmt::format("SELECT {0}, COUNT(*) FROM t GROUP BY {0}", list);
    const Outcome here = ask(sql, par, t);
    EXPECT_EQ(here.cells.size(), keys) << here.error;
    expect_same(ask(sql, gpu::Policy{}, t), here, sql);
  }
}

TEST_F(DeviceQuery, ErrorsAreTheCpus) {
  compare(
      {
          "SUM(1 / si) FROM t",
          "SUM(i64 + 1) FROM t",
          "SUM(i64 * 3) FROM t WHERE n > 5",
          "SUM(-i64) FROM t",
          "si, SUM(n / si) FROM t GROUP BY si",
          "n / si, COUNT(*) FROM t GROUP BY n / si",
          "SUM(f64 / (si - si)) FROM t",
          "SUM(i64 / (0 - 1)) FROM t",
          "SUM(u64 * u64 * u64) FROM t",
          "SUM(ABS(i64)) FROM t",
          "SUM(ROUND(i64, -1)) FROM t WHERE n > 5",
          "COUNT(*) FROM t WHERE SQRT(si) > 3",
          "si, SUM(SQRT(f64)) FROM t GROUP BY si",
          "COUNT(*) FROM t WHERE n / si > 0 AND si <> 0",
          "AVG(price / d16) FROM t WHERE d16 <> 0",
          "SUM(u64 / 1e0) FROM t",
          "MAX(day + u64) FROM t",
          "MAX(day + i32) FROM t WHERE i32 < 0",
          "MIN((-9223372036854775808) - si) FROM t",
          "MIN((-9223372036854775808) - u64), MAX(CASE WHEN b THEN u64 ELSE si END + si) FROM t",
      },
      By::either);
}

// --------------------------------------------------------------------------------------------------------------- rules

constexpr Int128 kLongMax = std::numeric_limits<std::int64_t>::max();
constexpr Int128 kLongMin = std::numeric_limits<std::int64_t>::min();
constexpr Int128 kIntMax = std::numeric_limits<std::int32_t>::max();
constexpr Int128 kIntMin = std::numeric_limits<std::int32_t>::min();
constexpr Int128 kUnsignedMax = std::numeric_limits<std::uint64_t>::max();
constexpr Int128 kWideMax = expression::kInt128Max;
using Exact = std::optional<Int128>;  // nullopt is NULL

/// The result for a row with these values: text of the answer, or the error code.
struct Case {
  Exact a;
  Exact b;
  std::string expected;
};

/// One expression of columns a and b.
struct Rule {
  std::string expression;
  Field a;
  Field b;
  std::vector<Case> cases;
  By by = By::device;  ///< may the CPU compute the result if there is no error?
};

Field integers(Storage storage) { return {.kind = ValueKind::integer, .storage = storage}; }
Field decimals(Storage storage, int scale) { return {.kind = ValueKind::decimal, .storage = storage, .scale = scale}; }
/// 1, 0 or NULL for a condition.
std::string number_of(const std::string& condition) {
  return fmt::format("CASE WHEN {0} THEN 1 WHEN NOT ({0}) THEN 0 END", condition);
}

/// The meaning of every operator on exact values: at the limits of each type, with NULLs.
std::vector<Rule> exact_rules() {
  const Field i32 = integers(Storage::int32);
  const Field i64 = integers(Storage::int64);
  const Field u64 = integers(Storage::uint64);
  const Field cents = decimals(Storage::int64, 2);
  const Field fine = decimals(Storage::int32, 4);
  const Field wide = decimals(Storage::int128, 0);
  const Field date{.kind = ValueKind::date, .storage = Storage::int32};
  const Field boolean{.kind = ValueKind::boolean, .storage = Storage::bit};
  const auto null = std::nullopt;
  return {
      {"a + b", i32, i32, {{kIntMax, kIntMax, "4294967294"}, {kIntMin, kIntMin, "-4294967296"}, {null, 1, "NULL"}}},
      {"a * b", i32, i32, {{kIntMin, kIntMin, "4611686018427387904"}, {kIntMin, kIntMax, "-4611686016279904256"}}},
      {"a * b * 2", i32, i32, {{kIntMin, kIntMin, "overflow"}, {kIntMin, kIntMax, "-9223372032559808512"}}},
      {"a + b",
       i64,
       i64,
       {{kLongMax, 0, "9223372036854775807"},
        {kLongMax, 1, "overflow"},
        {kLongMin, -1, "overflow"},
        {kLongMin, kLongMax, "-1"},
        {null, kLongMax, "NULL"}}},
      {"a - b",
       i64,
       i64,
       {{kLongMin, 1, "overflow"},
        {0, kLongMin, "overflow"},
        {-1, kLongMin, "9223372036854775807"},
        {1, null, "NULL"}}},
      {"a * b",
       i64,
       i64,
       {{3037000499, 3037000499, "9223372030926249001"},
        {3037000500, 3037000500, "overflow"},
        {kLongMin, -1, "overflow"},
        {kLongMin, 1, "-9223372036854775808"},
        {4294967296, -2147483648, "-9223372036854775808"},
        {4294967296, 2147483648, "overflow"},
        {4294967296, -2147483649, "overflow"},
        {kLongMax, null, "NULL"}}},
      {"-a", i64, i64, {{kLongMin, 0, "overflow"}, {kLongMax, 0, "-9223372036854775807"}, {null, 0, "NULL"}}},
      {"a / b",
       i64,
       i64,
       {{-7, 2, "-3"},
        {7, -2, "-3"},
        {kLongMin, -1, "overflow"},
        {kLongMin, 1, "-9223372036854775808"},
        {1, 0, "division_by_zero"},
        {null, 0, "NULL"}}},
      {"a + b",
       u64,
       i64,
       {{kUnsignedMax, kLongMax, "27670116110564327422"}, {0, kLongMin, "-9223372036854775808"}, {null, 0, "NULL"}}},
      {"a * a * b",
       u64,
       i64,
       {{kUnsignedMax, 0, "overflow"},
        {kUnsignedMax, 1, "overflow"},
        {kUnsignedMax / 4, 3, "63802943797675961871712622782892212227"}}},
      {"a / b", u64, i64, {{kUnsignedMax, -1, "-18446744073709551615"}, {kUnsignedMax, 0, "division_by_zero"}}},
      {"a + b", cents, fine, {{kLongMax, 1, "92233720368547758.0701"}, {kLongMin, kIntMin, "-92233720368762506.4448"}}},
      {"a * b", cents, fine, {{kLongMax, kIntMin, "-19807040628566084396238.503936"}, {null, 1, "NULL"}}},
      {"a + b",
       wide,
       wide,
       {{kWideMax, 0, "170141183460469231731687303715884105727"},
        {kWideMax, 1, "overflow"},
        {-kWideMax, -1, "-170141183460469231731687303715884105728"},
        {-kWideMax, -2, "overflow"},
        {kWideMax, null, "NULL"}}},
      {"a - b", wide, wide, {{-kWideMax, 1, "-170141183460469231731687303715884105728"}, {-kWideMax, 2, "overflow"}}},
      {"a * b",
       wide,
       wide,
       {{kWideMax, -1, "-170141183460469231731687303715884105727"},
        {kWideMax, 2, "overflow"},
        {kLongMax + 1, kLongMax + 1, "85070591730234615865843651857942052864"},
        {2 * (kLongMax + 1), kLongMax + 1, "overflow"},
        {2 * (kLongMax + 1), -kLongMax - 1, "-170141183460469231731687303715884105728"},
        {2 * (kLongMax + 1), 2 * (kLongMax + 1), "overflow"}}},
      {"a / b", cents, fine, {{100, 5, "2000"}, {1, 3, "33.333333333333336"}, {1, 0, "division_by_zero"}, {0, 7, "0"}}},
      {"a / b", wide, wide, {{kWideMax, 1, "1.7014118346046923e+38"}, {kWideMax, 0, "division_by_zero"}}, By::either},
      {"a + b",
       date,
       i64,
       {{0, kIntMax, "5881580-07-11"},
        {0, kIntMax + 1, "overflow"},
        {0, kLongMax, "overflow"},
        {null, kLongMax, "NULL"}}},
      {"a - b", date, i64, {{0, -kIntMin, "-5877641-06-23"}, {0, 1 - kIntMin, "overflow"}, {-1, kLongMax, "overflow"}}},
      {"a + b", date, u64, {{kIntMin, kUnsignedMax, "overflow"}, {kIntMin, -kIntMin, "1970-01-01"}}},
      {"a - b", date, date, {{kIntMax, kIntMin, "4294967295"}, {kIntMin, kIntMax, "-4294967295"}, {0, null, "NULL"}}},
      {number_of("a < b"), i64, u64, {{-1, 0, "1"}, {kLongMax, kUnsignedMax, "1"}, {0, 0, "0"}, {null, 0, "NULL"}}},
      {number_of("a <= b"), cents, fine, {{1, 100, "1"}, {1, 99, "0"}, {kLongMin, 0, "1"}, {kLongMax, 0, "0"}}},
      {number_of("a = b"), cents, wide, {{100, 1, "1"}, {101, 1, "0"}, {0, null, "NULL"}}},
      {number_of("a <> b"), i64, i64, {{kLongMin, kLongMax, "1"}, {5, 5, "0"}, {null, null, "NULL"}}},
      {number_of("a AND b"),
       boolean,
       boolean,
       {{0, 0, "0"},
        {0, 1, "0"},
        {1, 1, "1"},
        {null, 0, "0"},
        {0, null, "0"},
        {null, 1, "NULL"},
        {null, null, "NULL"}}},
      {number_of("a OR b"),
       boolean,
       boolean,
       {{0, 0, "0"},
        {0, 1, "1"},
        {1, 1, "1"},
        {null, 1, "1"},
        {1, null, "1"},
        {null, 0, "NULL"},
        {null, null, "NULL"}}},
      {number_of("b <> 0 AND a / b > 1"), i64, i64, {{4, 2, "1"}, {4, 0, "0"}, {4, null, "NULL"}, {null, 0, "0"}}},
      {number_of("b = 0 OR a / b > 1"), i64, i64, {{4, 2, "1"}, {4, 0, "1"}, {1, 1, "0"}, {null, 1, "NULL"}}},
      {number_of("NOT a"), boolean, boolean, {{0, 0, "1"}, {1, 0, "0"}, {null, 0, "NULL"}}},
      {number_of("a IS NULL"), i64, i64, {{0, 0, "0"}, {null, 0, "1"}}},
      {"CASE WHEN b <> 0 THEN a / b ELSE a END",
       i64,
       i64,
       {{8, 2, "4"}, {8, 0, "8"}, {8, null, "8"}, {null, 1, "NULL"}}},
      {"CASE WHEN b > 0 THEN a ELSE b END + b",
       u64,
       i64,
       {{1, kLongMax, "9223372036854775808"}, {1, kLongMin, "-18446744073709551616"}}},
      {"ABS(a)",
       i64,
       i64,
       {{-5, 0, "5"}, {kLongMax, 0, "9223372036854775807"}, {kLongMin, 0, "overflow"}, {null, 0, "NULL"}}},
      {"ABS(a)", i32, i32, {{kIntMin, 0, "2147483648"}, {0, 0, "0"}, {null, 0, "NULL"}}},
      {"ABS(a - b)", u64, i64, {{0, kLongMax, "9223372036854775807"}, {kUnsignedMax, 0, "18446744073709551615"}}},
      {"ABS(a)", cents, i64, {{-150, 0, "1.50"}, {kLongMin, 0, "92233720368547758.08"}, {null, 0, "NULL"}}},
      {"ABS(a)",
       wide,
       i64,
       {{-kWideMax, 0, "170141183460469231731687303715884105727"}, {-kWideMax - 1, 0, "overflow"}, {null, 0, "NULL"}}},
      {"ROUND(a)", cents, i64, {{150, 0, "2"}, {-150, 0, "-2"}, {149, 0, "1"}, {-49, 0, "0"}, {null, 0, "NULL"}}},
      {"ROUND(a, 1)", cents, i64, {{kLongMax, 0, "92233720368547758.1"}, {-5, 0, "-0.1"}, {4, 0, "0.0"}}},
      {"ROUND(a, 7)", cents, i64, {{kLongMax, 0, "92233720368547758.07"}, {null, 0, "NULL"}}},
      {"ROUND(a, -2)", cents, i64, {{5000, 0, "100"}, {-4999, 0, "0"}, {kLongMin, 0, "-92233720368547800"}}},
      {"ROUND(a, -40)", cents, i64, {{kLongMax, 0, "0"}, {null, 0, "NULL"}}},
      {"ROUND(a, 3)", fine, i64, {{kIntMin, 0, "-214748.365"}, {12345, 0, "1.235"}, {12344, 0, "1.234"}}},
      {"ROUND(a, -37)",
       wide,
       i64,
       {{kWideMax, 0, "170000000000000000000000000000000000000"},
        {kWideMax / 100 * 3, 0, "10000000000000000000000000000000000000"},
        {null, 0, "NULL"}}},
      {"ROUND(a, -38)",
       wide,
       i64,
       {{kWideMax, 0, "overflow"}, {kWideMax / 2, 0, "100000000000000000000000000000000000000"}}},
      {"ROUND(a, 2)", i64, i64, {{kLongMin, 0, "-9223372036854775808"}, {null, 0, "NULL"}}},
      {"ROUND(a, -1)",
       i64,
       i64,
       {{15, 0, "20"},
        {-15, 0, "-20"},
        {14, 0, "10"},
        {kLongMax - 3, 0, "9223372036854775800"},
        {kLongMax - 2, 0, "overflow"},
        {kLongMin, 0, "overflow"},
        {null, 0, "NULL"}}},
      {"ROUND(a, -19)", i64, i64, {{kLongMax / 2, 0, "0"}, {kLongMax, 0, "overflow"}, {null, 0, "NULL"}}},
      {"ROUND(a, -30)", i64, i64, {{kLongMax, 0, "0"}, {null, 0, "NULL"}}},
      {"ROUND(a, -1)", u64, i64, {{kUnsignedMax, 0, "18446744073709551620"}, {4, 0, "0"}}},
      {"SQRT(a)", i64, i64, {{4, 0, "2"}, {2, 0, "1.4142135623730951"}, {-1, 0, "not_positive"}, {null, 0, "NULL"}}},
      {"SQRT(a)", cents, i64, {{225, 0, "1.5"}, {0, 0, "0"}, {-1, 0, "not_positive"}}},
      {"SQRT(a)", wide, i64, {{kWideMax, 0, "1.3043817825332783e+19"}, {-kWideMax, 0, "not_positive"}}, By::either},
      {"CASE WHEN a >= 0 THEN SQRT(a) ELSE ABS(a) END", i64, i64, {{9, 0, "3"}, {-9, 0, "9"}, {null, 0, "NULL"}}},
  };
}

/// Elements of a column of any storage, and their validity.
class Elements {
 public:
  explicit Elements(Field field) : field_(std::move(field)) {}
  void push(Exact value) {
    const auto bits = static_cast<std::size_t>(width_of(field_.storage));
    const std::size_t row = rows_++;
    bytes_.resize((rows_ * bits + 7) / 8);
    validity_.resize(rows_ / 8 + 1);
    if (!value) return;
    validity_[row / 8] |= static_cast<std::uint8_t>(1 << (row % 8));
    if (bits == 1) {
      bytes_[row / 8] |= static_cast<std::uint8_t>(*value << (row % 8));
    } else {
      std::memcpy(bytes_.data() + row * bits / 8, &*value, bits / 8);  // little-endian
    }
  }
  void add_to(MemoryTable& table, const char* name) {
    field_.name = name;
    table.add(field_, bytes_.data(), static_cast<std::int64_t>(rows_), validity_.data());
  }

 private:
  Field field_;
  std::size_t rows_ = 0;
  std::vector<std::uint8_t> bytes_;
  std::vector<std::uint8_t> validity_;
};

/// Returns a cell of the only row of an answer, or the error code; the query keeps only row `row`.
template <class Policy>
std::string cell_or_error(const Query& query, const Policy& policy, const Table& table, std::int64_t row, By by) {
  try {
    const Answer answer = query.run(policy, table);
    if (by == By::device) {
      EXPECT_EQ(answer.rows_by_cpu, 0);
    }
    return text(answer.columns[0], answer.rows[0][0]);
  } catch (const Error& error) {
    EXPECT_EQ(error.index(), row) << error.what();
    return std::string(word(error.code()));
  }
}

// The CPU and the GPU implement arithmetic, comparisons and NULLs separately, in C++ and in CUDA C++. Both must give
// the results in this table. Values are in columns, and each case keeps one row; so a rule needs only one program.
TEST_F(DeviceQuery, RulesAreTheSameOnBoth) {
  for (const Rule& rule : exact_rules()) {
    for (std::size_t kept = 0; kept < rule.cases.size(); ++kept) {
      Elements a(rule.a);
      Elements b(rule.b);
      Elements keep({.kind = ValueKind::boolean, .storage = Storage::bit});
      for (std::size_t row = 0; row < rule.cases.size(); ++row) {
        a.push(rule.cases[row].a);
        b.push(rule.cases[row].b);
        keep.push(row == kept ? 1 : 0);
      }
      MemoryTable t;
      a.add_to(t, "a");
      b.add_to(t, "b");
      keep.add_to(t, "keep");
      const Query query(fmt::format("SELECT MIN({}) FROM t WHERE keep", rule.expression), t);
      const Case& expected = rule.cases[kept];
      const auto row = static_cast<std::int64_t>(kept);
      EXPECT_EQ(cell_or_error(query, par, t, row, By::either), expected.expected) << rule.expression << ", row " << row;
      EXPECT_EQ(cell_or_error(query, gpu::Policy{}, t, row, rule.by), expected.expected)
          << rule.expression << ", row " << row << ", on the GPU";
    }
  }
}

// NaN equals itself and is greater than all other values. Division by zero is an error; overflow is not.
TEST_F(DeviceQuery, RulesOfFloatsAreTheSameOnBoth) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  struct Floats {
    double a, b;
    const char* expected;  ///< per expression
  };
  const Floats cases[] = {{1, 2, "1 1 0 3 0.5 1"},
                          {2, 2, "0 1 1 4 1 2"},
                          {nan, 1, "0 0 0 NaN NaN 1"},
                          {1, nan, "1 1 0 NaN NaN 1"},
                          {nan, nan, "0 1 1 NaN NaN NaN"},
                          {inf, nan, "1 1 0 NaN NaN Infinity"},
                          {1e308, 1e308, "0 1 1 Infinity 1 1e+308"},
                          {-inf, inf, "1 1 0 NaN NaN -Infinity"},
                          {1, 0, "0 0 0 1 division_by_zero 0"}};
  for (const auto& [a, b, expected] : cases) {
    const std::vector<double> x{a};
    const std::vector<double> y{b};
    MemoryTable t;
    t.add("a", x).add("b", y);
    std::string here;
    std::string there;
    for (const std::string& expression :
         {number_of("a < b"), number_of("a <= b"), number_of("a = b"), std::string("a + b"), std::string("a / b"),
          std::string("CASE WHEN a < b THEN a ELSE b END")}) {
      const Query query(fmt::format("SELECT MIN({}) FROM t", expression), t);
      here += cell_or_error(query, par, t, 0, By::either) + " ";
      there += cell_or_error(query, gpu::Policy{}, t, 0, By::device) + " ";
    }
    EXPECT_EQ(here, std::string(expected) + " ");
    EXPECT_EQ(there, std::string(expected) + " ");
  }
}

// Functions of floats also have one implementation for both.
TEST_F(DeviceQuery, FunctionsOfFloatsAreTheSameOnBoth) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  struct Floats {
    double a;
    const char* expected;  ///< per expression
  };
  const Floats cases[] = {
      {2.5, "2.5 3 2.5 0 1.5811388300841898"},
      {-2.5, "2.5 -3 -2.5 -0 not_positive"},
      {0.49999999999999994, "0.49999999999999994 0 0.5 0 0.7071067811865475"},
      {2251799813685249.5,
       "2251799813685249.5 2251799813685250 2251799813685249.5 2251799813685200 47453132.812125795"},
      {1e300, "1e+300 1e+300 1e+300 1e+300 1e+150"},
      {155.355, "155.355 155 155.35 200 12.464148587047573"},
      {0.0, "0 0 0 0 0"},
      {-0.0, "0 -0 -0 -0 -0"},
      {inf, "Infinity Infinity Infinity Infinity Infinity"},
      {-inf, "Infinity -Infinity -Infinity -Infinity not_positive"},
      {nan, "NaN NaN NaN NaN NaN"}};
  for (const auto& [a, expected] : cases) {
    const std::vector<double> x{a};
    MemoryTable t;
    t.add("a", x);
    std::string here;
    std::string there;
    for (const char* const expression : {"ABS(a)", "ROUND(a)", "ROUND(a, 2)", "ROUND(a, -2)", "SQRT(a)"}) {
      const Query query(fmt::format("SELECT MIN({}) FROM t", expression), t);
      here += cell_or_error(query, par, t, 0, By::either) + " ";
      there += cell_or_error(query, gpu::Policy{}, t, 0, By::device) + " ";
    }
    EXPECT_EQ(here, std::string(expected) + " ");
    EXPECT_EQ(there, std::string(expected) + " ");
  }
}

TEST_F(DeviceQuery, SumsOfNegativeZerosAreNegative) {
  std::vector<double> x(kManyRows, -0.0);
  std::vector<std::int64_t> k(kManyRows);
  for (std::size_t i = 0; i < k.size(); ++i) {
    k[i] = static_cast<std::int64_t>(i % 5);
    if (i % 1000 == 3) x[i] = 0.0;  // of key 3
  }
  MemoryTable t;
  t.add("x", x).add("k", k);
  const auto cells = [&](const std::string& sql) { return ask(sql, gpu::Policy{}, t).cells; };
  using Cells = std::vector<std::vector<std::string>>;
  EXPECT_EQ(cells("SELECT SUM(x), AVG(x) FROM t WHERE k <> 3"), (Cells{{"-0", "-0"}}));
  EXPECT_EQ(cells("SELECT SUM(x), MIN(x) FROM t WHERE k = 3"), (Cells{{"0", "-0"}}));
  EXPECT_EQ(cells("SELECT k, SUM(x) FROM t GROUP BY k ORDER BY k"),
            (Cells{{"0", "-0"}, {"1", "-0"}, {"2", "-0"}, {"3", "0"}, {"4", "-0"}}));
}

TEST_F(DeviceQuery, ManyGroupsOfManyRows) {
  const Columns columns(kManyRows, true, 5);
  compare({"si, few, COUNT(*), SUM(n), SUM(price), MIN(f64), MAX(day) FROM t GROUP BY si, few",
           "i16, COUNT(*), SUM(i64), SUM(d16) FROM t GROUP BY i16", "n, COUNT(*) FROM t WHERE n < 9000 GROUP BY n"},
          columns, "many", By::device);
}

// The bits are the same on every run, and from a table in device memory.
TEST_F(DeviceQuery, FloatsAreTheSameBitsOnEveryRun) {
  const Columns columns(kManyRows, false, 6);
  const std::string sql =
      "SELECT few, SUM(f64), SUM(f32) FROM t WHERE f64 < 1000 AND f64 > -1000 AND f32 < 1000 AND "
      "f32 > -1000 GROUP BY few";
  const DeviceTable there(gpu::Policy{}, columns.table());
  const Outcome first = ask(sql, gpu::Policy{}, there);
  const Outcome brought = ask(sql, gpu::Policy{}, columns.table());
  EXPECT_EQ(first.error, "");
  for (int run = 0; run < 5; ++run) {
    EXPECT_EQ(ask(sql, gpu::Policy{}, there).cells, first.cells);
    EXPECT_EQ(ask(sql, gpu::Policy{}, columns.table()).cells, brought.cells);
  }
}

TEST_F(DeviceQuery, ATableThereIsReadByTheCpuToo) {
  const Columns columns(3'000, true, 7);
  const DeviceTable there(gpu::Policy{}, columns.table(), {"si", "few", "b", "n"});
  EXPECT_EQ(there.fields().size(), 4U);
  EXPECT_EQ(there.rows(), 3'000);
  const std::string sql = "SELECT few, b, COUNT(*), SUM(si * n) FROM t WHERE si < 40 GROUP BY few, b";
  expect_same(ask(sql, par, there), ask(sql, par, columns.table()), sql);
  try {
    const DeviceTable none(gpu::Policy{}, columns.table(), {"si", "nowhere"});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::unknown_column);
    EXPECT_NE(std::string(error.what()).find("'nowhere'"), std::string::npos);
  }
}

/// Device memory that is exhausted.
class NoMemory final : public gpu::MemoryResource {
 public:
  void* allocate(std::int64_t bytes, gpu::Stream) override {
    throw Error(Code::device_memory, fmt::format("allocating {} bytes on the device", bytes));
  }
  void deallocate(void*, std::int64_t, gpu::Stream) noexcept override {}
};

TEST_F(DeviceQuery, WhereMemoryDoesNotSufficeItSaysWhatToDo) {
  const Columns columns(100, false, 9);
  NoMemory none;
  const gpu::Policy policy = gpu::Policy{}.with_memory(none);
  try {
    const DeviceTable there(policy, columns.table());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::device_memory);
    EXPECT_NE(std::string(error.what()).find("chunk by chunk"), std::string::npos);
  }
  EXPECT_EQ(ask("SELECT SUM(si) FROM t", policy, columns.table()).error.substr(0, 13), "device_memory");
}

TEST_F(DeviceQuery, KeepsWithinALimitOfTheDevicesMemory) {
  const Columns columns(kManyRows, true, 5);
  const Table& table = columns.table();
  for (const char* const sql : {"SELECT COUNT(*), SUM(n), MIN(price), MAX(day) FROM t WHERE n < 9000",
                                "SELECT few, COUNT(*), SUM(i64) FROM t GROUP BY few",
                                "SELECT n, COUNT(*), SUM(d16) FROM t GROUP BY n ORDER BY n"}) {
    const Query query(sql, table);
    const Answer expected = query.run(par, table);
    std::int64_t less = std::numeric_limits<std::int64_t>::max();
    for (const std::int64_t megabytes : {0, 64, 16, 4}) {
      tests::MeteredMemory memory(gpu::devices().empty() ? nullptr : &gpu::pool());
      const Answer found = query.run(gpu::Policy{}.with_memory(memory), table, {}, {.device_bytes = megabytes << 20});
      ASSERT_EQ(found.rows.size(), expected.rows.size()) << sql;
      for (std::size_t row = 0; row < expected.rows.size(); ++row) {
        for (std::size_t c = 0; c < expected.columns.size(); ++c) {
          ASSERT_EQ(found.rows[row][c].exact, expected.rows[row][c].exact) << sql << " row " << row;
        }
      }
      EXPECT_GE(found.bytes_to_device, kManyRows) << sql;
      EXPECT_LE(memory.most(), less);
      less = memory.most();
      if (megabytes > 0) {
        EXPECT_LE(memory.most(), megabytes << 20) << sql;
      }
      EXPECT_EQ(memory.used(), 0);
    }
    EXPECT_EQ(tests::code_of([&] { (void)query.run(gpu::Policy{}, table, {}, {.device_bytes = 1000}); }),
              Code::invalid_argument);
    EXPECT_EQ(tests::code_of([&] { (void)query.run(gpu::Policy{}, table, {}, {.device_bytes = -1}); }),
              Code::invalid_argument);
  }
}

query::QueryPlan plan_of(const std::string& sql, const Table& table) {
  return query::bind(sql, query::parse(sql), "t", table.fields());
}

// With this limit of memory only one block fits, so its sum is the sum of all rows. 64 bits can hold the sum of a
// multiprocessor's rows, but not this one.
TEST_F(DeviceQuery, SumsHoldTheRowsThatASmallGridGivesABlock) {
#if UPSWEEP_EMULATED_GPU
  constexpr std::int64_t kCount = 120'000;
  constexpr std::int64_t kFactor = (std::int64_t{1} << 39) - 1;
#else
  constexpr std::int64_t kCount = std::int64_t{1} << 26;
  constexpr std::int64_t kFactor = (std::int64_t{1} << 34) - 1;
#endif
  const std::vector<std::uint8_t> x(kCount, 255);
  MemoryTable table;
  table.add("x", x);
  const DeviceTable there(gpu::Policy{}, table);
  const query::QueryPlan plan = plan_of(fmt::format("SELECT SUM(x * {}) FROM t", kFactor), there);
  const expression::Kernels& kernels = expression::kernels(Isa::best);
  constexpr std::int64_t kOneBlock = 130;  // fewer bytes than users may request
  const query::Folded folded =
      query::execute(plan, there, gpu::Policy{}, kOneBlock, {}, std::make_unique<query::Totals>(plan));
  EXPECT_EQ(folded.rows_by_cpu, 0);
  const Answer answer = query::answer_of(plan, *folded.totals, kernels, 1, std::int64_t{1} << 30, [] {});
  EXPECT_TRUE(answer.rows[0][0].exact == Int128{255} * kFactor * kCount) << text(answer.columns[0], answer.rows[0][0]);
}

TEST_F(DeviceQuery, LessDeviceMemoryThanAMegabyteIsRefused) {
  const Columns columns(10, false, 8);
  const Query query("SELECT SUM(si) FROM t", columns.table());
  const DeviceTable there(gpu::Policy{}, columns.table());
  constexpr std::int64_t kLeast = QueryMemory::kLeastDeviceBytes;
  for (const std::int64_t bytes : {std::int64_t{-1}, std::int64_t{300}, kLeast - 1}) {
    EXPECT_EQ(tests::code_of([&] { (void)query.run(gpu::Policy{}, there, {}, {.device_bytes = bytes}); }),
              Code::invalid_argument);
    EXPECT_EQ(tests::code_of([&] { (void)query.fold(gpu::Policy{}, there, {}, bytes); }), Code::invalid_argument);
  }
  EXPECT_EQ(query.run(gpu::Policy{}, there, {}, {.device_bytes = kLeast}).rows.size(), 1U);
}

std::string source_of(const std::string& sql, const Table& table) {
  const query::QueryPlan plan = plan_of("SELECT " + sql, table);
  const query::SourceOptions options{.columns = std::vector<expression::ColumnShape>(plan.columns.size()),
                                     .copies = plan.keys.empty() ? query::Copies::registers : query::Copies::threads};
  return query::fold_source(plan, options).text;
}

bool has_op(expression::Op op, const expression::Node& node) {
  if (node == nullptr) return false;
  return node->op == op || std::any_of(node->args.begin(), node->args.end(),
                                       [&](const expression::Node& arg) { return has_op(op, arg); });
}

/// A query that uses an operator. Each "@" in it can be any of the literals, which have the same type and rounded size.
struct WithLiterals {
  const char* sql;
  std::vector<const char*> literals;
};

std::vector<WithLiterals> with_literals(expression::Op op) {
  using expression::Op;
  switch (op) {  // a new operator needs a case: which literals can it have?
    case Op::column:
      return {{"SUM(si) FROM t WHERE b = @", {"TRUE", "FALSE"}}};
    case Op::literal:
      return {
          {"SUM(si) FROM t WHERE @", {"TRUE", "FALSE"}},
          {"SUM(@) FROM t", {"0", "1", "-1", "200", "-256"}},
          {"SUM(CASE WHEN b THEN @ ELSE @ END) FROM t", {"0.00", "1.25", "-0.07"}},
          {"SUM(CASE WHEN b THEN @ ELSE 1e300 END) FROM t", {"1e300", "-1.5e77", "2.5e-77"}},
          {"MIN(CASE WHEN b THEN @ ELSE 1 END) FROM t",
           {"123456789012345678901234567890", "123456789012345678901234567891", "-123456789012345678901234567890"}}};
    case Op::null:
      return {{"SUM(CASE WHEN b THEN @ END) FROM t", {"7", "8"}}};
    case Op::rescale:
      return {{"SUM(si + @) FROM t", {"0.05", "-1.99", "2.00"}}};
    case Op::to_real:
      return {{"SUM(si * @) FROM t", {"1e300", "1e-300", "-2.5e77"}}};
    case Op::real_key:
      return {{"COUNT(*) FROM t GROUP BY CASE WHEN si > @ THEN 0.5e0 ELSE -0e0 END", {"3", "4", "-100"}}};
    case Op::add:
      return {{"SUM(si + @), SUM(price + @) FROM t", {"3", "4", "100", "-255"}},
              {"MIN(day + @) FROM t", {"1", "30", "-200"}},
              {"SUM(f64 + @) FROM t", {"1e0", "2e0"}},
              {"SUM(d16 + @) FROM t", {"36893488147419103232", "-36893488147419103233"}}};
    case Op::subtract:
      return {{"SUM(price * (@ - sd)) FROM t", {"1", "2", "0"}},
              {"SUM(day - date @) FROM t", {"'1990-01-01'", "'1998-12-31'"}}};
    case Op::multiply:
      return {{"SUM(n * @), SUM(price * @) FROM t", {"0", "1", "2", "5", "100", "-1"}},
              {"SUM(f64 * @) FROM t", {"1e0", "2e0"}},
              {"SUM(u64 * @) FROM t", {"1", "2", "3"}}};
    case Op::divide:
      return {{"SUM(n / @), SUM(si - si / @ * @) FROM t", {"0", "1", "-1", "2", "3", "7", "-128", "255"}},
              {"SUM(u64 / @) FROM t", {"0", "1", "-1", "2", "3", "7", "-128", "255"}},
              {"SUM(f64 / @) FROM t", {"0e0", "1e0", "2e0", "3e0"}}};
    case Op::ratio:
      return {{"SUM(price / @), SUM(si / @) FROM t", {"0.00", "0.01", "0.02", "1.50"}}};
    case Op::equal:
      return {{"SUM(si) FROM t WHERE n = @", {"0", "5", "123456789", "-9223372036854775807"}},
              {"SUM(si) FROM t WHERE b = @", {"TRUE", "FALSE"}}};
    case Op::unequal:
      return {{"SUM(si) FROM t WHERE sd <> @", {"0.05", "0.06", "12345678.90"}}};
    case Op::less:
      return {{"SUM(si) FROM t WHERE n > @ AND si > @", {"5", "6"}},
              {"SUM(si) FROM t WHERE day < date @", {"'1994-01-01'", "'1995-02-03'", "'1970-01-01'"}},
              {"SUM(si) FROM t WHERE day < date @ + interval '3' month", {"'1994-01-01'", "'1995-02-03'"}},
              {"SUM(si) FROM t WHERE day < date '1994-01-01' + interval @ month", {"'1'", "'-25'"}},
              {"SUM(si) FROM t WHERE f64 < @", {"1.5e0", "-2.5e0", "0e0"}},
              {"SUM(si) FROM t WHERE d16 < @", {"123456789012345678901.5", "-123456789012345678902.5"}}};
    case Op::less_equal:
      return {{"SUM(si) FROM t WHERE n BETWEEN @ AND @", {"-5", "0", "7"}}};
    case Op::both:
      return {{"SUM(CASE WHEN n > @ AND si < @ THEN @ END) FROM t", {"1", "2"}}};
    case Op::either:
      return {{"SUM(si) FROM t WHERE n = @ OR 100 / si > @ OR 200 / si = @", {"1", "2", "100"}}};
    case Op::invert:
      return {{"SUM(si) FROM t WHERE NOT (n > @ OR b)", {"1", "2"}}};
    case Op::is_null:
      return {{"SUM(si) FROM t WHERE (n + @) IS NULL OR n > @", {"1", "2"}}};
    case Op::choose:
      return {
          {"few, SUM(CASE WHEN n > @ THEN @ WHEN n < @ THEN price ELSE @ END) FROM t GROUP BY few", {"0", "9", "11"}}};
    case Op::string_test:
      return {{"SUM(si) FROM t WHERE few = @ OR few >= @", {"'N'", "'none'", "''"}},
              {"SUM(si) FROM t WHERE few IN (@, 'a', 'b', 'c', 'd')", {"'N'", "'none'"}}};
    case Op::call:  // the number of decimal places is part of the code
      return {{"SUM(ABS(si - @)), SUM(SQRT(n + @)) FROM t WHERE ROUND(price * @, 1) > @", {"1", "2", "17"}}};
    case Op::is_member:
      return {{"SUM(si) FROM t WHERE n IN (1, 2, 3, 4, @)", {"5", "9999999999", "-1", "1", "1.5"}},
              {"SUM(si) FROM t WHERE f64 IN (1, 2, 3, 4, @)", {"5", "1e300"}},
              {"SUM(si) FROM t WHERE day IN ('1994-01-01', '1995-06-17', '1996-02-29', @)",
               {"'1998-08-02'", "'1997-01-01'"}}};
  }
  detail::no_such_value();
}

/// Returns the query with each "@" replaced by one of the literals, in turn, starting with literal `first`.
std::string with(const WithLiterals& all, std::size_t first) {
  std::string sql;
  for (const char* c = all.sql; *c != '\0'; ++c) {
    if (*c == '@') {
      sql += all.literals[first++ % all.literals.size()];
    } else {
      sql += *c;
    }
  }
  return sql;
}

// Otherwise every query of a dashboard would be compiled, and its code stored.
TEST_F(DeviceQuery, OtherLiteralsTakeTheSameCode) {
  using expression::Op;
  const Columns columns(10, true, 8);
  const Table& table = columns.table();
  for (int number = 0; number <= static_cast<int>(Op::is_member); ++number) {
    const Op op = static_cast<Op>(number);
    for (const WithLiterals& all : with_literals(op)) {
      const query::QueryPlan plan = plan_of("SELECT " + with(all, 0), table);
      const bool is_asked = std::any_of(plan.filters.begin(), plan.filters.end(),
                                        [&](const auto& filter) { return has_op(op, filter); }) ||
                            std::any_of(plan.aggregates.begin(), plan.aggregates.end(),
                                        [&](const query::Aggregate& aggregate) { return has_op(op, aggregate.input); });
      EXPECT_TRUE(is_asked) << all.sql << " without operator " << number;
      const std::string text = source_of(with(all, 0), table);
      for (std::size_t first = 1; first < all.literals.size(); ++first) {
        EXPECT_EQ(source_of(with(all, first), table), text) << with(all, 0) << " and " << with(all, first);
      }
      // Equal literals also use the same code.
      WithLiterals one = all;
      one.literals.resize(1);
      EXPECT_EQ(source_of(with(one, 0), table), text) << with(one, 0);
    }
  }
  EXPECT_NE(source_of("SUM(si) FROM t WHERE n > 5", table), source_of("SUM(si) FROM t WHERE n < 5", table));
}

// The number of bits depends on a literal's size, which is rounded to a few steps.
TEST_F(DeviceQuery, LiteralsOfAllSizesTakeFewPrograms) {
  const Columns columns(10, true, 8);
  std::set<std::string> texts;
  for (const char* const digits : {"1", "9"}) {
    std::string number;
    while (number.size() < 37) {
      number += digits;
      for (const char* const sign : {"", "-"}) {
        texts.insert(source_of(fmt::format("SUM(price * {}.0) FROM t", sign + number), columns.table()));
      }
    }
  }
  EXPECT_LE(texts.size(), 17U);
}

TEST_F(DeviceQuery, DivisionsByLiteralsAreExact) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kGreatest = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> x{kLeast, kLeast + 1, kGreatest, kGreatest - 1, 0};
  for (int bit = 0; bit < 63; ++bit) {
    for (const std::int64_t near : {-1, 0, 1}) {
      x.push_back((std::int64_t{1} << bit) + near);
      x.push_back(-(std::int64_t{1} << bit) + near);
    }
  }
  std::vector<std::uint64_t> u(x.begin(), x.end());  // negative values become large
  std::vector<std::int32_t> s;
  s.reserve(x.size());
  for (const std::int64_t value : x) s.push_back(static_cast<std::int32_t>(value));
  s.back() = std::numeric_limits<std::int32_t>::min();
  MemoryTable table;
  table.add("x", x).add("u", u).add("s", s);
  std::mt19937_64 random(11);
  std::vector<std::int64_t> divisors{1,         -1,      2,      -2,         3,         -3,           5,
                                     7,         10,      100,    -1000,      641,       -7,           11,
                                     1'000'003, 1 << 30, kLeast, kLeast + 1, kGreatest, kGreatest - 1};
  for (int i = 0; i < 40; ++i) divisors.push_back((static_cast<std::int64_t>(random()) >> (random() % 63)) | 1);
  for (const std::int64_t divisor : divisors) {
    std::string sql = "SELECT COUNT(*)";
    // Operands of 64, 32, 33 and 128 bits. Sums are separate for each sign, so that errors do not cancel out.
    for (const char* const number : {"x", "s", "-s", "u"}) {
      sql += fmt::format(", SUM(CASE WHEN x > 0 THEN {0} / {1} END), SUM(CASE WHEN x < 0 THEN {0} / {1} END)", number,
                         divisor);
    }
    // The minimum int64 has no negation.
    sql += fmt::format(", MIN(x / {}) FROM t{}", divisor, divisor == -1 ? " WHERE x > -9223372036854775807" : "");
    const Outcome found = ask(sql, gpu::Policy{}, table);
    expect_same(found, ask(sql, par, table), sql);
    EXPECT_EQ(found.rows_by_cpu, 0) << sql;
  }
  for (const char* const fails : {"x / 0", "s / 0", "u / 0", "x - x / 0 * 0"}) {
    const std::string sql = fmt::format("SELECT MIN({}) FROM t", fails);
    EXPECT_EQ(ask(sql, gpu::Policy{}, table).error, ask(sql, par, table).error);
    EXPECT_NE(ask(sql, gpu::Policy{}, table).error, "");
  }
  const std::string turned = "SELECT MIN(x / -1) FROM t";  // the minimum int64 has no negation
  EXPECT_EQ(ask(turned, gpu::Policy{}, table).error, ask(turned, par, table).error);
  EXPECT_NE(ask(turned, gpu::Policy{}, table).error, "");
}

// Literals and columns that need more words than a kernel has as parameters are read from device memory.
TEST_F(DeviceQuery, KernelsReadManyWordsFromMemory) {
  std::string some = "n = 0";
  for (int i = 1; i < 600; ++i) some += fmt::format(" OR n = {}", 3 * i);
  compare({"COUNT(*), SUM(si) FROM t WHERE " + some, "flag, SUM(n) FROM t WHERE " + some + " GROUP BY flag",
           "si, COUNT(*) FROM t WHERE si / 3 > 1 AND (" + some + ") GROUP BY si"},
          Columns(900, true, 8), "many words", By::device);

  constexpr int kColumns = 300;
  std::vector<std::vector<std::int32_t>> values;
  values.reserve(kColumns);
  MemoryTable table;
  std::string sum = "0";
  for (int c = 0; c < kColumns; ++c) values.emplace_back(10, c);
  for (int c = 0; c < kColumns; ++c) {
    table.add(fmt::format("c{}", c), values[static_cast<std::size_t>(c)]);
    sum += fmt::format(" + c{}", c);
  }
  const std::string sql = fmt::format("SELECT SUM({}) FROM t", sum);
  const Outcome found = ask(sql, gpu::Policy{}, table);
  expect_same(found, ask(sql, par, table), sql);
  EXPECT_EQ(found.rows_by_cpu, 0);
}

// The first run generates, looks up and compiles the kernel's text.
TEST_F(DeviceQuery, KernelsAreMadeOnceForAQuery) {
  const Columns columns(100, true, 8);
  const DeviceTable there(gpu::Policy{}, columns.table());
  for (const char* const sql : {"SELECT SUM(si + 424242) FROM t", "SELECT few, SUM(si + 424242) FROM t GROUP BY few",
                                "SELECT si, SUM(si + 424242) FROM t GROUP BY si"}) {
    const Query query(sql, there);
    EXPECT_GT(query.run(gpu::Policy{}, there).times.compile, 0) << sql;
    EXPECT_EQ(query.run(gpu::Policy{}, there).times.compile, 0) << sql;
    EXPECT_EQ(query.run(gpu::Policy{}, there).times.compile, 0) << sql;
  }
  query::QueryPlan plan = plan_of("SELECT SUM(si) FROM t WHERE n > 5", there);
  const query::SourceOptions options{.columns = std::vector<expression::ColumnShape>(plan.columns.size())};
  const auto kernel = plan.kernels->fold(plan, options);
  EXPECT_EQ(plan.kernels->fold(plan, options), kernel);
  query::QueryPlan other = plan;
  other.filters.clear();
  EXPECT_NE(other.kernels->fold(other, options)->source().text, kernel->source().text);
  other = plan;
  other.aggregates.pop_back();
  EXPECT_NE(other.kernels->fold(other, options)->source().text, kernel->source().text);
}

/// Strings whose NULL rows contain invalid indices.
class NoIndicesInNulls {
 public:
  NoIndicesInNulls() {
    for (std::size_t i = 0; i < indices_.size(); ++i) {
      const bool is_null = i % 3 == 1;
      indices_[i] = is_null ? (i % 2 == 0 ? -7 : std::numeric_limits<std::int32_t>::max()) : static_cast<int>(i % 4);
      if (!is_null) validity_[i / 8] = static_cast<std::uint8_t>(validity_[i / 8] | 1 << (i % 8));
    }
  }
  [[nodiscard]] ColumnData column() const {
    return {.values = indices_.data(), .validity = validity_.data(), .dictionary = words_};
  }
  [[nodiscard]] std::int64_t rows() const { return std::ssize(indices_); }

 private:
  std::vector<std::int32_t> indices_ = std::vector<std::int32_t>(1000);
  std::vector<std::uint8_t> validity_ = std::vector<std::uint8_t>(125);
  std::shared_ptr<const Dictionary> words_ = expression::dictionary_of(std::vector<std::string>{"a", "bb", "", "dddd"});
};

Field text_field() { return {.name = "s", .kind = ValueKind::text, .storage = Storage::int32}; }

TEST_F(DeviceQuery, NullTextsMayHaveAnyIndex) {
  const NoIndicesInNulls texts;
  const ColumnData column = texts.column();
  MemoryTable table;
  table.add(text_field(), column.values, texts.rows(), column.validity, column.dictionary);
  for (const char* const sql : {"SELECT s, COUNT(*) FROM t GROUP BY s ORDER BY s", "SELECT MIN(s), MAX(s) FROM t",
                                "SELECT COUNT(*) FROM t WHERE s >= 'b' OR s = ''"}) {
    expect_same(ask(sql, gpu::Policy{}, table), ask(sql, par, table), sql);
  }
  EXPECT_EQ(ask("SELECT s, COUNT(*) FROM t GROUP BY s ORDER BY s", gpu::Policy{}, table).cells,
            (std::vector<std::vector<std::string>>{
                {"", "167"}, {"a", "167"}, {"bb", "166"}, {"dddd", "167"}, {"NULL", "333"}}));
  const std::int32_t bad[] = {0, 1, 4};
  try {
    MemoryTable().add(text_field(), bad, 3, nullptr, column.dictionary);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid_argument);
    EXPECT_EQ(error.index(), 2);
    EXPECT_EQ(std::string(error.what()), "s: row 2 has index 4 past its dictionary, which has 4 entries");
  }
  // A column of only NULL, with an empty dictionary.
  const std::vector<std::uint8_t> none(125, 0);
  MemoryTable empty;
  empty.add(text_field(), column.values, texts.rows(), none.data(), std::make_shared<const Dictionary>());
  const char* const sql = "SELECT s, COUNT(*), MIN(s) FROM t WHERE s IS NULL OR s < 'x' GROUP BY s";
  EXPECT_EQ(ask(sql, par, empty).cells, (std::vector<std::vector<std::string>>{{"NULL", "1000", "NULL"}}));
  expect_same(ask(sql, gpu::Policy{}, empty), ask(sql, par, empty), sql);
}

// A user's table may return such batches.
TEST_F(DeviceQuery, NullTextsOfABatchMayHaveAnyIndex) {
  const NoIndicesInNulls texts;
  gpu::Staging staging;
  query::ChunkBuilder builder(staging, {text_field()}, texts.rows());
  Batch batch{.rows = texts.rows(), .columns = {texts.column()}};
  builder.append(batch);
  const query::DeviceChunk chunk = builder.finish(false);
  std::vector<std::int32_t> entries(static_cast<std::size_t>(texts.rows()));
  staging.copy_out(entries.data(), chunk.columns[0].values, 4 * texts.rows());
  EXPECT_TRUE(std::all_of(entries.begin(), entries.end(), [](std::int32_t entry) { return 0 <= entry && entry < 4; }));
}

// Some plans use more than 48 KB of shared memory.
TEST_F(DeviceQuery, RunOnTheLastDeviceWhicheverOneIsCurrent) {
  const int last = std::max(static_cast<int>(gpu::devices().size()) - 1, 0);
  const auto policy = gpu::Policy{}.with_device(last);
  const Columns columns(kManyRows, true, 5);
  const DeviceTable there(policy, columns.table());
  for (const std::string& sql :
       {std::string("SELECT ") + kPricing, std::string("SELECT SUM(price * sd), COUNT(*) FROM t WHERE si < 24"),
        std::string("SELECT i16, COUNT(*), SUM(i64) FROM t GROUP BY i16 ORDER BY i16 LIMIT 1000")}) {
    const Outcome expected = ask(sql, par, columns.table());
    for (const Table* from : {static_cast<const Table*>(&columns.table()), static_cast<const Table*>(&there)}) {
      const Outcome found = ask(sql, policy, *from);
      expect_same(found, expected, sql);
      EXPECT_EQ(found.rows_by_cpu, 0) << sql;
    }
  }
}

TEST_F(DeviceQuery, ThreadsAskOneTableAtTheSameTime) {
  const Columns columns(kManyRows, true, 5);
  const DeviceTable there(gpu::Policy{}, columns.table());
  const std::string queries[] = {std::string("SELECT ") + kPricing, "SELECT few, SUM(n), COUNT(*) FROM t GROUP BY few",
                                 "SELECT COUNT(*), SUM(n) FROM t WHERE si < 3",
                                 "SELECT COUNT(*), SUM(n) FROM t WHERE si < 4"};
  std::vector<Outcome> expected;
  for (const std::string& sql : queries) expected.push_back(ask(sql, par, columns.table()));
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < t + 4; ++i) {
        expect_same(ask(queries[i % 4], gpu::Policy{}, there), expected[i % 4], queries[i % 4]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(DeviceQuery, OtherRungsAreRefused) {
  const Columns columns(10, false, 8);
  const Query query("SELECT SUM(si) FROM t", columns.table());
  const auto code_of = [&](std::string_view rung) {
    try {
      EXPECT_EQ(query.run(gpu::Policy{}.with_rung(rung), columns.table()).rung, "cuda.generated");
    } catch (const Error& error) {
      return error.code();
    }
    return Code::ok;
  };
  EXPECT_EQ(code_of(""), Code::ok);
  EXPECT_EQ(code_of("cuda.generated"), Code::ok);
  EXPECT_EQ(code_of("cpu.blocks"), Code::unsupported);
  EXPECT_EQ(code_of("cuda.fused"), Code::unsupported);
}

// The CPU computes the columns of list functions, and the device reads them as any other column.
TEST_F(DeviceQuery, FunctionsOfLists) {
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int64_t> y;
  std::vector<double> x;
  std::vector<std::int64_t> k;
  for (std::int64_t row = 0; row < kManyRows; ++row) {
    for (std::int64_t i = 0; i < row % 4; ++i) {
      y.push_back(row % 1000 == 7 ? std::numeric_limits<std::int64_t>::max() - i : row * i - 9);
      x.push_back(static_cast<double>(row % 50) + 0.5);
    }
    offsets.push_back(std::ssize(y));
    k.push_back(row % 3);
  }
  MemoryTable table;
  table.add_lists("y", offsets, y).add_lists("x", offsets, x).add("k", k);
  for (const char* sql :
       {"SELECT SUM(list_sum(list_filter(x, e -> e > 30))), COUNT(*) FROM t WHERE len(x) >= 2",
        "SELECT k, SUM(list_sum(y)), MAX(list_sum(y)), SUM(y[2]), AVG(x[-1]) FROM t GROUP BY k",
        "SELECT len(x), COUNT(*), SUM(CASE WHEN list_contains(x, 7.5) THEN k END) FROM t GROUP BY len(x)",
        "SELECT SUM(list_sum(list_transform(y, e -> e + 1))) FROM t",
        "SELECT SUM(list_sum(list_transform(y, e -> e + 1))) FROM t WHERE k > 5 OR len(y) < 2"}) {
    expect_same(ask(sql, gpu::Policy{}, table), ask(sql, par, table), sql);
  }
  try {
    const DeviceTable there(gpu::Policy{}, table, {"x"});
    FAIL() << "a column of lists was copied to the device";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::unsupported_type);
  }
  EXPECT_EQ(DeviceTable(gpu::Policy{}, table).fields().size(), 1U);
}

}  // namespace
}  // namespace upsweep
