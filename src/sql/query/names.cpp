// SPDX-License-Identifier: Apache-2.0
// sql/query/names.cpp: names as they are written, found exactly or without regard to case.
#include "sql/query/names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/ascii.hpp"
#include "sql/query/lexer.hpp"

namespace upsweep::query {

std::vector<Name> names_at(std::string_view sql, int location, std::size_t count) {
  std::vector<Name> names;
  if (location < 0) return names;
  Lexer lexer(sql, static_cast<std::size_t>(location));
  while (names.size() < count) {
    const auto token = lexer.next();
    if (!token || (token->kind != Token::word && token->kind != Token::quoted)) return names;
    const bool is_escaped = sql.substr(token->end, 2) == "&\"" && lower_case(text_of(sql, *token)) == "u";
    if (is_escaped) return names;
    const bool is_quoted = token->kind == Token::quoted;
    names.push_back({is_quoted ? unquoted(sql, *token) : std::string(text_of(sql, *token)), is_quoted});
    const auto point = lexer.next();
    if (!point || text_of(sql, *point) != ".") return names;
  }
  return names;
}

bool may_mean(const Name& name, std::string_view candidate) {
  return name.quoted ? name.text == candidate : lower_case(name.text) == lower_case(candidate);
}

void Names::add(const std::string& name) {
  by_lower_name_[lower_case(name)].push_back(names_.size());
  names_.push_back(name);
}

std::vector<std::size_t> Names::find(const Name& name) const {
  const auto found = by_lower_name_.find(lower_case(name.text));
  if (found == by_lower_name_.end()) return {};
  std::vector<std::size_t> exact;
  for (const std::size_t place : found->second) {
    if (names_[place] == name.text) exact.push_back(place);
  }
  return exact.empty() && !name.quoted ? found->second : exact;
}

std::string Names::other_case(const Name& name) const {
  const auto found = by_lower_name_.find(lower_case(name.text));
  if (!name.quoted || found == by_lower_name_.end() || !find(name).empty()) return "";
  return names_[found->second.front()];
}

std::string in_quotes(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) text.append(c == '"' ? 2 : 1, c);
  return text + '"';
}

std::string ambiguous(const Name& name, const Names& names, const std::vector<std::size_t>& places,
                      std::string_view kind) {
  std::vector<std::string> all(places.size());
  std::transform(places.begin(), places.end(), all.begin(), [&](std::size_t place) { return in_quotes(names[place]); });
  const bool is_one_spelling = std::all_of(all.begin(), all.end(), [&](const std::string& n) { return n == all[0]; });
  if (is_one_spelling) return fmt::format("{} {}s are called '{}'; rename them", all.size(), kind, name.text);
  return fmt::format("'{}' may be {} {}: write the intended name in double quotes", name.text, kind,
                     fmt::join(all, " or "));
}

}  // namespace upsweep::query
