// SPDX-License-Identifier: Apache-2.0
// io/spool.hpp: copies of standard input, of pipes and of compressed files, in temporary files without a name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "io/format.hpp"
#include "io/posix.hpp"
#include "io/source.hpp"

namespace upsweep::io {

/// Whether a file can be copied: it is a regular file, a pipe, a socket or a terminal. Other devices may be endless.
[[nodiscard]] bool can_be_spooled(const Descriptor& file);

/// Returns a file that can be read at any place and is not compressed. It is `opened` itself, or a decompressed copy of
/// the bytes from its position on. `folder`: of the temporary file for the copy; empty: $TMPDIR, or the system's.
/// `most`: the number of first bytes that are needed of a decompressed copy; 0: all. Throws upsweep::Error: unreadable,
/// disk_full, unwritable, not_found (the folder); malformed and not_built for a compressed file.
Opened at_any_place(Opened opened, const std::string& folder, std::int64_t most = 0);

/// Opens standard input as at_any_place() does. It is copied once, and each call returns the same copy. A call that
/// needs more bytes continues the copy.
Opened spooled_standard_input(const std::string& folder, std::int64_t most = 0);

/// A temporary file without a name, which is written from its start.
class Spool {
 public:
  /// `name`: of the file that is copied, for messages.
  Spool(std::string name, std::string folder);
  void write(const void* bytes, std::int64_t count);
  [[nodiscard]] std::int64_t written() const { return written_; }
  /// Returns the file, which exists as long as the result or a copy of it does.
  [[nodiscard]] FilePath file() const;

 private:
  [[noreturn]] void fail(int error) const;

  std::string name_;
  std::string folder_;
  std::shared_ptr<const Descriptor> file_;
  std::int64_t written_ = 0;
};

/// Decompresses a file, or its first `most` bytes; 0: all. Its definition is in arrow_decompress.cpp, which needs Arrow
/// C++. Throws malformed for a file that is damaged or truncated, and not_built for a format that this build cannot
/// decompress.
FilePath decompress(const FilePath& file, Format format, const std::string& folder, std::int64_t most);

}  // namespace upsweep::io
