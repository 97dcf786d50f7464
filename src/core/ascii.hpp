// SPDX-License-Identifier: Apache-2.0
// core/ascii.hpp: ASCII letters in either case, whatever the locale. Other bytes, such as UTF-8, are not changed.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace upsweep {

constexpr char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

constexpr bool is_ascii_letter(char c) { return lower_case(c) >= 'a' && lower_case(c) <= 'z'; }

inline std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) { return lower_case(c); });
  return lower;
}

/// Returns whether the text equals `lower` in letters of any case. `lower` must be in lower case.
constexpr bool is_in_any_case(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(),
                    [](char any, char wanted) { return lower_case(any) == wanted; });
}

}  // namespace upsweep
