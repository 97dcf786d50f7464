// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/byte_column.hpp: a column of the table, a byte per sum: computes it from another, and packs it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "cpu/parallel.hpp"
#include "cpu/tuning/subset_sum.hpp"
#include "cpu/work_partition.hpp"
#include "problems/subset_sum/bitmap.hpp"
#include "system/pages.hpp"

namespace upsweep::impl::subset_sum {

/// Writes the column of only the first item: sums 0 and the item. The bytes must be zero before.
inline void first_column(std::uint8_t* column, const detail::SubsetSumCall& call) {
  column[0] = 1;
  if (call.n > 0 && call.items[0] <= call.target) column[call.items[0]] = 1;
}

/// Writes rows first … last - 1 of an item's column, from those of the column before it.
inline void next_column(std::uint8_t* __restrict column, const std::uint8_t* before, std::int64_t item,
                        std::int64_t first, std::int64_t last) {
  const std::int64_t middle = std::clamp(item, first, last);  // rows below it are copied, the others may use the item
  std::copy(before + first, before + middle, column + first);
  for (std::int64_t i = middle; i < last; ++i) column[i] = before[i] | before[i - item];
}

/// The bitmap of a column of target + 1 bytes.
inline void pack(const std::uint8_t* column, std::int64_t target, Word* sums) {
  for (std::int64_t w = 0; w < words_of(target); ++w) {
    const std::int64_t count = std::min<std::int64_t>(64, target + 1 - 64 * w);
    Word word = 0;
    for (std::int64_t b = 0; b < count; ++b) word |= Word{column[64 * w + b]} << b;
    sums[w] = word;
  }
}

// Minimum number of rows of a column per thread.
inline constexpr std::int64_t kLeastShare = cpu::tuning::kSubsetWork.column_rows;

/// Fills two columns in turn; each thread fills a share of each column.
inline Status run_in_turns(detail::SubsetSumCall& call, int threads) noexcept {
  return fill_or_decide(call, [&](detail::SubsetSumCall& fill) -> Status {
    const std::int64_t length = fill.target + 1;
    cpu::Pages<std::uint8_t> column(length);
    cpu::Pages<std::uint8_t> before(length);
    first_column(column.data(), fill);
    for (std::int64_t j = 1; j < fill.n; ++j) {
      if (!go_on(fill, j, fill.n)) return kInterrupted;
      std::swap(column, before);
      cpu::for_each_work_unit(length, kLeastShare, threads, [&](cpu::WorkUnit unit) {
        next_column(column.data(), before.data(), fill.items[j], unit.first, unit.last);
      });
    }
    pack(column.data(), fill.target, fill.sums);
    return {};
  });
}

}  // namespace upsweep::impl::subset_sum
