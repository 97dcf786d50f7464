// SPDX-License-Identifier: Apache-2.0
// io/output_file.hpp: an output file that gets its name only when it is complete.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace upsweep::io {

/// The order in which the bytes of a file are written.
enum class Writing : std::uint8_t {
  in_order,
  front_last,  ///< in order, but the front is rewritten at the end
  shared       ///< like front_last, and other processes write later ranges, through OutputRange
};

/// The bytes go to a temporary file next to `path`; close() renames it. If it is destroyed without close(), no file
/// remains, and an existing file `path` stays as it was. The same applies if the process is killed before close().
/// There are two exceptions: a file system that does not support files without a name, and a shared file. Then
/// ".NAME.upsweep-…" remains.
///
/// From close() to the destructor the replaced file has such a name. Signals are blocked meanwhile, so that only
/// SIGKILL can leave it. Both calls must be in one thread.
///
/// `path` "-" writes to standard output: directly or, if the front is rewritten at the end, through a temporary file in
/// $TMPDIR. The same applies to a `path` that exists and is not a regular file: a device or a pipe. Neither can be
/// shared. A symbolic link is followed, and a file that is replaced keeps its permissions.
class OutputFile {
 public:
  /// Throws upsweep::Error: unwritable, is_directory, not_found (no such folder), disk_full.
  OutputFile(const std::string& path, Writing writing);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  [[nodiscard]] const std::string& name() const;  ///< in messages
  /// Returns the path of a shared file until it is renamed.
  [[nodiscard]] const std::string& temporary_path() const;

  /// Throws upsweep::Error: disk_full, unwritable. A closed pipe raises io::ClosedPipe.
  void write(const void* bytes, std::int64_t count);
  /// Rewrites the front. Not supported for Writing::in_order.
  void rewrite_front(std::string_view bytes);

  /// Writes everything that is still to be written. close() then has few steps that can fail. Throws as write() does.
  void complete();
  /// Completes and renames the file. It survives a crash of the program, not of the machine: nothing waits for the
  /// disk.
  void close();
  /// After close(): restores the replaced file, or removes the new file if there was none. Bytes written to a pipe stay
  /// there.
  void take_back() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The range of a shared file that one process writes. Another process created the file.
class OutputRange {
 public:
  /// `temporary_path` is that of the other process; `name` is used in messages. Throws upsweep::Error unwritable.
  OutputRange(const std::string& temporary_path, std::string name, std::int64_t offset);
  ~OutputRange();
  OutputRange(const OutputRange&) = delete;
  OutputRange& operator=(const OutputRange&) = delete;

  /// Writes the next bytes. Throws upsweep::Error: disk_full, unwritable.
  void write(const void* bytes, std::int64_t count);
  /// Makes the written bytes visible to the other processes. Throws as write() does.
  void complete();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Removes the temporary files of this process that have a name. For signal handlers that end the process.
void remove_temporary_files() noexcept;

/// Thrown when the reader of standard output has closed it: the command ends silently with status 141.
struct ClosedPipe {};

}  // namespace upsweep::io
