// SPDX-License-Identifier: Apache-2.0
// io/csv_input.hpp: names and rows of a CSV file, a block at a time, in the thread that asks; and messages about a row.
#pragma once

#include <arrow/record_batch.h>
#include <arrow/result.h>
#include <arrow/type.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/csv_block.hpp"
#include "io/csv_cells.hpp"
#include "io/csv_rows.hpp"
#include "upsweep/error.hpp"
#include "upsweep/io.hpp"

namespace upsweep::io {

/// A file and its number of columns.
struct CsvFormat {
  std::shared_ptr<const CsvFile> file;
  int columns = 0;

  /// In such a file an empty line is a row.
  [[nodiscard]] bool has_one_column() const { return columns == 1; }
};

/// The advice of messages about text in another encoding.
inline constexpr std::string_view kEncodingAdvice = "if it is Windows-1252, read it with --encoding windows-1252";

/// The advice of messages about a row whose cells or quotes are out of order.
inline constexpr std::string_view kRowAdvice = "correct the row, or read it with --ragged fill or --ragged skip";

/// The names of the columns, without blanks around them, and where the rows begin. Names of several header rows are
/// joined: "x_a". A column without a name is called by its number, counted from 0: "column3". A name that occurs again
/// is "name_1".
struct CsvNames {
  std::vector<std::string> names;
  std::int64_t end;
};

/// Reads the header rows. Throws malformed, also if a name is not UTF-8.
CsvNames read_names(const CsvFile& file);

/// Reads some columns of a row group of a file. Their fields declare the types: text, plain or as a dictionary, or any
/// other type that elements_of() supports. Without columns its batches have rows only.
class CsvReader {
 public:
  /// `fields` and `forms` belong to `columns`, which may be in any order.
  CsvReader(const CsvFormat& format, const CsvRowGroup& row_group, std::int64_t first_row, std::vector<int> columns,
            arrow::FieldVector fields, std::vector<CellForm> forms);

  /// Returns the next rows; null at the end.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> next();

 private:
  CsvBlocks blocks_;
  std::vector<int> columns_;
  std::vector<std::size_t> kept_;  // the number of each column in a block
  arrow::FieldVector fields_;
  std::vector<CellForm> forms_;
};

/// Returns the failure that comes first, if any: a failure that is about a row, or a quote at a wrong place.
arrow::Status first_of(const arrow::Status& status, const CsvRows& rows);

/// A place in a CSV file, for messages.
struct CsvPlace {
  const CsvFile& file;
  std::string name;   ///< of the file, or of the column
  int column = 0;     ///< the line of a cell depends on it
  bool only = false;  ///< the file has one column
};

/// Throws the Error, with the line, for a failure that is about a row of a CSV file.
[[noreturn]] void throw_csv(const CsvPlace& place, const arrow::Status& status, Code code, std::string_view advice);

}  // namespace upsweep::io
