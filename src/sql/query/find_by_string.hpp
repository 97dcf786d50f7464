// SPDX-License-Identifier: Apache-2.0
// sql/query/find_by_string.hpp: finds groups of rows whose only key is text, with one search per dictionary entry.
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
  /// Groups of earlier rows are invalid from now on.
  void forget() { from_.reset(); }

 private:
  std::shared_ptr<const Dictionary> from_;
  std::vector<std::int32_t> known_;  ///< by entry of that dictionary: the group; -1: not looked up yet
};

}  // namespace upsweep::query
