// SPDX-License-Identifier: Apache-2.0
// problems/dense/filtered_sum/cuda_cub.cu: cub::DeviceReduce over an iterator of products, the usual library call.
//
// Idea   A counting iterator and a function make element i: row i's product, or 0. CUB sums the elements.
// Cost   The keys and the touched sectors.
// Needs  Any GPU. Temporary memory of the size that CUB requests.
// Limit  CUB sees no pointer through the function, so keys are loaded 4 bytes at a time. A second kernel for totals.
// From   CUB 3 of the CUDA toolkit.
#include "problems/dense/filtered_sum/cuda_rows.cuh"

#if UPSWEEP_HAS_CUDA
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cub/device/device_reduce.cuh>
#endif

namespace upsweep::impl::filtered_sum {

#if UPSWEEP_HAS_CUDA
namespace {

struct ProductOf {
  DeviceRows rows;
  __device__ Sum operator()(std::int64_t i) const { return rows.product(i); }
};

cudaError_t sum_products(void* temporary, std::size_t& bytes, const detail::FilteredSumCall& call, gpu::Stream stream) {
  gpu::forget_last_error();
  const auto products =
      thrust::make_transform_iterator(thrust::counting_iterator<std::int64_t>(0), ProductOf{rows_of(call)});
  return cub::DeviceReduce::Sum(temporary, bytes, products, reinterpret_cast<Sum*>(call.out), call.n, stream);
}

Status launch(detail::FilteredSumCall& call, const Policy&) noexcept {
  auto bytes = static_cast<std::size_t>(call.launch->size.scratch);
  call.partials = call.out;
  call.partial_count = 1;
  return gpu::status_of(sum_products(call.launch->scratch, bytes, call, call.launch->stream));
}

gpu::WorkspaceSize workspace(const detail::FilteredSumCall& call) noexcept {
  std::size_t bytes = 0;
  (void)sum_products(nullptr, bytes, call, nullptr);
  return {.scratch = static_cast<std::int64_t>(bytes)};
}

}  // namespace
#endif

extern const Rung cuda_cub{.info = {.id = "cuda.cub",
                                    .idea = "cub::DeviceReduce over products by index",
                                    .needs = "any GPU",
                                    .traffic = kSectors,
                                    .cost = "library",
                                    .limit = "4 bytes per load, a second launch",
                                    .kind = Kind::library},
                           .run = launch,
                           .workspace = workspace};

}  // namespace upsweep::impl::filtered_sum
