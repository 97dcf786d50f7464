// SPDX-License-Identifier: Apache-2.0
// io/npy.hpp: the reader of .npy files, versions 1.0, 2.0 and 3.0, of one dimension.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "io/column.hpp"
#include "io/posix.hpp"

namespace upsweep::io {

/// What the header of a .npy file tells.
struct NpyLayout {
  Type type = Type::int64;
  bool truth = false;  ///< elements are truth values, a byte each; `type` is uint8
  std::int64_t count = 0;
  std::int64_t data = 0;  ///< where in the file the elements start
};

/// Of a regular file at its beginning, and whether its size is what the header tells. Throws as open_npy_file() does.
NpyLayout read_npy_layout(const Descriptor& file, const std::string& name);

/// A regular file, memory-mapped a window at a time. `name` is what messages call it.
/// Throws upsweep::Error: malformed, unsupported_type, unreadable.
std::unique_ptr<ColumnReader> open_npy_file(Descriptor file, std::string name);

/// Anything that can only be read front to back: a pipe, a terminal, a device. Throws as open_npy_file() does.
std::unique_ptr<ColumnReader> open_npy_stream(Descriptor file, std::string name);

}  // namespace upsweep::io
