// SPDX-License-Identifier: Apache-2.0
// io/output_file.cpp: writes a file to a temporary file, which is renamed once it is complete.
#include "io/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "io/posix.hpp"
#include "io/tuning.hpp"
#include "system/temporary_folder.hpp"
#include "system/threads.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

constexpr std::size_t kMaxBase = 200;  // of a file's name in its temporary name, which may have 255 bytes
constexpr mode_t kMode = 0666;         // the umask applies, as for any file that a program creates
constexpr int kAttempts = 100;         // if names are taken by files that killed processes left

[[noreturn]] void throw_write_error(std::string_view name, int error) {
  switch (error) {
    case EPIPE:
      throw ClosedPipe{};
    case ENOSPC:
    case EDQUOT:
      throw Error(Code::disk_full, fmt::format("{}: {}; free disk space or write elsewhere", name, reason(error)));
    case EFBIG:
      throw Error(Code::disk_full,
                  fmt::format("{}: {}; raise the limit for the size of files (ulimit -f)", name, reason(error)));
    case ENOENT:
    case ENOTDIR:
      throw Error(Code::not_found, fmt::format("{}: no such folder to write it in; create the folder first", name));
    case EISDIR:
      throw Error(Code::is_directory, fmt::format("{}: is a directory; name a file in it", name));
    default:
      throw Error(Code::unwritable, fmt::format("{}: cannot be written: {}", name, reason(error)));
  }
}

// Returns the file that a symbolic link means, which need not exist; any other path unchanged.
std::string without_links(const std::string& path) {
  constexpr int kMostLinks = 40;  // as in Linux
  std::filesystem::path at(path);
  std::error_code failure;
  for (int i = 0; i < kMostLinks && std::filesystem::is_symlink(at, failure); ++i) {
    at = at.parent_path() / std::filesystem::read_symlink(at, failure);
  }
  return at.string();
}

void write_fully(int fd, const void* from, std::int64_t bytes, std::string_view name) {
  for (std::int64_t done = 0; done < bytes;) {
    const ssize_t put = ::write(fd, static_cast<const char*>(from) + done, static_cast<std::size_t>(bytes - done));
    if (put >= 0) {
      done += put;
    } else if (errno != EINTR) {
      throw_write_error(name, errno);
    }
  }
}

// Some file systems report a full disk or quota only at close().
void close_checked(Descriptor& file, std::string_view name) {
  if (::close(file.release()) != 0 && errno != EINTR) throw_write_error(name, errno);
}

// Blocks signals from the moment that a file is renamed until the other name of the file that it replaces is removed. A
// signal that ended the process in between would leave that name. Files of one result are renamed together and released
// in any order, by one thread. Its signals are delivered when the last file is released. The library's other threads
// never receive signals.
class Renaming {
 public:
  Renaming() {
    if (files++ == 0) blocked.emplace();
  }
  ~Renaming() {
    if (--files == 0) blocked.reset();
  }
  Renaming(const Renaming&) = delete;
  Renaming& operator=(const Renaming&) = delete;

 private:
  static thread_local int files;
  static thread_local std::optional<SignalsBlocked> blocked;
};

thread_local int Renaming::files = 0;
thread_local std::optional<SignalsBlocked> Renaming::blocked;

// The names of temporary files, for remove_temporary_files(). A file that finds no free place is not removed there.
class TemporaryNames {
 public:
  static void add(const std::string& path) noexcept {
    for (auto& place : names) {
      const char* none = nullptr;
      if (place.compare_exchange_strong(none, path.c_str())) return;
    }
  }
  static void remove(const std::string& path) noexcept {
    for (auto& place : names) {
      const char* name = path.c_str();
      if (place.compare_exchange_strong(name, nullptr)) return;
    }
  }
  static void unlink_all() noexcept {
    for (const auto& place : names) {
      if (const char* const name = place) ::unlink(name);
    }
  }

 private:
  static constexpr int kMost = 64;
  static std::atomic<const char*> names[kMost];
};

std::atomic<const char*> TemporaryNames::names[kMost];

// A new file without a name, or with a temporary one, until it is renamed.
//
// O_TMPFILE creates a file without any name: nothing remains of it, even if the process is killed. linkat() cannot
// replace a file, so the file gets a temporary name before it is renamed. Where O_TMPFILE is not supported (NFS, FAT,
// older overlayfs), the file has that name from the start. A signal that kills the process then leaves it. The same
// applies to a file that other processes open.
class TemporaryFile {
 public:
  TemporaryFile(std::filesystem::path folder, std::string base, bool is_shared, std::string_view name)
      : folder_(std::move(folder)), base_(std::move(base)) {
    if (!is_shared && ::access("/proc/self/fd", X_OK) == 0)
      file_ = Descriptor(::open(folder_.c_str(), O_TMPFILE | kFlags, kMode));
    if (file_) return;
    const SignalsBlocked blocked;  // a file that was just created must not remain
    // Not mkstemp(): nobody else can read its files. Reading the umask, which determines who may, is not thread-safe.
    path_ = take_name(name, [this](const char* path) {
      file_ = Descriptor(::open(path, O_CREAT | O_EXCL | kFlags, kMode));
      return static_cast<bool>(file_);
    });
    TemporaryNames::add(path_);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    TemporaryNames::remove(path_);
    if (!path_.empty()) ::unlink(path_.c_str());
    if (!replaced_.empty()) ::unlink(replaced_.c_str());
  }

  [[nodiscard]] int fd() const { return file_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }

  // Renames the file to `target`. A file with that name is kept until the end, for restore().
  void rename(const std::string& target, std::string_view name) {
    renaming_.emplace();
    TemporaryNames::remove(path_);
    if (path_.empty()) {
      const std::string self = fmt::format("/proc/self/fd/{}", file_.get());
      path_ = take_name(name, [&](const char* path) {
        return ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
      });
    }
    close_checked(file_, name);
    keep(target, name);
    if (::rename(path_.c_str(), target.c_str()) != 0) {
      const int error = errno;
      if (std::exchange(moved_aside_, false)) ::rename(std::exchange(replaced_, {}).c_str(), target.c_str());
      throw_write_error(name, error);
    }
    path_.clear();
  }

  // Undoes rename().
  void restore(const std::string& target) noexcept {
    if (replaced_.empty()) {
      ::unlink(target.c_str());
    } else {
      (void)::rename(replaced_.c_str(), target.c_str());  // if that fails, both files stay
    }
    replaced_.clear();
  }

 private:
  static constexpr int kFlags = O_RDWR | O_CLOEXEC;

  // Gives the existing file `target` a second name. Some file systems do not support this (FAT, some network mounts).
  // There the file is moved to another name, and no file is named `target` until the new file is.
  void keep(const std::string& target, std::string_view name) {
    struct stat status{};
    if (::lstat(target.c_str(), &status) != 0 || S_ISDIR(status.st_mode)) return;  // a folder is not replaced
    replaced_ = find_name([&](const char* path) { return ::link(target.c_str(), path) == 0; });
    if (!replaced_.empty()) return;
    // rename() replaces the file with the new name, so that must be a file created here.
    replaced_ = take_name(name, [](const char* path) {
      return static_cast<bool>(Descriptor(::open(path, O_CREAT | O_EXCL | kFlags, kMode)));
    });
    if (::rename(target.c_str(), replaced_.c_str()) != 0) throw_write_error(name, errno);
    moved_aside_ = true;
  }

  // Returns the first free name ".BASE.upsweep-…" that `create` can create; "" and errno if it fails.
  template <class Create>
  std::string find_name(Create create) const {
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const auto path = folder_ / fmt::format(".{}.upsweep-{}-{}", base_.substr(0, kMaxBase), ::getpid(), attempt);
      if (create(path.c_str())) return path;
      if (errno != EEXIST) break;
    }
    return {};
  }
  template <class Create>
  std::string take_name(std::string_view name, Create create) const {
    std::string path = find_name(create);
    if (path.empty()) throw_write_error(name, errno);
    return path;
  }

  std::filesystem::path folder_;
  std::string base_;
  Descriptor file_;
  std::string path_;          // current name; empty without a name
  std::string replaced_;      // second name of the replaced file; empty if no file is replaced
  bool moved_aside_ = false;  // the replaced file has only that name
  std::optional<Renaming> renaming_;
};

}  // namespace

// There are two ways to write. For a file, all bytes go to `temporary`, which close() renames to `target`. The front of
// standard output, a pipe or a device cannot be rewritten. Bytes go to it directly or, if the front is written last,
// through `temporary`.
struct OutputFile::State {
  State(const std::string& path, Writing writing) : name(path == "-" ? "standard output" : path) {
    struct stat status{};
    const bool exists = path != "-" && ::stat(path.c_str(), &status) == 0;
    if (path == "-" || (exists && !S_ISREG(status.st_mode))) {
      open_direct(path, writing);
    } else if (exists || errno == ENOENT) {
      open_beside(path, exists ? &status : nullptr, writing);
    } else {
      throw_write_error(name, errno);  // such as a name that is too long: reported now rather than at the end
    }
  }

  [[nodiscard]] int sink() const { return temporary ? temporary->fd() : direct.get(); }

  void open_direct(const std::string& path, Writing writing) {
    if (writing == Writing::shared) {
      throw Error(Code::unwritable,
                  fmt::format("{}: is not a regular file, so several processes cannot write it", name));
    }
    direct = Descriptor(path == "-" ? ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
                                    : ::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!direct) throw_write_error(name, errno);
    if (writing == Writing::in_order) return;
    const std::string folder = temporary_folder();
    temporary_name = fmt::format("{} (a temporary file in {})", name, folder);
    temporary.emplace(folder, "npy", false, temporary_name);
  }

  // `replaced`: the existing file of that name. Writing to a symbolic link writes to its target.
  void open_beside(const std::string& path, const struct stat* replaced, Writing writing) {
    target = replaced != nullptr ? std::filesystem::canonical(path).string() : without_links(path);
    // Renaming requires permission only for the folder. A file that may not be written must not be replaced either.
    if (replaced != nullptr && ::access(target.c_str(), W_OK) != 0) throw_write_error(name, errno);
    const std::filesystem::path whole(target);
    if (!whole.has_filename()) throw_write_error(name, path.empty() ? ENOENT : EISDIR);
    temporary.emplace(whole.has_parent_path() ? whole.parent_path() : ".", whole.filename().string(),
                      writing == Writing::shared, name);
    // The permissions of the file stay the same.
    if (replaced != nullptr) ::fchmod(temporary->fd(), replaced->st_mode & 07777);
  }

  void complete() {
    if (std::exchange(completed, true)) return;
    if (direct && temporary) copy_temporary();
  }

  void close() {
    complete();
    if (direct) {
      close_checked(direct, name);
    } else {
      temporary->rename(target, name);
    }
  }

  void take_back() noexcept {
    if (!direct) temporary->restore(target);
  }

  void copy_temporary() const {
    AlignedBuffer buffer;
    buffer.reserve(tuning::kBinary.copied, name);
    std::int64_t offset = 0;
    while (const std::int64_t got =
               read_fully_at(temporary->fd(), buffer.data(), tuning::kBinary.copied, offset, temporary_name)) {
      write_fully(direct.get(), buffer.data(), got, name);
      offset += got;
    }
  }

  std::string name;            // in messages
  std::string target;          // the file to replace, at the end of all links
  std::string temporary_name;  // in messages, of a temporary file that is copied
  bool completed = false;
  Descriptor direct;
  std::optional<TemporaryFile> temporary;
};

OutputFile::OutputFile(const std::string& path, Writing writing) : state_(std::make_unique<State>(path, writing)) {}

OutputFile::~OutputFile() = default;

const std::string& OutputFile::name() const { return state_->name; }

const std::string& OutputFile::temporary_path() const { return state_->temporary->path(); }

void OutputFile::write(const void* bytes, std::int64_t count) {
  write_fully(state_->sink(), bytes, count, state_->temporary_name.empty() ? state_->name : state_->temporary_name);
}

void OutputFile::rewrite_front(std::string_view bytes) {
  const auto count = static_cast<ssize_t>(bytes.size());
  if (::pwrite(state_->sink(), bytes.data(), bytes.size(), 0) != count) throw_write_error(state_->name, errno);
}

void OutputFile::complete() { state_->complete(); }

void OutputFile::close() { state_->close(); }

void OutputFile::take_back() noexcept { state_->take_back(); }

void remove_temporary_files() noexcept { TemporaryNames::unlink_all(); }

struct OutputRange::State {
  State(std::string final_name, Descriptor opened) : name(std::move(final_name)), file(std::move(opened)) {}

  std::string name;
  Descriptor file;
};

OutputRange::OutputRange(const std::string& temporary_path, std::string name, std::int64_t offset)
    : state_(
          std::make_unique<State>(std::move(name), Descriptor(::open(temporary_path.c_str(), O_WRONLY | O_CLOEXEC)))) {
  if (!state_->file) {
    throw Error(Code::unwritable,
                fmt::format("{}: the file that the first process created cannot be opened here: {}; name a file "
                            "on a file system that all processes share",
                            state_->name, reason(errno)));
  }
  if (::lseek(state_->file.get(), offset, SEEK_SET) < 0) throw_write_error(state_->name, errno);
}

OutputRange::~OutputRange() = default;

void OutputRange::write(const void* bytes, std::int64_t count) {
  write_fully(state_->file.get(), bytes, count, state_->name);
}

// On NFS other processes see the written data after the file is closed.
void OutputRange::complete() { close_checked(state_->file, state_->name); }

}  // namespace upsweep::io
