// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_sort/cuda_cub.cu: cub::DeviceSegmentedSort, as a CUDA programmer would use it without
// upsweep.
//
// Idea   Elements become unsigned words that compare as they do. The values of the sort are the elements or their
//        positions. CUB assigns lists, by their lengths, to some lanes of a warp, to warps and to blocks.
// Cost   One pass that makes the words, CUB's three passes that partition the lists, its sort, and one pass that writes
//        the result.
// Needs  Any GPU. Calls that wait, because CUB waits; lists that are not null. Four words per element.
// Limit  One kernel launch per class of lists, the host's wait between them, and only one block for the longest list.
// From   CUB 3 of the CUDA toolkit.
#include "problems/lists/segmented_sort/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include <cub/device/device_segmented_sort.cuh>

#include "cuda/device_lists.cuh"
#include "cuda/work_path.cuh"
#include "problems/lists/segmented_sort/cuda_kernels.hpp"
#include "problems/lists/segmented_sort/cuda_sort.cuh"
#include "upsweep/detail/cuda_status.cuh"
#endif

namespace upsweep::impl::segmented_sort {

namespace {

#if UPSWEEP_HAS_CUDA
using gpu::detail::launch;

/// CUB sorts words of two sizes, because it takes a minute to compile for one size.
template <class Word>
using Wide = std::conditional_t<sizeof(Word) == 8, std::uint64_t, std::uint32_t>;

template <class W>
struct Arrays {
  gpu::ListFacts* facts;
  std::int64_t* offsets;
  W* keys[2];
  W* values[2];
  void* temporary;
  std::int64_t bytes;  ///< without CUB's temporary memory

  Arrays(void* memory, const Call& call) {
    gpu::ScratchParts parts(memory);
    facts = parts.take<gpu::ListFacts>(1);
    offsets = parts.take<std::int64_t>(call.lists.count + 1);
    for (auto** const array : {&keys[0], &keys[1], &values[0], &values[1]}) *array = parts.take<W>(call.n);
    bytes = parts.bytes();
    temporary = parts.take<std::byte>(0);
  }
};

template <class W>
cudaError_t sort_words(const Arrays<W>& arrays, const Call& call, void* temporary, std::size_t& bytes) {
  gpu::forget_last_error();
  return cub::DeviceSegmentedSort::StableSortPairs(temporary, bytes, arrays.keys[0], arrays.keys[1], arrays.values[0],
                                                   arrays.values[1], call.n, call.lists.count, arrays.offsets,
                                                   arrays.offsets + 1, call.launch->stream);
}

template <class Word, class W>
__global__ void make_words(const __grid_constant__ gpu::DeviceLists lists, Order<Word> order, const Word* content,
                           std::int64_t n, bool with_positions, Arrays<W> arrays, gpu::ListsStatus* status) {
  const std::int64_t first = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  const std::int64_t count = lists.lists.count;
  if (first == 0) gpu::report(lists, n, *arrays.facts, status);
  if (count == 0) return;
  for (std::int64_t i = first; i <= count; i += stride) {
    arrays.offsets[i] = i < count ? lists.start(i) : lists.stop(count - 1);
  }
  for (std::int64_t j = first; j < n; j += stride) {
    arrays.keys[0][j] = order.key(content[j]);
    arrays.values[0][j] = with_positions ? static_cast<W>(j) : content[j];
  }
}

template <class Word, class W>
__global__ void write_out(Arrays<W> arrays, std::int64_t lists, Word* out, std::int64_t* positions) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  const std::int64_t end = arrays.offsets[lists];
  for (std::int64_t j = arrays.offsets[0] + std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; j < end; j += stride) {
    if (positions == nullptr) {
      out[j] = static_cast<Word>(arrays.values[1][j]);
      continue;
    }
    const std::int64_t list = gpu::last_where(0, lists - 1, [&](std::int64_t i) { return arrays.offsets[i] <= j; });
    positions[j] = static_cast<std::int64_t>(arrays.values[1][j]) - arrays.offsets[list];
  }
}

template <class Word>
cudaError_t sort_lists(const Call& call) {
  const Arrays<Wide<Word>> arrays(call.launch->scratch, call);
  const gpu::Launch& at = *call.launch;
  const gpu::detail::Grid grid{.blocks = gpu::blocks_for(std::max(call.n, call.lists.count), at),
                               .threads = gpu::kStrideThreads,
                               .stream = at.stream};
  cudaError_t error = cudaMemsetAsync(arrays.facts, 0, sizeof *arrays.facts, at.stream);
  if (error == cudaSuccess) error = gpu::launch_check(call.lists, call.n, arrays.facts, gpu::VisitNothing{}, at);
  if (error == cudaSuccess) {
    error = launch(grid, make_words<Word, Wide<Word>>, gpu::DeviceLists{call.lists},
                   order_of<Word>(call.type, call.descending, call.nan_first), static_cast<const Word*>(call.content),
                   call.n, call.positions != nullptr, arrays, call.status);
  }
  gpu::ListFacts facts = {};
  if (error == cudaSuccess)
    error = cudaMemcpyAsync(&facts, arrays.facts, sizeof facts, cudaMemcpyDeviceToHost, at.stream);
  if (error == cudaSuccess) error = cudaStreamSynchronize(at.stream);
  if (error != cudaSuccess || facts.bad != 0 || facts.elements == 0) return error;
  auto bytes = static_cast<std::size_t>(at.size.scratch - arrays.bytes);
  error = sort_words(arrays, call, arrays.temporary, bytes);
  if (error != cudaSuccess) return error;
  return launch(grid, write_out<Word, Wide<Word>>, arrays, call.lists.count, static_cast<Word*>(call.out),
                call.positions);
}

Status launch_cub(Call& call, const Policy&) noexcept {
  return with_word(call, [&]<class Word>(std::type_identity<Word>) { return gpu::status_of(sort_lists<Word>(call)); });
}

gpu::WorkspaceSize workspace(const Call& call) noexcept {
  return with_word(call, [&]<class Word>(std::type_identity<Word>) -> gpu::WorkspaceSize {
    const Arrays<Wide<Word>> arrays(nullptr, call);
    std::size_t bytes = 0;
    (void)sort_words(arrays, call, nullptr, bytes);
    return {.scratch = arrays.bytes + static_cast<std::int64_t>(bytes)};
  });
}
#else
inline constexpr NotBuilt launch_cub{};
#endif

const char* cub_refusal(const Call& call, const Policy&) noexcept {
  if (!call.waits) return "supports only calls that wait, because CUB waits for the device";
  if (call.lists.valid.is_given()) return "does not support null lists";
  if (!call.lists.are_adjacent()) return "supports only adjacent lists";
  return call.positions != nullptr && call.n > 0xffffffff && size_of(call.type) < 8
             ? "supports at most 2^32 - 1 elements if positions are requested"
             : nullptr;
}

}  // namespace

extern const Rung cuda_cub{.info = {.id = "cuda.cub",
                                    .idea = "cub::DeviceSegmentedSort, stable, of pairs",
                                    .needs = "any GPU",
                                    .traffic = "7n read, 7n written",
                                    .cost = "by classes of lengths; one block for the longest",
                                    .limit = "launches, the host's wait, only one block for the longest",
                                    .kind = Kind::library,
                                    .host_adds = true},
                           .refusal = cub_refusal,
                           .run = launch_cub,
                           .workspace = workspace};

}  // namespace upsweep::impl::segmented_sort
