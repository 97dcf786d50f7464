// SPDX-License-Identifier: Apache-2.0
// upsweep/subset_sum.hpp: which of these positive integers add up to a target, and every sum that some of them have.
//
//   find_subset     whether some of the items add up to the target, and which
//   find_subsets    the first few ways to do it, in order
//   reachable_sums  for every i up to a limit: whether some of the items add up to i, as a bitmap
//   plan_subset     how find_subset would go about it, and what each way would cost; plan_subsets for find_subsets
//
// Items     n items of type int64, each at least 1; the empty subset has the sum 0. Decimals: scale them first.
// Target    0 … 2^63-1. Items beyond it are left out; those that are left add up to at most 2^63-1, else Error overflow.
// Memory    a bitmap of the target's bits, two for the items as well; or, for few items, lists of 2^(n/2) or 2^(n/4)
//           sums: what is chosen, and what it takes, is in the plan. More than there is: Error out_of_memory, which says
//           what would be needed, before anything is begun.
// GPU       find_subset and plan_subset with a gpu::Policy: see gpu.hpp. Items are in host memory there too. find_subset waits for
//           the stream. Its memory comes from policy.memory, step by step; a workspace is not used.
// Errors    Error: invalid_argument, not_positive (index: the first such item), overflow, unknown_rung, unsupported,
//           out_of_memory, interrupted.
// Source    E. Aubanel, "Notes on GPU Programming with Julia", 2021, for the table; E. Horowitz and S. Sahni 1974,
//           R. Schroeppel and A. Shamir 1981, N. Howgrave-Graham and A. Joux 2010 for the lists.
#pragma once

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
  bool witness = true;     ///< which items, not only whether
  std::int64_t below = 0;  ///< a sum in target - below … target + above will do: the nearest to the target, of two the
  std::int64_t above = 0;  ///< lower one. below == target, above == 0: the largest sum up to the target
  bool reduce = true;      ///< first make the instance smaller: see src/problems/subset_sum/README.md
  bool early_stop = true;  ///< stop once the target is reached
  detail::SearchProgress progress =
      {};  ///< called with the share of the work that is done; returns false to stop: interrupted
};

struct UPSWEEP_CONTAINERS SubsetSum {
  bool reachable = false;
  std::int64_t sum = 0;                    ///< where reachable: of the items that were found
  std::vector<std::int64_t> indices = {};  ///< their positions, ascending; empty where only the decision was asked for
  std::string_view rung = {};              ///< "none" where what is asked follows from the items' sum or divisor

  constexpr explicit operator bool() const { return reachable; }
};

/// Ways to add up to a target, each as ascending positions.
struct UPSWEEP_CONTAINERS SubsetSums {
  std::vector<std::vector<std::int64_t>> found = {};
  std::string_view rung = {};
};

/// A way to go about it.
struct SubsetSumWay {
  std::string_view rung;
  double seconds = 0;       ///< estimated
  double bytes = 0;         ///< of memory
  std::string reason = {};  ///< why it cannot be taken; empty: it can
};

/// The instance once reduced, and every way to solve it; `rung` is the one that is taken.
struct UPSWEEP_CONTAINERS SubsetSumPlan {
  std::int64_t items = 0;     ///< that are left
  std::int64_t divisor = 1;   ///< the greatest common one
  std::int64_t target = 0;    ///< divided, and turned into that of the items left out where that is less
  std::int64_t largest = 0;   ///< item
  bool complement = false;    ///< the search is for the items to leave out
  bool tries_likely = false;  ///< first, for a tenth of the time, most items are decided greedily: see the README there
  std::string_view rung;      ///< "none" where nothing is left to search for; empty where no way can be taken
  std::vector<SubsetSumWay> ways;
  std::vector<std::string> steps;  ///< the reductions as text
};

namespace detail {

SubsetSum solve_subset_sum(const Policy& policy, const std::int64_t* items, std::int64_t n, std::int64_t target,
                           const SubsetSumOptions& options);
/// What one of several processes does that share a search: the answer, or nothing where it takes a search that is to be
/// shared, of which each then calls share_subset_sum().
std::optional<SubsetSum> begin_subset_sum(const Policy& policy, const std::int64_t* items, std::int64_t n,
                                          std::int64_t target, const SubsetSumOptions& options);
/// The indices are the answer's of process 0 only.
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

/// Items are an array, or of find_subset() a pointer and a length.
template <class... Rest>
inline constexpr ArgumentRules kFindSubsetRules{.arrays = sizeof...(Rest) == 2 ? 1 : 0, .integers = true};
inline constexpr ArgumentRules kItemsRules{.arrays = 1, .integers = true};

}  // namespace detail

/// Whether some of the items add up to the target, and which.
template <detail::ArrayArgument R, detail::AnyPolicy P = Policy>
SubsetSum find_subset(const P& policy, const R& items, std::int64_t target, const SubsetSumOptions& options = {}) {
  return detail::solve_subset_sum(policy, detail::items_of(items), detail::length_of(items), target, options);
}
template <detail::AnyPolicy P = Policy>
SubsetSum find_subset(const P& policy, const std::int64_t* items, std::int64_t n, std::int64_t target,
                      const SubsetSumOptions& options = {}) {
  return detail::solve_subset_sum(policy, items, n, target, options);
}

/// How find_subset would go about it.
template <detail::ArrayArgument R, detail::AnyPolicy P = Policy>
SubsetSumPlan plan_subset(const P& policy, const R& items, std::int64_t target, const SubsetSumOptions& options = {}) {
  return detail::plan_subset_sum(policy, detail::items_of(items), detail::length_of(items), target, options);
}

/// The first `most` ways to add up to the target, or all where there are fewer. They are ordered as words are in a
/// dictionary, positions being the letters: {0, 5} before {0, 7} before {1, 2}.
template <detail::ArrayArgument R>
SubsetSums find_subsets(const Policy& policy, const R& items, std::int64_t target, std::int64_t most,
                        const detail::SearchProgress& progress = {}) {
  return detail::list_subset_sums(policy, detail::items_of(items), detail::length_of(items), target, most, progress);
}

/// How find_subsets would go about it.
template <detail::ArrayArgument R>
SubsetSumPlan plan_subsets(const Policy& policy, const R& items, std::int64_t target) {
  return detail::plan_subset_list(policy, detail::items_of(items), detail::length_of(items), target);
}

/// Bit i % 64 of sums[i / 64] ← whether some of the items add up to i, for i in 0 … limit; limit / 64 + 1 words, in which
/// the bits past limit become 0. Returns the rung.
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

/// As reachable_sums(), into device memory and without waiting.
inline std::string_view reachable_sums_async(const gpu::Policy& policy, const std::int64_t* items, std::int64_t n,
                                             std::int64_t limit, std::uint64_t* sums) {
  detail::SubsetSumCall call = detail::fill_call(items, n, limit, sums);
  return detail::run_reachable_sums(policy, call);
}

namespace gpu {

/// The device memory that reachable_sums_async of such a size needs under that policy: for a Workspace.
inline WorkspaceSize reachable_sums_workspace(const Policy& policy, std::int64_t n, std::int64_t limit) {
  return upsweep::detail::reachable_sums_workspace(policy, {.n = n, .target = limit});
}

}  // namespace gpu
}  // namespace upsweep
