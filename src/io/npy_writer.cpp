// SPDX-License-Identifier: Apache-2.0
// io/npy_writer.cpp: writes .npy files of version 1.0 under a name of their own only once they are whole.
#include "io/npy_writer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <random>
#include <utility>

#include "io/format.hpp"
#include "io/posix.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

constexpr std::int64_t kHeader = 128;    // what NumPy writes for every count, so that it can be patched in place
constexpr std::int64_t kCopy = 1 << 20;  // bytes at once from a temporary file to a pipe
constexpr std::size_t kMaxBase = 200;    // of a file's name in its temporary name, which may have 255 bytes
constexpr mode_t kMode = 0666;           // less the umask, as for any file that a program creates
constexpr std::int64_t kUnknown = -1;

std::string header(Type type, std::int64_t count) {
  const char order = size_of(type) == 1 ? '|' : '<';
  const char kind = is_float(type) ? 'f' : is_signed(type) ? 'i' : 'u';
  const std::string dict =
      fmt::format("{{'descr': '{}{}{}', 'fortran_order': False, 'shape': ({},), }}", order, kind, size_of(type), count);
  constexpr std::int64_t kPrefix = 10;  // magic word, version and length
  constexpr std::int64_t kLength = kHeader - kPrefix;
  return fmt::format("{}{}{}{}{}{:<{}}\n", kNpyMagic, '\x01', '\0', static_cast<char>(kLength), '\0', dict,
                     kLength - 1);
}

[[noreturn]] void throw_write_error(std::string_view name, int error) {
  switch (error) {
    case EPIPE:
      throw ClosedPipe{};
    case ENOSPC:
    case EDQUOT:
      throw Error(Code::disk_full, fmt::format("{}: {}; make room or write elsewhere", name, reason(error)));
    case ENOENT:
    case ENOTDIR:
      throw Error(Code::not_found, fmt::format("{}: no such folder to write it in; create the folder first", name));
    case EISDIR:
      throw Error(Code::is_directory, fmt::format("{}: is a directory; name a file in it", name));
    default:
      throw Error(Code::unwritable, fmt::format("{}: cannot be written: {}", name, reason(error)));
  }
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

// Some file systems tell of a full disk or quota only at close().
void close_checked(Descriptor& file, std::string_view name) {
  if (::close(file.release()) != 0 && errno != EINTR) throw_write_error(name, errno);
}

// Calls `create(name)` with new names ".BASE.upsweep-XXXXXX" in `folder` until it does not fail with EEXIST. Returns
// the name, or nothing and leaves errno.
std::optional<std::string> with_new_name(const std::string& folder, const std::string& base,
                                         const std::function<bool(const std::string&)>& create) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device random;
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::string name = fmt::format("{}/.{}.upsweep-", folder, base.substr(0, kMaxBase));
    for (int i = 0; i < 6; ++i) name += kLetters[random() % kLetters.size()];
    if (create(name)) return name;
    if (errno != EEXIST) return std::nullopt;
  }
  return std::nullopt;
}

// A file that has no name, or not its final one, until publish().
//
// O_TMPFILE makes one without any name, so that even a killed process leaves nothing behind. linkat() cannot replace an
// existing file, so publish() gives it a temporary name first and renames that, which is atomic: only a kill between
// these two calls leaves a file. Where O_TMPFILE is not to be had (NFS, FAT, older overlayfs), the file has the
// temporary name from the start, and a signal that kills the process leaves it.
class TemporaryFile {
 public:
  TemporaryFile(std::string folder, std::string base, std::string_view name)
      : folder_(std::move(folder)), base_(std::move(base)) {
    if (::access("/proc/self/fd", X_OK) == 0) file_ = Descriptor(::open(folder_.c_str(), O_TMPFILE | kFlags, kMode));
    if (!file_) open_named(name);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  [[nodiscard]] int fd() const { return file_.get(); }

  /// Takes the name away where there is one: for files that never get one.
  void unlink() {
    if (!path_.empty()) ::unlink(path_.c_str());
    path_.clear();
  }

  void publish(const std::string& target, std::string_view name) {
    if (path_.empty()) link(name);
    close_checked(file_, name);
    if (::rename(path_.c_str(), target.c_str()) != 0) throw_write_error(name, errno);
    path_.clear();
  }

 private:
  static constexpr int kFlags = O_RDWR | O_CLOEXEC;

  // Not mkstemp(): its files can be read by nobody else, and the umask, which says who may, is not to be had safely.
  void open_named(std::string_view name) {
    const auto path = with_new_name(folder_, base_, [this](const std::string& candidate) {
      file_ = Descriptor(::open(candidate.c_str(), O_CREAT | O_EXCL | kFlags, kMode));
      return static_cast<bool>(file_);
    });
    if (!path) throw_write_error(name, errno);
    path_ = *path;
  }

  void link(std::string_view name) {
    const std::string self = fmt::format("/proc/self/fd/{}", file_.get());
    const auto path = with_new_name(folder_, base_, [&self](const std::string& candidate) {
      return ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, candidate.c_str(), AT_SYMLINK_FOLLOW) == 0;
    });
    if (!path) throw_write_error(name, errno);
    path_ = *path;
  }

  std::string folder_;
  std::string base_;
  Descriptor file_;
  std::string path_;  // where it stands now; empty without a name
};

}  // namespace

// Two ways to write. A file: everything goes to `temporary`, which close() publishes as `target`. A stream (standard
// output, a pipe, a device), which has no second chance at its header: elements go straight to `stream` where their
// count is known, else by way of `temporary`.
struct NpyWriter::State {
  State(const std::string& path, Type element_type, std::int64_t element_count)
      : name(path == "-" ? "standard output" : path), type(element_type), announced(element_count) {
    if (path == "-") {
      stream = Descriptor(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
      if (!stream) throw_write_error(name, errno);
    } else {
      open(path);
    }
    if (stream && announced == kUnknown) open_spool();
    write_fully(sink(), header(type, std::max<std::int64_t>(announced, 0)).data(), kHeader, name);
  }

  [[nodiscard]] int sink() const { return temporary ? temporary->fd() : stream.get(); }

  void open(const std::string& path) {
    struct stat status{};
    const bool exists = ::stat(path.c_str(), &status) == 0;
    if (!exists && errno != ENOENT) throw_write_error(name, errno);  // a name too long, say: better now than at the end
    if (exists && S_ISDIR(status.st_mode)) throw_write_error(name, EISDIR);
    if (exists && !S_ISREG(status.st_mode)) {
      stream = Descriptor(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
      if (!stream) throw_write_error(name, errno);
      return;
    }
    target = exists ? behind_links(path) : path;
    // Renaming asks leave of the folder only; a file that may not be written is not to be replaced either.
    if (exists && ::access(target.c_str(), W_OK) != 0) throw_write_error(name, errno);
    const std::size_t slash = target.rfind('/');
    const std::string base = target.substr(slash + 1);
    if (base.empty()) throw_write_error(name, path.empty() ? ENOENT : EISDIR);
    temporary.emplace(slash == std::string::npos ? "." : target.substr(0, slash + 1), base, name);
    // Who may read the file stays as it was.
    if (exists) ::fchmod(temporary->fd(), status.st_mode & 07777);
  }

  // Writing to a symbolic link writes to the file behind it; rename() would replace the link.
  [[nodiscard]] std::string behind_links(const std::string& path) const {
    char resolved[PATH_MAX];
    if (::realpath(path.c_str(), resolved) == nullptr) throw_write_error(name, errno);
    return resolved;
  }

  void open_spool() {
    const char* const folder = std::getenv("TMPDIR");
    spool_name = fmt::format("{} (a temporary file in {})", name, folder != nullptr ? folder : P_tmpdir);
    temporary.emplace(folder != nullptr ? folder : P_tmpdir, "npy", spool_name);
    temporary->unlink();
  }

  void write(const void* elements, std::int64_t count) {
    written += count;
    if (announced != kUnknown && written > announced) {
      throw Error(Code::malformed, fmt::format("{}: {} elements were announced and more are written", name, announced));
    }
    write_fully(sink(), elements, count * size_of(type), spool_name.empty() ? name : spool_name);
  }

  void complete() {
    if (completed) return;
    if (announced != kUnknown && written != announced) {
      throw Error(Code::malformed,
                  fmt::format("{}: {} elements were announced and {} written", name, announced, written));
    }
    if (announced == kUnknown) complete_header();
    if (stream && temporary) copy_spool();
    completed = true;
  }

  void close() {
    complete();
    if (stream) {
      close_checked(stream, name);
    } else {
      temporary->publish(target, name);
    }
  }

  void complete_header() const {
    if (::pwrite(temporary->fd(), header(type, written).data(), kHeader, 0) != kHeader) throw_write_error(name, errno);
  }

  void copy_spool() const {
    AlignedBuffer buffer;
    buffer.reserve(kCopy, name);
    std::int64_t offset = 0;
    while (const std::int64_t got = read_fully_at(temporary->fd(), buffer.data(), kCopy, offset, spool_name)) {
      write_fully(stream.get(), buffer.data(), got, name);
      offset += got;
    }
  }

  std::string name;  // what messages call it
  Type type;
  std::int64_t announced;
  std::int64_t written = 0;
  bool completed = false;
  std::string target;      // the file to publish, behind all links
  std::string spool_name;  // what messages call the temporary file before a stream
  Descriptor stream;
  std::optional<TemporaryFile> temporary;
};

NpyWriter::NpyWriter(const std::string& path, Type type, std::int64_t count)
    : state_(std::make_unique<State>(path, type, count)) {}

NpyWriter::~NpyWriter() = default;

void NpyWriter::write(const void* elements, std::int64_t count) { state_->write(elements, count); }

void NpyWriter::complete() { state_->complete(); }

void NpyWriter::close() { state_->close(); }

}  // namespace upsweep::io
