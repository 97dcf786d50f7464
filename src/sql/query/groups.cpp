// SPDX-License-Identifier: Apache-2.0
// sql/query/groups.cpp: finds each row's group, and folds a block's values into the groups' states.
#include "sql/query/groups.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

#include "cpu/parallel.hpp"
#include "cpu/segments.hpp"
#include "system/hash.hpp"

namespace upsweep::query {
namespace {

// Combinations of entries up to which groups are looked up in a table.
constexpr std::size_t kMostByEntries = 1 << 14;
// Values of one key for which that is done: a table of them is 1 MB at most, and 16 KB at least.
constexpr std::int64_t kMostByValue = 1 << 18;
constexpr std::int64_t kLeastByValue = 1 << 12;
constexpr std::int32_t kUnmet = -2;  // combinations that no row has had
// Places for groups by their keys' words: 16 KB of them at least, and 8 MB at most.
constexpr std::size_t kLeastByWord = 1 << 10;
constexpr std::size_t kMostByWord = 1 << 19;
constexpr std::size_t kFirstSlots = 64;
// How far ahead slots are asked for: a dozen loads are in flight while one is waited for.
constexpr int kAhead = 12;
// Of memory: so much is in the core's second cache after the first rows.
constexpr std::int64_t kNear = 1 << 18;
// Rows of a batch from which it is estimated how many groups the table has: of n rows of G groups some n * n / 2G have been met
// before. Of more groups than these the batch's other rows are not looked for: they are where the parts are merged. Whether groups
// may stay at hand, which are many more, takes more rows.
constexpr std::int64_t kTried = 1 << 10;
constexpr std::int64_t kTriedAtHand = 1 << 12;
constexpr std::int64_t kApart = 1 << 14;
// Rows after which counts of 32 bits go into the states.
constexpr std::int64_t kMostCounted = std::int64_t{1} << 30;
// Groups that are merged at a time: first they are found, then each aggregate is folded.
constexpr int kAtOnce = 64;

template <class T>
bool is_better(Fold fold, const T& a, const T& b) {
  return fold == Fold::least ? is_less(a, b) : is_less(b, a);
}

/// The place of a word among so many slots, a power of two: the first of two. The secret makes it hard to find words of one place.
class WordPlaces {
 public:
  explicit WordPlaces(std::size_t slots) : by_(secret()), shift_(65 - std::countr_zero(slots)) {}
  std::uint32_t operator()(std::uint64_t word) const {
    return static_cast<std::uint32_t>((word ^ by_.a) * by_.b >> shift_ << 1);
  }

 private:
  Secret by_;
  int shift_;
};

bool is_short(Int128 key) { return key == static_cast<std::int32_t>(key); }

/// Two keys as one word, each of which is short: no other two are the same.
std::uint64_t word_of_pair(std::int64_t first, std::int64_t second) {
  return static_cast<std::uint64_t>(first) << 32 | static_cast<std::uint32_t>(second);
}

/// The hash of several keys that have come to `word`, and of the next one. Cheap: keys are compared whatever it says.
std::uint64_t word_with(const Secret& by, std::uint64_t word, std::int64_t key) {
  word = (word ^ static_cast<std::uint64_t>(key) ^ by.a) * by.b;
  return word ^ word >> 32;
}

/// One of two, without a branch: of few groups nobody can say which it is.
std::int32_t chosen(bool first, std::int32_t one, std::int32_t other) {
  const std::int32_t mask = -static_cast<std::int32_t>(first);
  return (one & mask) | (other & ~mask);
}

/// Numbers, one of each row, none of which is NULL.
bool is_plain(const Vector& v) { return v.form == Form::narrow && v.nulls == nullptr && !v.one; }

/// By key: whether it is text.
std::vector<std::uint8_t> texts_among(const std::vector<Node>& keys) {
  std::vector<std::uint8_t> are_texts;
  are_texts.reserve(keys.size());
  for (const Node& key : keys) are_texts.push_back(is_text(key) ? 1 : 0);
  return are_texts;
}

// Of a few words: calls would take longer.
bool are_same(const std::uint64_t* a, const std::uint64_t* b, std::size_t words) {
  std::uint64_t differ = 0;
  for (std::size_t i = 0; i < words; ++i) differ |= a[i] ^ b[i];
  return differ == 0;
}
void copy_words(const std::uint64_t* from, std::size_t words, std::uint64_t* to) {
  for (std::size_t i = 0; i < words; ++i) to[i] = from[i];
}

/// Of a vector of texts; the row is not NULL.
std::string_view word_at(const Vector& v, int i) {
  return (**v.dictionary)[static_cast<std::size_t>(v.at<std::int32_t>(i))];
}

bool is_marked(const std::uint64_t* marks, int i) {
  return ((marks[i / kMarksPerWord] >> (i % kMarksPerWord)) & 1) != 0;
}

std::size_t sums_of(const Plan& plan) {
  return static_cast<std::size_t>(std::count_if(plan.aggregates.begin(), plan.aggregates.end(),
                                                [](const Aggregate& a) { return a.fold == Fold::sum; }));
}

/// Whether all texts are those of the only key.
bool are_texts_groups(const Plan& plan) {
  return plan.keys.size() == 1 && is_text(plan.keys[0]) &&
         std::none_of(plan.aggregates.begin(), plan.aggregates.end(), [](const Aggregate& a) { return is_text(a); });
}

}  // namespace

Groups::Groups(const Plan& plan, const Kernels& kernels)
    : plan_(&plan),
      kernels_(&kernels),
      are_texts_(texts_among(plan.keys)),
      any_text_(std::find(are_texts_.begin(), are_texts_.end(), 1) != are_texts_.end()),
      rows_(plan),
      texts_are_groups_(are_texts_groups(plan)),
      key_(plan.keys.size()),
      no_nulls_(plan.keys.size(), 0),
      group_(kBlock, 0),
      number_(kBlock),
      translations_(plan.keys.size()),
      loose_(are_texts_, sums_of(plan)),
      many_(plan.aggregates.size()) {
  may_be_loose_ = !plan.keys.empty();
  for (std::size_t a = 0; a < plan.aggregates.size(); ++a) {
    const Fold fold = plan.aggregates[a].fold;
    may_be_loose_ = may_be_loose_ && !is_extreme(plan.aggregates[a]);
    if (fold == Fold::sum) sums_.push_back(a);
  }
  if (!plan.grouped) (void)find(nullptr, nullptr);
}

void Groups::clear() {
  forget_numbers();
  forget_words();
  count_ = 0;
  rows_.clear();
  texts_.clear();
  if (in_slots_ > 0) std::fill(slots_.begin(), slots_.end(), Slot{0, -1});
  in_slots_ = 0;
  for (Translation& translation : translations_) translation = {};
  forget_sums();
  loose_.clear();
  is_loose_ = Loose::no;
  if (!plan_->grouped) (void)find(nullptr, nullptr);
}

std::int64_t Groups::bytes() const {
  return static_cast<std::int64_t>(slots_.capacity() * sizeof(Slot) + by_word_.capacity() * sizeof(WordSlot)) +
         rows_.bytes() + texts_.bytes() + loose_.bytes();
}

// ----------------------------------------------------------------------------------------------------------- which group

/// Puts the groups that are not found yet where they are.
void Groups::complete() {
  if (are_slots_full()) make_slots(2 * static_cast<std::size_t>(count_));
  for (; in_slots_ < count_; ++in_slots_) take_slot({tag_of(hash(in_slots_)), static_cast<std::int32_t>(in_slots_)});
}

void Groups::make_slots(std::size_t least) {
  detail::Large<Slot> wider(std::bit_ceil(std::max(kFirstSlots, least)), {0, -1});
  std::swap(slots_, wider);
  for (const Slot& slot : wider) {
    if (slot.group >= 0) take_slot(slot);
  }
}

void Groups::reserve(std::int64_t groups) {
  rows_.reserve(groups);
  const std::size_t slots = 3 * static_cast<std::size_t>(groups) / 2;  // of which a quarter is free
  if (slots > slots_.size()) make_slots(slots);
}

void Groups::take_slot(Slot slot) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t place = slot.tag & mask;
  while (slots_[place].group >= 0) place = (place + 1) & mask;
  slots_[place] = slot;
}

std::uint64_t Groups::hash_of_key(const Int128* key, const std::uint8_t* nulls) const {
  const Secret& by = secret();
  std::uint64_t all = 0;
  for (std::size_t k = 0; k < plan_->keys.size(); ++k) {
    const bool is_long = are_texts_[k] != 0 && is_long_text(key[k]);
    const Int128 value = is_long ? Int128{texts_.hash(entry_of_long(key[k]))} : key[k];
    all = hash_more(by, all, static_cast<std::uint64_t>(value), static_cast<std::uint64_t>(value >> 64) + nulls[k]);
  }
  return all;
}

inline bool Groups::has_key(std::int32_t group, const Int128* key, const std::uint8_t* nulls) const {
  for (std::size_t k = 0; k < key_.size(); ++k) {
    if (rows_.key(group, k) != key[k] || rows_.is_null(group, k) != (nulls[k] != 0)) return false;
  }
  return true;
}

std::int64_t Groups::find(const Int128* key, const std::uint8_t* nulls) {
  return find(hash_of_key(key, nulls), key, nulls);
}

std::int32_t Groups::find(std::uint64_t hash, const Int128* key, const std::uint8_t* nulls) {
  return find_or_add(
      hash, [&](std::int32_t group) { return has_key(group, key, nulls); },
      [&] { return add_group(hash, key, nulls); });
}

/// The group of this hash that `is_same`, or else the one that `add` adds.
template <class IsSame, class Add>
std::int32_t Groups::find_or_add(std::uint64_t hash, const IsSame& is_same, const Add& add) {
  if (in_slots_ != count_ || are_slots_full()) complete();
  const std::size_t mask = slots_.size() - 1;
  const std::uint32_t tag = tag_of(hash);
  std::size_t place = slot_of(hash, slots_.size());
  for (; slots_[place].group >= 0; place = (place + 1) & mask) {
    if (slots_[place].tag == tag && is_same(slots_[place].group)) return slots_[place].group;
  }
  const std::int32_t group = add();
  slots_[place] = {tag, group};
  ++in_slots_;
  all_by_number_ = false;
  return group;
}

/// One of no rows, and keys to be set.
std::int32_t Groups::add_group(std::uint64_t hash) {
  if (count_ == kMostGroups) throw Error(Code::out_of_memory, "GROUP BY comes to more than 2^31 groups");
  rows_.push_back(hash);
  return static_cast<std::int32_t>(count_++);
}

std::int32_t Groups::add_group(std::uint64_t hash, const Int128* key, const std::uint8_t* nulls) {
  const std::int32_t group = add_group(hash);
  for (std::size_t k = 0; k < key_.size(); ++k) {
    rows_.set_key(group, k, key[k]);
    if (nulls[k] != 0) rows_.set_null(group, k);
  }
  return group;
}

std::int32_t Groups::append_text(std::string_view text) { return texts_.append(text); }

/// What is known of entries is of those of the last dictionary.
void Groups::translate(std::size_t which, const std::shared_ptr<const Dictionary>& dictionary) {
  Translation& translation = translations_[which];
  if (translation.from == dictionary) return;
  translation.from = dictionary;
  translation.to.assign(dictionary->size(), -1);
  by_number_.clear();
}

/// The value of one of several keys as it is kept.
Int128 Groups::key_at(std::size_t which, const Vector& v, int i) {
  if (v.form != Form::text) return exact_at(v, i);
  const auto at = static_cast<std::size_t>(v.at<std::int32_t>(i));
  const std::string_view word = (**v.dictionary)[at];
  if (word.size() <= kMostInKey) return short_text_key(word);
  std::int32_t& to = translations_[which].to[at];
  if (to < 0) to = entry(word);
  return long_text_key(to);
}

void Groups::assign(Evaluator& evaluator, int n, const std::uint64_t* marks) {
  are_all_ = marks == nullptr;
  are_by_words_ = false;
  if (plan_->keys.empty()) {
    std::fill_n(group_.begin(), n, 0);
    if (!are_all_) kernels_->drop(marks, n, group_.data());
    return;
  }
  const std::size_t width = plan_->keys.size();
  std::vector<const Vector*> keys;
  keys.reserve(width);
  for (std::size_t k = 0; k < width; ++k) {
    const Vector& v = *keys.emplace_back(&evaluator.value(plan_->keys[k]));
    if (v.form == Form::text) translate(k, *v.dictionary);
  }
  if (assign_by_entries(keys, n, marks)) return;
  if (width == 1 && any_text_) return assign_by_text(*keys[0], n, marks);
  if (width == 1 && assign_by_value(*keys[0], n, marks)) return;
  if (assign_by_words(keys, n, marks)) return;
  load_keys(keys, n, marks);
  const Int128* key = block_keys_.data();
  const std::uint8_t* nulls = block_nulls_.data();
  const std::uint64_t* const hashes = block_hashes_.data();
  int last = -1;  // the row that was looked up before
  for (int i = 0; i < n; ++i, key += width, nulls += width) {
    if (!slots_.empty()) __builtin_prefetch(&slots_[slot_of(hashes[std::min(i + kAhead, n - 1)], slots_.size())]);
    std::int32_t& group = group_[static_cast<std::size_t>(i)];
    if (!are_all_ && !is_marked(marks, i)) {
      group = kNoGroup;
      continue;
    }
    const bool is_next =
        last >= 0 && hashes[last] == hashes[i] && has_key(group_[static_cast<std::size_t>(last)], key, nulls);
    group = is_next ? group_[static_cast<std::size_t>(last)] : find(hashes[i], key, nulls);
    last = i;
  }
}

/// All keys of the block's rows, as they are kept, and the hashes of these. Rows that are not marked have any.
void Groups::load_keys(const std::vector<const Vector*>& keys, int n, const std::uint64_t* marks) {
  const std::size_t width = keys.size();
  const auto rows = static_cast<std::size_t>(n);
  block_keys_.resize(rows * width);
  block_nulls_.assign(rows * width, 0);
  block_hashes_.assign(rows, 0);
  const Secret by = secret();
  for (std::size_t k = 0; k < width; ++k) {
    const Vector& v = *keys[k];
    for (int i = 0; v.nulls != nullptr && i < n; ++i) {
      block_nulls_[static_cast<std::size_t>(i) * width + k] = v.nulls[v.one ? 0 : i];
    }
    with_type(v.form, [&]<class T>(std::type_identity<T>) {
      for (int i = 0; i < n; ++i) {
        const std::size_t at = static_cast<std::size_t>(i) * width + k;
        const std::uint8_t is_null = block_nulls_[at];
        Int128 value = 0;
        Int128 hashed = 0;
        if constexpr (std::is_same_v<T, std::int32_t>) {
          if (is_null == 0 && (marks == nullptr || is_marked(marks, i))) {
            hashed = value = key_at(k, v, i);
            if (is_long_text(value)) hashed = texts_.hash(entry_of_long(value));
          }
        } else {
          if (is_null == 0) hashed = value = static_cast<Int128>(v.at<T>(i));
        }
        block_keys_[at] = value;
        block_hashes_[static_cast<std::size_t>(i)] =
            hash_more(by, block_hashes_[static_cast<std::size_t>(i)], static_cast<std::uint64_t>(hashed),
                      static_cast<std::uint64_t>(hashed >> 64) + is_null);
      }
    });
  }
}

/// Where all keys are text of small dictionaries, without NULLs: by a table over all their combinations.
bool Groups::assign_by_entries(const std::vector<const Vector*>& keys, int n, const std::uint64_t* marks) {
  std::size_t combinations = 1;
  for (const Vector* key : keys) {
    if (key->form != Form::text || key->nulls != nullptr || key->one) return false;
    combinations *= std::max<std::size_t>((*key->dictionary)->size(), 1);
    if (combinations > kMostByEntries) return false;
  }
  if (by_number_.empty()) by_number_.assign(combinations, kUnmet);
  const std::int32_t* number = keys[0]->as<std::int32_t>();
  for (std::size_t k = 1; k < keys.size(); ++k) {
    const auto size = static_cast<std::int32_t>((*keys[k]->dictionary)->size());
    kernels_->append_digit(number, keys[k]->as<std::int32_t>(), size, n, number_.data());
    number = number_.data();
  }
  std::vector<Int128> key(keys.size());
  const std::vector<std::uint8_t> nulls(keys.size(), 0);
  look_up(n, number, marks, [&](int i) {
    for (std::size_t k = 0; k < keys.size(); ++k) key[k] = text_key(word_at(*keys[k], i));
    return find(key.data(), nulls.data());
  });
  return true;
}

/// Where the only key is text: a group is looked up once for each entry of a dictionary.
void Groups::assign_by_text(const Vector& key, int n, const std::uint64_t* marks) {
  const auto* const entries = key.as<std::int32_t>();
  std::vector<std::int32_t>& known = translations_[0].to;
  std::int32_t of_null = -1;
  for (int i = 0; i < n; ++i) {
    std::int32_t& group = group_[static_cast<std::size_t>(i)];
    if (!are_all_ && !is_marked(marks, i)) {
      group = kNoGroup;
    } else if (null_at(key, i)) {
      const Int128 none = 0;
      const std::uint8_t is_null = 1;
      if (of_null < 0) of_null = static_cast<std::int32_t>(find(&none, &is_null));
      group = of_null;
    } else {
      std::int32_t& found = known[static_cast<std::size_t>(entries[key.one ? 0 : i])];
      if (found < 0) {
        const Int128 text = text_key(word_at(key, i));
        found = static_cast<std::int32_t>(find(&text, no_nulls_.data()));
      }
      group = found;
    }
  }
}

/// Where the only key is of integers, dates or the like that are near to each other, without NULLs: by a table of all values.
bool Groups::assign_by_value(const Vector& key, int n, const std::uint64_t* marks) {
  if (!is_plain(key)) return false;
  const auto* const values = key.as<std::int64_t>();
  if (!make_room_for({kernels_->integers.least(values, n), kernels_->integers.greatest(values, n)})) return false;
  kernels_->distances(values, least_, n, number_.data());
  look_up(n, number_.data(), marks, [&](int i) { return group_of_value(values[i]); });
  return true;
}

/// Where all keys are numbers of 64 bits, without NULLs: by a table of those that were met last, of which a row reads a line.
bool Groups::assign_by_words(const std::vector<const Vector*>& keys, int n, const std::uint64_t* marks) {
  if (!std::all_of(keys.begin(), keys.end(), [](const Vector* key) { return is_plain(*key); })) return false;
  if (keys.size() > 1 && !are_words()) return false;
  if (are_short_ && keys.size() > 1 && !fit_in_words(keys, n)) forget_short_words();
  make_room_for_words();
  const std::uint64_t* const words = words_of(keys, n);
  const WordPlaces place_of(by_word_.size());
  for (int i = 0; i < n; ++i) word_places_[static_cast<std::size_t>(i)] = place_of(words[i]);
  std::int32_t* const group = group_.data();
  const bool are_hashes = keys.size() > 1 && !are_short_;
  bool any_unmet = are_hashes;
  for (int i = 0; i < n; ++i) {
    __builtin_prefetch(&by_word_[word_places_[static_cast<std::size_t>(std::min(i + kAhead, n - 1))]]);
    const WordSlot* const slots = &by_word_[word_places_[static_cast<std::size_t>(i)]];
    group[i] =
        chosen(slots[0].word == words[i], slots[0].group, chosen(slots[1].word == words[i], slots[1].group, kUnmet));
    any_unmet |= group[i] == kUnmet;
  }
  if (are_hashes) drop_others(keys, n);
  for (int i = 0; any_unmet && i < n; ++i) {
    if (group[i] != kUnmet || (marks != nullptr && !is_marked(marks, i))) continue;
    group[i] = group_of_row(keys, i);
    note_word(word_places_[static_cast<std::size_t>(i)], words[i], group[i]);
  }
  if (marks != nullptr) kernels_->drop(marks, n, group);
  are_by_words_ = true;
  return true;
}

/// In the first of the two slots at a place, and what was there in the second.
void Groups::note_word(std::size_t place, std::uint64_t word, std::int32_t group) {
  WordSlot* const slots = &by_word_[place];
  if (slots[0].group != kUnmet && slots[0].word != word) slots[1] = slots[0];
  slots[0] = {word, group};
}

/// The only key of each row, or what several come to.
const std::uint64_t* Groups::words_of(const std::vector<const Vector*>& keys, int n) {
  word_places_.resize(kBlock);
  if (keys.size() == 1) return reinterpret_cast<const std::uint64_t*>(keys[0]->as<std::int64_t>());
  words_.assign(kBlock, 0);
  if (are_short_) {
    const auto* const first = keys[0]->as<std::int64_t>();
    const auto* const second = keys[1]->as<std::int64_t>();
    for (int i = 0; i < n; ++i) words_[static_cast<std::size_t>(i)] = word_of_pair(first[i], second[i]);
    return words_.data();
  }
  const Secret by = secret();
  for (const Vector* key : keys) {
    const auto* const values = key->as<std::int64_t>();
    for (int i = 0; i < n; ++i) {
      std::uint64_t& word = words_[static_cast<std::size_t>(i)];
      word = word_with(by, word, values[i]);
    }
  }
  return words_.data();
}

/// Whether all keys of groups are numbers of 64 bits.
bool Groups::are_words() const { return !rows_.have_nulls() && rows_.are_narrow() && !any_text_; }

/// Of a group whose keys are these, as of a row.
std::uint64_t Groups::word_of(std::int64_t group) const {
  const std::size_t width = plan_->keys.size();
  const auto* const keys = reinterpret_cast<const std::int64_t*>(rows_.key_words(group));
  if (width == 1) return static_cast<std::uint64_t>(keys[0]);
  if (are_short_) return word_of_pair(keys[0], keys[1]);
  const Secret by = secret();
  std::uint64_t word = 0;
  for (std::size_t k = 0; k < width; ++k) word = word_with(by, word, keys[k]);
  return word;
}

/// Whether keys are two of 32 bits each.
bool Groups::fit_in_words(const std::vector<const Vector*>& keys, int n) const {
  return keys.size() == 2 && std::all_of(keys.begin(), keys.end(), [&](const Vector* key) {
           const auto* const values = key->as<std::int64_t>();
           return is_short(kernels_->integers.least(values, n)) && is_short(kernels_->integers.greatest(values, n));
         });
}

/// From here on words of several keys are hashes.
void Groups::forget_short_words() {
  are_short_ = false;
  by_word_.clear();
}

/// Four places for each group, while these fit.
void Groups::make_room_for_words() {
  const auto count = static_cast<std::size_t>(count_);
  if (!by_word_.empty() && (4 * count <= by_word_.size() || by_word_.size() == kMostByWord)) return;
  const std::size_t size = std::clamp(std::bit_ceil(8 * count), kLeastByWord, kMostByWord);
  by_word_.assign(size, {0, kUnmet});
  if (!are_words()) return;  // they come by and by
  const WordPlaces place_of(size);
  const bool are_pairs = are_short_ && plan_->keys.size() > 1;
  for (std::int64_t g = 0; g < count_; ++g) {
    if (are_pairs && !(is_short(key(g, 0)) && is_short(key(g, 1)))) continue;  // not of a row whose words are these
    note_word(place_of(word_of(g)), word_of(g), static_cast<std::int32_t>(g));
  }
}

/// Rows whose several keys are not those of the group that was found by their hash have none.
void Groups::drop_others(const std::vector<const Vector*>& keys, int n) {
  for (std::size_t k = 0; k < keys.size(); ++k) {
    const auto* const values = keys[k]->as<std::int64_t>();
    for (int i = 0; i < n; ++i) {
      std::int32_t& group = group_[static_cast<std::size_t>(i)];
      if (group != kUnmet && static_cast<std::int64_t>(rows_.key_words(group)[k]) != values[i]) group = kUnmet;
    }
  }
}

std::int32_t Groups::group_of_row(const std::vector<const Vector*>& keys, int i) {
  for (std::size_t k = 0; k < keys.size(); ++k) key_[k] = keys[k]->as<std::int64_t>()[i];
  return static_cast<std::int32_t>(find(key_.data(), no_nulls_.data()));
}

/// As it was before there were groups.
void Groups::forget_words() {
  are_by_words_ = false;
  if (static_cast<std::size_t>(count_) > by_word_.size() / 8 || !are_words()) {
    return std::fill(by_word_.begin(), by_word_.end(), WordSlot{0, kUnmet});
  }
  const WordPlaces place_of(by_word_.size());
  for (std::int64_t g = 0; g < count_; ++g) std::fill_n(&by_word_[place_of(word_of(g))], 2, WordSlot{0, kUnmet});
}

/// Whether all these values, and those before, have a place in by_number_.
bool Groups::make_room_for(Values values) {
  const Int128 size = std::ssize(by_number_);
  if (count_ > 0 && size > 0) values = {std::min(values.least, met_.least), std::max(values.greatest, met_.greatest)};
  const Int128 spread = Int128{values.greatest} - values.least;
  if (spread >= kMostByValue) return false;
  met_ = values;
  if (values.least >= least_ && Int128{values.greatest} - least_ < size) return true;
  // With as much room on either side, so that there are few of these tables.
  const Int128 room = std::max(size, std::clamp<Int128>(4 * spread, kLeastByValue, kMostByValue));
  const Int128 first = values.least - (room - spread) / 2;
  least_ = static_cast<std::int64_t>(std::max<Int128>(first, std::numeric_limits<std::int64_t>::min()));
  if (count_ > 0 || room > size) by_number_.assign(static_cast<std::size_t>(room), kUnmet);
  all_by_number_ = true;
  for (std::int64_t g = 0; g < count_; ++g) {
    std::int32_t* const known = place_of_value(g);
    all_by_number_ = all_by_number_ && known != nullptr;
    if (known != nullptr) *known = static_cast<std::int32_t>(g);
  }
  return true;
}

/// Where by_number_ has a group; null: it has no room for its key.
std::int32_t* Groups::place_of_value(std::int64_t group) {
  const Int128 place = key(group, 0) - least_;
  const bool has_place = !key_is_null(group, 0) && place >= 0 && place < std::ssize(by_number_);
  return has_place ? &by_number_[static_cast<std::size_t>(place)] : nullptr;
}

/// As it was before there were groups; a table of values stays, as the next piece's are mostly as near to each other.
void Groups::forget_numbers() {
  const bool is_kept = plan_->keys.size() == 1 && plan_->keys[0]->type.kind != ValueKind::text;
  all_by_number_ = is_kept;
  if (!is_kept) return by_number_.clear();
  if (count_ > std::ssize(by_number_) / 8) return by_number_.assign(by_number_.size(), kUnmet);
  for (std::int64_t g = 0; g < count_; ++g) {
    if (std::int32_t* const known = place_of_value(g)) *known = kUnmet;
  }
}

/// Of a value that by_number_ does not have.
std::int32_t Groups::group_of_value(std::int64_t value) {
  const Int128 key = value;
  const std::uint8_t not_null = 0;
  const std::uint64_t hash = hash_of_key(&key, &not_null);
  return all_by_number_ ? add_group(hash, &key, &not_null) : find(hash, &key, &not_null);
}

/// The groups of rows by their numbers; those that no row has had are found by one.
template <class FindRow>
void Groups::look_up(int n, const std::int32_t* number, const std::uint64_t* marks, const FindRow& find_row) {
  std::int32_t* const group = group_.data();
  const bool any_unmet =
      kernels_->look_up(by_number_.data(), static_cast<int>(by_number_.size()), number, n, kUnmet, group);
  if (marks != nullptr) kernels_->drop(marks, n, group);
  if (!any_unmet) return;
  for (int i = 0; i < n; ++i) {
    if (group[i] != kUnmet) continue;
    std::int32_t& known = by_number_[static_cast<std::size_t>(number[i])];
    if (known == kUnmet) known = static_cast<std::int32_t>(find_row(i));
    group[i] = known;
  }
}

// ----------------------------------------------------------------------------------------------------------- what it adds

void Groups::add(Evaluator& evaluator, const std::uint64_t* marks) {
  const int n = evaluator.count();
  if (n == 0) return;
  const auto& aggregates = plan_->aggregates;
  if (marks != nullptr) {
    for (const Aggregate& aggregate : aggregates) {
      if (aggregate.input) (void)evaluator.value(aggregate.input);
    }
  }
  if (is_loose_ == Loose::yes && append_loose(evaluator, n, marks)) return;
  assign(evaluator, n, marks);
  decide_on_loose(n, marks);
  few_are_counted_ = false;
  const bool are_many = count_ > kFewGroups;
  if (are_many) count_for_all(n);
  const Vector never_null;  // what COUNT(*) counts
  for (std::size_t a = 0; a < aggregates.size(); ++a) {
    const auto& [fold, input, type] = aggregates[a];
    const Vector& v = input ? evaluator.value(input) : never_null;
    evaluator.read_ahead();
    if (is_extreme(aggregates[a])) {
      include_extremes(a, v, n);
      continue;
    }
    if (fold == Fold::sum) include_sums(a, v, n);
    if (are_many) {
      discount_nulls(a, v, n);
    } else {
      count_rows(a, v, n);
    }
  }
}

// Rows and sums of many groups are added up side by side, group after group, and go into the states in the end: a group's row takes
// half a line of the cache and more, of which these are a few.

/// The block's rows are counted in their groups: for all aggregates at once, as if nothing were NULL.
void Groups::count_for_all(int n) {
  if (rows_counted_ > kMostCounted) settle();
  rows_counted_ += n;
  counts_.resize(static_cast<std::size_t>(count_) + 1);
  std::int32_t* const rows = counts_.data() + 1;  // after those without group
  for (int i = 0; i < n; ++i) ++rows[group_[static_cast<std::size_t>(i)]];
}

void Groups::discount_nulls(std::size_t aggregate, const Vector& v, int n) {
  if (v.nulls == nullptr) return;
  for (int i = 0; i < n; ++i) {
    const std::int32_t group = group_[static_cast<std::size_t>(i)];
    if (group != kNoGroup && null_at(v, i)) --rows_.count(group, aggregate);
  }
}

/// Whether it has added up the values, none of which is NULL, in `many_`.
bool Groups::include_many(std::size_t aggregate, const Vector& v, int n) {
  Many& many = many_[aggregate];
  const UInt128 bound = std::max(many.bound, v.bound);
  if (!sum_fits({Form::narrow, bound}, static_cast<UInt128>(many.rows) + static_cast<UInt128>(n))) {
    settle_sums(aggregate);
    if (!sum_fits(v.operand(), static_cast<UInt128>(n))) return false;
  }
  many.bound = std::max(many.bound, v.bound);
  many.rows += n;
  many.sums.resize(static_cast<std::size_t>(count_) + 1);
  kernels_->sum_groups(v.as<std::int64_t>(), group_.data(), n, static_cast<int>(count_), many.sums.data() + 1);
  return true;
}

void Groups::settle_sums(std::size_t aggregate) {
  Many& many = many_[aggregate];
  for (std::size_t g = 1; g < many.sums.size(); ++g) {
    rows_.add_exact(static_cast<std::int64_t>(g) - 1, aggregate, many.sums[g]);
  }
  many.sums.clear();
  many.bound = 0;
  many.rows = 0;
}

void Groups::settle() {
  for (std::size_t a = 0; a < plan_->aggregates.size(); ++a) {
    settle_sums(a);
    if (is_extreme(plan_->aggregates[a])) continue;
    for (std::size_t g = 1; g < counts_.size(); ++g) rows_.count(static_cast<std::int64_t>(g) - 1, a) += counts_[g];
  }
  counts_.clear();
  rows_counted_ = 0;
}

void Groups::forget_sums() {
  for (Many& many : many_) {
    many.sums.clear();
    many.bound = 0;
    many.rows = 0;
  }
  counts_.clear();
  rows_counted_ = 0;
}

/// The block's rows in each group, counted once for all aggregates.
const std::int64_t* Groups::rows_of_few(int n) {
  if (!few_are_counted_) kernels_->count_few(group_.data(), n, static_cast<int>(count_), rows_of_few_);
  few_are_counted_ = true;
  return rows_of_few_;
}

/// Of few groups.
void Groups::count_rows(std::size_t aggregate, const Vector& v, int n) {
  if (v.one && null_at(v, 0)) return;
  if (v.one || v.nulls == nullptr) {
    if (count_ == 1 && are_all_) {
      rows_.count(0, aggregate) += n;
      return;
    }
    for (std::int64_t g = 0; g < count_; ++g) rows_.count(g, aggregate) += rows_of_few(n)[g];
    return;
  }
  for (int i = 0; i < n; ++i) {
    const std::int32_t group = group_[static_cast<std::size_t>(i)];
    if (group != kNoGroup && v.nulls[i] == 0) ++rows_.count(group, aggregate);
  }
}

void Groups::add(std::size_t aggregate, std::int64_t sum, int rows) {
  if (plan_->aggregates[aggregate].fold == Fold::sum) rows_.add_exact(0, aggregate, sum);
  rows_.count(0, aggregate) += rows;
}

void Groups::include_sums(std::size_t aggregate, const Vector& v, int n) {
  if (v.form == Form::real) return include_reals(aggregate, v, n);
  const auto* const group = group_.data();
  if (is_plain(v) && count_ > kFewGroups && include_many(aggregate, v, n)) return;
  if (is_plain(v) && count_ <= kFewGroups && sum_fits(v.operand(), kBlock)) {
    std::int64_t with_none[kFewGroups + 1] = {};
    std::int64_t* const sums = with_none + 1;  // after that of rows without group
    if (count_ == 1 && are_all_) {
      sums[0] = kernels_->integers.sum(v.as<std::int64_t>(), n);
    } else {
      kernels_->sum_groups(v.as<std::int64_t>(), group, n, static_cast<int>(count_), sums);
    }
    for (std::int64_t g = 0; g < count_; ++g) rows_.add_exact(g, aggregate, sums[g]);
    return;
  }
  with_type(v.form, [&]<class T>(std::type_identity<T>) {
    for (int i = 0; i < n; ++i) {
      if (group[i] != kNoGroup && !null_at(v, i)) rows_.add_exact(group[i], aggregate, static_cast<Int128>(v.at<T>(i)));
    }
  });
}

/// Rows without group do not change the order, where no value is NULL.
void Groups::include_reals(std::size_t aggregate, const Vector& v, int n) {
  const auto* const group = group_.data();
  if (count_ > 1 || v.nulls != nullptr || v.one) {
    for (int i = 0; i < n; ++i) {
      if (group[i] != kNoGroup && !null_at(v, i)) rows_.add_real(group[i], aggregate, v.at<double>(i));
    }
    return;
  }
  const auto* values = v.as<double>();
  if (!are_all_) {
    reals_.clear();
    for (int i = 0; i < n; ++i) {
      if (group[i] != kNoGroup) reals_.push_back(values[i]);
    }
    values = reals_.data();
    n = static_cast<int>(reals_.size());
  }
  rows_.add_real(0, aggregate, kernels_->reals.sum(values, n));
}

/// `others` has the texts of `other`.
void Groups::improve(std::int64_t group, std::size_t aggregate, const State& other, const TextTable& others) {
  if (other.count == 0) return;
  State best = state(group, aggregate);
  const auto& [fold, input, type] = plan_->aggregates[aggregate];
  const auto word_of = [](const TextTable& texts, const State& state) {
    return texts[static_cast<std::int32_t>(state.exact)];
  };
  const bool is_text = type.kind == ValueKind::text;
  const bool better = best.count == 0 || (type.kind == ValueKind::real ? is_better(fold, other.real(), best.real())
                                          : is_text ? is_better(fold, word_of(others, other), word_of(texts_, best))
                                                    : is_better(fold, other.exact, best.exact));
  if (!better) return;
  if (type.kind == ValueKind::real) {
    best.set_real(other.real());
  } else {
    best.exact = is_text ? entry_of(others, static_cast<std::int32_t>(other.exact)) : other.exact;
  }
  set_state(group, aggregate, best);
}

void Groups::include_extremes(std::size_t aggregate, const Vector& v, int n) {
  const Aggregate& asked = plan_->aggregates[aggregate];
  const Fold fold = asked.fold;
  const ValueKind kind = asked.type.kind;
  const bool whole = count_ == 1 && are_all_ && v.nulls == nullptr && !v.one;
  const auto best_of = [&]<class T>(const TypedKernels<T>& kernels) {
    return (fold == Fold::least ? kernels.least : kernels.greatest)(v.as<T>(), n);
  };
  if (whole && (v.form == Form::narrow || v.form == Form::real)) {
    State best;
    best.count = 1;
    if (v.form == Form::real) {
      best.set_real(best_of(kernels_->reals));
    } else {
      best.exact = best_of(kernels_->integers);
    }
    improve(0, aggregate, best, texts_);
    rows_.count(0, aggregate) += n;
    return;
  }
  for (int i = 0; i < n; ++i) {
    const std::int32_t group = group_[static_cast<std::size_t>(i)];
    if (group == kNoGroup || null_at(v, i)) continue;
    const State best = state(group, aggregate);
    State other;
    other.count = 1;
    if (kind == ValueKind::real) {
      other.set_real(v.at<double>(i));
    } else if (kind == ValueKind::text) {
      // Only text that is better than all before it is kept: there may be as many entries as rows.
      const std::string_view mine = (**v.dictionary)[static_cast<std::size_t>(v.at<std::int32_t>(i))];
      const bool is_kept = best.count > 0 && !is_better(fold, mine, texts_[static_cast<std::int32_t>(best.exact)]);
      other.exact = is_kept ? static_cast<std::int32_t>(best.exact) : entry(mine);
    } else {
      other.exact = exact_at(v, i);
    }
    improve(group, aggregate, other, texts_);
    ++rows_.count(group, aggregate);
  }
}

// ------------------------------------------------------------------------------------------------------------- loose rows

void Groups::start_batch(std::int64_t rows, std::int64_t most) {
  if (loose_.count() > 0) settle_loose();  // they come before this batch's groups
  is_loose_ = may_be_loose_ ? Loose::undecided : Loose::no;
  batch_rows_ = rows;
  rows_of_batch_ = 0;
  groups_before_ = count_;
  most_at_hand_ = most;
}

bool Groups::are_at_hand(std::int64_t most) const {
  if (are_by_words_) return count_ <= most && !ascend();  // those that ascend are not met again
  return all_by_number_ && !by_number_.empty() && met_.greatest - met_.least < most;
}

void Groups::decide_on_loose(int n, const std::uint64_t* marks) {
  if (is_loose_ != Loose::undecided) return;
  for (int i = 0; i < n; ++i) rows_of_batch_ += marks == nullptr || is_marked(marks, i) ? 1 : 0;
  const bool are_near = are_at_hand(most_at_hand_);
  if (rows_of_batch_ < (are_near ? kTriedAtHand : kTried)) return;
  const std::int64_t met_before = rows_of_batch_ - (count_ - groups_before_);
  const std::int64_t expected = rows_of_batch_ * rows_of_batch_ / (2 * std::max<std::int64_t>(met_before, 1));
  const bool is_kept = are_near && (!are_by_words_ || expected <= most_at_hand_);
  is_loose_ = !is_kept && expected >= kApart ? Loose::yes : Loose::no;
  if (is_loose_ == Loose::yes && plan_->filters.empty()) loose_.make_room_for(batch_rows_ - rows_of_batch_);
}

bool Groups::may_be_loose(Evaluator& evaluator) const {
  const auto is_of_each = [](const Vector& v) { return v.nulls == nullptr && !v.one; };
  for (const Node& key : plan_->keys) {
    const Vector& v = evaluator.value(key);
    if (!is_of_each(v) || (v.form != Form::text && v.form != Form::narrow)) return false;
  }
  for (const auto& [fold, input, type] : plan_->aggregates) {
    if (!input) continue;
    const Vector& v = evaluator.value(input);
    const bool is_word = v.form == Form::narrow || v.form == Form::real;
    if (!is_of_each(v) || (!is_word && fold != Fold::count)) return false;
  }
  return true;
}

/// Whether these rows are loose now; else those before them have groups.
bool Groups::append_loose(Evaluator& evaluator, int n, const std::uint64_t* marks) {
  std::size_t kept = 0;
  std::int32_t* const rows = number_.data();
  for (int i = 0; i < n; ++i) {
    if (marks == nullptr || is_marked(marks, i)) rows[kept++] = i;
  }
  if (!may_be_loose(evaluator) || !loose_.has_room_for(kept, load_loose_keys(evaluator, kept))) {
    settle_loose();
    is_loose_ = Loose::no;
    return false;
  }
  loose_at_.resize(kBlock);
  std::uint64_t** const at = loose_at_.data();
  loose_.add({block_hashes_.data(), kept}, at);
  write_loose_keys(evaluator, kept);
  for (std::size_t s = 0; s < sums_.size(); ++s) {
    const auto* const from = static_cast<const std::byte*>(evaluator.value(plan_->aggregates[sums_[s]].input).data);
    for (std::size_t i = 0; i < kept; ++i) {
      std::uint64_t& to = loose_.values(at[i])[s];
      std::memcpy(&to, from + static_cast<std::size_t>(rows[i]) * sizeof to, sizeof to);
    }
  }
  return true;
}

/// Hashes of the keys of the rows that number_ names, as hash_of_key() has them, and their texts as keys, of which a long one only
/// is known to be that. Returns the letters of long ones.
std::size_t Groups::load_loose_keys(Evaluator& evaluator, std::size_t rows) {
  const Secret by = secret();
  block_hashes_.assign(kBlock, 0);
  std::uint64_t* const hashes = block_hashes_.data();
  if (any_text_) loose_texts_.resize(plan_->keys.size() * kBlock);
  Int128* keys = loose_texts_.data();
  std::size_t letters = 0;
  for (const Node& key : plan_->keys) {
    const Vector& v = evaluator.value(key);
    if (v.form == Form::text) {
      const Dictionary& words = **v.dictionary;
      const auto* const from = v.as<std::int32_t>();
      for (std::size_t i = 0; i < rows; ++i) {
        const std::string_view word = words[static_cast<std::size_t>(from[number_[i]])];
        const bool is_short = word.size() <= kMostInKey;
        keys[i] = is_short ? short_text_key(word) : long_text_key(0);
        if (!is_short) letters += word.size();
        const Int128 hashed = is_short ? keys[i] : Int128{hash_of(by, word)};
        hashes[i] =
            hash_more(by, hashes[i], static_cast<std::uint64_t>(hashed), static_cast<std::uint64_t>(hashed >> 64));
      }
      keys += kBlock;
    } else {
      const auto* const from = v.as<std::int64_t>();
      for (std::size_t i = 0; i < rows; ++i) {
        const std::int64_t word = from[number_[i]];
        hashes[i] = hash_more(by, hashes[i], static_cast<std::uint64_t>(word), static_cast<std::uint64_t>(word >> 63));
      }
    }
  }
  return letters;
}

/// Of those, to where loose_at_ says.
void Groups::write_loose_keys(Evaluator& evaluator, std::size_t rows) {
  std::uint64_t* const* const at = loose_at_.data();
  const Int128* keys = loose_texts_.data();
  for (std::size_t k = 0; k < plan_->keys.size(); ++k) {
    const Vector& v = evaluator.value(plan_->keys[k]);
    if (v.form == Form::text) {
      for (std::size_t i = 0; i < rows; ++i) {
        if (is_long_text(keys[i])) {
          loose_.set_long_text(at[i], k, word_at(v, number_[i]));
        } else {
          loose_.set_short_text(at[i], k, keys[i]);
        }
      }
      keys += kBlock;
    } else {
      const auto* const from = v.as<std::int64_t>();
      for (std::size_t i = 0; i < rows; ++i) *loose_.key(at[i], k) = static_cast<std::uint64_t>(from[number_[i]]);
    }
  }
}

/// Slots, and of those that are taken what will be looked at next.
void Groups::ask_for_all(std::span<const std::uint64_t* const> asked) const {
  if (slots_.empty()) return;
  const auto slot = [&](const std::uint64_t* row) -> const Slot& {
    return slots_[slot_of(LooseRows::hash(row), slots_.size())];
  };
  for (const std::uint64_t* const row : asked) __builtin_prefetch(&slot(row));
  for (const std::uint64_t* const row : asked) {
    const std::int32_t group = slot(row).group;
    if (group < 0) continue;
    rows_.ask_for(group);
  }
  if (!texts_are_groups_ || texts_.all().empty()) return;
  for (const std::uint64_t* const row : asked) {
    const std::int32_t group = slot(row).group;
    if (group >= 0 && is_long_text(key(group, 0))) texts_.ask_for(entry_of_long(key(group, 0)));
  }
  for (const std::uint64_t* const row : asked) {
    const std::int32_t group = slot(row).group;
    if (group >= 0 && is_long_text(key(group, 0))) texts_.ask_for_letters(entry_of_long(key(group, 0)));
  }
}

/// Of a long text that is the key of a new group, and so not looked for where each such text has a group.
std::int32_t Groups::entry_of_new_key(std::string_view text) {
  return texts_are_groups_ ? texts_.add_new(text) : texts_.entry(text);
}

/// That of a loose row, whose keys are those of no other.
std::int32_t Groups::add_group(const LooseRows& rows, const std::uint64_t* row) {
  const std::int32_t group = add_group(LooseRows::hash(row));
  const bool are_copied = rows_.are_narrow();
  if (are_copied) copy_words(rows.key(row, 0), rows_.width_of_keys(), rows_.key_words(group));
  for (std::size_t k = 0; (any_text_ || !are_copied) && k < key_.size(); ++k) {
    if (are_texts_[k] != 0 && rows.is_long(row, k)) {
      rows_.set_key(group, k, long_text_key(entry_of_new_key(rows.long_text(row, k))));
    } else if (!are_copied) {
      rows_.set_key(group, k,
                    are_texts_[k] != 0 ? rows.text_key(row, k) : static_cast<std::int64_t>(*rows.key(row, k)));
    }
  }
  return group;
}

/// Whether a group has the keys of a loose row.
inline bool Groups::has_key(std::int32_t mine, const LooseRows& rows, const std::uint64_t* row) const {
  if (rows_.have_nulls() && rows_.any_null(mine)) return false;
  if (!any_text_ && rows_.are_narrow()) {
    return are_same(rows.key(row, 0), rows_.key_words(mine), rows_.width_of_keys());
  }
  for (std::size_t k = 0; k < key_.size(); ++k) {
    const Int128 key = rows_.key(mine, k);
    const bool is_same = are_texts_[k] == 0 ? key == static_cast<std::int64_t>(*rows.key(row, k))
                         : rows.is_long(row, k)
                             ? is_long_text(key) && same_text(texts_[entry_of_long(key)], rows.long_text(row, k))
                             : key == rows.text_key(row, k);
    if (!is_same) return false;
  }
  return true;
}

/// The group of a loose row, a new one where there is none.
std::int32_t Groups::find(const LooseRows& rows, const std::uint64_t* row) {
  return find_or_add(
      LooseRows::hash(row), [&](std::int32_t group) { return has_key(group, rows, row); },
      [&] { return add_group(rows, row); });
}

/// Of rows number 0 to n - 1, which `row_at` has.
template <class RowAt, class OnFresh>
void Groups::merge_rows(const LooseRows& later, std::int64_t n, const RowAt& row_at, const OnFresh& on_fresh) {
  const std::uint64_t* rows[kAtOnce];
  std::int32_t mine[kAtOnce];
  const bool are_far = bytes() > kNear;
  for (std::int64_t first = 0; first < n; first += kAtOnce) {
    const auto now = static_cast<std::size_t>(std::min<std::int64_t>(kAtOnce, n - first));
    for (std::size_t i = 0; i < now; ++i) rows[i] = row_at(first + static_cast<std::int64_t>(i));
    if (are_far) ask_for_all({rows, now});
    for (std::size_t i = 0; i < now; ++i) {
      const std::int64_t known = count_;
      mine[i] = find(later, rows[i]);
      if (mine[i] == known) on_fresh(rows[i]);
    }
    for (std::size_t i = 0; i < now; ++i) rows_.add_row(mine[i], sums_, later.values(rows[i]));
  }
}

void Groups::merge(const LooseRows& later, int part, std::vector<std::int64_t>& fresh) {
  merge_rows(
      later, later.count(part), [&](std::int64_t i) { return later.row(part, i); },
      [&](const std::uint64_t* row) { fresh.push_back(static_cast<std::int64_t>(LooseRows::place(row))); });
}

/// All of them, in their order.
void Groups::merge_rows(const LooseRows& later) {
  if (later.count() == 0) return;
  const std::vector<const std::uint64_t*> rows = later.in_order();
  merge_rows(
      later, later.count(), [&](std::int64_t i) { return rows[static_cast<std::size_t>(i)]; },
      [](const std::uint64_t* /*row*/) {});
}

void Groups::append(const LooseRows& rows, int part) {
  for (std::int64_t i = 0; i < rows.count(part); ++i) {
    const std::uint64_t* const row = rows.row(part, i);
    rows_.add_row(add_group(rows, row), sums_, rows.values(row));
  }
}

/// Loose rows go into groups, which have the order of their first rows as ever.
void Groups::settle_loose() {
  settle();
  merge_rows(loose_);
  loose_.clear();
}

// ------------------------------------------------------------------------------------------------------- groups of others

/// The entry here of a text there.
std::int32_t Groups::entry_of(const TextTable& others, std::int32_t entry) {
  return &others == &texts_ ? entry : texts_.entry(others[entry], others.hash(entry));
}

/// That of a group of others, whose keys are those of no other; of no rows.
std::int32_t Groups::add_group(const Groups& others, std::int64_t theirs) {
  const std::int32_t group = add_group(others.hash(theirs));
  for (std::size_t k = 0; k < key_.size(); ++k) {
    const Int128 key = others.key(theirs, k);
    const bool is_long = are_texts_[k] != 0 && is_long_text(key);
    rows_.set_key(group, k, is_long ? long_text_key(entry_of_new_key(others.texts_[entry_of_long(key)])) : key);
    if (others.key_is_null(theirs, k)) rows_.set_null(group, k);
  }
  return group;
}

/// Whether a group has the keys of one of others.
inline bool Groups::has_key(std::int32_t mine, const Groups& others, std::int64_t group) const {
  for (std::size_t k = 0; k < key_.size(); ++k) {
    const Int128 key = rows_.key(mine, k);
    const Int128 other = others.rows_.key(group, k);
    const bool are_long = are_texts_[k] != 0 && is_long_text(key) && is_long_text(other);
    const bool is_same =
        are_long ? same_text(texts_[entry_of_long(key)], others.texts_[entry_of_long(other)]) : key == other;
    if (!is_same || rows_.is_null(mine, k) != others.rows_.is_null(group, k)) return false;
  }
  return true;
}

/// The group of one of others, a new one where there is none.
std::int32_t Groups::find(const Groups& others, std::int64_t group) {
  return find_or_add(
      others.hash(group), [&](std::int32_t mine) { return has_key(mine, others, group); },
      [&] { return add_group(others, group); });
}

Groups Groups::joined(const Plan& plan, const Kernels& kernels, std::span<Groups* const> parts,
                      std::span<const Place> order, int workers) {
  Groups all(plan, kernels);
  all.count_ = std::ssize(order);
  for (const Groups* const part : parts) all.rows_.widen_as(part->rows_);
  all.rows_.resize(all.count_);
  constexpr std::int64_t kEach = 1 << 14;
  cpu::for_each_of(cpu::parts(all.count_, kEach), workers, [&](std::int64_t piece) {
    for (std::int64_t i = piece * kEach; i < std::min((piece + 1) * kEach, all.count_); ++i) {
      const auto [part, group] = order[static_cast<std::size_t>(i)];
      all.rows_.copy_row(i, parts[static_cast<std::size_t>(part)]->rows_, group);
    }
  });
  all.join_texts(parts, order);
  return all;
}

/// Texts of the keys and states that have been copied from these places become texts of these groups.
void Groups::join_texts(std::span<Groups* const> parts, std::span<const Place> order) {
  std::vector<std::size_t> keys;
  std::vector<std::size_t> aggregates;
  for (std::size_t k = 0; k < plan_->keys.size(); ++k) {
    if (are_texts_[k] != 0) keys.push_back(k);
  }
  for (std::size_t a = 0; a < plan_->aggregates.size(); ++a) {
    if (is_text(plan_->aggregates[a])) aggregates.push_back(a);
  }
  const auto has_texts = [](const Groups* part) { return !part->texts_.all().empty(); };
  if (std::none_of(parts.begin(), parts.end(), has_texts)) return;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const TextTable& theirs = parts[static_cast<std::size_t>(order[i].part)]->texts_;
    const auto group = static_cast<std::int64_t>(i);
    for (const std::size_t k : keys) {
      if (!is_long_text(key(group, k))) continue;
      const std::int32_t entry = entry_of_long(key(group, k));
      rows_.set_key(group, k,
                    long_text_key(texts_are_groups_ ? texts_.append(theirs[entry]) : entry_of(theirs, entry)));
    }
    for (const std::size_t a : aggregates) {
      State best = state(group, a);
      if (best.count == 0) continue;
      best.exact = entry_of(theirs, static_cast<std::int32_t>(best.exact));
      set_state(group, a, best);
    }
  }
  for (Groups* const part : parts) texts_.keep_memory_of(part->texts_);
}

void Groups::take_in_order(Groups& from, std::span<const std::int32_t> order) {
  count_ = std::ssize(order);
  rows_.clear();
  rows_.widen_as(from.rows_);
  rows_.resize(count_);
  std::int64_t to = 0;
  for (const std::int32_t group : order) rows_.copy_row(to++, from.rows_, group);
  std::swap(texts_, from.texts_);
}

bool Groups::ascend() const {
  if (plan_->keys.size() != 1 || any_text_ || rows_.have_nulls() || !texts_.all().empty() || count_ == 0 ||
      loose_.count() > 0)
    return false;
  for (std::int64_t g = 1; g < count_; ++g) {
    if (key(g - 1, 0) >= key(g, 0)) return false;
  }
  return true;
}

void Groups::copy(const Groups& from) {
  rows_ = from.rows_;
  count_ = from.count_;
}

void Groups::give_last(Groups& later) {
  const std::int64_t last = count_ - 1;
  for (std::size_t a = 0; a < plan_->aggregates.size(); ++a) {
    const State after = later.state(0, a);
    later.set_state(0, a, state(last, a));
    later.merge_state(a, 0, after, later.texts_);
  }
  rows_.pop_back();
  --count_;
}

void Groups::merge(const Groups& later) {
  merge_range(later, 0, later.count_, [](std::int64_t) {});
  merge_rows(later.loose_);
}

void Groups::merge(const Groups& later, std::int64_t first, std::int64_t end, std::vector<std::int64_t>& fresh) {
  merge_range(later, first, end, [&](std::int64_t group) { fresh.push_back(group); });
}

/// Asks for what the search for a group of others begins with.
void Groups::ask_for(const Groups& others, std::int64_t group) const {
  if (!slots_.empty()) __builtin_prefetch(&slots_[slot_of(others.hash(group), slots_.size())]);
}

template <class OnFresh>
void Groups::merge_range(const Groups& later, std::int64_t first, std::int64_t end, const OnFresh& on_fresh) {
  std::int32_t mine[kAtOnce];
  for (; first < end; first += kAtOnce) {
    const auto n = static_cast<std::size_t>(std::min<std::int64_t>(kAtOnce, end - first));
    for (std::size_t i = 0; i < n; ++i) ask_for(later, first + static_cast<std::int64_t>(i));
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t group = first + static_cast<std::int64_t>(i);
      const std::int64_t known = count_;
      mine[i] = find(later, group);
      if (mine[i] == known) on_fresh(group);
      rows_.ask_for(mine[i]);
    }
    for (std::size_t a = 0; a < plan_->aggregates.size(); ++a) merge_states(later, a, first, {mine, n});
  }
}

/// Of groups there that follow each other from `theirs` on, into these.
void Groups::merge_states(const Groups& later, std::size_t aggregate, std::int64_t theirs,
                          std::span<const std::int32_t> mine) {
  for (const std::int32_t group : mine) merge_state(aggregate, group, later.state(theirs++, aggregate), later.texts_);
}

/// `others` has the texts of the state.
void Groups::merge_state(std::size_t aggregate, std::int32_t mine, const State& other, const TextTable& others) {
  const Aggregate& asked = plan_->aggregates[aggregate];
  if (is_extreme(asked)) improve(mine, aggregate, other, others);
  // First, as `high` has the room that a count has.
  std::int64_t& count = rows_.count(mine, aggregate);
  if (__builtin_add_overflow(count, other.count, &count)) {
    throw Error(Code::overflow, "a group comes to more than 2^63 - 1 rows");
  }
  if (asked.fold != Fold::sum) return;
  if (asked.type.kind == ValueKind::real) {
    rows_.add_real(mine, aggregate, other.real());
  } else {
    rows_.add_exact(mine, aggregate, other.exact);
    rows_.add_high(mine, aggregate, other.high());
  }
}

}  // namespace upsweep::query
