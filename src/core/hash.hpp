// SPDX-License-Identifier: Apache-2.0
// core/hash.hpp: hashes of keys, by a secret of the process: nobody can make keys that all have one hash.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace upsweep {

/// Random, and the same for the whole process. No answer depends on it.
struct Secret {
  std::uint64_t a;
  std::uint64_t b;  ///< odd
};
[[nodiscard]] const Secret& secret();

/// Both halves of a product, as one: each bit of it depends on all of the factors'.
inline std::uint64_t folded_product(std::uint64_t x, std::uint64_t y) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(x) * y;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// The hash of what `before` is of, and then of these.
inline std::uint64_t hash_more(const Secret& by, std::uint64_t before, std::uint64_t low, std::uint64_t high) {
  return folded_product(before ^ low ^ by.a, by.b ^ high);
}

inline std::uint64_t hash_of(const Secret& by, std::string_view text) {
  std::uint64_t all = text.size();
  std::uint64_t word = 0;
  for (; text.size() >= sizeof word; text.remove_prefix(sizeof word)) {
    std::memcpy(&word, text.data(), sizeof word);
    all = hash_more(by, all, word, 0);
  }
  word = 0;
  if (!text.empty()) std::memcpy(&word, text.data(), text.size());
  return hash_more(by, all, word, 1);
}

}  // namespace upsweep
