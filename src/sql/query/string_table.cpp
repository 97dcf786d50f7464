// SPDX-License-Identifier: Apache-2.0
// sql/query/string_table.cpp: stores strings in chunks of memory that do not move.
#include "sql/query/string_table.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "sql/tuning.hpp"
#include "system/hash.hpp"
#include "upsweep/error.hpp"

namespace upsweep::query {
namespace {

constexpr std::size_t kMinChunk = tuning::kMemoryTable.least_text;
constexpr std::size_t kLargestChunk = tuning::kMemoryTable.most_text;

}  // namespace

std::int32_t StringTable::entry(std::string_view text) { return entry(text, hash_of(secret(), text)); }

std::int32_t StringTable::entry(std::string_view text, std::uint64_t hash) {
  const auto hash_at = [this](std::int64_t entry) {
    const auto at = static_cast<std::size_t>(entry);
    if (at == hashes_.size()) hashes_.push_back(hash_of(secret(), all_[at]));
    return hashes_[at];
  };
  return slots_.find_or_add(
      hash, std::ssize(all_), hash_at, [&](std::int32_t entry) { return same_text((*this)[entry], text); },
      [&] {
        const std::int32_t entry = add_new(text);
        hashes_.push_back(hash);
        return entry;
      });
}

std::int32_t StringTable::append(std::string_view text) {
  if (all_.size() == std::numeric_limits<std::int32_t>::max()) {
    throw Error(Code::out_of_memory, "a query produces more than 2^31 strings");
  }
  all_.push_back(text);
  return static_cast<std::int32_t>(all_.size()) - 1;
}

void StringTable::keep_memory_of(StringTable& others) {
  // The last chunk must remain the one that is being filled.
  chunks_.insert(chunks_.begin(), std::make_move_iterator(others.chunks_.begin()),
                 std::make_move_iterator(others.chunks_.end()));
  kept_ += others.kept_;
  others = {};
}

std::string_view StringTable::keep(std::string_view text) {
  if (text.empty()) return {};
  if (text.size() > left_) {
    left_ = std::max(text.size(), std::clamp(kept_, kMinChunk, kLargestChunk));
    kept_ += left_;
    chunks_.emplace_back(left_);
    // The last chunk is filled from its end.
  }
  left_ -= text.size();
  char* const at = chunks_.back().data() + left_;
  copy_text(at, text);
  return {at, text.size()};
}

void StringTable::clear() {
  slots_.clear();
  all_.clear();
  hashes_.clear();
  chunks_.clear();
  left_ = 0;
  kept_ = 0;
}

std::int64_t StringTable::bytes() const {
  return static_cast<std::int64_t>(kept_ + all_.capacity() * sizeof(std::string_view) +
                                   hashes_.capacity() * sizeof(std::uint64_t)) +
         slots_.bytes();
}

}  // namespace upsweep::query
