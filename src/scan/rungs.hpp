// SPDX-License-Identifier: Apache-2.0
// scan/rungs.hpp: the rungs of the scan ladder, each explained in the file of its name; ladder.cpp lists them.
#pragma once

#include "upsweep/detail/scan_call.hpp"
#include "upsweep/error.hpp"
#include "upsweep/policy.hpp"

namespace upsweep::scan {

Status cpu_serial(const detail::ScanCall& call, const Policy& policy) noexcept;
Status cpu_threads(const detail::ScanCall& call, const Policy& policy) noexcept;
Status cpu_simd(const detail::ScanCall& call, const Policy& policy) noexcept;
Status cpu_simd_threads(const detail::ScanCall& call, const Policy& policy) noexcept;
Status cpu_chained(const detail::ScanCall& call, const Policy& policy) noexcept;
Status cpu_std_par(const detail::ScanCall& call, const Policy& policy) noexcept;

// On a GPU. A build without CUDA has the rows of the ladder, but nothing to run.
using Run = Status(const detail::ScanCall& call, const Policy& policy) noexcept;
using WorkspaceOf = gpu::WorkspaceSize(const detail::ScanCall& call) noexcept;
#if UPSWEEP_HAS_CUDA
Run cuda_one_thread, cuda_turn_taking, cuda_hillis_steele, cuda_hillis_steele_global, cuda_hillis_steele_blocks,
    cuda_blelloch, cuda_shuffle, cuda_thrust, cuda_cub, cuda_lookback, cuda_lookahead;
WorkspaceOf cuda_hillis_steele_global_workspace, cuda_hillis_steele_blocks_workspace, cuda_blelloch_workspace,
    cuda_shuffle_workspace, cuda_thrust_workspace, cuda_cub_workspace, cuda_lookback_workspace,
    cuda_lookahead_workspace;
#else
inline constexpr Run *cuda_one_thread = nullptr, *cuda_turn_taking = nullptr, *cuda_hillis_steele = nullptr,
                     *cuda_hillis_steele_global = nullptr, *cuda_hillis_steele_blocks = nullptr,
                     *cuda_blelloch = nullptr, *cuda_shuffle = nullptr, *cuda_thrust = nullptr, *cuda_cub = nullptr,
                     *cuda_lookback = nullptr, *cuda_lookahead = nullptr;
inline constexpr WorkspaceOf *cuda_hillis_steele_global_workspace = nullptr,
                             *cuda_hillis_steele_blocks_workspace = nullptr, *cuda_blelloch_workspace = nullptr,
                             *cuda_shuffle_workspace = nullptr, *cuda_thrust_workspace = nullptr,
                             *cuda_cub_workspace = nullptr, *cuda_lookback_workspace = nullptr,
                             *cuda_lookahead_workspace = nullptr;
#endif
#if UPSWEEP_HAS_NEWER_CUB
Run cuda_cub_newer;
WorkspaceOf cuda_cub_newer_workspace;
#else
inline constexpr Run* cuda_cub_newer = nullptr;
inline constexpr WorkspaceOf* cuda_cub_newer_workspace = nullptr;
#endif

}  // namespace upsweep::scan
