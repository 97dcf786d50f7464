// SPDX-License-Identifier: Apache-2.0
// io/output_file.hpp: a file in the making, that has its name only when it is whole.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace upsweep::io {

/// How the bytes of a file come.
enum class Writing : std::uint8_t {
  in_order,
  front_last,  ///< in order, and the front is rewritten at the end
  shared       ///< the same, and further on other processes write, as OutputRange
};

/// The bytes go to a temporary file beside `path`; close() renames it. Destroyed without close(), it leaves nothing, and
/// whatever stood under `path` before is untouched. So it is where the process is killed before close(), but where the file
/// system makes no files without a name, or the file is shared: there ".NAME.upsweep-…" stays. From close() to the destructor what was
/// replaced has such a name. Signals are held back meanwhile, so that only SIGKILL can leave it; one thread does both.
/// `path` "-" writes to standard output, directly or, where its front is rewritten at the end, by way of a temporary file in
/// $TMPDIR. So does a `path` that exists and is no regular file: a device or a pipe. Neither is shared.
/// A symbolic link is written through, and a file that is replaced keeps its permissions.
class OutputFile {
 public:
  /// Throws upsweep::Error: unwritable, is_directory, not_found (no such folder), disk_full.
  OutputFile(const std::string& path, Writing writing);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  [[nodiscard]] const std::string& name() const;  ///< what messages call it
  /// Where a shared file stands until it has its name.
  [[nodiscard]] const std::string& temporary_path() const;

  /// Throws upsweep::Error: disk_full, unwritable. A closed pipe raises io::ClosedPipe.
  void write(const void* bytes, std::int64_t count);
  /// Not where bytes come in order.
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

/// What one process writes of a file that is another one's, and shared.
class OutputRange {
 public:
  /// `temporary_path` is the other one's; `name` what messages call it. Throws upsweep::Error unwritable.
  OutputRange(const std::string& temporary_path, std::string name, std::int64_t offset);
  ~OutputRange();
  OutputRange(const OutputRange&) = delete;
  OutputRange& operator=(const OutputRange&) = delete;

  /// The next bytes. Throws upsweep::Error: disk_full, unwritable.
  void write(const void* bytes, std::int64_t count);
  /// Afterwards the others see what was written. Throws as write() does.
  void complete();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Thrown when the reader of standard output went away: the command ends silently with status 141.
struct ClosedPipe {};

}  // namespace upsweep::io
