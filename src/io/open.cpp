// SPDX-License-Identifier: Apache-2.0
// io/open.cpp: opens the table, or the column of a table, that a source names.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "io/arrow_table.hpp"
#include "io/column.hpp"
#include "io/csv_dialect.hpp"
#include "io/csv_rows.hpp"
#include "io/decoded_text.hpp"
#include "io/joined_fields.hpp"
#include "io/npy_table.hpp"
#include "io/posix.hpp"
#include "io/source.hpp"
#include "io/spool.hpp"
#include "io/table.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

[[noreturn]] void throw_unsupported(const std::string& path, Format format, std::string_view advice) {
  throw Error(Code::malformed, fmt::format("{}: is {}, which is not supported; {}", path, describe(format), advice));
}

[[noreturn]] void refuse_format(const std::string& path, Format format) {
  if (const std::string_view command = decompressor(format); !command.empty()) {
    throw Error(Code::malformed,
                fmt::format("{}: is compressed by {}{}; decompress it first, such as by {}", path, describe(format),
                            is_decompressed(format) ? " several times" : "", command));
  }
  if (format == Format::zip && ends_in(path, ".npz"))
    throw_unsupported(path, format, "save each array separately with np.save");
  if (format == Format::zip) {
    throw_unsupported(path, format, "unpack it first, or, if it is a spreadsheet, save it as CSV");
  }
  throw_unsupported(path, format, "save it as CSV");
}

// Refuses a file without known first bytes whose name belongs to a format that has such bytes.
void require_no_name_of_binary(const std::string& path) {
  for (const std::string_view ending : {".parquet", ".arrow", ".feather", ".ipc"}) {
    if (!ends_in(without_compression(path), ending)) continue;
    throw Error(Code::malformed,
                fmt::format("{}: does not begin as Parquet or Arrow IPC, although its name ends in {}; write the file "
                            "again, or rename it",
                            path, ending));
  }
}

// Refuses a file that ends within the first bytes of a format.
void require_no_cut_magic(const Opened& opened) {
  std::array<char, kSniffBytes> head{};
  const std::string& name = opened.path.name;
  const std::int64_t got = read_fully_at(opened.file.get(), head.data(), kSniffBytes, 0, name);
  const std::string_view whole(head.data(), static_cast<std::size_t>(got));
  for (const std::string_view magic : {kNpyMagic, kParquetMagic, kIpcFileMagic, kIpcStreamMark}) {
    if (!magic.starts_with(whole)) continue;
    throw Error(Code::malformed,
                fmt::format("{}: ends within its first {} bytes; write the file again", name, magic.size()));
  }
}

// Opens a file for reading at any place, without compression. `most` is as for at_any_place().
Opened open_copied(const std::string& path, const std::string& folder, std::int64_t most) {
  if (path == "-" || path == kStandardInputPath) return spooled_standard_input(folder, most);
  Opened opened = open_file(path);
  if (opened.regular || can_be_spooled(opened.file)) return at_any_place(std::move(opened), folder, most);
  throw Error(Code::unreadable, fmt::format("{}: is a device, and tables are read only from files, pipes and standard "
                                            "input; save it to a file",
                                            path));
}

// Whether the first bytes of a file are CSV of UTF-8 or Windows-1252, which may end anywhere.
bool may_be_cut(const Opened& opened) {
  if (opened.format != Format::unknown && opened.format != Format::csv) return false;
  std::array<char, kEncodingBytes> head{};
  const std::int64_t got = read_fully_at(opened.file.get(), head.data(), kEncodingBytes, 0, opened.path.name);
  return encoding_of({head.data(), static_cast<std::size_t>(got)}) == Encoding::utf8;
}

// Opens a file as open_copied() does. A copy of CSV has at least the rows that csv.first_bytes determines.
Opened open_whole(const std::string& path, const std::string& folder, const CsvOptions& csv = {}) {
  const bool needs_first = csv.first_bytes > 0 && !csv.skip_end && csv.encoding.empty();
  const std::int64_t most = needs_first ? kHeadBytes + csv.first_bytes + 2 * kLongestRow : 0;
  Opened opened = open_copied(path, folder, most);
  return opened.path.is_cut && !may_be_cut(opened) ? open_copied(path, folder, 0) : std::move(opened);
}

std::unique_ptr<Table> open_regular(Opened opened, const CsvOptions& csv, const ChooseColumn& choose, int threads) {
  const std::string& name = opened.path.name;
  if (file_state(opened.file, name).size == 0) {
    throw Error(Code::malformed, fmt::format("{}: is empty; it must contain at least a header", name));
  }
  if (opened.format == Format::unknown) {
    require_no_name_of_binary(name);
    require_no_cut_magic(opened);
    opened.format = Format::csv;
  }
  if (!is_read(opened.format)) refuse_format(name, opened.format);
  if (opened.format == Format::npy) return open_npy(std::move(opened)).table;
  return open_arrow_table(opened.format, opened.path, csv, choose, threads);
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

TableColumn open_npy_column(Opened opened, const std::optional<std::string>& column) {
  if (column) {
    throw Error(Code::unknown_column,
                fmt::format("{}: a .npy file has no columns; leave out ':{}'", opened.path.name, printable(*column)));
  }
  return open_npy(std::move(opened));
}

TableColumn open_table_column(Opened opened, const std::optional<std::string>& column, const CsvOptions& csv,
                              int threads, const std::string& folder) {
  // The elements of .npy are read from a pipe as they arrive.
  const bool streams = !opened.regular && (!can_be_spooled(opened.file) || begins_as_npy(opened.file));
  if (!streams && opened.path.path == "-") opened = spooled_standard_input(folder);
  if (!streams) opened = at_any_place(std::move(opened), folder);
  if (streams || opened.format == Format::npy) return open_npy_column(std::move(opened), column);
  const std::string name = opened.path.name;
  TableColumn result{nullptr, -1, {}};
  const ChooseColumn choose = [&](const std::vector<Field>& fields) {
    result.column = find_column(fields, {name, column});
    result.name = full_name(name, fields[static_cast<std::size_t>(result.column)].name);
    return result.column;
  };
  result.table = open_regular(std::move(opened), csv, choose, threads);
  if (result.column < 0) choose(result.table->fields());
  return result;
}

/// Opens the column of a file, or of the files that match a pattern, which are read as one table.
TableColumn open_files_column(const Source& source, const CsvOptions& csv, int threads) {
  const std::string folder;  // of temporary files: the default
  if (source.path == "-") {
    return open_table_column(open_standard_input(), source.column, csv, threads, folder);
  }
  const std::vector<std::string> files = matching_files(source.path);
  const bool has_folders = files.front() != source.path && !folders_with_values(files.front()).empty();
  if (files.size() == 1 && !has_folders) {
    return open_table_column(open_file(files.front()), source.column, csv, threads, folder);
  }
  const ChooseColumn choose = [&](const std::vector<Field>& fields) {
    if (!source.column) return fields.size() == 1 ? 0 : -1;
    return column_like(*source.column, fields);
  };
  std::unique_ptr<Table> table = open_tables({source.path}, csv, choose, threads, folder);
  const int column = find_column(table->fields(), source);
  std::string name = full_name(source.path, table->fields()[static_cast<std::size_t>(column)].name);
  return {std::move(table), column, std::move(name), {}};
}

}  // namespace

std::unique_ptr<Table> open_table(const std::string& path, const CsvOptions& csv, int threads) {
  return open_table(path, csv, {}, threads);
}

std::unique_ptr<Table> open_table(const std::string& path, const CsvOptions& csv, const ChooseColumn& choose,
                                  int threads, const std::string& spool_folder) {
  return open_regular(open_whole(path, spool_folder, csv), csv, choose, threads);
}

std::int64_t first_bytes(const std::vector<std::string>& paths, std::optional<std::int64_t> row_limit) {
  constexpr std::int64_t kMostRows = std::int64_t{1} << 20;
  if (!row_limit || *row_limit > kMostRows) return 0;
  for (const std::string& path : paths) {
    for (const std::string& file : matching_files(path)) {
      if (file != "-" && file != kStandardInputPath && !is_regular(file)) return 0;
    }
  }
  return std::int64_t{1} << 20;
}

std::int64_t more_bytes(std::int64_t first_bytes) {
  constexpr std::int64_t kMost = std::int64_t{1} << 29;
  return first_bytes < kMost ? 8 * first_bytes : 0;
}

std::unique_ptr<ColumnReader> open_column(std::string_view source, int threads, Nulls nulls, const CsvOptions& csv) {
  const Source found = split_source(std::string(source));
  return std::make_unique<ColumnReader>(open_files_column(found, csv, threads), Booleans::bytes, nulls);
}

OpenedColumn open_elements_or_lists(std::string_view source, int threads, Levels most, const CsvOptions& csv) {
  OpenedColumn opened;
  const Source found = split_source(std::string(source));
  TableColumn column = open_files_column(found, csv, threads);
  opened.lists = open_lists(column, threads, most);
  if (!opened.lists) opened.elements = std::make_unique<ColumnReader>(std::move(column), Booleans::bytes, Nulls::given);
  return opened;
}

std::optional<TableColumn> open_csv_column(std::string_view source, const CsvOptions& csv) {
  const Source found = split_source(std::string(source));
  // Without a column, standard input and pipes are text. A pipe's writer may be gone when it is opened again.
  if (found.path == "-" ? !found.column : !is_regular(found.path)) return std::nullopt;
  Opened opened = open_whole(found.path, {});
  if (opened.format == Format::unknown && found.column) opened.format = Format::csv;
  if (opened.format != Format::csv) return std::nullopt;
  constexpr int kThreads = 1;  // for the pass when the file is opened, which is short compared with reading
  return open_table_column(std::move(opened), found.column, as_written(csv), kThreads, {});
}

}  // namespace upsweep::io
