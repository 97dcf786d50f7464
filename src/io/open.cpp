// SPDX-License-Identifier: Apache-2.0
// io/open.cpp: finds out which file and column a source means and which format the file has, and opens its reader.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "io/arrow_column.hpp"
#include "io/arrow_table.hpp"
#include "io/column.hpp"
#include "io/format.hpp"
#include "io/npy.hpp"
#include "io/npy_table.hpp"
#include "io/posix.hpp"
#include "io/table.hpp"
#include "upsweep/detail/unreachable.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

struct Source {
  std::string path;
  std::optional<std::string> column;
};

// 0, or the errno of the attempt to find it.
int look_for(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 ? 0 : errno;
}

Source split(const std::string& source) {
  const int whole = look_for(source);
  if (whole == 0) return {source, std::nullopt};
  // Names of files and columns may both hold colons.
  int head = whole;
  std::string path = source;
  for (std::size_t colon = source.find(':', 1); colon != std::string::npos; colon = source.find(':', colon + 1)) {
    path = source.substr(0, colon);
    head = look_for(path);
    if (head == 0) return {std::move(path), source.substr(colon + 1)};
  }
  throw_read_error(path, head);
}

bool ends_in(std::string_view path, std::string_view suffix) {
  if (path.size() < suffix.size()) return false;
  const auto same = [](char small, char any) { return small == (any >= 'A' && any <= 'Z' ? any - 'A' + 'a' : any); };
  return std::equal(suffix.begin(), suffix.end(), path.end() - std::ssize(suffix), same);
}

Format format_of(int fd, const std::string& path) {
  std::array<char, kSniffBytes> head{};
  const std::int64_t got = read_fully_at(fd, head.data(), kSniffBytes, 0, path);
  if (got == 0) throw Error(Code::malformed, fmt::format("{}: is empty; it must hold at least a header", path));
  const Format format = sniff({head.data(), static_cast<std::size_t>(got)});
  if (format != Format::unknown) return format;
  if (ends_in(path, ".csv")) return Format::csv;
  if (ends_in(path, ".npy")) return Format::npy;  // its reader says best what is wrong with it
  return Format::unknown;
}

// A file that is there, and what it is. Pipes and devices are of unknown format: nothing is read from them to tell.
struct Opened {
  Descriptor file;
  bool regular = false;
  Format format = Format::unknown;
};

Opened open_file(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw_read_error(path, errno);
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) throw_read_error(path, errno);
  if (S_ISDIR(status.st_mode)) throw_read_error(path, EISDIR);
  if (!S_ISREG(status.st_mode)) return {std::move(file), false, Format::unknown};
  const Format format = format_of(file.get(), path);
  return {std::move(file), true, format};
}

// Pipes are left alone: what writes to one may not be there when it is opened a second time.
bool is_csv(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  return open_file(path).format == Format::csv;
}

[[noreturn]] void refuse_format(const std::string& path, Format format) {
  if (format == Format::zip) {
    throw Error(Code::malformed, fmt::format("{}: is {}, which is not read; save each array by itself with np.save",
                                             path, describe(format)));
  }
  throw Error(Code::malformed,
              fmt::format("{}: is neither .npy nor Parquet nor Arrow IPC, nor named .csv; convert it to "
                          "one of these",
                          path));
}

std::unique_ptr<ColumnReader> open_npy(Descriptor file, bool regular, const Source& source) {
  if (source.column) {
    throw Error(Code::unknown_column,
                fmt::format("{}: a .npy file has no columns; leave out ':{}'", source.path, printable(*source.column)));
  }
  return regular ? open_npy_file(std::move(file), source.path) : open_npy_stream(std::move(file), source.path);
}

}  // namespace

std::unique_ptr<ColumnReader> open_column(std::string_view source) {
  if (source == "-") {
    Descriptor input(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
    if (!input) throw_read_error("standard input", errno);
    return open_npy_stream(std::move(input), "standard input");
  }
  const Source found = split(std::string(source));
  Opened opened = open_file(found.path);
  if (!opened.regular) return open_npy(std::move(opened.file), false, found);
  switch (opened.format) {
    case Format::npy:
      return open_npy(std::move(opened.file), true, found);
    case Format::zip:
    case Format::unknown:
      refuse_format(found.path, opened.format);
    case Format::parquet:
    case Format::ipc_file:
    case Format::ipc_stream:
    case Format::csv:
      return open_arrow_column(opened.format, found.path, found.column);
  }
  detail::no_such_value();
}

std::unique_ptr<Table> open_table(const std::string& path, CsvCells cells) {
  Opened opened = open_file(path);
  if (!opened.regular) {
    throw Error(Code::unreadable, fmt::format("{}: is no regular file, and tables are read from these only; save it to "
                                              "one",
                                              path));
  }
  switch (opened.format) {
    case Format::npy:
      return open_npy_table(path);
    case Format::zip:
    case Format::unknown:
      refuse_format(path, opened.format);
    case Format::parquet:
    case Format::ipc_file:
    case Format::ipc_stream:
    case Format::csv:
      return open_arrow_table(opened.format, path, cells);
  }
  detail::no_such_value();
}

std::optional<CsvColumn> open_csv_column(std::string_view source) {
  const Source found = split(std::string(source));
  if (!is_csv(found.path)) return std::nullopt;
  CsvColumn csv{open_table(found.path, CsvCells::text), 0, {}};
  std::vector<std::string> names;
  for (const Field& field : csv.table->fields()) names.push_back(field.name);
  csv.column = find_column(names, found.path, found.column);
  const std::string& name = names[static_cast<std::size_t>(csv.column)];
  if (!found.column) {
    require_name(found.path, name,
                 ", name the file .txt for one number on each line, or the column as FILE:COLUMN if that is its name");
  }
  csv.name = fmt::format("{}:{}", found.path, printable(name));
  return csv;
}

}  // namespace upsweep::io
