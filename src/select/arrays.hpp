// SPDX-License-Identifier: Apache-2.0
// select/arrays.hpp: what selections, partitions and takes ask of their arrays before they begin.
#pragma once

#include <cstdint>
#include <span>

#include "core/apart.hpp"
#include "upsweep/detail/select_call.hpp"

namespace upsweep::selection {

void add_columns(std::span<const SelectColumn> columns, CallArrays& arrays);

/// What the smallest output has room for. Throws invalid_argument, unsupported_type, and unequal_lengths where a column is
/// of another length than `as` has.
std::int64_t require_columns(std::span<const SelectColumn> columns, std::int64_t length, const char* as);

/// All that a selection and a partition ask. Throws Error.
void require_call(const Policy& policy, detail::SelectCall& call);
/// The same without a look at the policy.
void require_views(detail::SelectCall& call);

}  // namespace upsweep::selection
