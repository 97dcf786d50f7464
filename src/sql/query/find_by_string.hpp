// SPDX-License-Identifier: Apache-2.0
// sql/query/find_by_string.hpp: groups of rows whose only key is text: one search for each dictionary entry.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sql/query/block_keys.hpp"
#include "sql/query/groups.hpp"

namespace upsweep::query {

class FindByString {
 public:
  void find(Groups& groups, const BlockKeys& block, std::int32_t* group);
  /// Groups of earlier rows mean nothing from here on.
  void forget() { from_.reset(); }

 private:
  std::shared_ptr<const Dictionary> from_;
  std::vector<std::int32_t> known_;  ///< by entry of that dictionary: the group; -1: not looked for yet
};

}  // namespace upsweep::query
