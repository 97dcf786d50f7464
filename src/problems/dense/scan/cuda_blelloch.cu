// SPDX-License-Identifier: Apache-2.0
// problems/dense/scan/cuda_blelloch.cu: up-sweep and down-sweep: two operations per element instead of log2 n.
//
// Idea   Up: pairs are folded, then pairs of pairs. Afterwards the array contains the totals of the left halves of all
//        subtrees. Down: the fold of everything before a subtree is combined with the middle of the subtree. Blelloch
//        clears the root and swaps in the down-sweep, which requires an identity. This rung uses Brent and Kung's form
//        of the same tree, which needs no identity, so any operator works.
// Cost   n read, n written, and again to add the tiles' totals back. Work 2n, depth 2·log2 n.
// Needs  Any GPU; a 1023rd of the array for totals.
// Limit  Each level towards the root has a barrier, and half the active threads of the level before. One word of shared
//        memory is skipped after every 32, so that strides of powers of two do not all access one bank. cuda.shuffle
//        does more work with fewer barriers.
// From   G. E. Blelloch, "Prefix sums and their applications", CMU-CS-90-190, 1990; "Parallel Prefix Scan"; M. Harris,
//        S. Sengupta, J. D. Owens, GPU Gems 3, ch. 39 (the skipped places).
#include "problems/dense/scan/cuda_elements.cuh"
#include "upsweep/detail/tuning/teaching.hpp"

namespace upsweep::impl::scan {

#if UPSWEEP_HAS_CUDA
namespace {

constexpr int kThreads = gpu::tuning::kTeachingOrder.blelloch_threads;
constexpr int kTileElements = 2 * kThreads;

__device__ int place(int i) { return i + i / 32; }

template <class Element, class T>
__global__ void sweep_tiles(Element element, T* out, T* totals, std::int64_t n) {
  extern __shared__ __align__(16) unsigned char shared[];
  T* x = reinterpret_cast<T*>(shared);
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t first = std::int64_t{blockIdx.x} * kTileElements;
  for (int i = thread; i < kTileElements; i += kThreads) {
    x[place(i)] = element(first + i < n ? first + i : n - 1);  // past the end: no earlier output depends on it
  }

  // [guide: sweeps]
  // ---- Up-sweep: the total of every subtree of 2·stride elements is written to its last place.
  for (int stride = 1; stride < kTileElements; stride *= 2) {
    __syncthreads();  // the level below is complete
    const int right = (thread + 1) * 2 * stride - 1;
    if (right < kTileElements) x[place(right)] = element.op(x[place(right - stride)], x[place(right)]);
  }

  // ---- Down-sweep: the value that precedes a subtree is combined with its middle, for every subtree but the first.
  for (int stride = kTileElements / 4; stride > 0; stride /= 2) {
    __syncthreads();  // the level above is complete
    const int left = (thread + 1) * 2 * stride - 1;
    if (left + stride < kTileElements) x[place(left + stride)] = element.op(x[place(left)], x[place(left + stride)]);
  }
  __syncthreads();
  // [guide: end]

  for (int i = thread; i < kTileElements && first + i < n; i += kThreads) out[first + i] = x[place(i)];
  if (totals != nullptr && thread == 0) totals[blockIdx.x] = x[place(kTileElements - 1)];
}

struct Tiles {
  static constexpr int kTile = kTileElements;
  template <class Element, class T>
  [[nodiscard]] cudaError_t launch(const Element& element, T* out, T* totals, std::int64_t n, unsigned blocks,
                                   cudaStream_t stream) const {
    constexpr int kShared = (kTile + kTile / 32) * int{sizeof(T)};
    const gpu::detail::Grid grid{.blocks = blocks, .threads = kThreads, .stream = stream, .shared_bytes = kShared};
    return gpu::detail::launch(grid, sweep_tiles<Element, T>, element, out, totals, n);
  }
};

constexpr auto launch = &launch_by<gpu::Blocks<Tiles>>;
constexpr auto workspace = &scratch_of<gpu::Blocks<Tiles>>;

}  // namespace
#endif

extern const Rung cuda_blelloch =
    tiles_rung("cuda.blelloch", "up-sweep, down-sweep in blocks, totals added back", "2n, 2·log n",
               "the second pass, idle threads near the root", launch, workspace);

}  // namespace upsweep::impl::scan
