// SPDX-License-Identifier: Apache-2.0
// problems/dense/take/reference.hpp: the answer that every rung of a take is compared with.
#pragma once

#include <cstdint>
#include <cstring>

#include "upsweep/error.hpp"

namespace upsweep::impl::take {

/// Returns the first wrong element of the output, or kNoIndex. List i has the indices index_offsets[i] to [i + 1], and
/// the elements offsets[i] to [i + 1]. All of them are valid, and the indices begin with those of list 0.
template <class T, class At>
std::int64_t first_wrong(const std::int64_t* offsets, const std::int64_t* index_offsets, std::int64_t lists,
                         const At* indices, const T* content, const T* out) {
  for (std::int64_t i = 0; i < lists; ++i) {
    for (std::int64_t k = index_offsets[i]; k < index_offsets[i + 1]; ++k) {
      const auto index = static_cast<std::int64_t>(indices[k]);
      const std::int64_t position = index < 0 ? offsets[i + 1] + index : offsets[i] + index;
      // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): bits are moved, also the bits of NaN
      if (std::memcmp(out + k, content + position, sizeof(T)) != 0) return k;
    }
  }
  return kNoIndex;
}

}  // namespace upsweep::impl::take
