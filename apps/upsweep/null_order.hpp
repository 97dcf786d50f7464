// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/null_order.hpp: lists sorted that have NULLs among their elements: these come last, in their order.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "io/list_reader.hpp"
#include "list_columns.hpp"
#include "upsweep/dynamic.hpp"

namespace upsweep::command {

/// Sorts lists, or gives the positions that sort them: dynamic::segmented_sort() or segmented_argsort(), wherever.
using SortLists = std::function<void(const Lists& lists, dynamic::ConstArray content, dynamic::Array out)>;

/// Sorts the elements that are not NULL by themselves. `out` lies parallel to the content, and what it has of no list is left
/// as it is; so does what is returned: false where an element of it is NULL. Throws as select() and `sort` do.
std::vector<std::uint8_t> sort_nulls_last(const io::ListBatch& batch, Type content, dynamic::Array out,
                                          const Policy& policy, const SortLists& sort);
/// The same of positions; those of NULLs come last.
void argsort_nulls_last(const io::ListBatch& batch, Type content, std::int64_t* out, const Policy& policy,
                        const SortLists& argsort);

}  // namespace upsweep::command
