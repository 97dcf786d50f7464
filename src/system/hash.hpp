// SPDX-License-Identifier: Apache-2.0
// system/hash.hpp: hashes of keys with a secret of the process, so that keys with equal hashes cannot be constructed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace upsweep {

/// Random, and constant within a process. No result depends on it.
struct Secret {
  std::uint64_t a;
  std::uint64_t b;  ///< odd
};
[[nodiscard]] const Secret& secret();

/// XORs both halves of a product. Each bit of the result depends on all bits of the factors.
inline std::uint64_t folded_product(std::uint64_t x, std::uint64_t y) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(x) * y;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// Extends a hash: `before` is the hash of earlier data, `low` and `high` are the next data.
inline std::uint64_t hash_more(const Secret& by, std::uint64_t before, std::uint64_t low, std::uint64_t high) {
  return folded_product(before ^ low ^ by.a, by.b ^ high);
}

/// The number of lowest bits of a hash that do not affect its slot.
inline constexpr int kUnusedHashBits = 16;
/// Returns the slot where the search for a hash begins. `slots` is a power of two.
constexpr std::size_t slot_of(std::uint64_t hash, std::size_t slots) {
  return static_cast<std::size_t>(hash >> kUnusedHashBits) & (slots - 1);
}

/// Packs up to seven bytes into a word. Different strings of one length have different words. A copy of variable length
/// would be a call.
inline std::uint64_t short_word(const char* text, std::size_t size) {
  if (size >= sizeof(std::uint32_t)) {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    std::memcpy(&first, text, sizeof first);
    std::memcpy(&last, text + size - sizeof last, sizeof last);
    return (std::uint64_t{first} << 32) | last;
  }
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < size; ++i) word = (word << 8) | static_cast<unsigned char>(text[i]);
  return word;
}

/// Returns whether two strings are equal. Most are short, so it compares word by word; a call of memcmp() takes longer.
inline bool same_text(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  if (a.size() < sizeof(std::uint64_t)) return short_word(a.data(), a.size()) == short_word(b.data(), b.size());
  const auto same_word = [&](std::size_t at) {
    std::uint64_t words[2];
    std::memcpy(&words[0], a.data() + at, sizeof words[0]);
    std::memcpy(&words[1], b.data() + at, sizeof words[1]);
    return words[0] == words[1];
  };
  const std::size_t last = a.size() - sizeof(std::uint64_t);
  for (std::size_t at = 0; at < last; at += sizeof(std::uint64_t)) {
    if (!same_word(at)) return false;
  }
  return same_word(last);
}

/// Copies a string. Most are short, and a call of memcpy() takes longer.
inline void copy_text(char* to, std::string_view text) {
  const std::size_t size = text.size();
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  if (size > 8 * kWord) {
    std::memcpy(to, text.data(), size);
  } else if (size >= kWord) {
    for (std::size_t at = 0; at < size - kWord; at += kWord) std::memcpy(to + at, text.data() + at, kWord);
    std::memcpy(to + size - kWord, text.data() + size - kWord, kWord);  // copies some bytes again
  } else if (size >= kWord / 2) {
    std::memcpy(to, text.data(), kWord / 2);
    std::memcpy(to + size - kWord / 2, text.data() + size - kWord / 2, kWord / 2);
  } else {
    for (std::size_t i = 0; i < size; ++i) to[i] = text[i];
  }
}

inline std::uint64_t hash_of(const Secret& by, std::string_view text) {
  std::uint64_t all = text.size();
  std::uint64_t word = 0;
  if (text.size() < sizeof word) return hash_more(by, all, short_word(text.data(), text.size()), 1);
  const char* const last = text.data() + text.size() - sizeof word;
  for (const char* at = text.data(); at < last; at += sizeof word) {
    std::memcpy(&word, at, sizeof word);
    all = hash_more(by, all, word, 0);
  }
  std::memcpy(&word, last, sizeof word);  // reads some bytes again
  return hash_more(by, all, word, 1);
}

}  // namespace upsweep
