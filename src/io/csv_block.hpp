// SPDX-License-Identifier: Apache-2.0
// io/csv_block.hpp: finds the cells of a CSV file, a block of rows at a time, in place in its text.
#pragma once

#include <arrow/result.h>
#include <arrow/status.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/csv_quotes.hpp"
#include "io/csv_rows.hpp"
#include "io/posix.hpp"

namespace upsweep::io {

/// The place of a cell in a text, including the quotes around it.
struct CellPlace {
  std::uint32_t begin;
  std::uint32_t end;
};

/// The cells of a column in consecutive rows. kReadPast bytes after each may be read.
class CsvColumn {
 public:
  CsvColumn(const char* text, const CellPlace* first, std::size_t stride, std::int64_t rows, std::int64_t first_row)
      : text_(text), first_(first), stride_(stride), rows_(rows), first_row_(first_row) {}

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] CsvCell operator[](std::int64_t row) const {
    const CellPlace place = first_[static_cast<std::size_t>(row) * stride_];
    const char* const begin = text_ + place.begin;
    const std::size_t quote = *begin == '"' ? 1 : 0;  // in an empty cell this is the byte that ends it
    return {{begin + quote, place.end - place.begin - 2 * quote}, quote != 0};
  }
  /// Returns a failure that names its row.
  [[nodiscard]] arrow::Status in_row(std::int64_t row, const std::string& what) const {
    return arrow::Status::Invalid("Row #", first_row_ + row, ": ", what);
  }

 private:
  const char* text_;
  const CellPlace* first_;
  std::size_t stride_;
  std::int64_t rows_;
  std::int64_t first_row_;
};

/// The rows of a file, a block at a time. A failure names its row: "Row #3: …", counted from 1 including the header
/// row.
class CsvBlocks {
 public:
  /// `row`: the number, from 0, of the row that starts at `begin`. `columns`: the number of columns.
  CsvBlocks(std::shared_ptr<const CsvFile> file, int columns, std::int64_t begin, std::int64_t end, std::int64_t row,
            std::int64_t bytes);

  /// Takes the bytes from memory, which holds them.
  void use(const CsvMemory& memory) { text_.use(memory); }
  /// Sets the columns, ascending, whose cells are kept from the next block on. Initially no column is kept.
  void keep(const std::vector<int>& columns);

  /// Reads the next block, which has at least one row; returns false if there is none. A block is valid until the next
  /// call. A row whose number of cells differs from the number of columns is a failure.
  arrow::Result<bool> next();

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  /// Returns the kept column with this number.
  [[nodiscard]] CsvColumn column(std::size_t kept) const {
    return {text_begin_, places() + kept, kept_, rows_, first_row_};
  }

 private:
  [[nodiscard]] CellPlace* places() const { return reinterpret_cast<CellPlace*>(places_.data()); }
  arrow::Result<std::size_t> split(std::string_view text);

  std::shared_ptr<const CsvFile> file_;
  std::size_t columns_;
  CsvText text_;
  std::vector<std::uint8_t> keeps_;  // 1 for a column whose cells are kept; the last entry: cells past the last column
  std::size_t kept_ = 0;
  AlignedBuffer places_;  // row by row
  const char* text_begin_ = nullptr;
  std::int64_t first_row_;  // of the block
  std::int64_t rows_ = 0;
};

}  // namespace upsweep::io
