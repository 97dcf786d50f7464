// SPDX-License-Identifier: Apache-2.0
// subset_sum/rungs.hpp: the rungs of the subset sum ladder, each explained in the file of its name; ladder.cpp lists them.
#pragma once

#include "upsweep/detail/subset_sum_call.hpp"
#include "upsweep/error.hpp"
#include "upsweep/policy.hpp"

namespace upsweep::subset_sum {

using Run = Status(detail::SubsetSumCall& call, const Policy& policy) noexcept;
Run cpu_table, cpu_columns, cpu_threads, cpu_bits, cpu_bits_simd, cpu_enumerate, cpu_meet_in_the_middle,
    cpu_schroeppel_shamir;

// On a GPU. A build without CUDA has the rows of the ladder, but nothing to run.
using WorkspaceOf = gpu::WorkspaceSize(const detail::SubsetSumCall& call) noexcept;
#if UPSWEEP_HAS_CUDA
Run cuda_array_ops, cuda_column, cuda_agglomerated, cuda_bits, cuda_bits_fused, cuda_slices, cuda_two_list;
WorkspaceOf cuda_array_ops_workspace, cuda_column_workspace, cuda_agglomerated_workspace, cuda_bits_workspace,
    cuda_bits_fused_workspace, cuda_slices_workspace, cuda_two_list_workspace;
#else
inline constexpr Run *cuda_array_ops = nullptr, *cuda_column = nullptr, *cuda_agglomerated = nullptr,
                     *cuda_bits = nullptr, *cuda_bits_fused = nullptr, *cuda_slices = nullptr, *cuda_two_list = nullptr;
inline constexpr WorkspaceOf *cuda_array_ops_workspace = nullptr, *cuda_column_workspace = nullptr,
                             *cuda_agglomerated_workspace = nullptr, *cuda_bits_workspace = nullptr,
                             *cuda_bits_fused_workspace = nullptr, *cuda_slices_workspace = nullptr,
                             *cuda_two_list_workspace = nullptr;
#endif

}  // namespace upsweep::subset_sum
