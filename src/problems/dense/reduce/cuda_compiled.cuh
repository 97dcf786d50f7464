// SPDX-License-Identifier: Apache-2.0
// problems/dense/reduce/cuda_compiled.cuh: the types and operators of cuda.cub and cuda.one_kernel, and their dispatch.
#pragma once

#include "problems/dense/reduce/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include <cstdint>

#include "core/visit.hpp"
#include "upsweep/detail/device_reduce.cuh"

namespace upsweep::impl::reduce {

/// Runs a call whose elements are of type In. Compiled once per type, in kernels.cu.
template <class In>
Status one_kernel_from(const detail::ReduceCall& call) noexcept;
template <class In>
Status cub_from(const detail::ReduceCall& call) noexcept;
/// Returns the size of CUB's temporary memory in bytes.
template <class In>
std::int64_t cub_bytes_from(const detail::ReduceCall& call) noexcept;

}  // namespace upsweep::impl::reduce
#endif
