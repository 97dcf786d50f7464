// SPDX-License-Identifier: Apache-2.0
// core/printable.hpp: text and names of columns from files, as messages show them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "upsweep/table.hpp"

namespace upsweep {

/// Returns text from a file, fit for a terminal: on one line, at most `limit` bytes of it, with control characters and bytes that
/// are not UTF-8 escaped.
std::string printable(std::string_view text, std::size_t limit = 200);

/// Returns the names of a table's columns, as every message lists them: 'a', 'b, c', … (30 in all).
std::string names_of_columns(const std::vector<Field>& fields);

}  // namespace upsweep
