// SPDX-License-Identifier: Apache-2.0
// io/npy_table.hpp: a .npy file as a table of one column.
#pragma once

#include <memory>
#include <string>

#include "io/source.hpp"
#include "upsweep/table.hpp"

namespace upsweep::io {

/// Of a regular file, which is memory-mapped, or of anything that can only be read front to back, which can be opened once: a
/// pipe, a terminal, a device. `name` is what messages call it. Throws upsweep::Error: malformed, unsupported_type, unreadable.
std::unique_ptr<Table> open_npy_table(Opened opened, const std::string& name);

}  // namespace upsweep::io
