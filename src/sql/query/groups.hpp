// SPDX-License-Identifier: Apache-2.0
// sql/query/groups.hpp: the carry of a query: what its aggregates have come to, group by group; pieces of a table merge in order.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "sql/expression/dictionary.hpp"
#include "sql/expression/evaluate.hpp"
#include "sql/query/group_rows.hpp"
#include "sql/query/loose_rows.hpp"
#include "sql/query/plan.hpp"
#include "sql/query/text_key.hpp"
#include "sql/query/text_table.hpp"

namespace upsweep::query {

/// Groups have numbers of 32 bits.
inline constexpr std::int64_t kMostGroups = std::numeric_limits<std::int32_t>::max();

class Groups {
 public:
  Groups(const Plan& plan, const Kernels& kernels);

  /// None, as in the beginning; the memory is kept.
  void clear();
  /// Room for so many groups, so that no table is made anew while they come.
  void reserve(std::int64_t groups);
  /// Becomes those of `from` in another order, to be merged by others: they are not found here. Takes the texts.
  void take_in_order(Groups& from, std::span<const std::int32_t> order);
  /// Of one key that is a number: none is NULL, each is greater than the one before it, and no texts or loose rows are there.
  [[nodiscard]] bool ascend() const;
  /// Becomes those of `from`, without texts and loose rows, in as little memory as they need, to be merged by others: they are
  /// not found here.
  void copy(const Groups& from);
  /// The last of these becomes part of the first of `later`, which has the same key.
  void give_last(Groups& later);

  /// Before the first block of each batch, which has so many rows. `most`: if the rows' groups are found at once, and in the end there are hardly more of
  /// them, they are kept for further batches, and no rows are loose.
  void start_batch(std::int64_t rows, std::int64_t most);
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
  /// value 0, and text what text_key() says. Throws Error out_of_memory.
  std::int64_t find(const Int128* key, const std::uint8_t* nulls);
  Int128 text_key(std::string_view text) {
    return text.size() <= kMostInKey ? short_text_key(text) : long_text_key(texts_.entry(text));
  }
  /// Of a state.
  std::int32_t entry(std::string_view text) { return texts_.entry(text); }
  /// For packets of groups that others merge: a group that is not found here, and a text that stays where it is. Both may have
  /// come before.
  void append(const Int128* key, const std::uint8_t* nulls) { (void)add_group(hash_of_key(key, nulls), key, nulls); }
  std::int32_t append_text(std::string_view text);
  /// By what a group's keys are, wherever they are groups: hashes of one process alone are comparable.
  [[nodiscard]] std::uint64_t hash(std::int64_t group) const { return rows_.hash(group); }
  void set_state(std::int64_t group, std::size_t aggregate, const State& state) {
    rows_.set_state(group, aggregate, state);
  }

  [[nodiscard]] std::int64_t count() const { return count_; }
  /// Groups have the order in which their first rows came.
  [[nodiscard]] State state(std::int64_t group, std::size_t aggregate) const { return rows_.state(group, aggregate); }
  /// Of text aggregates: `exact` is an index into texts(). Of text keys: as in sql/query/text_key.hpp, a long one's into texts() too.
  [[nodiscard]] Int128 key(std::int64_t group, std::size_t which) const { return rows_.key(group, which); }
  [[nodiscard]] bool key_is_null(std::int64_t group, std::size_t which) const { return rows_.is_null(group, which); }
  /// What lies where of a group.
  [[nodiscard]] const GroupRows& rows() const { return rows_; }
  [[nodiscard]] const std::vector<std::string_view>& texts() const { return texts_.all(); }
  /// That of a state.
  [[nodiscard]] std::string_view text(Int128 entry) const { return texts_[static_cast<std::int32_t>(entry)]; }
  /// That of a key, which is not NULL; valid until there are more groups.
  [[nodiscard]] std::string_view key_text(std::int64_t group, std::size_t which) const {
    const Int128 key = rows_.key(group, which);
    return is_long_text(key) ? texts_[entry_of_long(key)] : rows_.short_text(group, which);
  }
  /// Of memory, without that of a block at hand.
  [[nodiscard]] std::int64_t bytes() const;

 private:
  /// What a batch's dictionary is here, filled as its texts are met: of the only key the group, else a long text's entry.
  struct Translation {
    std::shared_ptr<const Dictionary> from;
    std::vector<std::int32_t> to;
  };

  /// A group in the hash table.
  struct Slot {
    std::uint32_t tag;   ///< of the hash those bits that slot_of() looks at: a wider table is made of these alone
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

  static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> kUnusedHashBits); }
  void complete();
  void make_slots(std::size_t least);
  void take_slot(Slot slot);
  std::int32_t find(const LooseRows& rows, const std::uint64_t* row);
  std::int32_t find(const Groups& others, std::int64_t group);
  template <class IsSame, class Add>
  std::int32_t find_or_add(std::uint64_t hash, const IsSame& is_same, const Add& add);
  void ask_for(const Groups& others, std::int64_t group) const;
  [[nodiscard]] bool has_key(std::int32_t group, const Int128* key, const std::uint8_t* nulls) const;
  [[nodiscard]] bool has_key(std::int32_t mine, const LooseRows& rows, const std::uint64_t* row) const;
  [[nodiscard]] bool has_key(std::int32_t mine, const Groups& others, std::int64_t group) const;
  [[nodiscard]] std::uint64_t hash_of_key(const Int128* key, const std::uint8_t* nulls) const;
  std::int32_t find(std::uint64_t hash, const Int128* key, const std::uint8_t* nulls);
  /// Up to three quarters of them may be taken.
  [[nodiscard]] bool are_slots_full() const { return 4 * static_cast<std::size_t>(count_) >= 3 * slots_.size(); }
  std::int32_t add_group(std::uint64_t hash);
  std::int32_t add_group(std::uint64_t hash, const Int128* key, const std::uint8_t* nulls);
  std::int32_t entry_of(const TextTable& others, std::int32_t entry);
  std::int32_t entry_of_new_key(std::string_view text);
  std::int32_t add_group(const Groups& others, std::int64_t group);
  std::int32_t add_group(const LooseRows& rows, const std::uint64_t* row);
  template <class RowAt, class OnFresh>
  void merge_rows(const LooseRows& later, std::int64_t n, const RowAt& row_at, const OnFresh& on_fresh);
  void merge_rows(const LooseRows& later);
  void ask_for_all(std::span<const std::uint64_t* const> asked) const;
  bool append_loose(Evaluator& evaluator, int n, const std::uint64_t* marks);
  [[nodiscard]] bool may_be_loose(Evaluator& evaluator) const;
  std::size_t load_loose_keys(Evaluator& evaluator, std::size_t rows);
  void write_loose_keys(Evaluator& evaluator, std::size_t rows);
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
  [[nodiscard]] bool are_words() const;
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
  std::vector<std::uint8_t> are_texts_;  ///< by key
  bool any_text_;                        ///< of the keys
  GroupRows rows_;
  TextTable texts_;            ///< of keys those that are long
  detail::Large<Slot> slots_;  ///< a power of two, of which a quarter is free
  bool texts_are_groups_;      ///< each long text is the only key of a group: what is no group's is not among them
  std::int64_t in_slots_ = 0;  ///< groups that can be found: the first ones; when one is looked for, all others too
  std::vector<Int128> key_;    ///< of a group of others
  std::vector<std::uint8_t> no_nulls_;

  // Of the block at hand.
  std::vector<Int128> block_keys_;         ///< of each row all keys, as they are kept
  std::vector<std::uint8_t> block_nulls_;  ///< likewise
  std::vector<std::uint64_t> block_hashes_;
  std::vector<Int128> loose_texts_;   ///< by row, of one text key after the other: those of loose rows
  std::vector<std::int32_t> group_;   ///< by row; kNoGroup: not marked
  bool are_all_ = true;               ///< no row is without group
  std::vector<std::int32_t> number_;  ///< by row: its keys' entries as one number
  std::vector<double> reals_;         ///< of rows that have a group
  bool few_are_counted_ = false;
  std::int64_t rows_of_few_[kFewGroups] = {};
  std::vector<Translation> translations_;  ///< by key
  std::vector<std::int32_t>
      by_number_;                    ///< groups by the entries of all keys, or by a key's value; kUnmet; empty: of none
  std::int64_t least_ = 0;           ///< the value that has number 0
  Values met_{};                     ///< of keys that had a place there
  bool all_by_number_ = false;       ///< there is no group that by_number_ does not have
  detail::Large<WordSlot> by_word_;  ///< a power of two: two for each place
  bool are_by_words_ = false;        ///< the last block's
  bool are_short_ = true;            ///< whether words of two keys are these; else they are hashes of all
  std::vector<std::uint64_t> words_;
  std::vector<std::uint32_t> word_places_;
  std::vector<std::size_t> sums_;  ///< the aggregates that are sums
  bool may_be_loose_;              ///< by what is asked for
  enum class Loose : std::uint8_t { undecided, no, yes };
  Loose is_loose_ = Loose::no;      ///< of this batch
  std::int64_t batch_rows_ = 0;     ///< of all of it
  std::int64_t rows_of_batch_ = 0;  ///< so far
  std::int64_t groups_before_ = 0;  ///< the batch
  std::int64_t most_at_hand_ = 0;
  LooseRows loose_;
  std::vector<std::uint64_t*> loose_at_;  ///< the block's
  // What has not gone into the states yet; [g + 1] is of group g, [0] of rows without group.
  std::vector<std::int32_t> counts_;
  std::int64_t rows_counted_ = 0;  ///< there
  std::vector<Many> many_;         ///< by aggregate
};

}  // namespace upsweep::query
