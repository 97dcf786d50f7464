// SPDX-License-Identifier: Apache-2.0
// problems/lists/offsets/reference.hpp: the reference answer that every rung is checked against.
#pragma once

#include <cstdint>

#include "upsweep/error.hpp"

namespace upsweep::impl::offsets {

/// Returns the first wrong offset of the n + 1 offsets, or kNoIndex. The lists must be valid.
template <class T>
std::int64_t first_wrong(const T* starts, const T* stops, std::int64_t n, const std::int64_t* offsets) {
  std::int64_t offset = 0;
  if (offsets[0] != offset) return 0;
  for (std::int64_t i = 0; i < n; ++i) {
    offset += static_cast<std::int64_t>(stops[i]) - static_cast<std::int64_t>(starts[i]);
    if (offsets[i + 1] != offset) return i + 1;
  }
  return kNoIndex;
}

}  // namespace upsweep::impl::offsets
