// SPDX-License-Identifier: Apache-2.0
// pack/cuda_tiles.cu: a block writes a tile of 1024 results; where lists begin in it are bits, by which elements find theirs.
//
// Idea   The result is cut, not the lists: every block has as much to write, whatever the lists. A search per tile finds its
//        first list. The lists of a tile set a bit where they begin and leave there how far their elements have to come; an
//        element looks for the last bit before it. Where more than 4096 lists touch a tile, most of them are empty, and its
//        elements search instead.
// Cost   24 bytes per list of int64 and 24 for the scan of lengths, 24 for the tiles; elements read and written once.
// Needs  Any GPU.
// Limit  Of permuted lists a 64-byte line is read for each end of a list, and lines in no order come at 0.7 of the rate of a
//        copy. Elements of 1 and 2 bytes move one by one.
// From   Load-balancing search (Baxter 2013), by bits instead of a search per element.
#include "pack/cuda_layout.cuh"

namespace upsweep::packing {

#if UPSWEEP_HAS_CUDA
namespace {

struct TileScratch : Scratch {
  TileScratch(const detail::PackCall& call, void* memory) : Scratch(call, memory) {
    if (moves(call)) firsts = parts.take<std::int64_t>(gpu::tiles_of(call.capacity) + 1);
  }

  std::int64_t* firsts = nullptr;
};

cudaError_t launch_all(const detail::PackCall& call, const TileScratch& scratch) {
  cudaError_t error = launch_layout(call, scratch);
  if (error != cudaSuccess || !moves(call)) return error;
  const gpu::Stream stream = call.launch->stream;
  error =
      gpu::launch_first_lists(call.offsets, call.lists.count, call.capacity, scratch.outcome, scratch.firsts, stream);
  for (const PackColumn& column : call.columns) {
    if (error != cudaSuccess) return error;
    error = gpu::launch_gather(column.element_size, column.data, column.out, call.capacity,
                               gpu::ListElements{device_lists(call)}, call.offsets, scratch.firsts, scratch.outcome,
                               stream);
  }
  return error;
}

Status launch(detail::PackCall& call, const Policy&) noexcept {
  return gpu::status_of(launch_all(call, TileScratch(call, call.launch->scratch)));
}

gpu::WorkspaceSize workspace(const detail::PackCall& call) noexcept {
  return {.scratch = TileScratch(call, nullptr).parts.bytes()};
}

}  // namespace
#endif

extern const Rung cuda_tiles{.info = {.id = "cuda.tiles",
                                      .idea = "a block per 1024 results; list heads as bits",
                                      .needs = "any GPU",
                                      .traffic = "n read, n written"},
                             .run = launch,
                             .workspace = workspace};

}  // namespace upsweep::packing
