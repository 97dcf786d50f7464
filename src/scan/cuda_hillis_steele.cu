// SPDX-License-Identifier: Apache-2.0
// scan/cuda_hillis_steele.cu: one block, where in every round each thread adds the element a stride to its left.
//
// Idea   After rounds with strides 1, 2, 4, … each place holds the fold of everything up to it. Two copies in shared
//        memory take turns, so that a round reads what the one before wrote and never what it writes itself.
// Cost   n read, n written. Work n·log2 n, depth log2 n.
// Needs  Any GPU, and at most 1024 elements: one block.
// Limit  One block on one multiprocessor. cuda.hillis_steele_global has no such limit, cuda.hillis_steele_blocks not
//        its memory traffic either.
// From   W. D. Hillis, G. L. Steele, "Data parallel algorithms", CACM 29 (1986); "Parallel Prefix Scan".
#include "scan/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include "scan/cuda_elements.cuh"
#include "upsweep/detail/kernel_launch.cuh"

namespace upsweep::scan {
namespace {

template <class T, class Op>
__global__ void scan_in_one_block(Elements<T, Op> element, T* out, int n) {
  extern __shared__ __align__(16) unsigned char shared[];
  T* from = reinterpret_cast<T*>(shared);
  T* to = from + blockDim.x;
  const int i = static_cast<int>(threadIdx.x);
  if (i < n) from[i] = element(i);
  __syncthreads();  // all elements before the first round
  for (int stride = 1; stride < n; stride *= 2) {
    if (i < n) to[i] = i >= stride ? element.op(from[i - stride], from[i]) : from[i];
    __syncthreads();  // the round is complete before the next reads it
    T* const last = from;
    from = to;
    to = last;
  }
  if (i < n) out[i] = from[i];
}

Status launch(const detail::ScanCall& call, const Policy&) noexcept {
  return with_elements(call, [&]<class T, class Op>(const Elements<T, Op>& elements, T* out) {
    const unsigned threads = (static_cast<unsigned>(call.n) + 31) / 32 * 32;
    const gpu::detail::Grid grid{
        .blocks = 1, .threads = threads, .stream = stream_of(call), .shared_bytes = 2 * threads * sizeof(T)};
    return gpu::status_of(gpu::detail::launch(grid, scan_in_one_block<T, Op>, elements, out, static_cast<int>(call.n)));
  });
}

}  // namespace

}  // namespace upsweep::scan
#endif

namespace upsweep::scan {
namespace {

const char* refusal(const detail::ScanCall& call, const Policy& policy) noexcept {
  return call.n > 1024 ? "is one block: at most 1024 elements" : taught(call, policy);
}

}  // namespace

extern const Rung cuda_hillis_steele{.info = {.id = "cuda.hillis_steele",
                                              .idea = "one block: strides 1, 2, 4, … in shared memory",
                                              .needs = "any GPU; at most 1024 elements",
                                              .traffic = "n read, n written",
                                              .float_bound = kTreeBound},
                                     .refusal = refusal,
                                     .run = launch};

}  // namespace upsweep::scan
