// SPDX-License-Identifier: Apache-2.0
// aggregate/blocks.hpp: the rows cut into blocks that threads take in any order: sums modulo 2^64 do not depend on it.
#pragma once

#include <atomic>
#include <cstdint>

#include "cpu/chained.hpp"
#include "cpu/kernels.hpp"
#include "upsweep/detail/aggregate_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep::aggregate {

/// Rows of a block: 128 KB of keys, 6 us of a core, a tenth of which it takes to begin one; and enough of them in six
/// million rows that no core waits long for the last.
inline constexpr std::int64_t kBlockRows = std::int64_t{1} << 15;

/// Every block by `kernel`, over `threads` threads (0: every core).
inline Status sum_blocks(const detail::AggregateCall& call, cpu::SelectSum kernel, int threads) noexcept {
  std::atomic<std::uint64_t> sum{0};
  cpu::for_each_block(call.n, kBlockRows, threads, [&](cpu::Range range) {
    const std::uint64_t part =
        kernel(call.key + range.first, call.quantity + range.first, call.price + range.first, range.count, call.limit);
    sum.fetch_add(part, std::memory_order_relaxed);  // it is read when the threads are done
    return kNoIndex;
  });
  *call.out = static_cast<std::int64_t>(sum.load(std::memory_order_relaxed));
  return {};
}

}  // namespace upsweep::aggregate
