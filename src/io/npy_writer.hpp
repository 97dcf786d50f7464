// SPDX-License-Identifier: Apache-2.0
// io/npy_writer.hpp: writes a one-dimensional .npy file as its elements come, and names it only when it is whole.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "upsweep/types.hpp"

namespace upsweep::io {

/// A .npy file in the making. The bytes go to a temporary file beside `path`; close() renames it. Destroyed without close(),
/// it leaves nothing, and whatever stood under `path` before is untouched. So it is where the process is killed, but where the
/// file system makes no files without a name: there ".NAME.upsweep-…" stays.
/// `path` "-" writes to standard output: directly where `count` is known, else by way of a temporary file in $TMPDIR,
/// because the length stands in the header. So does a `path` that exists and is no regular file: a device or a pipe.
/// A symbolic link is written through, and a file that is replaced keeps its permissions.
class NpyWriter {
 public:
  /// `count`: the elements that will come, or -1 where that is not known yet.
  /// Throws upsweep::Error: unwritable, is_directory, not_found (no such folder), disk_full.
  NpyWriter(const std::string& path, Type type, std::int64_t count = -1);
  ~NpyWriter();
  NpyWriter(const NpyWriter&) = delete;
  NpyWriter& operator=(const NpyWriter&) = delete;

  /// Throws upsweep::Error: disk_full, unwritable. A closed pipe raises io::ClosedPipe.
  void write(const void* elements, std::int64_t count);

  /// Writes what is still to be written, all but the name: close() has little left that can fail. Throws as write()
  /// does, and malformed (a bug of the caller) where fewer elements came than announced.
  void complete();

  /// Completes, and renames. Survives a crash of the program, not of the machine: nothing waits for the disk.
  void close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Thrown when the reader of standard output went away: the command ends silently with status 141.
struct ClosedPipe {};

}  // namespace upsweep::io
