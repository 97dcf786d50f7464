// SPDX-License-Identifier: Apache-2.0
// sql/query/string_key.hpp: a string as a 128-bit key. The key contains up to 15 bytes, or the entry of a longer
// string.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "sql/expression/number.hpp"
#include "upsweep/table.hpp"

namespace upsweep::query {

static_assert(std::endian::native == std::endian::little, "a string is read from its key in place");

/// Maximum number of bytes of a string that is stored in its key.
inline constexpr std::size_t kMostInKey = 15;

/// Returns the string's bytes from the lowest byte on, and its length in the highest byte. Two keys are equal if and
/// only if their strings are equal.
inline Int128 short_string_key(std::string_view text) {
  const std::size_t size = text.size();
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  if (size > sizeof low) {
    std::memcpy(&low, text.data(), sizeof low);
    std::memcpy(&high, text.data() + size - sizeof high, sizeof high);
    high >>= 8 * (2 * sizeof high - size);  // without the bytes that are in the lower half
  } else if (size >= sizeof(std::uint32_t)) {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    std::memcpy(&first, text.data(), sizeof first);
    std::memcpy(&last, text.data() + size - sizeof last, sizeof last);
    low = first | std::uint64_t{last} << 8 * (size - sizeof last);
  } else {
    for (std::size_t i = 0; i < size; ++i) low |= std::uint64_t{static_cast<unsigned char>(text[i])} << 8 * i;
  }
  high |= std::uint64_t{size} << 56;
  return static_cast<Int128>(expression::UInt128{high} << 64 | low);
}

/// Returns the key of a longer string from its entry. It is negative, unlike the key of a short string.
constexpr Int128 long_string_key(std::int32_t entry) { return ~Int128{entry}; }
constexpr bool is_long_string(Int128 key) { return key < 0; }
/// Returns whether it can be the key of a string that is stored in the key.
constexpr bool is_short_string(Int128 key) { return key >= 0 && key >> 120 <= Int128{kMostInKey}; }
constexpr std::int32_t entry_of_long(Int128 key) { return static_cast<std::int32_t>(~key); }

/// Returns the string in a key. It refers to the key's memory.
inline std::string_view short_string(const char* key) { return {key, static_cast<unsigned char>(key[kMostInKey])}; }
inline std::string_view short_string(const Int128& key) { return short_string(reinterpret_cast<const char*>(&key)); }

}  // namespace upsweep::query
