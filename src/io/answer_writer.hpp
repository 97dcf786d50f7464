// SPDX-License-Identifier: Apache-2.0
// io/answer_writer.hpp: the answer of a query written to a file: CSV, Parquet, Arrow IPC, JSON or .npy.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/result_format.hpp"
#include "upsweep/query.hpp"
#include "upsweep/table.hpp"

namespace upsweep::io {

/// Writes the rows of an answer, through an OutputFile.
///
/// Parquet and Arrow IPC have Arrow's type for each kind of values. Floats are float64, or float32 if that is the
/// storage of the column. Integers are int64. If the first rows have one that does not fit, they are uint64 or decimals
/// of 38 digits.
///
/// A .npy file has one column of integers, floats, booleans, dates, timestamps or durations, without NULL.
class AnswerWriter {
 public:
  virtual ~AnswerWriter() = default;

  /// Writes the next rows. Throws upsweep::Error: disk_full, unwritable; overflow for an integer that does not fit the
  /// file's type; null_value (for .npy, index: the row). A closed pipe raises io::ClosedPipe.
  virtual void write(const AnswerRows& rows) = 0;
  /// Writes everything that is still to be written. The file does not get its name yet.
  virtual void complete() = 0;
  /// Completes and renames the file.
  virtual void close() = 0;
  /// After close(): restores the replaced file, or removes the new file if there was none.
  virtual void take_back() noexcept = 0;
};

/// `columns`: those of the answer; equal names get numbers. `text` is upsweep::iso_text for JSON, otherwise
/// upsweep::text. Throws upsweep::Error: unwritable, is_directory, not_found, disk_full; invalid_argument for columns
/// that .npy cannot store; not_built for Parquet and Arrow IPC without Arrow C++.
std::unique_ptr<AnswerWriter> open_answer(const std::string& path, ResultFormat format, std::vector<Field> columns,
                                          CellText text);

/// Opens Parquet and Arrow IPC answers. Its definition is in arrow_answer.cpp, which needs Arrow C++.
std::unique_ptr<AnswerWriter> open_arrow_answer(const std::string& path, ResultFormat format,
                                                std::vector<Field> columns);

/// The type in which the integers of a column are written.
enum class IntegerType : std::uint8_t { int64, uint64, decimal };

/// Returns the type that fits the integers of the first rows.
[[nodiscard]] IntegerType type_of_integers(const Field& column, const AnswerColumn& rows);

/// Throws overflow unless all integers of the next rows fit the type.
void require_integers(const std::string& file, const Field& column, const AnswerColumn& rows, IntegerType type);

/// The unit of 10^-scale seconds: "s", "ms", "us" or "ns".
[[nodiscard]] std::string_view unit_of(int scale);

}  // namespace upsweep::io
