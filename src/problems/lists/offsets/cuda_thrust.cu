// SPDX-License-Identifier: Apache-2.0
// problems/lists/offsets/cuda_thrust.cu: a kernel for the differences, Thrust's exclusive scan, then the last offset.
//
// Idea   A library's scan, with a kernel before and a kernel after it.
// Cost   24 bytes per list of int64 for the lengths, 16 for the scan in place: 40.
// Needs  Any GPU. Thrust's temporary memory is part of the workspace here.
// Limit  The lengths are written to memory and read again. cuda.cub computes them when it reads the bounds.
// From   "Using Thrust" of "Evaluation task for Awkward Array GSoC project" (P. Das 2020).
#include "problems/lists/offsets/cuda_lists.cuh"

#if UPSWEEP_HAS_CUDA
#include <thrust/scan.h>

#include "cuda/thrust.cuh"
#endif

namespace upsweep::impl::offsets {

#if UPSWEEP_HAS_CUDA
namespace {

/// Writes the last offset, after the exclusive scan of n lengths at offsets[0 … n-1].
template <class T>
__global__ void last_offset(Lengths<T> lengths, std::int64_t* offsets, std::int64_t n) {
  const std::int64_t length = lengths.length(n - 1);
  offsets[n] = lengths.op(offsets[n - 1], length);
}

template <class T>
struct OnlyLengths {
  Lengths<T> lists;
  __device__ std::int64_t operator()(std::int64_t i) const { return lists.length(i); }
};

Status launch(detail::OffsetsCall& call, const Policy&) noexcept {
  return with_lengths(call, [&]<class T>(const Lengths<T>& lengths, std::int64_t*) {
    const auto stream = call.launch->stream;
    const auto blocks = static_cast<unsigned>((call.n + gpu::kRoundThreads - 1) / gpu::kRoundThreads);
    const cudaError_t error = gpu::detail::launch({.blocks = blocks, .threads = gpu::kRoundThreads, .stream = stream},
                                                  gpu::copy_elements<OnlyLengths<T>, std::int64_t>,
                                                  OnlyLengths<T>{lengths}, call.offsets, call.n);
    if (error != cudaSuccess) return gpu::status_of(error);
    const Status status = gpu::run_thrust(*call.launch, [&](const auto& policy) {
      thrust::exclusive_scan(policy, call.offsets, call.offsets + call.n, call.offsets, lengths.before_all, lengths.op);
    });
    if (!status.ok()) return status;
    return gpu::status_of(gpu::detail::launch({.blocks = 1, .threads = 1, .stream = stream}, last_offset<T>, lengths,
                                              call.offsets, call.n));
  });
}

gpu::WorkspaceSize workspace(const detail::OffsetsCall& call) noexcept {
  return {.scratch = gpu::ThrustScratch::bytes_for(call.n)};
}

}  // namespace
#endif

namespace {

const char* thrust_refusal(const detail::OffsetsCall& call, const Policy&) noexcept {
  return call.before_at != nullptr ? "does not support a first offset in device memory" : nullptr;
}

}  // namespace

extern const Rung cuda_thrust{.info = {.id = "cuda.thrust",
                                       .idea = "differences, Thrust's scan, the last offset",
                                       .needs = "any GPU",
                                       .traffic = "3n read, 2n written",
                                       .cost = "library",
                                       .limit = "lengths are written to memory and read again",
                                       .kind = Kind::library},
                              .refusal = thrust_refusal,
                              .run = launch,
                              .workspace = workspace};

}  // namespace upsweep::impl::offsets
