// SPDX-License-Identifier: Apache-2.0
// io/npy_writer.hpp: writes a one-dimensional .npy file as its elements arrive, and names it only when it is complete.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/output_file.hpp"
#include "upsweep/types.hpp"

namespace upsweep::io {

/// Returns the header of a .npy file. That of one dimension has 128 bytes.
std::string npy_header(const std::string& descr, const std::vector<std::int64_t>& shape, bool is_fortran);

/// Returns NumPy's name of a type: "<f8".
std::string npy_descr(Type type);

/// Writes a .npy file, through an OutputFile. Standard output and pipes are written to directly if `count` is known.
/// Otherwise a temporary file is used, because the header contains the length.
class NpyWriter {
 public:
  /// `count`: the number of elements, or -1 if it is not known yet.
  /// `descr`: NumPy's name of the elements, which are stored as `type`, such as "|b1" or "<M8[us]". Empty: that of the
  /// type.
  /// Throws upsweep::Error: unwritable, is_directory, not_found (no such folder), disk_full.
  NpyWriter(const std::string& path, Type type, std::int64_t count = -1, std::string descr = {});
  ~NpyWriter();
  NpyWriter(const NpyWriter&) = delete;
  NpyWriter& operator=(const NpyWriter&) = delete;

  /// Throws upsweep::Error: disk_full, unwritable. A closed pipe raises io::ClosedPipe.
  void write(const void* elements, std::int64_t count);

  /// Writes everything that is still to be written, except the name. close() then has few steps that can fail. Throws
  /// as write() does, and malformed (a bug of the caller) if fewer elements were written than announced.
  void complete();

  /// Completes and renames the file. It survives a crash of the program, not of the machine: nothing waits for the
  /// disk.
  void close();
  /// Does what OutputFile::take_back() does.
  void take_back() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A .npy file whose elements are written by several processes, each from its own index on. The first process creates
/// the file, and renames it when all others have completed. Throws as NpyWriter does.
class SharedNpyWriter {
 public:
  /// For the process that creates the file. It writes the first elements.
  SharedNpyWriter(const std::string& path, Type type, std::string descr);
  /// For any other process: `temporary_path` is the path of the first process.
  SharedNpyWriter(const std::string& path, Type type, const std::string& temporary_path, std::int64_t first);
  ~SharedNpyWriter();
  SharedNpyWriter(const SharedNpyWriter&) = delete;
  SharedNpyWriter& operator=(const SharedNpyWriter&) = delete;

  void write(const void* elements, std::int64_t count);
  /// Makes the written elements visible to the other processes.
  void complete();

  // Only for the process that creates the file:
  [[nodiscard]] const std::string& temporary_path() const;
  /// Renames the file. `count`: the elements of all processes.
  void close(std::int64_t count);
  /// Does what OutputFile::take_back() does.
  void take_back() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace upsweep::io
