// SPDX-License-Identifier: Apache-2.0
// io/column.hpp: a column of numbers read from a table chunk by chunk, whatever the file's format.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
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
  const void* data = nullptr;  ///< has the alignment of the column's type
  std::int64_t count = 0;      ///< 0 only at the end
  Mask valid = {};             ///< false where an element is NULL; without a mask no element is NULL
};

/// Whether elements that are NULL are refused or returned with a mask.
enum class Nulls : std::uint8_t { refused, given };

/// A column of a table, read front to back in bounded memory. It joins the table's batches into chunks of any length.
class ColumnReader {
 public:
  /// Throws upsweep::Error unsupported_type for elements of an unsupported type.
  explicit ColumnReader(TableColumn column, Booleans booleans = Booleans::refused, Nulls nulls = Nulls::refused);

  [[nodiscard]] const ColumnInfo& info() const { return info_; }
  /// The number of elements for a progress report, as expected_rows() returns it.
  [[nodiscard]] std::int64_t expected_count() const { return expected_rows(*table_); }

  /// Returns the next elements: exactly `count` of them, fewer only at the end of the column, none after that.
  /// Chunks therefore always start at multiples of `count` if it stays the same.
  /// Throws upsweep::Error: malformed, unreadable, null_value and, for a decimal that does not fit 64 bits, overflow
  /// (index: the row).
  Chunk next(std::int64_t count);

  /// Returns what opening the file determined, as Table::remarks() does.
  [[nodiscard]] std::vector<std::string> remarks() const { return table_->remarks(); }

  /// Replaces the advice at the end of the message about a NULL element.
  void set_null_advice(std::string advice) { null_advice_ = std::move(advice); }

  /// Throws null_value for the element of a row that is NULL.
  [[noreturn]] void throw_null(std::int64_t row) const;

  /// Skips `count` elements, or those up to the end if there are fewer. Returns how many were skipped.
  std::int64_t skip(std::int64_t count);

 private:
  [[nodiscard]] std::int64_t rows_ahead(std::int64_t count) const;
  bool load();
  void refuse_nulls(std::int64_t n) const;
  void append(Chunk& chunk, std::int64_t n, std::int64_t count);
  void append_validity(std::int64_t before, std::int64_t n);
  void narrow(const Int128* from, std::int64_t n, std::int64_t* to) const;

  std::unique_ptr<Table> table_;
  int column_;
  ElementsFrom elements_;
  Nulls nulls_;
  Storage storage_;
  ColumnInfo info_;
  std::string null_advice_ = "fill missing values or drop their rows first";
  std::int64_t row_ = 0;  // the next row, if the elements are contiguous
  int next_row_group_ = 0;
  std::unique_ptr<BatchReader> reader_;
  Batch batch_;
  std::int64_t position_ = 0;                      // rows of the batch that were returned
  std::vector<std::shared_ptr<const void>> kept_;  // owns the memory of the current chunk if that is not the buffer
  AlignedBuffer buffer_;
  std::vector<std::uint8_t> valid_;  // of the chunk's elements, from the first batch on that may have a NULL
};

/// Opens `source`: "-" (.npy on standard input), "FILE" (.npy, or a table of one column) or "FILE:COLUMN".
/// The format is recognized by the file's first bytes (.npy, Parquet, Arrow IPC file or stream). Any other file is CSV.
/// A file whose name contains ':' takes precedence over FILE:COLUMN.
/// Otherwise the column begins after the first ':' that follows the name of a file. `threads` as in open_table().
/// Throws upsweep::Error: not_found, unreadable, is_directory, malformed, unsupported_type, unknown_column, not_built.
std::unique_ptr<ColumnReader> open_column(std::string_view source, int threads = 0, Nulls nulls = Nulls::refused,
                                          const CsvOptions& csv = {});

/// A column of elements or of lists; exactly one of the two members is set.
struct OpenedColumn {
  std::unique_ptr<ColumnReader> elements;
  std::unique_ptr<ListReader> lists;

  [[nodiscard]] const ColumnInfo& info() const { return lists ? lists->info() : elements->info(); }
};

/// Opens `source` as open_column() does. Booleans are bytes, NULLs are returned with a mask, and lists are read as
/// list_reader.hpp describes. Throws unsupported_type for lists with more levels.
OpenedColumn open_elements_or_lists(std::string_view source, int threads = 0, Levels most = Levels::one,
                                    const CsvOptions& csv = {});

/// Whether this build can read Parquet, Arrow IPC and CSV.
[[nodiscard]] bool arrow_built() noexcept;

/// Returns a scaled integer as decimal text: format_decimal(-1234, 2) is "-12.34".
[[nodiscard]] std::string format_decimal(std::int64_t value, int scale);

}  // namespace upsweep::io
