// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/cuda_shares.cu: every thread gets an equal number of elements and list ends, found by
// search.
//
// Idea   Elements and list ends, merged in their order, are divided into equal shares. A search in the offsets finds
//        where each share begins. A thread walks along its share and writes partial folds of the lists that cross its
//        borders. A second kernel adds these partial folds, in order, with one thread per list that crosses a border.
// Cost   One pass, and a second read of the offsets, which are checked before any element is read; log2 n offsets and
//        48 bytes per share. Work n, depth 128, and the partial folds of one list.
// Needs  Any GPU; lists between offsets, without nulls.
// Limit  Adjacent lanes read addresses that are 128 elements apart. One thread adds all partial folds of a single long
//        list. In cuda.pipeline,
//        reads are in bulk, and the warp that completes a list adds its partial folds.
// From   D. Merrill, M. Garland, "Merge-based parallel sparse matrix-vector multiplication", SC 2016.
#include "problems/lists/segmented_reduce/cuda_lists.cuh"
#include "upsweep/detail/tuning/segmented_reduce.hpp"
#include "upsweep/detail/tuning/teaching.hpp"
#if UPSWEEP_HAS_CUDA
#include "cuda/work_path.cuh"
#endif

namespace upsweep::impl::segmented_reduce {

namespace {

#if UPSWEEP_HAS_CUDA
constexpr int kThreads = gpu::tuning::kTeaching.threads;
constexpr std::int64_t kItems = gpu::tuning::kSharesOrder.items;  ///< number of elements and list ends of a share
constexpr std::int64_t kCrossingBytes = 48;
constexpr std::int64_t kNoList = -1;

/// The partial folds of a share: of the lists that cross its borders.
template <class Value>
struct Crossing {
  std::int64_t ends;     ///< the list that began in an earlier share and ends here, or kNoList
  std::int64_t goes_on;  ///< the list that continues past the share's end, or kNoList
  Value end;
  Value partial;
};

std::int64_t shares_of(const detail::SegmentedReduceCall& call) {
  return (call.n + call.lists.count + kItems - 1) / kItems;
}

__global__ void check_all(GivenLists lists) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < lists.count) (void)lists.list(i);
}

/// Returns the number of lists that end before item `item` of the merged elements and ends.
__device__ std::int64_t lists_before(const GivenLists& lists, std::int64_t first, std::int64_t item) {
  return gpu::first_where(0, item < lists.count ? item : lists.count, [&](std::int64_t list) {  // ends later
    return !gpu::PathCost{}.is_before(lists.bound(lists.stops, list) - first, list + 1, item);
  });
}

template <class R>
__global__ void reduce_shares(GivenLists lists, const typename R::In* content, R reducer,
                              Crossing<typename R::Value>* crossings) {
  if (lists.status->first_bad != kNoneBad) return;
  const std::int64_t share = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::int64_t first = lists.bound(lists.starts, 0);
  const std::int64_t items = lists.bound(lists.starts, lists.count) - first + lists.count;
  if (share * kItems >= items) return;
  std::int64_t left = items - share * kItems < kItems ? items - share * kItems : kItems;
  std::int64_t i = lists_before(lists, first, share * kItems);
  std::int64_t j = first + share * kItems - i;  // the next element
  Crossing<typename R::Value> crossing{kNoList, kNoList, reducer.none(), reducer.none()};
  auto total = reducer.none();
  bool began_before = i < lists.count && lists.bound(lists.starts, i) < j;
  // [guide: walk]
  while (left > 0) {
    const std::int64_t start = lists.bound(lists.starts, i);
    const std::int64_t stop = lists.bound(lists.stops, i);
    for (; left > 0 && j < stop; --left, ++j) total = reducer.merge(total, reducer.of(content[j], j - start));
    if (left == 0) {
      if (j > start) crossing.goes_on = i;
      break;
    }
    if (began_before) {
      crossing.ends = i;
      crossing.end = total;
    } else {
      write_result(reducer, i, total, [&] { return start == stop; });
    }
    began_before = false;
    total = reducer.none();
    --left;
    ++i;
  }
  // [guide: end]
  crossing.partial = total;
  crossings[share] = crossing;
}

/// Adds the partial folds of a list; the thread of the share in which the list begins does this if it continues in
/// others.
template <class R>
__global__ void add_partials(GivenLists lists, R reducer, const Crossing<typename R::Value>* crossings) {
  if (lists.status->first_bad != kNoneBad) return;
  const std::int64_t share = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::int64_t first = lists.bound(lists.starts, 0);
  const std::int64_t items = lists.bound(lists.starts, lists.count) - first + lists.count;
  if (share * kItems >= items) return;
  // [guide: partials]
  const std::int64_t list = crossings[share].goes_on;
  if (list == kNoList || (share > 0 && crossings[share - 1].goes_on == list)) return;
  auto total = crossings[share].partial;
  std::int64_t next = share + 1;
  for (; crossings[next].ends != list; ++next) total = reducer.merge(total, crossings[next].partial);
  reducer.write(list, reducer.merge(total, crossings[next].end));
  // [guide: end]
}

unsigned blocks_for(std::int64_t threads) { return static_cast<unsigned>((threads + kThreads - 1) / kThreads); }

Status launch(const detail::SegmentedReduceCall& call, const Policy&) noexcept {
  return with_taught(call, [&]<class R>(const R& reducer) {
    using Crossings = Crossing<typename R::Value>;
    static_assert(sizeof(Crossings) <= kCrossingBytes);
    const GivenLists lists = lists_of(call);
    auto* const crossings = static_cast<Crossings*>(call.launch->scratch);
    gpu::detail::Grid grid{.blocks = blocks_for(call.lists.count), .threads = kThreads, .stream = call.launch->stream};
    cudaError_t error = gpu::detail::launch(grid, check_all, lists);
    grid.blocks = blocks_for(shares_of(call));
    if (error == cudaSuccess) {
      error = gpu::detail::launch(grid, reduce_shares<R>, lists, static_cast<const typename R::In*>(call.in), reducer,
                                  crossings);
    }
    return error == cudaSuccess ? gpu::detail::launch(grid, add_partials<R>, lists, reducer, crossings) : error;
  });
}

gpu::WorkspaceSize workspace(const detail::SegmentedReduceCall& call) noexcept {
  return {.scratch = shares_of(call) * kCrossingBytes};
}
#endif

const char* shares_refusal(const detail::SegmentedReduceCall& call, const Policy& policy) noexcept {
  if (const char* reason = taught_refusal(call, policy)) return reason;
  if (call.reducer == Reducer::count) return "does not count: lengths follow from the offsets, without the content";
  if (call.lists.has_size || !call.lists.are_adjacent()) return "supports only lists between offsets";
  if (call.cuts_last) return "does not support a list that extends past the content";
  return call.lists.valid.is_given() ? "does not support nulls" : nullptr;
}

}  // namespace

extern const Rung cuda_shares{.info = {.id = "cuda.shares",
                                       .idea = "equal shares of elements and list ends, by search",
                                       .needs = "any GPU; offsets, no nulls",
                                       .traffic = "content and bounds read, bounds again, results written",
                                       .cost = "n, 128 and the partial folds of one list",
                                       .limit = "lanes that read far apart"},
                              .refusal = shares_refusal,
                              .run = launch,
                              .workspace = workspace};

}  // namespace upsweep::impl::segmented_reduce
