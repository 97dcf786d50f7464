// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/cuda_lanes.cuh: calls of cuda.lanes, by the type in which elements are stored.
#pragma once

#include "problems/lists/segmented_reduce/cuda_lists.cuh"

#if UPSWEEP_HAS_CUDA
#include "upsweep/detail/segmented_reduce_lanes.cuh"

namespace upsweep::impl::segmented_reduce {

/// Slot size of the compiled reducers: Picked<double> is their largest value.
inline constexpr std::int64_t kCompiledSlotBytes = kSlotBytes<Picked<double>>;

/// Compiled once per stored element type, in lanes_kernels.cu.
template <class T>
Status lanes_on(const detail::SegmentedReduceCall& call) noexcept;

}  // namespace upsweep::impl::segmented_reduce
#endif
