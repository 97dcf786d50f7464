// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/subset_sum_call.hpp: a subset sum as the compiled library and its rungs receive it.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string_view>

#include "upsweep/detail/gpu_launch.hpp"
#include "upsweep/error.hpp"
#include "upsweep/gpu.hpp"
#include "upsweep/policy.hpp"

namespace upsweep::impl::subset_sum {
struct Checkpoints;
}

namespace upsweep::detail {

/// Receives regularly, from one thread at a time, the fraction of the work that is done, 0 to 1. False stops the
/// search. An exception also ends the search, and the call throws it.
using SearchProgress = std::function<bool(double done)>;

/// A search by remainders that several processes share. Each process searches some of the classes.
struct SharedSearch {
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t kFailed = -1;  ///< ends the search of all processes

  int process = 0;  ///< of 0 … processes - 1
  int processes = 1;
  /// Called equally often by all processes, with the lowest class in which this process has found a solution, kNone or
  /// kFailed. Returns the minimum of all processes' values. Does not throw.
  std::function<std::int64_t(std::int64_t found)> least;
};

/// Fills `sums`, or decides if `sums` is null.
struct SubsetSumCall {
  const std::int64_t* items = nullptr;  ///< each > 0; in host memory, also for rungs on a GPU
  std::int64_t n = 0;
  std::int64_t target = 0;  ///< >= 0
  /// Filling: words_of(target) words in device or host memory. Bit i % 64 of word i / 64 is set if some of the items
  /// add up to i, for i in 0 … target. Bits past those are 0.
  std::uint64_t* sums = nullptr;
  /// Deciding: any sum in target - below … target + above is accepted. The result is the sum nearest to the target. If
  /// two sums are equally near, it is the lower one, or the upper one if upper_first is set.
  std::int64_t below = 0;
  std::int64_t above = 0;
  bool upper_first = false;
  bool early_stop = true;  ///< deciding: stop once the target itself is reached
  int per_thread = 8;      ///< cuda.agglomerated: sums per thread
  /// Deciding: a rung may store copies of its bitmap there.
  impl::subset_sum::Checkpoints* checkpoints = nullptr;
  const SearchProgress* progress = nullptr;
  const SharedSearch* shared = nullptr;  ///< cpu.schroeppel_shamir: the classes of this process; null: all classes
  const gpu::Launch* launch = nullptr;   ///< where on a GPU; null: on the CPU

  // The result of a decision.
  bool reachable = false;
  std::int64_t sum = 0;  ///< the nearest sum, if reachable
  /// Set if checkpoints are requested and no item is larger than the maximum sum of interest:
  std::int64_t used = -1;  ///< first items that suffice: with early_stop the maximum, otherwise the minimum; -1: all
  /// A rung that decides without filling also splits the sum. Some of the first left_items items add up to left_sum,
  /// and some of the others to the rest. -1: it does not.
  std::int64_t left_items = -1;
  std::int64_t left_sum = 0;
};

/// Returns the number of words of a bitmap of the sums 0 … target.
constexpr std::int64_t words_of(std::int64_t target) { return target / 64 + 1; }

/// Fills call.sums by the rung that the policy names, or by the top rung that supports the call. Returns its id; throws
/// Error.
std::string_view run_reachable_sums(const Policy& policy, SubsetSumCall& call);
/// Fills call.sums in device memory, without waiting.
std::string_view run_reachable_sums(const gpu::Policy& policy, SubsetSumCall& call);
gpu::WorkspaceSize reachable_sums_workspace(const gpu::Policy& policy, const SubsetSumCall& call);

}  // namespace upsweep::detail
