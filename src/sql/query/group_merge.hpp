// SPDX-License-Identifier: Apache-2.0
// sql/query/group_merge.hpp: merges groups, and rows that are not in groups yet, into groups.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sql/expression/evaluate.hpp"
#include "sql/query/groups.hpp"
#include "sql/query/loose_rows.hpp"
#include "sql/query/plan.hpp"

namespace upsweep::query {

/// Merges groups of rows that come later, and the loose rows after these. Throws Error out_of_memory, overflow (of a count of
/// rows).
void merge(Groups& groups, const Groups& later);
/// Merges the groups of `later` from `first` up to `end`, without loose rows. Appends to `fresh` the numbers there of those that
/// are new here.
void merge(Groups& groups, const Groups& later, std::int64_t first, std::int64_t end, std::vector<std::int64_t>& fresh);
/// Merges the loose rows of a part. Appends to `fresh` the places of those whose groups are new here.
void merge(Groups& groups, const LooseRows& later, int part, std::vector<std::int64_t>& fresh);
/// Merges all loose rows, in their order.
void merge(Groups& groups, const LooseRows& later);
/// Adds a group for each loose row of a part, without looking for its key: they are for others to merge.
void append(Groups& groups, const LooseRows& rows, int part);
/// Removes the last group and merges it into the first one of `later`, which has the same key.
void give_last(Groups& groups, Groups& later);

/// A group of one of several Groups.
struct GroupPlace {
  std::int32_t part;
  std::int32_t group;
};
/// All groups of these, which have none in common, in that order; takes their strings.
Groups joined(const Plan& plan, std::span<Groups* const> parts, std::span<const GroupPlace> order, int workers);

/// Whether a value is to replace the minimum or maximum.
template <class T>
bool is_better(Fold fold, const T& value, const T& best) {
  return fold == Fold::least ? is_less(value, best) : is_less(best, value);
}

/// Replaces a minimum or maximum where `other` is better. `others` has the strings of `other`.
inline void improve(Groups& groups, std::int64_t group, std::size_t aggregate, const State& other,
                    const TextTable& others) {
  if (other.count == 0) return;
  State best = groups.state(group, aggregate);
  const auto& [fold, input, type] = groups.plan().aggregates[aggregate];
  const auto word_of = [](const TextTable& texts, const State& state) {
    return texts[static_cast<std::int32_t>(state.exact)];
  };
  const bool is_text = type.kind == ValueKind::text;
  const bool better =
      best.count == 0 || (type.kind == ValueKind::real ? is_better(fold, other.real(), best.real())
                          : is_text ? is_better(fold, word_of(others, other), word_of(groups.texts(), best))
                                    : is_better(fold, other.exact, best.exact));
  if (!better) return;
  if (type.kind == ValueKind::real) {
    best.set_real(other.real());
  } else {
    best.exact = is_text ? groups.texts().entry_of(others, static_cast<std::int32_t>(other.exact)) : other.exact;
  }
  groups.set_state(group, aggregate, best);
}

}  // namespace upsweep::query
