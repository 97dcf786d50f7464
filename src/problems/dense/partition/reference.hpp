// SPDX-License-Identifier: Apache-2.0
// problems/dense/partition/reference.hpp: the answer that every rung of a partition is compared with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "upsweep/error.hpp"

namespace upsweep::impl::partition {

/// Returns the source position of each element of a partition's output.
inline std::vector<std::int64_t> expected_partition(const std::vector<bool>& mask) {
  std::vector<std::int64_t> positions;
  for (const bool wanted : {true, false}) {
    for (std::size_t j = 0; j < mask.size(); ++j) {
      if (mask[j] == wanted) positions.push_back(static_cast<std::int64_t>(j));
    }
  }
  return positions;
}

/// Returns the first wrong element of the output, or kNoIndex. The mask has n bytes.
template <class T>
std::int64_t first_wrong(const std::uint8_t* mask, std::int64_t n, const T* content, const T* out) {
  std::int64_t k = 0;
  for (const bool wanted : {true, false}) {
    for (std::int64_t j = 0; j < n; ++j) {
      if ((mask[j] != 0) != wanted) continue;
      // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): bits are moved, also the bits of NaN
      if (std::memcmp(out + k, content + j, sizeof(T)) != 0) return k;
      ++k;
    }
  }
  return kNoIndex;
}

}  // namespace upsweep::impl::partition
