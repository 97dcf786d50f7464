// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_scan/lookahead_kernels.cu: cuda.lookahead for one element type, UPSWEEP_ELEMENT; compiled
// once per type.
#include "problems/lists/segmented_scan/cuda_kernels.hpp"
#include "problems/lists/segmented_scan/cuda_lookahead.cuh"
#include "upsweep/detail/cuda_status.cuh"

namespace upsweep::impl::segmented_scan {

using In = UPSWEEP_ELEMENT;

template <>
Status lookahead_from<In>(const detail::SegmentedScanCall& call) noexcept {
  return with_operator<In>(call, [&]<class T, class Op>(std::type_identity<T>, Op op) {
    return gpu::status_of(launch_lookahead<ListProblem<In, T, Op>>(call, op));
  });
}

template <>
gpu::WorkspaceSize lookahead_memory<In>(const detail::SegmentedScanCall& call) noexcept {
  gpu::WorkspaceSize size;
  (void)with_operator<In>(call, [&]<class T, class Op>(std::type_identity<T>, Op) -> Status {
    size = lookahead_workspace<ListProblem<In, T, Op>>(call.n);
    return {};
  });
  return size;
}

}  // namespace upsweep::impl::segmented_scan
