// SPDX-License-Identifier: Apache-2.0
// sql/query/string_table.hpp: strings, each once, in the order in which they come, found by their hash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sql/query/hash_slots.hpp"
#include "system/hash.hpp"
#include "upsweep/detail/unwritten_memory.hpp"

namespace upsweep::query {

class StringTable {
 public:
  /// Where the text stands, at the end where it is new. `hash`: hash_of() it. Throws Error out_of_memory (2^31 strings).
  std::int32_t entry(std::string_view text, std::uint64_t hash);
  std::int32_t entry(std::string_view text);
  /// The entry here of a string of `others`, which may be this table.
  std::int32_t entry_of(const StringTable& others, std::int32_t there) {
    return &others == this ? there : entry(others[there], others.hash(there));
  }

  [[nodiscard]] const std::vector<std::string_view>& all() const { return all_; }
  [[nodiscard]] std::string_view operator[](std::int32_t entry) const { return all_[static_cast<std::size_t>(entry)]; }
  [[nodiscard]] std::uint64_t hash(std::int32_t entry) const {
    const auto at = static_cast<std::size_t>(entry);
    return at < hashes_.size() ? hashes_[at] : hash_of(secret(), all_[at]);
  }
  /// Asks for what a text's letters are found by, then, once that is there, for these.
  void ask_for(std::int32_t entry) const { __builtin_prefetch(all_.data() + entry); }
  void ask_for_letters(std::int32_t entry) const {
    const std::string_view text = (*this)[entry];
    __builtin_prefetch(text.data());
    __builtin_prefetch(text.data() + text.size());
  }
  /// A text that is none of these becomes the last entry, which is returned.
  std::int32_t add_new(std::string_view text) { return append(keep(text)); }
  /// The same of one that stays where it is.
  std::int32_t append(std::string_view text);
  /// Takes the memory that the strings of `others` lie in, and leaves them none.
  void keep_memory_of(StringTable& others);
  /// None; the memory by which they are found is kept.
  void clear();
  /// Of memory.
  [[nodiscard]] std::int64_t bytes() const;

 private:
  std::string_view keep(std::string_view text);

  std::vector<std::string_view> all_;
  /// Of those that are in slots, the first ones. A search adds all others.
  detail::Large<std::uint64_t> hashes_;
  HashSlots slots_;
  std::vector<detail::Unwritten<char>> chunks_;  ///< what the strings consist of
  std::size_t left_ = 0;                         ///< bytes of the last one
  std::size_t kept_ = 0;                         ///< bytes of all
};

}  // namespace upsweep::query
