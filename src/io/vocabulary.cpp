// SPDX-License-Identifier: Apache-2.0
// io/vocabulary.cpp: finds the strings of a dictionary while it is built.
#include "io/vocabulary.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "io/tuning.hpp"
#include "system/hash.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

constexpr std::size_t kLeastSlots = 64;  // a power of two

}  // namespace

void throw_not_utf8(const std::string& name, std::int64_t row) {
  throw Error(
      Code::malformed,
      name + ": row " + std::to_string(row) + " is text that is not UTF-8; convert the column to UTF-8 or leave it out",
      row);
}

std::int32_t Vocabulary::find_or_add(std::string_view text, const std::string& name, std::int64_t row) {
  if (!looks_up_) return add(text, name, row);
  if (slots_.size() < 2 * (words.size() + 1)) grow();
  const auto hash = static_cast<std::uint32_t>(hash_of(secret(), text));
  Slot& slot = slots_[find(text, hash)];
  if (slot.index < 0) slot = {hash, add(text, name, row)};
  if (++looked_for_ == tuning::kVocabulary.tried) {
    looks_up_ = !may_repeat_ || std::ssize(words) < tuning::kVocabulary.distinct;
  }
  return slot.index;
}

// Only a new string is checked: an equal one was already checked.
std::int32_t Vocabulary::add(std::string_view text, const std::string& name, std::int64_t row) {
  if (!are_checked && !is_utf8(text)) throw_not_utf8(name, row);
  if (words.size() == std::numeric_limits<std::int32_t>::max()) {
    throw Error(Code::unsupported_type, name + ": has more than 2^31 different strings; store it plain");
  }
  words.push_back(text);
  return static_cast<std::int32_t>(words.size()) - 1;
}

// Returns the slot that has the string, or the free slot where it belongs.
std::size_t Vocabulary::find(std::string_view text, std::uint32_t hash) const {
  std::size_t at = hash & (slots_.size() - 1);
  while (slots_[at].index >= 0 &&
         !(slots_[at].hash == hash && same_text(words[static_cast<std::size_t>(slots_[at].index)], text))) {
    at = (at + 1) & (slots_.size() - 1);
  }
  return at;
}

void Vocabulary::grow() {
  std::vector<Slot> slots(std::max<std::size_t>(2 * slots_.size(), kLeastSlots));
  for (const Slot& slot : slots_) {
    if (slot.index < 0) continue;
    std::size_t at = slot.hash & (slots.size() - 1);
    while (slots[at].index >= 0) at = (at + 1) & (slots.size() - 1);
    slots[at] = slot;
  }
  slots_ = std::move(slots);
}

}  // namespace upsweep::io
