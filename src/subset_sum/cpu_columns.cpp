// SPDX-License-Identifier: Apache-2.0
// subset_sum/cpu_columns.cpp: two columns of the table in turn, as no other is ever read again.
//
// Idea   Column j needs column j - 1 only: two columns take turns.
// Cost   2·(S + 1) bytes of memory; per item S bytes written, 2·S read. Work n·S, depth n·S.
// Needs  Any CPU.
// Limit  One core, and a byte for what is one bit. cpu.threads takes every core, cpu.bits a bit per sum.
// From   The usual way to save memory in dynamic programming.
#include "subset_sum/rung.hpp"

#include <utility>

#include "cpu/pages.hpp"
#include "subset_sum/byte_column.hpp"

namespace upsweep::subset_sum {

namespace {

Status run(detail::SubsetSumCall& call, const Policy&) noexcept {
  return fill_or_decide(call, [](detail::SubsetSumCall& fill) -> Status {
    const std::int64_t length = fill.target + 1;
    cpu::Pages<std::uint8_t> column(length);
    cpu::Pages<std::uint8_t> before(length);
    first_column(column.data(), fill);
    for (std::int64_t j = 1; j < fill.n; ++j) {
      if (!go_on(fill, j, fill.n)) return kInterrupted;
      std::swap(column, before);
      next_column(column.data(), before.data(), fill.items[j], 0, length);
    }
    pack(column.data(), fill.target, fill.sums);
    return {};
  });
}

}  // namespace

extern const Rung cpu_columns{
    .info = {.id = "cpu.columns", .idea = "two columns in turn", .needs = "any CPU", .traffic = kByteTraffic},
    .run = run};

}  // namespace upsweep::subset_sum
