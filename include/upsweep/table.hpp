// SPDX-License-Identifier: Apache-2.0
// upsweep/table.hpp: tables as queries see them: named columns, NULLs, dates, decimals and text, a batch of rows at a time.
#pragma once

#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "upsweep/detail/containers.hpp"
#include "upsweep/types.hpp"

namespace upsweep {

/// What the elements of a column stand for.
enum class ValueKind : std::uint8_t {
  integer,
  decimal,  ///< value = element / 10^scale
  real,
  date,  ///< days since 1970-01-01
  boolean,
  text,  ///< element: an index into the batch's dictionary
};

/// "integer", "decimal", …
constexpr std::string_view name(ValueKind kind) {
  constexpr std::string_view kNames[] = {"integer", "decimal", "real", "date", "boolean", "text"};
  return kNames[static_cast<int>(kind)];
}

__extension__ using Int128 = __int128;

/// How the elements of a column lie in memory. Which there may be: integer: int8 … uint64; decimal: int32, int64, int128;
/// real: float32, float64; date: int32; boolean: bit (LSB first, as Arrow's); text: int32.
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

/// Bits of an element.
constexpr int width_of(Storage storage) {
  constexpr int kWidths[kStorageCount] = {8, 16, 32, 64, 8, 16, 32, 64, 128, 32, 64, 1};
  return kWidths[static_cast<int>(storage)];
}

/// How numbers of a type lie in a column; not of `custom`.
constexpr Storage storage_of(Type type) {
  constexpr Storage kStorages[] = {Storage::int8,    Storage::int16,  Storage::int32,  Storage::int64,
                                   Storage::uint8,   Storage::uint16, Storage::uint32, Storage::uint64,
                                   Storage::float32, Storage::float64};
  static_assert(std::size(kStorages) == kTypeCount, "a new type needs its storage here");
  return kStorages[static_cast<int>(type)];
}

/// The type of a column's elements; `custom` for those of 128 bits and of one.
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
  int scale = 0;                 ///< of decimals: 0 to 38
  std::string unsupported = {};  ///< a type that is not computed with, by its name; else empty
  bool is_untyped =
      false;  ///< every row is NULL, and nothing says of which type: it is NULL of whatever type is needed
  bool is_all_null =
      false;  ///< its file has no value of its type, or only words such as NA (CSV): types of other files go before it
  bool has_own_order = false;  ///< of text: ordered categories, which queries do not order by their letters
};

/// Dictionary of a text column, each once per batch unless its reader may repeat them; an element of the column is an index
/// into them.
using Dictionary = std::vector<std::string_view>;

/// The rows of a batch in one column. Pointers stay valid as long as the batch.
struct ColumnData {
  const void* values = nullptr;            ///< aligned for the storage; element 0 is row 0, but for bits: see `offset`
  const std::uint8_t* validity = nullptr;  ///< bit offset + i: 0 where row i is NULL; null: no row is
  std::int64_t offset = 0;                 ///< bits before row 0, in validity and in Storage::bit values
  std::shared_ptr<const Dictionary> dictionary = {};  ///< of text
};

/// Some rows of a table, in those columns that were asked for, in the order in which they were.
struct UPSWEEP_CONTAINERS Batch {
  std::int64_t rows = 0;
  std::int64_t first_row = 0;  ///< its number in the table, for messages
  std::vector<ColumnData> columns = {};
  std::shared_ptr<const void> memory = {};  ///< keeps what the columns point to
};

/// Reads one row group of a table, front to back, by one thread.
class BatchReader {
 public:
  virtual ~BatchReader() = default;
  /// The next rows; false at the end. Batches have 1 to `kBatchRows` rows, all but the last of a row group that many.
  /// Throws Error: malformed, unreadable, unsupported_type, out_of_memory.
  virtual bool next(Batch& batch) = 0;
  /// Passes over the next batch, if there is one: cheaper than next() where rows need not be read for that. Throws as next().
  virtual void skip() {
    Batch batch;
    next(batch);
  }
  /// Before the first next(): dictionaries may have a text several times. Where nearly all texts are different, finding those
  /// that are not takes longer than it is worth.
  virtual void may_repeat_texts() {}
};

/// Rows of a batch. Float sums are folded batch by batch: the same table gives the same bits on any number of threads.
inline constexpr std::int64_t kBatchRows = 1 << 16;

/// What is known of a column's values in a row group without reading them; bounds that are not known are infinite.
struct ColumnRange {
  double least = -std::numeric_limits<double>::infinity();    ///< no value is less; decimals as their value
  double greatest = std::numeric_limits<double>::infinity();  ///< none is greater
  bool has_values = true;                                     ///< false: every row is NULL
  bool has_nulls = true;                                      ///< false: no row is NULL
};

namespace query {
struct DeviceChunk;
}  // namespace query

/// Something that a query can read: a file, or columns in memory. Row groups are independent, and may be read at the
/// same time.
class UPSWEEP_CONTAINERS Table {
 public:
  virtual ~Table() = default;
  [[nodiscard]] virtual const std::vector<Field>& fields() const = 0;
  [[nodiscard]] virtual int row_groups() const = 0;
  /// Rows of all row groups; -1 where that is known only after reading.
  [[nodiscard]] virtual std::int64_t rows() const = 0;
  /// Rows of a row group; -1 where that is known only after reading.
  [[nodiscard]] virtual std::int64_t rows(int row_group) const = 0;
  /// Statistics of a column in a row group, for skipping what cannot match.
  [[nodiscard]] virtual ColumnRange range(int row_group, int column) const = 0;
  /// The same of each batch of a row group, in order; empty where nothing is known of them. May read a file, and
  /// be called from several threads at a time. Throws malformed for a file that has changed.
  [[nodiscard]] virtual std::vector<ColumnRange> batch_ranges(int /*row_group*/, int /*column*/) const { return {}; }
  /// Whether BatchReader::skip() saves most of what next() does, and columns of a row group may be read apart for
  /// little more.
  [[nodiscard]] virtual bool skips_cheaply() const { return false; }
  /// Without columns, batches have rows only. May be called from several threads at a time.
  [[nodiscard]] virtual std::unique_ptr<BatchReader> open(int row_group, const std::vector<int>& columns) const = 0;
  /// Where a cell is, for messages: "row 5", counted from 0, or what is easier to find in a file: "line 7", as an editor counts lines.
  [[nodiscard]] virtual std::string place(std::int64_t row, int /*column*/) const {
    return "row " + std::to_string(row);
  }
  /// A row group's rows in the memory of a device, where they lie there; null: they are read by open().
  [[nodiscard]] virtual const query::DeviceChunk* chunk(int /*row_group*/, int /*device*/) const { return nullptr; }
};

}  // namespace upsweep
