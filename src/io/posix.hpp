// SPDX-License-Identifier: Apache-2.0
// io/posix.hpp: file descriptors that close themselves, whole reads, and memory for the bytes that were read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/printable.hpp"

namespace upsweep::io {

/// Owns a file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~Descriptor() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  /// Closes the descriptor and ignores errors. Where a failing close() matters, call release() and close it yourself.
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

/// Bytes aligned for every element type and for SIMD. They are not initialized.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;
  ~AlignedBuffer();

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::int64_t capacity() const { return capacity_; }
  /// Allocates `bytes`, keeping what is stored there. Throws Error out_of_memory with `name` in its message.
  void reserve(std::int64_t bytes, std::string_view name);
  /// Allocates n elements of `size` bytes, for any n. Keeps the stored bytes.
  void reserve(std::int64_t n, std::int64_t size, std::string_view name);

 private:
  std::byte* data_ = nullptr;
  std::int64_t capacity_ = 0;
};

/// A file that is opened each time it is read.
struct FilePath {
  // NOLINTNEXTLINE(google-explicit-constructor): the path of a file is also its name.
  FilePath(std::string path_and_name) : name(std::move(path_and_name)), path(name) {}
  FilePath(std::string called, std::string opened_by, std::shared_ptr<const Descriptor> kept)
      : name(std::move(called)), path(std::move(opened_by)), file(std::move(kept)) {}

  std::string name;                             ///< in messages
  std::string path;                             ///< opens it
  std::shared_ptr<const Descriptor> file = {};  ///< keeps a file without a name, such as a copy of standard input
  bool is_cut = false;                          ///< it is a copy of only the first bytes
};

/// Identifies the file of a path, and its state: it differs after a change.
struct FileState {
  std::uint64_t device = 0;
  std::uint64_t number = 0;  ///< of its inode
  std::int64_t size = 0;
  std::int64_t seconds = 0;  ///< when it was last written
  std::int64_t nanoseconds = 0;

  bool operator==(const FileState&) const = default;
};

/// Throws upsweep::Error: not_found, unreadable.
FileState file_state(const FilePath& file);

FileState file_state(const Descriptor& file, std::string_view name);

/// Throws malformed if the state of the file has changed.
void require_unchanged(const FileState& before, const FileState& now, std::string_view name);
[[noreturn]] void throw_changed(std::string_view name);

/// Opens a file whose state was `before`. Throws as file_state() and require_unchanged() do, without waiting: a pipe
/// that replaced the file does not block.
Descriptor open_again(const FilePath& file, const FileState& before);

/// Returns the meaning of an errno value as text.
std::string reason(int error);

/// Whether the path and standard output are the same file, as for /dev/stdout. /dev/null does not count.
[[nodiscard]] bool is_standard_output(const std::string& path);

using upsweep::printable;

/// Returns the name of a column of a file for messages.
std::string full_name(const std::string& path, const std::string& column);

/// Throws the Error for an errno value of a failure to open or read `name`.
[[noreturn]] void throw_read_error(std::string_view name, int error);

/// Reads `bytes` bytes, in several steps if necessary; fewer only at the end of the file. Throws upsweep::Error.
std::int64_t read_fully(int fd, void* to, std::int64_t bytes, std::string_view name);

/// Reads `bytes` bytes from `offset` on, without moving the file's position.
std::int64_t read_fully_at(int fd, void* to, std::int64_t bytes, std::int64_t offset, std::string_view name);

/// Reads a file to its end, `bytes` at a time. take(text, last) returns how many bytes it has used. It receives the
/// others again, with the bytes that follow them. Reading stops if take() returns npos, or if `most` bytes or more are
/// left over.
template <class Take>
void read_blocks(int fd, std::int64_t bytes, std::size_t most, std::string_view name, Take take) {
  std::vector<char> buffer(most + static_cast<std::size_t>(bytes));
  std::size_t kept = 0;
  for (bool last = false; !last && kept < most;) {
    const std::int64_t got = read_fully(fd, buffer.data() + kept, bytes, name);
    last = got < bytes;
    const std::string_view text(buffer.data(), kept + static_cast<std::size_t>(got));
    const std::size_t taken = take(text, last);
    if (taken == std::string_view::npos) return;
    kept = text.size() - taken;
    std::memmove(buffer.data(), text.data() + taken, kept);
  }
}

}  // namespace upsweep::io
