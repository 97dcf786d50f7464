// SPDX-License-Identifier: Apache-2.0
// upsweep/table.hpp: tables for queries, read in batches of rows: named columns, NULLs, dates, decimals and text.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "upsweep/detail/containers.hpp"
#include "upsweep/types.hpp"

namespace upsweep {

/// The meaning of the elements of a column.
enum class ValueKind : std::uint8_t {
  integer,
  decimal,  ///< value = element / 10^scale
  real,
  date,  ///< days since 1970-01-01
  boolean,
  text,       ///< element: an index into the batch's dictionary
  timestamp,  ///< seconds since 1970-01-01 00:00 = element / 10^scale; in UTC if the field has a zone
  time,       ///< of a day: seconds since midnight = element / 10^scale
  duration,   ///< seconds = element / 10^scale
  interval,   ///< months, days and nanoseconds: see upsweep/interval.hpp
};

/// Returns the name of a kind: "integer", "decimal", ….
constexpr std::string_view name(ValueKind kind) {
  constexpr std::string_view kNames[] = {"integer", "decimal",   "real", "date",     "boolean",
                                         "text",    "timestamp", "time", "duration", "interval"};
  return kNames[static_cast<int>(kind)];
}

__extension__ using Int128 = __int128;

/// The layout of a column's elements in memory. The possible ones of each kind are:
///   - integer: int8 … uint64
///   - decimal: int32, int64, int128
///   - real: float32, float64
///   - date: int32
///   - boolean: bit (LSB first, as in Arrow)
///   - text: int32
///   - timestamp, duration: int64
///   - time: int32, int64
///   - interval: int128
enum class Storage : std::uint8_t {
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  int128,
  float32,
  float64,
  bit
};
inline constexpr int kStorageCount = 12;

/// Returns the bits of an element.
constexpr int width_of(Storage storage) {
  constexpr int kWidths[kStorageCount] = {8, 16, 32, 64, 8, 16, 32, 64, 128, 32, 64, 1};
  return kWidths[static_cast<int>(storage)];
}

/// Returns the storage of numbers of a type in a column. The type must not be `custom`.
constexpr Storage storage_of(Type type) {
  constexpr Storage kStorages[] = {Storage::int8,    Storage::int16,  Storage::int32,  Storage::int64,
                                   Storage::uint8,   Storage::uint16, Storage::uint32, Storage::uint64,
                                   Storage::float32, Storage::float64};
  static_assert(std::size(kStorages) == kTypeCount, "a new type needs its storage here");
  return kStorages[static_cast<int>(type)];
}

/// Returns the type of a column's elements; `custom` for elements of 128 bits and of one bit.
constexpr Type element_type(Storage storage) {
  for (int i = 0; i < kTypeCount; ++i) {
    if (storage_of(static_cast<Type>(i)) == storage) return static_cast<Type>(i);
  }
  return Type::custom;
}

/// A column as its table declares it.
struct Field {
  std::string name = {};
  ValueKind kind = ValueKind::integer;
  Storage storage = Storage::int64;
  int scale = 0;                 ///< of decimals: 0 to 38; of timestamps, times and durations: 0, 3, 6 or 9
  std::string zone = {};         ///< of timestamps: the time zone in which they are displayed; empty: without a zone
  std::string unsupported = {};  ///< the name of its type, if that is not supported; otherwise empty
  bool is_untyped = false;       ///< every row is NULL and the type is unknown: the NULLs have any type that is needed
  bool is_all_null =
      false;  ///< its file has no value of its type, or only strings such as NA (CSV): other files' types have priority
  bool has_own_order = false;  ///< of text: ordered categories, which queries do not sort alphabetically
  /// The elements of a column of lists of numbers or booleans; null for any other column. `unsupported` is then also
  /// set, because only the list functions of queries read such a column.
  std::shared_ptr<const Field> element = {};
};

/// The dictionary of a text column: its strings, each once per batch unless the reader may repeat them. An element of
/// the column is an index into them.
using Dictionary = std::vector<std::string_view>;

struct ColumnLists;

/// The rows of a batch in one column. Pointers are valid as long as the batch.
struct ColumnData {
  const void* values = nullptr;            ///< with the storage's alignment; element 0 is row 0; for bits, see `offset`
  const std::uint8_t* validity = nullptr;  ///< bit offset + i: 0 where row i is NULL; null: no row is NULL
  std::int64_t offset = 0;                 ///< bits before row 0, in validity and in Storage::bit values
  std::shared_ptr<const Dictionary> dictionary = {};  ///< of text
  std::shared_ptr<const ColumnLists> lists = {};      ///< of lists, which have no `values`
};

/// The lists of a batch in one column.
struct ColumnLists {
  /// One more than rows; the first is 0. The list of row i is elements offsets[i] … offsets[i + 1] - 1. They ascend.
  const std::int64_t* offsets = nullptr;
  ColumnData elements = {};
};

/// Some rows of a table, in the requested columns, in the requested order.
struct UPSWEEP_CONTAINERS Batch {
  std::int64_t rows = 0;
  std::int64_t first_row = 0;  ///< its number in the table, for messages
  std::vector<ColumnData> columns = {};
  std::shared_ptr<const void> memory = {};  ///< owns the memory that the columns point to
  /// If given, computes the columns that are still missing. It needs no reader, so that several threads can complete
  /// batches of one reader. Queries call it before they use the columns.
  std::function<void(Batch&)> complete = {};
};

/// Reads one row group of a table, front to back, by one thread.
class BatchReader {
 public:
  virtual ~BatchReader() = default;
  /// Reads the next rows; returns false at the end. Batches have 1 to `kBatchRows` rows; all except the last of a row
  /// group have kBatchRows. Throws Error: malformed, unreadable, unsupported_type, out_of_memory.
  virtual bool next(Batch& batch) = 0;
  /// Skips the next batch, if there is one. This is cheaper than next() if the rows need not be read. Throws as next().
  virtual void skip() {
    Batch batch;
    next(batch);
  }
  /// Allows dictionaries to contain a string several times. Call it before the first next(). If nearly all strings are
  /// different, it is not worth the time to find the equal ones.
  virtual void may_repeat_texts() {}
};

/// Rows of a batch. Float sums are folded batch by batch: the same table gives the same bits on any number of threads.
inline constexpr std::int64_t kBatchRows = 1 << 16;

/// Statistics of a column's values in a row group, known without reading them; unknown bounds are infinite.
struct ColumnRange {
  double least = -std::numeric_limits<double>::infinity();    ///< no value is smaller; decimals as their value
  double greatest = std::numeric_limits<double>::infinity();  ///< no value is larger
  bool has_values = true;                                     ///< false: every row is NULL
  bool has_nulls = true;                                      ///< false: no row is NULL
};

namespace query {
struct DeviceChunk;
}  // namespace query

/// A source of rows for queries: a file, or columns in memory. Row groups are independent, and may be read at the same
/// time.
class UPSWEEP_CONTAINERS Table {
 public:
  virtual ~Table() = default;
  [[nodiscard]] virtual const std::vector<Field>& fields() const = 0;
  [[nodiscard]] virtual int row_groups() const = 0;
  /// Returns the rows of all row groups; -1 if the number is known only after reading.
  [[nodiscard]] virtual std::int64_t rows() const = 0;
  /// Returns the rows of a row group; -1 if the number is known only after reading.
  [[nodiscard]] virtual std::int64_t rows(int row_group) const = 0;
  /// Returns statistics of a column in a row group, to skip what cannot match.
  [[nodiscard]] virtual ColumnRange range(int row_group, int column) const = 0;
  /// Returns statistics of a column in each batch of a row group, in order; empty if they are unknown. It may read a
  /// file, and may be called from several threads at a time. Throws malformed for a file that has changed.
  [[nodiscard]] virtual std::vector<ColumnRange> batch_ranges(int /*row_group*/, int /*column*/) const { return {}; }
  /// Returns whether BatchReader::skip() saves most of the work of next(), and reading the columns of a row group
  /// separately costs little more.
  [[nodiscard]] virtual bool skips_cheaply() const { return false; }
  /// Opens a row group for reading. Without columns, batches have only rows. May be called from several threads at a
  /// time.
  [[nodiscard]] virtual std::unique_ptr<BatchReader> open(int row_group, const std::vector<int>& columns) const = 0;
  /// Returns the place of a cell, for messages: "row 5", counted from 0. A file may return what is easier to find, such
  /// as "line 7", as an editor counts lines.
  [[nodiscard]] virtual std::string place(std::int64_t row, int /*column*/) const {
    return "row " + std::to_string(row);
  }
  /// Returns what opening the table determined about the form of its files, and what remains in doubt. There is a line
  /// for each, such as "sales.csv: semicolons, decimal comma, header in line 3". It is empty for files of a usual form.
  [[nodiscard]] virtual std::vector<std::string> remarks() const { return {}; }
  /// Returns a row group's rows in the memory of a device, if they are there; null: open() reads them.
  [[nodiscard]] virtual const query::DeviceChunk* chunk(int /*row_group*/, int /*device*/) const { return nullptr; }
};

}  // namespace upsweep
