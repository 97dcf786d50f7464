// SPDX-License-Identifier: Apache-2.0
// reduce/rungs.hpp: the rungs of the reduce ladder, each explained in the file of its name; ladder.cpp lists them.
#pragma once

#include "upsweep/detail/scan_call.hpp"
#include "upsweep/error.hpp"
#include "upsweep/policy.hpp"

namespace upsweep::reduction {

Status cpu_serial(const detail::ReduceCall& call, const Policy& policy) noexcept;
Status cpu_threads(const detail::ReduceCall& call, const Policy& policy) noexcept;
Status cpu_simd(const detail::ReduceCall& call, const Policy& policy) noexcept;
Status cpu_simd_threads(const detail::ReduceCall& call, const Policy& policy) noexcept;
Status cpu_std_par(const detail::ReduceCall& call, const Policy& policy) noexcept;

// On a GPU. A build without CUDA has the rows of the ladder, but nothing to run.
using Run = Status(const detail::ReduceCall& call, const Policy& policy) noexcept;
using WorkspaceOf = gpu::WorkspaceSize(const detail::ReduceCall& call) noexcept;
#if UPSWEEP_HAS_CUDA
Run cuda_shuffle, cuda_cub, cuda_one_kernel;
WorkspaceOf cuda_shuffle_workspace, cuda_cub_workspace, cuda_one_kernel_workspace;
#else
inline constexpr Run *cuda_shuffle = nullptr, *cuda_cub = nullptr, *cuda_one_kernel = nullptr;
inline constexpr WorkspaceOf *cuda_shuffle_workspace = nullptr, *cuda_cub_workspace = nullptr,
                             *cuda_one_kernel_workspace = nullptr;
#endif

}  // namespace upsweep::reduction
