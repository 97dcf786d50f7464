// SPDX-License-Identifier: Apache-2.0
// bench/subset_sum_ladder.hpp: the instances that the subset-sum ladder is climbed on, and the climb.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ladder_bench.hpp"

namespace upsweep::bench {

struct SubsetInstance {
  std::string name = {};  ///< of real items
  std::int64_t seed = 0;  ///< of made ones
  std::vector<std::int64_t> items = {};
  std::int64_t target = 0;
  bool fills = true;  ///< its bitmap can be had; else only the target is decided about
};

/// Those that the request asks for; else three: the document's (ten items up to 10^7, S = 25,000,000), a dense one (a
/// thousand such items, S = 10^9) and one for lists (56 items of 57 bits, on a GPU 60).
std::vector<SubsetInstance> subset_instances(const LadderRequest& request, bool on_gpu);

/// A smaller instance of the same kind, on which rungs can be verified sum by sum.
SubsetInstance small_instance(const SubsetInstance& instance);

/// The group without rows.
Group subset_group(const SubsetInstance& instance);

/// A sum near the target that some of the items have.
std::int64_t reachable_near(const SubsetInstance& instance);

/// "" or what is wrong with a bitmap too large to be checked sum by sum: sums of random subsets that are missing, sums
/// below the least item that are there.
std::string wrong_in_bitmap(const SubsetInstance& instance, const std::uint64_t* sums);

std::vector<Group> climb_subset_sum(const LadderRequest& request, const Progress& progress);

}  // namespace upsweep::bench
