// SPDX-License-Identifier: Apache-2.0
// core/utf8.hpp: the code points of UTF-8 text, and which of them a terminal would interpret rather than show.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace upsweep {

/// The code point that begins at `at` and how many bytes it has; 0 bytes where there is no whole one.
struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 0;
};

inline CodePoint code_point(std::string_view text, std::size_t at) {
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

/// C0, DEL and C1, and what turns the direction of the text around it.
constexpr bool is_control(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

}  // namespace upsweep
