// SPDX-License-Identifier: Apache-2.0
// reduce/fold.cpp: the block totals of a reduction: in the output type, or exact in 128 bits for checked sums.
#include "reduce/fold.hpp"

#include <algorithm>
#include <cstddef>
#include <new>
#include <vector>

#include "core/visit.hpp"
#include "cpu/fold_piece.hpp"
#include "cpu/parallel.hpp"
#include "cpu/refusals.hpp"

namespace upsweep::reduction {
namespace {

using cpu::Int128;
using cpu::Range;

// Blocks have a fixed length, so that the order in which floats are added depends on nothing but the array. 2^16
// elements keep a thread busy for some 10 us, and a thousand blocks even out what threads lose to each other.
constexpr std::int64_t kBlock = std::int64_t{1} << 16;

/// total(range) for every block, spread over the workers, then use(total) in order.
template <class Total, class TotalOf, class Use>
void fold_blocks(std::int64_t n, int threads, TotalOf total_of, Use use) {
  const std::int64_t blocks = cpu::parts(n, kBlock);
  const int workers = static_cast<int>(std::min<std::int64_t>(cpu::worker_count(threads), blocks));
  if (workers <= 1) {
    for (std::int64_t b = 0; b < blocks; ++b) use(total_of(cpu::part_of(n, kBlock, b)));
    return;
  }
  std::vector<Total> totals(static_cast<std::size_t>(blocks));
  cpu::for_each_share(blocks, workers, [&](std::int64_t b) {
    totals[static_cast<std::size_t>(b)] = total_of(cpu::part_of(n, kBlock, b));
  });
  for (const Total& total : totals) use(total);
}

void fold_typed(const detail::ReduceCall& call, const cpu::KernelTable& table, int threads) {
  const cpu::FoldPiece fold_piece(call, table);
  const auto total_of = [&](Range range) {
    detail::CarryBytes total;
    fold_piece(range, total.bytes);
    return total;
  };
  fold_blocks<detail::CarryBytes>(call.n, threads, total_of,
                                  [&](const detail::CarryBytes& total) { fold_piece.merge(call.carry, total.bytes); });
}

/// The sum in 128 bits; the carry keeps what of it does not fit, as later parts may bring it back.
template <class Out>
void fold_checked(const detail::ReduceCall& call, const cpu::KernelTable& table, int threads) {
  auto& carry = *static_cast<ScanCarry<Out>*>(call.carry);
  constexpr Int128 kRange = static_cast<Int128>(1) << (8 * sizeof(Out));
  const auto exact_sum = table.exact_sum[cpu::at(call.in_type)];
  const auto* in = static_cast<const std::byte*>(call.in);
  Int128 sum = carry.any ? static_cast<Int128>(carry.total) + carry.wraps * kRange : 0;
  fold_blocks<Int128>(
      call.n, threads, [&](Range range) { return exact_sum(in + range.first * call.in_size, range.count); },
      [&](Int128 total) { sum += total; });
  if (call.n == 0) return;
  carry = carry_of(static_cast<Out>(sum));
  carry.wraps = static_cast<std::int64_t>((sum - static_cast<Int128>(carry.total)) / kRange);
}

}  // namespace

Status fold(const detail::ReduceCall& call, const Policy& policy, const cpu::KernelTable& table, int threads) noexcept
    try {
  if (!cpu::is_checked(call, policy)) {
    fold_typed(call, table, threads);
    return {};
  }
  visit_type(call.out_type, [&]<class Out>(std::type_identity<Out>) {
    if constexpr (std::is_integral_v<Out>) fold_checked<Out>(call, cpu::kernels(policy.isa), threads);
  });
  return {};
} catch (const std::bad_alloc&) {
  return {Code::out_of_memory};
}

}  // namespace upsweep::reduction
