// SPDX-License-Identifier: Apache-2.0
// query/text_table.hpp: texts, each once, in the order in which they come, found by their hash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace upsweep::query {

class TextTable {
 public:
  /// Where the text stands, at the end where it is new. `hash`: hash_of() it. Throws Error out_of_memory (2^31 texts).
  std::int32_t entry(std::string_view text, std::uint64_t hash);
  std::int32_t entry(std::string_view text);

  [[nodiscard]] const std::vector<std::string_view>& all() const { return all_; }
  [[nodiscard]] std::string_view operator[](std::int32_t entry) const { return all_[static_cast<std::size_t>(entry)]; }
  [[nodiscard]] std::uint64_t hash(std::int32_t entry) const { return hashes_[static_cast<std::size_t>(entry)]; }
  /// Asks for what the search for a text begins with, then, once that is there, for what follows.
  void ask_for(std::uint64_t hash) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]);
  }
  /// That is what may be found; -1: nothing is.
  std::int32_t ask_for_entry(std::uint64_t hash) const {
    const std::int32_t first = first_of(hash);
    if (first >= 0) __builtin_prefetch(all_.data() + first);
    return first;
  }
  void ask_for_letters(std::uint64_t hash) const {
    const std::int32_t first = first_of(hash);
    if (first < 0) return;
    __builtin_prefetch((*this)[first].data());
    __builtin_prefetch((*this)[first].data() + (*this)[first].size());
  }
  /// A text that is none of these, which stays where it is: it becomes the last.
  void append(std::string_view text, std::uint64_t hash);
  /// Takes the memory that the texts of `others` lie in, and leaves them none.
  void keep_memory_of(TextTable& others);
  /// None; the memory by which they are found is kept.
  void clear();
  /// Of memory.
  [[nodiscard]] std::int64_t bytes() const;

 private:
  struct Slot {
    std::uint32_t tag;   ///< the upper half of the hash
    std::int32_t entry;  ///< -1: free
  };

  /// The entry in the first slot of a hash, where it may be the one that is looked for; else -1.
  [[nodiscard]] std::int32_t first_of(std::uint64_t hash) const {
    if (slots_.empty()) return -1;
    const Slot slot = slots_[hash & (slots_.size() - 1)];
    return slot.tag == static_cast<std::uint32_t>(hash >> 32) ? slot.entry : -1;
  }
  std::string_view keep(std::string_view text);
  void make_slots();

  std::vector<std::string_view> all_;
  std::vector<std::uint64_t> hashes_;
  std::vector<Slot> slots_;
  std::vector<std::unique_ptr<char[]>> chunks_;  ///< what the texts consist of
  std::size_t left_ = 0;                         ///< bytes of the last one
  std::size_t kept_ = 0;                         ///< bytes of all
};

}  // namespace upsweep::query
