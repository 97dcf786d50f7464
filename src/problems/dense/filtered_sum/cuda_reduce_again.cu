// SPDX-License-Identifier: Apache-2.0
// problems/dense/filtered_sum/cuda_reduce_again.cu: a second kernel sums the block sums; 23 sums remain for the host.
//
// Idea   cuda.two_loads, then the same tree over its 11,722 sums: two per thread, 23 blocks. The source's second kernel
//        works in place. In it, a block that ends early may overwrite sums that block 0 has not read yet. Therefore
//        this rung writes to a second array.
// Cost   As cuda.two_loads, and 8 bytes per 512 rows written and read again; 8 bytes per 262,144 rows copied back.
// Needs  Any GPU; scratch for the sums of both kernels; a call that waits.
// Limit  A second launch, for sums that the host adds up in microseconds. The source's kernel also became slower.
//        cuda.occupancy returns to one kernel; in cuda.fused the last block of that kernel does this work.
// From   reduce of "Exercise Session 12" (C. Balkesen, ETH Zurich 2012): 8.181 to 9.116 ms.
#include "problems/dense/filtered_sum/cuda_rows.cuh"

namespace upsweep::impl::filtered_sum {

#if UPSWEEP_HAS_CUDA
namespace {

__global__ void reduce_again_select_and_sum(const DeviceRows rows, Sum* sums) { two_loads<kBlock>(rows, sums); }

// [guide: second kernel]
__global__ void reduce_again_sum(const Sum* sums, std::int64_t n, Sum* out) {
  __shared__ Sum values[kBlock];
  const std::int64_t i = std::int64_t{blockIdx.x} * (2 * kBlock) + threadIdx.x;
  values[threadIdx.x] = (i < n ? sums[i] : 0) + (i + kBlock < n ? sums[i + kBlock] : 0);
  const Sum sum = fold_unrolled<kBlock>(values);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
// [guide: end]

Status launch(detail::FilteredSumCall& call, const Policy&) noexcept {
  const std::int64_t first = blocks_of(call.n, 2 * kBlock);
  const std::int64_t second = blocks_of(first, 2 * kBlock);
  return leave_partials(call, second, [&](Sum* out) {
    Sum* const sums = out + second;
    const cudaError_t error = launch_on_rows(call, reduce_again_select_and_sum, first, kBlock, sums);
    if (error != cudaSuccess) return error;
    const auto blocks = static_cast<unsigned>(second);
    return gpu::detail::launch({.blocks = blocks, .threads = kBlock, .stream = call.launch->stream}, reduce_again_sum,
                               sums, first, out);
  });
}

gpu::WorkspaceSize workspace(const detail::FilteredSumCall& call) noexcept {
  const std::int64_t first = blocks_of(call.n, 2 * kBlock);
  return partials_size(first + blocks_of(first, 2 * kBlock));
}

}  // namespace
#endif

extern const Rung cuda_reduce_again =
    host_adds_rung("cuda.reduce_again", "a second kernel sums the blocks' sums", "n, 18 + n/262144 on the host",
                   "the launch of a second kernel", launch, workspace);

}  // namespace upsweep::impl::filtered_sum
