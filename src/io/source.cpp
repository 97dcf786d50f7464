// SPDX-License-Identifier: Apache-2.0
// io/source.cpp: which file and column a source such as "FILE:COLUMN" means, and which format the file has.
#include "io/source.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "core/ascii.hpp"
#include "io/globs.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

// Returns 0, or the errno of the attempt to find the file.
int look_for(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 ? 0 : errno;
}

// Returns the status of an open file, which must not be a folder.
struct stat status_of(const Descriptor& file, std::string_view name) {
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0) throw_read_error(name, errno);
  if (S_ISDIR(status.st_mode)) throw_read_error(name, EISDIR);
  return status;
}

Format format_of(int fd, const FilePath& path) {
  std::array<char, kSniffBytes> head{};
  const std::int64_t got = read_fully_at(fd, head.data(), kSniffBytes, 0, path.name);
  const Format format = sniff({head.data(), static_cast<std::size_t>(got)});
  if (format != Format::unknown) return format;
  const std::string_view name = without_compression(path.name);
  if (ends_in(name, ".csv") || ends_in(name, ".tsv")) return Format::csv;
  if (ends_in(name, ".npy")) return Format::npy;  // its reader reports the fault best
  return Format::unknown;
}

// Reads the next byte of a pipe without consuming it.
bool peek_pipe(int fd, char& next) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  const Descriptor out(ends[0]);
  const Descriptor in(ends[1]);
  ssize_t got = 0;
  do got = ::tee(fd, in.get(), 1, 0);
  while (got < 0 && errno == EINTR);
  return got == 1 && ::read(out.get(), &next, 1) == 1;
}

}  // namespace

bool begins_as_npy(const Descriptor& file) {
  struct stat status{};
  char next = 0;
  const int fd = file.get();
  if (::fstat(fd, &status) != 0) return false;
  if (S_ISREG(status.st_mode)) {
    if (::pread(fd, &next, 1, ::lseek(fd, 0, SEEK_CUR)) != 1) return false;
  } else if (S_ISFIFO(status.st_mode)) {
    if (!peek_pipe(fd, next)) return false;
  } else if (!S_ISSOCK(status.st_mode) || ::recv(fd, &next, 1, MSG_PEEK) != 1) {
    return false;
  }
  return next == kNpyMagic[0];
}

Source split_source(const std::string& source) {
  if (source.empty()) throw Error(Code::not_found, "the name of a file is empty; name a file");
  for (const std::string_view input : {std::string_view("-"), kStandardInputPath}) {
    if (source == input) return {"-", std::nullopt};
    if (source.starts_with(std::string(input) + ":")) return {"-", source.substr(input.size() + 1)};
  }
  const int whole = look_for(source);
  if (whole == 0) return {source, std::nullopt};
  // Names of files and of columns may both contain colons.
  int head = whole;
  std::string path = source;
  for (std::size_t colon = source.find(':', 1); colon != std::string::npos; colon = source.find(':', colon + 1)) {
    path = source.substr(0, colon);
    head = look_for(path);
    if (head == 0) return {std::move(path), source.substr(colon + 1)};
  }
  if (!has_wildcard(source)) throw_read_error(path, head);
  if (!files_of_pattern(source).empty()) return {source, std::nullopt};
  for (std::size_t colon = source.find(':', 1); colon != std::string::npos; colon = source.find(':', colon + 1)) {
    const std::string pattern = source.substr(0, colon);
    if (has_wildcard(pattern) && !files_of_pattern(pattern).empty()) return {pattern, source.substr(colon + 1)};
  }
  refuse_pattern(source);
}

std::string file_of(std::string_view source) {
  try {
    return split_source(std::string(source)).path;
  } catch (const Error&) {
    return std::string(source);
  }
}

std::string_view without_compression(std::string_view path) {
  for (const std::string_view ending : {".gz", ".zst", ".bz2"}) {
    if (ends_in(path, ending)) return path.substr(0, path.size() - ending.size());
  }
  return path;
}

bool ends_in(std::string_view path, std::string_view suffix) {
  return path.size() >= suffix.size() && is_in_any_case(path.substr(path.size() - suffix.size()), suffix);
}

Opened open_file(FilePath path) {
  Descriptor file(::open(path.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!S_ISREG(status_of(file, path.name).st_mode)) return {std::move(file), false, Format::unknown, std::move(path)};
  const Format format = format_of(file.get(), path);
  return {std::move(file), true, format, std::move(path)};
}

bool is_regular(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

Opened open_standard_input() {
  Descriptor file(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
  status_of(file, kStandardInput);
  return {std::move(file), false, Format::unknown, FilePath(std::string(kStandardInput), "-", nullptr)};
}

}  // namespace upsweep::io
