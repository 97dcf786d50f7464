// SPDX-License-Identifier: Apache-2.0
// sql/query/group_merge.cpp: finds the groups of other groups, a few dozen at a time, then merges aggregate by
// aggregate.
#include "sql/query/group_merge.hpp"

#include <algorithm>
#include <string_view>

#include "cpu/parallel.hpp"
#include "cpu/work_partition.hpp"
#include "sql/expression/evaluate.hpp"
#include "sql/tuning.hpp"
#include "upsweep/error.hpp"

namespace upsweep::query {
namespace {

// Groups that are merged at a time: first they are found, then each aggregate is folded.
constexpr int kAtOnce = tuning::kGroups.merged_at_once;
// Bytes of groups that are in L2 after the first rows.
constexpr std::int64_t kNear = tuning::kGroups.near_bytes;

// For a few 64-bit words, for which a call would take longer.
bool are_same(const std::uint64_t* a, const std::uint64_t* b, std::size_t words) {
  std::uint64_t differ = 0;
  for (std::size_t i = 0; i < words; ++i) differ |= a[i] ^ b[i];
  return differ == 0;
}
void copy_words(const std::uint64_t* from, std::size_t words, std::uint64_t* to) {
  for (std::size_t i = 0; i < words; ++i) to[i] = from[i];
}

/// Returns the entry of a long string that is the key of a new group. If each string is the key of a group, no search
/// is needed.
std::int32_t entry_of_new_key(Groups& groups, std::string_view text) {
  return groups.strings_are_groups() ? groups.strings().add_new(text) : groups.entry(text);
}

// --------------------------------------------------------------------------------------------------- unaggregated rows

/// Adds the group of an unaggregated row whose keys no group has.
std::int32_t add(Groups& groups, const UnaggregatedRows& rows, const std::uint64_t* row) {
  const std::int32_t group = groups.add(UnaggregatedRows::hash(row));
  GroupRows& mine = groups.rows();
  const std::vector<std::uint8_t>& are_text = groups.are_text();
  const bool are_copied = mine.are_narrow();
  if (are_copied) copy_words(rows.key(row, 0), mine.width_of_keys(), mine.key_words(group));
  for (std::size_t k = 0; (groups.any_text_key() || !are_copied) && k < are_text.size(); ++k) {
    if (are_text[k] != 0 && rows.is_long(row, k)) {
      mine.set_key(group, k, long_string_key(entry_of_new_key(groups, rows.long_string(row, k))));
    } else if (!are_copied) {
      mine.set_key(group, k, are_text[k] != 0 ? rows.string_key(row, k) : static_cast<std::int64_t>(*rows.key(row, k)));
    }
  }
  return group;
}

/// Returns whether a group has the keys of an unaggregated row.
inline bool has_key(const Groups& groups, std::int32_t group, const UnaggregatedRows& rows, const std::uint64_t* row) {
  const GroupRows& mine = groups.rows();
  const std::vector<std::uint8_t>& are_text = groups.are_text();
  if (mine.have_nulls() && mine.any_null(group)) return false;
  if (!groups.any_text_key() && mine.are_narrow()) {
    return are_same(rows.key(row, 0), mine.key_words(group), mine.width_of_keys());
  }
  for (std::size_t k = 0; k < are_text.size(); ++k) {
    const Int128 key = mine.key(group, k);
    const bool is_same = are_text[k] == 0       ? key == static_cast<std::int64_t>(*rows.key(row, k))
                         : rows.is_long(row, k) ? is_long_string(key) && same_text(groups.strings()[entry_of_long(key)],
                                                                                   rows.long_string(row, k))
                                                : key == rows.string_key(row, k);
    if (!is_same) return false;
  }
  return true;
}

/// Returns the group of an unaggregated row. Adds it if it does not exist.
std::int32_t find(Groups& groups, const UnaggregatedRows& rows, const std::uint64_t* row) {
  return groups.find_or_add(
      UnaggregatedRows::hash(row), [&](std::int32_t group) { return has_key(groups, group, rows, row); },
      [&] { return add(groups, rows, row); });
}

/// Prefetches slots, and the data that is read next for occupied slots.
void ask_for_all(const Groups& groups, std::span<const std::uint64_t* const> asked) {
  if (groups.slots().empty()) return;
  const auto group_at = [&](const std::uint64_t* row) { return groups.slots().first(UnaggregatedRows::hash(row)); };
  for (const std::uint64_t* const row : asked) groups.slots().ask_for(UnaggregatedRows::hash(row));
  for (const std::uint64_t* const row : asked) {
    const std::int32_t group = group_at(row);
    if (group < 0) continue;
    groups.rows().ask_for(group);
  }
  const StringTable& strings = groups.strings();
  if (!groups.strings_are_groups() || strings.all().empty()) return;
  const auto for_long = [&](const auto& ask) {
    for (const std::uint64_t* const row : asked) {
      const std::int32_t group = group_at(row);
      if (group >= 0 && is_long_string(groups.key(group, 0))) ask(entry_of_long(groups.key(group, 0)));
    }
  };
  for_long([&](std::int32_t entry) { strings.ask_for(entry); });
  for_long([&](std::int32_t entry) { strings.ask_for_letters(entry); });
}

/// Merges rows 0 to n - 1, which `row_at` returns.
template <class RowAt, class OnFresh>
void merge_rows(Groups& groups, const UnaggregatedRows& later, std::int64_t n, const RowAt& row_at,
                const OnFresh& on_fresh) {
  const std::vector<std::size_t>& sums = groups.sums();
  const std::uint64_t* rows[kAtOnce];
  std::int32_t mine[kAtOnce];
  const bool are_far = groups.bytes() > kNear;
  for (std::int64_t first = 0; first < n; first += kAtOnce) {
    const auto now = static_cast<std::size_t>(std::min<std::int64_t>(kAtOnce, n - first));
    for (std::size_t i = 0; i < now; ++i) rows[i] = row_at(first + static_cast<std::int64_t>(i));
    if (are_far) ask_for_all(groups, {rows, now});
    for (std::size_t i = 0; i < now; ++i) {
      const std::int64_t known = groups.count();
      mine[i] = find(groups, later, rows[i]);
      if (mine[i] == known) on_fresh(rows[i]);
    }
    for (std::size_t i = 0; i < now; ++i) groups.rows().add_row(mine[i], sums, later.values(rows[i]));
  }
}

// -------------------------------------------------------------------------------------------------------- other groups

/// Adds the group of `others` whose keys no group has, without rows.
std::int32_t add(Groups& groups, const Groups& others, std::int64_t theirs) {
  const std::int32_t group = groups.add(others.hash(theirs));
  for (std::size_t k = 0; k < groups.are_text().size(); ++k) {
    const Int128 key = others.key(theirs, k);
    const bool is_long = groups.are_text()[k] != 0 && is_long_string(key);
    groups.rows().set_key(
        group, k, is_long ? long_string_key(entry_of_new_key(groups, others.strings()[entry_of_long(key)])) : key);
    if (others.key_is_null(theirs, k)) groups.rows().set_null(group, k);
  }
  return group;
}

/// Returns whether a group has the keys of a group of `others`.
inline bool has_key(const Groups& groups, std::int32_t mine, const Groups& others, std::int64_t group) {
  for (std::size_t k = 0; k < groups.are_text().size(); ++k) {
    const Int128 key = groups.key(mine, k);
    const Int128 other = others.key(group, k);
    const bool are_long = groups.are_text()[k] != 0 && is_long_string(key) && is_long_string(other);
    const bool is_same = are_long
                             ? same_text(groups.strings()[entry_of_long(key)], others.strings()[entry_of_long(other)])
                             : key == other;
    if (!is_same || groups.key_is_null(mine, k) != others.key_is_null(group, k)) return false;
  }
  return true;
}

/// Returns the group with the keys of a group of `others`. Adds it if it does not exist.
std::int32_t find(Groups& groups, const Groups& others, std::int64_t group) {
  return groups.find_or_add(
      others.hash(group), [&](std::int32_t mine) { return has_key(groups, mine, others, group); },
      [&] { return add(groups, others, group); });
}

/// Merges a state whose strings are in `others`.
void merge_state(Groups& groups, std::size_t aggregate, std::int32_t mine, const State& other,
                 const StringTable& others) {
  const Aggregate& asked = groups.plan().aggregates[aggregate];
  if (is_extreme(asked)) improve(groups, mine, aggregate, other, others);
  GroupRows& rows = groups.rows();
  // Counts first, because State::high() is bounded by the count.
  std::int64_t& count = rows.count(mine, aggregate);
  if (__builtin_add_overflow(count, other.count, &count)) {
    throw Error(Code::overflow, "a group has more than 2^63 - 1 rows");
  }
  if (asked.fold != Fold::sum) return;
  if (asked.type.kind == ValueKind::real) {
    rows.add_real(mine, aggregate, other.real());
  } else {
    rows.add_exact(mine, aggregate, other.exact);
    rows.add_high(mine, aggregate, other.high());
  }
}

/// Merges the states of consecutive groups, beginning with `theirs`.
void merge_states(Groups& groups, const Groups& later, std::size_t aggregate, std::int64_t theirs,
                  std::span<const std::int32_t> mine) {
  for (const std::int32_t group : mine) {
    merge_state(groups, aggregate, group, later.state(theirs++, aggregate), later.strings());
  }
}

template <class OnFresh>
void merge_range(Groups& groups, const Groups& later, std::int64_t first, std::int64_t end, const OnFresh& on_fresh) {
  std::int32_t mine[kAtOnce];
  for (; first < end; first += kAtOnce) {
    const auto n = static_cast<std::size_t>(std::min<std::int64_t>(kAtOnce, end - first));
    for (std::size_t i = 0; i < n; ++i) groups.slots().ask_for(later.hash(first + static_cast<std::int64_t>(i)));
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t group = first + static_cast<std::int64_t>(i);
      const std::int64_t known = groups.count();
      mine[i] = find(groups, later, group);
      if (mine[i] == known) on_fresh(group);
      groups.rows().ask_for(mine[i]);
    }
    for (std::size_t a = 0; a < groups.plan().aggregates.size(); ++a) merge_states(groups, later, a, first, {mine, n});
  }
}

/// Converts the strings of keys and states that were copied from these places to strings of `groups`.
void join_strings(Groups& groups, std::span<Groups* const> partitions, std::span<const GroupPlace> order) {
  const QueryPlan& plan = groups.plan();
  std::vector<std::size_t> keys;
  std::vector<std::size_t> aggregates;
  for (std::size_t k = 0; k < plan.keys.size(); ++k) {
    if (is_text(plan.keys[k])) keys.push_back(k);
  }
  for (std::size_t a = 0; a < plan.aggregates.size(); ++a) {
    if (is_text(plan.aggregates[a])) aggregates.push_back(a);
  }
  const auto has_strings = [](const Groups* partition) { return !partition->strings().all().empty(); };
  if (std::none_of(partitions.begin(), partitions.end(), has_strings)) return;
  StringTable& strings = groups.strings();
  for (std::size_t i = 0; i < order.size(); ++i) {
    const StringTable& theirs = partitions[static_cast<std::size_t>(order[i].partition)]->strings();
    const auto group = static_cast<std::int64_t>(i);
    for (const std::size_t k : keys) {
      if (!is_long_string(groups.key(group, k))) continue;
      const std::int32_t entry = entry_of_long(groups.key(group, k));
      groups.rows().set_key(group, k,
                            long_string_key(groups.strings_are_groups() ? strings.append(theirs[entry])
                                                                        : strings.entry_of(theirs, entry)));
    }
    for (const std::size_t a : aggregates) {
      State best = groups.state(group, a);
      if (best.count == 0) continue;
      best.exact = strings.entry_of(theirs, static_cast<std::int32_t>(best.exact));
      groups.set_state(group, a, best);
    }
  }
  for (Groups* const partition : partitions) strings.keep_memory_of(partition->strings());
}

}  // namespace

void merge(Groups& groups, const Groups& later) {
  merge_range(groups, later, 0, later.count(), [](std::int64_t) {});
  merge(groups, later.unaggregated());
}

void merge(Groups& groups, const Groups& later, std::int64_t first, std::int64_t end,
           std::vector<std::int64_t>& fresh) {
  merge_range(groups, later, first, end, [&](std::int64_t group) { fresh.push_back(group); });
}

void merge(Groups& groups, const UnaggregatedRows& later, int partition, std::vector<std::int64_t>& fresh) {
  merge_rows(
      groups, later, later.count(partition), [&](std::int64_t i) { return later.row(partition, i); },
      [&](const std::uint64_t* row) { fresh.push_back(static_cast<std::int64_t>(UnaggregatedRows::place(row))); });
}

void merge(Groups& groups, const UnaggregatedRows& later) {
  if (later.count() == 0) return;
  const std::vector<const std::uint64_t*> rows = later.in_order();
  merge_rows(
      groups, later, later.count(), [&](std::int64_t i) { return rows[static_cast<std::size_t>(i)]; },
      [](const std::uint64_t* /*row*/) {});
}

void append(Groups& groups, const UnaggregatedRows& rows, int partition) {
  const std::vector<std::size_t>& sums = groups.sums();
  for (std::int64_t i = 0; i < rows.count(partition); ++i) {
    const std::uint64_t* const row = rows.row(partition, i);
    groups.rows().add_row(add(groups, rows, row), sums, rows.values(row));
  }
}

void give_last(Groups& groups, Groups& later) {
  const std::int64_t last = groups.count() - 1;
  for (std::size_t a = 0; a < groups.plan().aggregates.size(); ++a) {
    const State after = later.state(0, a);
    later.set_state(0, a, groups.state(last, a));
    merge_state(later, a, 0, after, later.strings());
  }
  groups.remove_last();
}

Groups joined(const QueryPlan& plan, std::span<Groups* const> partitions, std::span<const GroupPlace> order,
              int workers) {
  Groups all(plan);
  const std::int64_t count = std::ssize(order);
  all.resize_for(count, partitions);
  constexpr std::int64_t kEach = 1 << 14;
  cpu::for_each_of(cpu::ceil_div(count, kEach), workers, [&](std::int64_t chunk) {
    for (std::int64_t i = chunk * kEach; i < std::min((chunk + 1) * kEach, count); ++i) {
      const auto [partition, group] = order[static_cast<std::size_t>(i)];
      all.rows().copy_row(i, partitions[static_cast<std::size_t>(partition)]->rows(), group);
    }
  });
  join_strings(all, partitions, order);
  return all;
}

}  // namespace upsweep::query
