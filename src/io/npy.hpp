// SPDX-License-Identifier: Apache-2.0
// io/npy.hpp: the headers of .npy files, versions 1.0, 2.0 and 3.0, of one dimension.
#pragma once

#include <cstdint>
#include <string_view>

#include "io/posix.hpp"
#include "upsweep/types.hpp"

namespace upsweep::io {

/// The contents of the header of a .npy file.
struct NpyLayout {
  Type type = Type::int64;
  bool boolean = false;  ///< elements are booleans, a byte each; `type` is uint8
  std::int64_t count = 0;
  std::int64_t data = 0;  ///< where in the file the elements start
};

/// Reads from the file's position, which is then at the elements. `name` is used in messages.
/// Throws upsweep::Error: malformed, unsupported_type, unreadable.
NpyLayout read_npy_layout(const Descriptor& file, std::string_view name);

/// Throws the error for a .npy file that cannot be read.
[[noreturn]] void throw_bad_npy(std::string_view name, std::string_view what);

}  // namespace upsweep::io
