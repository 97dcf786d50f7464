// SPDX-License-Identifier: Apache-2.0
// io/csv_input.hpp: rows of a CSV file through Arrow's parser and decoders, a block at a time, in the thread that asks.
#pragma once

#include <arrow/array/array_base.h>
#include <arrow/csv/column_decoder.h>
#include <arrow/csv/options.h>
#include <arrow/csv/parser.h>
#include <arrow/record_batch.h>
#include <arrow/result.h>
#include <arrow/type.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/csv_rows.hpp"
#include "upsweep/error.hpp"
#include "upsweep/io.hpp"

namespace upsweep::io {

/// How the rows of a file are read, and the cells of text in them: what all of its readers have in common.
struct CsvFormat {
  CsvFormat(std::shared_ptr<const CsvFile> opened, int column_count);

  [[nodiscard]] bool has_one_column() const { return columns == 1; }

  std::shared_ptr<const CsvFile> file;
  int columns;
  arrow::csv::ParseOptions parse;      ///< where a file has one column, an empty line is a row of it
  arrow::csv::ConvertOptions convert;  ///< of text: a cell that is empty and not in quotes is NULL
};

/// What to do about text in another encoding, in messages.
inline constexpr std::string_view kEncodingAdvice = "convert the file first, such as by iconv -f WINDOWS-1252 -t UTF-8";

/// Names of the columns, without blanks around them, and where the rows begin. A column without a name is called by its number,
/// counted from 0: "column3".
struct CsvNames {
  std::vector<std::string> names;
  std::int64_t end;
};

/// Throws malformed, also where a name is not UTF-8.
CsvNames read_names(const CsvFile& file);

using CsvBlock = std::shared_ptr<arrow::csv::BlockParser>;

/// Rows of a file, parsed a block at a time. A failure names the row, as Arrow counts them.
class CsvBlocks {
 public:
  /// `row`: the number, from 0, of the row that starts at `begin`.
  CsvBlocks(std::shared_ptr<const CsvFormat> format, std::int64_t begin, std::int64_t end, std::int64_t row,
            std::int64_t bytes);

  /// A row at least; null at the end.
  arrow::Result<CsvBlock> next();

 private:
  std::shared_ptr<const CsvFormat> format_;
  CsvText text_;
  std::int64_t row_;  // as Arrow counts them: from 1, with the line of names
};

/// Reads some columns of a piece of a file as what their fields say: text, plain or as a dictionary, or what elements_of()
/// makes. Without columns its batches have rows only.
class CsvReader {
 public:
  CsvReader(const std::shared_ptr<const CsvFormat>& format, const CsvPiece& piece, std::int64_t first_row);

  /// Adds a column to those that are read.
  arrow::Status add(int column, const std::shared_ptr<arrow::Field>& field);
  /// The next rows; null at the end.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> next();

 private:
  std::shared_ptr<const CsvFormat> format_;
  CsvBlocks blocks_;
  arrow::FieldVector fields_;
  std::vector<int> columns_;
  std::vector<std::shared_ptr<arrow::csv::ColumnDecoder>> decoders_;  // of text; otherwise null
};

/// What comes first, if anything: a failure that is about a row, or the quote that is out of order.
arrow::Status first_of(const arrow::Status& status, const CsvRows& rows);

/// A place in a CSV file, for messages.
struct CsvPlace {
  const CsvFile& file;
  std::string name;   ///< of the file, or of the column
  int column = 0;     ///< in which line a cell is depends on it
  bool only = false;  ///< the file has one column
};

/// Throws the Error for a failure that is about a row of a CSV file, with the line.
[[noreturn]] void throw_csv(const CsvPlace& place, const arrow::Status& status, Code code, std::string_view advice);

}  // namespace upsweep::io
