// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/device_warp_sums.cuh: a warp's sums of groups in shared memory. Lanes add without atomics, in
// the order of their rows, or by a tree if all lanes have the same group: always the same bits.
#pragma once

#include <cstdint>
#include <type_traits>

#include "upsweep/detail/tuning/keys.hpp"
#include "upsweep/types.hpp"

namespace upsweep::impl::group_by {

/// The type in which values are added up. Integers use 64 bits, in which overflow wraps as in their sum.
template <class In>
using WarpTotal = std::conditional_t<std::is_floating_point_v<In>, In, std::uint64_t>;

/// Returns the value that a sum begins with. For floats it is -0.0, as in Add::identity(), which runs only on the host.
template <class T>
__device__ T no_sum() {
  if constexpr (std::is_floating_point_v<T>) return static_cast<T>(-0.0);
  return T{0};
}

/// Rows of a lane that are processed together, so that their steps overlap.
inline constexpr int kLaneRows = gpu::tuning::kFewOrder.lane_rows;

/// One row of a lane, or none.
template <class In>
struct LaneRow {
  In value;
  int at;  ///< the sum that it is added to
  bool is_row;
};

template <class In>
class WarpSums {
 public:
  using Total = WarpTotal<In>;

  /// `votes` has kLaneRows * vote_words words, all zero. vote_words is a power of two.
  __device__ WarpSums(Total* totals, std::uint32_t* votes, int vote_words)
      : totals_(totals), votes_(votes), vote_words_(vote_words), lane_(threadIdx.x % 32) {}

  // [guide: lanes]
  /// Adds rows; all lanes of the warp must call. The first rows of all lanes are added before the second ones.
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
        __syncwarp();  // the next lane sees this sum
      }
    }
  }
  // [guide: end]

 private:
  /// Returns whether all lanes have a row of the same sum.
  __device__ static bool are_one(const LaneRow<In>& row) {
    const int first = __shfl_sync(~0U, row.at, 0);  // all lanes must call, with or without a row
    return __all_sync(~0U, row.is_row && row.at == first);
  }
  /// Determines which lanes add to the same sum. A few other lanes among them do no harm, but each takes a turn. Uses
  /// bits in shared memory: __match_any_sync() takes one step per distinct sum to compare lanes.
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
    __syncwarp();  // all lanes see this sum
  }

  Total* totals_;
  std::uint32_t* votes_;
  int vote_words_;
  std::uint32_t lane_;
};

/// Checks whether the sum of n values of a given magnitude may not fit 64 bits.
struct SizeCheck {
  std::uint64_t least_large;  ///< this magnitude and larger ones are too large; 0: no check

  /// Returns the check for a call on n values; `checked` is whether the call checks its sums.
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
