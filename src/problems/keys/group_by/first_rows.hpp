// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/first_rows.hpp: ranks groups by their first rows: a bit for each row, and how many are set before it.
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
  /// Of rows 0 … n - 1. Throws std::bad_alloc.
  explicit FirstRows(std::int64_t n) : bits_(cpu::ceil_div(n, 64)), before_(cpu::ceil_div(n, 64)) {}

  /// Notes the first row of a group, which no other has. From any thread.
  void note(std::int64_t row) {
    std::atomic_ref(bits_[row / 64]).fetch_or(std::uint64_t{1} << row % 64, std::memory_order_relaxed);
  }
  /// Once all are noted: how many groups there are.
  std::int64_t count() {
    std::int64_t sum = 0;
    for (std::int64_t w = 0; w < bits_.size(); ++w) {
      before_[w] = sum;
      sum += std::popcount(bits_[w]);
    }
    return sum;
  }
  /// After count(): how many groups come before the one of that first row.
  [[nodiscard]] std::int64_t place_of(std::int64_t row) const {
    const std::uint64_t lower = (std::uint64_t{1} << row % 64) - 1;
    return before_.data()[row / 64] + std::popcount(bits_.data()[row / 64] & lower);
  }

 private:
  cpu::Pages<std::uint64_t> bits_;
  cpu::Pages<std::int64_t> before_;
};

}  // namespace upsweep::impl::group_by
