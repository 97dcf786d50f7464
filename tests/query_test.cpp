// SPDX-License-Identifier: Apache-2.0
// tests/query_test.cpp: SQL over columns in memory: values at the limits of 64 and 128 bits, NULLs, order of
// evaluation, carries.
#include "upsweep/query.hpp"
#include "upsweep/interval.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cpu/kernels.hpp"
#include "sql/expression/date.hpp"
#include "sql/expression/functions.hpp"
#include "sql/expression/number.hpp"
#include "upsweep/error.hpp"

namespace upsweep {
namespace {

using Longs = std::vector<std::int64_t>;
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

/// Returns all cells by rows, as "a|b;c|d".
std::string ask(const std::string& sql, const Table& table, const Policy& policy = par) {
  const Answer answer = Query(sql, table).run(policy, table);
  std::string all;
  for (const auto& row : answer.rows) {
    if (!all.empty()) all += ";";
    for (std::size_t c = 0; c < row.size(); ++c) all += (c > 0 ? "|" : "") + text(answer.columns[c], row[c]);
  }
  return all;
}

struct Failure {
  Code code = Code::ok;
  std::int64_t index = kNoIndex;
  std::string message;
};
Failure failure(const std::string& sql, const Table& table) {
  try {
    const std::string answer = ask(sql, table);
    return {.message = "no error, but " + answer};
  } catch (const Error& error) {
    return {error.code(), error.index(), error.what()};
  }
}

/// Rows 0 … n-1, as bits.
std::vector<std::uint8_t> bits(const std::vector<bool>& there) {
  std::vector<std::uint8_t> bytes(there.size() / 8 + 1);
  for (std::size_t i = 0; i < there.size(); ++i) bytes[i / 8] |= static_cast<std::uint8_t>(there[i] ? 1 << (i % 8) : 0);
  return bytes;
}

TEST(Query, SumsAreExactBeyond64Bits) {
  const Longs x{kMax, kMax, kMax, 1};
  MemoryTable t;
  t.add("x", x).add_decimal("d", x, 2);
  EXPECT_EQ(ask("SELECT SUM(x), SUM(d), MAX(x), AVG(x) FROM t", t),
            "27670116110564327422|276701161105643274.22|9223372036854775807|6.917529027641082e+18");
}

TEST(Query, IntegersThatDoNotFitAreErrorsAtTheirRow) {
  const Longs x{1, 2, kMax, 4};
  const Longs y{kMin, -1, 3, 4};
  MemoryTable t;
  t.add("x", x).add("y", y);
  for (const char* sql : {"SELECT SUM(x + 1) FROM t", "SELECT SUM(x * 2) FROM t", "SELECT SUM(0 - x - 2) FROM t"}) {
    const Failure failed = failure(sql, t);
    EXPECT_EQ(failed.code, Code::overflow) << sql << ": " << failed.message;
    EXPECT_EQ(failed.index, 2) << sql;
  }
  EXPECT_EQ(failure("SELECT SUM(-y) FROM t", t).index, 0);
  EXPECT_EQ(failure("SELECT SUM(y / (0 - 1)) FROM t", t).code, Code::overflow);
  EXPECT_EQ(ask("SELECT SUM(x + 1) FROM t WHERE x < 100", t), "10");
  EXPECT_EQ(ask("SELECT SUM(x - 1 + 1) FROM t", t), ask("SELECT SUM(x) FROM t", t));
}

// Rows of blocks in which few rows are left are computed together, many blocks at a time.
TEST(Query, FewRowsOfManyBlocksKeepTheirOrderAndTheirNumbers) {
  constexpr std::int64_t kRows = 200'000;
  Longs x;
  Longs y;
  Longs k;
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < kRows; ++i) {
    x.push_back(i);
    const bool dense = i / 5'000 % 2 == 1;  // ranges of rows in which most rows are kept, and others in which few are
    y.push_back((dense ? i % 10 != 0 : i % 97 == 0) ? 1 : 0);
    k.push_back(i == 150'035 ? 0 : 1);
    if (y.back() == 1) sum += i;
  }
  Longs group(x);
  for (auto& value : group) value = (kRows - value) / 20'000;
  MemoryTable t;
  t.add("x", x).add("y", y).add("k", k).add("g", group);
  EXPECT_EQ(ask("SELECT SUM(x) FROM t WHERE y = 1", t), std::to_string(sum));
  EXPECT_EQ(ask("SELECT g, MIN(x) FROM t WHERE y = 1 AND x > 19000 GROUP BY g LIMIT 3", t), "9|19001;8|20079;7|40061");
  for (const std::int64_t row : {150'034, 150'035, 152'000}) y[static_cast<std::size_t>(row)] = 1;
  const Failure failed = failure("SELECT SUM(x / k) FROM t WHERE y = 1", t);
  EXPECT_EQ(failed.code, Code::division_by_zero);
  EXPECT_EQ(failed.index, 150'035);
  // An error of a condition is reported if its row is before the row of an aggregate's error, and not if it is after.
  EXPECT_EQ(failure("SELECT SUM(x / k) FROM t WHERE y = 1 AND 10 / (x - 150034) < 100", t).index, 150'034);
  EXPECT_EQ(failure("SELECT SUM(x / k) FROM t WHERE y = 1 AND 10 / (x - 152000) < 100", t).index, 150'035);
}

// Only its expression decides whether an integer has 64 bits or 128, not other rows or the values.
TEST(Query, IntegersHave64BitsUnlessUnsignedOnesAreAmongThem) {
  const Longs x{kMin, kMin, 3, kMax};
  const std::vector<std::uint64_t> u{1, 2, 3, 4};
  MemoryTable t;
  t.add("x", x).add("u", u);
  const std::string least = "(-9223372036854775808)";
  for (const std::string& sum : {std::string("(CASE WHEN x < 5 THEN x ELSE 1 END) * 2"), "1 - " + least + " + 0 * x",
                                 least + " - x / x", std::string("x - (-(0 - 9223372036854775807 - 1))")}) {
    EXPECT_EQ(failure("SELECT MIN(" + sum + ") FROM t", t).code, Code::overflow) << sum;
  }
  EXPECT_EQ(ask("SELECT MIN(" + least + " - u) FROM t", t), "-9223372036854775812");
  EXPECT_EQ(ask("SELECT MAX((CASE WHEN x = 5 THEN u ELSE x END) + x) FROM t WHERE x > 3", t), "18446744073709551614");
}

// A condition's results for all rows are not computed again for some of them. Otherwise each level would double the
// work.
TEST(Query, NestedConditionsThatCanFailAreComputedOnce) {
  const Longs x{1, 2, 0, 4};
  MemoryTable t;
  t.add("x", x);
  std::string nested = "(x > 0)";
  for (int level = 0; level < 60; ++level) {
    nested.insert(0, "(").append(" BETWEEN (1 / (x + 1) >= 0) AND (1 / (x + 1) < 9))");
  }
  EXPECT_EQ(ask("SELECT COUNT(*) FROM t WHERE " + nested, t), "3");
  EXPECT_EQ(ask("SELECT SUM(CASE WHEN 6 / (x + 1) > 1 AND 6 / (x + 1) < 3 THEN 6 / (x + 1) * x END) FROM t", t), "4");
}

TEST(Query, DecimalsGoOnIn128Bits) {
  const Longs x{kMax, -kMax, 5};
  MemoryTable t;
  t.add_decimal("d", x, 4);
  EXPECT_EQ(ask("SELECT MAX(d * d), MIN(d + d), SUM(d * 1000000) FROM t", t),
            "850705917302346158473969077842.32501249|-1844674407370955.1614|500.0000");
  const Failure failed = failure("SELECT SUM(d * d * d) FROM t", t);
  EXPECT_EQ(failed.code, Code::overflow);
  EXPECT_EQ(failed.index, 0);
}

TEST(Query, UnsignedIntegersKeepTheir64thBit) {
  const std::vector<std::uint64_t> x{~std::uint64_t{0}, 1, 2};
  MemoryTable t;
  t.add("x", x);
  EXPECT_EQ(ask("SELECT SUM(x), MIN(x), MAX(x), COUNT(*) FROM t WHERE x > 1", t),
            "18446744073709551617|2|18446744073709551615|2");
}

TEST(Query, NullsFollowThreeValuedLogic) {
  const Longs x{1, 2, 3, 4, 5};
  const auto there = bits({true, false, true, false, true});
  MemoryTable t;
  t.add(Field{.name = "x"}, x.data(), 5, there.data()).add("y", x);
  EXPECT_EQ(ask("SELECT COUNT(*), COUNT(x), SUM(x), MIN(x), AVG(x) FROM t", t), "5|3|9|1|3");
  EXPECT_EQ(ask("SELECT COUNT(*) FROM t WHERE x > 1", t), "2");
  EXPECT_EQ(ask("SELECT COUNT(*) FROM t WHERE NOT x > 1", t), "1");
  EXPECT_EQ(ask("SELECT COUNT(*) FROM t WHERE x > 1 OR y = 2", t), "3");
  EXPECT_EQ(ask("SELECT COUNT(*) FROM t WHERE x > 1 AND y > 100", t), "0");
  EXPECT_EQ(ask("SELECT COUNT(*) FROM t WHERE NOT (x > 1 AND y > 100)", t), "5");
  EXPECT_EQ(ask("SELECT COUNT(*) FROM t WHERE x NOT IN (1, NULL)", t), "0");
  EXPECT_EQ(ask("SELECT COUNT(*) FROM t WHERE x IN (1, NULL)", t), "1");
  EXPECT_EQ(ask("SELECT COUNT(*) FROM t WHERE x IS NULL AND y BETWEEN 2 AND 3", t), "1");
  EXPECT_EQ(ask("SELECT x, COUNT(*) FROM t GROUP BY x ORDER BY x", t), "1|1;3|1;5|1;NULL|2");
  EXPECT_EQ(ask("SELECT x, COUNT(*) FROM t GROUP BY x ORDER BY x DESC", t), "NULL|2;5|1;3|1;1|1");
  EXPECT_EQ(ask("SELECT SUM(CASE WHEN x > 1 THEN y END), SUM(CASE x WHEN 1 THEN 10 ELSE y END) FROM t", t), "8|24");
  EXPECT_EQ(ask("SELECT SUM(x + NULL), SUM(x) FROM t WHERE x IS NULL", t), "NULL|NULL");
}

TEST(Query, WhatIsNotReachedIsNotComputed) {
  const Longs x{0, 1, 2, kMax};
  MemoryTable t;
  t.add("x", x);
  EXPECT_EQ(ask("SELECT SUM(CASE WHEN x > 0 THEN 10 / x ELSE 0 END) FROM t", t), "15");
  EXPECT_EQ(ask("SELECT COUNT(*) FROM t WHERE x <> 0 AND 10 / x > 4", t), "2");
  EXPECT_EQ(ask("SELECT COUNT(*) FROM t WHERE NOT (x = 0 OR 10 / x > 4)", t), "1");
  EXPECT_EQ(ask("SELECT SUM(CASE WHEN x < 5 THEN x + 1 END) FROM t WHERE x >= 0 OR x + 1 > 0", t), "6");
  const Failure failed = failure("SELECT SUM(10 / x) FROM t", t);
  EXPECT_EQ(failed.code, Code::division_by_zero);
  EXPECT_EQ(failed.index, 0);
  EXPECT_NE(failed.message.find("\n  SELECT SUM(10 / x) FROM t\n                ^"), std::string::npos)
      << failed.message;
}

// ----------------------------------------------------------------------------------------------------------- functions

/// "`ROUND(x)`, `ROUND(x, n)`"
std::string calls(const expression::Function& function) {
  const std::string lower = expression::name(function);
  std::string upper = lower;
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
  std::string all = expression::usage(function);
  for (const auto& [from, to] : {std::pair(" or " + lower, "`, `" + upper), std::pair(lower, upper)}) {
    for (std::size_t at = all.find(from); at != std::string::npos; at = all.find(from))
      all.replace(at, from.size(), to);
  }
  return "`" + all + "`";
}

/// Returns the README's description of a function: its row of a table.
std::string documented(const expression::Function& function) {
  constexpr const char* kTakes[] = {"", "integer, decimal or float", "number, converted to float",
                                    "whole number, written in the query"};
  constexpr const char* kGives[] = {"the type of x", "float", "the type of x; a decimal has n decimal places"};
  constexpr const char* kNulls[] = {"if an argument is NULL"};
  std::string arguments;
  for (const expression::Takes takes : function.takes) {
    if (takes == expression::Takes::nothing) continue;
    arguments += fmt::format("{}{}: {}", arguments.empty() ? "" : "; ", takes == expression::Takes::places ? "n" : "x",
                             kTakes[static_cast<int>(takes)]);
  }
  return fmt::format("| {} | {} | {} | {} | {} |\n", calls(function), arguments,
                     kGives[static_cast<int>(function.gives)], kNulls[static_cast<int>(function.nulls)],
                     function.meaning);
}

TEST(Functions, AreDocumented) {
  const char* const source = std::getenv("UPSWEEP_SOURCE_DIR");
  const auto readme = std::filesystem::path(source != nullptr ? source : "") / "docs/reference/sql.md";
  if (source == nullptr || !std::filesystem::exists(readme)) GTEST_SKIP() << "no sources here";
  std::ifstream file(readme);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::string table =
      "<!-- functions:begin -->\n| function | arguments | result | NULL | meaning |\n|--|--|--|--|--|\n";
  for (const expression::Function& function : expression::functions()) table += documented(function);
  table += "<!-- functions:end -->\n";
  EXPECT_TRUE(text.find(table) != std::string::npos) << readme << " must have these lines:\n" << table;
}

TEST(Functions, HaveBodiesOfTheirTypesForEveryInstructionSet) {
  std::set<std::string> names;
  const auto all = expression::functions();
  for (const auto* table :
       {&expression::functions_baseline, &expression::functions_avx2, &expression::functions_avx512}) {
    ASSERT_EQ(table->count, std::ssize(all));
    for (std::size_t i = 0; i < all.size(); ++i) {
      const expression::Function& function = table->first[i];
      EXPECT_STREQ(function.names, all[i].names);
      const bool is_exact = function.gives != expression::Gives::real;
      EXPECT_EQ(function.exact.narrow != nullptr && function.exact.wide != nullptr, is_exact) << function.names;
      EXPECT_EQ(function.bound != nullptr, is_exact) << function.names;
      EXPECT_NE(function.real.real, nullptr) << function.names;
    }
  }
  for (const expression::Function& function : all) {
    EXPECT_TRUE(names.insert(expression::name(function)).second) << function.names;
  }
}

TEST(Functions, AreNullWhereAnArgumentIs) {
  const Longs x{-3, 0, 7, 0};
  const std::vector<double> f{-1.5, 0, 2.5, 0};
  const std::vector<std::uint8_t> there = bits({true, false, true, false});
  MemoryTable t;
  t.add(Field{.name = "x"}, x.data(), 4, there.data());
  t.add({.name = "d", .kind = ValueKind::decimal, .scale = 1}, x.data(), 4, there.data());
  t.add({.name = "f", .kind = ValueKind::real, .storage = Storage::float64}, f.data(), 4, there.data());
  for (const char* const call : {"ABS(x)", "ABS(d)", "ABS(f)", "ROUND(x, -1)", "ROUND(d)", "ROUND(f, 1)",
                                 "SQRT(ABS(x))", "SQRT(ABS(f))", "ROUND(d, -50)"}) {
    EXPECT_EQ(ask(fmt::format("SELECT COUNT({0}), COUNT(*) FROM t WHERE {0} IS NULL OR {0} >= 0", call), t),
              call == std::string_view("ROUND(f, 1)") ? "1|3" : "2|4")
        << call;
  }
  EXPECT_EQ(ask("SELECT MIN(ABS(NULL)), MIN(ROUND(NULL, 2)), MIN(ROUND(d, NULL)), MIN(SQRT(NULL)) FROM t", t),
            "NULL|NULL|NULL|NULL");
}

TEST(Functions, OfConstantsAreConstants) {
  const Longs x{1, 2};
  MemoryTable t;
  t.add("x", x);
  EXPECT_EQ(ask("SELECT MIN(ABS(-5)), MIN(ABS(-2.50)), MIN(ROUND(2.345, 2)), MIN(ROUND(-15, -1)), MIN(SQRT(2.25)), "
                "MIN(ROUND(1.005e0, 2)), MIN(ROUND(1e300, 2)), MIN(ABS(ROUND(-1.5))) FROM t",
                t),
            "5|2.50|2.35|-20|1.5|1.01|1e+300|2");
  // Conditions with functions of constants are used as bounds of columns, like those with literals.
  EXPECT_EQ(ask("SELECT COUNT(*) FROM t WHERE x > ABS(-1) AND x < SQRT(9)", t), "1");
  EXPECT_EQ(ask("SELECT ROUND(12.5), ABS(-3), COUNT(*) FROM t GROUP BY x", t), "13|3|1;13|3|1");
  // An error of constants is only reported if a row needs the expression.
  EXPECT_EQ(ask("SELECT SUM(CASE WHEN x > 5 THEN SQRT(-1) ELSE x END) FROM t", t), "3");
  const Failure failed = failure("SELECT SUM(CASE WHEN x > 1 THEN SQRT(-1) ELSE x END) FROM t", t);
  EXPECT_EQ(failed.code, Code::not_positive);
  EXPECT_EQ(failed.index, 1);
  EXPECT_EQ(failure("SELECT SUM(ROUND(9223372036854775807, -1)) FROM t", t).code, Code::overflow);
}

TEST(Functions, SayWhichRowFails) {
  Longs x(5000, 4);
  std::vector<double> f(x.size(), 2);
  x[4321] = kMin;
  f[4567] = -1e-300;
  MemoryTable t;
  t.add("x", x).add("f", f);
  const Failure failed = failure("SELECT SUM(ABS(x)) FROM t", t);
  EXPECT_EQ(failed.code, Code::overflow);
  EXPECT_EQ(failed.index, 4321);
  EXPECT_EQ(failed.message,
            "the result does not fit a 64-bit integer in row 4321\n  SELECT SUM(ABS(x)) FROM t\n             ^");
  const Failure negative = failure("SELECT SUM(SQRT(f)) FROM t WHERE x = 4", t);
  EXPECT_EQ(negative.code, Code::not_positive);
  EXPECT_EQ(negative.index, 4567);
  EXPECT_EQ(negative.message,
            "square root of a negative number in row 4567\n  SELECT SUM(SQRT(f)) FROM t WHERE x = 4\n"
            "             ^");
  EXPECT_EQ(ask("SELECT SUM(SQRT(f)), SUM(ABS(x)) FROM t WHERE f >= 0 AND x > 0", t).substr(0, 4), "7068");
  EXPECT_EQ(failure("SELECT SQRT(MIN(x)) FROM t", t).code, Code::not_positive);
  EXPECT_EQ(ask("SELECT ABS(MIN(x)), ROUND(MIN(x), -3) FROM t", t), "9223372036854775808|-9223372036854776000");
}

TEST(Functions, AreKeysAndConditions) {
  const Longs x{-12, 12, 25, -25, 26, 7};
  MemoryTable t;
  t.add("x", x).add_decimal("d", x, 1);
  EXPECT_EQ(ask("SELECT ABS(x), COUNT(*) FROM t GROUP BY ABS(x)", t), "12|2;25|2;26|1;7|1");
  EXPECT_EQ(ask("SELECT ROUND(d) AS r, SUM(x) FROM t GROUP BY r ORDER BY r", t), "-3|-25;-1|-12;1|19;3|51");
  EXPECT_EQ(ask("SELECT ABS(ROUND(x, -1)) + 1, MAX(x) FROM t GROUP BY ROUND(x, -1) ORDER BY 1, 2", t),
            "11|-12;11|12;31|-25;31|26");
  EXPECT_EQ(ask("SELECT COUNT(*) FROM t WHERE ABS(x) IN (12, 7, 99, 98) AND SQRT(ABS(d)) < 1.1", t), "3");
  EXPECT_EQ(ask("SELECT COUNT(*), SUM(ABS(x)) FROM t WHERE ROUND(d) = -3 OR ABS(x) = ABS(-7)", t), "2|32");
}

/// Values of floats, and of integers, for which every instruction set must give the same result.
TEST(Functions, AreTheSameWithEveryInstructionSet) {
  std::mt19937_64 random(5);
  Longs x;
  std::vector<double> f;
  for (int i = 0; i < 20'000; ++i) {
    const auto bits = random();
    x.push_back(static_cast<std::int64_t>(bits) >> (bits % 60));
    double any = 0;
    const auto other = random();
    std::memcpy(&any, &other, sizeof any);
    const double steps = std::ldexp(static_cast<double>(static_cast<std::int64_t>(other) >> 12), -(i % 53));
    f.push_back(i % 3 == 0 ? any : i % 3 == 1 ? steps : std::round(steps * 4) / 4);
  }
  MemoryTable t;
  t.add("x", x).add_decimal("d", x, 3).add("f", f);
  Longs row(x.size());
  std::iota(row.begin(), row.end(), 0);
  t.add("row", row);
  const auto half_away = [](double value, int places) {
    const double ten = std::pow(10.0, std::abs(places));
    const double back = places < 0 ? std::round(value / ten) * ten : std::round(value * ten) / ten;
    return std::isfinite(value) && std::isfinite(places < 0 ? value / ten : value * ten) ? back : value;
  };
  for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512}) {
    if (!has_isa(isa)) continue;
    const Answer answer =
        Query(
            "SELECT row, MIN(ABS(f)), MIN(ROUND(f)), MIN(ROUND(f, 3)), MIN(ROUND(f, -2)), MIN(SQRT(ABS(f))), "
            "MIN(ROUND(d, 1)), MIN(ROUND(x / 16, -4)), MIN(ABS(x / 2)) FROM t GROUP BY row",
            t)
            .run(par.with_isa(isa), t);
    ASSERT_EQ(answer.rows.size(), f.size());
    for (std::size_t i = 0; i < f.size(); ++i) {
      const double expected[] = {std::fabs(f[i]), half_away(f[i], 0), half_away(f[i], 3), half_away(f[i], -2),
                                 std::sqrt(std::fabs(f[i]))};
      for (std::size_t k = 0; k < std::size(expected); ++k) {
        const double found = answer.rows[i][k + 1].real;
        EXPECT_TRUE(std::bit_cast<std::uint64_t>(found) == std::bit_cast<std::uint64_t>(expected[k]) ||
                    (found != found && f[i] != f[i]))
            << f[i] << ", function " << k << ": " << found << ", not " << expected[k];
      }
      const auto rounded = [](Int128 value, Int128 to) { return (value + (value < 0 ? -to : to) / 2) / to; };
      EXPECT_TRUE(answer.rows[i][6].exact == rounded(x[i], 100)) << x[i];
      EXPECT_TRUE(answer.rows[i][7].exact == rounded(x[i] / 16, 10'000) * 10'000) << x[i];
      EXPECT_TRUE(answer.rows[i][8].exact == std::abs(x[i] / 2)) << x[i];
    }
  }
}

TEST(Functions, AreRefusedWhereTheyAreNotDefined) {
  const Longs x{1};
  const std::vector<std::int32_t> words{0};
  MemoryTable t;
  t.add("x", x).add_text("s", words, {"a"});
  struct Refused {
    const char* call;
    Code code;
    const char* message;
  };
  const Refused all[] = {
      {"ABS()", Code::bad_sql, "wrong number of arguments; usage: abs(x)"},
      {"ROUND(x, 1, 2)", Code::bad_sql, "wrong number of arguments; usage: round(x) or round(x, n)"},
      {"ABS(s)", Code::unsupported_type, "abs() is not defined for text; a CSV column is text"},
      {"SQRT(x > 1)", Code::unsupported_type, "sqrt() is not defined for boolean"},
      {"ROUND(date '2020-01-01')", Code::unsupported_type, "round() is not defined for date"},
      {"ROUND(x, x)", Code::unsupported_sql, "the number of decimal places of round() must be an integer literal"},
      {"ROUND(x, 1.5)", Code::unsupported_sql, "the number of decimal places of round() must be an integer literal"},
      {"ABS(*)", Code::unsupported_sql, "abs() is not an aggregate function: * is not supported"},
      {"ABS(DISTINCT x)", Code::unsupported_sql, "abs() is not an aggregate function: DISTINCT is not supported"},
      {"ABS(x) OVER ()", Code::unsupported_sql, "abs() is not an aggregate function: OVER is not supported"},
      {"ABS(SUM(x))", Code::unsupported_sql, "sum() is an aggregate"},
      {"NOSUCH(x)", Code::unsupported_sql,
       "nosuch() is not supported: the aggregate functions are SUM, COUNT, COUNT_IF, MIN, MAX, AVG, BOOL_AND and "
       "BOOL_OR, the other functions "
       "ABS, "}};
  for (const auto& [call, code, message] : all) {
    const Failure failed = failure(fmt::format("SELECT MIN({}) FROM t", call), t);
    EXPECT_EQ(failed.code, code) << call << ": " << failed.message;
    EXPECT_TRUE(failed.message.starts_with(message)) << failed.message;
  }
}

TEST(Query, DatesAreOfTheCalendar) {
  const Longs x{1};
  MemoryTable t;
  t.add("x", x);
  EXPECT_EQ(ask("SELECT MIN(date '2000-02-29') FROM t", t), "2000-02-29");
  EXPECT_EQ(days_of("1970-01-02"), 1);
  EXPECT_EQ(decimal_value(-1234, 2), -12.34);
  for (const std::string date : {"1998-257-01", "1998-01-257", "1998-13-01", "1998-00-01", "1999-02-29", "-1-01-01"}) {
    EXPECT_EQ(failure("SELECT MIN(date '" + date + "') FROM t", t).code, Code::bad_sql) << date;
    EXPECT_EQ(days_of(date), std::nullopt) << date;
  }
}

TEST(Query, MessagesHoldWholeCharacters) {
  const Longs x{1};
  MemoryTable t;
  t.add("x", x);
  const Failure failed = failure("SELECT 11ä FROM t", t);
  EXPECT_EQ(failed.code, Code::bad_sql);
  // libpg_query 15 quotes the number and half of the letter after it, 17 quotes the whole letter.
  const auto has = [&](const std::string& quoted) {
    return failed.message.find("near \"" + quoted + "\"\n  SELECT 11ä FROM t\n") != std::string::npos;
  };
  EXPECT_TRUE(has("11") || has("11ä")) << failed.message;
}

TEST(Query, FloatsOrderNanLast) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> x{1.5, nan, -inf, inf};
  MemoryTable t;
  t.add("x", x);
  EXPECT_EQ(ask("SELECT MIN(x), MAX(x), COUNT(x) FROM t", t), "-Infinity|NaN|4");
  EXPECT_EQ(ask("SELECT MAX(x) FROM t WHERE x <= 2", t), "1.5");
  EXPECT_EQ(ask("SELECT COUNT(*) FROM t WHERE x > 2", t), "2");
  EXPECT_EQ(ask("SELECT COUNT(*) FROM t WHERE x = x", t), "4");
  EXPECT_EQ(failure("SELECT SUM(1 / (x - x)) FROM t WHERE x = 1.5", t).code, Code::division_by_zero);
}

TEST(Query, SumsOfNegativeZerosAreNegative) {
  constexpr std::int64_t kRows = 200'003;
  std::vector<double> x(kRows, -0.0);
  std::vector<std::int64_t> k(kRows);
  std::vector<std::uint8_t> there(kRows / 8 + 1);
  for (std::size_t i = 0; i < k.size(); ++i) {
    k[i] = static_cast<std::int64_t>(i % 5);
    if (i % 1000 == 3) x[i] = 0.0;  // of key 3
    if (i % 3 != 0) there[i / 8] |= static_cast<std::uint8_t>(1U << i % 8);
  }
  MemoryTable t;
  t.add("x", x).add("k", k);
  t.add(Field{.name = "n", .kind = ValueKind::real, .storage = Storage::float64}, x.data(), kRows, there.data());
  EXPECT_EQ(ask("SELECT SUM(x), SUM(n), AVG(x), SUM(x + x) FROM t WHERE k <> 3", t), "-0|-0|-0|-0");
  EXPECT_EQ(ask("SELECT SUM(x), SUM(n) FROM t", t), "0|0");
  EXPECT_EQ(ask("SELECT SUM(x), SUM(n) FROM t WHERE k = 9", t), "NULL|NULL");
  EXPECT_EQ(ask("SELECT k, SUM(x), SUM(n) FROM t GROUP BY k ORDER BY k", t), "0|-0|-0;1|-0|-0;2|-0|-0;3|0|0;4|-0|-0");
}

TEST(Query, DatesReachTheirEnds) {
  EXPECT_EQ(expression::date_text(expression::kFirstDay), "0000-01-01");
  EXPECT_EQ(expression::date_text(expression::kLastDay), "9999-12-31");
  EXPECT_EQ(expression::date_text(expression::kFirstDay - 1), "-0001-12-31");
  EXPECT_EQ(expression::date_text(std::numeric_limits<std::int32_t>::max()), "5881580-07-11");
  EXPECT_EQ(expression::date_text(expression::add_months(expression::parse_date("", "2024-01-31", 0), 1)),
            "2024-02-29");
  EXPECT_EQ(expression::date_text(expression::add_months(expression::parse_date("", "2024-03-31", 0), -13)),
            "2023-02-28");
  const std::vector<std::int32_t> days{std::numeric_limits<std::int32_t>::min(), 0,
                                       std::numeric_limits<std::int32_t>::max()};
  MemoryTable t;
  t.add_dates("d", days);
  EXPECT_EQ(ask("SELECT MIN(d), MAX(d) FROM t WHERE d >= date '1970-01-01'", t), "1970-01-01|5881580-07-11");
  EXPECT_EQ(ask("SELECT COUNT(*) FROM t WHERE d < date '1970-03-31' - interval '1' month", t), "2");
  EXPECT_EQ(ask("SELECT MAX(d) - MIN(d) FROM t WHERE d >= '1970-01-01'", t), "2147483647");
  const std::vector<std::uint64_t> u{~std::uint64_t{0}, 7, ~std::uint64_t{0}};
  const Longs x{kMin, 1, kMax};
  t.add("u", u).add("x", x);
  EXPECT_EQ(ask("SELECT MAX(d + u), MAX(u + d - x) FROM t WHERE d = '1970-01-01'", t), "1970-01-08|1970-01-07");
  for (const char* sum : {"d + u", "d + x", "u + d", "d + 1", "d - 1"}) {
    EXPECT_EQ(failure("SELECT MAX(" + std::string(sum) + ") FROM t", t).code, Code::overflow) << sum;
  }
}

TEST(Query, TextIsComparedAndGrouped) {
  const std::vector<std::int32_t> index{0, 1, 2, 0, 1, 0};
  const Longs x{1, 2, 3, 4, 5, 6};
  MemoryTable t;
  t.add_text("w", index, {"pear", "", "äpfel"}).add("x", x);
  EXPECT_EQ(ask("SELECT w, SUM(x) FROM t GROUP BY w", t), "pear|11;|7;äpfel|3");  // in the order of their first rows
  EXPECT_EQ(ask("SELECT w, SUM(x) AS s FROM t GROUP BY w ORDER BY s LIMIT 2", t), "äpfel|3;|7");
  EXPECT_EQ(ask("SELECT SUM(x) FROM t WHERE w <> 'pear'", t), "10");
  EXPECT_EQ(ask("SELECT SUM(x) FROM t WHERE w IN ('', 'äpfel') AND 'p' < w", t), "3");
  EXPECT_EQ(ask("SELECT MIN(w), MAX(w) FROM t WHERE x > 1", t), "|äpfel");
  EXPECT_EQ(failure("SELECT SUM(w) FROM t", t).code, Code::unsupported_type);
}

// Short lists are compared one by one. Others are looked up: as bits, in a table, or as 128 bits; the answer is the
// same.
TEST(Query, ValuesAreLookedUpInLists) {
  constexpr std::int64_t kRows = 3'000;
  Longs x;
  std::vector<std::uint64_t> u;
  std::vector<double> f;
  for (std::int64_t i = 0; i < kRows; ++i) {
    x.push_back(i - 1'000);
    u.push_back(~std::uint64_t{0} - static_cast<std::uint64_t>(i));
    f.push_back(static_cast<double>(i) / 4);
  }
  f[0] = -0.0;
  f[1] = std::numeric_limits<double>::quiet_NaN();
  MemoryTable t;
  t.add("x", x).add_decimal("d", x, 2).add("u", u).add("f", f);
  std::string near;  // every third value, and values that no row has
  std::string far;
  std::string decimals;
  std::string large;
  std::string reals;
  for (std::int64_t i = 0; i < 999; i += 3) {
    near += fmt::format("{}, ", i);
    far += fmt::format("{}, {}, ", i, (i + 1) * (std::int64_t{1} << 50));
    decimals += fmt::format("{}.{:02}, {}.{:02}0, {}.{:02}5, ", i / 100, i % 100, i / 100, i % 100, i / 100, i % 100);
    large += fmt::format("{}, {}, ", ~std::uint64_t{0} - static_cast<std::uint64_t>(i), i);
    reals += fmt::format("{}, ", static_cast<double>(i) / 4);
  }
  EXPECT_EQ(ask("SELECT COUNT(*), MAX(x) FROM t WHERE x IN (" + near + "0)", t), "333|996");
  EXPECT_EQ(ask("SELECT COUNT(*), MAX(x) FROM t WHERE x IN (" + far + "0)", t), "333|996");
  EXPECT_EQ(ask("SELECT COUNT(*), MAX(x) FROM t WHERE x IN (" + far + "x, NULL)", t), "3000|1999");
  EXPECT_EQ(ask("SELECT COUNT(*) FROM t WHERE x NOT IN (" + near + "0)", t), "2667");
  EXPECT_EQ(ask("SELECT COUNT(*) FROM t WHERE x NOT IN (" + near + "NULL)", t), "0");
  EXPECT_EQ(ask("SELECT COUNT(*), MAX(d) FROM t WHERE d IN (" + decimals + "1e36)", t), "333|9.96");
  EXPECT_EQ(ask("SELECT COUNT(*), MIN(u) FROM t WHERE u IN (" + large + "-1)", t), "333|18446744073709550619");
  EXPECT_EQ(ask("SELECT COUNT(*), MAX(f) FROM t WHERE f IN (" + reals + "1e300)", t), "333|249");
  EXPECT_EQ(ask("SELECT COUNT(*) FROM t WHERE x IN (0.5, 1.5, 2.5, 3.5)", t), "0");
  EXPECT_EQ(ask("SELECT COUNT(*) FROM t WHERE x IN (1e0, 2e0, 3e0, 4e300)", t), "3");
  EXPECT_EQ(failure("SELECT COUNT(*) FROM t WHERE x IN (1, 2, 3, 4, 'a')", t).code, Code::unsupported_sql);
}

// Statistics exclude row groups that are far from every member of a list.
TEST(Query, LongQueriesAreAnswered) {
  const Longs x{1, 2, 3, 99'998, 100'001};
  const std::vector<std::int32_t> words{0, 1, 2, 0, 1};
  MemoryTable t;
  t.add("x", x).add_text("s", words, {"w7", "w99999", "v"});
  std::string numbers;
  std::string texts;
  std::string ors;
  for (int i = 0; i < 100'000; ++i) {
    numbers += fmt::format("{}, ", i);
    texts += fmt::format("'w{}', ", i);
    if (i < 4'000) ors += fmt::format("x = {} OR ", i * 2);
  }
  EXPECT_EQ(ask("SELECT COUNT(*) FROM t WHERE x IN (" + numbers + "0)", t), "4");
  EXPECT_EQ(ask("SELECT COUNT(*) FROM t WHERE s IN (" + texts + "'')", t), "4");
  EXPECT_EQ(ask("SELECT COUNT(*) FROM t WHERE " + ors + "x = 3", t), "2");
  const Failure failed = failure("SELECT COUNT(*) FROM t WHERE x IN (" + std::string(5 << 20, ' ') + "1)", t);
  EXPECT_EQ(failed.code, Code::unsupported_sql) << failed.message;
}

// Text that only looks like a file's name, or like the end of a string or comment, is read as PostgreSQL reads it.
TEST(Query, StringsAndCommentsEndWherePostgresEndsThem) {
  const Longs x{1, 2, 3};
  const std::vector<std::int32_t> words{0, 1, 2};
  MemoryTable t;
  t.add("x", x).add_text("s", words, {"x from 'y'", "it's", "a/*b"});
  const std::pair<const char*, const char*> cases[] = {
      {"s = $a1$x from 'y'$a1$", "1"},
      {"s = $a1$it's$a1$", "1"},
      {"s = $é9_$it's$é9_$", "1"},
      {"s = $$it's$$", "1"},
      {"s = $b$$a$it's$b$", "0"},
      {"s = E'it\\'s'", "1"},
      {"s = 'x from'\n ' ''y'''", "1"},
      {"s = E'x from \\''\n 'y\\''", "1"},  // the second string has the escapes of the first
      {"s = E'x from \\'' -- it's\r\n 'y\\''", "1"},
      {"s = U&'it''s'", "1"},
      {"s = 'a/*b'", "1"},
      {"x = 1 /* from 'a' /* ' */ \" */", "1"},
      {"x = 1 -- from 'a", "1"},
      {"x = 2*/**/1 -- '\r AND x > 0", "1"},
      {"x /*/ */ = 3", "1"}};
  for (const auto& [condition, answer] : cases) {
    const std::string sql = std::string("SELECT COUNT(*) FROM t WHERE ") + condition;
    EXPECT_EQ(failure(sql, t).message, std::string("no error, but ") + answer) << sql;
    EXPECT_EQ(Statement(sql).path(), "") << sql;
  }
  for (const char* sql :
       {"SELECT SUM(x) FROM t /* a /* b */", "SELECT SUM(x) FROM t WHERE s = $a1$b$a2$",
        "SELECT SUM(x) FROM t WHERE s = E'a\\'", "SELECT SUM(1e'a') FROM t", "SELECT SUM(1x) FROM t"}) {
    EXPECT_EQ(failure(sql, t).code, Code::bad_sql) << sql;
  }
}

// Each query would take hours if the time were quadratic in its length.
TEST(Query, LongQueriesTakeNoTimeOfTheSquareOfTheirLength) {
  const Longs x{1, 2, 3};
  MemoryTable t;
  t.add("x", x);
  const auto repeated = [](std::size_t bytes, const std::string& text) {
    std::string all;
    while (all.size() + text.size() <= bytes) all += text;
    return all;
  };
  constexpr std::size_t kBytes = 4'000'000;
  EXPECT_EQ(failure("SELECT FROM " + repeated(kBytes, "from+"), t).code, Code::bad_sql);
  EXPECT_EQ(failure("SELECT SUM(x) FROM t " + repeated(kBytes, "/*"), t).message.substr(0, 26),
            "this comment is not closed");
  const std::string closed = repeated(kBytes / 4, "/*") + repeated(kBytes / 4, "*/");
  EXPECT_EQ(ask("SELECT SUM(x) FROM t " + closed, t), "6");
  for (const char* run : {"+", "-+", "*", "<>", "@"}) {
    EXPECT_EQ(failure("SELECT SUM(" + repeated(kBytes, run) + "x) FROM t", t).code, Code::bad_sql) << run;
  }
  EXPECT_EQ(ask("SELECT SUM(" + std::string(60, '+') + "x) FROM t", t), "6");
  std::string stems = "SELECT COUNT(*) AS " + std::string(70, 'n') + " FROM t WHERE x = 1 --";
  for (int i = 0; stems.size() < kBytes; ++i) stems += fmt::format(" _long_name_{}_", i);
  EXPECT_EQ(ask(stems, t), "1");
  std::string names = "SELECT x + 1 AS k";
  std::string keys = " FROM t GROUP BY k";
  for (int i = 1; i < 10'000; ++i) {
    names += ", x + 1 AS k";
    keys += ", k";
  }
  EXPECT_EQ(Query(names + keys + " LIMIT 1", t).run(par, t).columns.size(), 10'000);
  std::string list = "x IN (1";
  for (int i = 2; i < 50'000; ++i) list += fmt::format(", {}", i);
  EXPECT_EQ(ask("SELECT " + repeated(1600, "NOT ") + list + "), COUNT(*) FROM t GROUP BY x", t),
            "true|1;true|1;true|1");
}

// However deep a query is nested, it is answered or refused.
TEST(Query, DeepQueriesAreRefused) {
  const Longs x{1, 2};
  MemoryTable t;
  t.add("x", x);
  const auto repeated = [](int n, const std::string& text) {
    std::string all;
    for (int i = 0; i < n; ++i) all += text;
    return all;
  };
  const std::pair<const char*, const char*> nested[] = {
      {"x + ", ""},       {"- ", ""},        {"(", ")"},        {"NOT ", ""},       {"ABS(", ")"},
      {"", "::int"},      {"", " IS NULL"},  {"", "[1]"},       {"x IN (1, ", ")"}, {"CASE WHEN x > 1 THEN ", " END"},
      {"ARRAY[1, ", "]"}, {"(SELECT ", ")"}, {"", " COLLATE c"}};
  for (const int n : {1'000, 9'000, 50'000}) {
    std::vector<std::string> queries{"SELECT 1" + repeated(n, " UNION SELECT 1"),
                                     "SELECT COUNT(*) FROM t" + repeated(n, " JOIN t ON TRUE")};
    for (const auto& [open, close] : nested) {
      queries.push_back("SELECT SUM(" + repeated(n, open) + "x" + repeated(n, close) + ") FROM t");
    }
    for (const std::string& sql : queries) {
      const Failure failed = failure(sql, t);
      const bool is_refused = failed.code == Code::unsupported_sql || failed.code == Code::bad_sql;
      EXPECT_TRUE(is_refused || failed.message == "no error, but 3") << sql.substr(0, 60) << ": " << failed.message;
    }
  }
}

TEST(Query, EmptyTablesHaveOneGroupOrNone) {
  const Longs none;
  MemoryTable t;
  t.add("x", none);
  EXPECT_EQ(ask("SELECT COUNT(*), SUM(x), AVG(x), MIN(x) FROM t", t), "0|NULL|NULL|NULL");
  EXPECT_EQ(ask("SELECT x, COUNT(*) FROM t GROUP BY x", t), "");
  EXPECT_EQ(ask("SELECT 1 + COUNT(*) FROM t LIMIT 0", t), "");
}

TEST(Query, QuotientsAreRoundedOnce) {
  EXPECT_EQ(expression::quotient(1, 3), 1.0 / 3);
  EXPECT_EQ(expression::quotient((Int128{1} << 53) + 1, 1), 9007199254740992.0);  // a tie goes to even
  EXPECT_EQ(expression::quotient((Int128{1} << 54) + 3, 2), 9007199254740994.0);  // 2^53 + 1.5
  EXPECT_EQ(expression::quotient(expression::kInt128Min, -1), std::ldexp(1.0, 127));
  EXPECT_EQ(expression::quotient(-7, expression::kInt128Max), -7 / std::ldexp(1.0, 127));
  std::mt19937_64 random(5);
  for (int i = 0; i < 10000; ++i) {  // long double has 64 bits: a second rounding only matters at a tie of the first
    const auto a = static_cast<std::int64_t>(random());
    const auto b = static_cast<std::int64_t>(random() >> (random() % 60)) | 1;
    const long double exact = static_cast<long double>(a) / static_cast<long double>(b);
    const double got = expression::quotient(a, b);
    EXPECT_LE(std::abs(static_cast<double>(exact) - got), std::abs(got) * 0x1p-52) << a << "/" << b;
    EXPECT_LE(std::abs(exact - static_cast<long double>(got)), std::abs(exact) * 0x1.001p-53L) << a << "/" << b;
  }
}

/// Rows of a table that is split in parts: text, dates, NULLs, and values whose sum needs more than 64 bits.
struct Pieces {
  std::vector<std::int32_t> word;
  std::vector<std::int32_t> day;
  std::vector<double> f;
  Longs x;
  std::vector<bool> there;

  Pieces() {
    std::mt19937_64 random(5);
    for (int i = 0; i < 3000; ++i) {
      word.push_back(static_cast<std::int32_t>(random() % (i < 1000 ? 2 : 4)));  // two of the strings only occur later
      day.push_back(static_cast<std::int32_t>(random() % 20000));
      f.push_back(static_cast<double>(random() >> 11) * 0x1p-30);
      x.push_back(static_cast<std::int64_t>(random()));
      there.push_back(random() % 5 != 0);
    }
  }

  /// Folds rows first … last - 1. The dictionary has a different order in each part.
  [[nodiscard]] QueryCarry fold(const std::string& sql, std::size_t first, std::size_t last) const {
    const auto range = [&]<class T>(const std::vector<T>& all) {
      return std::vector<T>(all.begin() + static_cast<std::ptrdiff_t>(first),
                            all.begin() + static_cast<std::ptrdiff_t>(last));
    };
    auto index = range(word);
    std::vector<std::string> words{"green", "red", "blue", "white"};
    if (first % 2 == 1) {
      std::reverse(words.begin(), words.end());
      for (auto& i : index) i = 3 - i;
    }
    const auto days = range(day);
    const auto floats = range(f);
    const auto longs = range(x);
    const auto validity = bits(range(there));
    MemoryTable t;
    t.add_text("w", index, words)
        .add_dates("day", days)
        .add("f", floats)
        .add(Field{.name = "x"}, longs.data(), std::ssize(longs), validity.data());
    return Query(sql, t).fold(par, t);
  }
};

/// Makes a query for tables with the columns of `Pieces`.
Query of_pieces(const std::string& sql) {
  MemoryTable none;
  none.add_text("w", {}, {}).add_dates("day", {}).add("f", std::vector<double>{}).add("x", Longs{});
  return Query(sql, none);
}

std::string cells(const Answer& answer) {
  std::string all;
  for (const auto& row : answer.rows) {
    for (std::size_t c = 0; c < row.size(); ++c) all += text(answer.columns[c], row[c]) + "|";
    all += "\n";
  }
  return all;
}

constexpr const char* kCarried[] = {
    "SELECT w, SUM(x), COUNT(x), COUNT(*), MIN(x), MAX(day), MIN(w), AVG(x), MAX(f) FROM t GROUP BY w",
    "SELECT SUM(x), COUNT(x), MIN(day), MAX(w), MIN(f) FROM t WHERE f > 1000",
    "SELECT x, w, COUNT(*) FROM t WHERE f < 1000000 GROUP BY x, w",
    "SELECT SUM(x), MAX(w) FROM t WHERE f < 0",
};

TEST(QueryCarry, PiecesMergeToTheWhole) {
  const Pieces pieces;
  for (const char* sql : kCarried) {
    const Query query = of_pieces(sql);
    const std::string whole = cells(query.answer(pieces.fold(sql, 0, 3000)));
    QueryCarry all = pieces.fold(sql, 0, 701);
    QueryCarry rest = query.carry(pieces.fold(sql, 701, 1500).bytes());
    rest.merge(query.carry(pieces.fold(sql, 1500, 1500).bytes()));
    rest.merge(pieces.fold(sql, 1500, 3000));
    all.merge(rest.bytes());
    EXPECT_EQ(cells(query.answer(all)), whole) << sql;
  }
}

TEST(QueryCarry, BytesKeepFloatsToTheLastBit) {
  const Pieces pieces;
  const std::string sql = "SELECT w, SUM(f), SUM(f * f) FROM t GROUP BY w";
  const Query query = of_pieces(sql);
  QueryCarry direct = pieces.fold(sql, 0, 1000);
  QueryCarry sent = query.carry(direct.bytes());
  direct.merge(pieces.fold(sql, 1000, 3000));
  sent.merge(query.carry(pieces.fold(sql, 1000, 3000).bytes()));
  EXPECT_EQ(sent.bytes(), direct.bytes());
}

TEST(QueryCarry, BytesAreChecked) {
  const Pieces pieces;
  const std::string sql = kCarried[0];
  const Query query = of_pieces(sql);
  const std::string bytes = pieces.fold(sql, 0, 500).bytes();
  const auto code = [&](const std::string& changed) {
    try {
      QueryCarry carry = query.carry(changed);
      carry.merge(query.carry(changed));
      (void)query.answer(carry);
    } catch (const Error& error) {
      return error.code();
    }
    return Code::ok;
  };
  EXPECT_EQ(code(bytes), Code::ok);
  EXPECT_EQ(code(bytes + "x"), Code::malformed);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_EQ(code(bytes.substr(0, size)), Code::malformed) << size;
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const int flip : {0x01, 0x80}) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      ASSERT_NE(code(changed), Code::ok) << i;
    }
  }
  EXPECT_EQ(code(pieces.fold(kCarried[1], 0, 500).bytes()), Code::invalid_argument);
  EXPECT_THROW(pieces.fold(sql, 0, 5).merge(pieces.fold(kCarried[1], 0, 5)), Error);
}

TEST(QueryCarry, SumsThatDoNotFitAreFoundWhereTheyMeet) {
  const Longs x{kMax};
  MemoryTable t;
  t.add_decimal("x", x, 0);
  const Query query("SELECT SUM(x * x) FROM t", t);
  QueryCarry all = query.fold(par, t);
  const QueryCarry one = query.carry(all.bytes());  // nearly 2^126
  try {
    for (int i = 0; i < 2; ++i) all.merge(one);
    FAIL() << cells(query.answer(all));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::overflow) << error.what();
  }
}

TEST(Query, WhatIsNullTakesNoOtherScale) {
  const Int128 large = expression::power_of_ten(37);  // with two more decimals it has 40 digits
  const std::vector<Int128> c5{large, 5, -large, large, 7};
  const Longs c3{1, 2, 3, 4, 5};
  const auto three = bits({false, true, false, false, true});
  MemoryTable t;
  t.add(Field{.name = "c5", .kind = ValueKind::decimal, .storage = Storage::int128}, c5.data(), std::ssize(c5))
      .add(Field{.name = "c3"}, c3.data(), std::ssize(c3), three.data());
  EXPECT_EQ(ask("SELECT SUM(c5 + 99.07 * c3), COUNT(99.07 * c3 - c5), MIN(c3 * 1.25 - c5) FROM t", t),
            "705.49|2|-2.50");
  EXPECT_EQ(ask("SELECT COUNT(*), SUM(c3) FROM t WHERE c5 + 0.05 * c3 > 0", t), "2|7");
  EXPECT_EQ(ask("SELECT SUM(c5 + 0.25 * CASE WHEN c5 < 9 AND c5 > 0 THEN c3 END), MAX(c5) FROM t", t),
            "13.75|" + expression::to_text(large));
  EXPECT_EQ(ask("SELECT COUNT(c5 + 0.05 * c3), COUNT(*) FROM t WHERE c3 IS NULL", t), "0|3");
  const Failure there = failure("SELECT SUM(c5 + 0.05) FROM t", t);
  EXPECT_EQ(there.code, Code::overflow);
  EXPECT_EQ(there.index, 0);
}

TEST(QueryCarry, AveragesFitWhereSumsDoNot) {
  const Longs x{kMax, kMax, kMax - 1};
  MemoryTable t;
  t.add_decimal("x", x, 1);
  const Query query("SELECT AVG(x * x), AVG(-x * x), COUNT(x) FROM t", t);
  QueryCarry all = query.fold(par, t);
  const QueryCarry one = query.carry(all.bytes());
  for (int i = 0; i < 10; ++i) all.merge(query.carry(one.bytes()));
  const Answer answer = query.answer(all);
  constexpr double kMean = 0x1p126 / 100;  // to the nearest double
  EXPECT_EQ(answer.rows[0][0].real, kMean);
  EXPECT_EQ(answer.rows[0][1].real, -kMean);
  EXPECT_EQ(answer.rows[0][2].exact, 33);
}

TEST(Number, AveragesOf256BitsAreRoundedOnce) {
  EXPECT_EQ(expression::average(0, 0, 7, 3), 0);
  EXPECT_EQ(expression::average(10, 0, 4, 1), 0.25);
  EXPECT_EQ(expression::average(0, 1, 1, 0), 0x1p128);
  EXPECT_EQ(expression::average(0, -1, 2, 0), -0x1p127);
  EXPECT_EQ(expression::average(-1, 1, 1, 0), 0x1p128);
  EXPECT_EQ(expression::average(expression::kInt128Min, 1, 1, 0), 0x1p127);
  EXPECT_EQ(expression::average(1, 3, 3, 0), 0x1p128);
  EXPECT_EQ(expression::average(0, 5, 1000000007, 38), static_cast<double>(5 * 0x1p128L / 1000000007 / 1e38L));
}

/// Many rows, so that there are several row groups, blocks with and without kept rows, and groups that first occur
/// late.
struct Many {
  std::int64_t n = 700001;
  std::vector<std::uint32_t> key;
  Longs x;
  std::vector<double> f;
  std::vector<std::int32_t> word;
  std::vector<std::uint8_t> there;
  MemoryTable table;

  Many() {
    std::mt19937_64 random(11);
    std::vector<bool> is_there;
    for (std::int64_t i = 0; i < n; ++i) {
      key.push_back(static_cast<std::uint32_t>(random() % (i < 400000 ? 20 : 1000)));
      x.push_back(static_cast<std::int64_t>(random()) >> (random() % 40));
      f.push_back(static_cast<double>(random() >> 11) * 0x1p-30);
      word.push_back(static_cast<std::int32_t>(random() % 5));
      is_there.push_back(random() % 7 != 0);
    }
    there = bits(is_there);
    table.add("key", key)
        .add(Field{.name = "x"}, x.data(), n, there.data())
        .add("f", f)
        .add_text("w", word, {"a", "b", "c", "d", "e"});
  }
  [[nodiscard]] bool has(std::int64_t i) const {
    return ((there[static_cast<std::size_t>(i / 8)] >> (i % 8)) & 1) != 0;
  }
};

/// Blocks that keep every second row or more, with keys of one storage. Some of the values need all bits.
template <class Key>
struct Dense {
  std::int64_t n = 9001;
  std::vector<Key> key;
  Longs a;
  Longs b;
  MemoryTable table;

  Dense() {
    std::mt19937_64 random(3);
    for (std::int64_t i = 0; i < n; ++i) {
      key.push_back(static_cast<Key>(random()));
      a.push_back(static_cast<std::int64_t>(random()) >> (i / 1024 == 3 ? 0 : 40));
      b.push_back(static_cast<std::int64_t>(random()) >> (i / 1024 == 5 ? 0 : 38));
    }
    table.add("key", key).add_decimal("a", a, 0).add_decimal("b", b, 0);
  }

  void expect_range(std::int64_t least, std::int64_t greatest, const Policy& policy) const {
    Int128 products = 0;
    Int128 sum = 0;
    std::int64_t count = 0;
    for (std::size_t i = 0; i < key.size(); ++i) {
      if (key[i] < least || key[i] > greatest) continue;
      products += Int128{a[i]} * b[i];
      sum += a[i];
      ++count;
    }
    const std::string where =
        " FROM t WHERE key >= " + std::to_string(least) + " AND key <= " + std::to_string(greatest);
    EXPECT_EQ(ask("SELECT COUNT(*), SUM(a * b), SUM(a), COUNT(b)" + where, table, policy),
              count == 0 ? "0|NULL|NULL|0"
                         : std::to_string(count) + "|" + expression::to_text(products) + "|" +
                               expression::to_text(sum) + "|" + std::to_string(count))
        << where;
  }
};

template <class Key>
class DenseSums : public testing::Test {};
using Keys =
    testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t>;
TYPED_TEST_SUITE(DenseSums, Keys);

TYPED_TEST(DenseSums, MatchALoopInEveryRange) {
  const Dense<TypeParam> dense;
  constexpr auto kLeast = std::int64_t{std::numeric_limits<TypeParam>::min()};
  constexpr auto kGreatest = std::int64_t{std::numeric_limits<TypeParam>::max()};
  const std::int64_t middle = kLeast / 2 + kGreatest / 2;
  for (const Isa isa : {Isa::baseline, Isa::best}) {
    const Policy policy = seq.with_isa(isa);
    for (const std::int64_t least : {kLeast, kLeast + 1, kLeast / 2, middle}) {
      for (const std::int64_t greatest : {kGreatest, kGreatest - 1, middle, least}) {
        dense.expect_range(least, greatest, policy);
      }
    }
  }
}

TEST(Query, SumsOfAllRowsMatchThoseOfAConditionThatAlwaysHolds) {
  const Dense<std::int32_t> dense;
  for (const std::string sums : {"SELECT SUM(a * b), AVG(a) FROM t", "SELECT SUM(a) FROM t", "SELECT SUM(b) FROM t"}) {
    EXPECT_EQ(ask(sums, dense.table), ask(sums + " WHERE key + 1.5 <> 0", dense.table));
  }
}

TEST(Query, ProductsThatDoNotFitAreErrorsAmongManyKeptRows) {
  Dense<std::int32_t> dense;
  Longs x(dense.a.size(), 1 << 20);
  x[5000] = kMax;
  dense.key[5000] = 7;
  MemoryTable t;
  t.add("key", dense.key).add("x", x).add("y", x);
  const Failure failed = failure("SELECT SUM(x * y) FROM t WHERE key > -100", t);
  EXPECT_EQ(failed.code, Code::overflow) << failed.message;
  EXPECT_EQ(failed.index, 5000);
  EXPECT_EQ(ask("SELECT SUM(x * y) / SUM(x) FROM t WHERE key > 7", t), std::to_string(1 << 20));
}

TEST(Query, ProductsThatAreOnlyCountedOverflowToo) {
  Longs x(3 * 65536, 1);
  x[65536] = std::int64_t{1} << 40;
  MemoryTable t;
  t.add("x", x).add("y", x);
  for (const int threads : {1, 2, 8}) {
    EXPECT_THROW(ask("SELECT COUNT(x * y), SUM(x) FROM t", t, par.with_threads(threads)), Error);
  }
}

TEST(Query, BoundsOfUnsignedIntegersOf64BitsAreTriedToo) {
  const Dense<std::int32_t> dense;
  std::vector<std::uint64_t> u;
  Int128 sum = 0;
  for (std::size_t i = 0; i < dense.a.size(); ++i) {
    u.push_back(i % 3 == 0 ? ~std::uint64_t{0} - i : i);
    if (u.back() < 8000) sum += dense.a[i];
  }
  MemoryTable t;
  t.add("u", u).add_decimal("a", dense.a, 0);
  EXPECT_EQ(ask("SELECT SUM(a) FROM t WHERE u < 8000", t), expression::to_text(sum));
}

TEST(Query, SumsOfManyKeptRowsLeaveNullsOut) {
  const Dense<std::int32_t> dense;
  std::vector<bool> is_there(dense.a.size(), true);
  is_there[7000] = false;
  const auto there = bits(is_there);
  MemoryTable t;
  t.add("key", dense.key)
      .add(Field{.name = "a", .kind = ValueKind::decimal, .storage = Storage::int64}, dense.a.data(), dense.n,
           there.data())
      .add_decimal("b", dense.b, 0);
  Int128 sum = 0;
  for (std::size_t i = 0; i < dense.a.size(); ++i) sum += i == 7000 ? Int128{0} : Int128{dense.a[i]} * dense.b[i];
  EXPECT_EQ(ask("SELECT SUM(a * b), COUNT(a), COUNT(b) FROM t WHERE key >= -2147483648", t),
            expression::to_text(sum) + "|9000|9001");
}

TEST(Query, ManyRowsMatchALoop) {
  const Many many;
  Int128 sum = 0;
  std::int64_t count = 0;
  std::int64_t least = kMax;
  for (std::int64_t i = 0; i < many.n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (many.key[at] < 3 || many.key[at] > 700 || many.word[at] == 1 || !many.has(i)) continue;
    sum += Int128{many.x[at]} * many.key[at];
    ++count;
    least = std::min(least, many.x[at]);
  }
  EXPECT_EQ(
      ask("SELECT SUM(x * 1.0 * key), COUNT(x), MIN(x) FROM t WHERE key >= 3 AND key <= 700 AND w <> 'b'", many.table),
      expression::to_text(sum * 10, 1) + "|" + std::to_string(count) + "|" + std::to_string(least));
}

TEST(Query, ThreadsAndInstructionSetsDoNotMatter) {
  const Many many;
  const std::string sql =
      "SELECT w, SUM(f), SUM(f * f), AVG(x), COUNT(x), MIN(f), MAX(x) FROM t WHERE key < 500 AND f > 100 GROUP BY w";
  const std::string one = ask(sql, many.table, seq.with_isa(Isa::baseline));
  EXPECT_EQ(std::count(one.begin(), one.end(), ';'), 4);
  for (const int threads : {1, 2, 3, 8}) EXPECT_EQ(ask(sql, many.table, par.with_threads(threads)), one);
  const std::string keys = "SELECT key, w, SUM(f), COUNT(*) FROM t GROUP BY key, w";
  const std::string sets = ask(keys, many.table, seq.with_isa(Isa::baseline));
  EXPECT_EQ(std::count(sets.begin(), sets.end(), ';'), 4999);
  for (const int threads : {2, 5}) EXPECT_EQ(ask(keys, many.table, par.with_threads(threads)), sets);
}

/// Blocks that keep half to all of their rows, with keys of every kind, and values with and without NULLs.
struct Marked {
  std::int64_t n = 100'001;
  Longs day;
  Longs number;
  Longs x;
  Longs y;
  std::vector<double> f;
  std::vector<std::int32_t> few;
  std::vector<std::int32_t> two;
  std::vector<std::int32_t> several;
  std::vector<std::uint8_t> there;
  MemoryTable table;

  Marked() {
    std::mt19937_64 random(17);
    std::vector<bool> is_there;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto value = static_cast<std::int64_t>(random());
      // Some ranges of rows keep half of their rows, and others nearly all; a few keep few rows or all.
      day.push_back(static_cast<std::int64_t>(random() % (i % 20'000 < 15'000   ? 150
                                                          : i % 20'000 < 18'000 ? 101
                                                                                : 900)));
      if (i / 1024 == 7) day.back() = 0;
      number.push_back(static_cast<std::int64_t>(random() % (i < 40'000 ? 5 : 40)) - 3);
      x.push_back(value >> (i / 1024 == 3 ? 0 : 44));  // in one block all 64 bits
      y.push_back(static_cast<std::int64_t>(random()) >> 45);
      f.push_back(static_cast<double>(random() >> 11) * 0x1p-30);
      few.push_back(static_cast<std::int32_t>(random() % (i < 60'000 ? 2 : 3)));
      two.push_back(static_cast<std::int32_t>(random() % 2));
      several.push_back(static_cast<std::int32_t>(random() % 7));
      is_there.push_back(random() % 9 != 0);
    }
    there = bits(is_there);
    table.add("day", day)
        .add("number", number)
        .add_decimal("x", x, 2)
        .add_decimal("y", y, 2)
        .add(Field{.name = "z"}, y.data(), n, there.data())
        .add("f", f)
        .add_text("few", few, {"A", "N", "R"})
        .add_text("two", two, {"F", "O"})
        .add_text("several", several, {"a", "b", "c", "d", "e", "f", "g"});
  }
};

// If a condition can fail, blocks are not computed as a whole: kept rows are moved together, and the answer must be the
// same.
TEST(Query, BlocksThatAreComputedWholeComeToTheSame) {
  const Marked marked;
  const std::string exact =
      "COUNT(*), COUNT(z), SUM(x), SUM(y), AVG(z), SUM(x * (1 - y)), SUM(x * (1 - y) * (1 + z)), MIN(x), MAX(f), "
      "MAX(several), SUM(CASE WHEN z > 0 THEN y ELSE 1 END), COUNT(1), SUM(2)";
  // Also floats if no block keeps few rows: then no rows of other blocks are moved together with them.
  const std::string all = exact + ", SUM(f), SUM(f * f), AVG(f + z), SUM(2.5e0)";
  const std::vector<std::pair<std::string, std::string>> asked{
      {exact, "day <= 100"},   {exact, "day <= 100 AND several <> 'c'"},
      {exact, "day < 2000"},   {exact, "day <= 100 AND z < 15000"},
      {all, "several <> 'c'"}, {all, "two = 'F' OR several < 'e'"}};
  for (const std::string keys : {"", "few", "few, two", "few, two, several", "number"}) {
    for (const auto& [values, where] : asked) {
      std::string select = "SELECT ";
      select.append(keys).append(keys.empty() ? "" : ", ").append(values).append(" FROM t WHERE ").append(where);
      const std::string group = keys.empty() ? "" : " GROUP BY " + keys;
      std::string moved = select;
      moved.append(" AND day / 1 >= 0").append(group);
      const std::string wanted = ask(moved, marked.table, seq);
      for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::best}) {
        EXPECT_EQ(ask(select + group, marked.table, seq.with_isa(isa)), wanted) << where << group;
      }
      EXPECT_EQ(ask(select + group, marked.table, par.with_threads(3)), wanted) << where << group;
    }
  }
}

TEST(Query, BlocksThatAreComputedWholeMatchALoop) {
  const Marked marked;
  Int128 sums[6] = {};
  std::int64_t counts[6] = {};
  for (std::size_t i = 0; i < marked.day.size(); ++i) {
    if (marked.day[i] > 100) continue;
    const auto group = static_cast<std::size_t>(marked.few[i]) * 2 + static_cast<std::size_t>(marked.two[i]);
    sums[group] += Int128{marked.x[i]} * (100 - marked.y[i]);
    ++counts[group];
  }
  std::string wanted;
  for (std::size_t g = 0; g < 6; ++g) {
    wanted += (g > 0 ? ";" : "") + std::string(1, "ANR"[g / 2]) + "|" + "FO"[g % 2] + "|" +
              expression::to_text(sums[g], 4) + "|" + std::to_string(counts[g]);
  }
  EXPECT_EQ(
      ask("SELECT few, two, SUM(x * (1 - y)), COUNT(*) FROM t WHERE day <= 100 GROUP BY few, two ORDER BY few, two",
          marked.table),
      wanted);
}

TEST(Query, WhatFailsInRowsThatAreNotKeptIsNoError) {
  Longs x(20'000, 3);
  Longs y(20'000, 1);
  Longs kept(20'000, 1);
  for (const std::size_t bad : {5'000U, 9'000U}) {
    x[bad] = kMax;
    y[bad] = 0;
    kept[bad] = 0;
  }
  MemoryTable t;
  t.add("x", x).add("y", y).add("kept", kept);
  const std::string of_kept = " FROM t WHERE kept = 1";
  for (const std::string& sql :
       {"SELECT SUM(x + 1), COUNT(*)" + of_kept, "SELECT SUM(x + 1), COUNT(*)" + of_kept + " GROUP BY kept"}) {
    EXPECT_EQ(ask(sql, t), "79992|19998");
  }
  EXPECT_EQ(ask("SELECT SUM(x / y)" + of_kept, t), "59994");
  EXPECT_EQ(ask("SELECT y + 9, SUM(x), MIN(x / y)" + of_kept + " GROUP BY y + 9", t), "10|59994|3");
  kept[9'000] = 1;
  EXPECT_EQ(failure("SELECT SUM(x + 1)" + of_kept, t).index, 9'000);
  EXPECT_EQ(failure("SELECT SUM(x / y)" + of_kept, t).code, Code::division_by_zero);
}

TEST(Query, SumsOfFloatsDoNotDependOnWhichThreadMetARowThatFails) {
  // If f is NULL in rows that are not kept, blocks computed as a whole and blocks of kept rows are added in different
  // orders.
  constexpr std::size_t kRows = 500'000;
  std::vector<double> f;
  Longs y(kRows, 1);
  Longs kept(kRows, 1);
  std::vector<bool> is_there(kRows, true);
  for (std::size_t i = 0; i < kRows; ++i) {
    f.push_back(1 / (1.0 + static_cast<double>(i % 1013)));
    is_there[i] = i % 4 != 1;
    kept[i] = is_there[i] ? 1 : 0;
  }
  y[1] = 0;  // its row fails, and is not kept
  const auto there = bits(is_there);
  MemoryTable t;
  t.add(Field{.name = "f", .kind = ValueKind::real, .storage = Storage::float64}, f.data(), std::ssize(f), there.data())
      .add("y", y)
      .add("kept", kept);
  const std::string sql = "SELECT SUM(f), SUM(1 / y) FROM t WHERE kept = 1";
  const std::string one = ask(sql, t, seq);
  for (const int threads : {2, 3, 5}) {
    for (int i = 0; i < 5; ++i) EXPECT_EQ(ask(sql, t, par.with_threads(threads)), one) << threads;
  }
}

TEST(Query, TheEarliestErrorIsTheOneThatIsThrown) {
  Many many;
  for (const std::int64_t bad : {650000, 300000, 70000}) many.key[static_cast<std::size_t>(bad)] = 5000;
  for (int i = 0; i < 20; ++i) {
    const Failure failed = failure("SELECT SUM(1 / (key - 5000)) FROM t", many.table);
    ASSERT_EQ(failed.code, Code::division_by_zero);
    ASSERT_EQ(failed.index, 70000);
  }
}

/// Columns in memory in row groups of `each` rows. The exact minimum and maximum are known if statistics are requested.
class TableWithStatistics final : public Table {
 public:
  TableWithStatistics(const MemoryTable& rows, std::int64_t each) : all_(rows), each_(each) {}
  [[nodiscard]] const std::vector<Field>& fields() const override { return all_.fields(); }
  [[nodiscard]] int row_groups() const override { return static_cast<int>((all_.rows() + each_ - 1) / each_); }
  [[nodiscard]] std::int64_t rows() const override { return all_.rows(); }
  [[nodiscard]] std::int64_t rows(int row_group) const override {
    return std::min(each_, all_.rows() - row_group * each_);
  }
  [[nodiscard]] ColumnRange range(int row_group, int column) const override {
    ColumnRange range{.least = std::numeric_limits<double>::infinity(),
                      .greatest = -std::numeric_limits<double>::infinity(),
                      .has_values = false,
                      .has_nulls = false};
    const Field& field = fields()[static_cast<std::size_t>(column)];
    Batch batch;
    open(row_group, {column}, false)->next(batch);
    const ColumnData& data = batch.columns[0];
    for (std::int64_t i = 0; i < batch.rows; ++i) {
      const std::int64_t bit = data.offset + i;
      if (data.validity != nullptr && (data.validity[bit / 8] >> (bit % 8) & 1) == 0) {
        range.has_nulls = true;
        continue;
      }
      const double value =
          field.kind == ValueKind::real
              ? static_cast<const double*>(data.values)[i]
              : static_cast<double>(static_cast<const std::int64_t*>(data.values)[i]) / std::pow(10.0, field.scale);
      range.has_values = true;
      if (std::isnan(value)) continue;
      const bool is_exact = field.scale == 0;
      range.least = std::min(range.least, is_exact ? value : std::nextafter(value, -HUGE_VAL));
      range.greatest = std::max(range.greatest, is_exact ? value : std::nextafter(value, HUGE_VAL));
    }
    return range;
  }
  [[nodiscard]] std::unique_ptr<BatchReader> open(int row_group, const std::vector<int>& columns) const override {
    return open(row_group, columns, true);
  }
  /// Returns how many row groups were opened for a column.
  [[nodiscard]] int opened(int column) const { return opened_[static_cast<std::size_t>(column)]; }

 private:
  /// Returns one batch, which is a range of the whole column.
  class Reader final : public BatchReader {
   public:
    Reader(const TableWithStatistics& table, int row_group, const std::vector<int>& columns)
        : all_(table.all_.open(0, columns)), first_(row_group * table.each_), rows_(table.rows(row_group)) {}
    bool next(Batch& batch) override {
      if (std::exchange(done_, true) || !all_->next(batch)) return false;
      batch.rows = rows_;
      batch.first_row = first_;
      for (ColumnData& column : batch.columns) {
        column.values = static_cast<const std::int64_t*>(column.values) + first_;
        column.offset += first_;
      }
      return true;
    }

   private:
    std::unique_ptr<BatchReader> all_;
    std::int64_t first_;
    std::int64_t rows_;
    bool done_ = false;
  };

  [[nodiscard]] std::unique_ptr<BatchReader> open(int row_group, const std::vector<int>& columns, bool counts) const {
    for (const int column : columns) opened_[static_cast<std::size_t>(column)] += counts ? 1 : 0;
    return std::make_unique<Reader>(*this, row_group, columns);
  }

  const MemoryTable& all_;  ///< of 64-bit elements, in one batch
  std::int64_t each_;
  mutable std::array<std::atomic<int>, 8> opened_{};
};

TEST(Query, WhatStatisticsSayOfConditionsChangesNoAnswer) {
  std::mt19937_64 random(3);
  constexpr std::int64_t kRows = 900;
  constexpr std::int64_t kEach = 90;
  Longs x(kRows), d(kRows), v(kRows);
  std::vector<double> r(kRows);
  std::vector<bool> there(kRows);
  for (std::int64_t i = 0; i < kRows; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const auto narrow = static_cast<std::int64_t>(random() % 4);
    x[at] = i / kEach * 3 + narrow;        // row groups overlap by one
    d[at] = (i / kEach * 3 + narrow) * 7;  // 0.07 is not a double
    r[at] = random() % 50 == 0 ? std::nan("") : static_cast<double>(x[at]) / 8;
    v[at] = static_cast<std::int64_t>(random() % 1000);
    there[at] = i / kEach % 3 != 1 || random() % 8 != 0;  // every third row group has NULLs
  }
  const std::vector<std::uint8_t> valid = bits(there);
  MemoryTable t;
  t.add("x", x).add_decimal("d", d, 2).add("v", v);
  t.add({.name = "r", .kind = ValueKind::real, .storage = Storage::float64}, r.data(), kRows);
  t.add({.name = "n", .kind = ValueKind::integer, .storage = Storage::int64}, x.data(), kRows, valid.data());
  const TableWithStatistics with(t, kEach);
  for (int bound = -1; bound < 36; ++bound) {
    const std::string whole = std::to_string(bound);
    const std::string cents = std::to_string(bound * 7 / 100) + "." + (bound * 7 % 100 < 10 ? "0" : "") +
                              std::to_string(std::abs(bound * 7 % 100));
    for (const char* const op : {"<", "<=", ">", ">=", "=", "<>"}) {
      const auto compare = [&](const std::string& left, const std::string& right) {
        std::string all = left;
        return all.append(" ").append(op).append(" ").append(right);
      };
      const std::string of_x = compare("x", whole);
      const std::string real = std::to_string(bound / 8.0);
      for (const std::string& condition :
           {of_x, compare(whole, "x"), compare("d", cents), compare("n", whole), compare("r", real), compare("x", real),
            std::string("(").append(of_x).append(" OR n < 3)"), std::string("(").append(of_x).append(" AND d >= 0.10)"),
            std::string("NOT ").append(of_x), compare("ABS(x - 9)", whole), compare("ROUND(d, 1)", cents),
            compare("ABS(n)", whole), compare("SQRT(ABS(r))", real)}) {
        const std::string sql = "SELECT COUNT(*), SUM(v), SUM(x) FROM t WHERE v >= 10 AND " + condition;
        EXPECT_EQ(ask(sql, with), ask(sql, t)) << sql;
      }
    }
  }
}

TEST(Query, ListsAreHeldAgainstStatistics) {
  constexpr std::int64_t kEach = 10;
  Longs x(3 * kEach), d(3 * kEach);
  std::vector<double> r(3 * kEach);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<std::int64_t>(i) * 10;
    d[i] = x[i] + 5;
    r[i] = static_cast<double>(x[i]) / 4;
  }
  MemoryTable t;
  t.add("x", x).add_decimal("d", d, 1);
  t.add({.name = "r", .kind = ValueKind::real, .storage = Storage::float64}, r.data(), 3 * kEach);
  // In x, row groups contain 0 to 90, 100 to 190 and 200 to 290. Values of d are (x + 5) / 10, those of r are x / 4.
  struct Case {
    const char* condition;
    int column;
    const char* answer;
    int opened;
  };
  const Case cases[] = {{"x IN (-4, -3, -2, -1, 300, 301)", 0, "0", 0}, {"x IN (1, 2, 3, 4, 92, 93)", 0, "0", 1},
                        {"x IN (91, 92, 93, 94, 195, 199)", 0, "0", 0}, {"x IN (91, 92, 93, 94, 200, 300)", 0, "1", 1},
                        {"x IN (0, 1, 2, 90, 100, 290)", 0, "4", 3},    {"x NOT IN (91, 92, 93, 94)", 0, "30", 3},
                        {"d IN (0.5, 9.6, 9.7, 9.8, 30)", 1, "1", 1},   {"d IN (9.6, 9.7, 9.8, 19.6, 0.4)", 1, "0", 0},
                        {"r IN (23, 24, 24.5, 48, 73)", 2, "0", 0},     {"r IN (23, 24, 24.5, 50, 73)", 2, "1", 1}};
  for (const Case& c : cases) {
    const TableWithStatistics with(t, kEach);
    EXPECT_EQ(ask(std::string("SELECT COUNT(*) FROM t WHERE ") + c.condition, with), c.answer) << c.condition;
    EXPECT_EQ(with.opened(c.column), c.opened) << c.condition;
  }
}

// 2^53 + 1 is not a double. The known bounds of a column and of a number are the adjacent doubles.
TEST(Query, StatisticsDecideNothingOfNumbersThatNoDoubleIs) {
  constexpr std::int64_t kWhole = std::int64_t{1} << 53;
  const Longs x(5, kWhole);
  const Longs least(5, -kWhole);
  MemoryTable t;
  t.add("x", x).add("y", least).add_decimal("d", x, 0);
  const TableWithStatistics with(t, 5);
  const std::string next = "9007199254740993";
  for (const std::string& column : {std::string("x"), std::string("d")}) {
    const std::pair<std::string, const char*> cases[] = {
        {" = " + next, "0"},
        {" >= " + next, "0"},
        {" > " + next, "0"},
        {" < " + next, "5"},
        {" <= " + next, "5"},
        {" <> " + next, "5"},
        {" = 9007199254740992", "5"},
        {" < 9007199254740992", "0"},
        {" = 9007199254740993 OR " + column + " = 9007199254740995", "0"},
        {" IN (9007199254740993, 9007199254740995, 1, 2)", "0"},
        {" BETWEEN 9007199254740993 AND 9007199254740995", "0"},
        {" = 9007199254740992.1", "0"},
        {" < 9007199254740992.1", "5"}};
    for (const auto& [condition, answer] : cases) {
      std::string sql = "SELECT COUNT(*) FROM t WHERE ";
      sql.append(column).append(condition);
      EXPECT_EQ(ask(sql, with), answer) << sql;
      EXPECT_EQ(ask(sql, t), answer) << sql;
    }
  }
  EXPECT_EQ(ask("SELECT COUNT(*) FROM t WHERE y = -9007199254740993", with), "0");
  EXPECT_EQ(ask("SELECT COUNT(*) FROM t WHERE y <= -9007199254740993", with), "0");
  EXPECT_EQ(ask("SELECT COUNT(*) FROM t WHERE y > -9007199254740993", with), "5");
}

TEST(Query, ConditionsThatStatisticsProveAreNotTriedAndTheirColumnsNotRead) {
  constexpr std::int64_t kEach = 100;
  Longs x(3 * kEach), v(3 * kEach, 2);
  std::iota(x.begin(), x.end(), 0);
  MemoryTable t;
  t.add("x", x).add("v", v);
  const TableWithStatistics one_mixed(t, kEach);
  EXPECT_EQ(ask("SELECT SUM(v), COUNT(*) FROM t WHERE x < 150", one_mixed), "300|150");
  EXPECT_EQ(one_mixed.opened(0), 1);  // the first is proven, the third excluded
  EXPECT_EQ(one_mixed.opened(1), 2);
  const TableWithStatistics all(t, kEach);
  EXPECT_EQ(ask("SELECT COUNT(*) FROM t WHERE x BETWEEN 0 AND 299", all), "300");
  EXPECT_EQ(all.opened(0), 0);
  const TableWithStatistics computed(t, kEach);
  EXPECT_EQ(ask("SELECT SUM(x) FROM t WHERE x >= 0", computed), "44850");
  EXPECT_EQ(computed.opened(0), 3);  // the column is summed
}

TEST(Query, MemoryTablesSayWhatIsWrong) {
  const Longs x{1, 2};
  const std::vector<std::int32_t> index{0, 7};
  const auto code = [](const std::function<void(MemoryTable&)>& add) {
    MemoryTable t;
    try {
      add(t);
    } catch (const Error& error) {
      return error.code();
    }
    return Code::ok;
  };
  EXPECT_EQ(code([&](MemoryTable& t) { t.add("x", x).add("i", index); }), Code::ok);
  EXPECT_EQ(code([&](MemoryTable& t) { t.add("x", x).add("y", Longs{1}); }), Code::unequal_lengths);
  EXPECT_EQ(code([&](MemoryTable& t) { t.add_text("w", index, {"a"}); }), Code::invalid_argument);
  EXPECT_EQ(code([&](MemoryTable& t) { t.add(Field{.kind = ValueKind::date}, x.data(), 2); }), Code::unsupported_type);
  EXPECT_EQ(code([&](MemoryTable& t) { t.add_decimal("d", x, 39); }), Code::unsupported_type);
  MemoryTable a;
  a.add("x", x);
  MemoryTable b;
  b.add("x", index);
  EXPECT_THROW((void)Query("SELECT SUM(x) FROM t", a).run(par, b), Error);
}

TEST(Query, AnAnswerSaysWhatWasDone) {
  Longs x(100'000, 1);
  std::iota(x.begin(), x.end(), 0);
  MemoryTable t;
  t.add("x", x);
  const Query query("SELECT x / 10000, COUNT(*) FROM items WHERE x < 50000 GROUP BY x / 10000 LIMIT 2", t);
  const Answer answer = query.run(par, t);
  EXPECT_EQ(answer.table, "items");
  EXPECT_EQ(answer.groups, 5);
  EXPECT_EQ(answer.rows.size(), 2U);
  EXPECT_EQ(answer.rung, "cpu.blocks");
  EXPECT_EQ(answer.rows_read, 100'000);
  EXPECT_EQ(answer.rows_by_cpu, 0);
  EXPECT_GT(answer.seconds, 0);
  const Answer carried = query.answer(query.fold(par, t));
  EXPECT_EQ(carried.table, "items");
  EXPECT_EQ(carried.groups, 5);
  EXPECT_EQ(carried.rung, "");
}

TEST(Query, Intervals) {
  std::vector<Int128> elements;
  std::vector<Int128> zeros;
  for (const Interval interval : {Interval{.months = 1}, Interval{.days = 30}, Interval{.days = 30, .nanoseconds = 1},
                                  Interval{.months = -14, .days = 3}, Interval{.nanoseconds = -5'000'000'000}}) {
    elements.push_back(element_of(interval).value());
    EXPECT_EQ(interval_of(elements.back()), interval);
    zeros.push_back(element_of({}).value());
  }
  MemoryTable t;
  t.add({.name = "i", .kind = ValueKind::interval, .storage = Storage::int128}, elements.data(), 5);
  t.add({.name = "zero", .kind = ValueKind::interval, .storage = Storage::int128}, zeros.data(), 5);
  EXPECT_EQ(ask("SELECT MIN(i), MAX(i), COUNT(i) FROM t", t), "-1 year -2 months 3 days|30 days 00:00:00.000000001|5");
  EXPECT_EQ(ask("SELECT i FROM t ORDER BY i DESC", t),
            "30 days 00:00:00.000000001;1 month;30 days;-00:00:05;-1 year -2 months 3 days");
  EXPECT_EQ(ask("SELECT zero, MIN(zero), MAX(zero), COUNT(*) FROM t GROUP BY zero", t), "00:00:00|00:00:00|00:00:00|5");
  const std::pair<const char*, const char*> counts[] = {{"i = interval '1 month'", "2"},
                                                        {"i = interval '30 days'", "2"},
                                                        {"i <> '30 days'", "3"},
                                                        {"i > interval '30 days'", "1"},
                                                        {"i >= interval '720 hours'", "3"},
                                                        {"i < interval '1 month'", "2"},
                                                        {"i <= '1 month'", "4"},
                                                        {"interval '1 month' < i", "1"},
                                                        {"interval '1 month' >= i", "4"},
                                                        {"i IN ('1 month', '-5 s')", "3"},
                                                        {"i BETWEEN '-1 day' AND '29 days'", "1"},
                                                        {"i = NULL", "0"},
                                                        {"i < interval '3000000 days'", "5"}};
  for (const auto& [condition, count] : counts) {
    EXPECT_EQ(ask(fmt::format("SELECT COUNT(*) FROM t WHERE {}", condition), t), count) << condition;
  }
  EXPECT_EQ(ask("SELECT CASE WHEN i < '1 day' THEN i ELSE interval '2 months' END AS c FROM t LIMIT 4", t),
            "2 months;2 months;2 months;-1 year -2 months 3 days");
  for (const char* const refused :
       {"SELECT SUM(i) FROM t", "SELECT AVG(i) FROM t", "SELECT i + i FROM t", "SELECT COUNT(*) FROM t WHERE i < zero",
        "SELECT COUNT(*) FROM t WHERE i < 3", "SELECT COUNT(*) FROM t WHERE i < 'soon'", "SELECT -i FROM t"}) {
    EXPECT_NE(failure(refused, t).message, "") << refused;
  }
  const Query query("SELECT i, MAX(i) FROM t GROUP BY i", t);
  QueryCarry carry = query.fold(par, t);
  carry.merge(query.fold(par, t).bytes());
  EXPECT_EQ(query.answer(carry).rows.size(), 5U);
  const Field field{.kind = ValueKind::interval};
  EXPECT_EQ(iso_text(field, {.exact = elements[3]}), "P-1Y-2M3D");
  EXPECT_EQ(iso_text(field, {.exact = elements[4]}), "PT-5S");
  EXPECT_EQ(iso_text(field, {.exact = zeros[0]}), "PT0S");
  EXPECT_EQ(iso_text(field, {.exact = element_of({.nanoseconds = 93'784'500'000'000}).value()}), "PT26H3M4.5S");
}

TEST(Query, TimestampsTimesAndDurations) {
  const Longs stamps = {0, 1'500, -1, 86'400'000};
  const Longs spans = {5, -7'200'000'000, 250'000, 0};
  const std::vector<std::int32_t> times = {0, 1, 86'399, 43'200};
  MemoryTable t;
  t.add_timestamps("t", stamps, 3).add_timestamps("z", stamps, 3, "Europe/Paris");
  t.add({.name = "s", .kind = ValueKind::duration, .storage = Storage::int64, .scale = 6}, spans.data(), 4);
  t.add({.name = "w", .kind = ValueKind::time, .storage = Storage::int32}, times.data(), 4);
  EXPECT_EQ(ask("SELECT MIN(t), MAX(t), MAX(z) FROM t", t),
            "1969-12-31 23:59:59.999|1970-01-02 00:00:00|1970-01-02 00:00:00Z");
  EXPECT_EQ(ask("SELECT SUM(s), MIN(s), MAX(w) FROM t", t), "-01:59:59.749995|-02:00:00|23:59:59");
  EXPECT_EQ(ask("SELECT t, COUNT(*) FROM t GROUP BY t ORDER BY t LIMIT 2", t),
            "1969-12-31 23:59:59.999|1;1970-01-01 00:00:00|1");
  EXPECT_EQ(ask("SELECT COUNT(*) FROM t WHERE t >= date '1970-01-01' AND t < '1970-01-01 00:00:01.5'", t), "1");
  EXPECT_EQ(
      ask("SELECT MAX(t + s), MAX(t - date '1970-01-01'), COUNT(*) FROM t WHERE w IN ('12:00', time '23:59:59')", t),
      "1970-01-02 00:00:00|1 day|2");
  EXPECT_EQ(failure("SELECT SUM(t) FROM t", t).code, Code::unsupported_type);
  EXPECT_EQ(failure("SELECT COUNT(*) FROM t WHERE t = z", t).code, Code::unsupported_sql);
  const Query query("SELECT w, SUM(s) FROM t GROUP BY w", t);
  QueryCarry carry = query.fold(par, t);
  carry.merge(query.fold(par, t).bytes());
  EXPECT_EQ(query.answer(carry).rows.size(), 4U);
  EXPECT_EQ(query.answer(carry).columns[1].kind, ValueKind::duration);
  const Field field{.kind = ValueKind::timestamp, .scale = 3};
  EXPECT_EQ(element_with_text(field, "1970-01-01 00:00:01.5"), 1'500);
  EXPECT_EQ(element_with_text(field, "1970-01-01 00:00:01.5005"), std::nullopt);
  EXPECT_EQ(iso_text({.kind = ValueKind::duration, .scale = 3}, {.exact = -90'061'500}), "-P1DT1H1M1.5S");
  MemoryTable bad;
  EXPECT_THROW(bad.add_timestamps("t", stamps, 4), Error);
}

TEST(Query, GroupsOfFloatsAndBooleansInExtremes) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> x = {0.0, -0.0, nan, -nan, 1.5, nan};
  const Longs n = {1, 2, 4, 8, 16, 32};
  MemoryTable t;
  t.add("x", x).add("n", n);
  EXPECT_EQ(ask("SELECT x, SUM(n) FROM t GROUP BY x", t), "0|3;NaN|44;1.5|16");
  EXPECT_EQ(ask("SELECT x, n > 4, SUM(n) FROM t GROUP BY x, n > 4 ORDER BY x DESC, 2", t),
            "NaN|false|4;NaN|true|40;1.5|true|16;0|false|3");
  EXPECT_EQ(ask("SELECT x, MIN(n > 4), MAX(n > 4) FROM t GROUP BY x", t), "0|false|false;NaN|false|true;1.5|true|true");
}

TEST(Query, RunsTheRungThatIsAskedForOrNone) {
  const Longs x{1, 2};
  MemoryTable table;
  table.add("x", x);
  const Query query("SELECT SUM(x) FROM t", table);
  EXPECT_EQ(query.run(par, table).rung, "cpu.blocks");
  EXPECT_EQ(query.run(par.with_rung("cpu.blocks"), table).rung, "cpu.blocks");
  const auto refusal = [&](std::string_view rung) {
    try {
      (void)query.run(par.with_rung(rung), table);
    } catch (const Error& error) {
      return std::string(word(error.code())) + ": " + error.what();
    }
    return std::string();
  };
  EXPECT_EQ(
      refusal("cpu.predicate_first"),
      "unsupported: rung 'cpu.predicate_first' belongs to filtered-sum, not to this operation; available: cpu.blocks, "
      "cuda.generated");
  EXPECT_EQ(refusal("cpu.none"), "unknown_rung: unknown rung 'cpu.none'; available: cpu.blocks, cuda.generated");
  if (gpu::is_built()) {
    EXPECT_EQ(refusal("cuda.generated").substr(0, 27), "unsupported: cuda.generated");
  } else {
    const std::string no_cuda = ": this build of upsweep has no CUDA; build it with nvcc: make cuda, or CMake with -D";
    for (const char* rung : {"cuda.generated", "cuda.none"}) {
      EXPECT_EQ(refusal(rung), "not_built: rung '" + std::string(rung) + "'" + no_cuda + "UPSWEEP_CUDA=ON");
    }
  }
}

TEST(Query, FunctionsOfListsInMemory) {
  const Longs offsets{2, 4, 4, 7, 8};  // need not begin at 0, nor use all elements
  const std::vector<double> x{99, 99, 1, 31, 5, 40, 50, 30.5, 99};
  const Longs k{1, 1, 2, 2};
  MemoryTable t;
  t.add_lists("x", offsets, x).add("k", k);
  EXPECT_EQ(ask("SELECT SUM(list_sum(list_filter(x, e -> e > 30))), COUNT(*) FROM t WHERE len(x) >= 1", t), "151.5|3");
  EXPECT_EQ(ask("SELECT k, SUM(len(x)), MIN(x[1]), MAX(x[-1]) FROM t GROUP BY k", t), "1|2|1|31;2|4|5|50");
  EXPECT_EQ(ask("SELECT len(x), COUNT(*) FROM t GROUP BY len(x) ORDER BY 1", t), "0|1;1|1;2|1;3|1");
  EXPECT_EQ(ask("SELECT SUM(list_sum(list_transform(x, lambda e, i: e * i + k))) FROM t", t), "338.5");

  const std::vector<std::uint8_t> rows = bits({true, false, true, true});
  const std::vector<std::uint8_t> there = bits({true, true, false, true, true, true, false, true, true});
  MemoryTable nulls;
  nulls.add_lists({.name = "x", .kind = ValueKind::real, .storage = Storage::float64}, offsets,
                  {.values = x.data(), .validity = there.data()}, std::ssize(x), rows.data());
  EXPECT_EQ(
      ask("SELECT COUNT(len(x)), SUM(len(x)), SUM(list_count(x)), SUM(list_sum(x)), COUNT(x[1]) FROM nulls", nulls),
      "3|6|4|106.5|2");
  const std::vector<std::uint8_t> flags = bits({true, false, true});
  const Longs ends{0, 1, 3};
  MemoryTable booleans;
  booleans.add_lists({.name = "b", .kind = ValueKind::boolean, .storage = Storage::bit}, ends, {.values = flags.data()},
                     3);
  EXPECT_EQ(ask("SELECT SUM(CASE WHEN list_bool_and(b) THEN 10 WHEN b[2] THEN 1 END) FROM booleans", booleans), "11");
}

TEST(Query, SumsOfListsThatDoNotFitAreErrorsAtTheirRow) {
  const Longs offsets{0, 2, 4, 5};
  const Longs y{kMax, 1, kMin, -1, 7};
  const Longs i{0, 1, 2};
  MemoryTable t;
  t.add_lists("y", offsets, y).add("i", i);
  EXPECT_EQ(ask("SELECT MAX(list_sum(y)), MIN(list_sum(y)), SUM(list_sum(y)) FROM t", t),
            "9223372036854775808|-9223372036854775809|6");
  for (const char* sql : {"SELECT SUM(list_sum(list_transform(y, e -> e - 1))) FROM t WHERE i > 0",
                          "SELECT SUM(list_min(list_transform(y, e -> -e))) FROM t",
                          "SELECT SUM(len(list_filter(y, e -> e * 2 < 0))) FROM t WHERE i <> 0"}) {
    const Failure failed = failure(sql, t);
    EXPECT_EQ(failed.code, Code::overflow) << sql << ": " << failed.message;
    EXPECT_EQ(failed.index, 1) << sql;
  }
  EXPECT_EQ(failure("SELECT SUM(list_sum(list_transform(y, e -> 1 / (e - 7)))) FROM t WHERE i = 2", t).code,
            Code::division_by_zero);
  EXPECT_EQ(ask("SELECT SUM(list_sum(list_transform(y, e -> e + 1))) FROM t WHERE i = 2", t), "8");
}

// Threads complete the batches of a table, whose float sums have the same bits for any number of threads.
TEST(Query, FunctionsOfListsHaveTheSameBitsOnAnyNumberOfThreads) {
  constexpr std::int64_t kRows = 300'000;
  Longs offsets{0};
  std::vector<double> x;
  Longs k;
  for (std::int64_t row = 0; row < kRows; ++row) {
    for (std::int64_t i = 0; i < row % 5; ++i) x.push_back(1.0 / static_cast<double>(1 + row * 5 + i));
    offsets.push_back(std::ssize(x));
    k.push_back(row % 3);
  }
  MemoryTable t;
  t.add_lists("x", offsets, x).add("k", k);
  const std::string sql =
      "SELECT k, SUM(list_sum(list_filter(x, e -> e < 0.001))), COUNT(*), SUM(len(x)) FROM t WHERE len(x) > 1 GROUP BY "
      "k";
  const std::string expected = ask(sql, t, seq);
  EXPECT_NE(expected.find("|60000|"), std::string::npos) << expected;
  for (const int threads : {2, 3, 8}) EXPECT_EQ(ask(sql, t, par.with_threads(threads)), expected) << threads;
}

TEST(Query, ListsOutsideTheirElementsAreRefused) {
  const std::vector<double> x{1, 2, 3};
  const auto index_of = [&](const Longs& offsets) {
    try {
      MemoryTable().add_lists("x", offsets, x);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid_argument);
      return error.index();
    }
    return std::int64_t{-7};
  };
  EXPECT_EQ(index_of({0, 2, 1, 3}), 1);
  EXPECT_EQ(index_of({-1, 2}), 0);
  EXPECT_EQ(index_of({0, 1, 4}), 1);
  EXPECT_EQ(index_of({3, 3}), -7);
  EXPECT_EQ(index_of({}), kNoIndex);
  const Longs i{1, 2};
  const Longs offsets{0, 1, 3};
  MemoryTable t;
  t.add("i", i);
  EXPECT_THROW(t.add_lists("x", {0, 1, 2, 3}, x), Error);
  const Field text{.name = "x", .kind = ValueKind::text, .storage = Storage::int32};
  EXPECT_THROW(t.add_lists(text, offsets, {.values = x.data()}, 3), Error);
  t.add_lists("x", offsets, x);
  const Failure failed = failure("SELECT SUM(x) FROM t", t);
  EXPECT_EQ(failed.code, Code::unsupported_type);
  EXPECT_NE(failed.message.find("list_sum(x)"), std::string::npos) << failed.message;
  const Query query("SELECT SUM(list_sum(x)) FROM t", t);
  MemoryTable other;
  const std::vector<std::int32_t> integers{1, 2, 3};
  other.add("i", i).add_lists("x", offsets, integers);
  EXPECT_THROW((void)query.run(par, other), Error);  // its elements have another type
}

}  // namespace
}  // namespace upsweep
