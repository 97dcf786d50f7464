// SPDX-License-Identifier: Apache-2.0
// problems/dense/scan/cuda_shuffle.cu: warps scan in registers, one warp scans the warps' totals, block totals follow.
//
// Idea   The lanes of a warp read each other's registers (shuffle), so five rounds need neither shared memory nor a
//        barrier. A block of 32 warps then has 32 totals, which one warp scans.
// Cost   n read, n written, and again to add the tiles' totals back: 4n. Work n·log2 32, depth log2 n; two barriers.
// Needs  Any GPU; a 1023rd of the array for totals.
// Limit  The second pass over memory. cuda.lookback needs only one.
// From   "Applying SHFL intrinsics" in "Parallel Prefix Scan"; NVIDIA's own shuffle scans since Kepler.
#include "problems/dense/scan/cuda_elements.cuh"

#if UPSWEEP_HAS_CUDA
#include "upsweep/detail/device.cuh"
#include "upsweep/detail/tuning/teaching.hpp"
#endif

namespace upsweep::impl::scan {

#if UPSWEEP_HAS_CUDA
namespace {

template <class Element, class T>
__global__ void scan_tiles(Element element, T* out, T* totals, std::int64_t n) {
  __shared__ __align__(16) unsigned char shared[32 * sizeof(T)];
  T* const warp_totals = reinterpret_cast<T*>(shared);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;

  // [guide: warps]
  // ---- Lanes.
  T value = gpu::detail::scan_lanes(element.op, element(i < n ? i : n - 1), lane);
  if (lane == 31) warp_totals[warp] = value;
  __syncthreads();  // all totals are written

  // ---- Warps.
  if (warp == 0) warp_totals[lane] = gpu::detail::scan_lanes(element.op, warp_totals[lane], lane);
  __syncthreads();  // all totals are scanned
  if (warp > 0) value = element.op(warp_totals[warp - 1], value);
  // [guide: end]

  if (i < n) out[i] = value;
  if (totals != nullptr && threadIdx.x == blockDim.x - 1) totals[blockIdx.x] = value;
}

struct Tiles {
  static constexpr int kTile = gpu::tuning::kTeachingOrder.scan_tile;
  template <class Element, class T>
  [[nodiscard]] cudaError_t launch(const Element& element, T* out, T* totals, std::int64_t n, unsigned blocks,
                                   cudaStream_t stream) const {
    return gpu::detail::launch({.blocks = blocks, .threads = kTile, .stream = stream}, scan_tiles<Element, T>, element,
                               out, totals, n);
  }
};

constexpr auto launch = &launch_by<gpu::Blocks<Tiles>>;
constexpr auto workspace = &scratch_of<gpu::Blocks<Tiles>>;

}  // namespace
#endif

extern const Rung cuda_shuffle = tiles_rung("cuda.shuffle", "warps in registers, then blocks, totals added back",
                                            "n·log 32, log n", "the second pass", launch, workspace);

}  // namespace upsweep::impl::scan
