// SPDX-License-Identifier: Apache-2.0
// io/npy_table.hpp: a .npy file as a table of one column.
#pragma once

#include <string>

#include "io/source.hpp"
#include "io/table.hpp"

namespace upsweep::io {

/// Opens a .npy file. A regular file is read in row groups of equal length. Anything else, such as a pipe, a terminal
/// or a device, is read front to back and can be opened once. Throws upsweep::Error:
/// malformed, unsupported_type, unreadable. The column's elements are mapped if possible, and the file stays open: all
/// threads compute with its chunks in place. A table's batches are read, each by its own thread, into memory that stays
/// in a cache. The file is open meanwhile.
TableColumn open_npy(Opened opened);

}  // namespace upsweep::io
