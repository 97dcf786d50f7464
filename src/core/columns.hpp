// SPDX-License-Identifier: Apache-2.0
// core/columns.hpp: the checks of calls that move columns of content.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/apart.hpp"
#include "upsweep/detail/content_column.hpp"
#include "upsweep/error.hpp"
#include "upsweep/lists.hpp"

namespace upsweep {

/// Throws an Error with that code unless elements of `bytes` bytes can be moved.
void require_moved_size(std::int64_t bytes, const std::string& which, Code code);

/// Returns the capacity of the smallest output. Throws invalid_argument, unsupported_type, and unequal_lengths if the
/// length of a column differs from `length`, the length of `as`.
std::int64_t require_columns(std::span<const ContentColumn> columns, std::int64_t length, const char* as,
                             detail::ArraysAre arrays = detail::ArraysAre::there);

void add_columns(std::span<const ContentColumn> columns, CallArrays& arrays);

}  // namespace upsweep
