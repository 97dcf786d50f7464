// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/first_rows.hpp: ranks groups by their first rows, with a bit per row.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "cpu/parallel.hpp"
#include "cpu/work_partition.hpp"
#include "system/pages.hpp"

namespace upsweep::impl::group_by {

class FirstRows {
 public:
  /// Makes bits for rows 0 … n - 1. Throws std::bad_alloc.
  explicit FirstRows(std::int64_t n) : bits_(cpu::ceil_div(n, 64)), before_(cpu::ceil_div(n, 64)) {}

  /// Records the first row of a group; each row at most once. May be called from any thread.
  void note(std::int64_t row) {
    std::atomic_ref(bits_[row / 64]).fetch_or(std::uint64_t{1} << row % 64, std::memory_order_relaxed);
  }
  /// Returns the number of groups, after all are recorded.
  std::int64_t count() {
    std::int64_t sum = 0;
    for (std::int64_t w = 0; w < bits_.size(); ++w) {
      before_[w] = sum;
      sum += std::popcount(bits_[w]);
    }
    return sum;
  }
  /// Returns the number of groups before the group with that first row. Must be called after count().
  [[nodiscard]] std::int64_t place_of(std::int64_t row) const {
    const std::uint64_t lower = (std::uint64_t{1} << row % 64) - 1;
    return before_.data()[row / 64] + std::popcount(bits_.data()[row / 64] & lower);
  }

 private:
  cpu::Pages<std::uint64_t> bits_;
  cpu::Pages<std::int64_t> before_;
};

}  // namespace upsweep::impl::group_by
