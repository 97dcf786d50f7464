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

/// Called now and then, by one thread at a time, with the share of the work that is done, 0 to 1; false: stop. What it
/// throws ends the search too, and is thrown by the call.
using SearchProgress = std::function<bool(double done)>;

/// A search by remainders that several processes do, each some of the classes.
struct SharedSearch {
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t kFailed = -1;  ///< ends the search of all

  int process = 0;  ///< of 0 … processes - 1
  int processes = 1;
  /// Called equally often by all of them, with the lowest class in which this one has found a solution, kNone or kFailed;
  /// returns the least that any was called with. Does not throw.
  std::function<std::int64_t(std::int64_t found)> least;
};

/// Either fills `sums`, or, where that is null, decides.
struct SubsetSumCall {
  const std::int64_t* items = nullptr;  ///< each > 0; the host's, for rungs on a GPU too
  std::int64_t n = 0;
  std::int64_t target = 0;  ///< >= 0
  /// Filling: words_of(target) words in device memory or the host's. Bit i % 64 of word i / 64 says whether some of the
  /// items add up to i, for i in 0 … target; bits past those are 0.
  std::uint64_t* sums = nullptr;
  /// Deciding: a sum in target - below … target + above will do; the nearest to the target, of two the lower one, or the
  /// upper one.
  std::int64_t below = 0;
  std::int64_t above = 0;
  bool upper_first = false;
  bool early_stop = true;  ///< deciding: stop once the target itself is reached
  int per_thread = 8;      ///< cuda.agglomerated: sums per thread
  /// Deciding: a rung may keep copies of its bitmap there.
  impl::subset_sum::Checkpoints* checkpoints = nullptr;
  const SearchProgress* progress = nullptr;
  const SharedSearch* shared = nullptr;  ///< cpu.schroeppel_shamir: which classes are this process's; null: all
  const gpu::Launch* launch = nullptr;   ///< where on a GPU; null: on the CPU

  // The result of a decision.
  bool reachable = false;
  std::int64_t sum = 0;  ///< the nearest one, where reachable
  /// Where checkpoints are asked for, and none of the items is beyond what they may add up to:
  std::int64_t used = -1;  ///< so many items suffice, with early_stop the maximum, else the minimum; -1: all
  /// A rung that decides without filling also says how the sum is made up: some of the first left_items items add up to
  /// left_sum, some of the others to the rest. -1: it does not say.
  std::int64_t left_items = -1;
  std::int64_t left_sum = 0;
};

/// Words of a bitmap of the sums 0 … target.
constexpr std::int64_t words_of(std::int64_t target) { return target / 64 + 1; }

/// Fills call.sums by the rung that the policy names, or the top one that fits; returns its id and throws Error.
std::string_view run_reachable_sums(const Policy& policy, SubsetSumCall& call);
/// The same in device memory, without waiting.
std::string_view run_reachable_sums(const gpu::Policy& policy, SubsetSumCall& call);
gpu::WorkspaceSize reachable_sums_workspace(const gpu::Policy& policy, const SubsetSumCall& call);

}  // namespace upsweep::detail
