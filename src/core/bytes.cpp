// SPDX-License-Identifier: Apache-2.0
// core/bytes.cpp: reads and writes amounts of memory as text such as 64 MB.
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "core/ascii.hpp"
#include "upsweep/machine.hpp"

namespace upsweep {

std::string bytes_text(double bytes) {
  constexpr const char* kUnits[] = {"bytes", "KB", "MB", "GB", "TB", "PB", "EB"};
  if (bytes >= 0x1p70) return "> 1000 EB";
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1024;
  char text[32];
  (void)std::snprintf(text, sizeof text, bytes < 1000 ? "%.3g %s" : "%.0f %s", bytes, kUnits[unit]);
  return text;
}

std::optional<std::int64_t> parse_bytes(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.starts_with(' ')) text.remove_prefix(1);
  constexpr std::string_view kPrefixes = "kmgtpe";
  if (const std::size_t prefix = text.empty() ? kPrefixes.npos : kPrefixes.find(lower_case(text[0]));
      prefix != kPrefixes.npos) {
    value *= std::pow(1024.0, static_cast<double>(prefix + 1));
    text.remove_prefix(1);
    if (text.size() == 2 && lower_case(text[0]) == 'i') text.remove_prefix(1);
  }
  if (text.size() > 1 || (text.size() == 1 && lower_case(text[0]) != 'b')) return std::nullopt;
  if (!(value >= 1 && value < 0x1p63)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

}  // namespace upsweep
