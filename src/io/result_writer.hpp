// SPDX-License-Identifier: Apache-2.0
// io/result_writer.hpp: arrays of results written to files: .npy, Parquet, Arrow IPC, CSV, JSON and lines of text.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/column_info.hpp"
#include "io/result_format.hpp"
#include "upsweep/lists.hpp"

namespace upsweep::io {

/// An array of results, or of the elements of lists.
struct ResultColumn {
  std::string name;  ///< in tables
  Type type = Type::int64;
  /// Decimals, timestamps and durations are int64; dates and times int32 or int64; booleans uint8.
  Meaning meaning = Meaning::number;
  int scale = 0;
  std::string zone = {};  ///< of timestamps
  /// The element that stands for the minimum or maximum of no decimals, dates or seconds. It is NULL.
  std::optional<std::int64_t> no_value = {};
};

/// Whether results are values, one per row, or lists. With lists all columns have the same offsets.
enum class Shape : std::uint8_t { values, lists };

/// The elements of a column that are written.
struct ResultArray {
  const void* elements = nullptr;
  Mask valid = {};        ///< false where an element is NULL; without a mask none is
  Mask valid_lists = {};  ///< the mask of its lists
};

/// Writes result files, each through an OutputFile. A single array of values is written to `path`. As .npy each of
/// several arrays, or of lists, is a file: PATH.offsets.npy, PATH.0.npy, PATH.1.npy …, where PATH is the path without
/// .npy. In all other formats they are columns of one table. Lists are then values: in CSV and text, "[1,2]".
class ResultWriter {
 public:
  virtual ~ResultWriter() = default;

  /// Writes the next rows: an array of `rows` elements for each column.
  /// Throws upsweep::Error: disk_full, unwritable, overflow, null_value (for .npy, which has no NULL; index: the row,
  /// or the list). A closed pipe raises io::ClosedPipe.
  virtual void write(std::span<const ResultArray> columns, std::int64_t rows) = 0;
  /// Writes the next lists, between lists + 1 offsets in arrays of elements. Lists that are NULL have no elements. In
  /// .npy they are empty.
  virtual void write_lists(std::span<const std::int64_t> offsets, std::span<const ResultArray> columns) = 0;

  /// Writes everything that is still to be written. Files do not get their names yet.
  virtual void complete() = 0;
  /// Completes and renames the files: all of them, or none if one cannot be renamed.
  virtual void close() = 0;
  /// After close(): restores the replaced files, or removes new files if there were none.
  virtual void take_back() noexcept = 0;

  /// Returns the names that close() gives to the files.
  [[nodiscard]] virtual const std::vector<std::string>& files() const = 0;
};

/// `rows`: the number of values, or -1 if unknown. `text` is upsweep::iso_text for JSON, otherwise upsweep::text.
/// Throws upsweep::Error: unwritable, is_directory, not_found, disk_full; invalid_argument for several arrays as .npy
/// to standard output; not_built for Parquet and Arrow without Arrow C++.
std::unique_ptr<ResultWriter> open_results(const std::string& path, ResultFormat format, Shape shape,
                                           std::vector<ResultColumn> columns, CellText text, std::int64_t rows = -1);

/// Opens Parquet and Arrow IPC results. Its definition is in arrow_results.cpp, which needs Arrow C++.
std::unique_ptr<ResultWriter> open_arrow_results(const std::string& path, ResultFormat format, Shape shape,
                                                 std::vector<ResultColumn> columns);

/// Returns the 'descr' of a column in the header of a .npy file: of its meaning if NumPy has it, otherwise of its type.
std::string npy_descr(const ResultColumn& column);

/// Throws overflow for a decimal that does not fit 18 digits, or a date that does not fit 32 bits. `row` is its number
/// among all values.
[[noreturn]] void throw_misfit(const ResultColumn& column, const std::string& file, std::int64_t row);

/// Returns `name`, or the first of name_2, name_3 … that none of the `taken` names equals, as tables require.
[[nodiscard]] std::string distinct_name(const std::string& name, std::span<const std::string> taken);

}  // namespace upsweep::io
