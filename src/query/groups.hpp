// SPDX-License-Identifier: Apache-2.0
// query/groups.hpp: the carry of a query: what its aggregates have come to, group by group; pieces of a table merge in order.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "expression/dictionary.hpp"
#include "expression/evaluate.hpp"
#include "query/loose_rows.hpp"
#include "query/plan.hpp"
#include "query/text_table.hpp"

namespace upsweep::query {

/// What an aggregate has come to in a group.
class State {
 public:
  Int128 exact = 0;        ///< the sum, the least or the greatest; of text: an entry of the groups' dictionary
  std::int64_t count = 0;  ///< rows that went in

  /// How many times 2^128 a sum exceeds `exact`; not 0 means that it does not fit.
  [[nodiscard]] std::int64_t high() const { return high_; }
  void set_high(std::int64_t high) { high_ = high; }
  /// Of floats, in place of `exact`.
  [[nodiscard]] double real() const { return std::bit_cast<double>(high_); }
  void set_real(double real) { high_ = std::bit_cast<std::int64_t>(real); }

 private:
  std::int64_t high_ = 0;  ///< of floats the bits of the value
};

/// What aggregates have come to, one group after the other: in half the memory until one comes to more than 64 bits, and in a
/// quarter where all of them are counts.
class States {
 public:
  explicit States(const Plan& plan);

  /// `aggregate`: whose state number i is.
  [[nodiscard]] State get(std::size_t i, std::size_t aggregate) const {
    if (is_wide_) return wide_[i];
    State state;
    if (are_counts_) {
      state.count = counts_[i];
    } else if (are_real_[aggregate] != 0) {
      state.count = narrow_[i].count;
      state.set_real(std::bit_cast<double>(narrow_[i].word));
    } else {
      state.count = narrow_[i].count;
      state.exact = narrow_[i].word;
    }
    return state;
  }
  /// By several threads at a time where these are wide or it fits.
  void set(std::size_t i, std::size_t aggregate, const State& state) {
    if (are_counts_) {
      counts_[i] = state.count;
      return;
    }
    if (!is_wide_ && are_real_[aggregate] == 0 && !(state.high() == 0 && fits(state.exact))) widen();
    if (is_wide_) {
      wide_[i] = state;
    } else {
      narrow_[i] = {are_real_[aggregate] != 0 ? std::bit_cast<std::int64_t>(state.real())
                                              : static_cast<std::int64_t>(state.exact),
                    state.count};
    }
  }
  [[nodiscard]] std::int64_t& count(std::size_t i) {
    return are_counts_ ? counts_[i] : is_wide_ ? wide_[i].count : narrow_[i].count;
  }
  /// Adds to a sum, which wraps around as State::high() says: whether it fits is asked when it is given out, as what comes later
  /// may bring it back, and an average always fits.
  void add_exact(std::size_t i, Int128 value) {
    if (!is_wide_) {
      std::int64_t sum = 0;
      if (fits(value) && !__builtin_add_overflow(narrow_[i].word, static_cast<std::int64_t>(value), &sum)) {
        narrow_[i].word = sum;
        return;
      }
      widen();
    }
    State& sum = wide_[i];
    if (__builtin_add_overflow(sum.exact, value, &sum.exact)) sum.set_high(sum.high() + (value < 0 ? -1 : 1));
  }
  /// As State::high() has it.
  void add_high(std::size_t i, std::int64_t high) {
    if (high == 0) return;
    if (!is_wide_) widen();
    wide_[i].set_high(wide_[i].high() + high);
  }
  /// Counts a row for each of a group's aggregates, the first of which is number `first`, and adds to those of `sums` a value each.
  void add_row(std::size_t first, std::span<const std::size_t> sums, const std::uint64_t* values) {
    const std::size_t width = are_real_.size();
    if (is_wide_ || are_counts_) {
      for (std::size_t a = 0; a < width; ++a) ++count(first + a);
      return add_all(first, sums, values);
    }
    Narrow* const row = narrow_.data() + first;
    for (std::size_t a = 0; a < width; ++a) ++row[a].count;
    for (; !sums.empty(); sums = sums.subspan(1), ++values) {
      Narrow& state = row[sums[0]];
      std::int64_t sum = 0;
      if (are_real_[sums[0]] != 0) {
        sum = std::bit_cast<std::int64_t>(std::bit_cast<double>(state.word) + std::bit_cast<double>(*values));
      } else if (__builtin_add_overflow(state.word, static_cast<std::int64_t>(*values), &sum)) {
        return add_all(first, sums, values);
      }
      state.word = sum;
    }
  }
  void add_real(std::size_t i, double value) {
    if (is_wide_) return wide_[i].set_real(wide_[i].real() + value);
    narrow_[i].word = std::bit_cast<std::int64_t>(std::bit_cast<double>(narrow_[i].word) + value);
  }
  void ask_for(std::size_t i) const {
    if (are_counts_) {
      __builtin_prefetch(counts_.data() + i, 1);
    } else if (is_wide_) {
      __builtin_prefetch(wide_.data() + i, 1);
    } else {
      __builtin_prefetch(narrow_.data() + i, 1);
    }
  }

  [[nodiscard]] bool are_wide() const { return is_wide_; }
  void widen();
  [[nodiscard]] std::size_t size() const {
    return are_counts_ ? counts_.size() : is_wide_ ? wide_.size() : narrow_.size();
  }
  [[nodiscard]] std::int64_t bytes() const {
    return static_cast<std::int64_t>(counts_.capacity() * sizeof(std::int64_t) + narrow_.capacity() * sizeof(Narrow) +
                                     wide_.capacity() * sizeof(State));
  }
  void clear() {
    resize(0);
    is_wide_ = false;
  }
  /// Those that are new are of no row.
  void resize(std::size_t size) {
    if (are_counts_) {
      counts_.resize(size);
    } else if (is_wide_) {
      wide_.resize(size);
    } else {
      narrow_.resize(size);
    }
  }
  void push_back() {
    if (are_counts_) {
      counts_.push_back(0);
    } else if (is_wide_) {
      wide_.emplace_back();
    } else {
      narrow_.emplace_back();
    }
  }

 private:
  struct Narrow {
    std::int64_t word = 0;  ///< State::exact, or the bits of State::real()
    std::int64_t count = 0;
  };

  static bool fits(Int128 value) { return value == static_cast<std::int64_t>(value); }
  void add_all(std::size_t first, std::span<const std::size_t> sums, const std::uint64_t* values) {
    for (const std::size_t a : sums) {
      if (are_real_[a] != 0) {
        add_real(first + a, std::bit_cast<double>(*values++));
      } else {
        add_exact(first + a, static_cast<std::int64_t>(*values++));
      }
    }
  }

  std::vector<std::uint8_t> are_real_;  ///< by aggregate
  bool are_counts_;
  bool is_wide_ = false;
  std::vector<std::int64_t> counts_;
  std::vector<Narrow> narrow_;
  std::vector<State> wide_;
};

/// Keys of groups, one after the other: of 64 bits each until one comes that does not fit.
class Keys {
 public:
  [[nodiscard]] Int128 operator[](std::size_t i) const { return is_wide_ ? wide_[i] : Int128{narrow_[i]}; }
  /// All of them; null: some do not fit.
  [[nodiscard]] const std::int64_t* narrow() const { return is_wide_ ? nullptr : narrow_.data(); }
  void ask_for(std::size_t i) const {
    if (is_wide_) {
      __builtin_prefetch(wide_.data() + i);
    } else {
      __builtin_prefetch(narrow_.data() + i);
    }
  }
  [[nodiscard]] bool is_wide() const { return is_wide_; }
  [[nodiscard]] std::int64_t bytes() const {
    return static_cast<std::int64_t>(narrow_.capacity() * sizeof(std::int64_t) + wide_.capacity() * sizeof(Int128));
  }

  void clear() {
    narrow_.clear();
    wide_.clear();
    is_wide_ = false;
  }
  void push_back(Int128 key) {
    if (!is_wide_ && !fits(key)) widen();
    if (is_wide_) {
      wide_.push_back(key);
    } else {
      narrow_.push_back(static_cast<std::int64_t>(key));
    }
  }
  void pop_back() { resize((is_wide_ ? wide_.size() : narrow_.size()) - 1); }
  void resize(std::size_t size) {
    if (is_wide_) {
      wide_.resize(size);
    } else {
      narrow_.resize(size);
    }
  }
  /// By several threads at a time where these are wide or it fits.
  void set(std::size_t i, Int128 key) {
    if (!is_wide_ && !fits(key)) widen();
    if (is_wide_) {
      wide_[i] = key;
    } else {
      narrow_[i] = static_cast<std::int64_t>(key);
    }
  }
  void widen() {
    wide_.assign(narrow_.begin(), narrow_.end());
    narrow_ = {};
    is_wide_ = true;
  }

 private:
  static bool fits(Int128 key) { return key == static_cast<std::int64_t>(key); }

  std::vector<std::int64_t> narrow_;
  std::vector<Int128> wide_;
  bool is_wide_ = false;
};

/// Groups have numbers of 32 bits.
inline constexpr std::int64_t kMostGroups = std::numeric_limits<std::int32_t>::max();

class Groups {
 public:
  Groups(const Plan& plan, const Kernels& kernels);

  /// None, as in the beginning; the memory is kept.
  void clear();
  /// Becomes those of `from` in another order, to be merged by others: they are not found here. Takes the texts.
  void take_in_order(Groups& from, std::span<const std::int32_t> order);
  /// Of one key that is a number: none is NULL, each is greater than the one before it, and no texts or loose rows are there.
  [[nodiscard]] bool ascend() const;
  /// Becomes those of `from`, without texts and loose rows, in as little memory as they need, to be merged by others: they are
  /// not found here.
  void copy(const Groups& from);
  /// The last of these becomes part of the first of `later`, which has the same key.
  void give_last(Groups& later);

  /// Before the first block of each batch. `most`: if the rows' groups are found at once, and in the end there are hardly more of
  /// them, they are kept for further batches, and no rows are loose.
  void start_batch(std::int64_t most);
  /// Whether all groups are found at once: by the value of the only key, and these are no more than that apart, or by the words
  /// of all keys, and there are no more groups, which do not ascend.
  [[nodiscard]] bool are_at_hand(std::int64_t most) const;
  /// The rows that an evaluator has at hand or, with `marks`, those of them that are marked. Throws Error out_of_memory, and
  /// the evaluator's: with `marks` it may be of a row that is not marked, and no aggregate has changed.
  void add(Evaluator& evaluator, const std::uint64_t* marks = nullptr);
  /// After the last of these, before states are looked at: only then they have all of them.
  void settle();
  /// Rows that were summed elsewhere, to the only group of a query without GROUP BY.
  void add(std::size_t aggregate, std::int64_t sum, int rows);
  /// Groups of rows that come later. Throws Error out_of_memory, overflow (of a count of rows).
  void merge(const Groups& later);
  /// The same of those from `first` on up to `end`, without loose rows. Appends to `fresh` the numbers of those that are new
  /// here.
  void merge(const Groups& later, std::int64_t first, std::int64_t end, std::vector<std::int64_t>& fresh);
  /// The same of a part's rows; appends the places of those that are new here.
  void merge(const LooseRows& later, int part, std::vector<std::int64_t>& fresh);
  /// A group for each of a part's rows, which are not found: to be merged by others.
  void append(const LooseRows& rows, int part);
  /// Rows that come after those of the groups; who takes them clears them.
  [[nodiscard]] LooseRows& loose() { return loose_; }
  [[nodiscard]] const LooseRows& loose() const { return loose_; }
  /// A group of one of several Groups.
  struct Place {
    std::int32_t part;
    std::int32_t group;
  };
  /// All groups of these, each of which none of the others has, in that order; their texts are taken.
  static Groups joined(const Plan& plan, const Kernels& kernels, std::span<Groups* const> parts,
                       std::span<const Place> order, int workers);

  /// For carries that come from elsewhere: the group of a key, a new one where there is none; keys that are NULL have the
  /// value 0, and text has its entry's index. Throws Error out_of_memory.
  std::int64_t find(const Int128* key, const std::uint8_t* nulls);
  std::int32_t entry(std::string_view text) { return texts_.entry(text); }
  /// For packets of groups that others merge: a group that is not found here, and a text that stays where it is. Both may have
  /// come before.
  void append(const Int128* key, const std::uint8_t* nulls) { (void)add_group(hash_of_key(key, nulls), key, nulls); }
  std::int32_t append_text(std::string_view text);
  /// By what a group's keys are, wherever they are groups: hashes of one process alone are comparable.
  [[nodiscard]] std::uint64_t hash(std::int64_t group) const {
    return by_text_ ? hash_of_text(group) : hashes_[static_cast<std::size_t>(group)];
  }
  void set_state(std::int64_t group, std::size_t aggregate, const State& state) {
    states_.set(place_of(group, aggregate), aggregate, state);
  }

  [[nodiscard]] std::int64_t count() const { return count_; }
  /// Groups have the order in which their first rows came.
  [[nodiscard]] State state(std::int64_t group, std::size_t aggregate) const {
    return states_.get(place_of(group, aggregate), aggregate);
  }
  /// Of text keys and aggregates: `exact` is an index into texts().
  [[nodiscard]] Int128 key(std::int64_t group, std::size_t which) const {
    return one_each_ ? Int128{group} : keys_[static_cast<std::size_t>(group) * plan_->keys.size() + which];
  }
  [[nodiscard]] bool key_is_null(std::int64_t group, std::size_t which) const {
    return !one_each_ && key_nulls_[static_cast<std::size_t>(group) * plan_->keys.size() + which] != 0;
  }
  [[nodiscard]] const std::vector<std::string_view>& texts() const { return texts_.all(); }
  /// That of a key or state.
  [[nodiscard]] std::string_view text(Int128 entry) const { return texts_[static_cast<std::int32_t>(entry)]; }
  /// Of memory, without that of a block at hand.
  [[nodiscard]] std::int64_t bytes() const;

 private:
  /// A batch's dictionary as entries of the groups': filled as they are met.
  struct Translation {
    std::shared_ptr<const Dictionary> from;
    std::vector<std::int32_t> to;
  };

  /// A group in the hash table. Hashes are compared by their upper half, which is not what places are chosen by.
  struct Slot {
    std::uint32_t tag;
    std::int32_t group;  ///< -1: free
  };

  struct Values {
    std::int64_t least;
    std::int64_t greatest;
  };

  /// One of two groups that were met last of those whose keys come to the same place: the word is the only key, or the hash of
  /// several.
  struct WordSlot {
    std::uint64_t word;
    std::int32_t group;  ///< kUnmet: none
  };

  /// Sums of many groups.
  struct Many {
    std::vector<std::int64_t> sums;
    UInt128 bound = 0;      ///< of the values
    std::int64_t rows = 0;  ///< that are in: no sum can be larger than so many times the bound
  };

  [[nodiscard]] std::size_t place_of(std::int64_t group, std::size_t aggregate) const {
    return static_cast<std::size_t>(group) * plan_->aggregates.size() + aggregate;
  }
  [[nodiscard]] std::int64_t& count_of(std::int64_t group, std::size_t aggregate) {
    return states_.count(place_of(group, aggregate));
  }
  void add_exact(std::int64_t group, std::size_t aggregate, Int128 value) {
    states_.add_exact(place_of(group, aggregate), value);
  }
  void add_real(std::int64_t group, std::size_t aggregate, double value) {
    states_.add_real(place_of(group, aggregate), value);
  }
  void complete();
  void keep_keys();
  std::int32_t find(const LooseRows& rows, const std::uint64_t* row);
  std::int32_t find_text(const Int128* key, const std::uint8_t* nulls);
  [[nodiscard]] std::uint64_t hash_of_text(std::int64_t group) const;
  std::int32_t& group_of_text(const Int128* key, const std::uint8_t* nulls);
  void ask_for(const Groups& others, std::int64_t group) const;
  [[nodiscard]] bool has_key(std::int32_t group, const Int128* key, const std::uint8_t* nulls) const;
  [[nodiscard]] bool has_key(const std::int64_t* mine, const LooseRows& rows, const std::uint64_t* row) const;
  [[nodiscard]] std::uint64_t hash_of_key(const Int128* key, const std::uint8_t* nulls) const;
  std::int32_t find(std::uint64_t hash, const Int128* key, const std::uint8_t* nulls);
  std::int32_t add_group(std::uint64_t hash, const Int128* key, const std::uint8_t* nulls);
  std::int32_t entry_of(const TextTable& others, Int128 entry);
  const Int128* key_of(const Groups& others, std::int64_t group);
  const Int128* key_of(const LooseRows& rows, const std::uint64_t* row);
  template <class RowAt, class OnFresh>
  void merge_rows(const LooseRows& later, std::int64_t n, const RowAt& row_at, const OnFresh& on_fresh);
  void merge_rows(const LooseRows& later);
  void ask_for_all(const LooseRows& rows, std::span<const std::uint64_t* const> asked) const;
  bool append_loose(Evaluator& evaluator, int n, const std::uint64_t* marks);
  [[nodiscard]] bool may_be_loose(Evaluator& evaluator, int n) const;
  void hash_rows(Evaluator& evaluator, std::size_t rows);
  void decide_on_loose(int n, const std::uint64_t* marks);
  void settle_loose();
  template <class OnFresh>
  void merge_range(const Groups& later, std::int64_t first, std::int64_t end, const OnFresh& on_fresh);
  void merge_states(const Groups& later, std::size_t aggregate, std::int64_t theirs,
                    std::span<const std::int32_t> mine);
  void merge_state(std::size_t aggregate, std::int32_t mine, const State& other, const TextTable& others);
  void join_texts(std::span<Groups* const> parts, std::span<const Place> order);
  void translate(std::size_t which, const std::shared_ptr<const Dictionary>& dictionary);
  Int128 key_at(std::size_t which, const Vector& v, int i);
  void load_keys(const std::vector<const Vector*>& keys, int n, const std::uint64_t* marks);
  void assign(Evaluator& evaluator, int n, const std::uint64_t* marks);
  bool assign_by_entries(const std::vector<const Vector*>& keys, int n, const std::uint64_t* marks);
  void assign_by_text(const Vector& key, int n, const std::uint64_t* marks);
  bool assign_by_value(const Vector& key, int n, const std::uint64_t* marks);
  bool assign_by_words(const std::vector<const Vector*>& keys, int n, const std::uint64_t* marks);
  const std::uint64_t* words_of(const std::vector<const Vector*>& keys, int n);
  [[nodiscard]] bool fit_in_words(const std::vector<const Vector*>& keys, int n) const;
  void forget_short_words();
  void make_room_for_words();
  void note_word(std::size_t place, std::uint64_t word, std::int32_t group);
  [[nodiscard]] std::uint64_t word_of(std::int64_t group) const;
  void drop_others(const std::vector<const Vector*>& keys, int n);
  std::int32_t group_of_row(const std::vector<const Vector*>& keys, int i);
  void forget_words();
  bool make_room_for(Values values);
  std::int32_t* place_of_value(std::int64_t group);
  void forget_numbers();
  std::int32_t group_of_value(std::int64_t value);
  template <class FindRow>
  void look_up(int n, const std::int32_t* number, const std::uint64_t* marks, const FindRow& find_row);
  void count_for_all(int n);
  void discount_nulls(std::size_t aggregate, const Vector& v, int n);
  bool include_many(std::size_t aggregate, const Vector& v, int n);
  void settle_sums(std::size_t aggregate);
  void forget_sums();
  void include_sums(std::size_t aggregate, const Vector& v, int n);
  void include_reals(std::size_t aggregate, const Vector& v, int n);
  void include_extremes(std::size_t aggregate, const Vector& v, int n);
  const std::int64_t* rows_of_few(int n);
  void count_rows(std::size_t aggregate, const Vector& v, int n);
  void improve(std::int64_t group, std::size_t aggregate, const State& other, const TextTable& others);

  const Plan* plan_;
  const Kernels* kernels_;
  std::int64_t count_ = 0;
  Keys keys_;
  std::vector<std::uint8_t> key_nulls_;
  bool has_nulls_ = false;  ///< some of them
  bool any_text_ = false;   ///< whether a key is text
  States states_;
  std::vector<std::uint64_t> hashes_;  ///< none where texts_ has them
  TextTable texts_;
  std::vector<Slot> slots_;  ///< a power of two, more than twice as many as groups
  bool by_text_;   ///< the only key is text, and there are no others: groups are found by its entry, and not in slots_
  bool one_each_;  ///< likewise, and each group has the number of its text, and keys_, key_nulls_ and of_texts_ nothing
  std::vector<std::int32_t> of_texts_;  ///< the groups of NULL and of each entry; -1: none
  std::int64_t in_slots_ = 0;  ///< groups that can be found: the first ones; when one is looked for, all others too
  std::vector<Int128> key_;    ///< of a group of others
  std::vector<std::uint8_t> no_nulls_;

  // Of the block at hand.
  std::vector<Int128> block_keys_;         ///< of each row all keys, as they are kept
  std::vector<std::uint8_t> block_nulls_;  ///< likewise
  std::vector<std::uint64_t> block_hashes_;
  std::vector<std::int32_t> group_;   ///< by row; kNoGroup: not marked
  bool are_all_ = true;               ///< no row is without group
  std::vector<std::int32_t> number_;  ///< by row: its keys' entries as one number
  std::vector<double> reals_;         ///< of rows that have a group
  bool few_are_counted_ = false;
  std::int64_t rows_of_few_[kFewGroups] = {};
  std::vector<Translation> translations_;  ///< by key
  std::vector<std::int32_t>
      by_number_;                  ///< groups by the entries of all keys, or by a key's value; kUnmet; empty: of none
  std::int64_t least_ = 0;         ///< the value that has number 0
  Values met_{};                   ///< of keys that had a place there
  bool all_by_number_ = false;     ///< there is no group that by_number_ does not have
  std::vector<WordSlot> by_word_;  ///< a power of two: two for each place
  bool are_by_words_ = false;      ///< the last block's
  bool are_short_ = true;          ///< whether words of two keys are these; else they are hashes of all
  std::vector<std::uint64_t> words_;
  std::vector<std::uint32_t> word_places_;
  std::vector<std::size_t> sums_;  ///< the aggregates that are sums
  bool may_be_loose_;              ///< by what is asked for
  enum class Loose : std::uint8_t { undecided, no, yes };
  Loose is_loose_ = Loose::no;      ///< of this batch
  std::int64_t rows_of_batch_ = 0;  ///< so far
  std::int64_t groups_before_ = 0;  ///< the batch
  std::int64_t most_at_hand_ = 0;
  LooseRows loose_;
  std::vector<std::uint64_t*> loose_at_;  ///< the block's
  // What has not gone into the states yet; [g + 1] is of group g, [0] of rows without group.
  std::vector<std::int32_t> rows_;
  std::int64_t rows_counted_ = 0;  ///< there
  std::vector<Many> many_;         ///< by aggregate
};

}  // namespace upsweep::query
