// SPDX-License-Identifier: Apache-2.0
// problems/dense/select/workers.hpp: how many threads a selection is worth.
#pragma once

#include <cstdint>

#include "cpu/work_partition.hpp"
#include "upsweep/detail/select_call.hpp"

namespace upsweep::impl::select {

/// By the bytes that it moves.
inline int workers_of(const detail::SelectCall& call, int threads) {
  std::int64_t bytes = 2 * call.lists.count * std::int64_t{sizeof(std::int64_t)} + call.mask.length;
  for (const SelectColumn& column : call.columns) bytes += call.mask.length * column.element_size;
  return cpu::block_workers(cpu::ceil_div(bytes, cpu::kBlockBytes), threads);
}

}  // namespace upsweep::impl::select
