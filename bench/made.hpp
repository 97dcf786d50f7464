// SPDX-License-Identifier: Apache-2.0
// bench/made.hpp: the made numbers that ladders are climbed on.
#pragma once

#include <cstdint>
#include <random>
#include <type_traits>

namespace upsweep::bench {

/// Small whole numbers: no integer type from 32 bits on overflows, and float sums are exact in any order.
template <class T>
void fill_whole(T* out, std::int64_t n) {
  std::mt19937_64 random(42);
  for (std::int64_t i = 0; i < n; ++i) {
    const int value = static_cast<int>(random() % 17);
    out[i] = static_cast<T>(std::is_unsigned_v<T> ? value : value - 8);
  }
}

template <class T>
void fill_fractions(T* out, std::int64_t n) {
  std::mt19937_64 random(43);
  for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(static_cast<double>(random() >> 11) * 0x1p-53);
}

}  // namespace upsweep::bench
