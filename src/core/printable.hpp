// SPDX-License-Identifier: Apache-2.0
// core/printable.hpp: formats text and names of columns from files for messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "upsweep/table.hpp"

namespace upsweep {

/// Returns text from a file in a form that is safe for a terminal. It is one line of at most `limit` bytes. Control
/// characters and bytes that are not UTF-8 are escaped.
std::string printable(std::string_view text, std::size_t limit = 200);

/// Returns the names of a table's columns in the form that every message uses: 'a', 'b, c', … (30 in all).
std::string names_of_columns(const std::vector<Field>& fields);

}  // namespace upsweep
