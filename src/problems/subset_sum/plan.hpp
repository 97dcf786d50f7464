// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/plan.hpp: what each way to search an instance would cost, and which one is taken.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "upsweep/subset_sum.hpp"

namespace upsweep::impl::subset_sum {

/// What the cost of a search depends on.
struct Question {
  const std::vector<std::int64_t>& values;  ///< ascending
  std::int64_t target = 0;
  std::int64_t below = 0;
  std::int64_t above = 0;
  bool witness = false;

  [[nodiscard]] bool exact() const { return below == 0 && above == 0; }
};

/// Every rung that may be chosen, in the order of the ladder, with its cost, or why it cannot be taken.
std::vector<SubsetSumWay> ways_for(const Question& question);

/// "for up to 30 items, not 31".
std::string too_many(std::int64_t n, std::int64_t most);

/// "needs 12.5 GB of memory, 8 GB are free"; empty where there is enough.
std::string memory_reason(double bytes);

/// The ways, those that need more memory than there is with that as the reason not to take them.
std::vector<SubsetSumWay> with_memory_reasons(std::vector<SubsetSumWay> ways);

/// What one rung, named, would cost.
SubsetSumWay way_of(std::string_view rung, const Question& question);

[[nodiscard]] bool any_can(const std::vector<SubsetSumWay>& ways);

/// The way that takes the least time of those that can be taken. Throws out_of_memory where none can, and reports what
/// each would need.
SubsetSumWay choose(const std::vector<SubsetSumWay>& ways);

/// Bytes that a rung which fills a bitmap needs besides it: the table, or two columns of it.
double table_bytes(std::string_view rung, std::int64_t n, std::int64_t limit);

/// How many copies of its bitmap cpu.bits_simd keeps during the search, to find the items.
std::int64_t checkpoints_for(const Question& question);

/// Throws out_of_memory if the way needs more memory than there is.
void require_memory(const SubsetSumWay& way);

}  // namespace upsweep::impl::subset_sum
