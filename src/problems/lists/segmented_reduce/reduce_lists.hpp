// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/reduce_lists.hpp: reduces lists; the CPU rungs differ in kernels and work units.
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

/// The division of the lists into `count` work units, which workers process one after the other.
struct WorkUnits {
  std::int64_t count;
  std::function<cpu::WorkUnit(std::int64_t unit)> lists;
};

/// Reduces all lists with the kernels on `workers` threads. Lists of more than cpu::kListBlock elements are set aside;
/// then all workers fold their blocks dynamically. If several lists are bad, the first one is reported.
Status reduce_lists(const detail::SegmentedReduceCall& call, const Policy& policy, const cpu::ListKernels& kernels,
                    int workers, const WorkUnits& units) noexcept;

/// Returns one work unit per worker, with equal numbers of lists.
WorkUnits even_work_units(const detail::SegmentedReduceCall& call, int workers);

/// Returns the number of workers that is worthwhile for the call's bytes.
int workers_for(const detail::SegmentedReduceCall& call, int threads);

}  // namespace upsweep::impl::segmented_reduce
