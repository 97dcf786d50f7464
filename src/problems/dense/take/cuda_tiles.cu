// SPDX-License-Identifier: Apache-2.0
// problems/dense/take/cuda_tiles.cu: takes by tiles of the result, eight per thread; elements of lists find their list.
//
// Idea   A block processes 1024 elements of the result, a thread eight. A thread loads eight indices, then the elements
//        at these positions, and stores the elements in order. Therefore cache misses do not wait for each other. With
//        lists, the elements of a tile find their lists as in pack. Indices are checked when they are used, again for
//        each column. To read indices in order costs little compared with reading the elements, which are anywhere.
//        atomicMax of the complements of positions keeps the first position with a bad index. With lists, this is a
//        position of the result. Lists are checked by their lengths before anything moves. If a list is bad, the
//        indices of the lists before it are checked first.
// Cost   Indices for each column, an element read and written for each; for lists their bounds and 24 bytes for
//        offsets.
// Needs  Any GPU.
// Limit  Indices in random order: 32 bytes of memory are read for each element.
// From   cuda/moved_lists.cuh; Awkward Array's awkward_ListArray_getitem_jagged_apply.
#include <algorithm>

#include "problems/dense/take/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include "cuda/moved_lists.cuh"
#include "upsweep/detail/tuning/lists.hpp"
#endif

namespace upsweep::impl::take {

#if UPSWEEP_HAS_CUDA
namespace {

constexpr int kThreads = gpu::kTileThreads;
constexpr int kItems = gpu::kTileItems;
constexpr std::int64_t kNone = -1;

/// Indices of a type known at run time. The type is tested once for all indices of a thread.
struct DeviceIndices {
  const void* data;
  Type type;

  explicit DeviceIndices(const Indices& indices) : data(indices.data), type(indices.type) {}

  /// found[k] ← the index at at[k], unless that is kNone.
  __device__ __forceinline__ void load(const std::int64_t (&at)[kItems], std::int64_t (&found)[kItems]) const {
    if (type == Type::int64) return load_as<std::int64_t>(at, found);
    if (type == Type::int32) return load_as<std::int32_t>(at, found);
    load_as<std::uint32_t>(at, found);
  }

 private:
  template <class T>
  __device__ __forceinline__ void load_as(const std::int64_t (&at)[kItems], std::int64_t (&found)[kItems]) const {
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      found[k] = at[k] == kNone ? 0 : static_cast<std::int64_t>(static_cast<const T*>(data)[at[k]]);
    }
  }
};

/// Returns the position of an index among `elements` elements, or kNone if it is out of range.
__device__ __forceinline__ std::int64_t position_of(std::int64_t index, std::int64_t elements) {
  const std::int64_t position = index < 0 ? index + elements : index;
  return position >= 0 && position < elements ? position : kNone;
}

/// Records the first bad element of the result. `first_bad` is a thread's, counted from `begin`, or kNoneBad.
constexpr unsigned kNoneBad = ~0U;
__device__ __forceinline__ void keep_first_bad(unsigned first_bad, std::int64_t begin, gpu::Outcome* outcome) {
  const unsigned lowest = __reduce_min_sync(gpu::detail::kAllLanes, first_bad);
  if (lowest == kNoneBad || threadIdx.x % 32 != 0) return;
  atomicMax(&outcome->not_bad, ~static_cast<unsigned long long>(begin + lowest));
}

/// Returns a column's element at a position.
template <class E>
struct ContentAt {
  const E* content;
  __device__ E operator()(std::int64_t position) const { return content[position]; }
};
/// Returns the position itself.
struct PositionAt {
  __device__ std::int64_t operator()(std::int64_t position) const { return position; }
};

/// out[begin + item] ← the element at positions[k], for item k * kThreads + threadIdx.x < count. Records bad ones.
template <class E, class At>
__device__ __forceinline__ void move_items(const At& at, const std::int64_t (&positions)[kItems], std::int64_t begin,
                                           int count, gpu::Outcome* outcome, E* out) {
  // [guide: in flight]
  E items[kItems];
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    if (positions[k] != kNone) items[k] = at(positions[k]);
  }
  unsigned first_bad = kNoneBad;
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const int item = k * kThreads + static_cast<int>(threadIdx.x);
    if (item >= count) break;
    if (positions[k] != kNone) {
      out[begin + item] = items[k];
    } else {
      first_bad = ::min(first_bad, static_cast<unsigned>(item));
    }
  }
  // [guide: end]
  keep_first_bad(first_bad, begin, outcome);
}

// ----------------------------------------------------------------------------------------------------------- of arrays

template <class E>
__global__ void __launch_bounds__(kThreads) take_tile(DeviceIndices indices, std::int64_t taken, ContentAt<E> content,
                                                      std::int64_t elements, gpu::Outcome* outcome, E* out) {
  const std::int64_t begin = std::int64_t{blockIdx.x} * gpu::kTile;
  const auto count = static_cast<int>(::min(std::int64_t{gpu::kTile}, taken - begin));
  std::int64_t at[kItems];
  std::int64_t found[kItems];
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const int item = k * kThreads + static_cast<int>(threadIdx.x);
    at[k] = item < count ? begin + item : kNone;
  }
  indices.load(at, found);
#pragma unroll
  for (int k = 0; k < kItems; ++k) at[k] = at[k] == kNone ? kNone : position_of(found[k], elements);
  move_items(content, at, begin, count, outcome, out);
}

__global__ void conclude_take(std::int64_t taken, const gpu::Outcome* outcome, gpu::TakeStatus* status) {
  if (outcome->not_bad == 0) {
    *status = {kNoIndex, taken, Code::ok};
  } else {
    *status = {static_cast<std::int64_t>(~outcome->not_bad), 0, Code::index_out_of_range};
  }
}

cudaError_t launch_take_of_array(const Call& call, gpu::Outcome* outcome) {
  const gpu::Stream stream = call.launch->stream;
  const std::int64_t taken = call.indices.length;
  cudaError_t error = cudaMemsetAsync(outcome, 0, sizeof *outcome, stream);
  const auto blocks = static_cast<unsigned>(gpu::divided_up(taken, gpu::kTile));
  for (const SelectColumn& column : call.columns) {
    if (error != cudaSuccess) return error;
    if (blocks == 0) break;
    error = gpu::visit_element(column.element_size, column.data, column.out, [&]<class E>(std::type_identity<E>) {
      return gpu::detail::launch({.blocks = blocks, .threads = kThreads, .stream = stream}, take_tile<E>,
                                 DeviceIndices(call.indices), taken, ContentAt<E>{static_cast<const E*>(column.data)},
                                 call.content, outcome, static_cast<E*>(column.out));
    });
  }
  if (error != cudaSuccess) return error;
  return gpu::detail::launch({.blocks = 1, .threads = 1, .stream = stream}, conclude_take, taken, outcome, call.status);
}

// ------------------------------------------------------------------------------------------------------------ of lists

/// With this an element of the result finds its index, and the index its list.
struct TakenList {
  std::int64_t shift;  ///< from an element of the result to its index
  std::int64_t start;
  std::int64_t elements;
};

struct TakenLists {
  gpu::MovedLists lists;
  gpu::MovedLists of_indices;

  __device__ TakenList shift(std::int64_t list, std::int64_t begin) const {
    const gpu::Extent extent = lists.at(list);
    return {of_indices.start(list) - begin, extent.start, extent.length};
  }
};

/// Returns the number of a list's indices; negative if the list of indices is bad, or if it is not empty and the list
/// is.
struct TakenOfList {
  TakenLists taken;
  __device__ std::int64_t operator()(std::int64_t i) const {
    const std::int64_t indices = taken.of_indices.at(i).length;
    return indices > 0 && taken.lists.at(i).length < 0 ? -1 : indices;
  }
};

/// Returns the error of a list, or of the list of its indices. If both are good, the error is overflow.
__device__ Code check_taken(const TakenLists& taken, std::int64_t i) {
  const Code code = taken.of_indices.check(i);
  if (code != Code::ok) return code;
  const Code of_list = taken.lists.check(i);
  return of_list == Code::ok ? Code::overflow : of_list;
}

/// Sets *outcome and *status from the offsets, on one thread.
__global__ void conclude_taken_offsets(TakenLists taken, const std::int64_t* offsets, std::int64_t capacity,
                                       gpu::Outcome* outcome, gpu::TakeStatus* status) {
  const std::int64_t total = offsets[taken.of_indices.count];
  const bool fits = total >= 0 && total <= capacity;
  *outcome = {fits ? total : 0, 0};
  if (total >= 0) {
    *status = {kNoIndex, total, fits ? Code::ok : Code::unequal_lengths};
    return;
  }
  const std::int64_t list = gpu::first_negative(offsets, taken.of_indices.count);
  *status = {list, 0, check_taken(taken, list)};
}

/// Returns how many elements of the result need only their indices checked: those before a bad list, or with `all`
/// those of all lists.
__device__ std::int64_t checked_alone(const gpu::TakeStatus& status, const std::int64_t* offsets, bool all) {
  if (status.code == Code::ok) return all ? status.taken : 0;
  return status.code == Code::unequal_lengths || status.code == Code::overflow ? 0 : offsets[status.first_bad];
}

__global__ void __launch_bounds__(kThreads)
    check_indices(TakenLists taken, DeviceIndices indices, const std::int64_t* offsets, bool all,
                  const gpu::TakeStatus* status, gpu::Outcome* outcome) {
  const std::int64_t end = checked_alone(*status, offsets, all);
  const std::int64_t last = status->code == Code::ok ? taken.of_indices.count - 1 : status->first_bad;
  for (std::int64_t begin = std::int64_t{blockIdx.x} * gpu::kTile; begin < end;
       begin += std::int64_t{gridDim.x} * gpu::kTile) {
    TakenList lists[kItems];
    std::int64_t at[kItems];
    std::int64_t found[kItems];
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      const std::int64_t element = begin + k * kThreads + threadIdx.x;
      at[k] = kNone;
      if (element >= end) continue;
      const std::int64_t list = gpu::list_of(offsets, 0, element, 0, last);
      lists[k] = taken.shift(list, offsets[list]);
      at[k] = element + lists[k].shift;
    }
    indices.load(at, found);
    unsigned first_bad = kNoneBad;
#pragma unroll
    for (int k = kItems - 1; k >= 0; --k) {
      const bool is_bad = at[k] != kNone && position_of(found[k], lists[k].elements) == kNone;
      if (is_bad) first_bad = k * kThreads + threadIdx.x;
    }
    keep_first_bad(first_bad, begin, outcome);
  }
}

template <class E, class At>
__global__ void __launch_bounds__(kThreads)
    take_tile_of_lists(TakenLists taken, DeviceIndices indices, const std::int64_t* offsets, const std::int64_t* firsts,
                       At content, gpu::Outcome* outcome, E* out) {
  __shared__ gpu::TileHeads<TakenList> tile;
  const std::int64_t begin = std::int64_t{blockIdx.x} * gpu::kTile;
  const std::int64_t total = outcome->moved;
  if (begin >= total) return;
  const std::int64_t end = ::min(begin + gpu::kTile, total);
  TakenList lists[kItems];
  gpu::find_shifts(taken, offsets, begin, end, firsts[blockIdx.x], firsts[blockIdx.x + 1], tile, lists);
  std::int64_t at[kItems];
  std::int64_t found[kItems];
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const std::int64_t element = begin + k * kThreads + threadIdx.x;
    at[k] = element < end ? element + lists[k].shift : kNone;
  }
  indices.load(at, found);
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const std::int64_t position = at[k] == kNone ? kNone : position_of(found[k], lists[k].elements);
    at[k] = position == kNone ? kNone : lists[k].start + position;
  }
  move_items(content, at, begin, static_cast<int>(end - begin), outcome, out);
}

/// A bad index in a list before the first bad list is the first error.
__global__ void conclude_indices(TakenLists taken, const std::int64_t* offsets, const gpu::Outcome* outcome,
                                 gpu::TakeStatus* status) {
  if (outcome->not_bad == 0) return;
  const auto element = static_cast<std::int64_t>(~outcome->not_bad);
  const std::int64_t last = status->code == Code::ok ? taken.of_indices.count - 1 : status->first_bad;
  const std::int64_t list = gpu::list_of(offsets, 0, element, 0, last);
  *status = {element + taken.shift(list, offsets[list]).shift, 0, Code::index_out_of_range};
}

/// Returns whether elements or positions are requested in addition to the offsets.
bool writes_elements(const Call& call) { return !call.columns.empty() || call.positions != nullptr; }

struct TilesScratch {
  TilesScratch(const Call& call, bool moves, void* memory) : parts(memory) {
    outcome = parts.take<gpu::Outcome>(1);
    if (!call.has_lists) return;
    totals = parts.take<std::int64_t>(gpu::chunk_totals(call.index_lists.count));
    if (moves) firsts = parts.take<std::int64_t>(gpu::tiles_of(call.capacity, gpu::kTile) + 1);
  }

  gpu::ScratchParts parts;
  gpu::Outcome* outcome = nullptr;
  std::int64_t* totals = nullptr;
  std::int64_t* firsts = nullptr;
};

cudaError_t launch_elements_of_lists(const Call& call, const TakenLists& taken, const TilesScratch& scratch) {
  const gpu::Stream stream = call.launch->stream;
  const gpu::detail::Grid tiles{
      .blocks = static_cast<unsigned>(gpu::tiles_of(call.capacity, gpu::kTile)), .threads = kThreads, .stream = stream};
  const auto take = [&]<class E, class At>(At at, E* out) {
    return gpu::detail::launch(tiles, take_tile_of_lists<E, At>, taken, DeviceIndices(call.indices), call.out_offsets,
                               scratch.firsts, at, scratch.outcome, out);
  };
  cudaError_t error = gpu::launch_first_lists(call.out_offsets, call.index_lists.count, call.capacity, gpu::kTile,
                                              scratch.outcome, scratch.firsts, stream);
  if (error == cudaSuccess && call.positions != nullptr) error = take(PositionAt{}, call.positions);
  for (const SelectColumn& column : call.columns) {
    if (error != cudaSuccess) return error;
    error = gpu::visit_element(column.element_size, column.data, column.out, [&]<class E>(std::type_identity<E>) {
      return take(ContentAt<E>{static_cast<const E*>(column.data)}, static_cast<E*>(column.out));
    });
  }
  return error;
}

cudaError_t launch_take_of_lists(const Call& call, const TilesScratch& scratch) {
  const gpu::Stream stream = call.launch->stream;
  const std::int64_t n = call.index_lists.count;
  const TakenLists taken{gpu::MovedLists(call.lists, call.content),
                         gpu::MovedLists(call.index_lists, call.indices.length)};
  const gpu::detail::Grid one{.blocks = 1, .threads = 1, .stream = stream};
  cudaError_t error = gpu::launch_offsets(TakenOfList{taken}, n, call.out_offsets, scratch.totals, stream);
  if (error == cudaSuccess) {
    error = gpu::detail::launch(one, conclude_taken_offsets, taken, call.out_offsets, call.capacity, scratch.outcome,
                                call.status);
  }
  if (error != cudaSuccess || n == 0) return error;
  const bool moves = writes_elements(call) && call.capacity > 0;
  const auto blocks = static_cast<unsigned>(gpu::tuning::kStrides.blocks * std::max(call.launch->multiprocessors, 1));
  error = gpu::detail::launch({.blocks = blocks, .threads = kThreads, .stream = stream}, check_indices, taken,
                              DeviceIndices(call.indices), call.out_offsets, !moves, call.status, scratch.outcome);
  if (error == cudaSuccess && moves) error = launch_elements_of_lists(call, taken, scratch);
  if (error != cudaSuccess) return error;
  return gpu::detail::launch(one, conclude_indices, taken, call.out_offsets, scratch.outcome, call.status);
}

Status launch(Call& call, const Policy&) noexcept {
  const TilesScratch scratch(call, writes_elements(call), call.launch->scratch);
  return gpu::status_of(call.has_lists ? launch_take_of_lists(call, scratch)
                                       : launch_take_of_array(call, scratch.outcome));
}

gpu::WorkspaceSize workspace(const Call& call) noexcept {
  return {.scratch = TilesScratch(call, writes_elements(call), nullptr).parts.bytes()};
}

}  // namespace
#endif

extern const Rung cuda_tiles{.info = {.id = "cuda.tiles",
                                      .idea = "tiles of the result; indices checked where they are used",
                                      .needs = "any GPU",
                                      .traffic = "indices per column; elements read and written",
                                      .cost = "n + lists",
                                      .limit = "32 bytes read per element in disorder"},
                             .run = launch,
                             .workspace = workspace};

}  // namespace upsweep::impl::take
