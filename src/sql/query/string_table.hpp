// SPDX-License-Identifier: Apache-2.0
// sql/query/string_table.hpp: unique strings, in the order of their first use, found by their hashes.
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
  /// Returns the index of the text. A new text is appended. `hash`: its hash_of(). Throws Error out_of_memory (2^31
  /// strings).
  std::int32_t entry(std::string_view text, std::uint64_t hash);
  std::int32_t entry(std::string_view text);
  /// Returns the entry in this table for a string of `others`, which may be this table.
  std::int32_t entry_of(const StringTable& others, std::int32_t there) {
    return &others == this ? there : entry(others[there], others.hash(there));
  }

  [[nodiscard]] const std::vector<std::string_view>& all() const { return all_; }
  [[nodiscard]] std::string_view operator[](std::int32_t entry) const { return all_[static_cast<std::size_t>(entry)]; }
  [[nodiscard]] std::uint64_t hash(std::int32_t entry) const {
    const auto at = static_cast<std::size_t>(entry);
    return at < hashes_.size() ? hashes_[at] : hash_of(secret(), all_[at]);
  }
  /// Prefetches the view of a string. Once that is loaded, ask_for_letters() prefetches its bytes.
  void ask_for(std::int32_t entry) const { __builtin_prefetch(all_.data() + entry); }
  void ask_for_letters(std::int32_t entry) const {
    const std::string_view text = (*this)[entry];
    __builtin_prefetch(text.data());
    __builtin_prefetch(text.data() + text.size());
  }
  /// Appends a string that is not in the table, and returns its index.
  std::int32_t add_new(std::string_view text) { return append(keep(text)); }
  /// Like add_new(), for a string whose memory does not move.
  std::int32_t append(std::string_view text);
  /// Takes the memory of the strings of `others`, which becomes empty.
  void keep_memory_of(StringTable& others);
  /// Removes all strings but keeps the memory of the hash table.
  void clear();
  /// Returns bytes of memory.
  [[nodiscard]] std::int64_t bytes() const;

 private:
  std::string_view keep(std::string_view text);

  std::vector<std::string_view> all_;
  /// Hashes of the strings that are in slots, which are the first ones. A search adds the hashes of the others.
  detail::Large<std::uint64_t> hashes_;
  HashSlots slots_;
  std::vector<detail::Unwritten<char>> chunks_;  ///< bytes of the strings
  std::size_t left_ = 0;                         ///< free bytes of the last chunk
  std::size_t kept_ = 0;                         ///< bytes of all chunks
};

}  // namespace upsweep::query
