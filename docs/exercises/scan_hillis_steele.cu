// SPDX-License-Identifier: Apache-2.0
// docs/exercises/scan_hillis_steele.cu: exercise 9, a scan by thread blocks. Each block scans only its tile, so it is
// refused.
#include <upsweep/rung.h>

#include <cstdint>

namespace {

constexpr int kTile = 512;  // elements of a tile: one for each thread of a block

/// Scans each tile.
__global__ void scan_tiles(const uint64_t* in, int64_t n, uint64_t* out) {
  __shared__ uint64_t x[2][kTile];
  const int thread = threadIdx.x;
  const int64_t i = int64_t{blockIdx.x} * kTile + thread;
  x[0][thread] = i < n ? in[i] : 0;
  int from = 0;
  for (int stride = 1; stride < kTile; stride *= 2) {
    __syncthreads();  // the previous round is complete
    x[1 - from][thread] = x[from][thread] + (thread >= stride ? x[from][thread - stride] : 0);
    from = 1 - from;
  }
  if (i < n) out[i] = x[from][thread];
}

}  // namespace

int upsweep_rung_version() { return UPSWEEP_RUNG_VERSION; }

int upsweep_rung_cuda_scan(upsweep_type type, const void* in, int64_t n, void* out, upsweep_rung_stream stream) {
  if (type != UPSWEEP_INT64) return UPSWEEP_RUNG_SKIPS;
  const auto tiles = static_cast<unsigned>((n + kTile - 1) / kTile);
  if (tiles == 0) return 0;
  scan_tiles<<<tiles, kTile, 0, stream>>>(static_cast<const uint64_t*>(in), n, static_cast<uint64_t*>(out));
  // TODO: every tile must add the sum of all tiles before it.
  return cudaGetLastError();
}
