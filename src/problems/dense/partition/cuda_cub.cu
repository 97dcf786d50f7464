// SPDX-License-Identifier: Apache-2.0
// problems/dense/partition/cuda_cub.cu: CUB's partition by flags, with an output iterator that reverses the others.
//
// Idea   The library's function: DevicePartition::Flagged for each column. It writes the elements that are not kept
//        backwards, from the output's end. An output iterator maps the place of each of these elements to its place in
//        order. The iterator needs the number of kept elements, so DeviceReduce::Sum counts the mask first.
// Cost   The mask twice, and once more for each further column; the content read and written once.
// Needs  Any GPU; elements aligned to their size (16-byte elements: to 8).
// Limit  The mask is read for each column and for the count.
// From   CUB 3 of the CUDA toolkit.
#include "problems/dense/partition/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/permutation_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <algorithm>
#include <cub/device/device_partition.cuh>
#include <cub/device/device_reduce.cuh>

#include "cuda/moved_lists.cuh"
#endif

namespace upsweep::impl::partition {

namespace {

const char* cub_refusal(const Call& call, const Policy&) noexcept {
  for (const SelectColumn& column : call.columns) {
    const auto addresses = reinterpret_cast<std::uintptr_t>(column.data) | reinterpret_cast<std::uintptr_t>(column.out);
    const auto alignment = static_cast<std::uintptr_t>(column.element_size < 8 ? column.element_size : 8);
    if (addresses % alignment != 0) return "elements are not aligned to their size";
  }
  return nullptr;
}

#if UPSWEEP_HAS_CUDA
template <class F>
auto over_positions(const F& f) {
  return thrust::make_transform_iterator(thrust::counting_iterator<std::int64_t>(0), f);
}

struct Flag {
  gpu::DeviceMask mask;
  __device__ bool operator()(std::int64_t j) const { return mask[j]; }
};
struct Count {
  gpu::DeviceMask mask;
  __device__ std::int64_t operator()(std::int64_t j) const { return mask[j] ? 1 : 0; }
};
/// Returns the place of an element in order, from the place to which CUB writes it.
struct PartitionedAt {
  const std::int64_t* kept;
  std::int64_t n;
  __device__ std::int64_t operator()(std::int64_t place) const {
    return place < *kept ? place : *kept + (n - 1 - place);
  }
};

/// CUB's calls. Without temporary memory they return the size that they need.
struct Library {
  void* temporary;
  std::size_t bytes;
  gpu::Stream stream;
  std::size_t needed = 0;

  template <class Run>
  cudaError_t run(Run call) {
    gpu::forget_last_error();
    std::size_t size = temporary == nullptr ? 0 : bytes;
    const cudaError_t error = call(size);
    needed = std::max(needed, size);
    return error;
  }
  cudaError_t count(const Mask& mask, std::int64_t* kept) {
    return run([&](std::size_t& size) {
      return cub::DeviceReduce::Sum(temporary, size, over_positions(Count{gpu::DeviceMask(mask)}), kept, mask.length,
                                    stream);
    });
  }
  /// `counted` receives the count of kept elements, which CUB computes again.
  template <class E>
  cudaError_t partition(const E* content, const Mask& mask, const std::int64_t* kept, E* out, std::int64_t* counted) {
    const auto places = thrust::make_permutation_iterator(out, over_positions(PartitionedAt{kept, mask.length}));
    return run([&](std::size_t& size) {
      return cub::DevicePartition::Flagged(temporary, size, content, over_positions(Flag{gpu::DeviceMask(mask)}),
                                           places, counted, mask.length, stream);
    });
  }
};

template <class F>
cudaError_t visit_size(int size, F f) {
  if (size == 1) return f(std::type_identity<std::uint8_t>{});
  if (size == 2) return f(std::type_identity<std::uint16_t>{});
  if (size == 4) return f(std::type_identity<std::uint32_t>{});
  if (size == 8) return f(std::type_identity<std::uint64_t>{});
  return f(std::type_identity<gpu::Moved<16, std::uint64_t>>{});
}

/// Scratch for columns with any element size, because the workspace size is asked for without the columns.
struct CubScratch {
  CubScratch(const Mask& mask, void* memory) : parts(memory) {
    kept = parts.take<std::int64_t>(1);
    counted = parts.take<std::int64_t>(1);
    Library library{.temporary = nullptr, .bytes = 0, .stream = nullptr};
    (void)library.count(mask, kept);
    for (const int size : {1, 2, 4, 8, 16}) {
      (void)visit_size(size, [&]<class E>(std::type_identity<E>) {
        return library.partition(static_cast<const E*>(nullptr), mask, kept, static_cast<E*>(nullptr), counted);
      });
    }
    bytes = library.needed;
    temporary = parts.take<std::byte>(static_cast<std::int64_t>(bytes) + 1);
  }

  gpu::ScratchParts parts;
  std::int64_t* kept = nullptr;
  std::int64_t* counted = nullptr;
  std::byte* temporary = nullptr;
  std::size_t bytes = 0;
};

__global__ void conclude(const std::int64_t* kept, gpu::SelectStatus* status) { *status = {kNoIndex, *kept, Code::ok}; }

cudaError_t launch_all(const Call& call, const CubScratch& scratch) {
  const gpu::Stream stream = call.launch->stream;
  Library library{.temporary = scratch.temporary, .bytes = scratch.bytes, .stream = stream};
  cudaError_t error = library.count(call.mask, scratch.kept);
  for (const SelectColumn& column : call.columns) {
    if (error != cudaSuccess) return error;
    if (call.mask.length == 0) break;
    error = visit_size(column.element_size, [&]<class E>(std::type_identity<E>) {
      return library.partition(static_cast<const E*>(column.data), call.mask, scratch.kept, static_cast<E*>(column.out),
                               scratch.counted);
    });
  }
  if (error != cudaSuccess) return error;
  return gpu::detail::launch({.blocks = 1, .threads = 1, .stream = stream}, conclude, scratch.kept, call.status);
}

Status launch(Call& call, const Policy&) noexcept {
  return gpu::status_of(launch_all(call, CubScratch(call.mask, call.launch->scratch)));
}

gpu::WorkspaceSize workspace(const Call& call) noexcept {
  return {.scratch = CubScratch(call.mask, nullptr).parts.bytes()};
}
#endif

}  // namespace

extern const Rung cuda_cub{.info = {.id = "cuda.cub",
                                    .idea = "CUB's partition by flags, the rest reversed",
                                    .needs = "any GPU; aligned elements",
                                    .traffic = "the mask twice, n read, n written",
                                    .cost = "2n",
                                    .limit = "the mask is read again",
                                    .kind = Kind::library},
                           .refusal = cub_refusal,
                           .run = launch,
                           .workspace = workspace};

}  // namespace upsweep::impl::partition
