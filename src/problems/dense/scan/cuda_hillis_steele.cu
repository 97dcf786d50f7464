// SPDX-License-Identifier: Apache-2.0
// problems/dense/scan/cuda_hillis_steele.cu: one block; in each round a thread adds the element a stride to its left.
//
// Idea   After rounds with strides 1, 2, 4, … each place contains the fold of all elements up to it. Two copies in
//        shared memory alternate. So a round reads what the previous one wrote, and never what it writes itself
//        (cuda/hillis_steele.cuh).
// Cost   n read, n written. Work n·log2 n, depth log2 n.
// Needs  Any GPU, and at most 1024 elements: one block.
// Limit  One block on one multiprocessor. cuda.hillis_steele_global has no such limit. cuda.hillis_steele_blocks also
//        avoids its memory traffic.
// From   W. D. Hillis, G. L. Steele, "Data parallel algorithms", CACM 29 (1986); "Parallel Prefix Scan".
#include "problems/dense/scan/cuda_elements.cuh"

#if UPSWEEP_HAS_CUDA
#include "upsweep/detail/shared_memory.cuh"
#endif

namespace upsweep::impl::scan {

namespace {

#if UPSWEEP_HAS_CUDA
Status launch(const detail::ScanCall& call, const Policy&) noexcept {
  return with_elements(call, [&]<class T, class Op>(const Elements<T, Op>& elements, T* out) {
    const unsigned threads = (static_cast<unsigned>(call.n) + 31) / 32 * 32;
    const gpu::detail::Grid grid{
        .blocks = 1,
        .threads = threads,
        .stream = stream_of(call),
        .shared_bytes = gpu::detail::shared_bytes_of<gpu::RoundTiles<T>>(static_cast<int>(threads))};
    return gpu::status_of(gpu::detail::launch(grid, gpu::scan_tiles_by_rounds<Elements<T, Op>, T>, elements, out,
                                              static_cast<T*>(nullptr), call.n));
  });
}
#endif

const char* hillis_steele_refusal(const detail::ScanCall& call, const Policy& policy) noexcept {
  return call.n > 1024 ? "is one block: at most 1024 elements" : taught(call, policy);
}

}  // namespace

extern const Rung cuda_hillis_steele{.info = {.id = "cuda.hillis_steele",
                                              .idea = "one block: strides 1, 2, 4, … in shared memory",
                                              .needs = "any GPU; at most 1024 elements",
                                              .traffic = "n read, n written",
                                              .cost = "n·log n, log n",
                                              .limit = "one block: at most 1024 elements",
                                              .float_bound = kTreeBound},
                                     .refusal = hillis_steele_refusal,
                                     .run = launch};

}  // namespace upsweep::impl::scan
