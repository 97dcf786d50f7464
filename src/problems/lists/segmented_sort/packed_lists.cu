// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_sort/packed_lists.cu: sorts lists that may be anywhere, on a GPU: moves them to their output
// positions, one after the other, and sorts them there.
#include <limits>

#include "cuda/moved_lists.cuh"
#include "problems/lists/segmented_sort/cuda_kernels.hpp"
#include "problems/lists/segmented_sort/cuda_sort.cuh"

namespace upsweep::impl::segmented_sort {
namespace {

/// The number of elements of lists that together have more than int64 can represent.
constexpr std::int64_t kTooMany = std::numeric_limits<std::int64_t>::max();

/// The outcome of the move.
struct PackedStatus {
  std::int64_t first_bad;
  std::int64_t elements;
  Code code;
};

/// Writes the outcome after the sort, which has checked only the packed lists. The outcome is the error of the given
/// lists, or their number of elements if the output has too little capacity.
__global__ void report_packed(const PackedStatus* packed, SortFacts* facts, gpu::ListsStatus* status) {
  if (packed->code == Code::ok) return;
  const bool is_too_many = packed->code == Code::overflow;
  facts->lists.elements = static_cast<unsigned long long>(is_too_many ? kTooMany : packed->elements);
  *status = {is_too_many ? kNoIndex : packed->first_bad, packed->code};
}

}  // namespace

PackedLists::PackedLists(const Call& call, void* memory) {
  gpu::ScratchParts parts(memory);
  outcome = parts.take<gpu::Outcome>(1);
  status = parts.take<PackedStatus>(1);
  totals = parts.take<std::int64_t>(gpu::chunk_totals(call.lists.count));
  offsets = parts.take<std::int64_t>(call.lists.count + 1);
  firsts = parts.take<std::int64_t>(gpu::tiles_of(call.capacity, gpu::kTile) + 1);
  content = call.positions == nullptr ? call.out : parts.take<std::byte>(call.capacity * size_of(call.type));
  bytes = parts.bytes();
}

Call PackedLists::packed(const Call& call) const {
  Call packed = call;
  packed.lists = Lists::by_offsets(static_cast<const std::int64_t*>(offsets), call.lists.count);
  packed.content = content;
  packed.n = call.capacity;
  return packed;
}

Status PackedLists::pack(const Call& call) const noexcept {
  const gpu::MovedLists lists(call.lists, call.n);
  const gpu::Stream stream = call.launch->stream;
  auto* const found = static_cast<gpu::Outcome*>(outcome);
  cudaError_t error = gpu::launch_offsets(gpu::LengthOfList{lists}, lists.count, offsets, totals, stream);
  if (error == cudaSuccess) {
    error = gpu::launch_conclude(lists, offsets, call.capacity, found, static_cast<PackedStatus*>(status), stream);
  }
  if (error != cudaSuccess || call.capacity == 0) return gpu::status_of(error);
  error = gpu::launch_first_lists(offsets, lists.count, call.capacity, gpu::kTile, found, firsts, stream);
  if (error == cudaSuccess) {
    error = gpu::launch_gather(size_of(call.type), call.content, content, call.capacity, gpu::ListElements{lists},
                               offsets, firsts, found, stream);
  }
  return gpu::status_of(error);
}

Status PackedLists::report(const Call& call) const noexcept {
  // A rung's scratch begins with its SortFacts.
  return gpu::status_of(gpu::detail::launch({.blocks = 1, .threads = 1, .stream = call.launch->stream}, report_packed,
                                            static_cast<const PackedStatus*>(status),
                                            static_cast<SortFacts*>(call.launch->scratch), call.status));
}

}  // namespace upsweep::impl::segmented_sort
