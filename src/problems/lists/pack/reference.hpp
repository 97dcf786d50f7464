// SPDX-License-Identifier: Apache-2.0
// problems/lists/pack/reference.hpp: the reference answer that every rung of pack is checked against, by plain loops.
#pragma once

#include <cstdint>
#include <cstring>

#include "upsweep/error.hpp"

namespace upsweep::impl::pack {

/// Returns the first wrong offset of the n + 1 offsets, or kNoIndex. The lists must be valid.
template <class T>
std::int64_t first_wrong_offset(const T* starts, const T* stops, std::int64_t n, const std::int64_t* offsets) {
  std::int64_t offset = 0;
  if (offsets[0] != 0) return 0;
  for (std::int64_t i = 0; i < n; ++i) {
    offset += static_cast<std::int64_t>(stops[i]) - static_cast<std::int64_t>(starts[i]);
    if (offsets[i + 1] != offset) return i + 1;
  }
  return kNoIndex;
}

/// Returns the first element that differs from that of its list, bit by bit, or kNoIndex.
template <class T, class E>
std::int64_t first_wrong_element(const T* starts, const T* stops, std::int64_t n, const E* content, const E* packed) {
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    for (auto j = static_cast<std::int64_t>(starts[i]); j < static_cast<std::int64_t>(stops[i]); ++j, ++at) {
      // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): bits are copied, including those of NaN
      if (std::memcmp(&packed[at], &content[j], sizeof(E)) != 0) return at;
    }
  }
  return kNoIndex;
}

}  // namespace upsweep::impl::pack
