// SPDX-License-Identifier: Apache-2.0
// sql/query/group_rows.hpp: groups as rows of words, so that a lookup and an update mostly touch one cache line.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "sql/query/plan.hpp"
#include "sql/query/string_key.hpp"
#include "upsweep/detail/unwritten_memory.hpp"
#include "upsweep/table.hpp"

namespace upsweep::query {

/// The result of an aggregate in a group.
class State {
 public:
  Int128 exact = 0;        ///< the sum, minimum or maximum; for text, an entry of the groups' dictionary
  std::int64_t count = 0;  ///< number of folded rows

  /// Returns the multiple of 2^128 by which a sum exceeds `exact`. If it is not 0, the sum does not fit.
  [[nodiscard]] std::int64_t high() const { return high_; }
  void set_high(std::int64_t high) { high_ = high; }
  /// Returns a float value, which replaces `exact`.
  [[nodiscard]] double real() const { return std::bit_cast<double>(high_); }
  void set_real(double real) { high_ = std::bit_cast<std::int64_t>(real); }

 private:
  std::int64_t high_ = 0;  ///< for floats, the bits of the value
};

/// The hash, keys and aggregate states of each group. A numeric key and a state take 64 bits for the value until a
/// value does not fit. NULL bits of keys are added with the first NULL.
class GroupRows {
 public:
  explicit GroupRows(const QueryPlan& plan);

  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(words_.size() / layout_.width); }
  /// Returns bytes of memory.
  [[nodiscard]] std::int64_t bytes() const {
    return static_cast<std::int64_t>(words_.capacity() * sizeof(std::uint64_t));
  }
  /// Removes all groups but keeps the allocated memory.
  void clear();
  void reserve(std::int64_t count) { words_.reserve(static_cast<std::size_t>(count) * layout_.width); }
  /// New groups have undefined values.
  void resize(std::int64_t count) { words_.resize(static_cast<std::size_t>(count) * layout_.width); }
  void pop_back() { resize(count() - 1); }
  /// Adds a row without keys and rows.
  void push_back(std::uint64_t hash) {
    const std::size_t before = words_.size();
    words_.resize(before + layout_.width);
    std::uint64_t* const row = words_.data() + before;
    row[0] = hash;
    std::fill(row + 1, row + layout_.width, std::uint64_t{0});
  }
  /// Widens rows for all values that `other` can hold.
  void widen_as(const GroupRows& other);
  /// Copies the row of a group of `from`, whose values must all fit. Several threads may call it at a time.
  void copy_row(std::int64_t group, const GroupRows& from, std::int64_t theirs);
  void ask_for(std::int64_t group) const {
    const std::uint64_t* const asked = row(group);
    __builtin_prefetch(asked, 1);
    __builtin_prefetch(asked + layout_.width - 1, 1);
  }

  [[nodiscard]] std::uint64_t hash(std::int64_t group) const { return row(group)[0]; }

  /// Returns the key, 0 if it is NULL.
  [[nodiscard]] Int128 key(std::int64_t group, std::size_t which) const {
    const KeyPlace& place = layout_.keys[which];
    const std::uint64_t* const words = row(group) + place.at;
    if (place.words == 1) return static_cast<std::int64_t>(words[0]);
    Int128 key = 0;
    std::memcpy(&key, words, sizeof key);
    return key;
  }
  /// Returns whether the key is one word in all groups.
  [[nodiscard]] bool is_word(std::size_t key) const { return layout_.keys[key].words == 1; }
  /// Returns a key that is one word.
  [[nodiscard]] std::int64_t key_word(std::int64_t group, std::size_t which) const {
    return static_cast<std::int64_t>(row(group)[layout_.keys[which].at]);
  }
  void set_key(std::int64_t group, std::size_t which, Int128 key) {
    if (layout_.keys[which].words == 1 && !fits(key)) widen_key(which);
    const KeyPlace& place = layout_.keys[which];
    std::memcpy(row(group) + place.at, &key, place.words * sizeof(std::uint64_t));
  }
  /// Returns a string that is stored in its key (sql/query/string_key.hpp). It is valid until a group is added.
  [[nodiscard]] std::string_view short_string(std::int64_t group, std::size_t which) const {
    return query::short_string(reinterpret_cast<const char*>(row(group) + layout_.keys[which].at));
  }
  [[nodiscard]] bool is_null(std::int64_t group, std::size_t which) const {
    if (layout_.nulls_at == 0) return false;
    return (row(group)[layout_.nulls_at + which / kBits] >> (which % kBits) & 1) != 0;
  }
  void set_null(std::int64_t group, std::size_t which) {
    if (layout_.nulls_at == 0) add_null_bits();
    row(group)[layout_.nulls_at + which / kBits] |= std::uint64_t{1} << which % kBits;
  }
  [[nodiscard]] bool any_null(std::int64_t group) const;
  /// Returns whether some groups have NULL keys.
  [[nodiscard]] bool have_nulls() const { return layout_.nulls_at != 0; }
  /// Returns whether, in all groups, numeric keys have one word and text keys two.
  [[nodiscard]] bool are_narrow() const { return layout_.key_words == first_.key_words; }
  /// Returns the width_of_keys() words of the keys. The keys must be narrow.
  [[nodiscard]] const std::uint64_t* key_words(std::int64_t group) const { return row(group) + 1; }
  [[nodiscard]] std::uint64_t* key_words(std::int64_t group) { return row(group) + 1; }
  [[nodiscard]] std::size_t width_of_keys() const { return layout_.key_words; }

  [[nodiscard]] State state(std::int64_t group, std::size_t aggregate) const;
  void set_state(std::int64_t group, std::size_t aggregate, const State& state);
  /// Returns whether the aggregate's value fits 64 bits in all groups.
  [[nodiscard]] bool is_narrow(std::size_t aggregate) const { return layout_.states[aggregate].form != Form::wide; }
  /// Returns State::exact of a narrow aggregate or, for floats, the bits of State::real(). Not for counts.
  [[nodiscard]] std::int64_t state_word(std::int64_t group, std::size_t aggregate) const {
    const StatePlace& place = layout_.states[aggregate];
    const std::uint64_t word = row(group)[place.at];
    return static_cast<std::int64_t>(place.form == Form::real ? word ^ kOfReals : word);
  }
  [[nodiscard]] std::int64_t count(std::int64_t group, std::size_t aggregate) const {
    return static_cast<std::int64_t>(row(group)[layout_.states[aggregate].count_at]);
  }
  [[nodiscard]] std::int64_t& count(std::int64_t group, std::size_t aggregate) {
    return reinterpret_cast<std::int64_t&>(row(group)[layout_.states[aggregate].count_at]);
  }
  /// Adds to a sum, which wraps (modulo 2^128) and counts this in State::high(). Whether the sum fits is checked only
  /// for the answer, because later values may bring it back into range, and an average always fits.
  void add_exact(std::int64_t group, std::size_t aggregate, Int128 value) {
    const StatePlace& place = layout_.states[aggregate];
    auto& sum = reinterpret_cast<std::int64_t&>(row(group)[place.at]);
    std::int64_t added = 0;
    const bool is_narrow = place.form == Form::narrow && fits(value) &&
                           !__builtin_add_overflow(sum, static_cast<std::int64_t>(value), &added);
    if (!is_narrow) return add_wide(group, aggregate, value, 0);
    sum = added;
  }
  void add_real(std::int64_t group, std::size_t aggregate, double value) {
    std::uint64_t& sum = row(group)[layout_.states[aggregate].at];
    sum = word_of(real_of(sum) + value);
  }
  /// Adds to State::high() of a sum.
  void add_high(std::int64_t group, std::size_t aggregate, std::int64_t high) {
    if (high != 0) add_wide(group, aggregate, 0, high);
  }
  /// Counts a row for each aggregate, and adds one value to each of the `sums`.
  void add_row(std::int64_t group, std::span<const std::size_t> sums, const std::uint64_t* values) {
    std::uint64_t* const words = row(group);
    for (const StatePlace& place : layout_.states) ++words[place.count_at];
    for (const std::size_t aggregate : sums) {
      if (layout_.states[aggregate].form == Form::real) {
        add_real(group, aggregate, std::bit_cast<double>(*values++));
      } else {
        add_exact(group, aggregate, static_cast<std::int64_t>(*values++));
      }
    }
  }

 private:
  static constexpr std::size_t kBits = 64;
  /// Words of reals have the sign flipped. Rows begin with zeros, and sums begin with -0.0, which changes no bit of an
  /// added value.
  static constexpr std::uint64_t kOfReals = std::uint64_t{1} << 63;
  static double real_of(std::uint64_t word) { return std::bit_cast<double>(word ^ kOfReals); }
  static std::uint64_t word_of(double real) { return std::bit_cast<std::uint64_t>(real) ^ kOfReals; }

  enum class Form : std::uint8_t { count, real, narrow, wide };
  struct KeyPlace {
    std::uint32_t at;
    std::uint32_t words;
  };
  struct StatePlace {
    std::uint32_t at;
    std::uint32_t count_at;
    Form form;
  };
  /// Positions in a row, in words: the hash, the keys, their NULL bits, the states.
  struct Layout {
    std::vector<KeyPlace> keys;
    std::vector<StatePlace> states;
    std::uint32_t nulls_at = 0;  ///< 0: there are no NULL bits
    std::uint32_t key_words = 0;
    std::uint32_t width = 0;
    void arrange(bool has_nulls);
  };

  /// Creates an object without groups, with another layout.
  GroupRows(const GroupRows& like, Layout layout) : layout_(std::move(layout)), first_(like.first_) {}
  static bool fits(Int128 value) { return value == static_cast<std::int64_t>(value); }
  [[nodiscard]] const std::uint64_t* row(std::int64_t group) const {
    return words_.data() + static_cast<std::size_t>(group) * layout_.width;
  }
  [[nodiscard]] std::uint64_t* row(std::int64_t group) {
    return words_.data() + static_cast<std::size_t>(group) * layout_.width;
  }
  void change(Layout layout);
  void widen_key(std::size_t which);
  void widen_state(std::size_t aggregate);
  void add_null_bits();
  void add_wide(std::int64_t group, std::size_t aggregate, Int128 value, std::int64_t high);

  Layout layout_;
  Layout first_;  ///< layout without groups
  detail::Unwritten<std::uint64_t> words_;
};

}  // namespace upsweep::query
