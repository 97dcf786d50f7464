// SPDX-License-Identifier: Apache-2.0
// core/utf8.hpp: the code points of UTF-8 text, bytes that are not UTF-8, and characters that control a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace upsweep {

/// The code point that begins at `at`, and its number of bytes; 0 bytes if there is no whole code point.
struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 0;
};

inline CodePoint code_point(std::string_view text, std::size_t at) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(at + i < text.size() ? text[at + i] : 0); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4) return {};
  std::uint32_t value = lead & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    value = (value << 6) | (byte(i) & 0x3FU);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  return value < kLeast[bytes] || value > 0x10FFFF || surrogate ? CodePoint{} : CodePoint{value, bytes};
}

namespace detail {

/// Returns the number of consecutive ASCII bytes, starting at `at`.
inline std::size_t ascii_run(std::string_view text, std::size_t at) noexcept {
  constexpr std::uint64_t kHighBits = 0x8080808080808080;
  const auto word = [&](std::size_t i) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, text.data() + i, sizeof bytes);
    return bytes;
  };
  std::size_t i = at;
  // Four words per step: one branch for 32 bytes.
  while (i + 32 <= text.size() && ((word(i) | word(i + 8) | word(i + 16) | word(i + 24)) & kHighBits) == 0) i += 32;
  while (i + 8 <= text.size() && (word(i) & kHighBits) == 0) i += 8;
  while (i < text.size() && static_cast<unsigned char>(text[i]) < 0x80) ++i;
  return i - at;
}

/// Returns the length in bytes of the code point at `at`, or 0 if it is not valid. It must not be ASCII, and the text
/// must have at least four bytes from `at` on. The masks test the lead byte and the continuation bytes at once, instead
/// of with one branch for each byte.
inline std::size_t length_of_code_point(std::string_view text, std::size_t at) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at + i])); };
  const std::uint32_t bytes = byte(0) << 24 | byte(1) << 16 | byte(2) << 8 | byte(3);
  if ((bytes & 0xE0C00000) == 0xC0800000) return (bytes & 0x1E000000) != 0 ? 2 : 0;  // C0, C1: ASCII, overlong
  if ((bytes & 0xF0C0C000) == 0xE0808000) {
    const std::uint32_t high = bytes & 0x0F200000;  // 0: overlong; 0x0D200000: a surrogate
    return high != 0 && high != 0x0D200000 ? 3 : 0;
  }
  if ((bytes & 0xF8C0C0C0) == 0xF0808080) {
    const std::uint32_t high = bytes & 0x07300000;  // 0: overlong; from 0x04100000 on: past U+10FFFF
    return high != 0 && high <= 0x04000000 ? 4 : 0;
  }
  return 0;
}

}  // namespace detail

/// Returns the index of the first byte that does not belong to valid UTF-8, or npos if all of the text is valid.
/// Overlong forms, surrogates and code points past U+10FFFF are not valid. This is the rule for text in every reader.
inline std::size_t first_invalid_utf8(std::string_view text) noexcept {
  std::size_t at = 0;
  for (;;) {
    at += detail::ascii_run(text, at);
    if (at == text.size()) return std::string_view::npos;
    while (at < text.size() && static_cast<unsigned char>(text[at]) >= 0x80) {
      const std::size_t bytes =
          at + 4 <= text.size() ? detail::length_of_code_point(text, at) : code_point(text, at).bytes;
      if (bytes == 0) return at;
      at += bytes;
    }
  }
}

/// Returns whether all of the text is ASCII. It is optimized for the short strings of tables: there is no loop over the
/// last bytes, whose number a branch predictor cannot predict.
inline bool is_ascii(std::string_view text) noexcept {
  constexpr std::uint64_t kHighBits = 0x8080808080808080;
  const std::size_t n = text.size();
  const auto load = [&]<class Word>(Word bytes, std::size_t at) -> std::uint64_t {
    std::memcpy(&bytes, text.data() + at, sizeof bytes);
    return bytes;
  };
  std::uint64_t all = 0;
  if (n >= 8) {
    for (std::size_t i = 0; i + 8 < n; i += 8) all |= load(std::uint64_t{}, i);
    all |= load(std::uint64_t{}, n - 8);
  } else if (n >= 4) {
    all = load(std::uint32_t{}, 0) | load(std::uint32_t{}, n - 4);
  } else if (n > 0) {
    all = load(std::uint8_t{}, 0) | load(std::uint8_t{}, n / 2) | load(std::uint8_t{}, n - 1);
  }
  return (all & kHighBits) == 0;
}

/// Returns whether all of the text is valid UTF-8.
inline bool is_utf8(std::string_view text) noexcept {
  return is_ascii(text) || first_invalid_utf8(text) == std::string_view::npos;
}

/// Returns whether a code point is in C0, DEL or C1, or changes the direction of the text around it.
constexpr bool is_control(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

}  // namespace upsweep
