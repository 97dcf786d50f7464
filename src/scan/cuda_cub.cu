// SPDX-License-Identifier: Apache-2.0
// scan/cuda_cub.cu: cub::DeviceScan, which a CUDA programmer would use instead.
//
// Idea   One pass with decoupled look-back: a tile that waits for its prefix walks back over its predecessors and adds
//        their totals until it meets one that knows its prefix.
// Cost   n read, n written; a kernel more, that clears the tiles' states.
// Needs  Any GPU. Temporary memory as CUB asks for it.
// Limit  72 to 82 % of a copy on an H200: a block holds one tile and loads nothing while it waits.
// From   CUB 3 of the CUDA toolkit; Merrill and Garland, NVR-2016-002.
#include "scan/cuda_cub.cuh"

#include "core/visit.hpp"
#include "scan/rungs.hpp"

namespace upsweep::scan {

Status cuda_cub(const detail::ScanCall& call, const Policy&) noexcept {
  return visit_type(call.out_type, [&]<class T>(std::type_identity<T>) { return cub_scan<T>(call); });
}

gpu::WorkspaceSize cuda_cub_workspace(const detail::ScanCall& call) noexcept {
  return visit_type(call.out_type, [&]<class T>(std::type_identity<T>) {
    return gpu::WorkspaceSize{.scratch = cub_bytes<T>(call.n)};
  });
}

}  // namespace upsweep::scan
