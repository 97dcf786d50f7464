// SPDX-License-Identifier: Apache-2.0
// tests/guests/scan_shuffle.cu: a solution of exercise 11: warps scan in registers, and one warp scans the totals of
// all warps.
#include <upsweep/rung.h>

#include <cstdint>

namespace {

constexpr int kWarp = 32;
constexpr int kTile = 512;  // elements of a tile: one for each thread of a block
constexpr int kWarps = kTile / kWarp;
constexpr unsigned kAllLanes = 0xffffffff;

/// Returns the sum of this lane's value and those of all lanes before it. Every lane must call it.
__device__ uint32_t scan_warp(uint32_t x) {
  const int lane = threadIdx.x % kWarp;
  for (int stride = 1; stride < kWarp; stride *= 2) {
    const uint32_t left = __shfl_up_sync(kAllLanes, x, stride);
    if (lane >= stride) x += left;
  }
  return x;
}

/// Scans each tile. If `totals` is not null, writes the sum of each tile to it. `out` may be `in`.
__global__ void scan_tiles(const uint32_t* in, int64_t n, uint32_t* out, uint32_t* totals) {
  __shared__ uint32_t warps[kWarps];
  const int warp = threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;
  const int64_t i = int64_t{blockIdx.x} * kTile + threadIdx.x;
  uint32_t sum = scan_warp(i < n ? in[i] : 0);
  if (lane == kWarp - 1) warps[warp] = sum;
  __syncthreads();  // the totals of all warps are there
  if (warp == 0) {
    const uint32_t through = scan_warp(lane < kWarps ? warps[lane] : 0);
    if (lane < kWarps) warps[lane] = through;
  }
  __syncthreads();  // their sums are there
  if (warp > 0) sum += warps[warp - 1];
  if (i < n) out[i] = sum;
  if (totals != nullptr && threadIdx.x == kTile - 1) totals[blockIdx.x] = sum;
}

/// Adds to every tile but the first the sum of all tiles before it.
__global__ void add_sums(uint32_t* out, int64_t n, const uint32_t* sums) {
  const int64_t tile = int64_t{blockIdx.x} + 1;
  const int64_t i = tile * kTile + threadIdx.x;
  if (i < n) out[i] += sums[tile - 1];
}

/// `out` may be `in`.
cudaError_t scan(const uint32_t* in, int64_t n, uint32_t* out, cudaStream_t stream) {
  const auto tiles = static_cast<unsigned>((n + kTile - 1) / kTile);
  if (tiles == 0) return cudaSuccess;
  if (tiles == 1) {
    scan_tiles<<<1, kTile, 0, stream>>>(in, n, out, nullptr);
    return cudaGetLastError();
  }
  uint32_t* totals = nullptr;
  cudaError_t error = cudaMallocAsync(&totals, tiles * sizeof(uint32_t), stream);
  if (error != cudaSuccess) return error;
  scan_tiles<<<tiles, kTile, 0, stream>>>(in, n, out, totals);
  error = scan(totals, tiles, totals, stream);
  if (error == cudaSuccess) {
    add_sums<<<tiles - 1, kTile, 0, stream>>>(out, n, totals);
    error = cudaGetLastError();
  }
  (void)cudaFreeAsync(totals, stream);
  return error;
}

}  // namespace

int upsweep_rung_version() { return UPSWEEP_RUNG_VERSION; }

int upsweep_rung_cuda_scan(upsweep_type type, const void* in, int64_t n, void* out, upsweep_rung_stream stream) {
  if (type != UPSWEEP_INT32) return UPSWEEP_RUNG_SKIPS;
  return scan(static_cast<const uint32_t*>(in), n, static_cast<uint32_t*>(out), stream);
}
