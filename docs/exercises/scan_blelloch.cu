// SPDX-License-Identifier: Apache-2.0
// docs/exercises/scan_blelloch.cu: exercise 10, up-sweep and down-sweep. It is right, but threads of a warp access the
// same bank of shared memory.
#include <upsweep/rung.h>

#include <cstdint>

namespace {

constexpr int kThreads = 256;
constexpr int kTile = 2 * kThreads;

/// The word of shared memory for element i.
__device__ int place(int i) { return i; }  // TODO: elements at a distance of 32, 64, … are in the same bank

/// Scans each tile. If `totals` is not null, writes the sum of each tile to it. `out` may be `in`.
__global__ void scan_tiles(const uint32_t* in, int64_t n, uint32_t* out, uint32_t* totals) {
  __shared__ uint32_t x[kTile];
  const int thread = threadIdx.x;
  const int64_t first = int64_t{blockIdx.x} * kTile;
  for (int i = thread; i < kTile; i += kThreads) x[place(i)] = first + i < n ? in[first + i] : 0;

  // Up-sweep: the last element of every subtree becomes the sum of the subtree.
  for (int stride = 1; stride < kTile; stride *= 2) {
    __syncthreads();  // the level below is complete
    const int right = (thread + 1) * 2 * stride - 1;
    if (right < kTile) x[place(right)] += x[place(right - stride)];
  }
  if (thread == 0) {  // the thread that has written the root
    if (totals != nullptr) totals[blockIdx.x] = x[place(kTile - 1)];
    x[place(kTile - 1)] = 0;
  }

  // Down-sweep: the last element of every subtree becomes the sum of all elements before the subtree.
  for (int stride = kTile / 2; stride > 0; stride /= 2) {
    __syncthreads();  // the level above is complete
    const int right = (thread + 1) * 2 * stride - 1;
    if (right >= kTile) continue;
    const uint32_t left = x[place(right - stride)];
    x[place(right - stride)] = x[place(right)];
    x[place(right)] += left;
  }
  __syncthreads();
  for (int i = thread; i < kTile && first + i < n; i += kThreads) out[first + i] = x[place(i)] + in[first + i];
}

/// Adds to every tile but the first the sum of all tiles before it.
__global__ void add_sums(uint32_t* out, int64_t n, const uint32_t* sums) {
  const int64_t tile = int64_t{blockIdx.x} + 1;
  const int64_t first = tile * kTile;
  for (int i = threadIdx.x; i < kTile && first + i < n; i += kThreads) out[first + i] += sums[tile - 1];
}

/// `out` may be `in`.
cudaError_t scan(const uint32_t* in, int64_t n, uint32_t* out, cudaStream_t stream) {
  const auto tiles = static_cast<unsigned>((n + kTile - 1) / kTile);
  if (tiles == 0) return cudaSuccess;
  if (tiles == 1) {
    scan_tiles<<<1, kThreads, 0, stream>>>(in, n, out, nullptr);
    return cudaGetLastError();
  }
  uint32_t* totals = nullptr;
  cudaError_t error = cudaMallocAsync(&totals, tiles * sizeof(uint32_t), stream);
  if (error != cudaSuccess) return error;
  scan_tiles<<<tiles, kThreads, 0, stream>>>(in, n, out, totals);
  error = scan(totals, tiles, totals, stream);
  if (error == cudaSuccess) {
    add_sums<<<tiles - 1, kThreads, 0, stream>>>(out, n, totals);
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
