// SPDX-License-Identifier: Apache-2.0
// ragged/cuda_thrust.cu: a kernel for the differences, Thrust's exclusive scan, then the last offset.
//
// Idea   What a library has, and a kernel on either side of it.
// Cost   24 bytes per list of int64 for the lengths, 16 for the scan in place: 40.
// Needs  Any GPU; Thrust's temporary memory comes from the workspace here.
// Limit  The lengths go to memory and come back. cuda.cub computes them where they are read.
// From   "Using Thrust" of "Evaluation task for Awkward Array GSoC project" (P. Das 2020).
#include "ragged/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include <thrust/execution_policy.h>
#include <thrust/scan.h>

#include "cuda/hillis_steele.cuh"
#include "cuda/thrust_scratch.hpp"
#include "ragged/cuda_lists.cuh"

namespace upsweep::ragged {
namespace {

/// After the exclusive scan of n lengths at offsets[0 … n-1].
template <class T>
__global__ void last_offset(Lengths<T> lengths, std::int64_t* offsets, std::int64_t n) {
  const std::int64_t length = List<T>{lengths.starts[n - 1], lengths.stops[n - 1]}.length_or_bad(lengths.strict);
  offsets[n] = lengths.op(offsets[n - 1], length);
}

template <class T>
struct OnlyLengths {
  Lengths<T> lists;
  __device__ std::int64_t operator()(std::int64_t i) const {
    return List<T>{lists.starts[i], lists.stops[i]}.length_or_bad(lists.strict);
  }
};

Status launch(detail::RaggedCall& call, const Policy&) noexcept try {
  return with_lengths(call, [&]<class T>(const Lengths<T>& lengths, std::int64_t*) {
    const auto stream = call.launch->stream;
    const auto blocks = static_cast<unsigned>((call.n + gpu::kRoundThreads - 1) / gpu::kRoundThreads);
    const cudaError_t error = gpu::detail::launch({.blocks = blocks, .threads = gpu::kRoundThreads, .stream = stream},
                                                  gpu::copy_elements<OnlyLengths<T>, std::int64_t>,
                                                  OnlyLengths<T>{lengths}, call.offsets, call.n);
    if (error != cudaSuccess) return gpu::status_of(error);
    gpu::forget_last_error();
    gpu::ThrustScratch scratch{static_cast<char*>(call.launch->scratch), call.launch->size.scratch};
    thrust::exclusive_scan(thrust::cuda::par_nosync(scratch).on(stream), call.offsets, call.offsets + call.n,
                           call.offsets, lengths.before, lengths.op);
    return gpu::status_of(gpu::detail::launch({.blocks = 1, .threads = 1, .stream = stream}, last_offset<T>, lengths,
                                              call.offsets, call.n));
  });
} catch (const std::bad_alloc&) {
  return {Code::device_memory, kNoIndex, "Thrust wants more temporary memory than its workspace has"};
} catch (...) {
  return {Code::device_failed, kNoIndex, "Thrust failed"};
}

gpu::WorkspaceSize workspace(const detail::RaggedCall& call) noexcept {
  return {.scratch = gpu::ThrustScratch::bytes_for(call.n)};
}

}  // namespace

}  // namespace upsweep::ragged
#endif

namespace upsweep::ragged {

extern const Rung cuda_thrust{.info = {.id = "cuda.thrust",
                                       .idea = "differences, Thrust's scan, the last offset",
                                       .needs = "any GPU",
                                       .traffic = "3n read, 2n written",
                                       .kind = Kind::library},
                              .run = launch,
                              .workspace = workspace};

}  // namespace upsweep::ragged
