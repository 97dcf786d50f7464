// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/rung.hpp: types and constants that the files of the rungs share, and the maximum number of items.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <new>
#include <vector>

#include "core/ladder.hpp"
#include "upsweep/detail/subset_sum_call.hpp"

namespace upsweep::impl::subset_sum {

using Rung = upsweep::Rung<detail::SubsetSumCall>;

/// The ladder, starting with the naive loop.
std::vector<RungInfo> rungs();

inline constexpr const char* kByteTraffic = "3 bytes per sum and item";
inline constexpr const char* kBitTraffic = "3 bits per sum and item";

// Maximum number of items of the rungs whose work doubles with every item.
/// cpu.enumerate: 2^30 sums take a second.
inline constexpr std::int64_t kMostEnumerated = 30;
/// cpu.meet_in_the_middle: a list of 2^33 sums is 69 GB.
inline constexpr std::int64_t kMostInLists = 66;
/// cpu.schroeppel_shamir: its 2^36 pairs take minutes.
inline constexpr std::int64_t kMostByResidues = 72;
/// cuda.slices: every block processes all subsets of ten items, each against up to 2^10 sums of the other items.
inline constexpr int kSlicesItems = 20;
/// cuda.two_list: 2^32 sums per half and the same number for the lists before, 103 GB in total.
inline constexpr int kTwoListItems = 64;

inline const char* fills_refusal(const detail::SubsetSumCall& call) noexcept {
  return call.sums != nullptr ? "only decides one target: does not fill a bitmap" : nullptr;
}
inline constexpr const char* kOneSum = "finds only one exact sum, not the nearest of several";
inline const char* one_sum_refusal(const detail::SubsetSumCall& call) noexcept {
  return call.below > 0 || call.above > 0 ? kOneSum : fills_refusal(call);
}

/// Returns the items up to `most`, in ascending order.
inline std::vector<std::int64_t> ascending_items(const detail::SubsetSumCall& call, std::int64_t most) {
  std::vector<std::int64_t> items;
  items.reserve(static_cast<std::size_t>(call.n));
  std::copy_if(call.items, call.items + call.n, std::back_inserter(items), [&](std::int64_t i) { return i <= most; });
  std::sort(items.begin(), items.end());
  return items;
}

/// Returns f(); turns std::bad_alloc into a Status with this reason.
template <class F>
Status with_memory_for(const char* reason, F f) noexcept {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return {.code = Code::out_of_memory, .reason = reason};
  }
}
inline constexpr const char* kNoSums = "no memory left for its sums";
inline constexpr const char* kNoLists = "no memory left for its lists";

}  // namespace upsweep::impl::subset_sum
