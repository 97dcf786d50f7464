// SPDX-License-Identifier: Apache-2.0
// sql/query/find_by_entries.cpp: the entries of all keys are the digits of a number, which indexes a table of groups.
#include "sql/query/find_by_entries.hpp"
#include "sql/tuning.hpp"

#include <algorithm>

namespace upsweep::query {
namespace {

// Maximum number of combinations for which a table is used.
constexpr std::size_t kMostByEntries = tuning::kFinders.most_entries;

}  // namespace

bool FindByEntries::find(Groups& groups, const BlockKeys& block, std::int32_t* group) {
  const std::vector<const Vector*>& keys = block.keys;
  std::size_t combinations = 1;
  for (const Vector* key : keys) {
    if (key->form != Form::text || key->nulls != nullptr || key->one) return false;
    combinations *= std::max<std::size_t>((*key->dictionary)->size(), 1);
    if (combinations > kMostByEntries) return false;
  }
  from_.resize(keys.size());
  for (std::size_t k = 0; k < keys.size(); ++k) {
    if (from_[k] == *keys[k]->dictionary) continue;
    from_[k] = *keys[k]->dictionary;
    by_number_.clear();
  }
  if (by_number_.empty()) by_number_.assign(combinations, kUnseen);
  const std::int32_t* number = keys[0]->as<std::int32_t>();
  number_.resize(kBlock);
  for (std::size_t k = 1; k < keys.size(); ++k) {
    const auto size = static_cast<std::int32_t>((*keys[k]->dictionary)->size());
    kernels_.append_digit(number, keys[k]->as<std::int32_t>(), size, block.rows, number_.data());
    number = number_.data();
  }
  std::vector<Int128> key(keys.size());
  const std::vector<std::uint8_t> nulls(keys.size(), 0);
  look_up(kernels_, by_number_, number, block, group, [&](int i) {
    for (std::size_t k = 0; k < keys.size(); ++k) key[k] = groups.string_key(string_at(*keys[k], i));
    return groups.find(key.data(), nulls.data());
  });
  return true;
}

}  // namespace upsweep::query
