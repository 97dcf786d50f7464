// SPDX-License-Identifier: Apache-2.0
// bench/made.hpp: the made numbers that ladders are climbed on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>

namespace upsweep::bench {

/// Small whole numbers: sums of 10^8 do not overflow in 32 bits, and float sums are exact in any order.
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

/// Lists of 0 to 8 elements, a third of them empty, anywhere in some array, in no order.
template <class T>
void fill_lists(T* starts, T* stops, std::int64_t n) {
  std::mt19937_64 random(44);
  for (std::int64_t i = 0; i < n; ++i) {
    const auto bits = random();
    const auto length = bits % 3 == 0 ? 0 : (bits >> 8) % 9;
    starts[i] = static_cast<T>((bits >> 16) % 1000000);
    stops[i] = static_cast<T>(starts[i] + static_cast<T>(length));
  }
}

/// n + 1 bounds of lists that lie one behind the other: of four elements, and of none where the type ends.
template <class T>
void fill_adjacent(T* bounds, std::int64_t n) {
  constexpr auto kMost = static_cast<std::int64_t>(std::numeric_limits<T>::max());
  for (std::int64_t i = 0; i <= n; ++i) bounds[i] = static_cast<T>(std::min(4 * i, kMost));
}

/// Three columns of TPC-H's lineitem with its distributions: one of 10000 suppliers, 1 to 50 of a part, and what these
/// cost in cents, at 900.00 to 2098.99 apiece. Scale factor 1 has kLineitemRows.
inline constexpr std::int64_t kLineitemRows = 6'001'215;

inline void fill_lineitem(std::uint32_t* supplier, std::int64_t* quantity, std::int64_t* price, std::int64_t n) {
  std::mt19937_64 random(45);
  for (std::int64_t i = 0; i < n; ++i) {
    const auto bits = random();
    const auto part = static_cast<std::int64_t>((bits >> 32) % 200000) + 1;
    supplier[i] = static_cast<std::uint32_t>(bits % 10000) + 1;
    quantity[i] = static_cast<std::int64_t>((bits >> 16) % 50) + 1;
    price[i] = quantity[i] * (90000 + part / 10 % 20001 + 100 * (part % 1000));
  }
}

}  // namespace upsweep::bench
