// SPDX-License-Identifier: Apache-2.0
// io/posix.cpp: file descriptors that close themselves, whole reads, and memory for the bytes that were read.
#include "io/posix.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>

#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

constexpr std::align_val_t kAlignment{64};  // a cache line, and the widest vector

// Calls `step(done)` until `bytes` bytes were read, or until the end or an error is reached.
template <class Step>
std::int64_t fully(std::int64_t bytes, std::string_view name, Step step) {
  std::int64_t done = 0;
  while (done < bytes) {
    const ssize_t got = step(done);
    if (got > 0) {
      done += got;
    } else if (got == 0) {
      break;
    } else if (errno != EINTR) {
      throw_read_error(name, errno);
    }
  }
  return done;
}

FileState state_of(const struct stat& status) {
  return {status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

}  // namespace

void Descriptor::reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

AlignedBuffer::~AlignedBuffer() { ::operator delete(data_, kAlignment); }

void AlignedBuffer::reserve(std::int64_t bytes, std::string_view name) {
  if (bytes <= capacity_) return;
  void* const fresh = ::operator new(static_cast<std::size_t>(bytes), kAlignment, std::nothrow);
  if (fresh == nullptr) {
    throw Error(Code::out_of_memory,
                fmt::format("{}: no memory for {} bytes; work on fewer rows at a time", name, bytes));
  }
  if (capacity_ > 0) std::memcpy(fresh, data_, static_cast<std::size_t>(capacity_));
  ::operator delete(data_, kAlignment);
  data_ = static_cast<std::byte*>(fresh);
  capacity_ = bytes;
}

void AlignedBuffer::reserve(std::int64_t n, std::int64_t size, std::string_view name) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(n, size, &bytes)) {
    throw Error(Code::out_of_memory,
                fmt::format("{}: no memory for {} elements of {} bytes; work on fewer rows at a time", name, n, size));
  }
  reserve(bytes, name);
}

FileState file_state(const FilePath& file) {
  struct stat status{};
  if (::stat(file.path.c_str(), &status) != 0) throw_read_error(file.name, errno);
  return state_of(status);
}

FileState file_state(const Descriptor& file, std::string_view name) {
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) throw_read_error(name, errno);
  return state_of(status);
}

void require_unchanged(const FileState& before, const FileState& now, std::string_view name) {
  if (now != before) throw_changed(name);
}

void throw_changed(std::string_view name) {
  throw Error(Code::malformed, fmt::format("{}: was changed or replaced while it was read; try again", name));
}

Descriptor open_again(const FilePath& file, const FileState& before) {
  Descriptor opened(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!opened) {
    const int error = errno;
    require_unchanged(before, file_state(file), file.name);
    throw_read_error(file.name, error);
  }
  require_unchanged(before, file_state(opened, file.name), file.name);
  return opened;
}

std::string reason(int error) { return std::generic_category().message(error); }

bool is_standard_output(const std::string& path) {
  struct stat named{};
  struct stat standard{};
  struct stat null{};
  if (::stat(path.c_str(), &named) != 0 || ::fstat(STDOUT_FILENO, &standard) != 0) return false;
  const auto same = [](const struct stat& a, const struct stat& b) {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
  };
  return same(named, standard) && !(::stat("/dev/null", &null) == 0 && same(named, null));
}

std::string full_name(const std::string& path, const std::string& column) { return path + ":" + printable(column); }

void throw_read_error(std::string_view name, int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      throw Error(Code::not_found, fmt::format("{}: no such file; check the path", name));
    case EISDIR:
      throw Error(Code::is_directory, fmt::format("{}: is a directory; name a file in it", name));
    case ENOMEM:
      throw Error(Code::out_of_memory, fmt::format("{}: no memory to read it", name));
    default:
      throw Error(Code::unreadable, fmt::format("{}: cannot be read: {}", name, reason(error)));
  }
}

std::int64_t read_fully(int fd, void* to, std::int64_t bytes, std::string_view name) {
  return fully(bytes, name, [=](std::int64_t done) {
    return ::read(fd, static_cast<char*>(to) + done, static_cast<std::size_t>(bytes - done));
  });
}

std::int64_t read_fully_at(int fd, void* to, std::int64_t bytes, std::int64_t offset, std::string_view name) {
  return fully(bytes, name, [=](std::int64_t done) {
    return ::pread(fd, static_cast<char*>(to) + done, static_cast<std::size_t>(bytes - done), offset + done);
  });
}

}  // namespace upsweep::io
