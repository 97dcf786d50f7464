// SPDX-License-Identifier: Apache-2.0
// io/npy_table.hpp: a .npy file as a table of one column.
#pragma once

#include <string>

#include "io/source.hpp"
#include "io/table.hpp"

namespace upsweep::io {

/// Of a regular file, in row groups of equal length, or of anything that can only be read front to back, which can be
/// opened once: a pipe, a terminal, a device. `name` is what messages call it. Throws upsweep::Error: malformed,
/// unsupported_type, unreadable. The column's elements are mapped where they can be, and the file stays open: its
/// chunks are computed with by all threads as they lie. A table's batches are read, each by its own thread, into memory
/// that stays in a cache; the file is open meanwhile.
TableColumn open_npy(Opened opened, const std::string& name);

}  // namespace upsweep::io
