// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/null_order.hpp: sorts lists with NULL elements: these come last, in their order.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "io/list_reader.hpp"
#include "list_columns.hpp"
#include "upsweep/dynamic.hpp"

namespace upsweep::command {

/// Sorts lists, or computes the positions that sort them: dynamic::segmented_sort() or segmented_argsort(), on any
/// device.
using SortLists = std::function<void(const Lists& lists, dynamic::ConstArray content, dynamic::Array out)>;

/// Sorts the elements that are not NULL separately. `out` is parallel to the content. Its elements outside all lists
/// are left unchanged. The result is also parallel to the content: false where an element is NULL. Throws as select()
/// and `sort` do.
std::vector<std::uint8_t> sort_nulls_last(const io::ListBatch& batch, Type content, dynamic::Array out,
                                          const Policy& policy, const SortLists& sort);
/// Computes positions in the same way. The positions of NULLs come last.
void argsort_nulls_last(const io::ListBatch& batch, Type content, std::int64_t* out, const Policy& policy,
                        const SortLists& argsort);

}  // namespace upsweep::command
