// SPDX-License-Identifier: Apache-2.0
// tests/spill_test.cpp: GROUP BY with more groups than its memory holds: the same answer through a temporary file, cell
// by cell, and errors of that file.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "patterns.hpp"
#include "sql/query/bind.hpp"
#include "sql/query/carry.hpp"
#include "sql/query/group_coder.hpp"
#include "sql/query/group_merge.hpp"
#include "sql/query/sql.hpp"
#include "sql/query/totals.hpp"
#include "temporary_folder.hpp"
#include "upsweep/error.hpp"
#include "upsweep/machine.hpp"
#include "upsweep/query.hpp"

namespace upsweep {
namespace {

using Longs = std::vector<std::int64_t>;

constexpr std::size_t kRows = tests::kSanitized ? 70'000 : 150'000;
constexpr std::int64_t kEnough = std::int64_t{8} << 30;

/// So small that every partition is written to the file, and is divided there.
constexpr std::int64_t kNothing = 1;
/// So small that some partitions are written.
constexpr std::int64_t kSome = tests::kSanitized ? 23 << 20 : 24 << 20;

QueryMemory memory_of(std::int64_t group_bytes, const std::string& folder = {}) {
  return {.bytes = kEnough, .group_bytes = group_bytes, .spill_folder = folder};
}

/// Rows of every type. For some keys all rows are different groups, for others most rows or few.
struct Rows {
  Longs own;   ///< all different
  Longs many;  ///< some hundred thousand values, far from each other
  Longs few;
  Longs runs;  ///< ascending
  Longs x;
  Longs cents;
  std::vector<double> f;
  std::vector<std::int32_t> day;
  std::vector<std::int32_t> word;
  std::vector<std::int32_t> other_word;
  std::vector<std::string> words;
  std::vector<std::uint8_t> flags;     ///< bits
  std::vector<std::uint8_t> validity;  ///< likewise

  explicit Rows(std::size_t n) : flags(n / 8 + 1), validity(n / 8 + 1) {
    std::mt19937_64 random(n);
    const auto below = [&](std::uint64_t end) { return static_cast<std::int64_t>(random() % end); };
    for (std::size_t i = 0; i < n / 2; ++i) words.push_back(std::string(i % 50, 'w') + std::to_string(i * 7));
    for (std::size_t i = 0; i < n; ++i) {
      own.push_back(static_cast<std::int64_t>(i * 7919 % n));
      many.push_back((below(n) - static_cast<std::int64_t>(n / 2)) * 922'337'203'685);
      few.push_back(below(7));
      runs.push_back(static_cast<std::int64_t>(i / 3 * 5));
      x.push_back(static_cast<std::int64_t>(random() >> 2) - (std::int64_t{1} << 61));
      cents.push_back(below(1'000'000) - 500'000);
      f.push_back(static_cast<double>(random() >> 11) * 0x1p-30 - 0x1p22);
      day.push_back(static_cast<std::int32_t>(below(20'000)));
      word.push_back(static_cast<std::int32_t>(below(words.size())));
      other_word.push_back(static_cast<std::int32_t>(below(words.size())));
      if (below(2) != 0) flags[i / 8] |= static_cast<std::uint8_t>(1 << (i % 8));
      if (below(7) != 0) validity[i / 8] |= static_cast<std::uint8_t>(1 << (i % 8));
    }
  }
};

class Spill : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    made_rows = new Rows(kRows);
    made_table = new MemoryTable;
    made_table->add("own", made_rows->own)
        .add("many", made_rows->many)
        .add("few", made_rows->few)
        .add("runs", made_rows->runs)
        .add("x", made_rows->x);
    made_table->add("f", made_rows->f).add_decimal("cents", made_rows->cents, 2).add_dates("day", made_rows->day);
    made_table->add_text("word", made_rows->word, made_rows->words)
        .add_text("other", made_rows->other_word, made_rows->words);
    made_table->add(Field{.name = "flag", .kind = ValueKind::boolean, .storage = Storage::bit}, made_rows->flags.data(),
                    kRows);
    made_table->add(Field{.name = "maybe"}, made_rows->many.data(), kRows, made_rows->validity.data());
    made_table->add(Field{.name = "perhaps", .kind = ValueKind::real, .storage = Storage::float64}, made_rows->f.data(),
                    kRows, made_rows->validity.data());
  }
  static void TearDownTestSuite() {
    delete made_table;
    delete made_rows;
  }

  static Answer run(const std::string& sql, int threads, const QueryMemory& memory) {
    return Query(sql, *made_table).run(par.with_threads(threads), *made_table, {}, memory);
  }
  /// Returns the error of a query, which must fail.
  static Error error_of(const std::string& sql, int threads, const QueryMemory& memory) {
    try {
      (void)run(sql, threads, memory);
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "no error: " << sql;
    return {Code::ok, ""};
  }

  static Rows* made_rows;
  static MemoryTable* made_table;
};
Rows* Spill::made_rows = nullptr;
MemoryTable* Spill::made_table = nullptr;

/// Checks that the answer has the rows `order` of the expected answer.
void expect_rows(const Answer& expected, const std::vector<std::size_t>& order, const Answer& answer,
                 const std::string& what) {
  ASSERT_EQ(answer.rows.size(), order.size()) << what;
  EXPECT_EQ(answer.groups, expected.groups) << what;
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t c = 0; c < answer.columns.size(); ++c) {
      const Cell a = expected.rows[order[i]][c];
      const Cell b = answer.rows[i][c];
      ASSERT_TRUE(a.null == b.null && a.exact == b.exact && a.word == b.word &&
                  std::bit_cast<std::uint64_t>(a.real) == std::bit_cast<std::uint64_t>(b.real))
          << what << ": row " << i << ", column " << c << ": " << text(expected.columns[c], a) << ", not "
          << text(expected.columns[c], b);
    }
  }
}

std::vector<std::size_t> row_numbers(const Answer& answer) {
  std::vector<std::size_t> numbers(answer.rows.size());
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  return numbers;
}

void expect_same(const Answer& expected, const Answer& answer, const std::string& what) {
  expect_rows(expected, row_numbers(expected), answer, what);
}

std::vector<int> thread_counts() {
  if (tests::kSanitized) return {3};
  return {1, 2, 7};
}

TEST_F(Spill, GivesTheSameAnswer) {
  const std::string numbers = "SUM(x), COUNT(*), SUM(f), MIN(x), MAX(f), AVG(cents), SUM(cents)";
  const std::vector<std::string> queries{
      "SELECT own, " + numbers + " FROM t GROUP BY own",
      "SELECT many, " + numbers + " FROM t GROUP BY many",
      "SELECT runs, " + numbers + " FROM t GROUP BY runs",
      "SELECT runs, SUM(x), COUNT(*) FROM t GROUP BY runs",
      "SELECT maybe, COUNT(maybe), SUM(perhaps), MIN(perhaps), COUNT(*) FROM t GROUP BY maybe",
      "SELECT word, SUM(f), COUNT(*) FROM t GROUP BY word",
      "SELECT word, few, SUM(f), MIN(other), MAX(other), MIN(day) FROM t GROUP BY word, few",
      "SELECT many, MIN(word), MAX(word) FROM t GROUP BY many",
      "SELECT cents, day, MAX(maybe), SUM(f) FROM t GROUP BY cents, day",
      "SELECT flag, maybe, SUM(f), MAX(day) FROM t GROUP BY flag, maybe",
      "SELECT other, word, own FROM t GROUP BY word, own, other",
      "SELECT few, flag, " + numbers + " FROM t GROUP BY few, flag",
      "SELECT " + numbers + " FROM t",
  };
  for (const std::string& sql : queries) {
    const Answer expected = run(sql, 1, {});
    EXPECT_EQ(expected.bytes_spilled, 0);
    for (const int threads : thread_counts()) {
      for (const std::int64_t bytes : {kNothing, kSome}) {
        const Answer answer = run(sql, threads, memory_of(bytes));
        if (expected.rows.size() < 100) {
          EXPECT_EQ(answer.bytes_spilled, 0) << sql;
        } else if (bytes == kNothing) {
          EXPECT_GT(answer.bytes_spilled, 0) << sql;
        }
        expect_same(expected, answer, sql);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(Spill, WritesSomePartsAndKeepsOthers) {
  // On one thread: the number of bytes that several threads write depends on their timing.
  const std::string sql = "SELECT own, SUM(x), SUM(f), COUNT(*), MIN(x), MAX(x) FROM t GROUP BY own ORDER BY 2 LIMIT 9";
  const std::int64_t all = run(sql, 1, memory_of(kNothing)).bytes_spilled;
  const std::int64_t some = run(sql, 1, memory_of(kSome)).bytes_spilled;
  EXPECT_GT(some, 0);
  EXPECT_LT(some, all / 2);
}

TEST_F(Spill, OrdersAndCutsOffAsEver) {
  const std::vector<std::string> ends{
      "ORDER BY 2 DESC, 1 LIMIT 20",
      "ORDER BY 3, 1 DESC LIMIT 7",
      "ORDER BY 4 DESC LIMIT 40000",
      "ORDER BY 5 LIMIT 3000",
      "ORDER BY 1",
      "ORDER BY 4, 1 DESC LIMIT 10000000",
      "LIMIT 20",
      "LIMIT 0",
      "ORDER BY 2 LIMIT 0",
      "LIMIT 5000",
      "LIMIT 10000000",
      "ORDER BY 1 NULLS FIRST LIMIT 3",
      "LIMIT 1",
      "ORDER BY 3 DESC, 4, 5 LIMIT 1",
  };
  for (const std::string& end : ends) {
    const std::string sql = "SELECT maybe, SUM(f), COUNT(*), MIN(word), MAX(other) FROM t GROUP BY maybe " + end;
    // All rows, ordered and limited here.
    const Answer expected = run(sql, 1, {});
    for (const int threads : {1, 7}) {
      const Answer kept = run(sql, threads, {});
      expect_same(expected, kept, sql);
      const Answer spilled = run(sql, threads, memory_of(kNothing));
      EXPECT_GT(spilled.bytes_spilled, 0);
      expect_same(expected, spilled, sql);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

/// The first rows must be those of a plain sort of all rows.
TEST_F(Spill, LimitTakesTheFirstOfAllRows) {
  const std::string sql = "SELECT many, SUM(f), COUNT(*) FROM t GROUP BY many ";
  const Answer all = run(sql, 1, {});
  const std::vector<std::size_t> in_order = row_numbers(all);
  std::vector<std::size_t> sorted = in_order;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](std::size_t a, std::size_t b) { return all.rows[a][2].exact > all.rows[b][2].exact; });
  for (const std::size_t limit : {std::size_t{1}, std::size_t{100}, std::size_t{20'000}}) {
    const auto first = [&](const std::vector<std::size_t>& rows) {
      return std::vector(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(limit));
    };
    for (const QueryMemory& memory : {QueryMemory{}, memory_of(kNothing)}) {
      const std::string end = "LIMIT " + std::to_string(limit);
      std::string ordered = sql;
      ordered += "ORDER BY 3 DESC " + end;
      expect_rows(all, first(sorted), run(ordered, 2, memory), "ordered");
      expect_rows(all, first(in_order), run(sql + end, 2, memory), "in order of first rows");
    }
  }
}

TEST_F(Spill, ReportsTheFirstGroupThatFails) {
  // The group in the middle divides by zero, and so do some later ones.
  const std::size_t half = kRows / 2;
  for (const char* const end : {"", " ORDER BY 1 LIMIT 3"}) {
    const std::string sql = "SELECT own, 1 / (CASE WHEN own = " + std::to_string(made_rows->own[half]) +
                            " OR own = " + std::to_string(made_rows->own[half + 1]) +
                            " OR own = " + std::to_string(made_rows->own[kRows - 1]) +
                            " THEN 0 ELSE COUNT(*) END) FROM t GROUP BY own" + end;
    for (const QueryMemory& memory : {QueryMemory{}, memory_of(kNothing)}) {
      for (const int threads : thread_counts()) {
        const Error error = error_of(sql, threads, memory);
        EXPECT_EQ(error.code(), Code::division_by_zero);
        EXPECT_EQ(error.index(), static_cast<std::int64_t>(half));
        EXPECT_NE(std::string(error.what()).find("in group " + std::to_string(half)), std::string::npos)
            << error.what();
      }
    }
    // Without ORDER BY, only the rows that the answer contains are computed.
    EXPECT_EQ(run(sql.substr(0, sql.find(" ORDER")) + " LIMIT 5", 2, memory_of(kNothing)).rows.size(), 5U);
  }
}

TEST_F(Spill, RefusesAnAnswerThatMemoryDoesNotHold) {
  for (const char* const end : {"", " ORDER BY 2", " LIMIT 60000", " ORDER BY 2 LIMIT 60000"}) {
    std::string sql = "SELECT own";
    for (int column = 0; column < 16; ++column) sql += ", SUM(x)";
    sql += " FROM t GROUP BY own";
    sql += end;
    const Error error = error_of(sql, 2, {.bytes = 4 << 20});
    EXPECT_EQ(error.code(), Code::out_of_memory) << sql;
    EXPECT_NE(std::string(error.what()).find("LIMIT"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("QueryMemory::bytes"), std::string::npos) << error.what();
  }
  EXPECT_EQ(run("SELECT own, SUM(x) FROM t GROUP BY own LIMIT 9", 2, {.bytes = 4 << 20}).rows.size(), 9U);
}

TEST_F(Spill, AnswersOfTextTakeWhatMemoryThereIs) {
  // If memory cannot hold all rows in addition to all groups, rows are made partition by partition, and groups are
  // freed at the same time.
  std::vector<std::string> texts;
  std::vector<std::int32_t> entries;
  for (std::int32_t i = 0; i < 20'000; ++i) {
    texts.push_back(std::to_string(i) + std::string(150, 'x'));
    entries.push_back(i);
  }
  MemoryTable table;
  table.add_text("k", entries, texts);
  const Query query("SELECT k, COUNT(*) FROM t GROUP BY k", table);
  const Answer expected = query.run(par.with_threads(2), table);
  ASSERT_EQ(expected.rows.size(), texts.size());
  int refused = 0;
  int answered = 0;
  for (std::int64_t megabytes = 1; megabytes <= 24; ++megabytes) {
    try {
      const Answer answer =
          query.run(par.with_threads(2), table, {}, {.bytes = megabytes << 20, .group_bytes = kEnough});
      expect_same(expected, answer, std::to_string(megabytes) + " MB");
      ++answered;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::out_of_memory);
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(answered, 0);
}

TEST_F(Spill, RefusesNegativeMemory) {
  EXPECT_EQ(error_of("SELECT COUNT(*) FROM t", 1, {.bytes = -1}).code(), Code::invalid_argument);
  EXPECT_EQ(error_of("SELECT COUNT(*) FROM t", 1, {.group_bytes = -1}).code(), Code::invalid_argument);
}

constexpr const char* kOwn = "SELECT own, SUM(x), SUM(f) FROM t GROUP BY own ORDER BY 2 LIMIT 3";

TEST_F(Spill, NamesAFolderThatIsNone) {
  const tests::TemporaryFolder folder;
  const std::string file = (folder.path() / "file").string();
  ::close(::creat(file.c_str(), 0600));
  for (const std::string& name : {(folder.path() / "missing").string(), file}) {
    // A folder that the user names must exist, even if it is not needed.
    for (const std::int64_t bytes : {kNothing, kEnough}) {
      const Error error = error_of(kOwn, 2, memory_of(bytes, name));
      EXPECT_EQ(error.code(), Code::not_found);
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("spill_folder"), std::string::npos) << error.what();
    }
  }
  const Error error = error_of(kOwn, 2, memory_of(kNothing, "/sys"));  // where even root cannot create files
  EXPECT_EQ(error.code(), Code::unwritable) << error.what();
}

TEST_F(Spill, LeavesNothing) {
  const tests::TemporaryFolder folder;
  std::atomic<int> calls = 0;
  const QueryProgress look = [&](std::int64_t) {
    ++calls;
    ASSERT_TRUE(std::filesystem::is_empty(folder.path()));
  };
  const Query query(kOwn, *made_table);
  const Answer answer = query.run(par.with_threads(2), *made_table, look, memory_of(kNothing, folder.path()));
  EXPECT_GT(answer.bytes_spilled, 0);
  EXPECT_GT(calls, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST_F(Spill, EndsWhereProgressThrows) {
  const tests::TemporaryFolder folder;
  int calls_at_the_end = 0;
  const QueryProgress progress = [&](std::int64_t rows) {
    // The first such call is that of the last chunk; later ones are made while partitions are read again.
    if (rows == static_cast<std::int64_t>(kRows) && ++calls_at_the_end >= 3) throw Error(Code::interrupted, "enough");
  };
  const Query query(kOwn, *made_table);
  try {
    (void)query.run(par.with_threads(2), *made_table, progress, memory_of(kNothing, folder.path()));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::interrupted);
  }
  EXPECT_GE(calls_at_the_end, 3);
  EXPECT_LE(calls_at_the_end, 4);  // the other thread may make one more call before it sees the error
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

/// A limit of the process, which makes write() fail as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit now = before_;
    now.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
};

TEST_F(Spill, SaysHowMuchAFullDiskHasTaken) {
  const tests::TemporaryFolder folder;
  const std::string name = folder.path().string();
  // With these sums a partition needs more memory than any thread may use, even under a sanitizer: it is divided.
  std::string sums = "SELECT own";
  for (int i = 0; i < 16; ++i) sums += ", SUM(x - " + std::to_string(i) + ")";
  sums += " FROM t GROUP BY own ORDER BY 2 LIMIT 3";
  const auto require_disk_full = [&](int threads, const QueryProgress& progress) {
    try {
      (void)Query(sums, *made_table).run(par.with_threads(threads), *made_table, progress, memory_of(kNothing, name));
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::disk_full) << error.what();
      const std::string what = error.what();
      for (const char* const message : {name.c_str(), "were written to a temporary file", "QueryMemory::spill_folder",
                                        "QueryMemory::bytes", "free disk space"}) {
        EXPECT_NE(what.find(message), std::string::npos) << what;
      }
    }
  };
  constexpr rlim_t kLimit = 1 << 16;
  for (const int threads : thread_counts()) {
    {
      SCOPED_TRACE("while rows are read");
      const FileSizeLimit limit(kLimit);
      require_disk_full(threads, {});
    }
    {
      SCOPED_TRACE("while a part is divided");
      // The number of written bytes depends on the threads' timing. So the disk becomes full at a call that is made
      // while partitions are read again. The first of these calls is that of the last chunk.
      std::optional<FileSizeLimit> limit;
      int calls_at_the_end = 0;
      require_disk_full(threads, [&](std::int64_t rows) {
        if (rows == static_cast<std::int64_t>(kRows) && ++calls_at_the_end == 2) limit.emplace(kLimit);
      });
      EXPECT_TRUE(limit.has_value());
    }
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

// --------------------------------------------------------------------------------------------------- partitions, alone

struct Bound {
  MemoryTable table;
  query::QueryPlan plan;

  explicit Bound(const std::string& sql) {
    table.add("k", Longs{}).add("j", Longs{}).add("x", Longs{}).add("f", std::vector<double>{});
    table.add_text("w", {}, {}).add_text("v", {}, {});
    plan = query::bind(sql, query::parse(sql), "t", table.fields());
  }
};

/// The groups of a chunk: keys and their states.
query::Groups groups_of(const Bound& bound, std::span<const std::int64_t> keys, double value) {
  query::Groups groups(bound.plan);
  for (const std::int64_t key : keys) {
    const Int128 exact = key;
    const std::uint8_t not_null = 0;
    query::State state;
    state.set_real(value);
    state.count = 1;
    groups.set_state(groups.find(&exact, &not_null), 0, state);
  }
  return groups;
}

/// In another order the sum of these values differs.
double value_of(int piece) {
  constexpr double kValues[] = {1e16, 1.0, -9e15, 0.3, 7.7e15};
  return kValues[piece % std::ssize(kValues)];
}

/// Totals of chunks, each of which contains all of the keys.
std::unique_ptr<query::Totals> totals_of(const Bound& bound, const Longs& keys, int pieces, std::int64_t most_bytes,
                                         const std::string& folder) {
  auto totals = std::make_unique<query::Totals>(bound.plan, most_bytes, folder);
  for (int piece = 0; piece < pieces; ++piece) {
    query::Groups groups = groups_of(bound, keys, value_of(piece));
    totals->add(totals->chunk_of(groups));
    totals->merge_some();
  }
  totals->merge_all();
  return totals;
}

Longs some_keys(std::int64_t count) {
  Longs keys;
  for (std::int64_t i = 0; i < count; ++i) keys.push_back(i * 1'000'003);
  return keys;
}

TEST(SpilledPartitions, AreMergedInTheOrderOfTheirPieces) {
  const Bound bound("SELECT k, SUM(f) FROM t GROUP BY k");
  const Longs keys = some_keys(20'000);
  constexpr int kPieces = 23;
  double expected = 0;
  for (int piece = 0; piece < kPieces; ++piece) expected += value_of(piece);
  // The sum in another order must differ, otherwise the test would not detect the order.
  double turned = 0;
  for (int piece = kPieces - 1; piece >= 0; --piece) turned += value_of(piece);
  ASSERT_NE(expected, turned);
  for (const std::int64_t bytes : {kNothing, std::int64_t{3} << 20, kEnough}) {
    const tests::TemporaryFolder folder;
    const auto totals = totals_of(bound, keys, kPieces, bytes, folder.path());
    EXPECT_EQ(totals->has_spilled(), bytes != kEnough);
    std::atomic<std::int64_t> count = 0;
    std::atomic<std::int64_t> wrong = 0;
    totals->use_partitions(2,
                           [&](const query::Groups& groups, std::span<const std::uint64_t> first) {
                             count += groups.count();
                             for (std::int64_t g = 0; g < groups.count(); ++g) {
                               // All groups are in the first chunk, in its order.
                               const auto at = first[static_cast<std::size_t>(g)];
                               const bool is_right = groups.state(g, 0).real() == expected &&
                                                     groups.state(g, 0).count == kPieces &&
                                                     groups.key(g, 0) == keys[at];
                               if (!is_right) ++wrong;
                             }
                             if (!std::is_sorted(first.begin(), first.end())) ++wrong;
                           },
                           {});
    EXPECT_EQ(count, std::ssize(keys));
    EXPECT_EQ(wrong, 0);
    for (const std::int64_t place : {0, 1, 19'999, 20'000}) {
      EXPECT_EQ(totals->count_before(static_cast<std::uint64_t>(place), 2), place);
    }
  }
}

/// The last group of each chunk is also the first of the next one.
TEST(SpilledPartitions, OfPiecesThatAscend) {
  const Bound bound("SELECT k, SUM(f) FROM t GROUP BY k");
  const Longs keys = some_keys(20'001);
  constexpr std::size_t kEach = 4000;
  for (const std::int64_t bytes : {kNothing, std::int64_t{1} << 20, kEnough}) {
    const tests::TemporaryFolder folder;
    query::Totals totals(bound.plan, bytes, folder.path().string());
    for (std::size_t first = 0; first + 1 < keys.size(); first += kEach) {
      query::Groups groups = groups_of(bound, std::span(keys).subspan(first, kEach + 1), first == 0 ? 1 : 3);
      totals.add(totals.chunk_of(groups));
      totals.merge_some();
    }
    totals.merge_all();
    EXPECT_EQ(totals.count(), bytes == kEnough ? std::ssize(keys) : -1);
    std::mutex changing;
    std::map<std::uint64_t, std::pair<std::int64_t, double>> found;
    totals.use_partitions(2,
                          [&](const query::Groups& groups, std::span<const std::uint64_t> first) {
                            const std::lock_guard lock(changing);
                            EXPECT_EQ(std::ssize(first), groups.count());
                            EXPECT_TRUE(std::is_sorted(first.begin(), first.end()));
                            for (std::int64_t g = 0; g < groups.count(); ++g) {
                              found[first[static_cast<std::size_t>(g)]] = {static_cast<std::int64_t>(groups.key(g, 0)),
                                                                           groups.state(g, 0).real()};
                            }
                          },
                          {});
    ASSERT_EQ(found.size(), keys.size());
    std::size_t at = 0;
    for (const auto& [place, group] : found) {
      EXPECT_EQ(group.first, keys[at]);
      const bool is_in_two = at % kEach == 0 && at > 0 && at + 1 < keys.size();
      EXPECT_EQ(group.second, at < kEach ? 1 : is_in_two ? (at == kEach ? 4 : 6) : 3) << at;
      if (at % 2000 < 2) {
        EXPECT_EQ(totals.count_before(place, 2), static_cast<std::int64_t>(at));
      }
      ++at;
    }
  }
}

TEST(SpilledPartitions, AreDividedUntilTheyFit) {
  const Bound bound("SELECT k, SUM(f) FROM t GROUP BY k");
  const std::int64_t count = tests::kSanitized ? 400'000 : 1'000'000;
  const Longs keys = some_keys(count);
  for (const int threads : {1, 3}) {
    const tests::TemporaryFolder folder;
    query::Totals totals(bound.plan, kNothing, folder.path().string());
    for (std::size_t first = 0; first < keys.size(); first += 50'000) {
      query::Groups groups = groups_of(bound, std::span(keys).subspan(first, 50'000), 1);
      totals.add(totals.chunk_of(groups));
      totals.merge_some();
    }
    totals.merge_all();
    std::mutex changing;
    std::int64_t all = 0;
    std::int64_t largest = 0;
    std::set<Int128> seen;
    totals.use_partitions(threads,
                          [&](const query::Groups& groups, std::span<const std::uint64_t>) {
                            const std::lock_guard lock(changing);
                            all += groups.count();
                            largest = std::max(largest, groups.count());
                            for (std::int64_t g = 0; g < groups.count(); ++g) seen.insert(groups.key(g, 0));
                          },
                          {});
    EXPECT_EQ(all, count);
    EXPECT_EQ(std::ssize(seen), count);
    EXPECT_LT(largest, 4000);  // a 64th of all would be at least 6,250
    EXPECT_EQ(totals.bytes() < (1 << 20), true);
  }
}

/// Returns the descriptor of the file in this folder that has been unlinked.
int descriptor_in(const std::string& folder) {
  for (int fd = 3; fd < 1024; ++fd) {
    char target[4096];
    const ssize_t length = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), target, sizeof target);
    if (length > 0 && std::string(target, static_cast<std::size_t>(length)).starts_with(folder)) return fd;
  }
  return -1;
}

TEST(SpilledPartitions, ThatHaveChangedOrAreCutOffAreErrors) {
  const Bound bound("SELECT k, SUM(f) FROM t GROUP BY k");
  const Longs keys = some_keys(10'000);
  const auto use_after = [&](const auto& damage) {
    const tests::TemporaryFolder folder;
    const auto totals = totals_of(bound, keys, 5, kNothing, folder.path());
    // Groups that are still in memory are written when the partitions are first used.
    (void)totals->use_partitions(1, [](const query::Groups&, std::span<const std::uint64_t>) {}, {});
    const int fd = descriptor_in(folder.path());
    ASSERT_GE(fd, 0);
    damage(fd, totals->bytes_spilled());
    try {
      (void)totals->count_before(5, 2);
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::unreadable);
      EXPECT_NE(std::string(error.what()).find(folder.path().string()), std::string::npos) << error.what();
    }
  };
  use_after([](int fd, std::int64_t bytes) { ASSERT_EQ(::ftruncate(fd, bytes - 1), 0); });
  use_after([](int fd, std::int64_t bytes) { ASSERT_EQ(::ftruncate(fd, bytes / 2), 0); });
  for (int i = 0; i < 20; ++i) {
    use_after([i](int fd, std::int64_t bytes) {
      std::uint8_t byte = 0;
      ASSERT_EQ(::pread(fd, &byte, 1, bytes * i / 20), 1);
      byte ^= static_cast<std::uint8_t>(1 << (i % 8));
      ASSERT_EQ(::pwrite(fd, &byte, 1, bytes * i / 20), 1);
    });
  }
}

// ------------------------------------------------------------------------------------------------------ encoded groups

TEST(EncodedGroups, KeepEveryValue) {
  const Bound bound(
      "SELECT k, w, j, SUM(x), SUM(f), MIN(f), MAX(x), MIN(v), COUNT(*), COUNT(x) FROM t GROUP BY k, w, j");
  std::mt19937_64 random(1);
  query::Groups groups(bound.plan);
  detail::Large<std::uint64_t> first;
  constexpr Int128 kMost = std::numeric_limits<std::int64_t>::max();
  const Int128 values[] = {0, 1, -1, kMost, -kMost - 1, kMost * kMost, -kMost * kMost, kMost + 1, 1 << 20};
  const double reals[] = {
      0.0, -0.0, 1.5, -HUGE_VAL, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::denorm_min()};
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const bool is_narrow = i < 5000;  // batches of few bits, and of all
    const auto some = [&]() -> Int128 {
      return is_narrow ? Int128{random() % 50} : values[random() % std::size(values)];
    };
    const std::string long_string(i == 5000 ? 3 << 20 : random() % 30, 'x');
    const std::uint8_t nulls[] = {static_cast<std::uint8_t>(random() % 5 == 0 ? 1 : 0),
                                  static_cast<std::uint8_t>(random() % 5 == 0 ? 1 : 0), 0};
    const Int128 key[] = {
        nulls[0] != 0 ? 0 : some(),
        nulls[1] != 0 ? 0 : groups.string_key(long_string + std::to_string(random() % (is_narrow ? 9 : 1'000'000))),
        Int128{i}};
    const std::int64_t g = groups.find(key, nulls);
    first.push_back(i * i * (random() % 2 == 0 ? 1 : 1 << 20) + (first.empty() ? 0 : first.back()));
    const auto some_state = [&](const query::Aggregate& aggregate) {
      query::State state;
      state.count = static_cast<std::int64_t>(random() % 3);
      if (state.count == 0) return state;
      if (aggregate.fold == query::Fold::count || aggregate.fold == query::Fold::count_rows) return state;
      if (aggregate.type.kind == ValueKind::real) {
        state.set_real(reals[random() % std::size(reals)]);
      } else if (aggregate.type.kind == ValueKind::text) {
        state.exact = groups.entry("v" + std::to_string(random() % 1000));
      } else {
        state.exact = some();
        if (aggregate.fold == query::Fold::sum && !is_narrow) {
          state.set_high(static_cast<std::int64_t>(random() % 3) - 1);
        }
      }
      return state;
    };
    for (std::size_t a = 0; a < bound.plan.aggregates.size(); ++a) {
      groups.set_state(g, a, some_state(bound.plan.aggregates[a]));
    }
  }
  ASSERT_EQ(groups.count(), 10'000);
  std::vector<std::byte> bytes;
  query::GroupEncoder(bound.plan).append(groups, 0, groups.count(), first.data(), bytes);
  const std::size_t size = bytes.size();
  bytes.resize(size + query::kAfterBatches);
  query::Groups read(bound.plan);
  detail::Large<std::uint64_t> read_first;
  query::GroupDecoder reader(bound.plan);
  int batches = 0;
  for (std::size_t at = 0; at < size; ++batches) {
    const std::size_t taken = reader.read(std::span(bytes).subspan(at, size - at), read, read_first);
    ASSERT_GT(taken, 0U);
    at += taken;
  }
  EXPECT_EQ(batches, 4);  // the long string ends one
  ASSERT_EQ(read.count(), groups.count());
  EXPECT_EQ(read_first, first);
  for (std::int64_t g = 0; g < groups.count(); ++g) {
    EXPECT_EQ(read.hash(g), groups.hash(g));
    for (std::size_t k = 0; k < bound.plan.keys.size(); ++k) {
      ASSERT_EQ(read.key_is_null(g, k), groups.key_is_null(g, k));
      if (bound.plan.keys[k]->type.kind == ValueKind::text && !groups.key_is_null(g, k)) {
        ASSERT_TRUE(read.key_string(g, k) == groups.key_string(g, k)) << g;
      } else {
        ASSERT_TRUE(read.key(g, k) == groups.key(g, k)) << g << ", key " << k;
      }
    }
    for (std::size_t a = 0; a < bound.plan.aggregates.size(); ++a) {
      const query::State x = groups.state(g, a);
      const query::State y = read.state(g, a);
      ASSERT_EQ(x.count, y.count);
      ASSERT_EQ(x.high(), y.high()) << g << ", aggregate " << a;
      if (bound.plan.aggregates[a].type.kind == ValueKind::text && x.count > 0) {
        ASSERT_EQ(groups.text(x.exact), read.text(y.exact));
      } else {
        ASSERT_TRUE(x.exact == y.exact) << g << ", aggregate " << a;
      }
    }
  }
  // Bytes that end too early, or were changed, contain no groups.
  query::Groups none(bound.plan);
  read_first.clear();
  for (const std::size_t end : {std::size_t{0}, std::size_t{5}, std::size_t{100}}) {
    EXPECT_EQ(reader.read(std::span(bytes).first(end), none, read_first), 0U);
  }
  bytes[60] ^= std::byte{1};
  EXPECT_EQ(reader.read(std::span(bytes).first(size), none, read_first), 0U);
}

TEST(EncodedGroups, HaveNoValuesThatTheirPlanCannotHave) {
  const Bound bound("SELECT w, x > 0, SUM(x), MIN(v), COUNT(*), SUM(f) FROM t GROUP BY w, x > 0");
  const auto is_read = [&](const auto& change) {
    query::Groups groups(bound.plan);
    Int128 key[] = {groups.string_key("a short text"), 1};
    std::uint8_t nulls[] = {0, 0};
    query::State states[4];
    for (query::State& state : states) state.count = 2;
    states[0].exact = 5;
    states[1].exact = groups.entry("another text");
    states[3].set_real(0.5);
    change(groups, key, nulls, states);
    groups.append(key, nulls);
    for (std::size_t a = 0; a < std::size(states); ++a) groups.set_state(0, a, states[a]);
    std::vector<std::byte> bytes;
    const std::uint64_t first = 0;
    query::GroupEncoder(bound.plan).append(groups, 0, 1, &first, bytes);
    const std::size_t size = bytes.size();
    bytes.resize(size + query::kAfterBatches);
    query::Groups read(bound.plan);
    detail::Large<std::uint64_t> places;
    return query::GroupDecoder(bound.plan).read(std::span(bytes).first(size), read, places) == size;
  };
  EXPECT_TRUE(is_read([](auto&, auto*, auto*, auto*) {}));
  EXPECT_TRUE(
      is_read([](auto& groups, auto* key, auto*, auto*) { key[0] = groups.string_key("a text of more letters"); }));
  EXPECT_TRUE(is_read([](auto&, auto* key, auto* nulls, auto*) { nulls[0] = nulls[1] = 1, key[0] = key[1] = 0; }));
  EXPECT_TRUE(is_read([](auto&, auto*, auto*, auto* states) { states[0].set_high(-2); }));
  EXPECT_FALSE(is_read([](auto&, auto* key, auto*, auto*) { key[1] = 2; })) << "a boolean";
  EXPECT_FALSE(is_read([](auto&, auto*, auto* nulls, auto*) { nulls[1] = 1; })) << "NULL, and a value";
  EXPECT_FALSE(is_read([](auto&, auto*, auto* nulls, auto*) { nulls[0] = 1; })) << "NULL, and a text";
  EXPECT_FALSE(is_read([](auto&, auto* key, auto*, auto*) { key[0] = Int128{16} << 120; })) << "16 letters";
  EXPECT_FALSE(is_read([](auto&, auto* key, auto*, auto*) { key[0] = Int128{1} << 8; })) << "letters after the end";
  EXPECT_FALSE(is_read([](auto& groups, auto* key, auto*, auto*) {
    key[0] = query::long_string_key(groups.append_string("15 letters here"));
  })) << "a short string outside its key";
  EXPECT_FALSE(is_read([](auto&, auto*, auto*, auto* states) { states[2].count = -1; })) << "a count";
  const auto no_rows = [](auto&, auto*, auto*, auto* states) { states[0].count = states[3].count = 0; };
  EXPECT_TRUE(is_read(no_rows));
  EXPECT_FALSE(is_read([](auto&, auto*, auto*, auto* states) { states[0].set_high(3); })) << "more than two rows";
  EXPECT_FALSE(is_read([](auto&, auto*, auto*, auto* states) { states[0].set_high(-3); })) << "more than two rows";
}

TEST(EncodedGroups, MayHaveAnyBytes) {
  const Bound bound("SELECT w, j, x > 0, SUM(x), MIN(v), COUNT(*), MAX(f) FROM t GROUP BY w, j, x > 0");
  std::mt19937_64 random(3);
  query::Groups groups(bound.plan);
  std::vector<std::uint64_t> first;
  for (std::uint64_t i = 0; i < 40; ++i) {
    const Int128 key[] = {groups.string_key(std::string(i, 'x')), (Int128{random()} << 40) + i, Int128{i % 2}};
    const std::uint8_t nulls[] = {0, 0, 0};
    const std::int64_t g = groups.find(key, nulls);
    first.push_back(i);
    for (std::size_t a = 0; a < bound.plan.aggregates.size(); ++a) {
      query::State state;
      state.count = static_cast<std::int64_t>(i);
      if (a == 1 && i > 0) state.exact = groups.entry(std::to_string(i % 7));
      groups.set_state(g, a, state);
    }
  }
  std::vector<std::byte> bytes;
  query::GroupEncoder(bound.plan).append(groups, 0, groups.count(), first.data(), bytes);
  const std::size_t size = bytes.size();
  constexpr std::size_t kHeader = 24;
  query::GroupDecoder reader(bound.plan);
  int taken = 0;
  int refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    // In a separate allocation, so that sanitizers detect reads past its end.
    auto changed = std::make_unique<std::byte[]>(size + query::kAfterBatches);
    std::copy_n(bytes.begin(), size, changed.get());
    const std::uint64_t changes = 1 + random() % 3;
    for (std::uint64_t i = 0; i < changes; ++i) {
      changed[kHeader + random() % (size - kHeader)] ^= static_cast<std::byte>(1 << random() % 8);
    }
    query::seal_batch({changed.get(), size});
    query::Groups read(bound.plan);
    detail::Large<std::uint64_t> places;
    if (reader.read({changed.get(), size}, read, places) != size) {
      ++refused;
      continue;
    }
    ++taken;
    query::Groups merged(bound.plan);
    merge(merged, read);
    for (std::int64_t g = 0; g < merged.count(); ++g) {
      ASSERT_LE(merged.key_string(g, 0).size(), 39U);
      ASSERT_TRUE(merged.key(g, 2) == 0 || merged.key(g, 2) == 1);
      const query::State text = merged.state(g, 1);
      ASSERT_TRUE(text.count == 0 || merged.text(text.exact).size() <= 1);
    }
  }
  EXPECT_GT(taken, 1000);
  EXPECT_GT(refused, 1000);
}

TEST(EncodedGroups, OfACarryHaveEachGroupOnceAndAsManyAsItSays) {
  const Bound bound("SELECT k, SUM(x) FROM t GROUP BY k");
  const auto outcome = [&](const std::string& bytes) {
    query::Groups into(bound.plan);
    try {
      query::merge_bytes(bound.plan, bytes, into);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::to_string(into.count()) + " groups";
  };
  const std::uint8_t not_null = 0;
  query::Groups groups(bound.plan);
  for (std::int64_t i = 0; i < 10'000; ++i) {
    const Int128 key = i;
    groups.append(&key, &not_null);
  }
  std::string bytes = query::to_bytes(bound.plan, groups);
  EXPECT_EQ(outcome(bytes), "10000 groups");
  const std::int64_t count = groups.count();
  const std::size_t at = bytes.find(std::string_view(reinterpret_cast<const char*>(&count), sizeof count));
  ASSERT_NE(at, std::string::npos);
  for (const std::int64_t wrong : {std::int64_t{9999}, std::int64_t{10'001}, std::int64_t{1} << 30, std::int64_t{-1}}) {
    std::memcpy(bytes.data() + at, &wrong, sizeof wrong);
    EXPECT_NE(outcome(bytes).find("not a carry"), std::string::npos) << wrong;
  }
  const Int128 again = 7;
  groups.append(&again, &not_null);
  EXPECT_NE(outcome(query::to_bytes(bound.plan, groups)).find("a group occurs twice"), std::string::npos);
}

TEST(EncodedGroups, AreSmall) {
  const Bound bound("SELECT k, SUM(x) FROM t GROUP BY k");
  std::mt19937_64 random(2);
  query::Groups groups(bound.plan);
  detail::Large<std::uint64_t> first;
  for (std::uint64_t i = 0; i < 4096; ++i) {
    const Int128 key = Int128{random() % 100'000'000};
    const std::uint8_t not_null = 0;
    const std::int64_t g = groups.find(&key, &not_null);
    query::State state = groups.state(g, 0);
    if (state.count++ == 0) first.push_back(i * 64 + random() % 64);
    state.exact += static_cast<std::int64_t>(random() % 1000);
    groups.set_state(g, 0, state);
  }
  std::vector<std::byte> bytes;
  query::GroupEncoder(bound.plan).append(groups, 0, groups.count(), first.data(), bytes);
  EXPECT_LT(std::ssize(bytes), groups.count() * 8);  // 27 bits of key, 10 or 11 of a sum, 7 of a place, 1 of a count
}

TEST(Sizes, AreRead) {
  EXPECT_EQ(parse_bytes("65536"), 65536);
  EXPECT_EQ(parse_bytes("4GB"), std::int64_t{4} << 30);
  EXPECT_EQ(parse_bytes("500mb"), 500 << 20);
  EXPECT_EQ(parse_bytes("1.5 GiB"), 3 << 29);
  EXPECT_EQ(parse_bytes("7k"), 7 << 10);
  EXPECT_EQ(parse_bytes("12 B"), 12);
  for (const char* const text :
       {"", "0", "-1", "GB", "4 XB", "4GBs", "4 G B", "1e30", "9999999999999999TB", "4ii", "nan"}) {
    EXPECT_FALSE(parse_bytes(text)) << text;
  }
}

}  // namespace
}  // namespace upsweep
