// SPDX-License-Identifier: Apache-2.0
// upsweep/query.hpp: SQL aggregates over tables, fused into one pass: parsed and typed once, run as often as you like.
//
//   upsweep::MemoryTable items;
//   items.add("quantity", quantity).add_decimal("price", cents, 2);
//   const upsweep::Query query("SELECT SUM(quantity * price) FROM items WHERE quantity < 10", items);
//   const upsweep::Answer answer = query.run(upsweep::par, items);
//
// Link upsweep::query. Files are tables too: see io.hpp.
//
// The SQL: SELECT of SUM, COUNT, COUNT(*), MIN, MAX, AVG and of what is grouped by, with + - * / and CASE around and inside;
// FROM one table; WHERE with comparisons, AND, OR, NOT, BETWEEN, IN, IS NULL, CASE; GROUP BY; ORDER BY; LIMIT. Meanings are
// PostgreSQL's: three-valued logic, SUM of no rows is NULL, integers divide with truncation. Differences, all of them on the
// safe side: sums of integers and decimals are exact in 128 bits; decimals have at most 38 digits; AVG, and decimal / decimal,
// are the float64 nearest to the exact quotient. Nothing overflows unseen. Float sums have the same bits on any number of
// threads.
//
// The rungs of a query, of which a policy may name the one that it means to run: cpu.blocks (blocks of 1,024 rows on every
// core) and cuda.generated (a kernel written for the query, on a GPU).
#pragma once

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

/// Columns in memory. Arrays are not copied, and outlive the table's use, except for the indices of a text column where a NULL row holds
/// one past its dictionary.
class UPSWEEP_CONTAINERS MemoryTable final : public Table {
 public:
  MemoryTable();
  ~MemoryTable() override;
  MemoryTable(const MemoryTable&) = delete;
  MemoryTable& operator=(const MemoryTable&) = delete;

  /// `validity`: bit i is 0 where row i is NULL (LSB first); null: no row is. `values` of text are int32 indices into `dictionary`,
  /// which are read once to check them; NULL rows may hold any. Throws Error unequal_lengths, invalid_argument (index: the first
  /// row whose index is past the dictionary), unsupported_type (of `field`).
  MemoryTable& add(Field field, const void* values, std::int64_t rows, const std::uint8_t* validity = nullptr,
                   std::shared_ptr<const Dictionary> dictionary = nullptr);

  /// Numbers.
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
  /// Decimals: value = element / 10^scale.
  MemoryTable& add_decimal(std::string name, std::span<const std::int64_t> values, int scale);
  /// Days since 1970-01-01.
  MemoryTable& add_dates(std::string name, std::span<const std::int32_t> values);
  /// Indices into a dictionary, which is copied.
  MemoryTable& add_text(std::string name, std::span<const std::int32_t> indices, std::vector<std::string> dictionary);

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

/// A value of an answer, which outlives it.
struct Cell {
  Int128 exact = 0;  ///< integers, decimals (times 10^scale), dates (days since 1970-01-01), booleans
  double real = 0;
  std::string_view word = {};
  bool null = false;
};

/// A column of an answer: its values one after the other. Where they are of another kind an array is empty.
struct AnswerColumn {
  ValueKind kind = ValueKind::integer;
  detail::Unwritten<std::int64_t> exact = {};  ///< integers, decimals, dates and booleans, as cells have them
  detail::Unwritten<Int128> wide = {};         ///< in place of these where one of them has more than 64 bits
  detail::Unwritten<double> reals = {};
  detail::Unwritten<std::int64_t> ends = {};  ///< of each text its end in `letters`, where it follows the one before it
  detail::Unwritten<char> letters = {};
  detail::Unwritten<std::uint8_t> nulls = {};  ///< 1: a value is NULL; empty: none is

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

/// The rows of an answer, which lie column by column: `for (const auto& row : answer.rows) … row[0].exact …`.
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

/// Seconds that a query on a GPU has taken there, added up over all threads; other queries have none.
struct DeviceTimes {
  double to_device = 0;
  double kernel = 0;
  double to_host = 0;
  double compile = 0;  ///< making and loading code that was not loaded yet

  DeviceTimes& operator+=(const DeviceTimes& more) {
    to_device += more.to_device;
    kernel += more.kernel;
    to_host += more.to_host;
    compile += more.compile;
    return *this;
  }
};

struct UPSWEEP_CONTAINERS Answer {
  std::vector<Field> columns;  ///< name, kind and scale
  AnswerRows rows;
  // What was done for it; of an answer that was made of a carry, the first two alone.
  std::string table;                 ///< as the query names it: a path, or a name
  std::int64_t groups = 0;           ///< before LIMIT; without GROUP BY 1
  std::string_view rung;             ///< what ran: "cpu.blocks" or "cuda.generated"
  std::int64_t rows_read = 0;        ///< those that are passed over, as no condition keeps them, are not
  std::int64_t rows_by_cpu = 0;      ///< of a query on a GPU: those of the chunks that were left to the CPU
  std::int64_t bytes_to_device = 0;  ///< of a table that does not lie there
  /// Written to temporary files, as memory could not hold all groups.
  std::int64_t bytes_spilled = 0;
  double seconds = 0;  ///< from the call of run() to its return
  DeviceTimes times;
};

/// A cell as it is shown: "12.50", "1998-12-01", "NULL", the shortest text that reads back as the same float64.
[[nodiscard]] std::string text(const Field& column, const Cell& cell);
/// Days since 1970-01-01 of a date of the years 1 to 9999, "1998-12-01"; nothing where the text is none.
[[nodiscard]] std::optional<std::int64_t> days_of(std::string_view date);
/// The float64 nearest to exact / 10^scale.
[[nodiscard]] double decimal_value(Int128 exact, int scale);

/// How much memory the groups of a query and its answer may take, and where groups go that do not fit: to a temporary file, from
/// which they come back a partition at a time, in the same order, so that the answer has the same bits. The file has no
/// name: nothing is left of it however the process ends. Besides, a query takes what it reads at a time: some batches,
/// or row groups of Parquet, for each thread.
struct QueryMemory {
  static constexpr std::int64_t kLeastDeviceBytes = std::int64_t{1} << 20;
  /// 0: three quarters of what is free once there are many groups.
  std::int64_t bytes = 0;
  /// Of these, at most for groups; 0: all.
  std::int64_t group_bytes = 0;
  /// Empty: $TMPDIR, or the system's folder for temporary files.
  std::string spill_folder = {};
  /// Of a query on a GPU, at most so much of its memory for rows of a table that does not lie there, and for groups: kLeastDeviceBytes or
  /// more, otherwise an invalid_argument error. 0: what it takes to have sixteen chunks of four million rows there.
  /// Sums of floats have other last bits with another limit, and the CPU computes chunks of which the groups do not
  /// fit. Of a table that lies there: besides four bytes for each row of its longest chunk.
  std::int64_t device_bytes = 0;
  /// What messages call `bytes` and `spill_folder`: the command says --memory.
  std::string_view bytes_word = "QueryMemory::bytes";
  std::string_view spill_folder_word = "QueryMemory::spill_folder";
};

/// Called now and then by one of the threads, with the rows that are done. Throwing ends the query.
using QueryProgress = std::function<void(std::int64_t rows)>;

namespace query {
class Groups;
class Totals;
struct Folded;
struct Syntax;
struct QueryPlan;
}  // namespace query

class UPSWEEP_CONTAINERS Query;

/// The text of a query, parsed: enough to know which table it is about.
class UPSWEEP_CONTAINERS Statement {
 public:
  /// Throws Error bad_sql, unsupported_sql; index: the byte in the text.
  explicit Statement(std::string sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  /// What FROM '…' names; empty where FROM has a name.
  [[nodiscard]] const std::string& path() const;
  /// The name after FROM; empty where it has a path.
  [[nodiscard]] std::string table() const;
  /// Whether the text may name this column: others need not be read. A name in double quotes means the column that is spelled so; one
  /// without quotes also a column that differs from it in case.
  [[nodiscard]] bool may_name(std::string_view column) const;
  /// Which of the tables of these names is after FROM, by the same rule; nothing where none is, or FROM has a path. Throws Error
  /// unknown_table where several may be meant.
  [[nodiscard]] std::optional<std::size_t> table_among(const std::vector<std::string>& names) const;
  /// Throws an Error with a caret under the table.
  [[noreturn]] void refuse_table(const std::string& why) const;

 private:
  friend class Query;
  std::string sql_;
  std::unique_ptr<query::Syntax> syntax_;
};

/// What a query comes to on some rows. Carries of a table's chunks, merged in the order of the rows, are that of the
/// table, wherever they were computed, but for the last bits of float sums, which are rounded where chunks meet:
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

  /// Adds that of rows that come later. Throws Error invalid_argument (of another query), overflow, out_of_memory: but for
  /// the first, this is then no carry of anything.
  void merge(const QueryCarry& later);
  /// The same of bytes(), as merge(query.carry(bytes)), which takes longer. Throws Error malformed, too.
  void merge(std::string_view bytes);
  /// For Query::carry() of the same query, on this machine or another one.
  [[nodiscard]] std::string bytes() const;

 private:
  friend class Query;
  QueryCarry(std::shared_ptr<const query::QueryPlan> plan, query::Groups groups);

  std::shared_ptr<const query::QueryPlan> plan_;
  std::unique_ptr<query::Groups> groups_;
};

/// A query, typed for tables of certain fields.
class UPSWEEP_CONTAINERS Query {
 public:
  /// Throws Error bad_sql, unsupported_sql, unknown_column, unsupported_type, overflow (of a constant).
  Query(const Statement& statement, const Table& table);
  Query(std::string sql, const Table& table);
  ~Query();
  Query(Query&&) noexcept;
  Query& operator=(Query&&) noexcept;

  /// On a table with the same fields. There may be any number of groups: see QueryMemory. Throws Error overflow,
  /// division_by_zero, not_positive (index: the row), out_of_memory (of an answer with more rows than memory holds),
  /// not_found, unwritable, disk_full, unreadable (of a temporary file), invalid_argument (of `memory`), those of
  /// reading the table, and those of policies.
  [[nodiscard]] Answer run(const Policy& policy, const Table& table, const QueryProgress& progress = {},
                           const QueryMemory& memory = {}) const;

  /// The same on a GPU: on a DeviceTable of the policy's device where its columns lie, on any other table by bringing it
  /// there chunk by chunk. What the GPU cannot compute exactly (decimals beyond 2^53 as floats, sums that do not fit) the
  /// CPU does, so that answers and errors are the same; but float sums are folded in another order, though the same one
  /// on every run. Code is compiled when a query is first run, by NVRTC, and kept in ~/.cache/upsweep ($UPSWEEP_CACHE).
  /// Waits; of the policy device, memory and rung count. Throws Error no_device, not_built, unsupported (no NVRTC),
  /// device_memory, device_failed, and those of a run on the CPU.
  [[nodiscard]] Answer run(const gpu::Policy& policy, const Table& table, const QueryProgress& progress = {},
                           const QueryMemory& memory = {}) const;

  /// What run() makes its answer of, all of it in memory. Throws as run() does, and out_of_memory of more groups than fit three
  /// quarters of what is free twice.
  [[nodiscard]] QueryCarry fold(const Policy& policy, const Table& table, const QueryProgress& progress = {}) const;
  /// `device_bytes`: as QueryMemory has it.
  [[nodiscard]] QueryCarry fold(const gpu::Policy& policy, const Table& table, const QueryProgress& progress = {},
                                std::int64_t device_bytes = 0) const;
  /// A carry from its bytes. Throws Error malformed, invalid_argument (of another query).
  [[nodiscard]] QueryCarry carry(std::string_view bytes) const;
  /// `rung` is empty: a carry may come from several. Throws Error invalid_argument (of another query), overflow,
  /// division_by_zero, not_positive.
  [[nodiscard]] Answer answer(const QueryCarry& carry) const;

 private:
  void require_fields(const Table& table) const;
  template <class Policy>
  query::Folded folded(const Policy& policy, const Table& table, const QueryProgress& progress,
                       std::int64_t device_bytes, std::unique_ptr<query::Totals> totals) const;
  template <class Policy>
  Answer answered(const Policy& policy, const Table& table, const QueryProgress& progress,
                  const QueryMemory& memory) const;
  template <class Policy>
  QueryCarry carried(const Policy& policy, const Table& table, const QueryProgress& progress,
                     std::int64_t device_bytes) const;

  std::vector<Field> fields_;
  std::shared_ptr<const query::QueryPlan> plan_;
};

}  // namespace upsweep
