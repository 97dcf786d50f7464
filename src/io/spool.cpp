// SPDX-License-Identifier: Apache-2.0
// io/spool.cpp: copies files that can be read only once to temporary files.
#include "io/spool.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "io/tuning.hpp"
#include "system/temporary_folder.hpp"
#include "upsweep/error.hpp"
#include "upsweep/machine.hpp"

namespace upsweep::io {
namespace {

// The path by which this process opens a file without a name. Each time it is a new description with its own position.
FilePath path_of(std::string name, Descriptor file) {
  std::string path = fmt::format("/proc/self/fd/{}", file.get());
  return {std::move(name), std::move(path), std::make_shared<const Descriptor>(std::move(file))};
}

FilePath copy_of(const Descriptor& file, const std::string& name, const std::string& folder) {
  Spool spool(name, folder);
  AlignedBuffer buffer;
  buffer.reserve(tuning::kBinary.copied, name);
  while (const std::int64_t got = read_fully(file.get(), buffer.data(), tuning::kBinary.copied, name)) {
    spool.write(buffer.data(), got);
  }
  return std::move(spool).finish();
}

// Whether the file is a regular one, which nobody has begun to read.
bool is_at_start(const Descriptor& file) {
  struct stat status{};
  return ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) && ::lseek(file.get(), 0, SEEK_CUR) == 0;
}

}  // namespace

bool can_be_spooled(const Descriptor& file) {
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return false;
  const mode_t mode = status.st_mode;
  return S_ISREG(mode) || S_ISFIFO(mode) || S_ISSOCK(mode) || ::isatty(file.get()) == 1;
}

Spool::Spool(std::string name, std::string folder)
    : name_(std::move(name)), folder_(folder.empty() ? temporary_folder() : std::move(folder)) {
  file_ = Descriptor(open_without_name(folder_));
  if (!file_) fail(errno);
}

void Spool::write(const void* bytes, std::int64_t count) {
  for (std::int64_t done = 0; done < count;) {
    const ssize_t put =
        ::write(file_.get(), static_cast<const char*>(bytes) + done, static_cast<std::size_t>(count - done));
    if (put >= 0) {
      done += put;
    } else if (errno != EINTR) {
      fail(errno);
    }
  }
  written_ += count;
}

FilePath Spool::finish() && { return path_of(std::move(name_), std::move(file_)); }

void Spool::fail(int error) const {
  constexpr std::string_view kAdvice = "name another folder by TMPDIR";
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      throw Error(Code::disk_full,
                  fmt::format("{}: {} after {} of it were copied to a temporary file in {}; free disk space, or {}",
                              name_, reason(error), bytes_text(static_cast<double>(written_)), folder_, kAdvice));
    case ENOENT:
    case ENOTDIR:
      throw Error(Code::not_found, fmt::format("{}: the folder for a temporary file, {}, does not exist; {}", name_,
                                               folder_, kAdvice));
    case EMFILE:
      throw Error(Code::unreadable,
                  fmt::format("{}: too many compressed files at a time: each needs a temporary file, and this process "
                              "may not open more; raise the limit (ulimit -n) or decompress the files first",
                              name_));
    default:
      throw Error(Code::unwritable, fmt::format("{}: a temporary file in {} cannot be written: {}; {}", name_, folder_,
                                                reason(error), kAdvice));
  }
}

Opened at_any_place(Opened opened, const std::string& folder) {
  if (!opened.regular) {
    FilePath path = is_at_start(opened.file) ? path_of(opened.path.name, std::move(opened.file))
                                             : copy_of(opened.file, opened.path.name, folder);
    opened = open_file(std::move(path));
  }
  // A compressed file may contain a compressed file. A hostile file contains itself.
  constexpr int kMost = 3;
  for (int level = 0; level < kMost && is_decompressed(opened.format); ++level) {
    opened = open_file(decompress(opened.path, opened.format, folder));
  }
  return opened;
}

Opened spooled_standard_input(const std::string& folder) {
  static std::mutex mutex;
  static std::optional<FilePath> copy;
  const std::lock_guard lock(mutex);
  if (!copy) copy = at_any_place(open_standard_input(), folder).path;
  return open_file(*copy);
}

}  // namespace upsweep::io
