// SPDX-License-Identifier: Apache-2.0
// sql/query/find_by_entries.hpp: finds groups whose keys are strings of small dictionaries, in a table of all
// combinations.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sql/query/block_keys.hpp"
#include "sql/query/groups.hpp"

namespace upsweep::query {

class FindByEntries {
 public:
  /// The kernels must outlive this object.
  explicit FindByEntries(const Kernels& kernels) : kernels_(kernels) {}

  /// Returns false if a key is NULL or is not text, or if there are too many combinations.
  bool find(Groups& groups, const BlockKeys& block, std::int32_t* group);
  /// Groups of earlier rows are invalid from now on.
  void forget() { by_number_.clear(); }

 private:
  const Kernels& kernels_;
  std::vector<std::shared_ptr<const Dictionary>> from_;  ///< by key: the dictionaries of by_number_
  std::vector<std::int32_t> by_number_;                  ///< groups by the entries of all keys; empty: not built
  std::vector<std::int32_t> number_;                     ///< by row: its keys' entries as one number
};

}  // namespace upsweep::query
