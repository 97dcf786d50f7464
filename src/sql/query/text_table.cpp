// SPDX-License-Identifier: Apache-2.0
// sql/query/text_table.cpp: open addressing over tags of hashes; texts lie in chunks that stay where they are.
#include "sql/query/text_table.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>

#include "system/hash.hpp"
#include "upsweep/error.hpp"

namespace upsweep::query {
namespace {

constexpr std::size_t kFirstSlots = 64;
constexpr std::size_t kLeastChunk = 1 << 12;
constexpr std::size_t kLargestChunk = 1 << 20;

}  // namespace

std::int32_t TextTable::entry(std::string_view text) { return entry(text, hash_of(secret(), text)); }

std::int32_t TextTable::entry(std::string_view text, std::uint64_t hash) {
  if (hashes_.size() != all_.size() || 4 * all_.size() >= 3 * slots_.size()) complete_slots();
  const std::size_t mask = slots_.size() - 1;
  const auto tag = static_cast<std::uint32_t>(hash >> 32);
  std::size_t place = slot_of(hash, slots_.size());
  for (; slots_[place].entry >= 0; place = (place + 1) & mask) {
    if (slots_[place].tag == tag && same_text((*this)[slots_[place].entry], text)) return slots_[place].entry;
  }
  const std::int32_t entry = add_new(text);
  hashes_.push_back(hash);
  slots_[place] = {tag, entry};
  return entry;
}

std::int32_t TextTable::append(std::string_view text) {
  if (all_.size() == std::numeric_limits<std::int32_t>::max()) {
    throw Error(Code::out_of_memory, "a query comes to more than 2^31 strings");
  }
  all_.push_back(text);
  return static_cast<std::int32_t>(all_.size()) - 1;
}

void TextTable::keep_memory_of(TextTable& others) {
  // The last chunk stays the one that is being filled.
  chunks_.insert(chunks_.begin(), std::make_move_iterator(others.chunks_.begin()),
                 std::make_move_iterator(others.chunks_.end()));
  kept_ += others.kept_;
  others = {};
}

std::string_view TextTable::keep(std::string_view text) {
  if (text.empty()) return {};
  if (text.size() > left_) {
    left_ = std::max(text.size(), std::clamp(kept_, kLeastChunk, kLargestChunk));
    kept_ += left_;
    chunks_.emplace_back(left_);
    // The last chunk is filled from its end.
  }
  left_ -= text.size();
  char* const at = chunks_.back().data() + left_;
  copy_text(at, text);
  return {at, text.size()};
}

void TextTable::complete_slots() {
  hashes_.reserve(all_.size());  // what follows does not fail half done
  std::size_t first = hashes_.size();
  if (4 * all_.size() >= 3 * slots_.size()) {
    slots_.assign(std::bit_ceil(std::max(kFirstSlots, all_.size() / 2 * 3)), {0, -1});
    first = 0;
  }
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = first; i < all_.size(); ++i) {
    if (i == hashes_.size()) hashes_.push_back(hash_of(secret(), all_[i]));
    std::size_t place = slot_of(hashes_[i], slots_.size());
    while (slots_[place].entry >= 0) place = (place + 1) & mask;
    slots_[place] = {static_cast<std::uint32_t>(hashes_[i] >> 32), static_cast<std::int32_t>(i)};
  }
}

void TextTable::clear() {
  if (!hashes_.empty()) std::fill(slots_.begin(), slots_.end(), Slot{0, -1});
  all_.clear();
  hashes_.clear();
  chunks_.clear();
  left_ = 0;
  kept_ = 0;
}

std::int64_t TextTable::bytes() const {
  return static_cast<std::int64_t>(kept_ + all_.capacity() * sizeof(std::string_view) +
                                   hashes_.capacity() * sizeof(std::uint64_t) + slots_.size() * sizeof(Slot));
}

}  // namespace upsweep::query
