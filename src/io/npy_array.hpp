// SPDX-License-Identifier: Apache-2.0
// io/npy_array.hpp: .npy files of any number of dimensions, which are read and written as a whole.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/column_info.hpp"
#include "io/posix.hpp"

namespace upsweep::io {

/// An array in memory, in the order of its file.
struct NpyArray {
  ColumnInfo info;  ///< `count` is the number of all elements; booleans are bytes
  std::vector<std::int64_t> shape = {};
  bool is_fortran = false;  ///< the first index changes fastest, not the last one
  std::unique_ptr<AlignedBuffer> elements = std::make_unique<AlignedBuffer>();
};

/// Reads a .npy file, or standard input for "-". Throws upsweep::Error as open_column() does, and null_value for NaT
/// (index: its number in the order of the file).
NpyArray read_npy_array(const std::string& path);

/// Writes a .npy file, or standard output for "-". `descr`: as in npy_descr(). Throws upsweep::Error: disk_full,
/// unwritable.
void write_npy_array(const std::string& path, const std::string& descr, const std::vector<std::int64_t>& shape,
                     bool is_fortran, const void* elements, std::int64_t bytes);

}  // namespace upsweep::io
