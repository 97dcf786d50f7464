// SPDX-License-Identifier: Apache-2.0
// sql/query/groups.hpp: the groups of a query, which are its carry: keys, states and their strings, found by key.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "sql/query/group_rows.hpp"
#include "sql/query/hash_slots.hpp"
#include "sql/query/plan.hpp"
#include "sql/query/string_key.hpp"
#include "sql/query/string_table.hpp"
#include "sql/query/unaggregated_rows.hpp"

namespace upsweep::query {

/// Maximum number of groups: they have 32-bit numbers.
inline constexpr std::int64_t kMostGroups = std::numeric_limits<std::int32_t>::max();

/// Stores groups in the order of their first rows, followed by rows that are not in groups yet (UnaggregatedRows).
/// GroupFold folds blocks of rows into groups, and sql/query/group_merge.hpp merges groups into groups.
class Groups {
 public:
  /// The plan must outlive this object.
  explicit Groups(const QueryPlan& plan);

  [[nodiscard]] const QueryPlan& plan() const { return *plan_; }
  /// Returns the aggregates that are sums.
  [[nodiscard]] const std::vector<std::size_t>& sums() const { return sums_; }

  /// Removes all groups but keeps the allocated memory.
  void clear();
  /// Allocates memory for that many groups, so that no table grows while they are added.
  void reserve(std::int64_t groups);
  /// Becomes the groups of `from` in another order, and takes their strings. Other groups must merge them; find() does
  /// not find them.
  void take_in_order(Groups& from, std::span<const std::int32_t> order);
  /// Becomes a copy of `from`, which has no strings and no unaggregated rows, in the minimum memory. Other groups must
  /// merge the groups; find() does not find them.
  void copy(const Groups& from);
  /// Becomes `count` groups, whose rows the caller copies. `partitions`: the source of the rows, which may be wider.
  void resize_for(std::int64_t count, std::span<Groups* const> partitions);
  void remove_last();

  [[nodiscard]] std::int64_t count() const { return count_; }
  /// Returns the bytes of memory.
  [[nodiscard]] std::int64_t bytes() const;
  /// Returns whether the only key is a number that is not NULL and ascends from group to group, without strings and
  /// unaggregated rows.
  [[nodiscard]] bool ascend() const;

  // ------------------------------------------------------------------------------------------------------ find and add

  /// Returns the group of a key. Adds it if it does not exist. The value of a NULL key is 0, that of text is
  /// string_key(). Throws Error out_of_memory.
  std::int64_t find(const Int128* key, const std::uint8_t* nulls) { return find(hash_of_key(key, nulls), key, nulls); }
  std::int32_t find(std::uint64_t hash, const Int128* key, const std::uint8_t* nulls);
  /// Returns the group with this hash for which `is_same` returns true, otherwise the group that `add` adds.
  template <class IsSame, class Add>
  std::int32_t find_or_add(std::uint64_t hash, const IsSame& is_same, const Add& add) {
    return slots_.find_or_add(hash, count_, [this](std::int64_t group) { return rows_.hash(group); }, is_same, add);
  }
  /// Adds a group without rows, whose keys the caller sets.
  std::int32_t add(std::uint64_t hash) {
    if (count_ == kMostGroups) refuse_more();
    rows_.push_back(hash);
    return static_cast<std::int32_t>(count_++);
  }
  /// Adds a group without a search for its key.
  std::int32_t add(std::uint64_t hash, const Int128* key, const std::uint8_t* nulls);
  void append(const Int128* key, const std::uint8_t* nulls) { (void)add(hash_of_key(key, nulls), key, nulls); }
  [[nodiscard]] bool has_key(std::int32_t group, const Int128* key, const std::uint8_t* nulls) const {
    for (std::size_t k = 0; k < are_text_.size(); ++k) {
      if (rows_.key(group, k) != key[k] || rows_.is_null(group, k) != (nulls[k] != 0)) return false;
    }
    return true;
  }
  [[nodiscard]] std::uint64_t hash_of_key(const Int128* key, const std::uint8_t* nulls) const;
  /// Returns the hash of a group's keys. Hashes are comparable only within a process.
  [[nodiscard]] std::uint64_t hash(std::int64_t group) const { return rows_.hash(group); }
  /// Returns the hash table, for prefetches.
  [[nodiscard]] const HashSlots& slots() const { return slots_; }

  // --------------------------------------------------------------------------------------------------- keys and states

  /// Returns the keys and states, and their positions.
  [[nodiscard]] const GroupRows& rows() const { return rows_; }
  [[nodiscard]] GroupRows& rows() { return rows_; }
  [[nodiscard]] State state(std::int64_t group, std::size_t aggregate) const { return rows_.state(group, aggregate); }
  void set_state(std::int64_t group, std::size_t aggregate, const State& state) {
    rows_.set_state(group, aggregate, state);
  }
  [[nodiscard]] Int128 key(std::int64_t group, std::size_t which) const { return rows_.key(group, which); }
  [[nodiscard]] bool key_is_null(std::int64_t group, std::size_t which) const { return rows_.is_null(group, which); }
  /// Returns for each key whether it is text.
  [[nodiscard]] const std::vector<std::uint8_t>& are_text() const { return are_text_; }
  [[nodiscard]] bool any_text_key() const { return any_text_; }

  // ----------------------------------------------------------------------------------------------------------- strings

  /// Returns long strings of keys, and all strings of states. State::exact is an entry of this table.
  [[nodiscard]] const StringTable& strings() const { return strings_; }
  [[nodiscard]] StringTable& strings() { return strings_; }
  /// Returns whether each string is the only key of a group.
  [[nodiscard]] bool strings_are_groups() const { return strings_are_groups_; }
  Int128 string_key(std::string_view text) {
    return text.size() <= kMostInKey ? short_string_key(text) : long_string_key(strings_.entry(text));
  }
  /// Returns the entry of a state's string.
  std::int32_t entry(std::string_view text) { return strings_.entry(text); }
  /// Adds a string without a search; the caller keeps its bytes.
  std::int32_t append_string(std::string_view text) { return strings_.append(text); }
  /// Returns the string of a state.
  [[nodiscard]] std::string_view text(Int128 entry) const { return strings_[static_cast<std::int32_t>(entry)]; }
  /// Returns the string of a key that is not NULL. It is valid until a group is added.
  [[nodiscard]] std::string_view key_string(std::int64_t group, std::size_t which) const {
    const Int128 key = rows_.key(group, which);
    return is_long_string(key) ? strings_[entry_of_long(key)] : rows_.short_string(group, which);
  }

  // ------------------------------------------------------------------------------------------------- unaggregated rows

  /// Returns rows that follow those of the groups. The caller that merges them must clear them.
  [[nodiscard]] UnaggregatedRows& unaggregated() { return unaggregated_; }
  [[nodiscard]] const UnaggregatedRows& unaggregated() const { return unaggregated_; }

 private:
  [[noreturn]] static void refuse_more();

  const QueryPlan* plan_;
  std::vector<std::uint8_t> are_text_;
  bool any_text_;
  bool strings_are_groups_;
  std::vector<std::size_t> sums_;
  std::int64_t count_ = 0;
  GroupRows rows_;
  StringTable strings_;
  HashSlots slots_;
  UnaggregatedRows unaggregated_;
};

}  // namespace upsweep::query
