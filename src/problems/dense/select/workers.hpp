// SPDX-License-Identifier: Apache-2.0
// problems/dense/select/workers.hpp: the number of threads that a selection is worth.
#pragma once

#include <cstdint>

#include "cpu/work_partition.hpp"
#include "upsweep/detail/select_call.hpp"

namespace upsweep::impl::select {

/// Returns the number of threads, by the bytes that the call moves.
inline int workers_of(const detail::SelectCall& call, int threads) {
  std::int64_t bytes = 2 * call.lists.count * std::int64_t{sizeof(std::int64_t)} + call.mask.length;
  for (const SelectColumn& column : call.columns) bytes += call.mask.length * column.element_size;
  return cpu::block_workers(cpu::ceil_div(bytes, cpu::kBlockBytes), threads);
}

}  // namespace upsweep::impl::select
