// SPDX-License-Identifier: Apache-2.0
// problems/lists/pack/conversion_kernels.cu: conversions of broadcast.hpp on a GPU.
//
// Positions by given offsets are written for each element along the path of cuda/list_path.cuh, which also checks the
// lists. Sorted parents form such lists as well: list k contains the offsets that parent k is the first to reach.
// Offsets from lengths are pack's scan.
#include <cuda_runtime.h>

#include <algorithm>

#include "cuda/list_positions.cuh"
#include "problems/lists/pack/conversions_on_device.hpp"
#include "problems/lists/pack/cuda_fitting.cuh"
#include "upsweep/detail/gpu_launch.hpp"
#include "upsweep/detail/tuning/pack.hpp"

namespace upsweep::impl::pack {
namespace {

using detail::ConversionCall;
using Kind = ConversionCall::Kind;
using gpu::AdjacentOffsets;
using gpu::ListNumber;
using gpu::PackStatus;
using gpu::PositionSink;

// ------------------------------------------------------------------------------------------------------------- offsets

/// Lists whose offsets are the number of parents before each offset. List k contains the offsets that parent k is the
/// first to reach. One more list contains the offsets that no parent reaches.
struct ParentOffsets {
  static constexpr Code kTooFar = Code::overflow;
  const void* parents;
  std::int64_t parent_count;
  std::int64_t lists;  ///< number of lists that parents refer to
  Type type;
  std::int64_t count = parent_count + 1;

  __device__ __forceinline__ std::int64_t operator()(std::int64_t k) const {
    if (k == 0) return 0;
    return k == count ? lists + 1 : gpu::apart(gpu::bound_at(parents, type, k - 1), -1);
  }
  [[nodiscard]] __device__ bool is_bad(std::int64_t k, std::int64_t begin, std::int64_t end) const {
    return k < parent_count && (end < 1 || end > lists || end < begin);
  }
  [[nodiscard]] __device__ Code wrong(std::int64_t k) const {
    const std::int64_t parent = gpu::bound_at(parents, type, k);
    return parent < 0 || parent >= lists ? Code::index_out_of_range : Code::stop_before_start;
  }
  [[nodiscard]] __device__ std::int64_t elements(std::int64_t) const { return parent_count; }
};

// --------------------------------------------------------------------------------------------------------------- sinks

struct ContentPosition : PositionSink {
  gpu::MovedLists lists;
  [[nodiscard]] __device__ std::int64_t value(std::int64_t list, std::int64_t element, std::int64_t begin) const {
    return lists.start(list) + (element - begin);
  }
};
// --------------------------------------------------------------------------------------------------------------- calls

/// Scratch memory of a call, enough for any call on this number of lists and elements.
struct ConversionScratch {
  ConversionScratch(std::int64_t lists, std::int64_t elements, void* memory)
      : parts(memory), path(gpu::units_of(lists, elements, PositionSink::kUnit), parts) {
    totals = parts.take<std::int64_t>(gpu::chunk_totals(lists));
  }
  explicit ConversionScratch(const ConversionCall& call)
      : ConversionScratch(call.lists.count, call.capacity, call.launch->scratch) {}

  gpu::ScratchParts parts;
  gpu::PathScratch path;
  std::int64_t* totals;
};

template <class Offsets, class Sink>
cudaError_t launch_elements(const ConversionCall& call, const Offsets& offsets, const Sink& sink) {
  const ConversionScratch scratch(call);
  return gpu::launch_checked_path(offsets, sink, call.capacity, scratch.path, call.status, call.launch->stream);
}

// ---- Lengths.

struct LengthOf {
  const void* lengths;
  Type type;
  gpu::DeviceMask valid;
  bool has_nulls;
  __device__ std::int64_t operator()(std::int64_t i) const {
    return has_nulls && !valid[i] ? 0 : gpu::bound_at(lengths, type, i);
  }
};

__global__ void conclude_lengths(LengthOf length, std::int64_t n, const std::int64_t* offsets, PackStatus* status) {
  const std::int64_t total = offsets[n];
  if (total >= 0) {
    *status = {kNoIndex, total, Code::ok};
    return;
  }
  const std::int64_t bad = gpu::first_negative(offsets, n);
  *status = {bad, 0, length(bad) < 0 ? Code::stop_before_start : Code::overflow};
}

cudaError_t launch_lengths(const ConversionCall& call) {
  const Lists& lists = call.lists;
  auto* const offsets = static_cast<std::int64_t*>(call.out);
  const LengthOf length{lists.starts, lists.type, gpu::DeviceMask(lists.valid), lists.valid.is_given()};
  const ConversionScratch scratch(call);
  const gpu::Stream stream = call.launch->stream;
  const cudaError_t error = gpu::launch_offsets(length, lists.count, offsets, scratch.totals, stream);
  if (error != cudaSuccess) return error;
  return gpu::detail::launch({.blocks = 1, .threads = 1, .stream = stream}, conclude_lengths, length, lists.count,
                             static_cast<const std::int64_t*>(offsets), call.status);
}

// ---- Levels.

constexpr int kFlattenThreads = gpu::tuning::kConversions.flatten_threads;

struct Levels {
  AdjacentOffsets outer;
  AdjacentOffsets inner;
  std::int64_t inner_count;

  [[nodiscard]] __device__ bool is_inner(std::int64_t i) const { return i >= 0 && i <= inner_count; }
  [[nodiscard]] __device__ Code wrong(std::int64_t i) const {
    const std::int64_t start = outer(i);
    const std::int64_t stop = outer(i + 1);
    if (!is_inner(start) || (stop >= start && stop > inner_count)) return Code::index_out_of_range;
    return Code::stop_before_start;
  }
};

/// Writes offsets[i] for each outer list i, and the offset after the last list.
__global__ void __launch_bounds__(kFlattenThreads) write_flat(const __grid_constant__ Levels levels, std::int64_t lists,
                                                              std::int64_t* offsets, unsigned long long* not_bad) {
  const std::int64_t stride = std::int64_t{gridDim.x} * kFlattenThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kFlattenThreads + threadIdx.x; i <= lists; i += stride) {
    const std::int64_t start = levels.outer(i);
    const std::int64_t stop = i < lists ? levels.outer(i + 1) : start;
    const bool has_start = levels.is_inner(start);
    const std::int64_t offset = has_start ? levels.inner(start) : 0;
    offsets[i] = offset;
    const bool is_good = has_start && levels.is_inner(stop) && stop >= start && levels.inner(stop) >= offset;
    // The offset after the last list is that list's stop: if it is bad, the last list is reported.
    if (!is_good && i < lists) atomicMax(not_bad, ~static_cast<unsigned long long>(i));
  }
}

__global__ void conclude_flat(const __grid_constant__ Levels levels, std::int64_t lists,
                              const unsigned long long* not_bad, const std::int64_t* offsets, PackStatus* status) {
  if (*not_bad == 0) {
    *status = {kNoIndex, gpu::apart(offsets[lists], offsets[0]), Code::ok};
    return;
  }
  const auto bad = static_cast<std::int64_t>(~*not_bad);
  *status = {bad, 0, levels.wrong(bad)};
}

cudaError_t launch_flatten(const ConversionCall& call) {
  const Levels levels{AdjacentOffsets(call.lists), AdjacentOffsets(call.inner), call.inner.count};
  auto* const offsets = static_cast<std::int64_t*>(call.out);
  const std::int64_t lists = call.lists.count;
  const ConversionScratch scratch(call);
  const gpu::Stream stream = call.launch->stream;
  const auto blocks = static_cast<unsigned>(std::min(gpu::divided_up(lists + 1, kFlattenThreads), gpu::kMostBlocks));
  cudaError_t error = cudaMemsetAsync(scratch.path.not_bad, 0, sizeof *scratch.path.not_bad, stream);
  if (error != cudaSuccess) return error;
  error = gpu::detail::launch({.blocks = blocks, .threads = kFlattenThreads, .stream = stream}, write_flat, levels,
                              lists, offsets, scratch.path.not_bad);
  if (error != cudaSuccess) return error;
  return gpu::detail::launch({.blocks = 1, .threads = 1, .stream = stream}, conclude_flat, levels, lists,
                             static_cast<const unsigned long long*>(scratch.path.not_bad),
                             static_cast<const std::int64_t*>(offsets), call.status);
}

cudaError_t launch(const ConversionCall& call) {
  auto* const out = static_cast<std::int64_t*>(call.out);
  switch (call.kind) {
    case Kind::lengths_to_offsets:
      return launch_lengths(call);
    case Kind::flatten:
      return launch_flatten(call);
    case Kind::parents_to_offsets: {
      const ParentOffsets offsets{call.lists.starts, call.lists.count - 1, call.capacity - 1, call.lists.type};
      return launch_elements(call, offsets, ListNumber{{out}});
    }
    case Kind::broadcast_to_offsets: {
      const gpu::MovedLists lists(call.lists, call.content);
      return launch_elements(call, FittingOffsets{call.offsets, lists}, ContentPosition{{out}, lists});
    }
  }
  return cudaErrorInvalidValue;
}

}  // namespace

Status launch_conversion(const ConversionCall& call) noexcept { return gpu::status_of(launch(call)); }

std::int64_t conversion_scratch(std::int64_t lists, std::int64_t elements) noexcept {
  return ConversionScratch(lists, elements, nullptr).parts.bytes();
}

}  // namespace upsweep::impl::pack
