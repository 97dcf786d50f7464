// SPDX-License-Identifier: Apache-2.0
// problems/dense/take/reference.hpp: the one answer that every rung of a take is checked against.
#pragma once

#include <cstdint>
#include <cstring>

#include "upsweep/error.hpp"

namespace upsweep::impl::take {

/// The first element of the output that is wrong, or kNoIndex. List i of the indices lies between index_offsets[i] and
/// [i + 1], and what it is of between offsets[i] and [i + 1]; all is valid, and the indices begin with those of list 0.
template <class T, class At>
std::int64_t first_wrong(const std::int64_t* offsets, const std::int64_t* index_offsets, std::int64_t lists,
                         const At* indices, const T* content, const T* out) {
  for (std::int64_t i = 0; i < lists; ++i) {
    for (std::int64_t k = index_offsets[i]; k < index_offsets[i + 1]; ++k) {
      const auto index = static_cast<std::int64_t>(indices[k]);
      const std::int64_t position = index < 0 ? offsets[i + 1] + index : offsets[i] + index;
      // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): bits are moved, those of NaN too
      if (std::memcmp(out + k, content + position, sizeof(T)) != 0) return k;
    }
  }
  return kNoIndex;
}

}  // namespace upsweep::impl::take
