// SPDX-License-Identifier: Apache-2.0
// upsweep/subset_sum.hpp: finds positive integers that add up to a target, and all sums of subsets.
//
//   find_subset     whether some of the items add up to the target, and which items
//   find_subsets    the first subsets that add up to the target, in order
//   reachable_sums  for every i up to a limit: whether some of the items add up to i, as a bitmap
//   plan_subset     the strategy of find_subset, and the cost of each strategy; plan_subsets for find_subsets
//
// Items     n items of type int64, each at least 1; the empty subset has the sum 0. Decimals: scale them first.
// Target    0 … 2^63-1. Items larger than the target are ignored. The other items must add up to at most 2^63-1;
//           otherwise the error is overflow.
// Memory    a bitmap with a bit for each sum up to the target, or two bitmaps to find the items. For few items, lists
//           of 2^(n/2) or 2^(n/4) sums instead. The plan contains the chosen strategy and its memory. If it exceeds the
//           available memory, Error out_of_memory says how much is needed, before the search begins.
// GPU       find_subset, plan_subset and reachable_sums_async accept a gpu::Policy: see gpu.hpp. Items are in host
//           memory, also with a gpu::Policy. find_subset waits for the stream. Its memory is allocated from
//           policy.memory, step by step; a workspace is not used. reachable_sums_async writes its bitmap to device
//           memory and does not wait; it has read the items when it returns. It uses a workspace, and a CUDA graph can
//           capture it. reachable_sums and find_subsets run on the CPU only.
// Errors    Error: invalid_argument, not_positive (index: the first such item), overflow, unknown_rung, unsupported,
//           out_of_memory, interrupted.
// Source    E. Aubanel, "Notes on GPU Programming with Julia", 2021, for the table; E. Horowitz and S. Sahni 1974,
//           R. Schroeppel and A. Shamir 1981, N. Howgrave-Graham and A. Joux 2010 for the lists.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

#include <cstdint>
#include <iterator>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "upsweep/detail/arguments.hpp"
#include "upsweep/detail/containers.hpp"
#include "upsweep/detail/subset_sum_call.hpp"
#include "upsweep/scan.hpp"

namespace upsweep {

struct SubsetSumOptions {
  bool witness = true;     ///< find the items, not only whether the target is reachable
  std::int64_t below = 0;  ///< accept sums in target - below … target + above: finds the nearest sum, of two equally
  std::int64_t above = 0;  ///< near sums the lower one. below == target, above == 0: the largest sum up to target
  bool reduce = true;      ///< first make the instance smaller: see src/problems/subset_sum/README.md
  bool early_stop = true;  ///< stop once the target is reached
  detail::SearchProgress progress =
      {};  ///< a callback, with the finished share of the work; it returns false to stop: interrupted
};

struct UPSWEEP_CONTAINERS SubsetSum {
  bool reachable = false;
  std::int64_t sum = 0;                    ///< if reachable: of the items that were found
  std::vector<std::int64_t> indices = {};  ///< their positions, ascending; empty if only the decision was requested
  std::string_view rung = {};              ///< "none" if the sum or the divisor of the items determines the answer

  constexpr explicit operator bool() const { return reachable; }
};

/// Subsets that add up to a target, each as ascending positions.
struct UPSWEEP_CONTAINERS SubsetSums {
  std::vector<std::vector<std::int64_t>> found = {};
  std::string_view rung = {};
};

/// A strategy of the search.
struct SubsetSumWay {
  std::string_view rung;
  double seconds = 0;       ///< estimated
  double bytes = 0;         ///< of memory
  std::string reason = {};  ///< why it cannot be used; empty: it can
};

/// The reduced instance, and every strategy to solve it; `rung` is the chosen one.
struct UPSWEEP_CONTAINERS SubsetSumPlan {
  std::int64_t items = 0;     ///< number of items after the reduction
  std::int64_t divisor = 1;   ///< the common divisor of all items (gcd)
  std::int64_t target = 0;    ///< divided; or the sum of the items to leave out, if that is smaller
  std::int64_t largest = 0;   ///< largest item
  bool complement = false;    ///< the program searches for the items to leave out
  bool tries_likely = false;  ///< first, for a tenth of the time, most items are decided greedily: see the README
  std::string_view rung;      ///< "none" if no search is necessary; empty if no strategy can be used
  std::vector<SubsetSumWay> ways;
  std::vector<std::string> steps;  ///< the reductions as text
};

namespace detail {

SubsetSum solve_subset_sum(const Policy& policy, const std::int64_t* items, std::int64_t n, std::int64_t target,
                           const SubsetSumOptions& options);
/// Begins a search that several processes share. Only one of them calls this function. Returns the answer, or nullopt
/// if a shared search is necessary. In that case each process must call share_subset_sum().
std::optional<SubsetSum> begin_subset_sum(const Policy& policy, const std::int64_t* items, std::int64_t n,
                                          std::int64_t target, const SubsetSumOptions& options);
/// Searches this process's share. Only the answer of process 0 contains the indices.
SubsetSum share_subset_sum(const Policy& policy, const std::int64_t* items, std::int64_t n, std::int64_t target,
                           const SubsetSumOptions& options, const SharedSearch& shared);
SubsetSumPlan plan_subset_sum(const Policy& policy, const std::int64_t* items, std::int64_t n, std::int64_t target,
                              const SubsetSumOptions& options);
SubsetSums list_subset_sums(const Policy& policy, const std::int64_t* items, std::int64_t n, std::int64_t target,
                            std::int64_t most, const SearchProgress& progress);
SubsetSumPlan plan_subset_list(const Policy& policy, const std::int64_t* items, std::int64_t n, std::int64_t target);
SubsetSum solve_subset_sum(const gpu::Policy& policy, const std::int64_t* items, std::int64_t n, std::int64_t target,
                           const SubsetSumOptions& options);
SubsetSumPlan plan_subset_sum(const gpu::Policy& policy, const std::int64_t* items, std::int64_t n, std::int64_t target,
                              const SubsetSumOptions& options);

/// Throws invalid_argument for a null pointer or a negative length, not_positive for the first item below 1.
void require_items(const std::int64_t* items, std::int64_t n);

template <class R>
const std::int64_t* items_of(const R& items) {
  const auto* const data = data_of(items);
  static_assert(std::is_same_v<ElementOf<R>, std::int64_t>,
                "items must be of std::int64_t: copy others to such an array first");
  if constexpr (std::is_same_v<ElementOf<R>, std::int64_t>) {
    return data;
  } else {
    return nullptr;
  }
}

inline SubsetSumCall fill_call(const std::int64_t* items, std::int64_t n, std::int64_t limit, std::uint64_t* sums) {
  require_array(items, n, "items");
  return {.items = items, .n = n, .target = limit, .sums = sums};
}

/// Items are an array, or, for find_subset(), a pointer and a length.
template <class... Rest>
inline constexpr ArgumentRules kFindSubsetRules{.arrays = sizeof...(Rest) == 2 ? 1 : 0, .integers = true};
inline constexpr ArgumentRules kItemsRules{.arrays = 1, .integers = true};

}  // namespace detail

/// Finds items that add up to the target: whether there are any, and which.
template <detail::ArrayArgument R, detail::AnyPolicy P = Policy>
SubsetSum find_subset(const P& policy, const R& items, std::int64_t target, const SubsetSumOptions& options = {}) {
  return detail::solve_subset_sum(policy, detail::items_of(items), detail::length_of(items), target, options);
}
template <detail::AnyPolicy P = Policy>
SubsetSum find_subset(const P& policy, const std::int64_t* items, std::int64_t n, std::int64_t target,
                      const SubsetSumOptions& options = {}) {
  return detail::solve_subset_sum(policy, items, n, target, options);
}

/// Returns the plan of find_subset(): its strategy and the alternatives.
template <detail::ArrayArgument R, detail::AnyPolicy P = Policy>
SubsetSumPlan plan_subset(const P& policy, const R& items, std::int64_t target, const SubsetSumOptions& options = {}) {
  return detail::plan_subset_sum(policy, detail::items_of(items), detail::length_of(items), target, options);
}

/// Returns the first `most` subsets that add up to the target, or all if there are fewer. Their order is lexicographic
/// in the positions: {0, 5} before {0, 7} before {1, 2}.
template <detail::ArrayArgument R>
SubsetSums find_subsets(const Policy& policy, const R& items, std::int64_t target, std::int64_t most,
                        const detail::SearchProgress& progress = {}) {
  return detail::list_subset_sums(policy, detail::items_of(items), detail::length_of(items), target, most, progress);
}

/// Returns the plan of find_subsets(): its strategy and the alternatives.
template <detail::ArrayArgument R>
SubsetSumPlan plan_subsets(const Policy& policy, const R& items, std::int64_t target) {
  return detail::plan_subset_list(policy, detail::items_of(items), detail::length_of(items), target);
}

/// Computes for each i in 0 … limit whether some of the items add up to i: bit i % 64 of sums[i / 64]. There are limit
/// / 64 + 1 words; the bits past limit become 0. Returns the rung.
inline std::string_view reachable_sums(const Policy& policy, const std::int64_t* items, std::int64_t n,
                                       std::int64_t limit, std::uint64_t* sums) {
  detail::SubsetSumCall call = detail::fill_call(items, n, limit, sums);
  return detail::run_reachable_sums(policy, call);
}

/// @cond
// Calls that are refused, with the reason.
template <class First, class... Rest>
  requires detail::Refused<detail::kIntegersOnly, First, Rest...>
auto reachable_sums(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse<detail::kIntegersOnly, First, Rest...>();
}
template <class First, class... Rest>
  requires detail::Refused<detail::kFindSubsetRules<Rest...>, First, Rest...>
auto find_subset(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse<detail::kFindSubsetRules<Rest...>, First, Rest...>();
}
template <class First, class... Rest>
  requires detail::Refused<detail::kItemsRules, First, Rest...>
auto plan_subset(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse<detail::kItemsRules, First, Rest...>();
}
template <class First, class... Rest>
  requires detail::Refused<detail::kItemsRules, First, Rest...>
auto find_subsets(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse<detail::kItemsRules, First, Rest...>();
}
template <class First, class... Rest>
  requires detail::Refused<detail::kItemsRules, First, Rest...>
auto plan_subsets(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse<detail::kItemsRules, First, Rest...>();
}
/// @endcond

/// Computes the bitmap of reachable_sums() into device memory. `sums` is device memory, the items are host memory. The
/// call reads the items before it returns, and does not wait for the stream. Returns the rung.
inline std::string_view reachable_sums_async(const gpu::Policy& policy, const std::int64_t* items, std::int64_t n,
                                             std::int64_t limit, std::uint64_t* sums) {
  detail::SubsetSumCall call = detail::fill_call(items, n, limit, sums);
  return detail::run_reachable_sums(policy, call);
}

namespace gpu {

/// Returns the size of the Workspace that reachable_sums_async() needs under the policy, for n items and that limit.
inline WorkspaceSize reachable_sums_workspace(const Policy& policy, std::int64_t n, std::int64_t limit) {
  return upsweep::detail::reachable_sums_workspace(policy, {.n = n, .target = limit});
}

}  // namespace gpu
}  // namespace upsweep
