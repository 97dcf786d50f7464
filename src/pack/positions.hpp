// SPDX-License-Identifier: Apache-2.0
// pack/positions.hpp: what calls of list_positions.hpp refuse on the CPU and on a GPU alike, and how their Errors say it.
#pragma once

#include <cstdint>

#include "upsweep/lists.hpp"

namespace upsweep::packing {

/// None instead of lists without elements, of which there may be more than a call takes: for calls that write elements alone.
Lists without_empty(Lists lists);
/// Throws for lists that are not one after the other.
void require_adjacent(const Lists& lists, const char* what = "lists");
/// Throws invalid_argument unless values of so many bytes are moved.
void require_element_size(std::int64_t size);

/// Of lists that are good one by one.
[[noreturn]] void throw_too_many();
[[noreturn]] void throw_bad_length(std::int64_t list, std::int64_t length);
/// Of a parent of no list among `lists`, or less than the one before it.
[[noreturn]] void throw_bad_parent(std::int64_t element, std::int64_t parent, std::int64_t before, std::int64_t lists);
/// Of an outer list of that many inner ones.
[[noreturn]] void throw_bad_level(std::int64_t list, std::int64_t start, std::int64_t stop, std::int64_t inner);

}  // namespace upsweep::packing
