// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/reduce_lists.cpp: chooses the algorithm that reduces the lists of a call.
#include "problems/lists/segmented_reduce/reduce_lists.hpp"

#include <new>

#include "core/lists.hpp"
#include "core/reducer_kind.hpp"
#include "cpu/list_values.hpp"
#include "cpu/refusals.hpp"
#include "cpu/work_partition.hpp"
#include "problems/lists/segmented_reduce/algorithms.hpp"

namespace upsweep::impl::segmented_reduce {
namespace {

std::int64_t reduce_all(const Job& job, const Policy& policy) {
  switch (kind_of(job.call.reducer)) {
    case ReducerKind::length:
      return count_elements(job);
    case ReducerKind::boolean:
    case ReducerKind::nonzero:
      return reduce_bits(job);
    case ReducerKind::position:
      return pick_positions(job);
    case ReducerKind::fold:
      break;
  }
  if (cpu::is_checked(job.call, policy)) return sum_checked(job);
  const bool is_custom = job.call.out_type == Type::custom;
  return is_custom && job.call.valid.is_given() ? fold_between_nulls(job) : fold_values(job);
}

/// Returns the error of a list that was found bad.
Code code_of(const detail::SegmentedReduceCall& call, std::int64_t list) {
  const Code code = check_list(call.lists, list, call.n);
  return code == Code::ok ? Code::overflow : code;
}

}  // namespace

int workers_for(const detail::SegmentedReduceCall& call, int threads) {
  return cpu::list_workers(call.lists.count, call.n * call.in_size, threads);
}

WorkUnits even_work_units(const detail::SegmentedReduceCall& call, int workers) {
  return {workers, [lists = call.lists.count, workers](std::int64_t unit) {
            return cpu::work_unit_of(lists, static_cast<int>(unit), workers);
          }};
}

Status reduce_lists(const detail::SegmentedReduceCall& call, const Policy& policy, const cpu::ListKernels& kernels,
                    int workers, const WorkUnits& units) noexcept try {
  const std::int64_t bad = reduce_all({call, kernels, workers, units}, policy);
  if (bad == kNoIndex) return {};
  return {code_of(call, bad), bad};
} catch (const std::bad_alloc&) {
  return {Code::out_of_memory};
}

}  // namespace upsweep::impl::segmented_reduce
