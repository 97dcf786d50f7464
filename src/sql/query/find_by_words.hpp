// SPDX-License-Identifier: Apache-2.0
// sql/query/find_by_words.hpp: finds groups whose keys are 64-bit numbers, in a table of the groups that were seen
// last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sql/query/block_keys.hpp"
#include "sql/query/groups.hpp"
#include "upsweep/detail/unwritten_memory.hpp"

namespace upsweep::query {

/// Each row has a word: the only key, a pair of short keys, or a hash of several keys. The word selects a place with
/// two slots, in one cache line.
class FindByWords {
 public:
  /// The arguments must outlive this object.
  FindByWords(const QueryPlan& plan, const Kernels& kernels);

  /// Returns false if a key is NULL or has more than 64 bits, or if a group has such a key.
  bool find(Groups& groups, const BlockKeys& block, std::int32_t* group);
  /// `groups`, in which rows were found, are invalid from now on.
  void forget(const Groups& groups);

 private:
  struct Slot {
    std::uint64_t word;
    std::int32_t group;  ///< kUnseen: no group
  };

  const std::uint64_t* words_of(const BlockKeys& block);
  [[nodiscard]] std::uint64_t word_of(const Groups& groups, std::int64_t group) const;
  [[nodiscard]] bool are_pairs(const BlockKeys& block) const;
  void reserve_for(const Groups& groups);
  void note(std::size_t place, std::uint64_t word, std::int32_t group);
  std::int32_t group_of(Groups& groups, const BlockKeys& block, int i);

  const Kernels& kernels_;
  bool are_short_ = true;      ///< words of two keys are pairs of short keys; otherwise they are hashes of all keys
  detail::Large<Slot> slots_;  ///< a power of two: two per place
  std::vector<std::uint64_t> words_;
  std::vector<std::uint32_t> places_;  ///< by row
  std::vector<Int128> key_;            ///< keys of a row
  std::vector<std::uint8_t> no_nulls_;
};

}  // namespace upsweep::query
