// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/device_warp_sums.cuh: a warp's sums of groups in shared memory, which its lanes add to without atomics, in the order of
// their rows, or where all lanes have one sum, as a tree: always alike.
#pragma once

#include <cstdint>
#include <type_traits>

#include "upsweep/detail/tuning/keys.hpp"
#include "upsweep/types.hpp"

namespace upsweep::impl::group_by {

/// What sums of values are added up in: integers in 64 bits, where they wrap around as their sum does.
template <class In>
using WarpTotal = std::conditional_t<std::is_floating_point_v<In>, In, std::uint64_t>;

/// What a sum begins with. Of floats -0.0, as of Add::identity(), which is the host's.
template <class T>
__device__ T no_sum() {
  if constexpr (std::is_floating_point_v<T>) return static_cast<T>(-0.0);
  return T{0};
}

/// Rows of a lane that are done at once, so that their steps overlap.
inline constexpr int kLaneRows = gpu::tuning::kFewOrder.lane_rows;

/// A row of each lane, or none.
template <class In>
struct LaneRow {
  In value;
  int at;  ///< which sum it is added to
  bool is_row;
};

template <class In>
class WarpSums {
 public:
  using Total = WarpTotal<In>;

  /// `votes`: kLaneRows times so many words, a power of two, all zero.
  __device__ WarpSums(Total* totals, std::uint32_t* votes, int vote_words)
      : totals_(totals), votes_(votes), vote_words_(vote_words), lane_(threadIdx.x % 32) {}

  // [guide: lanes]
  /// For all lanes of the warp. The first rows of all lanes come before the second ones.
  __device__ void add(const LaneRow<In> (&rows)[kLaneRows]) {
    bool is_one[kLaneRows];
    std::uint32_t same[kLaneRows];
#pragma unroll
    for (int r = 0; r < kLaneRows; ++r) is_one[r] = are_one(rows[r]);
    vote(rows, is_one, same);
#pragma unroll
    for (int r = 0; r < kLaneRows; ++r) {
      if (is_one[r]) {
        add_all(rows[r]);
        continue;
      }
      const int before = rows[r].is_row ? __popc(same[r] & ((1U << lane_) - 1)) : -1;
      const int turns = __reduce_max_sync(~0U, before + 1);
      for (int turn = 0; turn < turns; ++turn) {
        if (before == turn) totals_[rows[r].at] += static_cast<Total>(rows[r].value);
        __syncwarp();  // who comes next sees this sum
      }
    }
  }
  // [guide: end]

 private:
  /// Whether all lanes have a row of one sum.
  __device__ static bool are_one(const LaneRow<In>& row) {
    const int first = __shfl_sync(~0U, row.at, 0);  // by all lanes, whether they have a row or not
    return __all_sync(~0U, row.is_row && row.at == first);
  }
  /// Leaves which lanes add to the same sum; a few others among them do no harm but take a turn. By bits in shared memory: to
  /// compare lanes by __match_any_sync() takes as many steps as there are sums.
  __device__ void vote(const LaneRow<In> (&rows)[kLaneRows], const bool (&is_one)[kLaneRows],
                       std::uint32_t (&same)[kLaneRows]) {
#pragma unroll
    for (int r = 0; r < kLaneRows; ++r) {
      if (rows[r].is_row && !is_one[r]) atomicOr(word(rows[r], r), 1U << lane_);
    }
    __syncwarp();  // all have voted
#pragma unroll
    for (int r = 0; r < kLaneRows; ++r) same[r] = *const_cast<volatile std::uint32_t*>(word(rows[r], r));
    __syncwarp();  // all have read
#pragma unroll
    for (int r = 0; r < kLaneRows; ++r) *word(rows[r], r) = 0;
    __syncwarp();  // all are zero before the next vote
  }
  __device__ std::uint32_t* word(const LaneRow<In>& row, int r) const {
    return votes_ + r * vote_words_ + (row.at & (vote_words_ - 1));
  }
  __device__ void add_all(const LaneRow<In>& row) {
    auto x = static_cast<Total>(row.value);
    for (int step = 16; step > 0; step /= 2) x += __shfl_down_sync(~0U, x, step);
    if (lane_ == 0) totals_[row.at] += x;
    __syncwarp();  // who comes next sees this sum
  }

  Total* totals_;
  std::uint32_t* votes_;
  int vote_words_;
  std::uint32_t lane_;
};

/// Whether n values of such a magnitude may not fit 64 bits.
struct SizeCheck {
  std::uint64_t least_large;  ///< magnitudes from here on are too large; 0: none is

  /// Of a call that checks its sums, of n values.
  static SizeCheck of(bool checked, std::int64_t n) {
    if (!checked) return {0};
    std::uint64_t least = std::uint64_t{1} << 63;
    for (std::int64_t rows = 1; rows < n; rows *= 2) least /= 2;
    return {least};
  }
  template <class In>
  __device__ bool is_large(In value) const {
    if constexpr (std::is_integral_v<In> && sizeof(In) == 8) {
      auto magnitude = static_cast<std::uint64_t>(value);
      if constexpr (std::is_signed_v<In>) magnitude = value < 0 ? ~magnitude : magnitude;
      return least_large > 0 && magnitude >= least_large;
    }
    return false;
  }
};

}  // namespace upsweep::impl::group_by
