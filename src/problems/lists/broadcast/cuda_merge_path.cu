// SPDX-License-Identifier: Apache-2.0
// problems/lists/broadcast/cuda_merge_path.cu: equal work units of a path of lists and elements, in which elements find their lists by bits.
//
// Idea   Blocks take work units of as many places of the path, found by search, so that neither a long list nor many empty ones
//        unbalance them. The work unit's lists set bits where they begin, by which elements find theirs; elements leave 16 bytes
//        at a time. A list is checked in the work unit that it ends in.
// Cost   Offsets read once for the bits, and once, by few threads, for the search; of broadcasts a value per list; an element
//        each written. Depth that of a work unit of 2048 to 8192 places.
// Needs  Any GPU. 8 bytes of scratch per work unit.
// Limit  The memory; of short lists the bits in shared memory.
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
  /// Of as many work units as there may be of any element.
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
                                           .cost = "n + e, that of 2048 places",
                                           .limit = "the memory; of short lists the bits in shared memory"},
                                  .run = launch,
                                  .workspace = workspace};

}  // namespace upsweep::impl::broadcast
