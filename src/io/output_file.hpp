// SPDX-License-Identifier: Apache-2.0
// io/output_file.hpp: a file in the making, that has its name only when it is whole.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace upsweep::io {

/// The bytes go to a temporary file beside `path`; close() renames it. Destroyed without close(), it leaves nothing, and
/// whatever stood under `path` before is untouched. So it is where the process is killed before close(), but where the file
/// system makes no files without a name: there ".NAME.upsweep-…" stays. Killed between close() and the destructor, what was
/// replaced stays under such a name.
/// `path` "-" writes to standard output, directly or, where its front is rewritten at the end, by way of a temporary file in
/// $TMPDIR. So does a `path` that exists and is no regular file: a device or a pipe.
/// A symbolic link is written through, and a file that is replaced keeps its permissions.
class OutputFile {
 public:
  /// Throws upsweep::Error: unwritable, is_directory, not_found (no such folder), disk_full.
  OutputFile(const std::string& path, bool front_comes_last);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  [[nodiscard]] const std::string& name() const;  ///< what messages call it

  /// Throws upsweep::Error: disk_full, unwritable. A closed pipe raises io::ClosedPipe.
  void write(const void* bytes, std::int64_t count);
  /// Only where the front comes last.
  void rewrite_front(std::string_view bytes);

  /// Writes what is still to be written, all but the name: close() has little left that can fail. Throws as write() does.
  void complete();
  /// Completes, and renames. Survives a crash of the program, not of the machine: nothing waits for the disk.
  void close();
  /// After close(): what stood under the name before stands there again, or nothing. What went to a pipe stays there.
  void take_back() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Thrown when the reader of standard output went away: the command ends silently with status 141.
struct ClosedPipe {};

}  // namespace upsweep::io
