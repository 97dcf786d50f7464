// SPDX-License-Identifier: Apache-2.0
// sql/query/find_by_hash.hpp: finds groups with keys of any kind: each row's keys are hashed and looked up.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sql/query/block_keys.hpp"
#include "sql/query/groups.hpp"

namespace upsweep::query {

class FindByHash {
 public:
  explicit FindByHash(const QueryPlan& plan) : entries_(plan.keys.size()) {}

  void find(Groups& groups, const BlockKeys& block, std::int32_t* group);
  /// Strings of earlier groups are invalid from now on.
  void forget();

 private:
  /// The groups' entries for a dictionary's long strings, in the order of first use.
  struct Entries {
    std::shared_ptr<const Dictionary> from;
    std::vector<std::int32_t> to;  ///< -1: not looked up yet
  };

  void load_keys(Groups& groups, const BlockKeys& block);
  Int128 key_at(Groups& groups, std::size_t which, const Vector& v, int i);

  std::vector<Entries> entries_;     ///< by key
  std::vector<Int128> keys_;         ///< all keys of each row, as groups store them
  std::vector<std::uint8_t> nulls_;  ///< whether each of these keys is NULL
  std::vector<std::uint64_t> hashes_;
};

}  // namespace upsweep::query
