// SPDX-License-Identifier: Apache-2.0
// sql/query/find_by_string.cpp: finds the groups of a dictionary's entries when a row uses them.
#include "sql/query/find_by_string.hpp"

namespace upsweep::query {

void FindByString::find(Groups& groups, const BlockKeys& block, std::int32_t* group) {
  const Vector& key = *block.keys[0];
  if (from_ != *key.dictionary) {
    from_ = *key.dictionary;
    known_.assign(from_->size(), -1);
  }
  const auto* const entries = key.as<std::int32_t>();
  std::int32_t of_null = -1;
  for (int i = 0; i < block.rows; ++i) {
    if (!block.is_kept(i)) {
      group[i] = kNoGroup;
    } else if (null_at(key, i)) {
      const Int128 none = 0;
      const std::uint8_t is_null = 1;
      if (of_null < 0) of_null = static_cast<std::int32_t>(groups.find(&none, &is_null));
      group[i] = of_null;
    } else {
      std::int32_t& found = known_[static_cast<std::size_t>(entries[key.one ? 0 : i])];
      if (found < 0) {
        const Int128 text = groups.string_key(string_at(key, i));
        const std::uint8_t not_null = 0;
        found = static_cast<std::int32_t>(groups.find(&text, &not_null));
      }
      group[i] = found;
    }
  }
}

}  // namespace upsweep::query
