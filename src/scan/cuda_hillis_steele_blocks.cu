// SPDX-License-Identifier: Apache-2.0
// scan/cuda_hillis_steele_blocks.cu: blocks run the rounds on their own tiles; their totals are scanned and added back.
//
// Idea   cuda.hillis_steele on every tile at once. What precedes a tile is the scan of the tiles' totals, by the same
//        rung, as often as it takes: 2^28 elements make 2^18 totals, those 2^8, those one tile.
// Cost   n read, n written, then n read and written again to add the totals back: 4n. Work n·log2 tile, depth log2 n.
// Needs  Any GPU; a 1023rd of the array for totals.
// Limit  The second pass, log2 tile additions per element, a barrier per round. cuda.blelloch adds twice per element,
//        cuda.shuffle needs few barriers, cuda.lookback no second pass.
// From   The compact_offsets reports ("hand-written Hillis–Steele"); the scan tutorial.
#include "cuda/scan_by_blocks.cuh"
#include "scan/cuda_elements.cuh"
#include "scan/rungs.hpp"

namespace upsweep::scan {
namespace {

template <class Element, class T>
__global__ void scan_tiles(Element element, T* out, T* totals, std::int64_t n) {
  extern __shared__ __align__(16) unsigned char shared[];
  T* from = reinterpret_cast<T*>(shared);
  T* to = from + blockDim.x;
  const int lane = static_cast<int>(threadIdx.x);
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + lane;
  from[lane] = element(i < n ? i : n - 1);  // behind the end anything will do: nothing in front of it depends on it
  __syncthreads();                          // all elements before the first round
  for (int stride = 1; stride < static_cast<int>(blockDim.x); stride *= 2) {
    to[lane] = lane >= stride ? element.op(from[lane - stride], from[lane]) : from[lane];
    __syncthreads();  // the round is complete before the next reads it
    T* const last = from;
    from = to;
    to = last;
  }
  if (i < n) out[i] = from[lane];
  if (totals != nullptr && lane == static_cast<int>(blockDim.x) - 1) totals[blockIdx.x] = from[lane];
}

struct Tiles {
  static constexpr int kTile = 1024;
  template <class Element, class T>
  void launch(const Element& element, T* out, T* totals, std::int64_t n, unsigned blocks, cudaStream_t stream) const {
    scan_tiles<<<blocks, kTile, 2 * kTile * sizeof(T), stream>>>(element, out, totals, n);
  }
};

}  // namespace

Status cuda_hillis_steele_blocks(const detail::ScanCall& call, const Policy&) noexcept {
  return with_elements(call, [&]<class T>(const auto& elements, T* out) {
    gpu::scan_by_blocks(Tiles{}, elements, out, static_cast<T*>(call.launch->scratch), call.n, stream_of(call));
    return gpu::status_of(cudaGetLastError());
  });
}

gpu::WorkspaceSize cuda_hillis_steele_blocks_workspace(const detail::ScanCall& call) noexcept {
  return {.scratch = gpu::totals_above(call.n, Tiles::kTile) * call.out_size};
}

}  // namespace upsweep::scan
