// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/reduce_lists.hpp: reductions of lists; the rungs of the CPU differ in kernels and work units.
#pragma once

#include <cstdint>
#include <functional>

#include "cpu/list_kernels.hpp"
#include "cpu/parallel.hpp"
#include "cpu/work_partition.hpp"
#include "upsweep/detail/segmented_reduce_call.hpp"
#include "upsweep/error.hpp"
#include "upsweep/policy.hpp"

namespace upsweep::impl::segmented_reduce {

/// How lists are divided: `count` work units, which workers take one after the other.
struct WorkUnits {
  std::int64_t count;
  std::function<cpu::WorkUnit(std::int64_t unit)> lists;
};

/// Reduces all lists by the kernels on `workers` threads. Lists of more than cpu::kListBlock elements are set aside, and their blocks are
/// then folded by all workers, whoever is free. Of what is bad the first list is reported.
Status reduce_lists(const detail::SegmentedReduceCall& call, const Policy& policy, const cpu::ListKernels& kernels,
                    int workers, const WorkUnits& units) noexcept;

/// A work unit for each worker, of equally many lists.
WorkUnits even_work_units(const detail::SegmentedReduceCall& call, int workers);

/// The number of workers that the call's bytes are worth.
int workers_for(const detail::SegmentedReduceCall& call, int threads);

}  // namespace upsweep::impl::segmented_reduce
