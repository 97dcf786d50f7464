// SPDX-License-Identifier: Apache-2.0
// sql/query/find_by_words.cpp: looks up rows in the table without a branch, then looks up the remaining rows by their
// keys.
#include "sql/query/find_by_words.hpp"

#include <algorithm>
#include <bit>

#include "sql/tuning.hpp"
#include "system/hash.hpp"

namespace upsweep::query {
namespace {

constexpr std::size_t kMinByWord = tuning::kFinders.least_words;
constexpr std::size_t kMostByWord = tuning::kFinders.most_words;

/// Returns the place of a word in a table whose number of slots is a power of two: the first of two slots. The secret
/// makes it hard to construct words with the same place.
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

/// Returns two short keys as one word, which is unique.
std::uint64_t word_of_pair(std::int64_t first, std::int64_t second) {
  return static_cast<std::uint64_t>(first) << 32 | static_cast<std::uint32_t>(second);
}

/// Returns the hash of the previous keys, `word`, and the next key. A cheap hash suffices, because keys are always
/// compared.
std::uint64_t word_with(const Secret& by, std::uint64_t word, std::int64_t key) {
  word = (word ^ static_cast<std::uint64_t>(key) ^ by.a) * by.b;
  return word ^ word >> 32;
}

/// Selects one of two values without a branch: with few groups, the branch would be unpredictable.
std::int32_t chosen(bool first, std::int32_t one, std::int32_t other) {
  const std::int32_t mask = -static_cast<std::int32_t>(first);
  return (one & mask) | (other & ~mask);
}

/// Returns whether all keys of groups are 64-bit numbers.
bool are_words(const Groups& groups) {
  return !groups.rows().have_nulls() && groups.rows().are_narrow() && !groups.any_text_key();
}

/// Removes the group of rows whose keys differ from those of the group that was found by their hash.
void drop_others(const Groups& groups, const BlockKeys& block, std::int32_t* group) {
  for (std::size_t k = 0; k < block.keys.size(); ++k) {
    const auto* const values = block.keys[k]->as<std::int64_t>();
    for (int i = 0; i < block.rows; ++i) {
      if (group[i] == kUnseen) continue;
      if (static_cast<std::int64_t>(groups.rows().key_words(group[i])[k]) != values[i]) group[i] = kUnseen;
    }
  }
}

}  // namespace

FindByWords::FindByWords(const QueryPlan& plan, const Kernels& kernels)
    : kernels_(kernels), key_(plan.keys.size()), no_nulls_(plan.keys.size(), 0) {}

bool FindByWords::find(Groups& groups, const BlockKeys& block, std::int32_t* group) {
  const std::vector<const Vector*>& keys = block.keys;
  const int n = block.rows;
  if (!std::all_of(keys.begin(), keys.end(), [](const Vector* key) { return is_plain(*key); })) return false;
  if (keys.size() > 1 && !are_words(groups)) return false;
  if (are_short_ && keys.size() > 1 && !are_pairs(block)) {
    are_short_ = false;  // from now on, words of several keys are hashes
    slots_.clear();
  }
  reserve_for(groups);
  const std::uint64_t* const words = words_of(block);
  const WordPlaces place_of(slots_.size());
  for (int i = 0; i < n; ++i) places_[static_cast<std::size_t>(i)] = place_of(words[i]);
  const bool are_hashes = keys.size() > 1 && !are_short_;
  bool any_unseen = are_hashes;
  for (int i = 0; i < n; ++i) {
    __builtin_prefetch(&slots_[places_[static_cast<std::size_t>(std::min(i + kAhead, n - 1))]]);
    const Slot* const slots = &slots_[places_[static_cast<std::size_t>(i)]];
    group[i] =
        chosen(slots[0].word == words[i], slots[0].group, chosen(slots[1].word == words[i], slots[1].group, kUnseen));
    any_unseen |= group[i] == kUnseen;
  }
  if (are_hashes) drop_others(groups, block, group);
  for (int i = 0; any_unseen && i < n; ++i) {
    if (group[i] != kUnseen || !block.is_kept(i)) continue;
    group[i] = group_of(groups, block, i);
    note(places_[static_cast<std::size_t>(i)], words[i], group[i]);
  }
  if (block.marks != nullptr) kernels_.drop(block.marks, n, group);
  return true;
}

/// Stores the group in the first of the two slots of a place, and moves the previous one to the second.
void FindByWords::note(std::size_t place, std::uint64_t word, std::int32_t group) {
  Slot* const slots = &slots_[place];
  if (slots[0].group != kUnseen && slots[0].word != word) slots[1] = slots[0];
  slots[0] = {word, group};
}

/// Returns the word of each row.
const std::uint64_t* FindByWords::words_of(const BlockKeys& block) {
  const std::vector<const Vector*>& keys = block.keys;
  const int n = block.rows;
  places_.resize(kBlock);
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

/// Returns the word of a group, which is that of its rows.
std::uint64_t FindByWords::word_of(const Groups& groups, std::int64_t group) const {
  const std::size_t width = key_.size();
  const auto* const keys = reinterpret_cast<const std::int64_t*>(groups.rows().key_words(group));
  if (width == 1) return static_cast<std::uint64_t>(keys[0]);
  if (are_short_) return word_of_pair(keys[0], keys[1]);
  const Secret by = secret();
  std::uint64_t word = 0;
  for (std::size_t k = 0; k < width; ++k) word = word_with(by, word, keys[k]);
  return word;
}

/// Returns whether the keys are two keys of 32 bits each.
bool FindByWords::are_pairs(const BlockKeys& block) const {
  return block.keys.size() == 2 && std::all_of(block.keys.begin(), block.keys.end(), [&](const Vector* key) {
           const auto* const values = key->as<std::int64_t>();
           return is_short(kernels_.integers.minimum(values, block.rows)) &&
                  is_short(kernels_.integers.maximum(values, block.rows));
         });
}

/// Provides four places per group, while these fit.
void FindByWords::reserve_for(const Groups& groups) {
  const auto count = static_cast<std::size_t>(groups.count());
  if (!slots_.empty() && (4 * count <= slots_.size() || slots_.size() == kMostByWord)) return;
  const std::size_t size = std::clamp(std::bit_ceil(8 * count), kMinByWord, kMostByWord);
  slots_.assign(size, {0, kUnseen});
  if (!are_words(groups)) return;  // groups are stored when they are seen
  const WordPlaces place_of(size);
  const bool are_pairs = are_short_ && key_.size() > 1;
  for (std::int64_t g = 0; g < groups.count(); ++g) {
    // Its rows do not have pairs as words.
    if (are_pairs && !(is_short(groups.key(g, 0)) && is_short(groups.key(g, 1)))) continue;
    note(place_of(word_of(groups, g)), word_of(groups, g), static_cast<std::int32_t>(g));
  }
}

std::int32_t FindByWords::group_of(Groups& groups, const BlockKeys& block, int i) {
  for (std::size_t k = 0; k < key_.size(); ++k) key_[k] = block.keys[k]->as<std::int64_t>()[i];
  return static_cast<std::int32_t>(groups.find(key_.data(), no_nulls_.data()));
}

void FindByWords::forget(const Groups& groups) {
  if (static_cast<std::size_t>(groups.count()) > slots_.size() / 8 || !are_words(groups)) {
    return std::fill(slots_.begin(), slots_.end(), Slot{0, kUnseen});
  }
  const WordPlaces place_of(slots_.size());
  for (std::int64_t g = 0; g < groups.count(); ++g) {
    std::fill_n(&slots_[place_of(word_of(groups, g))], 2, Slot{0, kUnseen});
  }
}

}  // namespace upsweep::query
