// SPDX-License-Identifier: Apache-2.0
// io/result_writer.hpp: arrays of results written to .npy, Parquet or Arrow IPC files, by their names.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/column_info.hpp"
#include "upsweep/lists.hpp"

namespace upsweep::io {

/// An array of results, or of the elements of lists.
struct ResultColumn {
  std::string name;  ///< of Parquet and Arrow
  Type type = Type::int64;
  Meaning meaning = Meaning::number;  ///< decimals are int64; dates int32 or int64; booleans uint8
  int scale = 0;
  /// Of decimals and dates: a value that no 18 digits and no 32 bits hold is NULL, such as the least of no values; else an error.
  bool misfit_is_null = false;
};

/// Whether results are values, a row each, or lists: then all columns have the same offsets.
enum class Shape : std::uint8_t { values, lists };

/// The elements of a column that are written.
struct ResultArray {
  const void* elements = nullptr;
  Mask valid = {};        ///< false where an element is NULL; not given: none is
  Mask valid_lists = {};  ///< the same of its lists
};

/// Result files in the making, each an OutputFile. An array of values goes to `path` itself. Parquet and Arrow IPC take
/// several columns, and lists, as columns of one table. As .npy each array is a file: PATH.offsets.npy, PATH.0.npy,
/// PATH.1.npy …, where PATH is the path without .npy.
class ResultWriter {
 public:
  virtual ~ResultWriter() = default;

  /// The next rows: an array of `rows` elements for each column.
  /// Throws upsweep::Error: disk_full, unwritable, overflow, null_value (of .npy, which has none; index: the row, or the
  /// list). A closed pipe raises io::ClosedPipe.
  virtual void write(std::span<const ResultArray> columns, std::int64_t rows) = 0;
  /// The next lists, between lists + 1 offsets in arrays of elements. Lists that are NULL have no elements, and as .npy are
  /// empty.
  virtual void write_lists(std::span<const std::int64_t> offsets, std::span<const ResultArray> columns) = 0;

  /// Writes what is still to be written, all but the names.
  virtual void complete() = 0;
  /// Completes, and gives the files their names: all, or where one cannot have its name, none.
  virtual void close() = 0;
  /// After close(): what stood under the names before stands there again, or nothing.
  virtual void take_back() noexcept = 0;

  /// What close() names.
  [[nodiscard]] virtual const std::vector<std::string>& files() const = 0;
};

/// `rows`: of values, or -1 where that is not known. Throws upsweep::Error: unwritable, is_directory, not_found, disk_full;
/// invalid_argument for several arrays to standard output; not_built for Parquet and Arrow where Arrow C++ is left out.
std::unique_ptr<ResultWriter> open_results(const std::string& path, Shape shape, std::vector<ResultColumn> columns,
                                           std::int64_t rows = -1);

/// Throws invalid_argument unless the name says in which format results are written: .npy, .parquet or .arrow. Standard output,
/// devices and pipes take .npy; what is wrong with a folder OutputFile says.
void require_result_name(const std::string& path);

/// Whether the name says Parquet or Arrow IPC, in small or capital letters: lists are columns there.
[[nodiscard]] bool is_arrow_name(const std::string& path);

/// In arrow_results.cpp, where Arrow C++ is built in.
std::unique_ptr<ResultWriter> open_arrow_results(const std::string& path, Shape shape,
                                                 std::vector<ResultColumn> columns);

}  // namespace upsweep::io
