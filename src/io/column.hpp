// SPDX-License-Identifier: Apache-2.0
// io/column.hpp: a column of numbers read from a table chunk by chunk, whatever the file's format.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/list_reader.hpp"
#include "io/posix.hpp"
#include "io/table.hpp"
#include "upsweep/lists.hpp"
#include "upsweep/table.hpp"
#include "upsweep/types.hpp"

namespace upsweep::io {

/// Elements that stay valid until the next call on the reader.
struct Chunk {
  const void* data = nullptr;  ///< aligned for the column's type
  std::int64_t count = 0;      ///< 0 only at the end
  Mask valid = {};             ///< false where an element is NULL; not given: none is
};

/// What becomes of elements that are NULL.
enum class Nulls : std::uint8_t { refused, given };

/// A column of a table, read front to back in bounded memory: the table's batches put together to chunks of any length.
class ColumnReader {
 public:
  /// Throws upsweep::Error unsupported_type for elements that are not computed with.
  explicit ColumnReader(TableColumn column, Booleans booleans = Booleans::refused, Nulls nulls = Nulls::refused);

  [[nodiscard]] const ColumnInfo& info() const { return info_; }

  /// The next elements: exactly `count` of them, fewer only at the end of the column, none after that.
  /// Chunks therefore always start at multiples of `count` when it stays the same.
  /// Throws upsweep::Error: malformed, unreadable, null_value (index: the row).
  Chunk next(std::int64_t count);

  /// Throws null_value for the element of a row, which is NULL.
  [[noreturn]] void throw_null(std::int64_t row) const;

  /// Moves forward without giving the elements out, to the end where there are fewer. Returns how many were skipped.
  std::int64_t skip(std::int64_t count);

 private:
  [[nodiscard]] std::int64_t rows_ahead(std::int64_t count) const;
  bool load();
  void refuse_nulls(std::int64_t n) const;
  void append(Chunk& chunk, std::int64_t n, std::int64_t count);
  void append_validity(std::int64_t before, std::int64_t n);

  std::unique_ptr<Table> table_;
  int column_;
  ElementsFrom elements_;
  Nulls nulls_;
  Storage storage_;
  ColumnInfo info_;
  std::int64_t row_ = 0;  // the next one, of elements that lie one after the other
  int next_row_group_ = 0;
  std::unique_ptr<BatchReader> reader_;
  Batch batch_;
  std::int64_t position_ = 0;                      // rows of the batch that were given out
  std::vector<std::shared_ptr<const void>> kept_;  // what the chunk at hand lies in, if not in the buffer
  AlignedBuffer buffer_;
  std::vector<std::uint8_t> valid_;  // of the chunk's elements, from the first batch on that may have a NULL
};

/// Opens `source`: "-" (.npy on standard input), "FILE" (.npy, or a table of one column) or "FILE:COLUMN".
/// The format is recognised by the file's first bytes (.npy, Parquet, Arrow IPC file or stream); anything else is CSV when
/// the name ends in .csv and malformed otherwise. A file whose own name holds ':' wins over FILE:COLUMN; else the
/// column begins after the first ':' that has a file before it. `threads` as open_table() has them. Throws
/// upsweep::Error: not_found, unreadable, is_directory, malformed, unsupported_type, unknown_column, not_built.
std::unique_ptr<ColumnReader> open_column(std::string_view source, int threads = 0);

/// A column that is one of lists, or not: one of the two is there.
struct OpenedColumn {
  std::unique_ptr<ColumnReader> elements;
  std::unique_ptr<ListReader> lists;

  [[nodiscard]] const ColumnInfo& info() const { return lists ? lists->info() : elements->info(); }
};

/// Opens `source` as open_column() does; booleans are bytes, NULLs given, and lists as list_reader.hpp has them. Throws
/// unsupported_type for lists of more levels.
OpenedColumn open_elements_or_lists(std::string_view source, int threads = 0, Levels most = Levels::one);

/// Whether Parquet, Arrow IPC and CSV can be read by this build.
[[nodiscard]] bool arrow_built() noexcept;

/// A scaled integer as decimal text: format_decimal(-1234, 2) is "-12.34".
[[nodiscard]] std::string format_decimal(std::int64_t value, int scale);

}  // namespace upsweep::io
