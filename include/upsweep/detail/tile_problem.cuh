// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/tile_problem.cuh: the requirements on a Problem of tile_pipeline.cuh, as a concept.
//
// Every problem has all members of TileProblem. No member has a default, so that a misspelled one is an error. Two
// switches require more members:
//   kHasHeads    the scan restarts at heads, elements that have a bit in `heads`: then HeadsProblem
//   kShardPhase  the array is one of several shards, each on its own device: then ShardProblem
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "upsweep/detail/device.cuh"

namespace upsweep::gpu::detail {

/// The work of a launch.
enum class ShardPhase : std::uint8_t {
  whole,   ///< scans an array that is not a shard
  totals,  ///< publishes the aggregates of all tiles of a shard, and keeps the launch's tag
  scan     ///< scans a shard, whose aggregates are published under that tag
};
/// The fold of rows of 32 values: one value per lane if the operator commutes, otherwise one value on lane 0.
template <class T>
struct RowsBefore {
  T lanes[32];
  int count;  ///< the first `count` lanes have a value; 0: no row precedes
};

/// A bit per element. Bit i belongs to element i.
template <int kCount>
struct HeadBits {
  static constexpr int kWords = (kCount + 31) / 32;
  std::uint32_t words[kWords];

  __device__ __forceinline__ bool operator[](int i) const { return ((words[i / 32] >> (i % 32)) & 1) != 0; }
  [[nodiscard]] __device__ __forceinline__ bool any() const {
    std::uint32_t all = 0;
#pragma unroll
    for (int w = 0; w < kWords; ++w) all |= words[w];
    return all != 0;
  }
};

// --------------------------------------------------------------------------------------------------------- the concept

/// A problem whose scan restarts at heads. Its operator commutes. Lanes, warps and tiles pass on a Carry: a value, and
/// whether there is a head before it.
template <class P>
concept HeadsProblem =
    P::kCommutes && requires(const P& problem, const typename P::Carry& carry, const typename P::Join& join,
                             typename P::T (&items)[1], const HeadBits<1>& heads, int lane) {
      requires std::constructible_from<typename P::Join, const typename P::Op&>;
      { join(carry, carry) } -> std::same_as<typename P::Carry>;
      { problem.heads } -> std::convertible_to<const unsigned*>;   // a bit for each element, of whole tiles
      { problem.unwritten } -> std::convertible_to<std::int64_t>;  // elements of the first tile that have no result
      { problem.fold(items, heads) } -> std::same_as<typename P::Carry>;  // of a lane's elements
      problem.scan(carry, items, heads, true);                            // elements become results
      { problem.join_rows(carry, true, carry, lane, lane) } -> std::same_as<typename P::Carry>;
      { problem.fold_row(carry) } -> std::same_as<typename P::Carry>;
    };

/// A problem for a phase of a shard.
template <class P>
concept ShardProblem = requires(const P& problem) {
  { problem.before } -> std::convertible_to<const RowsBefore<typename P::T>*>;  // null: nothing precedes the shard
};

template <class P>
concept TileProblem = requires(const P& problem, const typename P::In& element) {
  // Elements In are converted to T, and scanned by Op as T. The concept cannot require that Op is callable: the host
  // does not see the call operator of a device lambda.
  requires std::is_trivially_copyable_v<typename P::In> && std::is_trivially_copyable_v<typename P::T>;
  { problem.op } -> std::convertible_to<typename P::Op>;
  // The number of arrays that are read, 1 or 2. For two arrays, item() makes the element that is scanned.
  requires P::kInputs == 1 || requires {
    requires P::kInputs == 2;
    { problem.item(element, element) } -> std::convertible_to<typename P::T>;
  };
  // A tile: the maximum number of warps that scan it, and 16-byte units of input for each lane.
  requires P::kWarps > 0 && P::kUnits > 0;
  // The number of bulk copies of a block that run at the same time.
  requires P::kLoadsInFlight > 0 && P::kStoresInFlight > 0;
  // Whether an exclusive scan also writes the total, after the last element.
  requires std::same_as<decltype(P::kEndsWithTotal), const bool>;
  // Whether the operator accepts only valid elements, also past the end.
  requires std::same_as<decltype(P::kFillsTail), const bool>;
  // Whether the operator commutes: then rows of tiles are folded lane by lane.
  requires std::same_as<decltype(P::kCommutes), const bool>;
  requires std::same_as<decltype(P::kHasHeads), const bool> && (!P::kHasHeads || HeadsProblem<P>);
  requires std::same_as<decltype(P::kShardPhase), const ShardPhase> &&
               (P::kShardPhase == ShardPhase::whole || ShardProblem<P>);
};

/// The type that lanes, warps and tiles pass on, and the function that joins two of them. They are the result type and
/// the operator, unless the scan has heads.
template <class Problem>
struct CarryOf {
  using type = typename Problem::T;
  using Join = typename Problem::Op;
};
template <class Problem>
  requires(Problem::kHasHeads)
struct CarryOf<Problem> {
  using type = typename Problem::Carry;
  using Join = typename Problem::Join;
};

}  // namespace upsweep::gpu::detail
