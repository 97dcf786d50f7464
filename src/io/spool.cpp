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
FilePath path_of(std::string name, std::shared_ptr<const Descriptor> file) {
  std::string path = fmt::format("/proc/self/fd/{}", file->get());
  return {std::move(name), std::move(path), std::move(file)};
}

// Copies bytes until the copy has `most` bytes; 0: all bytes. Returns whether the file has ended.
bool copy(const Descriptor& file, const std::string& name, std::int64_t most, Spool& to) {
  AlignedBuffer buffer;
  buffer.reserve(tuning::kBinary.copied, name);
  while (most == 0 || to.written() < most) {
    const std::int64_t got = read_fully(file.get(), buffer.data(), tuning::kBinary.copied, name);
    if (got == 0) return true;
    to.write(buffer.data(), got);
  }
  return false;
}

FilePath copy_of(const Descriptor& file, const std::string& name, const std::string& folder) {
  Spool spool(name, folder);
  copy(file, name, 0, spool);
  return spool.file();
}

// Whether the file is a regular one, which nobody has begun to read.
bool is_at_start(const Descriptor& file) {
  struct stat status{};
  return ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) && ::lseek(file.get(), 0, SEEK_CUR) == 0;
}

// Standard input as a file. A copy grows as far as it is needed.
class StandardInput {
 public:
  explicit StandardInput(std::string folder) : folder_(std::move(folder)) {
    Opened input = open_standard_input();
    name_ = input.path.name;
    if (is_at_start(input.file)) {
      begun_ = path_of(name_, std::make_shared<const Descriptor>(std::move(input.file)));
    } else {
      source_ = std::move(input.file);
      spool_.emplace(name_, folder_);
    }
  }

  // Opens the file, which has at least `most` bytes of the input, or all; 0: all.
  Opened open(std::int64_t most) {
    if (spool_ && !copy(source_, name_, most, *spool_)) {
      Opened cut = open_file(spool_->file());
      cut.path.is_cut = true;
      if (!is_decompressed(cut.format)) return cut;
      copy(source_, name_, 0, *spool_);
    }
    if (spool_) begun_ = spool_->file();
    spool_.reset();
    source_ = {};
    if (!whole_) whole_ = at_any_place(open_file(*begun_), folder_).path;
    return open_file(*whole_);
  }

 private:
  std::string folder_;
  std::string name_;
  Descriptor source_;
  std::optional<Spool> spool_;     // while the input has not ended
  std::optional<FilePath> begun_;  // all of the input
  std::optional<FilePath> whole_;  // decompressed
};

}  // namespace

bool can_be_spooled(const Descriptor& file) {
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return false;
  const mode_t mode = status.st_mode;
  return S_ISREG(mode) || S_ISFIFO(mode) || S_ISSOCK(mode) || ::isatty(file.get()) == 1;
}

Spool::Spool(std::string name, std::string folder)
    : name_(std::move(name)), folder_(folder.empty() ? temporary_folder() : std::move(folder)) {
  file_ = std::make_shared<const Descriptor>(open_without_name(folder_));
  if (!*file_) fail(errno);
}

void Spool::write(const void* bytes, std::int64_t count) {
  for (std::int64_t done = 0; done < count;) {
    const ssize_t put =
        ::write(file_->get(), static_cast<const char*>(bytes) + done, static_cast<std::size_t>(count - done));
    if (put >= 0) {
      done += put;
    } else if (errno != EINTR) {
      fail(errno);
    }
  }
  written_ += count;
}

FilePath Spool::file() const { return path_of(name_, file_); }

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
      throw Error(Code::not_found,
                  fmt::format("{}: the folder for a temporary file, {}, does not exist; {}", name_, folder_, kAdvice));
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

Opened at_any_place(Opened opened, const std::string& folder, std::int64_t most) {
  if (!opened.regular) {
    FilePath path = is_at_start(opened.file)
                        ? path_of(opened.path.name, std::make_shared<const Descriptor>(std::move(opened.file)))
                        : copy_of(opened.file, opened.path.name, folder);
    opened = open_file(std::move(path));
  }
  // A compressed file may contain a compressed file. A hostile file contains itself.
  constexpr int kMost = 3;
  for (int level = 0; level < kMost && is_decompressed(opened.format); ++level) {
    Opened content = open_file(decompress(opened.path, opened.format, folder, most));
    if (content.path.is_cut && is_decompressed(content.format)) {
      content = open_file(decompress(opened.path, opened.format, folder, 0));
    }
    opened = std::move(content);
  }
  return opened;
}

Opened spooled_standard_input(const std::string& folder, std::int64_t most) {
  static std::mutex mutex;
  static std::optional<StandardInput> input;
  const std::lock_guard lock(mutex);
  if (!input) input.emplace(folder);
  return input->open(most);
}

}  // namespace upsweep::io
