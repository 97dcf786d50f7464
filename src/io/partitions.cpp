// SPDX-License-Identifier: Apache-2.0
// io/partitions.cpp: finds the names and values in the folders of paths, and the types of their columns.
#include "io/partitions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string_view>
#include <system_error>

#include "core/utf8.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

// Decodes %20; any other % is an ordinary character.
std::string decoded(std::string_view text) {
  std::string all;
  for (std::size_t at = 0; at < text.size(); ++at) {
    unsigned char byte = 0;
    const char* const digits = text.data() + at + 1;
    const bool is_code =
        text[at] == '%' && at + 2 < text.size() && std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
    all += is_code ? static_cast<char>(byte) : text[at];
    if (is_code) at += 2;
  }
  return all;
}

// Returns an integer that is written as a program writes it: without a plus sign and leading zeros.
std::optional<std::int64_t> plain_integer(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole && std::to_string(value) == text ? std::optional(value) : std::nullopt;
}

}  // namespace

std::vector<std::pair<std::string, std::optional<std::string>>> folders_with_values(const std::string& path) {
  constexpr std::string_view kNull = "__HIVE_DEFAULT_PARTITION__";
  std::vector<std::pair<std::string, std::optional<std::string>>> found;
  for (std::size_t begin = 0, end = path.find('/'); end != std::string::npos; end = path.find('/', begin)) {
    const std::string_view folder = std::string_view(path).substr(begin, end - begin);
    begin = end + 1;
    const std::size_t equals = folder.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    const std::string_view value = folder.substr(equals + 1);
    if (!is_utf8(decoded(folder))) {
      throw Error(Code::malformed,
                  fmt::format("{}: the name of the folder '{}' is not UTF-8; rename it", path, folder));
    }
    found.emplace_back(decoded(folder.substr(0, equals)),
                       value == kNull ? std::nullopt : std::optional(decoded(value)));
  }
  return found;
}

std::vector<Partition> partitions_of(const std::vector<std::string>& files) {
  std::vector<std::string> names;
  std::vector<std::vector<std::optional<std::string>>> texts;  // by name and file
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (auto& [name, value] : folders_with_values(files[i])) {
      const auto known = std::ranges::find(names, name);
      const auto place = static_cast<std::size_t>(known - names.begin());
      if (known == names.end()) {
        names.push_back(name);
        texts.emplace_back(files.size());
      }
      texts[place][i] = std::move(value);
    }
  }
  std::vector<Partition> partitions;
  for (std::size_t p = 0; p < names.size(); ++p) {
    const bool is_number =
        std::ranges::all_of(texts[p], [](const auto& text) { return !text || plain_integer(*text).has_value(); });
    Partition& partition = partitions.emplace_back();
    partition.field = {.name = names[p],
                       .kind = is_number ? ValueKind::integer : ValueKind::text,
                       .storage = is_number ? Storage::int64 : Storage::int32};
    for (const auto& text : texts[p]) {
      auto& value = partition.values.emplace_back();
      if (text) value = PartitionValue{.number = plain_integer(*text).value_or(0), .text = *text};
    }
  }
  return partitions;
}

}  // namespace upsweep::io
