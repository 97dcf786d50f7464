// SPDX-License-Identifier: Apache-2.0
// io/npy.hpp: the reader of .npy files, versions 1.0, 2.0 and 3.0, of one dimension.
#pragma once

#include <memory>
#include <string>

#include "io/column.hpp"
#include "io/posix.hpp"

namespace upsweep::io {

/// A regular file, memory-mapped a window at a time. `name` is what messages call it.
/// Throws upsweep::Error: malformed, unsupported_type, unreadable.
std::unique_ptr<ColumnReader> open_npy_file(Descriptor file, std::string name);

/// Anything that can only be read front to back: a pipe, a terminal, a device. Throws as open_npy_file() does.
std::unique_ptr<ColumnReader> open_npy_stream(Descriptor file, std::string name);

}  // namespace upsweep::io
