// SPDX-License-Identifier: Apache-2.0
// reduce/cuda_cub.cu: cub::DeviceReduce, which a CUDA programmer would use instead.
//
// Idea   Blocks fold tiles with vector loads and write a total each; a second kernel folds the totals.
// Cost   n read.
// Needs  Any GPU. Temporary memory as CUB asks for it.
// Limit  A second kernel; the memory.
// From   CUB 3 of the CUDA toolkit.
#include "core/visit.hpp"
#include "reduce/cuda_compiled.cuh"
#include "reduce/rungs.hpp"

namespace upsweep::reduction {

Status cuda_cub(const detail::ReduceCall& call, const Policy&) noexcept {
  return visit_type(call.in_type, [&]<class In>(std::type_identity<In>) { return cub_from<In>(call); });
}

gpu::WorkspaceSize cuda_cub_workspace(const detail::ReduceCall& call) noexcept {
  return visit_type(call.in_type, [&]<class In>(std::type_identity<In>) -> gpu::WorkspaceSize {
    return {.scratch = cub_bytes_from<In>(call)};
  });
}

}  // namespace upsweep::reduction
