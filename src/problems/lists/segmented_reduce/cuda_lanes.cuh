// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/cuda_lanes.cuh: calls of cuda.lanes by the type that elements are kept as.
#pragma once

#include "problems/lists/segmented_reduce/cuda_lists.cuh"

#if UPSWEEP_HAS_CUDA
#include "upsweep/detail/segmented_reduce_lanes.cuh"

namespace upsweep::impl::segmented_reduce {

/// Of the compiled reducers: a Picked<double> is the largest value there is.
inline constexpr std::int64_t kCompiledSlotBytes = kSlotBytes<Picked<double>>;

/// Compiled once per type that elements are kept as, in lanes_kernels.cu.
template <class T>
Status lanes_on(const detail::SegmentedReduceCall& call) noexcept;

}  // namespace upsweep::impl::segmented_reduce
#endif
