// SPDX-License-Identifier: Apache-2.0
// problems/lists/broadcast/reference.hpp: the reference answer that every rung is checked against: for each element its
// position in its list, its list, or that list's value.
#pragma once

#include <cstdint>
#include <cstring>

#include "upsweep/error.hpp"

namespace upsweep::impl::broadcast {

struct LocalIndex {
  std::int64_t operator()(std::int64_t /*list*/, std::int64_t position) const { return position; }
};
struct Parent {
  std::int64_t operator()(std::int64_t list, std::int64_t /*position*/) const { return list; }
};
template <class E>
struct ValueOf {
  const E* values;
  E operator()(std::int64_t list, std::int64_t /*position*/) const { return values[list]; }
};

/// Returns the first element that differs from `expected` bit by bit, or kNoIndex. The n lists must be valid.
template <class T, class E, class Expected>
std::int64_t first_wrong(const T* offsets, std::int64_t n, const E* out, Expected expected) {
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < static_cast<std::int64_t>(offsets[i + 1] - offsets[i]); ++j, ++at) {
      const E right = expected(i, j);
      // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): bits are copied, including those of NaN
      if (std::memcmp(&out[at], &right, sizeof(E)) != 0) return at;
    }
  }
  return kNoIndex;
}

}  // namespace upsweep::impl::broadcast
