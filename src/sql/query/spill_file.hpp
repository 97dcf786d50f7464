// SPDX-License-Identifier: Apache-2.0
// sql/query/spill_file.hpp: a temporary file without a name, for what does not fit memory: nothing is left of it however the process ends.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace upsweep::query {

class SpillFile {
 public:
  /// In that folder; "": in $TMPDIR, or the system's. Throws Error not_found (no such folder), unwritable, disk_full.
  explicit SpillFile(std::string folder);
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  /// Where bytes are that were written at once.
  struct Extent {
    std::int64_t offset;
    std::int64_t bytes;
  };
  // By any number of threads at a time.
  /// Throws Error disk_full, unwritable.
  Extent append(std::span<const std::byte> bytes);
  /// Throws Error unreadable, also where the file has become shorter.
  void read(Extent extent, std::byte* to) const;
  /// These bytes are not read again: the disk may have them back.
  void forget(Extent extent) noexcept;

  /// Written so far.
  [[nodiscard]] std::int64_t bytes() const { return end_; }
  /// Throws the Error of bytes that are not those that were written.
  [[noreturn]] void refuse_bytes() const;

 private:
  [[noreturn]] void fail_to_write(int error) const;

  std::string folder_;
  int file_ = -1;
  std::atomic<std::int64_t> end_{0};
};

}  // namespace upsweep::query
