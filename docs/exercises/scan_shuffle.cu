// SPDX-License-Identifier: Apache-2.0
// docs/exercises/scan_shuffle.cu: exercise 11, a scan by thread blocks. It is right, but every round goes through
// shared memory and has a barrier.
#include <upsweep/rung.h>

#include <cstdint>

namespace {

constexpr int kTile = 512;  // elements of a tile: one for each thread of a block

/// Scans each tile. If `totals` is not null, writes the sum of each tile to it. `out` may be `in`.
__global__ void scan_tiles(const uint32_t* in, int64_t n, uint32_t* out, uint32_t* totals) {
  __shared__ uint32_t x[2][kTile];
  const int thread = threadIdx.x;
  const int64_t i = int64_t{blockIdx.x} * kTile + thread;
  // TODO: scan in registers, by __shfl_up_sync, as far as a warp goes.
  x[0][thread] = i < n ? in[i] : 0;
  int from = 0;
  for (int stride = 1; stride < kTile; stride *= 2) {
    __syncthreads();  // the previous round is complete
    x[1 - from][thread] = x[from][thread] + (thread >= stride ? x[from][thread - stride] : 0);
    from = 1 - from;
  }
  const uint32_t sum = x[from][thread];
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
