// SPDX-License-Identifier: Apache-2.0
// problems/dense/scan/cuda_compiled.cuh: the rungs on CUDA that are compiled once per element type.
#pragma once

#include "problems/dense/scan/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include <type_traits>

#include "core/visit.hpp"
#include "upsweep/detail/device_scan.cuh"

namespace upsweep::impl::scan {

/// Runs a call with elements of type In by look-ahead or look-back. Compiled once per type, in
/// lookahead_kernels.cu and lookback_kernels.cu.
template <class In>
Status lookahead_from(const detail::ScanCall& call) noexcept;
template <class In>
Status lookback_from(const detail::ScanCall& call) noexcept;
/// Runs a call by CUB (same type in and out), and returns CUB's temporary bytes for any operator: in cub_kernels.cu.
template <class T>
Status cub_from(const detail::ScanCall& call) noexcept;
template <class T>
std::int64_t cub_bytes_from(std::int64_t n) noexcept;

/// Calls f(std::type_identity<gpu::detail::ScanProblem<…>>{}) for the types of a call, whose operator does not matter.
template <class F>
gpu::WorkspaceSize workspace_of_types(const detail::ScanCall& call, F f) {
  return visit_type(call.in_type, [&]<class In>(std::type_identity<In>) {
    return visit_type(call.out_type, [&]<class Out>(std::type_identity<Out>) -> gpu::WorkspaceSize {
      if constexpr (compiled_refusal(Operator::add, type_of<In>(), type_of<Out>()) == nullptr) {
        return {.kept = f(std::type_identity<gpu::detail::ScanProblem<In, Out, Add, true>>{})};
      } else {
        return {};
      }
    });
  });
}

}  // namespace upsweep::impl::scan
#endif
