// SPDX-License-Identifier: Apache-2.0
// upsweep/query.hpp: SQL over tables, in one pass: aggregates and rows; parsed and typed once, run any number of times.
//
//   upsweep::MemoryTable items;
//   items.add("quantity", quantity).add_decimal("price", cents, 2);
//   const upsweep::Query query("SELECT SUM(quantity * price) FROM items WHERE quantity < 10", items);
//   const upsweep::Answer answer = query.run(upsweep::par, items);
//
// Link upsweep::query. Files are also tables: see io.hpp.
//
// The SQL subset:
//   - SELECT of SUM, COUNT, COUNT(*), MIN, MAX, AVG and of GROUP BY expressions, with + - * / and CASE around and
//     inside
//   - without aggregates and GROUP BY: SELECT of columns, expressions and * from each row
//   - FROM one table
//   - WHERE with comparisons, AND, OR, NOT, BETWEEN, IN, IS NULL, CASE
//   - GROUP BY, ORDER BY, LIMIT, OFFSET
//   - list functions over columns of lists: len, list_sum, list_filter with lambdas, …
//
// Semantics are PostgreSQL's: three-valued logic, SUM of no rows is NULL, integers divide with truncation. All
// differences from PostgreSQL are conservative. Sums of integers and decimals are exact in 128 bits. Decimals have at
// most 38 digits. AVG, and decimal / decimal, are the float64 nearest to the exact quotient. Overflow is always an
// error. Float sums have the same bits on any number of threads.
//
// A policy may request a rung of a query by name. The rung cpu.blocks processes blocks of 1,024 rows on every
// core. The rung cuda.generated runs a kernel that is generated for the query, on a GPU.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "upsweep/detail/containers.hpp"
#include "upsweep/detail/unwritten_memory.hpp"
#include "upsweep/gpu.hpp"
#include "upsweep/policy.hpp"
#include "upsweep/table.hpp"
#include "upsweep/types.hpp"

namespace upsweep {

/// A table of columns in memory. Arrays are not copied, and must exist as long as the table is used. Exception: the
/// indices of a text column are copied if a NULL row has an index past its dictionary.
class UPSWEEP_CONTAINERS MemoryTable final : public Table {
 public:
  MemoryTable();
  ~MemoryTable() override;
  MemoryTable(const MemoryTable&) = delete;
  MemoryTable& operator=(const MemoryTable&) = delete;

  /// Adds a column. `validity`: bit i is 0 where row i is NULL (LSB first); null: no row is NULL. `values` of text are
  /// int32 indices into `dictionary`. The call reads the indices once to check them. NULL rows may have any index.
  /// Throws Error unequal_lengths, invalid_argument (index: the first row whose index is past the dictionary),
  /// unsupported_type (of `field`).
  MemoryTable& add(Field field, const void* values, std::int64_t rows, const std::uint8_t* validity = nullptr,
                   std::shared_ptr<const Dictionary> dictionary = nullptr);

  /// Adds a column of numbers.
  template <class T>
    requires(type_of<T>() != Type::custom)
  MemoryTable& add(const std::string& name, std::span<const T> values) {
    return add(Field{.name = name,
                     .kind = is_float(type_of<T>()) ? ValueKind::real : ValueKind::integer,
                     .storage = storage_of(type_of<T>())},
               values.data(), std::ssize(values));
  }
  template <class T>
  MemoryTable& add(const std::string& name, const std::vector<T>& values) {
    return add(name, std::span<const T>(values));
  }
  /// Adds a column of decimals: value = element / 10^scale.
  MemoryTable& add_decimal(std::string name, std::span<const std::int64_t> values, int scale);
  /// Adds a column of timestamps: seconds since 1970-01-01 00:00 = element / 10^scale, with a scale of 0, 3, 6 or 9. If
  /// there is a zone, such as "UTC", the seconds are in UTC.
  MemoryTable& add_timestamps(std::string name, std::span<const std::int64_t> values, int scale, std::string zone = {});
  /// Adds a column of dates: days since 1970-01-01.
  MemoryTable& add_dates(std::string name, std::span<const std::int32_t> values);
  /// Adds a text column: indices into a dictionary. The dictionary is copied.
  MemoryTable& add_text(std::string name, std::span<const std::int32_t> indices, std::vector<std::string> dictionary);
  /// Adds a column of lists, for list functions. `element` has the column's name, and the type of the elements: an
  /// integer, real or boolean. The list of row i is elements offsets[i] … offsets[i + 1] - 1. `offsets` has one more
  /// element than there are rows. `elements` has `length` values, and their NULLs. `validity` tells which rows are
  /// NULL, as in add(). The call reads the offsets once to check them. Throws Error unequal_lengths, invalid_argument
  /// (index: the first row whose list is outside the elements), unsupported_type (of `element`).
  MemoryTable& add_lists(Field element, std::span<const std::int64_t> offsets, ColumnData elements, std::int64_t length,
                         const std::uint8_t* validity = nullptr);
  /// Adds a column of lists of numbers.
  template <class T>
    requires(type_of<T>() != Type::custom)
  MemoryTable& add_lists(const std::string& name, const std::vector<std::int64_t>& offsets,
                         const std::vector<T>& elements) {
    return add_lists(Field{.name = name,
                           .kind = is_float(type_of<T>()) ? ValueKind::real : ValueKind::integer,
                           .storage = storage_of(type_of<T>())},
                     offsets, {.values = elements.data()}, std::ssize(elements));
  }

  [[nodiscard]] const std::vector<Field>& fields() const override;
  [[nodiscard]] int row_groups() const override;
  [[nodiscard]] std::int64_t rows() const override;
  [[nodiscard]] std::int64_t rows(int row_group) const override;
  [[nodiscard]] ColumnRange range(int row_group, int column) const override;
  [[nodiscard]] std::unique_ptr<BatchReader> open(int row_group, const std::vector<int>& columns) const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A value of an answer. The answer must outlive it.
struct Cell {
  /// Integers, decimals (times 10^scale), dates (days since 1970-01-01), booleans. For timestamps (since 1970-01-01
  /// 00:00), times of day and durations: seconds times 10^scale.
  Int128 exact = 0;
  double real = 0;
  std::string_view word = {};
  bool null = false;
};

/// A column of an answer: its values one after the other. Only the arrays for the column's kind of values are not
/// empty.
struct AnswerColumn {
  ValueKind kind = ValueKind::integer;
  detail::Unwritten<std::int64_t> exact = {};  ///< values that are not reals or text, as in cells
  detail::Unwritten<Int128> wide = {};         ///< in place of `exact` if one of the values has more than 64 bits
  detail::Unwritten<double> reals = {};
  detail::Unwritten<std::int64_t> ends = {};  ///< the end of each string in `letters`, where strings are adjacent
  detail::Unwritten<char> letters = {};
  detail::Unwritten<std::uint8_t> nulls = {};  ///< 1: a value is NULL; empty: no value is

  [[nodiscard]] std::size_t size() const {
    if (kind == ValueKind::real) return reals.size();
    if (kind == ValueKind::text) return ends.size();
    return wide.empty() ? exact.size() : wide.size();
  }
  [[nodiscard]] bool is_null(std::size_t row) const { return !nulls.empty() && nulls[row] != 0; }
  [[nodiscard]] Int128 exact_at(std::size_t row) const { return wide.empty() ? Int128{exact[row]} : wide[row]; }
  [[nodiscard]] std::string_view word_at(std::size_t row) const {
    const auto begin = static_cast<std::size_t>(row == 0 ? 0 : ends[row - 1]);
    return {letters.data() + begin, static_cast<std::size_t>(ends[row]) - begin};
  }
  [[nodiscard]] Cell operator[](std::size_t row) const {
    Cell cell{.null = is_null(row)};
    if (cell.null) return cell;
    if (kind == ValueKind::real) {
      cell.real = reals[row];
    } else if (kind == ValueKind::text) {
      cell.word = word_at(row);
    } else {
      cell.exact = exact_at(row);
    }
    return cell;
  }
};

/// The rows of an answer, stored column by column: `for (const auto& row : answer.rows) … row[0].exact …`.
struct AnswerRows {
  std::vector<AnswerColumn> columns = {};

  class Row {
   public:
    Row(const AnswerRows& rows, std::size_t number) : rows_(&rows), number_(number) {}
    [[nodiscard]] std::size_t size() const { return rows_->columns.size(); }
    [[nodiscard]] Cell operator[](std::size_t column) const { return rows_->columns[column][number_]; }

   private:
    const AnswerRows* rows_;
    std::size_t number_;
  };
  class Iterator {
   public:
    Iterator(const AnswerRows& rows, std::size_t number) : rows_(&rows), number_(number) {}
    Row operator*() const { return {*rows_, number_}; }
    Iterator& operator++() {
      ++number_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return number_ == other.number_; }

   private:
    const AnswerRows* rows_;
    std::size_t number_;
  };

  [[nodiscard]] std::size_t size() const { return columns.empty() ? 0 : columns[0].size(); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] Row operator[](std::size_t row) const { return {*this, row}; }
  [[nodiscard]] Iterator begin() const { return {*this, 0}; }
  [[nodiscard]] Iterator end() const { return {*this, size()}; }
};

/// The seconds that a query spent on a GPU, added up over all threads; 0 for other queries.
struct DeviceTimes {
  double to_device = 0;
  double kernel = 0;
  double to_host = 0;
  double compile = 0;  ///< compilation and loading of code that was not loaded yet

  DeviceTimes& operator+=(const DeviceTimes& more) {
    to_device += more.to_device;
    kernel += more.kernel;
    to_host += more.to_host;
    compile += more.compile;
    return *this;
  }
};

struct UPSWEEP_CONTAINERS Answer {
  std::vector<Field> columns;  ///< as Query::columns() returns them
  AnswerRows rows;
  // The work for the answer. An answer that was made from a carry has only the first two.
  std::string table;                 ///< as the query names it: a path, or a name
  std::int64_t groups = 0;           ///< before LIMIT; without GROUP BY 1; 0 for a query of rows
  std::string_view rung;             ///< the rung that ran: "cpu.blocks" or "cuda.generated"
  std::int64_t rows_read = 0;        ///< without skipped rows: no row of these could satisfy the conditions
  std::int64_t rows_by_cpu = 0;      ///< of a query on a GPU: rows of chunks that the CPU computed
  std::int64_t bytes_to_device = 0;  ///< of a table that is not in device memory
  /// Bytes written to temporary files, because the groups did not fit memory.
  std::int64_t bytes_spilled = 0;
  double seconds = 0;  ///< from the call of run() to its return
  DeviceTimes times;
};

/// Returns a cell as it is displayed: "12.50", "1998-12-01", "1998-12-01 12:30:00.5", "3 days 04:05:06", "NULL". A
/// timestamp of a column with a zone is displayed in UTC: "1998-12-01 12:30:00Z". A float64 is the
/// shortest text that reads back as the same float64.
[[nodiscard]] std::string text(const Field& column, const Cell& cell);
/// Like text(), but timestamps and durations are as in ISO 8601: "1998-12-01T12:30:00.5", "P3DT4H5M6S".
[[nodiscard]] std::string iso_text(const Field& column, const Cell& cell);
/// Returns the days since 1970-01-01 of a date of the years 1 to 9999, "1998-12-01"; nullopt if the text is not a date.
[[nodiscard]] std::optional<std::int64_t> days_of(std::string_view date);
/// Returns the element of a column of dates, timestamps, times or durations whose text is "1998-12-01",
/// "1998-12-01 12:30:00.5", "12:30" or "3 days 04:05:06". Returns nullopt if the text is none, or if no element has
/// exactly this value. A timestamp with a zone has an offset or is in UTC.
[[nodiscard]] std::optional<std::int64_t> element_with_text(const Field& column, std::string_view text);
/// Returns the float64 nearest to exact / 10^scale.
[[nodiscard]] double decimal_value(Int128 exact, int scale);

/// The memory limits for the groups of a query and its answer, and the folder for groups that do not fit. Groups that
/// do not fit are written to a temporary file and read back one partition at a time. Their order is kept, so that the
/// answer has the same bits. The file has no name, so that no file remains, however the process ends. In addition, a
/// query needs memory for the rows that it reads at a time: some batches, or row groups of Parquet, for each thread.
struct QueryMemory {
  static constexpr std::int64_t kLeastDeviceBytes = std::int64_t{1} << 20;
  /// Bytes for groups and the answer. 0: three quarters of the memory that is free once there are many groups.
  std::int64_t bytes = 0;
  /// The part of `bytes` that groups may use; 0: all.
  std::int64_t group_bytes = 0;
  /// Folder for the temporary file. Empty: $TMPDIR, or the system's folder for temporary files.
  std::string spill_folder = {};
  /// For a query on a GPU: the maximum of device memory for groups, and for rows of a table that is not in device
  /// memory. It must be kLeastDeviceBytes or more, otherwise the error is invalid_argument. 0: enough for sixteen
  /// chunks of four million rows. With another limit, sums of floats have other last bits. The CPU computes chunks
  /// whose groups do not fit. A table in device memory needs, in addition, four bytes for each row of its longest
  /// chunk.
  std::int64_t device_bytes = 0;
  /// Names of `bytes` and `spill_folder` in messages: the command sets --memory.
  std::string_view bytes_word = "QueryMemory::bytes";
  std::string_view spill_folder_word = "QueryMemory::spill_folder";
};

/// One of the threads calls this function from time to time, with the number of finished rows. An exception ends the
/// query.
using QueryProgress = std::function<void(std::int64_t rows)>;

/// Takes the rows of an answer, chunk by chunk, in order. Each chunk has at least one row. One thread at a time calls
/// this function; it may be any thread of the query. An exception ends the query.
using AnswerSink = std::function<void(AnswerRows&& chunk)>;

namespace query {
class Groups;
class Totals;
struct Folded;
struct Syntax;
struct QueryPlan;
}  // namespace query

class UPSWEEP_CONTAINERS Query;

/// The parsed text of a query: enough to determine its table.
class UPSWEEP_CONTAINERS Statement {
 public:
  /// Parses a query. Throws Error bad_sql, unsupported_sql; index: the byte in the text.
  explicit Statement(std::string sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  /// Returns the path in FROM '…'; empty if FROM has a name.
  [[nodiscard]] const std::string& path() const;
  /// Returns the name after FROM; empty if FROM has a path.
  [[nodiscard]] std::string table() const;
  /// Returns whether the query's text may refer to this column; other columns need not be read. A name in double quotes
  /// refers to the column with exactly this spelling. A name without quotes also refers to a column whose name differs
  /// only in case.
  [[nodiscard]] bool may_name(std::string_view column) const;
  /// Returns which of these names is the table after FROM, by the rule of may_name(). Returns nullopt if no name is, or
  /// if FROM has a path. Throws Error unknown_table if several names match.
  [[nodiscard]] std::optional<std::size_t> table_among(const std::vector<std::string>& names) const;
  /// Throws an Error with a caret under the table.
  [[noreturn]] void refuse_table(const std::string& why) const;
  /// Returns whether the query returns rows of its table: it has neither aggregates nor GROUP BY. Such queries run on
  /// the CPU only.
  [[nodiscard]] bool selects_rows() const;
  /// Returns the number after LIMIT of a query of rows without ORDER BY, which stops reading early; otherwise nullopt.
  [[nodiscard]] std::optional<std::int64_t> row_limit() const;

 private:
  friend class Query;
  std::string sql_;
  std::unique_ptr<query::Syntax> syntax_;
};

/// The result of a query on some rows, before it becomes an answer. The carry of each chunk of a table can be computed
/// in any process. The carries of all chunks, merged in the order of the rows, are the carry of the table. Only the
/// last bits of float sums may differ, because they are rounded where chunks meet:
///
/// ```
/// upsweep::QueryCarry all = query.fold(upsweep::par, january);
/// all.merge(bytes_of_february);  // another process: query.fold(upsweep::par, february).bytes()
/// const upsweep::Answer answer = query.answer(all);
/// ```
class QueryCarry {
 public:
  ~QueryCarry();
  QueryCarry(QueryCarry&&) noexcept;
  QueryCarry& operator=(QueryCarry&&) noexcept;

  /// Adds the carry of rows that come later. Throws Error invalid_argument (the carry of another query), overflow,
  /// out_of_memory. After overflow or out_of_memory, this object is not a valid carry.
  void merge(const QueryCarry& later);
  /// Adds the carry with these bytes. The result is that of merge(query.carry(bytes)), but the call is faster. Also
  /// throws Error malformed.
  void merge(std::string_view bytes);
  /// Returns the bytes for Query::carry() of the same query, on this machine or another one.
  [[nodiscard]] std::string bytes() const;

 private:
  friend class Query;
  QueryCarry(std::shared_ptr<const query::QueryPlan> plan, query::Groups groups);

  std::shared_ptr<const query::QueryPlan> plan_;
  std::unique_ptr<query::Groups> groups_;
};

/// A query, typed for tables with certain fields.
class UPSWEEP_CONTAINERS Query {
 public:
  /// Types a query for the fields of `table`. Throws Error bad_sql, unsupported_sql, unknown_column, unsupported_type,
  /// overflow (of a constant).
  Query(const Statement& statement, const Table& table);
  Query(std::string sql, const Table& table);
  ~Query();
  Query(Query&&) noexcept;
  Query& operator=(Query&&) noexcept;

  /// Returns the columns of the answer: name, kind, scale, zone and storage. The storage is that of the table's column
  /// if the query selects a column unchanged. Otherwise it is a storage that holds every value: int64 or int128, for
  /// example.
  [[nodiscard]] std::vector<Field> columns() const;

  /// Runs the query on a table with the same fields. There may be any number of groups: see QueryMemory.
  ///
  /// `sink`, if given, takes the rows of the answer, and the returned answer has none. Rows of a query without
  /// aggregates, GROUP BY and ORDER BY are then never in memory all at once: while the sink is busy, threads wait once
  /// they are some batches ahead. The rows of any other answer must fit memory even with a sink.
  ///
  /// A query of rows without ORDER BY returns them in the order of the table. With LIMIT it stops reading early. Rows
  /// after the last returned one then cause no error, also if some thread has read them.
  ///
  /// Throws Error overflow, division_by_zero, not_positive (index: the row), out_of_memory (the answer has more rows
  /// than fit memory). If several rows fail, the error is that of the first one. A temporary file may cause not_found,
  /// unwritable, disk_full or unreadable. An invalid `memory` causes invalid_argument. Also throws the errors of
  /// reading the table, those of policies, and those of `progress` and `sink`.
  [[nodiscard]] Answer run(const Policy& policy, const Table& table, const QueryProgress& progress = {},
                           const QueryMemory& memory = {}, const AnswerSink& sink = {}) const;

  /// Runs the query on a GPU. The columns of a DeviceTable of the policy's device are used in place. Any other table
  /// is copied to the device chunk by chunk. The CPU computes results that the GPU cannot compute exactly: decimals
  /// beyond 2^53 as floats, and sums that do not fit. Therefore answers and errors are the same as on the CPU. Only
  /// float sums are folded in another order, which is the same on every run. When a query is first run, NVRTC compiles
  /// its code. The compiled code is kept in the folder $UPSWEEP_CACHE; if this variable is not set, in
  /// $XDG_CACHE_HOME/upsweep, otherwise in $HOME/.cache/upsweep. Waits. Uses only the policy's device, memory and rung.
  /// Throws Error no_device, not_built, unsupported (no NVRTC; a query of rows), device_memory, device_failed, and the
  /// errors of a run on the CPU.
  [[nodiscard]] Answer run(const gpu::Policy& policy, const Table& table, const QueryProgress& progress = {},
                           const QueryMemory& memory = {}, const AnswerSink& sink = {}) const;

  /// Computes the carry of a table; run() makes its answer from such a carry. The carry is entirely in memory. Throws
  /// as run() does. Throws out_of_memory if three quarters of the free memory are less than twice the size of the
  /// groups. Throws unsupported for a query of rows, which has no carry.
  [[nodiscard]] QueryCarry fold(const Policy& policy, const Table& table, const QueryProgress& progress = {}) const;
  /// Computes the carry of a table on a GPU. `device_bytes` is as in QueryMemory.
  [[nodiscard]] QueryCarry fold(const gpu::Policy& policy, const Table& table, const QueryProgress& progress = {},
                                std::int64_t device_bytes = 0) const;
  /// Returns a carry from its bytes. Throws Error malformed, invalid_argument (the carry of another query), unsupported
  /// (a query of rows).
  [[nodiscard]] QueryCarry carry(std::string_view bytes) const;
  /// Returns the answer of a carry. `rung` of the answer is empty, because several rungs may have computed the carry.
  /// Throws Error invalid_argument (the carry of another query), overflow, division_by_zero, not_positive.
  [[nodiscard]] Answer answer(const QueryCarry& carry) const;

 private:
  void require_fields(const Table& table) const;
  void require_carry() const;
  template <class Policy, class Run>
  auto run_rung(const Policy& policy, const Table& table, const Run& run) const;
  template <class Policy>
  query::Folded folded(const Policy& policy, const Table& table, const QueryProgress& progress,
                       std::int64_t device_bytes, std::unique_ptr<query::Totals> totals) const;
  template <class Policy>
  Answer computed(const Policy& policy, const Table& table, const QueryProgress& progress, const QueryMemory& memory,
                  const AnswerSink& sink) const;
  template <class Policy>
  Answer answered(const Policy& policy, const Table& table, const QueryProgress& progress, const QueryMemory& memory,
                  const AnswerSink& sink) const;
  template <class Policy>
  QueryCarry carried(const Policy& policy, const Table& table, const QueryProgress& progress,
                     std::int64_t device_bytes) const;

  std::vector<Field> fields_;
  std::shared_ptr<const query::QueryPlan> plan_;
};

}  // namespace upsweep
