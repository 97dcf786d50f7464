// SPDX-License-Identifier: Apache-2.0
// system/system_text.hpp: reads the text files in which Linux describes the machine, those of /proc and /sys.
//
// Streams of the standard library are not used. They read numbers by the locale that the program has set. Two copies of
// that library in one process can also share a stream's tables.
#pragma once

#include <charconv>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace upsweep {

/// Returns the file's text, or an empty text if it cannot be read.
[[nodiscard]] std::string system_text(const std::filesystem::path& file);

/// Removes the first line from `text`, and returns it without its end.
inline std::string_view next_line(std::string_view& text) {
  const auto end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

/// Removes the first word from `text`, and returns it. Returns an empty word if no word is left.
inline std::string_view next_word(std::string_view& text) {
  constexpr std::string_view kBlanks = " \t\n";
  const auto begin = text.find_first_not_of(kBlanks);
  text.remove_prefix(begin == std::string_view::npos ? text.size() : begin);
  const std::string_view word = text.substr(0, text.find_first_of(kBlanks));
  text.remove_prefix(word.size());
  return word;
}

/// Returns the number in `word`, or `otherwise` if it is not a number, such as "max".
template <class Number>
[[nodiscard]] Number number_or(Number otherwise, std::string_view word) {
  Number number{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size() ? number : otherwise;
}

}  // namespace upsweep
