// SPDX-License-Identifier: Apache-2.0
// sql/expression/caret.cpp: shortens a long line around a position, and counts columns as a terminal shows them.
#include "sql/expression/caret.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "core/utf8.hpp"

namespace upsweep::expression {
namespace {

// Columns of the line that are shown, in total and before the position. With two blanks it fits a terminal of 80
// columns.
constexpr std::size_t kShown = 77;
constexpr std::size_t kShownBefore = 60;
// Maximum number of bytes of a long line that are examined in each direction.
constexpr std::size_t kLookedAt = 4096;  // bytes

/// Returns columns of a terminal. East Asian characters and pictographs have two. fmt pads by columns and has their
/// widths.
std::size_t width_of(std::string_view text) {
  const std::size_t columns = 2 * text.size();
  return columns + text.size() - fmt::format("{:<{}}", text, columns).size();
}

std::size_t bytes_of_first(std::string_view text) { return std::max<std::size_t>(code_point(text, 0).bytes, 1); }

/// Replaces each control character with one blank, which has the same width.
std::string with_blanks(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t bytes = bytes_of_first(text);
    shown += is_control(code_point(text, 0).value) ? " " : text.substr(0, bytes);
    text.remove_prefix(bytes);
  }
  return shown;
}

/// Returns the characters from the front, or from the end, that fit the columns, with "…" for the rest.
std::string shortened_after(std::string_view text, std::size_t columns) {
  if (width_of(text) <= columns) return std::string(text);
  std::size_t end = 0;
  for (std::size_t next = 0; width_of(text.substr(0, next)) < columns; next += bytes_of_first(text.substr(next))) {
    end = next;
  }
  return fmt::format("{}…", text.substr(0, end));
}
std::string shortened_before(std::string_view text, std::size_t columns) {
  std::size_t width = width_of(text);
  if (width <= columns) return std::string(text);
  while (width >= columns) {
    width -= width_of(text.substr(0, bytes_of_first(text)));
    text.remove_prefix(bytes_of_first(text));
  }
  return fmt::format("…{}", text);
}

/// Returns the last, or first, bytes of a long text, aligned to the start of a character.
std::string_view last_of(std::string_view text) {
  if (text.size() <= kLookedAt) return text;
  text.remove_prefix(text.size() - kLookedAt);
  while (!text.empty() && (static_cast<unsigned char>(text[0]) & 0xC0) == 0x80) text.remove_prefix(1);
  return text;
}
std::string_view first_of(std::string_view text) {
  std::size_t end = std::min(text.size(), kLookedAt);
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

std::size_t byte_at(const std::string& text, int location) {
  return std::min(static_cast<std::size_t>(std::max(location, 0)), text.size());
}

}  // namespace

std::string with_caret(const std::string& text, int location, const std::string& what) {
  const std::size_t at = byte_at(text, location);
  const std::size_t line_begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;  // npos + 1 is 0
  const std::size_t line_end = std::min(text.find('\n', at), text.size());
  const std::string before =
      shortened_before(last_of(std::string_view(text).substr(line_begin, at - line_begin)), kShownBefore);
  const std::size_t width = width_of(before);
  const std::string after = shortened_after(first_of(std::string_view(text).substr(at, line_end - at)), kShown - width);
  return fmt::format("{}\n  {}\n  {:{}}^", what, with_blanks(before + after), "", width);
}

void refuse(const std::string& text, int location, Code code, const std::string& what, std::int64_t index) {
  throw Error(code, with_caret(text, location, what),
              index == kNoIndex ? static_cast<std::int64_t>(byte_at(text, location)) : index);
}

}  // namespace upsweep::expression
