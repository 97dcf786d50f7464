// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/reduce_lists.hpp: reductions of ranges of lists; every rung of the CPU is an order in which ranges are done.
#pragma once

#include <cstdint>
#include <functional>

#include "cpu/list_kernels.hpp"
#include "cpu/parallel.hpp"
#include "upsweep/detail/segmented_reduce_call.hpp"
#include "upsweep/error.hpp"
#include "upsweep/policy.hpp"

namespace upsweep::impl::segmented_reduce {

/// How lists are shared out: ranges of them, which workers take one after the other.
struct Ranges {
  std::int64_t count;
  std::function<cpu::Share(std::int64_t range)> lists;
};

/// Reduces all lists by the kernels on so many workers. Lists of more than cpu::kListBlock elements are set aside, and their blocks are
/// then folded by all workers, whoever is free. Of what is bad the first list is reported.
Status reduce_lists(const detail::SegmentedReduceCall& call, const Policy& policy, const cpu::ListKernels& kernels,
                    int workers, const Ranges& ranges) noexcept;

/// As many ranges as workers, of as many lists each.
Ranges even_ranges(const detail::SegmentedReduceCall& call, int workers);

/// How many workers the call's bytes are worth.
int workers_for(const detail::SegmentedReduceCall& call, int threads);

}  // namespace upsweep::impl::segmented_reduce
