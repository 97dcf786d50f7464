// SPDX-License-Identifier: Apache-2.0
// problems/dense/reduce/fold.hpp: folds an array block by block: blocks by any thread in any order, their totals in the array's order.
#pragma once

#include "cpu/kernels.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/error.hpp"
#include "upsweep/policy.hpp"

namespace upsweep::impl::reduce {

/// The schedule of every rung here: `threads` workers (0: every core) on the kernels of `table`.
Status fold(const detail::ReduceCall& call, const Policy& policy, const cpu::KernelTable& table, int threads) noexcept;

}  // namespace upsweep::impl::reduce
