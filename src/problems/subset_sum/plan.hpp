// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/plan.hpp: the cost of each way to search an instance, and the choice of one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "upsweep/subset_sum.hpp"

namespace upsweep::impl::subset_sum {

/// The parameters of the cost of a search.
struct Question {
  const std::vector<std::int64_t>& values;  ///< ascending
  std::int64_t target = 0;
  std::int64_t below = 0;
  std::int64_t above = 0;
  bool witness = false;

  [[nodiscard]] bool exact() const { return below == 0 && above == 0; }
};

/// Returns every rung that may be chosen, in the order of the ladder, with its cost or the reason why it cannot run.
std::vector<SubsetSumWay> ways_for(const Question& question);

/// Returns "supports at most 30 items, not 31".
std::string too_many(std::int64_t n, std::int64_t most);

/// Returns "needs 12.5 GB of memory, 8 GB are free", or "" if there is enough.
std::string memory_reason(double bytes);

/// Returns the ways. A way that needs more memory than there is gets this as its reason.
std::vector<SubsetSumWay> with_memory_reasons(std::vector<SubsetSumWay> ways);

/// Returns the cost of one named rung.
SubsetSumWay way_of(std::string_view rung, const Question& question);

[[nodiscard]] bool any_can(const std::vector<SubsetSumWay>& ways);

/// Returns the fastest of the ways that can run. Throws out_of_memory if none can, with the memory that each would
/// need.
SubsetSumWay choose(const std::vector<SubsetSumWay>& ways);

/// Returns the bytes that a rung that fills a bitmap needs in addition to it: the table, or two columns of it.
double table_bytes(std::string_view rung, std::int64_t n, std::int64_t limit);

/// Returns the number of copies of its bitmap that cpu.bits_simd keeps during the search, to find the items.
std::int64_t checkpoints_for(const Question& question);

/// Throws out_of_memory if the way needs more memory than there is.
void require_memory(const SubsetSumWay& way);

}  // namespace upsweep::impl::subset_sum
