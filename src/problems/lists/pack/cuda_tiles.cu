// SPDX-License-Identifier: Apache-2.0
// problems/lists/pack/cuda_tiles.cu: a block takes lists, finds their output position by look-back, and copies them;
// for long lists, a block writes tiles of 4096 results.
//
// Idea   Short lists: a block takes 2048 or 512 lists by ticket and scans their lengths. It begins to load their
//        elements while it looks back over the blocks before it for its output position. Therefore bounds are read
//        once, and offsets are written but not read. Elements that are one run of the content are copied 16 bytes at a
//        time. Otherwise lists set a bit where they begin, and an element counts bits to find its list. If a block's
//        lists contain very many elements, a later kernel divides them into tiles of 4096 results. Long lists, and
//        further columns: offsets first, and then such tiles of the whole result.
// Cost   Short lists: 24 bytes per list of int64; elements read and written once. Long ones: 24 more for the tiles.
// Needs  Any GPU.
// Limit  For permuted lists, a 64-byte line is read for each end of a list. Lines in random order are read at 0.7 of
//        the copy rate. Elements of 1 and 2 bytes that are not one run are copied one by one.
// From   Decoupled look-back (Merrill and Garland 2016); load-balancing search (Baxter 2013), by bits.
#include <algorithm>

#include "problems/lists/pack/cuda_layout.cuh"

#if UPSWEEP_HAS_CUDA
#include "cuda/work_path.cuh"
#include "problems/lists/pack/cuda_heads.cuh"
#include "upsweep/detail/look_back.cuh"
#include "upsweep/detail/tuning/pack.hpp"
#endif

namespace upsweep::impl::pack {

#if UPSWEEP_HAS_CUDA
namespace {

using gpu::Extend;

// ----------------------------------------------------------------------------------------- lists by ticket, one pass

/// Maximum number of elements that a block copies; it leaves more to move_crowded().
constexpr int kMostResults = gpu::tuning::kPack.most_results;
/// Blocks take eight rows of lists if lists have fewer elements than this on average, and there are at least
/// kManyLists.
constexpr std::int64_t kFewElements = gpu::tuning::kPack.few_elements;
constexpr std::int64_t kManyLists = gpu::tuning::kPack.many_lists;
/// With this many elements per list or more, offsets are computed first.
constexpr std::int64_t kManyElements = gpu::tuning::kPack.many_elements;
constexpr int kMostRows = gpu::tuning::kPack.most_rows;
constexpr int kLeastRows = gpu::tuning::kPack.least_rows;

constexpr std::int64_t lists_of_block(int rows) { return std::int64_t{rows} * kMoveThreads; }

/// The lists of a block that contain too many elements.
struct Crowded {
  std::int64_t first_list;
  std::int64_t begin;         ///< position in the result
  std::int64_t tiles_before;  ///< number of tiles of the crowded blocks before it
};

/// Memory that blocks share; all of it except `crowded` must be zero before a call.
struct Shared {
  unsigned long long* words;  ///< the ticket, the count of crowded blocks, and the values that blocks publish
  Crowded* crowded;

  static constexpr int kPublished = 4;
  static constexpr int kTileBits = 40;  ///< bits that count crowded tiles; the bits above count crowded blocks

  static constexpr std::int64_t word_count(std::int64_t blocks) { return kPublished + 2 * blocks; }
  [[nodiscard]] __device__ gpu::detail::Workspace published() const { return {nullptr, words + kPublished, 0}; }
  __device__ void add_crowded(std::int64_t first_list, std::int64_t begin, std::int64_t results) const {
    const auto tiles = static_cast<unsigned long long>(gpu::tiles_of(results, kTileResults));
    const unsigned long long before = atomicAdd(&words[1], 1ULL << kTileBits | tiles);
    crowded[before >> kTileBits] = {first_list, begin, static_cast<std::int64_t>(before % (1ULL << kTileBits))};
  }
};

constexpr unsigned kTag = 1;  // of this call; words are zero at first

/// Number of blocks of pack_lists() that are resident on a multiprocessor at a time.
template <class E, int kRows>
inline constexpr int kListBlocks = [] {
  if constexpr (kRows == kMostRows || std::is_void_v<E>) {
    return gpu::tuning::kPack.list_blocks;
  } else {
    return sizeof(E) < 8 ? gpu::tuning::kPack.list_blocks_narrow : gpu::tuning::kPack.list_blocks;
  }
}();

/// Writes the offsets of all lists, and the elements (E) of blocks that have at most kMostResults; E is void for none.
template <class E, int kRows>
__global__ void __launch_bounds__(kMoveThreads, kListBlocks<E, kRows>)
    pack_lists(const __grid_constant__ gpu::MovedLists lists, Shared shared, const E* content, std::int64_t capacity,
               std::int64_t* offsets, E* out) {
  constexpr int kLists = kRows * kMoveThreads;
  constexpr bool kMoves = !std::is_void_v<E>;
  __shared__ Heads<kMoves ? kMostResults : 32, kMoves ? kLists : 1> heads;
  __shared__ std::int64_t warps[kMoveWarps];
  __shared__ std::int64_t shared_value;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int warp = static_cast<int>(threadIdx.x / 32);
  if (threadIdx.x == 0) shared_value = static_cast<std::int64_t>(atomicAdd(&shared.words[0], 1ULL));
  __syncthreads();
  const std::int64_t block = shared_value;
  const std::int64_t first = block * kLists + first_row<kRows>();

  // ---- Lengths, and their sums up to each list within its warp.
  Extents<kRows> extents;
  extents.load(lists, first);
  std::int64_t sums[kRows];
  const std::int64_t sum = sum_rows(extents.length, sums);
  if (lane == 0) warps[warp] = sum;
  __syncthreads();
  std::int64_t before = 0;
  std::int64_t total = 0;
#pragma unroll
  for (int w = 0; w < kMoveWarps; ++w) {
    if (w == warp) before = total;
    total = Extend{}(total, warps[w]);
  }

  // ---- The block publishes its total, for which other blocks wait. Then it sums the blocks before it, and writes
  // offsets.
  if (threadIdx.x == 0 && block > 0) gpu::detail::put_tagged(shared.published().words, block, total, kTag);
  const auto begin_of_block = [&](auto end_of_row) {
    if (warp == 0) {
      std::int64_t prefix = 0;
      if (block > 0) {
        prefix = gpu::detail::look_back<std::int64_t, gpu::tuning::kPack.look_back>(Extend{}, shared.published(), block,
                                                                                    kTag, lane);
      }
      if (lane == 0) {
        gpu::detail::put_tagged(shared.published().words, block, Extend{}(prefix, total),
                                kTag | gpu::detail::kPrefixTag);
        shared_value = prefix;
        if (block == 0) offsets[0] = 0;
      }
    }
    __syncthreads();
    const std::int64_t prefix = shared_value;
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      const std::int64_t list = first + row * 32;
      if (list < lists.count) offsets[list + 1] = Extend{}(prefix, end_of_row(row));
    }
    return prefix;
  };
  const auto end_of_row = [&](int row) { return Extend{}(before, sums[row]); };
  const auto fits = [&](std::int64_t begin) {
    const std::int64_t end = Extend{}(begin, total);
    return end >= 0 && end <= capacity;
  };

  if constexpr (!kMoves) {
    begin_of_block(end_of_row);
  } else {
    if (total < 0 || total > kMostResults) {
      const std::int64_t begin = begin_of_block(end_of_row);
      if (threadIdx.x == 0 && fits(begin)) shared.add_crowded(block * kLists, begin, total);
      return;
    }
    ListRows<kRows> rows;
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      const auto end = static_cast<int>(before + sums[row]);
      rows.here[row] = extents.length[row] > 0;
      rows.end[row] = end;
      rows.begin[row] = end - static_cast<int>(extents.length[row]);
      rows.shift[row] = extents.start[row] - rows.begin[row];
    }
    const bool is_run = heads.enter(rows, kMovesInRuns<E>);
    move_results(heads, is_run, content, static_cast<int>(total), [&] {
      const std::int64_t begin = begin_of_block([&](int row) { return std::int64_t{rows.end[row]}; });
      return fits(begin) ? out + begin : nullptr;
    });
  }
}

/// Copies the elements of the blocks of pack_lists() that have more than kMostResults.
template <class E>
__global__ void __launch_bounds__(kMoveThreads, gpu::tuning::kPack.crowded_blocks)
    move_crowded(const __grid_constant__ gpu::MovedLists lists, Shared shared, std::int64_t lists_each,
                 const E* content, const std::int64_t* offsets, E* out) {
  __shared__ TileHeads<1> heads;
  const unsigned long long count = shared.words[1];
  const auto tiles = static_cast<std::int64_t>(count % (1ULL << Shared::kTileBits));
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const auto last_crowd = static_cast<std::int64_t>(count >> Shared::kTileBits) - 1;
    const Crowded crowd = shared.crowded[gpu::last_where(
        0, last_crowd, [&](std::int64_t c) { return shared.crowded[c].tiles_before <= tile; })];
    const std::int64_t last_list = ::min(crowd.first_list + lists_each, lists.count) - 1;
    const std::int64_t begin = crowd.begin + (tile - crowd.tiles_before) * kTileResults;
    const std::int64_t end = ::min(begin + kTileResults, offsets[last_list + 1]);
    const std::int64_t first = gpu::list_of(offsets, 0, begin, crowd.first_list, last_list);
    const std::int64_t last = gpu::list_of(offsets, 0, end - 1, first, last_list);
    move_tile<1>(lists, offsets, 0, begin, end, first, last, content, out, heads);
    __syncthreads();  // before the next tile's heads
  }
}

// --------------------------------------------------------------------------------------------------- tiles of results

/// Number of tiles that a block copies at a time if lists are long.
template <class E>
inline constexpr int kLongSpan = gpu::tuning::kPack.long_bytes / int{sizeof(E)};

/// Copies kSpan tiles as one.
template <class E, int kSpan>
__global__ void __launch_bounds__(kMoveThreads, gpu::tuning::kPack.tile_resident)
    move_tiles(const __grid_constant__ gpu::MovedLists lists, const std::int64_t* offsets, const std::int64_t* firsts,
               std::int64_t tiles, const gpu::Outcome* outcome, const E* content, E* out) {
  __shared__ TileHeads<kSpan> heads;
  const std::int64_t tile = std::int64_t{blockIdx.x} * kSpan;
  const std::int64_t begin = tile * kTileResults;
  const std::int64_t total = outcome->moved;
  const std::int64_t first = firsts[tile];  // loaded together with the total; a tile past the total gets any value
  const std::int64_t last = firsts[::min(tile + kSpan, tiles)];
  const std::int64_t origin = offsets[0];
  if (begin >= total) return;
  const std::int64_t end = ::min(begin + kSpan * kTileResults, total);
  move_tile<kSpan>(lists, offsets, origin, begin, end, first, last, content, out, heads);
}

// --------------------------------------------------------------------------------------------------------------- calls

/// Returns the average number of elements of a list, if outputs have exactly the capacity that they need.
std::int64_t elements_of_list(const detail::PackCall& call) {
  return call.capacity / std::max(call.lists.count, std::int64_t{1});
}

/// Returns the number of rows of lists that blocks take. 0: offsets are computed first, with the maximum number of
/// rows.
int rows_of(const detail::PackCall& call) {
  if (!moves(call) || elements_of_list(call) >= kManyElements) return 0;
  return elements_of_list(call) < kFewElements && call.lists.count >= kManyLists ? kMostRows : kLeastRows;
}

struct TileScratch {
  TileScratch(const detail::PackCall& call, void* memory) : parts(memory), rows(rows_of(call)) {
    outcome = parts.take<gpu::Outcome>(1);
    if (!call.offsets_given) {
      blocks = gpu::divided_up(call.lists.count, lists_of_block(rows == 0 ? kMostRows : rows));
      shared.words = parts.take<unsigned long long>(Shared::word_count(blocks));
      if (rows > 0) shared.crowded = parts.take<Crowded>(blocks);
    }
    const std::size_t tiled = call.columns.size() - (call.offsets_given || rows == 0 || call.columns.empty() ? 0 : 1);
    if (moves(call) && tiled > 0) firsts = parts.take<std::int64_t>(gpu::tiles_of(call.capacity, kTileResults) + 1);
    has_tiles = moves(call) && tiled > 0;
  }

  gpu::ScratchParts parts;
  int rows;
  std::int64_t blocks = 0;
  gpu::Outcome* outcome;
  Shared shared = {};
  std::int64_t* firsts = nullptr;
  bool has_tiles = false;
};

template <class E, int kRows>
cudaError_t launch_lists(const detail::PackCall& call, const TileScratch& scratch, const void* content, void* out) {
  return gpu::detail::launch(
      {.blocks = static_cast<unsigned>(scratch.blocks), .threads = kMoveThreads, .stream = call.launch->stream},
      pack_lists<E, kRows>, device_lists(call), scratch.shared, static_cast<const E*>(content), call.capacity,
      call.offsets, static_cast<E*>(out));
}

/// Launches the offsets, and the first column if lists are short.
cudaError_t launch_offsets(const detail::PackCall& call, const TileScratch& scratch) {
  const gpu::Stream stream = call.launch->stream;
  const auto bytes = static_cast<std::size_t>(Shared::word_count(scratch.blocks)) * sizeof(unsigned long long);
  const cudaError_t error = cudaMemsetAsync(scratch.shared.words, 0, bytes, stream);
  if (error != cudaSuccess) return error;
  if (scratch.rows == 0) return launch_lists<void, kMostRows>(call, scratch, nullptr, nullptr);
  const PackColumn& column = call.columns.front();
  return gpu::visit_element(column.element_size, column.data, column.out, [&]<class E>(std::type_identity<E>) {
    const cudaError_t failed = scratch.rows == kMostRows
                                   ? launch_lists<E, kMostRows>(call, scratch, column.data, column.out)
                                   : launch_lists<E, kLeastRows>(call, scratch, column.data, column.out);
    if (failed != cudaSuccess) return failed;
    const auto blocks =
        static_cast<unsigned>(std::max(call.launch->multiprocessors, 1)) * gpu::tuning::kPack.crowded_blocks;
    return gpu::detail::launch({.blocks = blocks, .threads = kMoveThreads, .stream = stream}, move_crowded<E>,
                               device_lists(call), scratch.shared, lists_of_block(scratch.rows),
                               static_cast<const E*>(column.data), call.offsets, static_cast<E*>(column.out));
  });
}

cudaError_t launch_tiles(const detail::PackCall& call, const TileScratch& scratch) {
  const gpu::Stream stream = call.launch->stream;
  const std::int64_t tiles = gpu::tiles_of(call.capacity, kTileResults);
  cudaError_t error = gpu::launch_first_lists(call.offsets, call.lists.count, call.capacity, kTileResults,
                                              scratch.outcome, scratch.firsts, stream);
  const bool are_long = elements_of_list(call) >= kManyElements;
  const bool first_is_there = !call.offsets_given && scratch.rows > 0;
  for (const PackColumn& column : call.columns.subspan(first_is_there ? 1 : 0)) {
    if (error != cudaSuccess) return error;
    error = gpu::visit_element(column.element_size, column.data, column.out, [&]<class E>(std::type_identity<E>) {
      const auto by = [&]<int kSpan>() {
        const auto blocks = static_cast<unsigned>(gpu::divided_up(tiles, kSpan));
        return gpu::detail::launch({.blocks = blocks, .threads = kMoveThreads, .stream = stream}, move_tiles<E, kSpan>,
                                   device_lists(call), call.offsets, scratch.firsts, tiles, scratch.outcome,
                                   static_cast<const E*>(column.data), static_cast<E*>(column.out));
      };
      return are_long ? by.template operator()<kLongSpan<E>>() : by.template operator()<1>();
    });
  }
  return error;
}

cudaError_t launch_all(const detail::PackCall& call, const TileScratch& scratch) {
  cudaError_t error = cudaSuccess;
  if (call.offsets_given) {
    error = launch_given(call, scratch.outcome);
  } else {
    error = call.lists.count > 0 ? launch_offsets(call, scratch)
                                 : cudaMemsetAsync(call.offsets, 0, sizeof *call.offsets, call.launch->stream);
    if (error != cudaSuccess) return error;
    error = gpu::launch_conclude(device_lists(call), call.offsets, call.capacity, scratch.outcome, call.status,
                                 call.launch->stream);
  }
  return error != cudaSuccess || !scratch.has_tiles ? error : launch_tiles(call, scratch);
}

Status launch(detail::PackCall& call, const Policy&) noexcept {
  return gpu::status_of(launch_all(call, TileScratch(call, call.launch->scratch)));
}

/// Returns the maximum size of any TileScratch. One workspace then serves a pack, each of its steps, and calls of fewer
/// lists or less capacity, whose blocks may be smaller.
gpu::WorkspaceSize workspace(const detail::PackCall& call) noexcept {
  gpu::ScratchParts parts(nullptr);
  const std::int64_t blocks = gpu::divided_up(call.lists.count, lists_of_block(kLeastRows));
  (void)parts.take<gpu::Outcome>(1);
  (void)parts.take<unsigned long long>(Shared::word_count(blocks));
  if (moves(call)) {
    (void)parts.take<Crowded>(blocks);
    (void)parts.take<std::int64_t>(gpu::tiles_of(call.capacity, kTileResults) + 1);
  }
  return {.scratch = parts.bytes()};
}

}  // namespace
#endif

extern const Rung cuda_tiles{.info = {.id = "cuda.tiles",
                                      .idea = "lists by ticket and look-back; long ones by 4096 results",
                                      .needs = "any GPU",
                                      .traffic = "n read, n written",
                                      .cost = "lists + elements, tiles/blocks",
                                      .limit = "memory bandwidth; for permuted lists, partly used lines"},
                             .run = launch,
                             .workspace = workspace};

}  // namespace upsweep::impl::pack
