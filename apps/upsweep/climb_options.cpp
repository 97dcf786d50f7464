// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/climb_options.cpp: lists of sizes, types and counts, and settings by their names.
#include "climb_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <string_view>

#include "io/number_lines.hpp"
#include "output.hpp"
#include "values.hpp"

namespace upsweep::command {
namespace {

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const auto comma = list.find(',');
    names.emplace_back(list.substr(0, comma));
    list = comma == std::string_view::npos ? "" : list.substr(comma + 1);
  }
  return names;
}

Setting parse_choice(const SettingInfo& info, const std::string& text) {
  const auto found = std::find(info.choices.begin(), info.choices.end(), text);
  if (found != info.choices.end()) return {found - info.choices.begin()};
  refuse("--{} '{}' is not one of {}", info.name, text, fmt::join(info.choices, ", "));
}

}  // namespace

std::vector<std::int64_t> parse_sizes(const std::string& text) {
  std::vector<std::int64_t> sizes;
  for (const auto& size : split(text)) sizes.push_back(parse_count(size, "--sizes", 1, std::int64_t{1} << 40));
  return sizes;
}

std::vector<Type> parse_types(const std::string& text, const ProblemInfo& problem) {
  std::vector<Type> types;
  if (!text.empty() && problem.types.empty()) refuse("--types: the {} ladder has no choice of types", problem.name);
  for (const auto& word : split(text)) {
    const auto type = parse_type(word);
    if (!type || std::find(problem.types.begin(), problem.types.end(), *type) == problem.types.end()) {
      refuse("--types: the {} ladder does not run on '{}'; it runs on {}{}", problem.name, word,
             type_names(problem.types), type_hint(word));
    }
    types.push_back(*type);
  }
  return types;
}

std::vector<int> parse_threads(const std::string& text) {
  const std::vector<std::string> words = text.empty() ? std::vector<std::string>{""} : split(text);
  std::vector<int> counts;
  counts.reserve(words.size());
  for (const auto& word : words) {
    counts.push_back(static_cast<int>(parse_count(word, "--threads", 0, std::numeric_limits<int>::max())));
  }
  return counts;
}

int most_threads(const std::vector<int>& counts) {
  const bool all = std::ranges::find(counts, 0) != counts.end();
  return all ? 0 : *std::ranges::max_element(counts);
}

Setting parse_setting(const SettingInfo& info, const std::string& text) {
  if (!info.choices.empty()) return parse_choice(info, text);
  io::Decimal amount;
  if (info.decimal && io::parse_decimal(text, amount) == io::NumberFault::none && amount.digits >= info.least) {
    return {amount.digits, amount.scale};
  }
  return {parse_count(text, fmt::format("--{}", info.name), info.least, info.most)};
}

bool has_failed(const std::vector<Group>& groups) {
  const auto fails = [](const Row& row) { return row.status == RowStatus::failed; };
  return std::ranges::any_of(groups, [&](const Group& group) { return std::ranges::any_of(group.rows, fails); });
}

}  // namespace upsweep::command
