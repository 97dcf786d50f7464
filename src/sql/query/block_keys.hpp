// SPDX-License-Identifier: Apache-2.0
// sql/query/block_keys.hpp: the keys of a block's rows, from which their groups are found.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sql/expression/evaluate.hpp"
#include "sql/query/plan.hpp"
#include "sql/tuning.hpp"

namespace upsweep::query {

/// The entry of a group table for which no group is known yet.
inline constexpr std::int32_t kUnseen = -2;
// Number of rows by which slots are prefetched ahead.
inline constexpr int kAhead = tuning::kPrefetch.slots;

/// Returns whether a row is kept. Without marks, all rows are kept.
inline bool is_marked(const std::uint64_t* marks, int i) {
  return marks == nullptr || ((marks[i / kMarksPerWord] >> (i % kMarksPerWord)) & 1) != 0;
}

struct BlockKeys {
  std::vector<const Vector*> keys;
  int rows = 0;
  const std::uint64_t* marks = nullptr;  ///< null: all rows are kept

  /// Returns whether a row is kept. Rows that are not kept have no group.
  [[nodiscard]] bool is_kept(int i) const { return is_marked(marks, i); }
};

/// Returns whether these are 64-bit numbers, one per row, none of which is NULL.
inline bool is_plain(const Vector& v) { return v.form == Form::narrow && v.nulls == nullptr && !v.one; }

/// Returns the string of a row, which is not NULL.
inline std::string_view string_at(const Vector& v, int i) {
  return (**v.dictionary)[static_cast<std::size_t>(v.at<std::int32_t>(i))];
}

/// Looks up the groups of rows by their numbers. `find_row` finds groups that are not in the table.
template <class FindRow>
void look_up(const Kernels& kernels, std::vector<std::int32_t>& groups, const std::int32_t* number,
             const BlockKeys& block, std::int32_t* group, const FindRow& find_row) {
  const bool any_unseen =
      kernels.look_up(groups.data(), static_cast<int>(groups.size()), number, block.rows, kUnseen, group);
  if (block.marks != nullptr) kernels.drop(block.marks, block.rows, group);
  for (int i = 0; any_unseen && i < block.rows; ++i) {
    if (group[i] != kUnseen) continue;
    std::int32_t& known = groups[static_cast<std::size_t>(number[i])];
    if (known == kUnseen) known = static_cast<std::int32_t>(find_row(i));
    group[i] = known;
  }
}

}  // namespace upsweep::query
