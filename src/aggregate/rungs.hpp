// SPDX-License-Identifier: Apache-2.0
// aggregate/rungs.hpp: the rungs of the aggregate ladder, each explained in the file of its name; ladder.cpp lists them.
#pragma once

#include "upsweep/detail/aggregate_call.hpp"
#include "upsweep/error.hpp"
#include "upsweep/policy.hpp"

namespace upsweep::aggregate {

Status cpu_serial(detail::AggregateCall& call, const Policy& policy) noexcept;
Status cpu_threads(detail::AggregateCall& call, const Policy& policy) noexcept;
Status cpu_predicate_first(detail::AggregateCall& call, const Policy& policy) noexcept;

// On a GPU. A build without CUDA has the rows of the ladder, but nothing to run.
using Run = Status(detail::AggregateCall& call, const Policy& policy) noexcept;
using WorkspaceOf = gpu::WorkspaceSize(const detail::AggregateCall& call) noexcept;
#if UPSWEEP_HAS_CUDA
Run cuda_select, cuda_interleaved, cuda_sequential, cuda_unrolled, cuda_two_loads, cuda_reduce_again, cuda_occupancy,
    cuda_shuffle, cuda_cub, cuda_fused, cuda_zero_copy;
WorkspaceOf cuda_select_workspace, cuda_interleaved_workspace, cuda_sequential_workspace, cuda_unrolled_workspace,
    cuda_two_loads_workspace, cuda_reduce_again_workspace, cuda_occupancy_workspace, cuda_shuffle_workspace,
    cuda_cub_workspace, cuda_fused_workspace, cuda_zero_copy_workspace;
#else
inline constexpr Run *cuda_select = nullptr, *cuda_interleaved = nullptr, *cuda_sequential = nullptr,
                     *cuda_unrolled = nullptr, *cuda_two_loads = nullptr, *cuda_reduce_again = nullptr,
                     *cuda_occupancy = nullptr, *cuda_shuffle = nullptr, *cuda_cub = nullptr, *cuda_fused = nullptr,
                     *cuda_zero_copy = nullptr;
inline constexpr WorkspaceOf *cuda_select_workspace = nullptr, *cuda_interleaved_workspace = nullptr,
                             *cuda_sequential_workspace = nullptr, *cuda_unrolled_workspace = nullptr,
                             *cuda_two_loads_workspace = nullptr, *cuda_reduce_again_workspace = nullptr,
                             *cuda_occupancy_workspace = nullptr, *cuda_shuffle_workspace = nullptr,
                             *cuda_cub_workspace = nullptr, *cuda_fused_workspace = nullptr,
                             *cuda_zero_copy_workspace = nullptr;
#endif

}  // namespace upsweep::aggregate
