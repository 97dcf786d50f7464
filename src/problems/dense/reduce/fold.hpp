// SPDX-License-Identifier: Apache-2.0
// problems/dense/reduce/fold.hpp: folds blocks on any thread in any order, and their totals in the array's order.
#pragma once

#include "cpu/kernels.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/error.hpp"
#include "upsweep/policy.hpp"

namespace upsweep::impl::reduce {

/// Runs the schedule that every rung here uses: `threads` workers (0: every core) on the kernels of `table`.
Status fold(const detail::ReduceCall& call, const Policy& policy, const cpu::KernelTable& table, int threads) noexcept;

}  // namespace upsweep::impl::reduce
