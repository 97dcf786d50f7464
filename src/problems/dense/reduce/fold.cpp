// SPDX-License-Identifier: Apache-2.0
// problems/dense/reduce/fold.cpp: folds blocks to totals in the output type, or exactly in 128 bits for checked sums.
#include "problems/dense/reduce/fold.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

#include "core/visit.hpp"
#include "cpu/fold_range.hpp"
#include "cpu/refusals.hpp"
#include "cpu/tuning/blocks.hpp"
#include "cpu/work_partition.hpp"

namespace upsweep::impl::reduce {
namespace {

using cpu::Int128;
using cpu::Range;

// Blocks have a fixed length, so that the order in which floats are added depends only on the array.
constexpr std::int64_t kBlock = cpu::tuning::kBlocksOrder.reduce_block;

/// Returns the number of workers. Waking a thread takes about as long as the plain loop takes for one block; vectors do
/// more blocks in that time (block_workers()).
int workers_for(const detail::ReduceCall& call, const cpu::KernelTable& table, int threads) {
  const std::int64_t blocks = cpu::ceil_div(call.n, kBlock);
  if (blocks <= 1) return 1;
  const std::int64_t bytes = call.n * std::max(call.in_size, call.out_size);
  const int most = &table == &cpu::kernels_plain()
                       ? cpu::worker_count(threads)
                       : cpu::block_workers(cpu::ceil_div(bytes, cpu::kBlockBytes), threads);
  return static_cast<int>(std::min<std::int64_t>(most, blocks));
}

/// Calls fold(range, total) for every block, on the workers, then use(total) in order. A total has `total_bytes` bytes.
template <class Fold, class Use>
void fold_blocks(std::int64_t n, int workers, std::int64_t total_bytes, const Fold& fold, Use use) {
  using detail::CarryBytes;
  const std::int64_t blocks = cpu::ceil_div(n, kBlock);
  if (workers <= 1) {
    CarryBytes total;
    for (std::int64_t b = 0; b < blocks; ++b) {
      fold(cpu::block_of(n, kBlock, b), total.bytes);
      use(total.bytes);
    }
    return;
  }
  // The buffer is as large as all carries, is aligned for each of them, and is first written by the workers that fold.
  // For 2 GB of int32, one thread takes 1.2 ms to zero a CarryBytes per block if the pages are new (EPYC). 32 cores
  // fold the blocks in 16 ms.
  const auto totals = std::make_unique_for_overwrite<CarryBytes[]>(
      static_cast<std::size_t>(cpu::ceil_div(blocks * total_bytes, CarryBytes::kSize)));
  const auto total_of = [&](std::int64_t b) { return reinterpret_cast<std::byte*>(totals.get()) + b * total_bytes; };
  // [guide: blocks]
  cpu::for_each_block_on(workers, n, kBlock, [&](Range range) {
    fold(range, total_of(range.first / kBlock));
    return kNoIndex;
  });
  for (std::int64_t b = 0; b < blocks; ++b) use(total_of(b));
  // [guide: end]
}

void fold_typed(const detail::ReduceCall& call, const cpu::KernelTable& table, int workers) {
  const cpu::FoldRange fold_range(call, table);
  fold_blocks(call.n, workers, call.carry_size, fold_range,
              [&](const std::byte* total) { fold_range.merge(call.carry, total); });
  if (!is_integer(call.out_type)) return;
  // Merging counts how often sums of blocks wrap, not how often sums of elements do. So the count has no meaning here.
  visit_type(call.out_type,
             [&]<class Out>(std::type_identity<Out>) { static_cast<ScanCarry<Out>*>(call.carry)->wraps = 0; });
}

/// Computes the sum in 128 bits. The carry keeps the bits that do not fit, because later chunks may cancel them.
template <class Out>
void fold_checked(const detail::ReduceCall& call, const cpu::KernelTable& table, int workers) {
  auto& carry = *static_cast<ScanCarry<Out>*>(call.carry);
  constexpr Int128 kRange = static_cast<Int128>(1) << (8 * sizeof(Out));
  const auto exact_sum = table.exact_sum[cpu::at(call.in_type)];
  const auto* in = static_cast<const std::byte*>(call.in);
  Int128 sum = carry.any ? static_cast<Int128>(carry.total) + carry.wraps * kRange : 0;
  fold_blocks(
      call.n, workers, sizeof(Int128),
      [&](Range range, std::byte* total) {
        *reinterpret_cast<Int128*>(total) = exact_sum(in + range.first * call.in_size, range.count);
      },
      [&](const std::byte* total) { sum += *reinterpret_cast<const Int128*>(total); });
  if (call.n == 0) return;
  carry = carry_of(static_cast<Out>(sum));
  carry.wraps = static_cast<std::int64_t>((sum - static_cast<Int128>(carry.total)) / kRange);
}

}  // namespace

Status fold(const detail::ReduceCall& call, const Policy& policy, const cpu::KernelTable& table, int threads) noexcept
    try {
  const int workers = workers_for(call, table, threads);
  if (!cpu::is_checked(call, policy)) {
    fold_typed(call, table, workers);
    return {};
  }
  visit_type(call.out_type, [&]<class Out>(std::type_identity<Out>) {
    if constexpr (std::is_integral_v<Out>) fold_checked<Out>(call, cpu::kernels(policy.isa), workers);
  });
  return {};
} catch (const std::bad_alloc&) {
  return {Code::out_of_memory};
}

}  // namespace upsweep::impl::reduce
