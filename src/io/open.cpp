// SPDX-License-Identifier: Apache-2.0
// io/open.cpp: opens the table, or the column of a table, that a source names.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "io/arrow_table.hpp"
#include "io/column.hpp"
#include "io/joined_fields.hpp"
#include "io/npy_table.hpp"
#include "io/posix.hpp"
#include "io/source.hpp"
#include "io/table.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

[[noreturn]] void refuse_format(const std::string& path, Format format) {
  const auto refuse = [&](std::string_view advice) {
    throw Error(Code::malformed, fmt::format("{}: is {}, which is not supported; {}", path, describe(format), advice));
  };
  if (const std::string_view command = decompressor(format); !command.empty()) {
    throw Error(Code::malformed, fmt::format("{}: is compressed by {}; decompress it first, such as by {}", path,
                                             describe(format), command));
  }
  if (format == Format::zip && ends_in(path, ".npz")) refuse("save each array separately with np.save");
  if (format == Format::zip) refuse("unpack it first, or, if it is a spreadsheet, save it as CSV");
  if (format == Format::workbook) refuse("save it as CSV");
  throw Error(Code::malformed, fmt::format("{}: is not .npy, Parquet or Arrow IPC, and not named .csv; convert it to "
                                           "one of these",
                                           path));
}

std::unique_ptr<Table> open_regular(Opened opened, const std::string& path, CsvCells cells, const ChooseColumn& choose,
                                    int threads) {
  if (file_state(opened.file, path).size == 0) {
    throw Error(Code::malformed, fmt::format("{}: is empty; it must contain at least a header", path));
  }
  if (!is_read(opened.format)) refuse_format(path, opened.format);
  if (opened.format == Format::npy) return open_npy(std::move(opened), path).table;
  return open_arrow_table(opened.format, path, cells, choose, threads);
}

// Finds the requested column; if none is requested, the only column.
int find_column(const std::vector<Field>& fields, const Source& source) {
  if (!source.column && fields.size() == 1) return 0;
  const auto fail = [&](const std::string& what) {
    throw Error(Code::unknown_column,
                fmt::format("{}: {}; its columns are: {}", source.path, what, names_of_columns(fields)));
  };
  if (!source.column) fail(fmt::format("has {} columns; name one as FILE:COLUMN", fields.size()));
  const auto is_asked_for = [&](const Field& field) { return field.name == *source.column; };
  const auto found = std::find_if(fields.begin(), fields.end(), is_asked_for);
  if (found == fields.end()) fail(fmt::format("has no column '{}'", printable(*source.column)));
  if (std::any_of(found + 1, fields.end(), is_asked_for)) {
    fail(fmt::format("has more than one column '{}'; rename one of them", printable(*source.column)));
  }
  return static_cast<int>(found - fields.begin());
}

TableColumn open_npy_column(Opened opened, const Source& source) {
  if (source.column) {
    throw Error(Code::unknown_column,
                fmt::format("{}: a .npy file has no columns; leave out ':{}'", source.path, printable(*source.column)));
  }
  return open_npy(std::move(opened), source.path);
}

TableColumn open_table_column(Opened opened, const Source& source, CsvCells cells, int threads) {
  if (!opened.regular || opened.format == Format::npy) return open_npy_column(std::move(opened), source);
  TableColumn result{nullptr, -1, {}};
  const ChooseColumn choose = [&](const std::vector<Field>& fields) {
    result.column = find_column(fields, source);
    const std::string& name = fields[static_cast<std::size_t>(result.column)].name;
    result.name = full_name(source.path, name);
    return result.column;
  };
  result.table = open_regular(std::move(opened), source.path, cells, choose, threads);
  if (result.column < 0) choose(result.table->fields());
  return result;
}

/// Opens the column of a file, or of the files that match a pattern, which are read as one table.
TableColumn open_files_column(const Source& source, int threads) {
  const std::vector<std::string> files = matching_files(source.path);
  if (files.size() == 1) {
    return open_table_column(open_file(files.front()), {files.front(), source.column}, CsvCells::typed, threads);
  }
  const ChooseColumn choose = [&](const std::vector<Field>& fields) {
    if (!source.column) return fields.size() == 1 ? 0 : -1;
    return column_like(*source.column, fields);
  };
  std::unique_ptr<Table> table = open_tables(files, CsvCells::typed, choose, threads);
  const int column = find_column(table->fields(), source);
  std::string name = full_name(source.path, table->fields()[static_cast<std::size_t>(column)].name);
  return {std::move(table), column, std::move(name), {}};
}

}  // namespace

std::unique_ptr<Table> open_table(const std::string& path, CsvCells cells, int threads) {
  return open_table(path, cells, {}, threads);
}

std::unique_ptr<Table> open_table(const std::string& path, CsvCells cells, const ChooseColumn& choose, int threads) {
  Opened opened = open_file(path);
  if (!opened.regular) {
    throw Error(Code::unreadable, fmt::format("{}: is not a regular file, and tables are read only from regular files; "
                                              "save it to a file",
                                              path));
  }
  return open_regular(std::move(opened), path, cells, choose, threads);
}

std::unique_ptr<ColumnReader> open_column(std::string_view source, int threads, Nulls nulls) {
  if (source == "-") {
    return std::make_unique<ColumnReader>(open_npy(open_standard_input(), std::string(kStandardInput)), Booleans::bytes,
                                          nulls);
  }
  const Source found = split_source(std::string(source));
  return std::make_unique<ColumnReader>(open_files_column(found, threads), Booleans::bytes, nulls);
}

OpenedColumn open_elements_or_lists(std::string_view source, int threads, Levels most) {
  OpenedColumn opened;
  if (source == "-") {
    TableColumn column = open_npy(open_standard_input(), std::string(kStandardInput));
    opened.elements = std::make_unique<ColumnReader>(std::move(column), Booleans::bytes, Nulls::given);
    return opened;
  }
  const Source found = split_source(std::string(source));
  TableColumn column = open_files_column(found, threads);
  opened.lists = open_lists(column, threads, most);
  if (!opened.lists) opened.elements = std::make_unique<ColumnReader>(std::move(column), Booleans::bytes, Nulls::given);
  return opened;
}

std::optional<TableColumn> open_csv_column(std::string_view source) {
  const Source found = split_source(std::string(source));
  if (!is_regular(found.path)) return std::nullopt;  // a pipe's writer may be gone when it is opened again
  Opened opened = open_file(found.path);
  if (opened.format != Format::csv) return std::nullopt;
  constexpr int kThreads = 1;  // for the pass when the file is opened, which is short compared with reading
  return open_table_column(std::move(opened), found, CsvCells::text, kThreads);
}

}  // namespace upsweep::io
