// SPDX-License-Identifier: Apache-2.0
// sql/query/group_merge.hpp: merges groups, and rows that are not in groups yet, into groups.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sql/expression/evaluate.hpp"
#include "sql/query/groups.hpp"
#include "sql/query/plan.hpp"
#include "sql/query/unaggregated_rows.hpp"

namespace upsweep::query {

/// Merges groups of later rows, and the unaggregated rows after these groups. Throws Error out_of_memory, overflow (of
/// a count of rows).
void merge(Groups& groups, const Groups& later);
/// Merges the groups of `later` in [first, end), without unaggregated rows. Appends to `fresh` the indices in `later`
/// of the groups that are new here.
void merge(Groups& groups, const Groups& later, std::int64_t first, std::int64_t end, std::vector<std::int64_t>& fresh);
/// Merges the unaggregated rows of a partition. Appends to `fresh` the places of rows whose groups are new here.
void merge(Groups& groups, const UnaggregatedRows& later, int partition, std::vector<std::int64_t>& fresh);
/// Merges all unaggregated rows, in order.
void merge(Groups& groups, const UnaggregatedRows& later);
/// Adds a group for each unaggregated row of a partition, without a search for its key. Other groups must merge them.
void append(Groups& groups, const UnaggregatedRows& rows, int partition);
/// Removes the last group and merges it into the first one of `later`, which has the same key.
void give_last(Groups& groups, Groups& later);

/// A group of one of several Groups.
struct GroupPlace {
  std::int32_t partition;
  std::int32_t group;
};
/// Returns all groups of the partitions in that order. The partitions must not share groups. Takes their strings.
Groups joined(const QueryPlan& plan, std::span<Groups* const> partitions, std::span<const GroupPlace> order,
              int workers);

/// Returns whether a value replaces the minimum or maximum.
template <class T>
bool is_better(Fold fold, const T& value, const T& best) {
  return fold == Fold::minimum ? is_less(value, best) : is_less(best, value);
}

/// Replaces a minimum or maximum if `other` is better. `others` has the strings of `other`.
inline void improve(Groups& groups, std::int64_t group, std::size_t aggregate, const State& other,
                    const StringTable& others) {
  if (other.count == 0) return;
  State best = groups.state(group, aggregate);
  const auto& [fold, input, type] = groups.plan().aggregates[aggregate];
  const auto string_of = [](const StringTable& strings, const State& state) {
    return strings[static_cast<std::int32_t>(state.exact)];
  };
  const bool is_text = type.kind == ValueKind::text;
  const bool better =
      best.count == 0 || (type.kind == ValueKind::real ? is_better(fold, other.real(), best.real())
                          : is_text ? is_better(fold, string_of(others, other), string_of(groups.strings(), best))
                                    : is_better(fold, other.exact, best.exact));
  if (!better) return;
  if (type.kind == ValueKind::real) {
    best.set_real(other.real());
  } else {
    best.exact = is_text ? groups.strings().entry_of(others, static_cast<std::int32_t>(other.exact)) : other.exact;
  }
  groups.set_state(group, aggregate, best);
}

}  // namespace upsweep::query
