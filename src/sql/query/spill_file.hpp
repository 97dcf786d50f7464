// SPDX-License-Identifier: Apache-2.0
// sql/query/spill_file.hpp: a temporary file without a name, for data that does not fit in memory. It never remains
// when the process ends, in any way.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace upsweep::query {

class SpillFile {
 public:
  /// Creates the file in that folder; "": in $TMPDIR, or the system's folder. Throws Error not_found (no such folder),
  /// unwritable, disk_full.
  explicit SpillFile(std::string folder);
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  /// The position of bytes that were written at once.
  struct Extent {
    std::int64_t offset;
    std::int64_t bytes;
  };
  // Any number of threads may call the following functions at a time.
  /// Appends bytes. Throws Error disk_full, unwritable.
  Extent append(std::span<const std::byte> bytes);
  /// Reads bytes. Throws Error unreadable, also if the file has become shorter.
  void read(Extent extent, std::byte* to) const;
  /// Releases the disk space of bytes that are not read again.
  void forget(Extent extent) noexcept;

  /// Returns the number of bytes written so far.
  [[nodiscard]] std::int64_t bytes() const { return end_; }
  /// Throws the Error for bytes that differ from those that were written.
  [[noreturn]] void refuse_bytes() const;

 private:
  [[noreturn]] void fail_to_write(int error) const;

  std::string folder_;
  int file_ = -1;
  std::atomic<std::int64_t> end_{0};
};

}  // namespace upsweep::query
