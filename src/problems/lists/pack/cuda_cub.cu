// SPDX-License-Identifier: Apache-2.0
// problems/lists/pack/cuda_cub.cu: CUB's copy of many ranges, with one range per list.
//
// Idea   A library function, DeviceCopy::Batched, after the scan of lengths.
// Cost   24 bytes per list of int64 and 24 for the scan of lengths, and CUB's cost of sorting lists by size.
// Needs  Any GPU; elements aligned to their size (elements of 16 bytes: to 8).
// Limit  Short lists: one thread or one warp for each.
// From   CUB 3 of the CUDA toolkit.
#include "problems/lists/pack/cuda_layout.cuh"

#if UPSWEEP_HAS_CUDA
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <algorithm>
#include <cub/device/device_copy.cuh>
#endif

namespace upsweep::impl::pack {

namespace {

const char* cub_refusal(const detail::PackCall& call, const Policy&) noexcept {
  for (const PackColumn& column : call.columns) {
    const auto addresses = reinterpret_cast<std::uintptr_t>(column.data) | reinterpret_cast<std::uintptr_t>(column.out);
    const auto alignment = static_cast<std::uintptr_t>(column.element_size < 8 ? column.element_size : 8);
    if (addresses % alignment != 0) return "elements are not aligned to their size";
  }
  return nullptr;
}

#if UPSWEEP_HAS_CUDA
template <class E>
struct From {
  gpu::MovedLists lists;
  const E* content;
  __device__ const E* operator()(std::int64_t i) const { return content + lists.at(i).start; }
};
template <class E>
struct To {
  const std::int64_t* offsets;
  E* out;
  __device__ E* operator()(std::int64_t i) const { return out + (offsets[i] - offsets[0]); }
};
/// The length of a list, or 0 if the call is bad.
struct Length {
  gpu::MovedLists lists;
  const gpu::Outcome* outcome;
  __device__ std::int64_t operator()(std::int64_t i) const {
    return outcome->moved == 0 ? 0 : ::max(lists.at(i).length, std::int64_t{0});
  }
};

/// Copies the lists. If `temporary` is null, only computes its size in `bytes`.
cudaError_t copy_batched(void* temporary, std::size_t& bytes, const detail::PackCall& call, const PackColumn& column,
                         const gpu::Outcome* outcome) {
  gpu::forget_last_error();
  const gpu::MovedLists lists = device_lists(call);
  const auto over_lists = [](const auto& f) {
    return thrust::make_transform_iterator(thrust::counting_iterator<std::int64_t>(0), f);
  };
  const auto by = [&]<class E>(std::type_identity<E>) {
    return cub::DeviceCopy::Batched(temporary, bytes, over_lists(From<E>{lists, static_cast<const E*>(column.data)}),
                                    over_lists(To<E>{call.offsets, static_cast<E*>(column.out)}),
                                    over_lists(Length{lists, outcome}), call.lists.count, call.launch->stream);
  };
  if (column.element_size == 1) return by(std::type_identity<std::uint8_t>{});
  if (column.element_size == 2) return by(std::type_identity<std::uint16_t>{});
  if (column.element_size == 4) return by(std::type_identity<std::uint32_t>{});
  if (column.element_size == 8) return by(std::type_identity<std::uint64_t>{});
  return by(std::type_identity<gpu::Moved<16, std::uint64_t>>{});
}

struct CubScratch : LayoutScratch {
  CubScratch(const detail::PackCall& call, void* memory) : LayoutScratch(call, memory) {
    for (const PackColumn& column : call.columns) {
      std::size_t needed = 0;
      if (moves(call)) (void)copy_batched(nullptr, needed, call, column, outcome);
      bytes = std::max(bytes, needed);
    }
    temporary = parts.take<std::byte>(static_cast<std::int64_t>(bytes) + 1);
  }

  std::size_t bytes = 0;
  std::byte* temporary;
};

cudaError_t launch_all(const detail::PackCall& call, const CubScratch& scratch) {
  cudaError_t error = launch_layout(call, scratch);
  for (const PackColumn& column : call.columns) {
    if (error != cudaSuccess || !moves(call)) return error;
    std::size_t bytes = scratch.bytes;
    error = copy_batched(scratch.temporary, bytes, call, column, scratch.outcome);
  }
  return error;
}

Status launch(detail::PackCall& call, const Policy&) noexcept {
  return gpu::status_of(launch_all(call, CubScratch(call, call.launch->scratch)));
}

gpu::WorkspaceSize workspace(const detail::PackCall& call) noexcept {
  return {.scratch = CubScratch(call, nullptr).parts.bytes()};
}
#endif

}  // namespace

extern const Rung cuda_cub{.info = {.id = "cuda.cub",
                                    .idea = "scan of lengths; CUB's copy of many ranges",
                                    .needs = "any GPU; aligned elements",
                                    .traffic = "n read, n written",
                                    .cost = "library",
                                    .limit = "a thread or a warp for each short list",
                                    .kind = Kind::library},
                           .refusal = cub_refusal,
                           .run = launch,
                           .workspace = workspace};

}  // namespace upsweep::impl::pack
