// SPDX-License-Identifier: Apache-2.0
// problems/dense/filtered_sum/reference.hpp: the answer that every rung of a filtered sum is compared with.
#pragma once

#include <cstdint>

namespace upsweep::impl::filtered_sum {

/// Returns Σ quantity[i]·price[i] where key[i] < limit: computed exactly in 128 bits, then reduced to the last 64.
inline std::int64_t expected_sum(const std::uint32_t* key, const std::int64_t* quantity, const std::int64_t* price,
                                 std::int64_t n, std::uint32_t limit) {
  __extension__ using Exact = unsigned __int128;
  Exact sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if (key[i] < limit) sum += static_cast<Exact>(quantity[i]) * static_cast<Exact>(price[i]);
  }
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(sum));
}

/// Returns the number of kept rows.
inline std::int64_t expected_rows(const std::uint32_t* key, std::int64_t n, std::uint32_t limit) {
  std::int64_t rows = 0;
  for (std::int64_t i = 0; i < n; ++i) rows += key[i] < limit ? 1 : 0;
  return rows;
}

/// Returns the number of bytes that must be read: all keys, and the lines of both payload columns that contain a kept
/// row. A line is `line` bytes: a cache line or a sector.
inline std::int64_t expected_bytes(const std::uint32_t* key, const std::int64_t* quantity, const std::int64_t* price,
                                   std::int64_t n, std::uint32_t limit, std::int64_t line) {
  const auto lines_of = [&](const std::int64_t* column) {
    const auto base = reinterpret_cast<std::uintptr_t>(column);
    std::int64_t lines = 0;
    std::uintptr_t last = 0;  // no column is stored there
    for (std::int64_t i = 0; i < n; ++i) {
      if (key[i] >= limit) continue;
      const std::uintptr_t at =
          (base + static_cast<std::uintptr_t>(i) * sizeof(std::int64_t)) / static_cast<std::uintptr_t>(line);
      lines += at != last ? 1 : 0;
      last = at;
    }
    return lines;
  };
  return n * std::int64_t{sizeof(std::uint32_t)} + (lines_of(quantity) + lines_of(price)) * line;
}

}  // namespace upsweep::impl::filtered_sum
