// SPDX-License-Identifier: Apache-2.0
// io/npy_table.hpp: a .npy file as a table of one column.
#pragma once

#include <memory>
#include <string>

#include "upsweep/table.hpp"

namespace upsweep::io {

/// As open_table(), for a regular file that is .npy, or ought to be.
std::unique_ptr<Table> open_npy_table(const std::string& path);

}  // namespace upsweep::io
