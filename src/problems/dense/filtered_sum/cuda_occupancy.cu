// SPDX-License-Identifier: Apache-2.0
// problems/dense/filtered_sum/cuda_occupancy.cu: cuda.two_loads with 128, 256 or 384 threads, registers capped or not.
//
// Idea   A multiprocessor hides latency with its resident warps. Registers, shared memory and threads per block limit
//        their number. The kernel is compiled six times, and the runtime's own calculator selects the version with the
//        highest occupancy. `upsweep ladder filtered-sum` shows registers, shared memory, occupancy and time of all
//        six. The source limits registers by the flag --maxrregcount 10. In this rung __launch_bounds__ requests enough
//        blocks to fill a multiprocessor, and the compiler chooses the number of registers.
// Cost   As cuda.two_loads.
// Needs  Any GPU; scratch for one sum per block; a call that waits.
// Limit  The rungs so far load 4 bytes per thread, wait, load the payload, wait, and then fold a tree for 512 rows.
//        cuda.shuffle keeps each thread for many rows.
// From   "Optimizing Occupancy" in "Exercise Session 12" (C. Balkesen, ETH Zurich 2012): 14 registers give an occupancy
//        of 2/3, 10 registers give 1, and the time falls from 8.181 to 5.993 ms. Newer GPUs have 65,536 registers for
//        2048 threads, 32 per thread. This kernel needs at most 32, so registers do not limit its occupancy there.
#include <iterator>
#include <string>

#include "problems/dense/filtered_sum/cuda_rows.cuh"
#include "problems/dense/filtered_sum/occupancy.hpp"

namespace upsweep::impl::filtered_sum {

#if UPSWEEP_HAS_CUDA
namespace {

template <int kThreads>
__global__ void occupancy_select_and_sum(const DeviceRows rows, Sum* sums) {
  two_loads<kThreads>(rows, sums);
}

constexpr int kThreadsThatFit = 2048;  // on a multiprocessor of the chips that this is compiled for

template <int kThreads>
__global__ void __launch_bounds__(kThreads, kThreadsThatFit / kThreads)
    occupancy_capped_select_and_sum(const DeviceRows rows, Sum* sums) {
  two_loads<kThreads>(rows, sums);
}

struct Way {
  void (*kernel)(DeviceRows rows, Sum* sums);
  int threads;
  bool capped;
};

// If two variants fill a multiprocessor equally well, the first one is chosen.
constexpr Way kWays[] = {
    {occupancy_select_and_sum<256>, 256, false}, {occupancy_capped_select_and_sum<256>, 256, true},
    {occupancy_select_and_sum<128>, 128, false}, {occupancy_capped_select_and_sum<128>, 128, true},
    {occupancy_select_and_sum<384>, 384, false}, {occupancy_capped_select_and_sum<384>, 384, true},
};
constexpr int kSmallest = 128;

// [guide: best]
int blocks_that_fit(const Way& way) {
  int blocks = 0;
  const bool asked = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, way.kernel, way.threads, 0) == cudaSuccess;
  if (!asked) gpu::forget_last_error();
  return asked ? blocks : 0;
}

int best_way() {
  int best = 0;
  int most = 0;
  for (int i = 0; i < static_cast<int>(std::size(kWays)); ++i) {
    const int threads = blocks_that_fit(kWays[i]) * kWays[i].threads;
    if (threads > most) best = i;
    most = threads > most ? threads : most;
  }
  return best;
}
// [guide: end]

}  // namespace

std::vector<Variant> occupancy_variants() {
  int device = 0;
  int threads_that_fit = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&threads_that_fit, cudaDevAttrMaxThreadsPerMultiProcessor, device) != cudaSuccess) {
    gpu::forget_last_error();
    return {};
  }
  std::vector<Variant> all;
  for (const Way& way : kWays) {
    cudaFuncAttributes attributes = {};
    if (cudaFuncGetAttributes(&attributes, way.kernel) != cudaSuccess) {
      gpu::forget_last_error();
      return {};
    }
    const int blocks = blocks_that_fit(way);
    all.push_back({.name = std::to_string(way.threads) + (way.capped ? " threads, capped" : " threads"),
                   .registers = attributes.numRegs,
                   .shared_bytes = static_cast<std::int64_t>(attributes.sharedSizeBytes),
                   .blocks = blocks,
                   .occupancy = static_cast<double>(blocks * way.threads) / threads_that_fit});
  }
  return all;
}

Status run_occupancy_variant(detail::FilteredSumCall& call, int variant) noexcept {
  const Way& way = kWays[variant];
  const std::int64_t blocks = blocks_of(call.n, 2 * way.threads);
  return leave_partials(call, blocks,
                        [&](Sum* sums) { return launch_on_rows(call, way.kernel, blocks, way.threads, sums); });
}

namespace {

Status launch(detail::FilteredSumCall& call, const Policy&) noexcept {
  static const int best = best_way();  // for the first device used; correct on others, but perhaps not the best
  return run_occupancy_variant(call, best);
}

gpu::WorkspaceSize workspace(const detail::FilteredSumCall& call) noexcept {
  return partials_size(blocks_of(call.n, 2 * kSmallest));
}

}  // namespace
#endif

extern const Rung cuda_occupancy =
    host_adds_rung("cuda.occupancy", "two_loads in the block that fills the GPU best", "n, 9 + n/512 on the host",
                   "still a tree per 512 rows", launch, workspace);

}  // namespace upsweep::impl::filtered_sum
