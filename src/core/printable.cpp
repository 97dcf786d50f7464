// SPDX-License-Identifier: Apache-2.0
// core/printable.cpp: formats text and names of columns from files for messages.
#include "core/printable.hpp"

#include <algorithm>

#include "core/utf8.hpp"

namespace upsweep {
namespace {

// Escapes bytes as C does in a string.
std::string escaped(std::string_view bytes) {
  if (bytes == "\n") return "\\n";
  if (bytes == "\t") return "\\t";
  if (bytes == "\r") return "\\r";
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += {'\\', 'x', kDigits[value >> 4], kDigits[value & 15]};
  }
  return text;
}

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
  std::string line;
  std::size_t at = 0;
  while (at < text.size()) {
    const CodePoint c = code_point(text, at);
    const std::size_t bytes = std::max<std::size_t>(c.bytes, 1);
    if (at + bytes > limit) return line + "…";
    line += c.bytes == 0 || is_control(c.value) ? escaped(text.substr(at, bytes)) : text.substr(at, bytes);
    at += bytes;
  }
  return line;
}

std::string names_of_columns(const std::vector<Field>& fields) {
  constexpr std::size_t kMostListed = 20;
  constexpr std::size_t kMostBytes = 60;  // of a name
  std::string names;
  for (std::size_t i = 0; i < std::min(fields.size(), kMostListed); ++i) {
    names += (i > 0 ? ", '" : "'") + printable(fields[i].name, kMostBytes) + "'";
  }
  return fields.size() > kMostListed ? names + ", … (" + std::to_string(fields.size()) + " in all)" : names;
}

}  // namespace upsweep
