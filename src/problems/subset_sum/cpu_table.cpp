// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/cpu_table.cpp: the table, with a column per item and a byte per sum, filled column by column.
//
// Idea   F[i, j]: some of the first j items add up to i. F[i, j] is F[i, j - 1] or F[i - item j, j - 1].
// Cost   n·(S + 1) bytes of memory, written once and read twice. Work n·S, depth n·S.
// Needs  Any CPU.
// Limit  Memory: every column is kept although only the previous one is read. cpu.columns keeps two.
// From   subsetSum of "Notes on GPU Programming with Julia" (E. Aubanel 2021): 274.5 ms for ten items and S =
//        25,000,000.
#include "problems/subset_sum/byte_column.hpp"
#include "problems/subset_sum/rung.hpp"
#include "system/pages.hpp"

namespace upsweep::impl::subset_sum {

namespace {

Status run(detail::SubsetSumCall& call, const Policy&) noexcept {
  return fill_or_decide(call, [](detail::SubsetSumCall& fill) -> Status {
    const std::int64_t length = fill.target + 1;
    cpu::Pages<std::uint8_t> table(std::max<std::int64_t>(fill.n, 1) * length);
    // [guide: columns]
    std::uint8_t* column = table.data();
    first_column(column, fill);
    for (std::int64_t j = 1; j < fill.n; ++j) {
      if (!go_on(fill, j, fill.n)) return kInterrupted;
      next_column(column + length, column, fill.items[j], 0, length);
      column += length;
    }
    // [guide: end]
    pack(column, fill.target, fill.sums);
    return {};
  });
}

}  // namespace

extern const Rung cpu_table{.info = {.id = "cpu.table",
                                     .idea = "a column of bytes per item",
                                     .needs = "any CPU",
                                     .traffic = kByteTraffic,
                                     .cost = "n·S, n·S",
                                     .limit = "memory: every column is kept",
                                     .threads = Threads::one},
                            .run = run};

}  // namespace upsweep::impl::subset_sum
