// SPDX-License-Identifier: Apache-2.0
// segmented_scan/reference.hpp: the answer that every rung's is compared with: a plain loop over a list.
#pragma once

#include <algorithm>
#include <cstdint>

namespace upsweep::segmented_scan {

/// Elements that are scanned one after the other, before the list is cut.
inline constexpr std::int64_t kSerialElements = 4096;

/// out[j] for each j of a list: a block begins with the folds of those before it, in order.
template <class Out, class In, class Op>
void expected_scan(const In* x, std::int64_t first, std::int64_t last, Op op, Out init, bool exclusive, Out* out) {
  Out before = init;
  for (std::int64_t block = first; block < last; block += kSerialElements) {
    const std::int64_t end = std::min(last, block + kSerialElements);
    Out total = before;
    for (std::int64_t j = block; j < end; ++j) {
      const Out next = op(total, static_cast<Out>(x[j]));
      out[j] = exclusive ? total : next;
      total = next;
    }
    Out own = static_cast<Out>(x[block]);
    for (std::int64_t j = block + 1; j < end; ++j) own = op(own, static_cast<Out>(x[j]));
    before = op(before, own);
  }
}

}  // namespace upsweep::segmented_scan
