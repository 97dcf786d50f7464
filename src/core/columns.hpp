// SPDX-License-Identifier: Apache-2.0
// core/columns.hpp: what calls that move columns of content ask of them before they begin.
#pragma once

#include <cstdint>
#include <span>

#include "core/apart.hpp"
#include "upsweep/detail/content_column.hpp"
#include "upsweep/lists.hpp"

namespace upsweep {

/// What the smallest output has room for. Throws invalid_argument, unsupported_type, and unequal_lengths where a column is
/// of another length than `as` has.
std::int64_t require_columns(std::span<const ContentColumn> columns, std::int64_t length, const char* as,
                             detail::ArraysAre arrays = detail::ArraysAre::there);

void add_columns(std::span<const ContentColumn> columns, CallArrays& arrays);

}  // namespace upsweep
