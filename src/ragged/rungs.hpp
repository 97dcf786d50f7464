// SPDX-License-Identifier: Apache-2.0
// ragged/rungs.hpp: the rungs of the ragged ladder, each explained in the file of its name; ladder.cpp lists them.
#pragma once

#include "upsweep/detail/ragged_call.hpp"
#include "upsweep/error.hpp"
#include "upsweep/policy.hpp"

namespace upsweep::ragged {

Status cpu_serial(detail::RaggedCall& call, const Policy& policy) noexcept;
Status cpu_threads(detail::RaggedCall& call, const Policy& policy) noexcept;
Status cpu_chained(detail::RaggedCall& call, const Policy& policy) noexcept;
Status cpu_adjacent(detail::RaggedCall& call, const Policy& policy) noexcept;

// On a GPU. A build without CUDA has the rows of the ladder, but nothing to run.
using Run = Status(detail::RaggedCall& call, const Policy& policy) noexcept;
using WorkspaceOf = gpu::WorkspaceSize(const detail::RaggedCall& call) noexcept;
#if UPSWEEP_HAS_CUDA
Run cuda_one_thread, cuda_turn_taking, cuda_hillis_steele_global, cuda_hillis_steele_blocks, cuda_thrust, cuda_cub,
    cuda_lookahead, cuda_adjacent;
WorkspaceOf cuda_hillis_steele_global_workspace, cuda_hillis_steele_blocks_workspace, cuda_thrust_workspace,
    cuda_cub_workspace, cuda_lookahead_workspace, cuda_adjacent_workspace;
#else
inline constexpr Run *cuda_one_thread = nullptr, *cuda_turn_taking = nullptr, *cuda_hillis_steele_global = nullptr,
                     *cuda_hillis_steele_blocks = nullptr, *cuda_thrust = nullptr, *cuda_cub = nullptr,
                     *cuda_lookahead = nullptr, *cuda_adjacent = nullptr;
inline constexpr WorkspaceOf *cuda_hillis_steele_global_workspace = nullptr,
                             *cuda_hillis_steele_blocks_workspace = nullptr, *cuda_thrust_workspace = nullptr,
                             *cuda_cub_workspace = nullptr, *cuda_lookahead_workspace = nullptr,
                             *cuda_adjacent_workspace = nullptr;
#endif

}  // namespace upsweep::ragged
