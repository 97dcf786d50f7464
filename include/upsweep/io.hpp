// SPDX-License-Identifier: Apache-2.0
// upsweep/io.hpp: opens files as tables for queries: Parquet, Arrow IPC, CSV and .npy.
//
//   const auto items = upsweep::io::open_table("lineitem.parquet");
//   const upsweep::Query query("SELECT SUM(l_quantity) FROM items WHERE l_suppkey < 30", *items);
//   const upsweep::Answer answer = query.run(upsweep::par, *items);
//
// This header and its library upsweep::io are installed by builds that use the system's Arrow, and by builds without
// Arrow. Builds without Arrow read only .npy.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "upsweep/table.hpp"

namespace upsweep::io {

/// How rows of a CSV file are read whose number of cells differs from the number of columns.
enum class Ragged : std::uint8_t {
  refuse,  ///< the first such row is an error
  fill,    ///< missing cells are empty, and empty cells past the last column are dropped; other such cells are an error
  skip,    ///< these rows are left out; Table::remarks() counts them and names the first three lines
};

/// How a CSV file is written. A member without a value is determined from the file.
struct CsvOptions {
  std::string delimiter = {};                 ///< one or more characters
  std::optional<std::string> quote = {};      ///< one character; empty: cells are never in quotes
  std::optional<std::string> escape = {};     ///< the character before a quote within quotes; it may be the quote
  std::string decimal = {};                   ///< the character before decimals: "." or ","
  std::optional<std::string> thousands = {};  ///< the character between groups of three digits; empty: none
  std::optional<std::vector<std::string>> nulls = {};    ///< words for NULL, in columns of any type
  std::optional<std::vector<std::int64_t>> header = {};  ///< the header rows, counted from 1, ascending; empty: none
  std::optional<std::int64_t> skip = {};                 ///< lines to skip at the beginning
  std::optional<std::int64_t> skip_end = {};             ///< lines to skip at the end
  std::optional<std::string> comment = {};               ///< lines that begin with this text are skipped; empty: none
  std::string encoding = {};     ///< "utf-8", "utf-16le", "utf-16be", "windows-1252" or "iso-8859-1"
  std::string date_format = {};  ///< of dates and times, such as "%d/%m/%Y %H:%M:%S"
  std::vector<std::pair<std::string, std::string>> types = {};  ///< column and type; an empty column means all columns
  Ragged ragged = Ragged::refuse;
  /// If it is not 0, only rows are read that begin within this number of bytes after the header row. Types are those of
  /// these rows. Files after the first file that has more rows add columns, but no rows.
  std::int64_t first_bytes = 0;

  /// Sets the option that the command calls --`name`, such as "date-format", from text. Python calls it date_format,
  /// which is also accepted. Throws invalid_argument for an unknown name or value.
  void set(std::string_view name, std::string_view value);
  /// The names that set() accepts, as the command spells them.
  static const std::vector<std::string_view>& names();
};

/// Opens the file `path` as a table: Parquet, Arrow IPC (file or stream), CSV, or .npy. The table of an .npy file has
/// one column, named as the file without its folder and extension. The first bytes of a file determine its format. A
/// file without a known first byte sequence is CSV, whatever its name is. Files that are
/// compressed by gzip, Zstandard or bzip2, pipes, and "-", which is standard input, are copied to a temporary file
/// without a name. src/io/README.md lists how types are converted. Columns of
/// an unsupported type have their `Field::unsupported` set. A row group of the table is a row group of Parquet, a
/// record batch of an Arrow IPC file, 2 million rows of .npy, or 4 MiB of CSV. An Arrow IPC stream is one row group.
/// Opening CSV reads the file once or twice, with at most `threads` threads; 0: one for each core. An open row group
/// keeps about a batch of each column, and dictionaries, in memory. A row group of a compressed Arrow IPC file is in
/// memory as a whole. Ranges of values are known only for Parquet files with statistics, for integers, decimals, dates
/// and floats. Ranges do not include NaN. Throws upsweep::Error: not_found, unreadable, is_directory, malformed,
/// unsupported_type, out_of_memory, not_built. Reading the table throws the same errors. A file that has changed since
/// it was opened is malformed.
std::unique_ptr<Table> open_table(const std::string& path, const CsvOptions& csv = {}, int threads = 0);

/// Opens files as one table: their rows follow each other in the order of `paths`. A path with * ? [ ] or ** is a
/// pattern for files, as in matching_files(). Columns are matched by name, in any order and case. The columns of .npy
/// files match each other, although they are named as their files. A column of numbers gets a type that can represent
/// the values of all files: a wider integer, a decimal with the digits of all files, or float64. With float64, an
/// integer or a decimal that is not exactly a float64 is an error that names its file and row. If a file does not have
/// a column, or only NULL in the column, the column is NULL in the rows of that file. If the types of a column are not
/// compatible, it is text if all of its files are CSV. Otherwise its `Field::unsupported` is set and names both files.
/// Throws as open_table() does. Throws not_found if no file matches a pattern. Throws invalid_argument if there are no
/// files, or if a file has none of the columns of the files before it. Folders such as year=2024 of files that match a
/// pattern are columns. A file that has a column of that name keeps its own values.
std::unique_ptr<Table> open_tables(const std::vector<std::string>& paths, const CsvOptions& csv = {}, int threads = 0);

/// Returns the files that a path matches, in the order of their names. Returns the path itself if it is an existing
/// file or contains no wildcards. Otherwise * matches any part of a name, and ? one character. The patterns [a-z] and
/// [!a-z] match one character that is, or is not, in the brackets. A ** between slashes matches any folders below,
/// except folders behind links. Names that begin with a point match only patterns that begin with a point. Throws
/// not_found, unreadable (a folder).
std::vector<std::string> matching_files(const std::string& path);

}  // namespace upsweep::io
