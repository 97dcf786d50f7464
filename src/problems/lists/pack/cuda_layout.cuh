// SPDX-License-Identifier: Apache-2.0
// problems/lists/pack/cuda_layout.cuh: the first step of every rung of pack on a GPU: offsets, or a check of given
// ones.
#pragma once

#include "problems/lists/pack/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include "cuda/moved_lists.cuh"
#include "problems/lists/pack/cuda_fitting.cuh"
#include "upsweep/detail/tuning/pack.hpp"

namespace upsweep::impl::pack {

inline gpu::MovedLists device_lists(const detail::PackCall& call) { return {call.lists, call.content, call.sizes}; }

inline constexpr int kCheckThreads = gpu::tuning::kConversions.check_threads;

template <int kThreads>
__global__ void __launch_bounds__(kThreads) check_given(FittingOffsets offsets, gpu::Outcome* outcome) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= offsets.count) return;
  if (offsets.is_bad(i, offsets(i), offsets(i + 1))) {
    atomicMax(&outcome->not_bad, ~static_cast<unsigned long long>(i));
  }
}

/// Writes *outcome and *status for given offsets, with one thread.
template <class Status>
__global__ void conclude_given(FittingOffsets offsets, std::int64_t capacity, gpu::Outcome* outcome, Status* status) {
  outcome->moved = 0;
  if (outcome->not_bad != 0) {
    const auto bad = static_cast<std::int64_t>(~outcome->not_bad);
    *status = {bad, 0, offsets.wrong(bad)};
    return;
  }
  const std::int64_t total = gpu::apart(offsets(offsets.count), offsets(0));
  const bool fits = total >= 0 && total <= capacity;
  if (fits) outcome->moved = total;
  *status = {kNoIndex, total, fits ? Code::ok : Code::unequal_lengths};
}

/// Scratch memory of a call.
struct LayoutScratch {
  LayoutScratch(const detail::PackCall& call, void* memory) : parts(memory) {
    outcome = parts.take<gpu::Outcome>(1);
    if (!call.offsets_given) totals = parts.take<std::int64_t>(gpu::chunk_totals(call.lists.count));
  }

  gpu::ScratchParts parts;
  gpu::Outcome* outcome;
  std::int64_t* totals = nullptr;
};

/// Returns whether there may be elements to copy.
inline bool moves(const detail::PackCall& call) {
  return !call.columns.empty() && call.capacity > 0 && call.lists.count > 0;
}

/// Checks given offsets and writes *outcome and *status.
inline cudaError_t launch_given(const detail::PackCall& call, gpu::Outcome* outcome) {
  const gpu::Stream stream = call.launch->stream;
  const FittingOffsets offsets{call.offsets, device_lists(call)};
  cudaError_t error = cudaMemsetAsync(outcome, 0, sizeof *outcome, stream);
  const auto blocks = static_cast<unsigned>(gpu::divided_up(call.lists.count, kCheckThreads));
  if (error == cudaSuccess && blocks > 0) {
    error = gpu::detail::launch({.blocks = blocks, .threads = kCheckThreads, .stream = stream},
                                check_given<kCheckThreads>, offsets, outcome);
  }
  if (error != cudaSuccess) return error;
  return gpu::detail::launch({.blocks = 1, .threads = 1, .stream = stream}, conclude_given<gpu::PackStatus>, offsets,
                             call.capacity, outcome, call.status);
}

/// Computes offsets, checks lists, and writes *outcome and *status.
inline cudaError_t launch_layout(const detail::PackCall& call, const LayoutScratch& scratch) {
  if (call.offsets_given) return launch_given(call, scratch.outcome);
  const gpu::Stream stream = call.launch->stream;
  const gpu::MovedLists lists = device_lists(call);
  const cudaError_t error =
      gpu::launch_offsets(gpu::LengthOfList{lists}, call.lists.count, call.offsets, scratch.totals, stream);
  if (error != cudaSuccess) return error;
  return gpu::launch_conclude(lists, call.offsets, call.capacity, scratch.outcome, call.status, stream);
}

}  // namespace upsweep::impl::pack
#endif
