// SPDX-License-Identifier: Apache-2.0
// sql/query/find_by_hash.cpp: converts the keys of all rows to the form that groups store; then prefetches slots.
#include "sql/query/find_by_hash.hpp"

#include <algorithm>
#include <string_view>
#include <type_traits>

#include "system/hash.hpp"

namespace upsweep::query {

void FindByHash::find(Groups& groups, const BlockKeys& block, std::int32_t* group) {
  const std::size_t width = block.keys.size();
  const int n = block.rows;
  load_keys(groups, block);
  const Int128* key = keys_.data();
  const std::uint8_t* nulls = nulls_.data();
  const std::uint64_t* const hashes = hashes_.data();
  int last = -1;  // the row that was looked up before
  for (int i = 0; i < n; ++i, key += width, nulls += width) {
    groups.slots().ask_for(hashes[std::min(i + kAhead, n - 1)]);
    if (!block.is_kept(i)) {
      group[i] = kNoGroup;
      continue;
    }
    const bool is_next = last >= 0 && hashes[last] == hashes[i] && groups.has_key(group[last], key, nulls);
    group[i] = is_next ? group[last] : groups.find(hashes[i], key, nulls);
    last = i;
  }
}

/// Loads the keys of all rows, and their hashes. Rows that are not kept have arbitrary keys.
void FindByHash::load_keys(Groups& groups, const BlockKeys& block) {
  const std::size_t width = block.keys.size();
  const int n = block.rows;
  const auto rows = static_cast<std::size_t>(n);
  keys_.resize(rows * width);
  nulls_.assign(rows * width, 0);
  hashes_.assign(rows, 0);
  const Secret by = secret();
  for (std::size_t k = 0; k < width; ++k) {
    const Vector& v = *block.keys[k];
    for (int i = 0; v.nulls != nullptr && i < n; ++i) {
      nulls_[static_cast<std::size_t>(i) * width + k] = v.nulls[v.one ? 0 : i];
    }
    if (v.form == Form::text && entries_[k].from != *v.dictionary) {
      entries_[k].from = *v.dictionary;
      entries_[k].to.assign(entries_[k].from->size(), -1);
    }
    with_type(v.form, [&]<class T>(std::type_identity<T>) {
      for (int i = 0; i < n; ++i) {
        const std::size_t at = static_cast<std::size_t>(i) * width + k;
        const std::uint8_t is_null = nulls_[at];
        Int128 value = 0;
        Int128 hashed = 0;
        if constexpr (std::is_same_v<T, std::int32_t>) {
          if (is_null == 0 && block.is_kept(i)) {
            hashed = value = key_at(groups, k, v, i);
            if (is_long_string(value)) hashed = groups.strings().hash(entry_of_long(value));
          }
        } else {
          if (is_null == 0) hashed = value = static_cast<Int128>(v.at<T>(i));
        }
        keys_[at] = value;
        hashes_[static_cast<std::size_t>(i)] =
            hash_more(by, hashes_[static_cast<std::size_t>(i)], static_cast<std::uint64_t>(hashed),
                      static_cast<std::uint64_t>(hashed >> 64) + is_null);
      }
    });
  }
}

/// Returns the string of a row as groups store it.
Int128 FindByHash::key_at(Groups& groups, std::size_t which, const Vector& v, int i) {
  const std::string_view string = string_at(v, i);
  if (string.size() <= kMostInKey) return short_string_key(string);
  std::int32_t& to = entries_[which].to[static_cast<std::size_t>(v.at<std::int32_t>(i))];
  if (to < 0) to = groups.entry(string);
  return long_string_key(to);
}

void FindByHash::forget() {
  for (Entries& entries : entries_) entries = {};
}

}  // namespace upsweep::query
