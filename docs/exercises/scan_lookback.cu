// SPDX-License-Identifier: Apache-2.0
// docs/exercises/scan_lookback.cu: exercise 12, a scan in one pass. It is right, but every tile waits until the tile
// before it has waited.
#include <upsweep/rung.h>

#include <cstdint>
#include <cuda/atomic>

namespace {

constexpr int kWarp = 32;
constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kItems = 15;  // elements of a thread: odd, so that threads read different banks
constexpr int kTile = kThreads * kItems;
constexpr unsigned kAllLanes = 0xffffffff;

// Each tile publishes a word: a state and a value. Both are written at once, so no other memory must be ordered.
using Word = unsigned long long;
constexpr unsigned kNothing = 0;
constexpr unsigned kPrefix = 2;  // the sum of all tiles up to and including it

__device__ unsigned state_of(Word word) { return static_cast<unsigned>(word >> 32); }
__device__ uint32_t value_of(Word word) { return static_cast<uint32_t>(word); }

__device__ void publish(Word* words, int64_t tile, unsigned state, uint32_t value) {
  const Word word = Word{state} << 32 | value;
  cuda::atomic_ref<Word, cuda::thread_scope_device>(words[tile]).store(word, cuda::std::memory_order_relaxed);
}

/// Waits until the tile has published something.
__device__ Word wait_for(Word* words, int64_t tile) {
  for (;;) {
    const Word word =
        cuda::atomic_ref<Word, cuda::thread_scope_device>(words[tile]).load(cuda::std::memory_order_relaxed);
    if (state_of(word) != kNothing) return word;
  }
}

/// Returns the sum of all tiles before this one, whose sum is `total`.
__device__ uint32_t look_back(Word* words, int64_t tile, uint32_t total) {
  // TODO: publish the total before waiting, and add up totals of earlier tiles until one has published its prefix.
  const uint32_t prefix = tile > 0 ? value_of(wait_for(words, tile - 1)) : 0;
  publish(words, tile, kPrefix, prefix + total);
  return prefix;
}

/// Returns the sum of this lane's value and those of all lanes before it. Every lane must call it.
__device__ uint32_t scan_warp(uint32_t x) {
  const int lane = threadIdx.x % kWarp;
  for (int stride = 1; stride < kWarp; stride *= 2) {
    const uint32_t left = __shfl_up_sync(kAllLanes, x, stride);
    if (lane >= stride) x += left;
  }
  return x;
}

/// The first word counts the tiles that blocks have taken. The others are what tiles publish.
__global__ void scan_tiles(const uint32_t* in, int64_t n, uint32_t* out, Word* words) {
  __shared__ uint32_t x[kTile];
  __shared__ uint32_t warps[kWarps];
  __shared__ uint32_t prefix;
  __shared__ Word taken;
  const int thread = threadIdx.x;
  const int warp = thread / kWarp;
  const int lane = thread % kWarp;

  // Blocks start in any order. A tile that is taken later never holds up an earlier one.
  if (thread == 0) taken = atomicAdd(words, Word{1});
  __syncthreads();
  const auto tile = static_cast<int64_t>(taken);
  const int64_t first = tile * kTile;
  for (int i = thread; i < kTile; i += kThreads) x[i] = first + i < n ? in[first + i] : 0;
  __syncthreads();

  // The sum of each thread's elements, and of all threads up to it.
  uint32_t sum = 0;
  for (int k = 0; k < kItems; ++k) sum += x[thread * kItems + k];
  const uint32_t through = scan_warp(sum);
  if (lane == kWarp - 1) warps[warp] = through;
  __syncthreads();
  if (warp == 0) {
    const uint32_t all = scan_warp(lane < kWarps ? warps[lane] : 0);
    if (lane < kWarps) warps[lane] = all;
    if (lane == kWarps - 1) prefix = look_back(words + 1, tile, all);
  }
  __syncthreads();

  uint32_t running = prefix + (warp > 0 ? warps[warp - 1] : 0) + through - sum;
  for (int k = 0; k < kItems; ++k) {
    running += x[thread * kItems + k];
    x[thread * kItems + k] = running;
  }
  __syncthreads();
  for (int i = thread; i < kTile && first + i < n; i += kThreads) out[first + i] = x[i];
}

}  // namespace

int upsweep_rung_version() { return UPSWEEP_RUNG_VERSION; }

int upsweep_rung_cuda_scan(upsweep_type type, const void* in, int64_t n, void* out, upsweep_rung_stream stream) {
  if (type != UPSWEEP_INT32) return UPSWEEP_RUNG_SKIPS;
  const auto tiles = static_cast<unsigned>((n + kTile - 1) / kTile);
  if (tiles == 0) return 0;
  const std::size_t bytes = (tiles + std::size_t{1}) * sizeof(Word);
  Word* words = nullptr;
  if (const cudaError_t error = cudaMallocAsync(&words, bytes, stream)) return error;
  cudaMemsetAsync(words, 0, bytes, stream);
  scan_tiles<<<tiles, kThreads, 0, stream>>>(static_cast<const uint32_t*>(in), n, static_cast<uint32_t*>(out), words);
  cudaFreeAsync(words, stream);
  return cudaGetLastError();
}
