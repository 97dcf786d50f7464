// SPDX-License-Identifier: Apache-2.0
// upsweep/io.hpp: files as tables that queries read: Parquet, Arrow IPC, CSV and .npy.
//
//   const auto items = upsweep::io::open_table("lineitem.parquet");
//   const upsweep::Query query("SELECT SUM(l_quantity) FROM items WHERE l_suppkey < 30", *items);
//   const upsweep::Answer answer = query.run(upsweep::par, *items);
//
// Installed, with its library upsweep::io, by builds whose Arrow is the system's, and by those without Arrow, which read .npy
// only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "upsweep/table.hpp"

namespace upsweep::io {

/// What the cells of a CSV file are read as.
enum class CsvCells : std::uint8_t {
  typed,  ///< what src/io/README.md says
  text,   ///< text, byte for byte as it is written; an empty cell without quotes is NULL, and nothing else is
};

/// Opens the file `path` as a table: Parquet, Arrow IPC (file or stream), CSV, or .npy, which has one column named as the
/// file without its folder and ending. The format is recognised by the first bytes; what has none of these is CSV where the
/// name ends in .csv, else malformed. What becomes of which type stands in src/io/README.md. Columns of a type that is not
/// computed with have their `Field::unsupported` set.
/// Row groups: those of Parquet, the record batches of an Arrow IPC file, 2 million rows of .npy, 4 MiB of CSV. An Arrow IPC
/// stream is one row group. At most `threads` threads do the one or two passes that opening CSV takes; 0: one for each core. An
/// open row group holds about a batch of each column, and dictionaries. That of a compressed Arrow IPC file is held whole.
/// Ranges are known of Parquet only, where it has statistics: for integers, decimals, dates and floats. They leave NaN
/// out of account.
/// Throws upsweep::Error: not_found, unreadable, is_directory, malformed, unsupported_type, out_of_memory, not_built. So
/// does reading it; a file that is not any more what it was when it was opened is malformed.
std::unique_ptr<Table> open_table(const std::string& path, CsvCells cells = CsvCells::typed, int threads = 0);

/// Opens files as one table, in which their rows follow each other in the order of `paths`. A path with * ? [ ] or ** stands for
/// the files that fit it, as matching_files() finds them. Columns are matched by name, in any order and case; those of .npy files, which are named as the files, match each other. One of numbers takes a
/// type that holds the values of all files: wider integers, decimals with the digits of all, or float64, in which an integer or a
/// decimal that is no float64 is an error with its file and row. A column that a file does not have, or has nothing but NULL in, is
/// NULL in its rows. A column whose types do not go together has its `Field::unsupported` set, which names both files.
/// Throws as open_table() does; not_found: no file fits a pattern; invalid_argument: no files, or one that has none of the columns of
/// those before it.
std::unique_ptr<Table> open_tables(const std::vector<std::string>& paths, CsvCells cells = CsvCells::typed,
                                   int threads = 0);

/// The files that a path stands for, in the order of their names: itself where such a file is there or it has no wildcard. Otherwise
/// * stands for any part of a name, ? for one character, [a-z] and [!a-z] for some characters, and ** between slashes for any folders
/// below, without those that links lead to. Names that begin with a point fit only patterns that do. Throws not_found, unreadable (a
/// folder).
std::vector<std::string> matching_files(const std::string& path);

}  // namespace upsweep::io
