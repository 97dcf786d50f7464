// SPDX-License-Identifier: Apache-2.0
// sql/query/block_keys.hpp: the keys of a block's rows, whose groups are looked for.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sql/expression/evaluate.hpp"
#include "sql/query/plan.hpp"
#include "sql/tuning.hpp"

namespace upsweep::query {

/// What a table of groups has where it has no group yet.
inline constexpr std::int32_t kUnseen = -2;
// How far ahead slots are prefetched.
inline constexpr int kAhead = tuning::kPrefetch.slots;

/// Whether a row is kept; without marks all are.
inline bool is_marked(const std::uint64_t* marks, int i) {
  return marks == nullptr || ((marks[i / kMarksPerWord] >> (i % kMarksPerWord)) & 1) != 0;
}

struct BlockKeys {
  std::vector<const Vector*> keys;
  int rows = 0;
  const std::uint64_t* marks = nullptr;  ///< null: all rows are kept

  /// Rows that are not kept have no group.
  [[nodiscard]] bool is_kept(int i) const { return is_marked(marks, i); }
};

/// Whether these are numbers of 64 bits, one of each row, none of which is NULL.
inline bool is_plain(const Vector& v) { return v.form == Form::narrow && v.nulls == nullptr && !v.one; }

/// The string of a row, which is not NULL.
inline std::string_view string_at(const Vector& v, int i) {
  return (**v.dictionary)[static_cast<std::size_t>(v.at<std::int32_t>(i))];
}

/// The groups of rows by their numbers. `find_row` finds the groups that the table lacks.
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
