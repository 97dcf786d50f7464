// SPDX-License-Identifier: Apache-2.0
// tests/group_keys.hpp: keys of groups, in the patterns that every rung of GROUP BY is tested with.
#pragma once

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace upsweep::tests {

enum class Keys : std::uint8_t {
  random,
  equal,
  distinct,
  extremes,    // the minimum and the maximum
  high_bits,   // differ only there
  dense,       // few, close to one another
  sorted,      // each several times
  descending,  // each several times
  few,         // scattered
  some,        // scattered, more than the smallest tables can hold
  more,        // more than a work unit's table can hold
  hot,         // half of the rows have one key, all others are different
  widening,    // dense at first, then arbitrary
};
constexpr Keys kAllKeys[] = {Keys::random, Keys::equal,  Keys::distinct,   Keys::extremes, Keys::high_bits,
                             Keys::dense,  Keys::sorted, Keys::descending, Keys::few,      Keys::some,
                             Keys::more,   Keys::hot,    Keys::widening};

template <class Key>
std::vector<Key> keys_of(Keys pattern, std::int64_t n) {
  using Limits = std::numeric_limits<Key>;
  constexpr int kBits = 8 * sizeof(Key);
  std::mt19937_64 random(7);
  const auto spread = [](std::uint64_t k) { return static_cast<Key>(k * 0x9E3779B97F4A7C15U >> (64 - kBits)); };
  std::vector<Key> keys(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::uint64_t r = random();
    switch (pattern) {
      case Keys::random:
        keys[i] = static_cast<Key>(r);
        break;
      case Keys::equal:
        keys[i] = static_cast<Key>(-5);
        break;
      case Keys::distinct:
        keys[i] = static_cast<Key>(static_cast<std::uint64_t>(i) * 0x9E3779B1U);
        break;
      case Keys::extremes:
        keys[i] = r % 3 == 0 ? Limits::min() : r % 3 == 1 ? Limits::max() : Key{0};
        break;
      case Keys::high_bits:
        keys[i] = static_cast<Key>(r << (kBits - 4));
        break;
      case Keys::dense:
        keys[i] = static_cast<Key>(static_cast<int>(r % 100) - 50);
        break;
      case Keys::sorted:
        keys[i] = static_cast<Key>(i / 5);
        break;
      case Keys::descending:
        keys[i] = static_cast<Key>((keys.size() - i) / 7);
        break;
      case Keys::few:
        keys[i] = spread(r % 100);
        break;
      case Keys::some:
        keys[i] = spread(r % 1000);
        break;
      case Keys::more:
        keys[i] = spread(r % 9000);
        break;
      case Keys::hot:
        keys[i] = r % 2 == 0 ? Key{3} : static_cast<Key>(i);
        break;
      case Keys::widening:
        keys[i] = static_cast<Key>(i < 3000 ? r % 50 : r);
        break;
    }
  }
  return keys;
}

}  // namespace upsweep::tests
