// SPDX-License-Identifier: Apache-2.0
// problems/dense/select/cuda_cub.cu: CUB's compaction by flags, and for lists a scan of the mask that yields offsets.
//
// Idea   The library's functions: DeviceSelect::Flagged for each column, DeviceScan::InclusiveSum of the mask.
// Cost   For lists, the scan writes 8 bytes per element, and each list reads one of these at random. Content once.
// Needs  Any GPU; adjacent lists without nulls, elements aligned to their size (16-byte elements: to 8).
// Limit  The mask is read for each column and for the scan, whose sums are as large as the content. If an output's
//        capacity is below the length of the content, elements are counted first, because CUB takes no capacity.
// From   CUB 3 of the CUDA toolkit.
#include "problems/dense/select/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <algorithm>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>

#include "cuda/moved_lists.cuh"
#include "upsweep/detail/tuning/select.hpp"
#endif

namespace upsweep::impl::select {

namespace {

const char* cub_refusal(const detail::SelectCall& call, const Policy&) noexcept {
  if (call.has_lists && (!call.lists.are_adjacent() || call.lists.valid.is_given())) {
    return "lists are not adjacent, or some may be null";
  }
  for (const SelectColumn& column : call.columns) {
    const auto addresses = reinterpret_cast<std::uintptr_t>(column.data) | reinterpret_cast<std::uintptr_t>(column.out);
    if (addresses % static_cast<unsigned>(std::min(column.element_size, 8)) != 0)
      return "elements are not aligned to their size";
  }
  return nullptr;
}

#if UPSWEEP_HAS_CUDA
/// Values that a kernel passes to later kernels.
struct Found {
  std::int64_t first;  ///< the lists' first element in the content
  std::int64_t stop;
  std::int64_t kept;
  unsigned long long not_bad;  ///< the complement of the first bad list; 0: none
};

__global__ void begin(gpu::MovedLists lists, bool has_lists, Found* found) {
  const gpu::Extent covered = has_lists ? lists.covered() : gpu::Extent{0, lists.content};
  *found = {covered.start, covered.start + covered.length, 0, 0};
}

struct IsKept {
  gpu::DeviceMask mask;
  const Found* found;
  __device__ bool operator()(std::int64_t j) const { return j >= found->first && j < found->stop && mask[j]; }
};
struct KeptCount {
  IsKept is_kept;
  __device__ std::int64_t operator()(std::int64_t j) const { return is_kept(j) ? 1 : 0; }
};
/// Moves nothing if the capacity is too small for all kept elements.
struct IsMoved {
  IsKept is_kept;
  std::int64_t capacity;
  __device__ bool operator()(std::int64_t j) const { return is_kept.found->kept <= capacity && is_kept(j); }
};

/// Writes new offsets and the number of kept elements, and checks the lists.
__global__ void pick_offsets(gpu::MovedLists lists, const std::int64_t* sums, std::int64_t* out, Found* found) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i == 0) found->kept = lists.content == 0 ? 0 : sums[lists.content - 1];
  if (i > lists.count) return;
  if (i < lists.count && lists.at(i).length < 0) atomicMax(&found->not_bad, ~static_cast<unsigned long long>(i));
  if (out == nullptr) return;
  std::int64_t bound = 0;
  if (lists.count > 0) {
    bound = lists.has_size    ? i * lists.size
            : i < lists.count ? lists.bound(lists.starts, i)
                              : lists.bound(lists.stops, i - 1);
  }
  bound = ::min(::max(bound, std::int64_t{0}), lists.content);  // bounds of bad and empty lists may be anything
  out[i] = bound == 0 ? 0 : sums[bound - 1];
}

__global__ void conclude(gpu::MovedLists lists, const Found* found, std::int64_t capacity, gpu::SelectStatus* status) {
  if (found->not_bad != 0) {
    const auto bad = static_cast<std::int64_t>(~found->not_bad);
    *status = {bad, 0, lists.check(bad)};
    return;
  }
  *status = {kNoIndex, found->kept, found->kept <= capacity ? Code::ok : Code::unequal_lengths};
}

template <class F>
auto over_positions(const F& f) {
  return thrust::make_transform_iterator(thrust::counting_iterator<std::int64_t>(0), f);
}

/// CUB's calls. Without temporary memory they return the size that they need.
struct Library {
  void* temporary;
  std::size_t bytes;
  gpu::Stream stream;
  std::size_t needed = 0;

  template <class Call>
  cudaError_t run(Call call) {
    gpu::forget_last_error();
    std::size_t size = temporary == nullptr ? 0 : bytes;
    const cudaError_t error = call(size);
    needed = std::max(needed, size);
    return error;
  }
  cudaError_t sum(const KeptCount& count, std::int64_t n, std::int64_t* out) {
    return run([&](std::size_t& size) {
      return cub::DeviceReduce::Sum(temporary, size, over_positions(count), out, n, stream);
    });
  }
  cudaError_t scan(const KeptCount& count, std::int64_t n, std::int64_t* out) {
    return run([&](std::size_t& size) {
      return cub::DeviceScan::InclusiveSum(temporary, size, over_positions(count), out, n, stream);
    });
  }
  cudaError_t select(const SelectColumn& column, const IsMoved& is_moved, std::int64_t n, std::int64_t* kept) {
    const auto by = [&]<class E>(std::type_identity<E>) {
      return run([&](std::size_t& size) {
        return cub::DeviceSelect::Flagged(temporary, size, static_cast<const E*>(column.data), over_positions(is_moved),
                                          static_cast<E*>(column.out), kept, n, stream);
      });
    };
    if (column.element_size == 1) return by(std::type_identity<std::uint8_t>{});
    if (column.element_size == 2) return by(std::type_identity<std::uint16_t>{});
    if (column.element_size == 4) return by(std::type_identity<std::uint32_t>{});
    if (column.element_size == 8) return by(std::type_identity<std::uint64_t>{});
    return by(std::type_identity<gpu::Moved<16, std::uint64_t>>{});
  }
};

struct CubScratch {
  CubScratch(const detail::SelectCall& call, void* memory) : parts(memory) {
    found = parts.take<Found>(1);
    selected = parts.take<std::int64_t>(1);
    if (call.has_lists) sums = parts.take<std::int64_t>(call.mask.length);
    Library library{.temporary = nullptr, .bytes = 0, .stream = nullptr};
    const KeptCount count{{gpu::DeviceMask(call.mask), found}};
    (void)(call.has_lists ? library.scan(count, call.mask.length, sums)
                          : library.sum(count, call.mask.length, &found->kept));
    for (const SelectColumn& column : call.columns) {
      (void)library.select(column, {count.is_kept, call.capacity}, call.mask.length, selected);
    }
    bytes = library.needed;
    temporary = parts.take<std::byte>(static_cast<std::int64_t>(bytes) + 1);
  }

  gpu::ScratchParts parts;
  Found* found;
  std::int64_t* selected;  ///< the number that CUB counts
  std::int64_t* sums = nullptr;
  std::byte* temporary = nullptr;
  std::size_t bytes = 0;
};

cudaError_t launch_all(const detail::SelectCall& call, const CubScratch& scratch) {
  const gpu::Stream stream = call.launch->stream;
  const std::int64_t n = call.mask.length;
  const gpu::MovedLists lists(call.lists, n);
  const gpu::detail::Grid one{.blocks = 1, .threads = 1, .stream = stream};
  Library library{.temporary = scratch.temporary, .bytes = scratch.bytes, .stream = stream};
  const IsKept is_kept{gpu::DeviceMask(call.mask), scratch.found};

  cudaError_t error = gpu::detail::launch(one, begin, lists, call.has_lists, scratch.found);
  if (error == cudaSuccess && call.has_lists) {
    if (n > 0) error = library.scan({is_kept}, n, scratch.sums);
    if (error != cudaSuccess) return error;
    constexpr int kListThreads = gpu::tuning::kSelect.list_threads;
    const auto blocks = static_cast<unsigned>(gpu::divided_up(call.lists.count + 1, kListThreads));
    error = gpu::detail::launch({.blocks = blocks, .threads = kListThreads, .stream = stream}, pick_offsets, lists,
                                scratch.sums, call.out_offsets, scratch.found);
  } else if (error == cudaSuccess && n > 0 && (call.columns.empty() || call.capacity < n)) {
    error = library.sum({is_kept}, n, &scratch.found->kept);
  }
  // Without lists, and with capacity for all elements, the count of the first column is the number of kept elements.
  std::int64_t* const kept = !call.has_lists && call.capacity >= n ? &scratch.found->kept : scratch.selected;
  for (std::size_t c = 0; c < call.columns.size() && n > 0; ++c) {
    if (error != cudaSuccess) return error;
    error = library.select(call.columns[c], {is_kept, call.capacity}, n, c == 0 ? kept : scratch.selected);
  }
  if (error != cudaSuccess) return error;
  return gpu::detail::launch(one, conclude, lists, scratch.found, call.capacity, call.status);
}

Status launch(detail::SelectCall& call, const Policy&) noexcept {
  return gpu::status_of(launch_all(call, CubScratch(call, call.launch->scratch)));
}

gpu::WorkspaceSize workspace(const detail::SelectCall& call) noexcept {
  return {.scratch = CubScratch(call, nullptr).parts.bytes()};
}
#endif

}  // namespace

extern const Rung cuda_cub{.info = {.id = "cuda.cub",
                                    .idea = "CUB's compaction by flags, and a scan of them",
                                    .needs = "any GPU; adjacent lists, aligned elements",
                                    .traffic = "3n read, n and kept written",
                                    .cost = "3n",
                                    .limit = "the scan of lists; the mask is read again",
                                    .kind = Kind::library},
                           .refusal = cub_refusal,
                           .run = launch,
                           .workspace = workspace};

}  // namespace upsweep::impl::select
