// SPDX-License-Identifier: Apache-2.0
// climb/list_reference.hpp: the answers for one list, as plain loops: its fold, its scan, and the position of its
// extreme.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "upsweep/operators.hpp"

namespace upsweep::reference {

/// The number of elements that are folded or scanned one after the other before the list is split.
inline constexpr std::int64_t kSerialElements = 4096;

/// init ⊕ x[first] ⊕ … ⊕ x[last - 1]; for longer lists, init ⊕ the folds of blocks of kSerialElements.
template <class Out, class In, class Op>
Out expected_fold(const In* x, std::int64_t first, std::int64_t last, Op op, Out init) {
  Out total = init;
  if (last - first <= kSerialElements) {
    for (std::int64_t j = first; j < last; ++j) total = op(total, static_cast<Out>(x[j]));
    return total;
  }
  for (std::int64_t block = first; block < last; block += kSerialElements) {
    Out of_block = static_cast<Out>(x[block]);
    for (std::int64_t j = block + 1; j < std::min(last, block + kSerialElements); ++j) {
      of_block = op(of_block, static_cast<Out>(x[j]));
    }
    total = op(total, of_block);
  }
  return total;
}

/// out[j] for each j of a list. A block begins with the folds of the blocks before it, in order.
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

/// The position of the first minimum (maximum) of x[first] … x[last - 1]. The first NaN precedes all. -1 for an empty
/// list.
template <class T>
std::int64_t expected_pick(const T* x, std::int64_t first, std::int64_t last, bool is_greatest) {
  std::int64_t best = first;
  for (std::int64_t j = first; j < last; ++j) {
    if (x[best] != x[best]) break;
    if (x[j] != x[j] || (is_greatest ? x[best] < x[j] : x[j] < x[best])) best = j;
  }
  return first < last ? best - first : -1;
}

}  // namespace upsweep::reference
