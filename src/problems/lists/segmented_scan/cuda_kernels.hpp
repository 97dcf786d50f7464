// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_scan/cuda_kernels.hpp: the kernels of the GPU rungs, compiled once per element type in
// kernels.cu.
#pragma once

#include <cstdint>

#include "core/visit.hpp"
#include "cuda/compiled.hpp"
#include "problems/lists/segmented_scan/rung.hpp"

namespace upsweep::impl::segmented_scan {

/// Checks the lists, scans them if they are valid, and writes the outcome. In is the type of the elements.
template <class In>
Status scan_from(Way way, const detail::SegmentedScanCall& call) noexcept;

/// Returns the bytes of scratch.
template <class In>
std::int64_t scratch_from(Way way, const detail::SegmentedScanCall& call) noexcept;

/// Do the same for cuda.lookahead.
template <class In>
Status lookahead_from(const detail::SegmentedScanCall& call) noexcept;
template <class In>
gpu::WorkspaceSize lookahead_memory(const detail::SegmentedScanCall& call) noexcept;

// The functions that a rung's row names.
template <Way kWay>
Status launch_by(const detail::SegmentedScanCall& call, const Policy&) noexcept {
  return visit_type(call.in_type, [&]<class In>(std::type_identity<In>) { return scan_from<In>(kWay, call); });
}
template <Way kWay>
gpu::WorkspaceSize workspace_by(const detail::SegmentedScanCall& call) noexcept {
  return visit_type(call.in_type, [&]<class In>(std::type_identity<In>) -> gpu::WorkspaceSize {
    return {.scratch = scratch_from<In>(kWay, call)};
  });
}

}  // namespace upsweep::impl::segmented_scan
