// SPDX-License-Identifier: Apache-2.0
// problems/dense/reduce/cuda_compiled.cuh: the types and operators that cuda.cub and cuda.one_kernel are compiled for, and their dispatch.
#pragma once

#include "problems/dense/reduce/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include <cstdint>

#include "core/visit.hpp"
#include "upsweep/detail/device_reduce.cuh"

namespace upsweep::impl::reduce {

/// Run a call whose elements are of type In: compiled once per type, in kernels.cu.
template <class In>
Status one_kernel_from(const detail::ReduceCall& call) noexcept;
template <class In>
Status cub_from(const detail::ReduceCall& call) noexcept;
/// Bytes of CUB's temporary memory.
template <class In>
std::int64_t cub_bytes_from(const detail::ReduceCall& call) noexcept;

}  // namespace upsweep::impl::reduce
#endif
