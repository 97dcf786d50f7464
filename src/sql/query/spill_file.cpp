// SPDX-License-Identifier: Apache-2.0
// sql/query/spill_file.cpp: a file that is unlinked while it is still empty. Every error names the folder and a remedy.
#include "sql/query/spill_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <system_error>
#include <utility>

#include "system/temporary_folder.hpp"
#include "system/threads.hpp"
#include "upsweep/error.hpp"
#include "upsweep/machine.hpp"

namespace upsweep::query {
namespace {

constexpr std::string_view kAdvice =
    "name another folder (QueryMemory::spill_folder, TMPDIR) or allow the query more memory (QueryMemory::bytes)";

std::string reason(int error) { return std::generic_category().message(error); }

/// A write past the process's file size limit raises a signal, which ends the program unless it is handled. If the
/// signal is blocked, write() returns an error instead.
class SizeSignalBlocked {
 public:
  SizeSignalBlocked() noexcept {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~SizeSignalBlocked() {
    if (sigismember(&before_, SIGXFSZ) != 0) return;
    const timespec now{};
    (void)sigtimedwait(&signal_, nullptr, &now);  // a pending signal
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SizeSignalBlocked(const SizeSignalBlocked&) = delete;
  SizeSignalBlocked& operator=(const SizeSignalBlocked&) = delete;

 private:
  sigset_t signal_{};
  sigset_t before_{};
};

}  // namespace

SpillFile::SpillFile(std::string folder) : folder_(folder.empty() ? temporary_folder() : std::move(folder)) {
  const NotCancelled while_it_is_open;
  file_ = open_without_name(folder_);
  if (file_ < 0) fail_to_write(errno);
}

SpillFile::~SpillFile() {
  if (file_ >= 0) ::close(file_);
}

SpillFile::Extent SpillFile::append(std::span<const std::byte> bytes) {
  const NotCancelled meanwhile;
  const SizeSignalBlocked as_an_error;
  const Extent extent{end_.fetch_add(std::ssize(bytes)), std::ssize(bytes)};
  for (std::int64_t done = 0; done < extent.bytes;) {
    const ssize_t put =
        ::pwrite(file_, bytes.data() + done, static_cast<std::size_t>(extent.bytes - done), extent.offset + done);
    if (put > 0) {
      done += put;
    } else if (put == 0 || errno != EINTR) {
      end_ -= extent.bytes;  // only for the message: nothing more is written
      fail_to_write(put == 0 ? ENOSPC : errno);
    }
  }
  return extent;
}

void SpillFile::read(Extent extent, std::byte* to) const {
  const NotCancelled meanwhile;
  for (std::int64_t done = 0; done < extent.bytes;) {
    const ssize_t got = ::pread(file_, to + done, static_cast<std::size_t>(extent.bytes - done), extent.offset + done);
    if (got > 0) {
      done += got;
    } else if (got == 0) {
      refuse_bytes();
    } else if (errno != EINTR) {
      throw Error(Code::unreadable,
                  fmt::format("{}: a temporary file of the query's groups cannot be read: {}", folder_, reason(errno)));
    }
  }
}

void SpillFile::forget(Extent extent) noexcept {
  const NotCancelled meanwhile;
  (void)::fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, extent.offset, extent.bytes);
}

void SpillFile::refuse_bytes() const {
  throw Error(Code::unreadable,
              fmt::format("{}: a temporary file of the query's groups does not contain what was written "
                          "to it: check the disk, or {}",
                          folder_, kAdvice));
}

void SpillFile::fail_to_write(int error) const {
  constexpr std::string_view kWhat = "groups that do not fit the query's memory";
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      throw Error(Code::disk_full,
                  fmt::format("{}: {} after {} of {} were written to a temporary file: free disk space, {}", folder_,
                              reason(error), bytes_text(static_cast<double>(bytes())), kWhat, kAdvice));
    case ENOENT:
    case ENOTDIR:
      throw Error(Code::not_found,
                  fmt::format("{}: no such folder for a temporary file of {}: {}", folder_, kWhat, kAdvice));
    default:
      throw Error(Code::unwritable, fmt::format("{}: a temporary file of {} cannot be written: {}: {}", folder_, kWhat,
                                                reason(error), kAdvice));
  }
}

}  // namespace upsweep::query
