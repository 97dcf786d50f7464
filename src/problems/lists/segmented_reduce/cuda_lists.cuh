// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/cuda_lists.cuh: what the CUDA rungs share: lists and folds in the form that kernels
// expect, and calls of the simple rungs.
#pragma once

#include "problems/lists/segmented_reduce/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include "problems/lists/segmented_reduce/cuda_reducers.cuh"
#include "upsweep/detail/segmented_reduce_lists.cuh"

namespace upsweep::impl::segmented_reduce {

// ---------------------------------------------------------------------------------------------------- simple rungs
// The simple rungs are for teaching. They are compiled for a few types and do not support null elements.

template <class R>
inline constexpr bool kIsTaught = false;
template <class T>
inline constexpr bool kIsTaught<Folded<T, Add>> = sizeof(T) >= 4;
template <class T>
inline constexpr bool kIsTaught<Pick<T>> = sizeof(T) >= 4;
template <class T>
inline constexpr bool kIsTaught<Count<T>> = true;

/// Calls run(reducer) for a call that taught_refusal() does not refuse. Returns its status.
template <class Run>
Status with_taught(const detail::SegmentedReduceCall& call, Run run) {
  return with_status(call, [&] {
    cudaError_t error = cudaErrorNotSupported;
    (void)visit_kept(call, [&]<class T>(std::type_identity<T>) {
      return with_reducer<T>(call, [&]<class R>(const R& reducer) -> Status {
        if constexpr (kIsTaught<R>) error = run(reducer);
        return {};
      });
    });
    return error;
  });
}

}  // namespace upsweep::impl::segmented_reduce
#endif
