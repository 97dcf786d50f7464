// SPDX-License-Identifier: Apache-2.0
// bench/made.hpp: the made numbers that ladders are climbed on.
#pragma once

#include <cstdint>
#include <random>
#include <type_traits>

#include "upsweep/types.hpp"

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

/// n + 1 bounds of lists that lie one behind the other.
template <class T>
void fill_adjacent(T* bounds, std::int64_t n) {
  for (std::int64_t i = 0; i <= n; ++i) bounds[i] = static_cast<T>(4 * i);
}

/// f(std::type_identity<T>{}) for the types that bounds of lists have.
template <class F>
void visit_list_type(Type type, F f) {
  if (type == Type::int32) return f(std::type_identity<std::int32_t>{});
  if (type == Type::uint32) return f(std::type_identity<std::uint32_t>{});
  return f(std::type_identity<std::int64_t>{});
}

}  // namespace upsweep::bench
