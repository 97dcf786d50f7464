// SPDX-License-Identifier: Apache-2.0
// problems/lists/broadcast/cuda_merge_path.cu: equal work units of a path of lists and elements; bits map elements to
// their lists.
//
// Idea   Blocks process work units of equal length on the path, found by search. Neither a long list nor many empty
//        lists unbalance the blocks. In a work unit, each list sets a bit where it begins, and elements find their
//        lists by these bits. Elements are stored 16 bytes at a time. A list is checked in the work unit in which it
//        ends.
// Cost   Offsets are read once for the bits, and once, by few threads, for the search. A broadcast also reads one value
//        per list. Each element is written once. Depth: one work unit of 2048 to 8192 path positions.
// Needs  Any GPU. 8 bytes of scratch per work unit.
// Limit  Memory bandwidth; for short lists the bits in shared memory.
// From   cuda/list_path.cuh, which names its sources.
#include "problems/lists/broadcast/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include "cuda/list_positions.cuh"
#endif

namespace upsweep::impl::broadcast {

#if UPSWEEP_HAS_CUDA
namespace {

struct LocalIndex : gpu::PositionSink {
  __device__ static std::int64_t value(std::int64_t, std::int64_t element, std::int64_t begin) {
    return element - begin;
  }
};
template <class E, int kTogether>
struct ListValue : gpu::ArraySink<E, kTogether> {
  const E* values;
  [[nodiscard]] __device__ E value(std::int64_t list, std::int64_t, std::int64_t) const { return values[list]; }
};

struct PathScratch {
  /// Scratch for the maximum number of work units that an element type may need.
  PathScratch(const Call& call, void* memory)
      : parts(memory), path(gpu::units_of(call.lists.count, call.capacity, gpu::PositionSink::kUnit), parts) {}

  gpu::ScratchParts parts;
  gpu::PathScratch path;
};

template <class Sink>
cudaError_t launch_elements(const Call& call, const Sink& sink) {
  const PathScratch scratch(call, call.launch->scratch);
  const gpu::AdjacentOffsets offsets(call.lists);
  return gpu::launch_checked_path(offsets, sink, call.capacity, scratch.path, call.status, call.launch->stream);
}

cudaError_t launch_broadcast(const Call& call) {
  return gpu::visit_element(call.element_size, call.values, call.out, [&]<class E>(std::type_identity<E>) {
    constexpr int kTogether = alignof(E) == sizeof(E) ? int{16 / sizeof(E)} : 1;
    return launch_elements(call,
                           ListValue<E, kTogether>{{static_cast<E*>(call.out)}, static_cast<const E*>(call.values)});
  });
}

cudaError_t launch_kind(const Call& call) {
  auto* const out = static_cast<std::int64_t*>(call.out);
  switch (call.kind) {
    case Kind::local_index:
      return launch_elements(call, LocalIndex{{out}});
    case Kind::parents:
      return launch_elements(call, gpu::ListNumber{{out}});
    case Kind::broadcast:
      return launch_broadcast(call);
  }
  return cudaErrorInvalidValue;
}

Status launch(const Call& call, const Policy&) noexcept { return gpu::status_of(launch_kind(call)); }

gpu::WorkspaceSize workspace(const Call& call) noexcept {
  return {.scratch = PathScratch(call, nullptr).parts.bytes()};
}

}  // namespace
#endif

extern const Rung cuda_merge_path{.info = {.id = "cuda.merge_path",
                                           .idea = "equal work units of lists and elements; lists found by bits",
                                           .needs = "any GPU",
                                           .traffic = kOnePass,
                                           .cost = "n + e, 2048 positions",
                                           .limit = "memory bandwidth; for short lists the bits in shared memory"},
                                  .run = launch,
                                  .workspace = workspace};

}  // namespace upsweep::impl::broadcast
