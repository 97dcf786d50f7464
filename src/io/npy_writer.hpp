// SPDX-License-Identifier: Apache-2.0
// io/npy_writer.hpp: writes a one-dimensional .npy file as its elements come, and names it only when it is whole.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "io/output_file.hpp"
#include "upsweep/types.hpp"

namespace upsweep::io {

/// A .npy file in the making, an OutputFile: standard output and pipes are written to directly where `count` is known, else
/// by way of a temporary file, because the length stands in the header.
class NpyWriter {
 public:
  /// `count`: the elements that will come, or -1 where that is not known yet.
  /// `boolean`: they are NumPy's booleans, which are bytes, and `type` uint8.
  /// Throws upsweep::Error: unwritable, is_directory, not_found (no such folder), disk_full.
  NpyWriter(const std::string& path, Type type, std::int64_t count = -1, bool boolean = false);
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
  /// As OutputFile has it.
  void take_back() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A .npy file of which several processes write the elements, each those from an index on. The first one makes it, and gives
/// it its name when all others have completed. Throws as NpyWriter does.
class SharedNpyWriter {
 public:
  /// The process that makes it, whose elements are the first ones.
  SharedNpyWriter(const std::string& path, Type type, bool boolean);
  /// Any other: `temporary_path` is the first one's.
  SharedNpyWriter(const std::string& path, Type type, const std::string& temporary_path, std::int64_t first);
  ~SharedNpyWriter();
  SharedNpyWriter(const SharedNpyWriter&) = delete;
  SharedNpyWriter& operator=(const SharedNpyWriter&) = delete;

  void write(const void* elements, std::int64_t count);
  /// Afterwards the others see what was written.
  void complete();

  // Of the process that makes it:
  [[nodiscard]] const std::string& temporary_path() const;
  /// Renames. `count`: the elements of all.
  void close(std::int64_t count);
  /// As OutputFile has it.
  void take_back() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace upsweep::io
