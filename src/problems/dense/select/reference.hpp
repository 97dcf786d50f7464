// SPDX-License-Identifier: Apache-2.0
// problems/dense/select/reference.hpp: the answer that every rung of a selection is compared with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "upsweep/error.hpp"

namespace upsweep::impl::select {

/// The result of a selection: positions in the content, and the offsets of each list's positions.
struct ExpectedSelection {
  std::vector<std::int64_t> positions;
  std::vector<std::int64_t> offsets{0};
};

/// Selects from valid lists, given by arrays of starts and stops; `valid` may be empty.
template <class T>
ExpectedSelection expected_selection(const std::vector<T>& starts, const std::vector<T>& stops,
                                     const std::vector<bool>& valid, const std::vector<bool>& mask) {
  ExpectedSelection expected;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const bool is_null = !valid.empty() && !valid[i];
    for (auto j = static_cast<std::int64_t>(starts[i]); !is_null && j < static_cast<std::int64_t>(stops[i]); ++j) {
      if (mask[static_cast<std::size_t>(j)]) expected.positions.push_back(j);
    }
    expected.offsets.push_back(static_cast<std::int64_t>(expected.positions.size()));
  }
  return expected;
}

/// Returns the first wrong offset, or the first wrong element of the output, counted from the offsets on; otherwise
/// kNoIndex. The lists have valid offsets, and the mask consists of bytes.
template <class T>
std::int64_t first_wrong(const std::int64_t* offsets, std::int64_t lists, const std::uint8_t* mask, const T* content,
                         const std::int64_t* out_offsets, const T* out) {
  std::int64_t kept = 0;
  if (out_offsets[0] != 0) return 0;
  for (std::int64_t i = 0; i < lists; ++i) {
    for (std::int64_t j = offsets[i]; j < offsets[i + 1]; ++j) {
      if (mask[j] == 0) continue;
      // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): bits are moved, also the bits of NaN
      if (std::memcmp(out + kept, content + j, sizeof(T)) != 0) return lists + 1 + kept;
      ++kept;
    }
    if (out_offsets[i + 1] != kept) return i + 1;
  }
  return kNoIndex;
}

}  // namespace upsweep::impl::select
