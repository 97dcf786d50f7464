// SPDX-License-Identifier: Apache-2.0
// problems/dense/scan/cub_kernels.cu: cuda.cub for elements of one type, UPSWEEP_ELEMENT; compiled once for each.
#include <algorithm>

#include "core/visit.hpp"
#include "problems/dense/scan/cuda_compiled.cuh"
#include "problems/dense/scan/cuda_cub.cuh"

namespace upsweep::impl::scan {

using T = UPSWEEP_ELEMENT;

template <>
Status cub_from<T>(const detail::ScanCall& call) noexcept {
  return visit_operator<T>(call.op, [&](auto op) { return run_cub<T>(call, gpu::tuned(op)); });
}

template <>
std::int64_t cub_bytes_from<T>(std::int64_t n) noexcept {
  // The tile length is from CUB's tuning for sums, and from its default for all other operators.
  return std::max(cub_bytes<T>(n, gpu::tuned(Add{})), cub_bytes<T>(n, Min{}));
}

}  // namespace upsweep::impl::scan
