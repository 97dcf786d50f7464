// SPDX-License-Identifier: Apache-2.0
// problems/dense/filtered_sum/cuda_select.cu: the GPU computes one product, or 0, per row; the host adds them up.
//
// Idea   Thread i tests row i and writes its product. All products are copied to the host, which adds them up.
// Cost   The keys and the touched sectors; 8n written, 8n over the link, 8n read by the host: more than the input.
// Needs  Any GPU; 8 bytes of scratch per row; a call that waits.
// Limit  The copy back: 48 MB for six million rows. cuda.interleaved sends one sum per block.
// From   simpleselect of "Exercise Session 12" (C. Balkesen, ETH Zurich 2012): 59.45 ms, of which 46.335 were copies.
#include "problems/dense/filtered_sum/cuda_rows.cuh"

namespace upsweep::impl::filtered_sum {

#if UPSWEEP_HAS_CUDA
namespace {

// [guide: product]
__global__ void simple_select(const DeviceRows rows, Sum* products) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  // In the source, threads past the last row write as well. Unless its array is rounded up, they write past its end.
  if (i < rows.n) products[i] = rows.product(i);
}
// [guide: end]

Status launch(detail::FilteredSumCall& call, const Policy&) noexcept {
  return leave_partials(call, call.n, [&](Sum* products) {
    if (call.n == 0) return cudaSuccess;
    return launch_on_rows(call, simple_select, blocks_of(call.n, kBlock), kBlock, products);
  });
}

gpu::WorkspaceSize workspace(const detail::FilteredSumCall& call) noexcept { return partials_size(call.n); }

}  // namespace
#endif

extern const Rung cuda_select = host_adds_rung("cuda.select", "a product per row; the host adds up all of them",
                                               "2n, n on the host", "8 bytes written, sent and read per row", launch,
                                               workspace, "as below, and n products written, sent, read");

}  // namespace upsweep::impl::filtered_sum
