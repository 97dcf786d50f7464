// SPDX-License-Identifier: Apache-2.0
// segmented/cuda_pipeline.cuh: a reduction of every list in one pass over memory on Hopper: shares, bulk copies, roles.
//
// shares     The work, the bytes of each element and of each list's bound and result, is cut into shares of equal work, which
//            blocks take by ticket. Where they are cut depends on the offsets alone.
// search     A warp finds the two borders of its block's next share in the offsets, 16 probes each at a time.
// loader     A warp cuts the share into tiles, whole groups of lists that fit a stage of shared memory or a piece of a long
//            list, and starts the bulk copies of their offsets and content.
// consumers  A lane per list where they are short, 2 to 32 lanes where a tile has few, a warp for one that is much longer than
//            its neighbours, all consumers where a list is longer than a tile.
// publisher  Leaves the parts of lists that lie in several shares; the last to come adds them up in order. Nobody waits for
//            another block.
//
// Bad offsets. Every list's bounds are compared where its result is computed: a bad list is reported, and not read. The
// search and the loader take every offset as one between the first and the last, which are looked at before anything else;
// where offsets descend so that a share cannot be cut, its lists are only checked. As the borders of shares lead from list 0
// to the last in steps, every list is in some share, whatever the offsets are.
//
// compute-sanitizer's racecheck does not follow __syncwarp with one lane's release for the warp (see tile_pipeline.cuh): all that
// it reports here are writes of a stage and its tile by load(), load_tile(), copy_ends() and their bulk copies, against the
// consumers' reads. `full` orders these after the writes, `empty` the next writes after them.
#pragma once

#include "segmented/cuda_lists.cuh"

#if UPSWEEP_HAS_CUDA
#include "upsweep/detail/tile_pipeline.cuh"

namespace upsweep::segmented {

// ---------------------------------------------------------------------------------------------------------------- the shape
// Chosen on an H200: 23 KB of a stage hold 128 lists of up to 40 floats; three stages and three blocks fill shared memory.

inline constexpr int kConsumers = 8;  ///< warps
inline constexpr int kSearch = kConsumers;
inline constexpr int kLoader = kConsumers + 1;
inline constexpr int kPublisher = kConsumers + 2;
inline constexpr int kPipelineThreads = (kConsumers + 3) * 32;
inline constexpr int kConsumerThreads = kConsumers * 32;
inline constexpr int kBlocks = 3;  ///< per multiprocessor
inline constexpr int kStages = 3;
inline constexpr int kStageBytes = 23 * 1024;
inline constexpr int kHeadBytes = 2048;
inline constexpr int kPipelineShared = kHeadBytes + kStages * kStageBytes;
/// A share; the last eighth of the work is cut into smaller ones, so that blocks end together.
inline constexpr std::int64_t kShareBytes = 256 * 1024;
inline constexpr std::int64_t kLastShareBytes = 64 * 1024;
/// Lists of up to so many bytes are not cut by a border between shares.
inline constexpr std::int64_t kSnapBytes = 4096;
/// Tiles begin at multiples of a power of two of lists: at most this, less where so many do not fit a quarter of a stage.
inline constexpr int kMostUnit = 128;
/// What alignment may add to a tile's offsets and content.
inline constexpr std::int64_t kStageSlack = 64;

/// The most shares of so many bytes of work.
constexpr std::int64_t most_shares(std::int64_t bytes) {
  return bytes / 8 * 7 / kShareBytes + (bytes / 8 + kShareBytes) / kLastShareBytes + 2;
}

/// A list that lies in several shares: a part per share.
struct Parts {
  unsigned* ticket;
  unsigned* done;
  int* missing;       ///< by the share that the list begins in: parts yet to come
  std::int64_t* end;  ///< by the same, two each: the share that it ends in, and the list
  char* goes_on;      ///< by the part's share, 16 bytes each: of a list that goes on in the next share
  char* ends;         ///< by the share: of the list that ends there
};
inline constexpr std::int64_t kPartsControl = 256;

/// One call.
struct ListsCall {
  GivenLists lists;
  Parts parts;
  int result_bytes;
};

// ------------------------------------------------------------------------------------------------------- folds within a tile
// As reducers, but positions are those in the tile, in 32 bits.

template <class R>
struct InTile {
  using In = typename R::In;
  using Acc = typename R::Value;
  static constexpr bool kByWords = false;
  const R& reducer;

  __device__ Acc none() const { return reducer.none(); }
  __device__ void add(Acc& acc, In x, std::uint32_t) const { acc = reducer.merge(acc, reducer.of(x, 0)); }
  /// The same of an element that follows all that were added before.
  __device__ void add_next(Acc& acc, In x, std::uint32_t position) const { add(acc, x, position); }
  __device__ Acc merge(const Acc& a, const Acc& b) const { return reducer.merge(a, b); }
  /// A fold of elements of a tile that begins at element `base`, as one of the content.
  __device__ typename R::Value widen(const Acc& acc, std::int64_t) const { return acc; }
  /// The result of a list of so many elements that starts at `start` of the tile; of a long one that starts there in the
  /// content.
  __device__ void write(std::int64_t list, const Acc& acc, std::uint32_t, std::uint32_t) const {
    reducer.write(list, acc);
  }
  __device__ void write_wide(std::int64_t list, const typename R::Value& value, std::int64_t) const {
    reducer.write(list, value);
  }
};

template <class T>
struct PickedInTile {
  T value;
  std::uint32_t position;
};

template <class T>
struct InTile<Pick<T>> {
  using In = T;
  using Acc = PickedInTile<T>;
  static constexpr bool kByWords = false;
  static constexpr std::uint32_t kNot = ~0U;
  const Pick<T>& reducer;

  __device__ Acc none() const { return {Pick<T>::kLowest, kNot}; }
  __device__ void add(Acc& acc, In x, std::uint32_t position) const {
    acc = merge(acc, {Pick<T>::flipped(x, reducer.flip), position});
  }
  /// The least element of all is not taken: where nothing is, the list's first one is picked.
  __device__ void add_next(Acc& acc, In x, std::uint32_t position) const {
    const T value = Pick<T>::flipped(x, reducer.flip);
    bool better = !(value <= acc.value);  // or NaN
    if constexpr (std::is_floating_point_v<T>) better = better && acc.value == acc.value;
    if (better) acc = {value, position};
  }
  __device__ Acc merge(const Acc& a, const Acc& b) const {
    return is_better(b.value, b.position, a.value, a.position) ? b : a;
  }
  __device__ Picked<T> widen(const Acc& acc, std::int64_t base) const {
    return {acc.value, acc.position == kNot ? kNowhere : base + acc.position};
  }
  __device__ void write(std::int64_t list, const Acc& acc, std::uint32_t start, std::uint32_t length) const {
    const std::int64_t first = length > 0 ? 0 : kNowhere;
    reducer.write(list, {acc.value, acc.position == kNot ? first : acc.position - start});
  }
  __device__ void write_wide(std::int64_t list, const Picked<T>& picked, std::int64_t start) const {
    reducer.write(list, {picked.value, picked.position == kNowhere ? 0 : picked.position - start});
  }
};

template <class T>
struct InTile<Count<T>> {
  using In = T;
  using Acc = std::int32_t;
  static constexpr bool kByWords = sizeof(T) == 1;
  const Count<T>& reducer;

  __device__ Acc none() const { return 0; }
  __device__ void add(Acc& acc, In x, std::uint32_t) const {
    acc += (x != T{0}) == (reducer.counted == Counted::not_zeros) ? 1 : 0;
  }
  __device__ void add_next(Acc& acc, In x, std::uint32_t position) const { add(acc, x, position); }
  __device__ Acc merge(Acc a, Acc b) const { return a + b; }
  __device__ std::int64_t widen(Acc acc, std::int64_t) const { return acc; }
  __device__ void write(std::int64_t list, Acc acc, std::uint32_t, std::uint32_t) const { reducer.write(list, acc); }
  __device__ void write_wide(std::int64_t list, std::int64_t count, std::int64_t) const { reducer.write(list, count); }
};

template <class T>
__device__ __forceinline__ T shuffle_xor(const T& value, int step) {
  return gpu::detail::move_words(
      value, [&](std::uint32_t word) { return __shfl_xor_sync(gpu::detail::kAllLanes, word, step); });
}
__device__ __forceinline__ std::int64_t of_lane(std::int64_t value, int lane) {
  return __shfl_sync(gpu::detail::kAllLanes, static_cast<long long>(value), lane);
}

// ------------------------------------------------------------------------------------------------------- shares of the work

/// The offsets as the search and the loader take them, and where shares are cut.
struct Cuts {
  const GivenLists& lists;
  std::int64_t element_bytes;
  std::int64_t list_bytes;
  std::int64_t first;  ///< offset
  std::int64_t last;
  std::int64_t work;
  std::int64_t large;  ///< shares of kShareBytes
  std::int64_t shares;

  __device__ Cuts(const GivenLists& given, int element, int result)
      : lists(given),
        element_bytes(element),
        list_bytes((given.kind == BoundKind::int64 ? 8 : 4) + result),
        first(given.bound(given.starts, 0)),
        last(given.bound(given.starts, given.count)),
        work((last - first) * element_bytes + given.count * list_bytes),
        large(work / 8 * 7 / kShareBytes),
        shares(large + (work - large * kShareBytes + kLastShareBytes - 1) / kLastShareBytes) {}

  /// Whether the first and the last offset alone say that some list is bad.
  __device__ bool are_bad() const { return last < first || (last > first && (first < 0 || last > lists.content)); }

  /// An offset, not before the first nor after the last.
  __device__ __forceinline__ std::int64_t offset(std::int64_t i) const {
    const std::int64_t value = lists.bound(lists.starts, i);
    return value < first ? first : value > last ? last : value;
  }
  /// The work before a share.
  __device__ std::int64_t before(std::int64_t share) const {
    const std::int64_t large_ones = share <= large ? share : large;
    const std::int64_t all = large_ones * kShareBytes + (share - large_ones) * kLastShareBytes;
    return all < work ? all : work;
  }
  __device__ std::int64_t share_of(std::int64_t position) const {
    const std::int64_t in_large = large * kShareBytes;
    return position < in_large ? position / kShareBytes : large + (position - in_large) / kLastShareBytes;
  }
  /// The work before a list.
  __device__ __forceinline__ std::int64_t position(std::int64_t list, std::int64_t start) const {
    return (start - first) * element_bytes + list * list_bytes;
  }
  /// The share that a list's content begins in.
  __device__ std::int64_t first_share(std::int64_t list, std::int64_t start) const {
    const std::int64_t at = position(list, start);
    const std::int64_t share = share_of(at);
    return before(share + 1) - at < element_bytes ? share + 1 : share;
  }
};

/// A share begins at an element of a list, which starts at `start`.
struct Border {
  std::int64_t list;
  std::int64_t element;
  std::int64_t start;
};

/// The borders at two places of the work, each by half a warp.
__device__ inline void find_borders(const Cuts& cuts, std::int64_t from, std::int64_t to, int lane, Border& begin,
                                    Border& end) {
  const int half = lane / 16;
  const int probe = lane % 16;
  const std::int64_t wanted = half == 0 ? from : to;
  std::int64_t low = 0;  // the last list that begins no later
  std::int64_t high = cuts.lists.count + 1;
  while (__any_sync(gpu::detail::kAllLanes, high - low > 1)) {
    const auto step = static_cast<std::int64_t>(static_cast<std::uint64_t>(high - low + 16) / 17U);
    const std::int64_t i = low + (probe + 1) * step;
    const bool is_before = i < high && cuts.position(i, cuts.offset(i)) <= wanted;
    const int before = __popc((__ballot_sync(gpu::detail::kAllLanes, is_before) >> (16 * half)) & 0xffffU);
    const std::int64_t bound = low + (before + 1) * step;
    high = bound < high ? bound : high;
    low += before * step;
  }
  Border border{low, cuts.offset(low), 0};
  border.start = border.element;
  if (low < cuts.lists.count) {
    const std::int64_t next = cuts.offset(low + 1);
    const std::int64_t length = next - border.start;
    if (length * cuts.element_bytes > kSnapBytes) {
      const std::int64_t within = (wanted - cuts.position(low, border.start)) / cuts.element_bytes;
      if (within >= length) {
        border = {low + 1, next, next};
      } else {
        border.element = border.start + within;
      }
    }
  }
  begin = {of_lane(border.list, 0), of_lane(border.element, 0), of_lane(border.start, 0)};
  end = {of_lane(border.list, 16), of_lane(border.element, 16), of_lane(border.start, 16)};
}

// ---------------------------------------------------------------------------------------------------------------- the block

enum TileFlag : std::uint32_t {
  kClip = 1,   ///< not all lists with offsets here are all here
  kFirst = 2,  ///< the first tile with these lists
  kCut = 4,    ///< ends within a list
  kShareBegin = 8,
  kShareEnd = 16,
  kNoMore = 32,
  kSplit = 64,   ///< the share begins within a list
  kTrail = 128,  ///< the share ends within a list
};

struct Tile {
  std::int64_t list;   ///< the first one with offsets here
  std::int64_t begin;  ///< content
  std::int64_t end;
  std::int64_t first;  ///< lists first … last - 1 end in the share
  std::int64_t last;
  std::int64_t start;  ///< of list `first`
  std::int64_t share;
  std::uint32_t lists;
  std::uint32_t flags;
  std::uint32_t bounds_at;   ///< bytes from the stage's begin to the first offset
  std::uint32_t content_at;  ///< to element `begin`
  int lanes;                 ///< of a list: log2
};

/// What becomes of a part of a list that lies in several shares.
enum class Role : std::int32_t { ends, goes_on, no_more };

struct Part {
  Role role;
  bool begins_here;
  std::int64_t share;
  std::int64_t list;
  std::int64_t start;
};

struct Mail {
  Part part;
  alignas(16) char value[16];
};

struct PipelineHead {
  gpu::detail::Barrier full[kStages];
  gpu::detail::Barrier empty[kStages];
  gpu::detail::Barrier found[2];
  gpu::detail::Barrier taken[2];
  gpu::detail::Barrier sent[2];
  gpu::detail::Barrier received[2];
  Mail mail[2];
  Tile tile[kStages];
  Border begin[2];
  Border end[2];
  std::int64_t share[2];  ///< -1: there is none left
  alignas(16) char sums[2][kConsumers][16];
};
static_assert(sizeof(PipelineHead) <= kHeadBytes);

/// Lists from, from + step, …: nothing but their bounds.
__device__ inline void check_lists(const GivenLists& lists, std::int64_t from, std::int64_t to, std::int64_t step) {
  for (std::int64_t i = from; i < to; i += step) (void)lists.list(i);
}
__device__ inline void report_if_bad(const GivenLists& lists, std::int64_t list, std::int64_t start,
                                     std::int64_t stop) {
  if (check_bounds(start, stop, lists.content) != Code::ok) lists.report(list);
}

template <class R>
class ListPipeline {
 public:
  using In = typename R::In;
  using Value = typename R::Value;
  using Acc = typename InTile<R>::Acc;
  static_assert(sizeof(Value) <= 16);

  __device__ __forceinline__ ListPipeline(const ListsCall& call, const In* content, const R& reducer, char* shared)
      : call_(call),
        lists_(call.lists),
        content_(content),
        reducer_(reducer),
        tiles_{reducer},
        head_(*reinterpret_cast<PipelineHead*>(shared)),
        stages_(shared + kHeadBytes),
        warp_(static_cast<int>(threadIdx.x) / 32),
        lane_(static_cast<int>(threadIdx.x) % 32) {}

  __device__ __forceinline__ void run() {
    if (Cuts(lists_, kBytes, call_.result_bytes).are_bad()) {
      check_lists(lists_, std::int64_t{blockIdx.x} * kPipelineThreads + threadIdx.x, lists_.count,
                  std::int64_t{gridDim.x} * kPipelineThreads);
    } else {
      begin();
      if (warp_ < kConsumers) {
        consume();
      } else if (warp_ == kSearch) {
        search();
      } else if (warp_ == kLoader) {
        load();
      } else {
        publish();
      }
    }
    end();
  }

 private:
  static constexpr std::uint32_t kBytes = sizeof(In);

  __device__ __forceinline__ void next() {
    if (++stage_ == kStages) {
      stage_ = 0;
      parity_ ^= 1;
    }
  }

  __device__ __forceinline__ void begin() {
    if (threadIdx.x == 0) {
      for (int s = 0; s < kStages; ++s) {
        head_.full[s].init(1);
        head_.empty[s].init(kConsumers);
      }
      for (int s = 0; s < 2; ++s) {
        head_.found[s].init(1);
        head_.taken[s].init(1);
        head_.sent[s].init(1);
        head_.received[s].init(1);
      }
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
      gpu::detail::fence_before_bulk();  // the barriers before the bulk copies that arrive at them
    }
    __syncthreads();
  }

  /// The last block to end says how the call ended.
  __device__ __forceinline__ void end() {
    __syncthreads();
    if (threadIdx.x != 0) return;
    __threadfence();  // this block's reports before the count
    if (atomicAdd(call_.parts.done, 1U) != gridDim.x - 1) return;
    __threadfence();  // the count before the other blocks' reports
    conclude(lists_);
  }

  // ------------------------------------------------------------------------------------------------ search
  __device__ __forceinline__ void search() {
    const Cuts cuts(lists_, kBytes, call_.result_bytes);
    int slot = 0;
    std::uint32_t parity = 0;
    for (int k = 0;; ++k) {
      if (k >= 2) head_.taken[slot].wait(parity ^ 1);
      std::int64_t share = 0;
      if (lane_ == 0) share = atomicAdd(call_.parts.ticket, 1U);
      share = of_lane(share, 0);
      const bool is_one = share < cuts.shares;
      Border from{};
      Border to{};
      if (is_one) find_borders(cuts, cuts.before(share), cuts.before(share + 1), lane_, from, to);
      if (lane_ == 0) {
        head_.begin[slot] = from;
        head_.end[slot] = to;
        head_.share[slot] = is_one ? share : -1;
        head_.found[slot].arrive();
      }
      __syncwarp();
      if (!is_one) return;
      slot ^= 1;
      if (slot == 0) parity ^= 1;
    }
  }

  // -------------------------------------------------------------------------------------------------- load
  __device__ __forceinline__ void load() {
    const Cuts cuts(lists_, kBytes, call_.result_bytes);
    int slot = 0;
    std::uint32_t parity = 0;
    for (;;) {
      head_.found[slot].wait(parity);
      const std::int64_t share = head_.share[slot];
      const Border from = head_.begin[slot];
      const Border to = head_.end[slot];
      __syncwarp();
      if (lane_ == 0) head_.taken[slot].arrive();
      slot ^= 1;
      if (slot == 0) parity ^= 1;
      if (share < 0) break;
      // Where offsets descend, borders may: these lists are in other shares, too.
      if (to.list < from.list || (to.list == from.list && to.element <= from.element)) continue;
      load_share(cuts, share, from, to);
    }
    if (loaded_ >= kStages) head_.empty[stage_].wait(parity_ ^ 1);
    if (lane_ == 0) {
      head_.tile[stage_].flags = kNoMore;
      head_.full[stage_].arrive();
    }
    __syncwarp();
  }

  __device__ __forceinline__ void load_share(const Cuts& cuts, std::int64_t share, const Border& from,
                                             const Border& to) {
    const bool split = from.element > from.start;
    const bool trail = to.element > to.start;
    const std::int64_t lists_end = to.list + (trail ? 1 : 0);
    const std::int64_t bound_bytes = lists_.kind == BoundKind::int64 ? 8 : 4;
    const std::int64_t each = (to.element - from.element) * kBytes / (lists_end - from.list) + bound_bytes;
    int unit = kMostUnit;
    while (unit > 1 && each * unit > kStageBytes / 4) unit /= 2;
    const auto border = [&](std::int64_t list) { return list >= lists_end ? to.element : cuts.offset(list); };
    std::int64_t base = from.list & ~std::int64_t{unit - 1};
    std::int64_t x = from.element;
    std::int64_t ahead = border(base + (lane_ + 1) * unit);
    bool begins = true;
    for (; base < lists_end; base += 32 * unit) {
      const std::int64_t y = ahead;  // the content up to unit lane_ + 1 of this row
      if (base + 32 * unit < lists_end) ahead = border(base + (33 + lane_) * unit);
      const std::int64_t left = __shfl_up_sync(gpu::detail::kAllLanes, static_cast<long long>(y), 1);
      if (!__all_sync(gpu::detail::kAllLanes, y >= (lane_ == 0 ? x : left) && y <= to.element)) {
        const std::int64_t checked = base > from.list ? base : from.list;
        check_lists(lists_, checked + lane_, to.list, 32);
        return;
      }
      int u = 0;
      bool is_first = !begins || !split;
      while (u < 32 && base + u * unit < lists_end) {
        const std::int64_t bytes = (y - x) * kBytes + (lane_ + 1 - u) * unit * bound_bytes + kStageSlack;
        const int fit = __popc(__ballot_sync(gpu::detail::kAllLanes, lane_ >= u && bytes <= kStageBytes));
        const std::int64_t list = base + u * unit;
        const int u_end = fit > 0 ? u + fit : u + 1;
        const std::int64_t y_end =
            fit > 0 ? of_lane(y, u_end - 1) : x + (kStageBytes - unit * bound_bytes - kStageSlack) / kBytes;
        const std::int64_t list_end = base + u_end * unit < lists_end ? base + u_end * unit : lists_end;
        std::uint32_t flags = is_first ? kFirst : kClip;
        if (fit == 0) flags |= kCut | kClip;
        if (begins) {
          flags |= kShareBegin;
          if (split) flags |= kSplit | kClip;
          if (list != from.list) flags |= kClip;
        }
        if (fit > 0 && list_end == lists_end) {
          flags |= kShareEnd | kClip;
          if (trail) flags |= kTrail;
        }
        load_tile(list, static_cast<std::uint32_t>(list_end - list), x, y_end, flags, share, from, to, bound_bytes);
        x = y_end;
        begins = false;
        is_first = fit > 0;
        if (fit > 0) u = u_end;
      }
    }
  }

  __device__ __forceinline__ void load_tile(std::int64_t list, std::uint32_t lists, std::int64_t x, std::int64_t x_end,
                                            std::uint32_t flags, std::int64_t share, const Border& from,
                                            const Border& to, std::int64_t bound_bytes) {
    if (loaded_ >= kStages) head_.empty[stage_].wait(parity_ ^ 1);
    char* const stage = stages_ + stage_ * kStageBytes;
    const char* const offsets = static_cast<const char*>(lists_.starts);
    const Copy bounds = copy_ends(stage, offsets + list * bound_bytes, offsets + (list + lists + 1) * bound_bytes,
                                  offsets, offsets + (lists_.count + 1) * bound_bytes);
    const char* const elements = reinterpret_cast<const char*>(content_);
    Copy content{nullptr, nullptr, 0, 0, bounds.room};
    if (x_end > x) {
      content = copy_ends(stage + bounds.room, elements + x * kBytes, elements + x_end * kBytes, elements,
                          elements + lists_.content * kBytes);
      content.shift += bounds.room;
    }
    __syncwarp();  // the bytes at the ends before the arrival below
    if (lane_ == 0) {
      Tile& tile = head_.tile[stage_];
      tile.list = list;
      tile.begin = x;
      tile.end = x_end;
      tile.first = from.list;
      tile.last = to.list;
      tile.start = from.start;
      tile.share = share;
      tile.lists = lists;
      tile.flags = flags;
      tile.bounds_at = bounds.shift;
      tile.content_at = content.shift;
      tile.lanes = lanes_for(lists, x_end - x);
      head_.full[stage_].arrive_expecting(bounds.bytes + content.bytes);
      if (bounds.bytes > 0) gpu::detail::bulk_load(bounds.to, bounds.from, bounds.bytes, head_.full[stage_]);
      if (content.bytes > 0) gpu::detail::bulk_load(content.to, content.from, content.bytes, head_.full[stage_]);
    }
    __syncwarp();
    next();
    ++loaded_;
  }

  /// log2 of the lanes of a list, of so many in the tile: all lanes have something to do.
  __device__ static __forceinline__ int lanes_for(std::uint32_t lists, std::int64_t elements) {
    if (InTile<R>::kByWords && elements >= lists * 128LL) return 5;
    if (lists * 2 > kConsumerThreads) return 0;
    const int lanes = 31 - __clz(static_cast<int>(kConsumerThreads / lists));
    return lanes < 5 ? lanes : 5;
  }

  struct Copy {
    char* to;
    const char* from;
    std::uint32_t bytes;
    std::uint32_t shift;  ///< where the first byte goes
    std::uint32_t room;   ///< of all of them, a multiple of 16
  };
  /// The bulk copy of [first, last) to `stage`; the bytes of a unit of 16 that would reach out of the array, at its two ends,
  /// are copied here, one by one.
  __device__ __forceinline__ Copy copy_ends(char* stage, const char* first, const char* last, const char* array,
                                            const char* array_end) const {
    const auto past = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(first) % 16);
    const auto past_last = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(last) % 16);
    char* const place = stage + past;
    const char* begin = first - past;
    const char* end = last + (16 - past_last) % 16;
    const auto room = static_cast<std::uint32_t>(end - begin);
    if (begin < array) begin += 16;
    if (end > array_end) end -= 16;
    const char* const head_end = begin < last ? begin : last;
    const char* const tail_begin = end > head_end ? end : head_end;
    const char* const byte = lane_ < 16 ? first + lane_ : tail_begin + (lane_ - 16);
    if (byte < (lane_ < 16 ? head_end : last)) {
      place[byte - first] = *byte;
      gpu::detail::fence_before_bulk();  // a later bulk copy may write there
    }
    return {place + (begin - first), begin, end > begin ? static_cast<std::uint32_t>(end - begin) : 0, past, room};
  }

  // ----------------------------------------------------------------------------------------------- consume
  /// The elements [from, to) of the tile, those of one of kThreads threads.
  template <int kThreads, int kLoads>
  __device__ __forceinline__ Acc fold_range(const In* content, std::uint32_t from, std::uint32_t to,
                                            std::uint32_t me) const {
    Acc acc = tiles_.none();
    if constexpr (InTile<R>::kByWords) {
      if (from >= to) return acc;
      fold_words<kThreads, kLoads>(content, from, to, me, acc);
    } else {
      for (std::uint32_t j = from + me; j < to; j += kThreads * kLoads) {
        In x[kLoads] = {};
#pragma unroll
        for (int u = 0; u < kLoads; ++u) {
          if (j + u * kThreads < to) x[u] = content[j + u * kThreads];
        }
#pragma unroll
        for (int u = 0; u < kLoads; ++u) {
          if (j + u * kThreads < to) tiles_.add_next(acc, x[u], j + u * kThreads);
        }
      }
    }
    return acc;
  }

  /// The same of bytes that are counted, four at a time; those outside are zero.
  template <int kThreads, int kLoads>
  __device__ __forceinline__ void fold_words(const In* content, std::uint32_t from, std::uint32_t to, std::uint32_t me,
                                             Acc& acc) const {
    const std::uint32_t before = gpu::detail::shared_address(content + from) & 3U;
    const std::uint32_t words = (before + (to - from) + 3) / 4;
    const auto* const at = reinterpret_cast<const std::uint32_t*>(content + from - before);
    for (std::uint32_t j = me; j < words; j += kThreads * kLoads) {
      std::uint32_t x[kLoads];
#pragma unroll
      for (int u = 0; u < kLoads; ++u) {
        const std::uint32_t i = j + u * kThreads;
        x[u] = i < words ? at[i] : 0;
        if (i == 0) x[u] &= ~0U << (8 * before);
        if (i == words - 1) x[u] &= ~0U >> (8 * ((0U - (before + (to - from))) & 3U));
      }
#pragma unroll
      for (int u = 0; u < kLoads; ++u) acc += __popc(__vminu4(x[u], 0x01010101U));
    }
    // Zeros are what is left of all, which the first thread counts.
    if (reducer_.counted == Counted::zeros) acc = (me == 0 ? static_cast<Acc>(to - from) : 0) - acc;
  }

  /// Elements [from, from + length) of each lane, from `rotation` on and around.
  __device__ __forceinline__ Acc fold_lane(const In* content, std::uint32_t from, std::uint32_t length,
                                           std::uint32_t longest, std::uint32_t rotation) const {
    Acc acc = tiles_.none();
    std::uint32_t k = rotation;
    for (std::uint32_t j = 0; j < longest; j += 4) {
      In x[4] = {};
      std::uint32_t at[4];
#pragma unroll
      for (int u = 0; u < 4; ++u) {
        at[u] = from + k;
        if (j + u < length) x[u] = content[at[u]];
        if (++k >= length) k = 0;
      }
#pragma unroll
      for (int u = 0; u < 4; ++u) {
        if (j + u < length) tiles_.add(acc, x[u], at[u]);
      }
    }
    return acc;
  }
  __device__ __forceinline__ Acc fold_lane(const In* content, std::uint32_t from, std::uint32_t length,
                                           std::uint32_t longest) const {
    Acc acc = tiles_.none();
    const In* const first = content + from;
    for (std::uint32_t j = 0; j < longest; j += 4) {
      In x[4] = {};
#pragma unroll
      for (int u = 0; u < 4; ++u) {
        if (j + u < length) x[u] = first[j + u];
      }
#pragma unroll
      for (int u = 0; u < 4; ++u) {
        if (j + u < length) tiles_.add_next(acc, x[u], from + j + u);
      }
    }
    return acc;
  }

  __device__ __forceinline__ Acc fold_warp(Acc acc) const {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) acc = tiles_.merge(acc, shuffle_xor(acc, step));
    return acc;
  }

  /// The elements [from, from + length) of each lane, of which there may be none.
  __device__ __forceinline__ Acc fold_lists(const In* content, std::uint32_t from, std::uint32_t length) const {
    const std::uint32_t longest = __reduce_max_sync(gpu::detail::kAllLanes, length);
    if (longest <= 8) return fold_lane(content, from, length, longest);
    // Lists of more than `most` elements by the whole warp, one after the other. One costs about as much time as 12 elements
    // of a lane.
    const auto more_than = [&](std::uint32_t limit) {
      return __popc(__ballot_sync(gpu::detail::kAllLanes, length > limit));
    };
    int cost = static_cast<int>(longest < 4096U ? longest : 4096U);
    std::uint32_t most = longest;
#pragma unroll
    for (int limit = 48; limit >= 8; limit = limit == 48 ? 16 : limit - 8) {
      const int by_warp = limit + 12 * more_than(static_cast<std::uint32_t>(limit));
      if (by_warp < cost) {
        cost = by_warp;
        most = static_cast<std::uint32_t>(limit);
      }
    }
    unsigned large = __ballot_sync(gpu::detail::kAllLanes, length > most);
    const std::uint32_t own = length > most ? 0 : length;
    const std::uint32_t top = most < longest ? most : longest;
    Acc acc;
    if (__all_sync(gpu::detail::kAllLanes, own == top || own == 0)) {
      // Equal lengths: each lane begins where its bank differs from its neighbours'.
      constexpr std::uint32_t kSpread = kBytes < 4 ? 4 / kBytes : 1;
      const std::uint32_t turn =
          own > 0 ? (from * kBytes / 128 * kSpread) & ((1U << (31 - __clz(static_cast<int>(own)))) - 1) : 0;
      acc = fold_lane(content, from, own, top, turn);
    } else {
      acc = fold_lane(content, from, own, top);
    }
    for (; large != 0; large &= large - 1) {
      const int source = __ffs(static_cast<int>(large)) - 1;
      const std::uint32_t begin = __shfl_sync(gpu::detail::kAllLanes, from, source);
      const std::uint32_t end = begin + __shfl_sync(gpu::detail::kAllLanes, length, source);
      const Acc all = fold_warp(fold_range<32, 4>(content, begin, end, lane_));
      if (lane_ == source) acc = all;
    }
    return acc;
  }

  /// An offset in the stage.
  __device__ __forceinline__ std::int64_t bound(const char* bounds, std::uint32_t i) const {
    if (lists_.kind == BoundKind::int64) return reinterpret_cast<const std::int64_t*>(bounds)[i];
    const std::int32_t word = reinterpret_cast<const std::int32_t*>(bounds)[i];
    return lists_.kind == BoundKind::int32 ? word : static_cast<std::int64_t>(static_cast<std::uint32_t>(word));
  }

  /// What consumers need to know of a tile for every list.
  struct Here {
    const char* bounds;
    std::int64_t list;
    std::int64_t begin;
    std::uint64_t size;  ///< elements
    std::uint32_t lists;
    std::uint32_t flags;
  };

  /// The list's place in the tile; whether it is all here, and this tile's to fold. A bad one is reported.
  __device__ __forceinline__ bool place(const Here& here, std::uint32_t i, std::uint32_t& from,
                                        std::uint32_t& to) const {
    if (i >= here.lists) return false;
    const std::int64_t start = bound(here.bounds, i);
    const std::int64_t stop = bound(here.bounds, i + 1);
    const auto begin = static_cast<std::uint64_t>(start - here.begin);
    const auto end = static_cast<std::uint64_t>(stop - here.begin);
    const bool is_here = begin <= end && end <= here.size;
    if ((here.flags & kClip) != 0) {
      const std::int64_t list = here.list + i;
      const Tile& tile = head_.tile[stage_];
      if (list < tile.first || list >= tile.last) return false;
      if (!is_here) report_if_bad(lists_, list, start, stop);
      if (!is_here || (end == 0 && (here.flags & kFirst) == 0)) return false;
    } else if (!is_here) {
      report_if_bad(lists_, here.list + i, start, stop);
      return false;
    }
    from = static_cast<std::uint32_t>(begin);
    to = static_cast<std::uint32_t>(end);
    return true;
  }

  __device__ __forceinline__ void consume() {
    int turn = warp_;
    for (;; next()) {
      head_.full[stage_].wait(parity_);
      const Tile& tile = head_.tile[stage_];
      if ((tile.flags & kNoMore) != 0) {
        if (threadIdx.x == 0) send({Role::no_more, false, 0, 0, 0}, Value{});
        return;
      }
      const char* const stage = stages_ + stage_ * kStageBytes;
      const char* const bounds = stage + tile.bounds_at;
      const In* const content = reinterpret_cast<const In*>(stage + tile.content_at);
      // In registers: results are written in between, for all the compiler knows over the tile.
      const Here here{bounds,     tile.list, tile.begin, static_cast<std::uint64_t>(tile.end - tile.begin),
                      tile.lists, tile.flags};
      const int lanes = tile.lanes;
      const int batches = static_cast<int>(((here.lists << lanes) + 31) / 32);
      int batch = turn;
      for (; batch < batches; batch += kConsumers) {
        const std::uint32_t i = static_cast<std::uint32_t>(batch * 32 + lane_) >> lanes;
        std::uint32_t from = 0;
        std::uint32_t to = 0;
        bool is_mine = place(here, i, from, to);
        if (lanes == 5) {
          const Acc acc = fold_warp(fold_range<32, 8>(content, from, to, lane_));
          if (is_mine && lane_ == 0) tiles_.write(here.list + i, acc, from, to - from);
          continue;
        }
        std::uint32_t length = to - from;
        std::uint32_t own = from;
        if (lanes > 0) {
          const std::uint32_t part = lane_ & ((1 << lanes) - 1);
          const std::uint32_t before = length * part >> lanes;
          length = (length * (part + 1) >> lanes) - before;
          own += before;
          is_mine = is_mine && part == 0;
        }
        Acc acc = fold_lists(content, own, length);
        for (int step = 1; step < 1 << lanes; step *= 2) acc = tiles_.merge(acc, shuffle_xor(acc, step));
        if (is_mine) tiles_.write(here.list + i, acc, from, to - from);
      }
      turn = batch - batches;  // goes on where this tile's turns ended
      if ((here.flags & (kClip | kShareBegin)) != 0) fold_across(tile, bounds, content);
      __syncwarp();
      if (lane_ == 0) head_.empty[stage_].arrive();
    }
  }

  // ---- Lists that lie in several tiles: a part per thread of all consumers.

  __device__ __forceinline__ Value part_of(const In* content, const Tile& tile, std::int64_t from,
                                           std::int64_t to) const {
    if (to <= from) return reducer_.none();
    return tiles_.widen(fold_range<kConsumerThreads, 8>(content, static_cast<std::uint32_t>(from - tile.begin),
                                                        static_cast<std::uint32_t>(to - tile.begin), threadIdx.x),
                        tile.begin);
  }
  __device__ __forceinline__ Value fold_values(Value value) const {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) value = reducer_.merge(value, shuffle_xor(value, step));
    return value;
  }
  /// The fold of all consumers' parts, in a fixed order, on the first warp. Of two rooms the first warp has read one before
  /// the other is full.
  __device__ __forceinline__ Value fold_parts() {
    const Value mine = fold_values(running_);
    Value* const room = reinterpret_cast<Value*>(head_.sums[flip_][0]);
    flip_ ^= 1;
    if (lane_ == 0) memcpy(reinterpret_cast<char*>(room) + warp_ * 16, &mine, sizeof mine);
    asm volatile("bar.sync 1,%0;" ::"n"(kConsumerThreads) : "memory");
    Value of_warp = reducer_.none();
    if (lane_ < kConsumers) memcpy(&of_warp, reinterpret_cast<const char*>(room) + lane_ * 16, sizeof of_warp);
    return fold_values(of_warp);
  }

  /// By one thread of the consumers.
  __device__ __forceinline__ void send(const Part& part, const Value& value) {
    const int slot = sent_ & 1;
    if (sent_ >= 2) head_.received[slot].wait(static_cast<std::uint32_t>((sent_ / 2 - 1) & 1));
    head_.mail[slot].part = part;
    memcpy(head_.mail[slot].value, &value, sizeof value);
    head_.sent[slot].arrive();
    ++sent_;
  }

  __device__ __forceinline__ void fold_across(const Tile& tile, const char* bounds, const In* content) {
    const std::uint32_t flags = tile.flags;
    if ((flags & kShareBegin) != 0) {
      is_running_ = (flags & kSplit) != 0;
      began_here_ = false;
      running_list_ = tile.first;
      running_ = reducer_.none();
    }
    // Where offsets descend, a list may go on in no tile.
    if (running_list_ < tile.list || running_list_ >= tile.list + tile.lists) is_running_ = false;
    if (is_running_) {
      const bool ends_in_share = running_list_ < tile.last;
      const std::int64_t stop =
          ends_in_share ? bound(bounds, static_cast<std::uint32_t>(running_list_ + 1 - tile.list)) : 0;
      const bool ends_here = ends_in_share && stop <= tile.end;
      running_ = reducer_.merge(running_, part_of(content, tile, tile.begin, ends_here ? stop : tile.end));
      if (ends_here) {
        const Value all = fold_parts();
        is_running_ = false;
        if (threadIdx.x == 0) {
          if (began_here_) {
            tiles_.write_wide(running_list_, all, bound(bounds, static_cast<std::uint32_t>(running_list_ - tile.list)));
          } else {
            send({Role::ends, false, tile.share, tile.first, tile.start}, all);
          }
        }
      }
    }
    if (!is_running_ && (flags & (kCut | kTrail)) != 0) begin_running(tile, bounds, content);
    if ((flags & kShareEnd) != 0 && is_running_) {
      const Value all = fold_parts();
      is_running_ = false;
      if (threadIdx.x == 0) send({Role::goes_on, began_here_, tile.share, tile.first, tile.start}, all);
    }
  }

  /// The last list that begins before the tile's end, where it goes on past it.
  __device__ __forceinline__ void begin_running(const Tile& tile, const char* bounds, const In* content) {
    std::int64_t found = -1;
    for (std::uint32_t i = (tile.lists - 1) & ~31U;; i -= 32) {
      const std::uint32_t one = i + lane_;
      const bool begins = one < tile.lists && tile.list + one >= tile.first && bound(bounds, one) < tile.end;
      const unsigned all = __ballot_sync(gpu::detail::kAllLanes, begins);
      if (all != 0) {
        found = i + 31 - __clz(static_cast<int>(all));
        break;
      }
      if (i == 0) break;
    }
    if (found < 0) return;
    const std::int64_t start = bound(bounds, static_cast<std::uint32_t>(found));
    const bool goes_on = (tile.flags & kTrail) != 0 || bound(bounds, static_cast<std::uint32_t>(found + 1)) > tile.end;
    if (!goes_on || start < tile.begin) return;
    is_running_ = true;
    began_here_ = true;
    running_list_ = tile.list + found;
    running_ = part_of(content, tile, start, tile.end);
  }

  // ----------------------------------------------------------------------------------------------- publish
  /// missing: less one per part that goes on, and plus the number of such parts by the share that the list ends in; who
  /// makes it zero folds them all.
  __device__ __forceinline__ void publish() {
    const Cuts cuts(lists_, kBytes, call_.result_bytes);
    const Parts& parts = call_.parts;
    const auto at = [](char* values, std::int64_t share) { return reinterpret_cast<Value*>(values + share * 16); };
    int slot = 0;
    std::uint32_t parity = 0;
    for (;;) {
      head_.sent[slot].wait(parity);
      const Part part = head_.mail[slot].part;
      Value value;
      memcpy(&value, head_.mail[slot].value, sizeof value);
      __syncwarp();
      if (lane_ == 0) head_.received[slot].arrive();
      parity ^= static_cast<std::uint32_t>(slot);
      slot ^= 1;
      if (part.role == Role::no_more) return;
      const std::int64_t first = part.begins_here ? part.share : cuts.first_share(part.list, part.start);
      const int change = part.role == Role::ends ? static_cast<int>(part.share - first) : -1;
      bool is_last = false;
      if (lane_ == 0) {
        if (part.role == Role::ends) {
          *at(parts.ends, part.share) = value;
          parts.end[2 * first] = part.share;
          parts.end[2 * first + 1] = part.list;
        } else {
          *at(parts.goes_on, part.share) = value;
        }
        __threadfence();  // the part before the count that says it is there
        is_last = atomicAdd(parts.missing + first, change) + change == 0;
        __threadfence();  // the count before the other parts
      }
      if (__shfl_sync(gpu::detail::kAllLanes, is_last ? 1 : 0, 0) == 0) continue;
      __syncwarp();  // what lane 0 has acquired is every lane's
      fold_shares(cuts, first);
    }
  }

  __device__ __forceinline__ void fold_shares(const Cuts& cuts, std::int64_t first) const {
    const Parts& parts = call_.parts;
    const std::int64_t last = __ldcg(reinterpret_cast<const long long*>(parts.end) + 2 * first);
    const std::int64_t list = __ldcg(reinterpret_cast<const long long*>(parts.end) + 2 * first + 1);
    // Where offsets descend, counts may come to zero by chance.
    if (last < first || last >= cuts.shares || list < 0 || list >= lists_.count) return;
    Value sum = reducer_.none();
    for (std::int64_t s = first + lane_; s < last; s += 32) {
      sum = reducer_.merge(sum, *reinterpret_cast<const Value*>(parts.goes_on + s * 16));
    }
    sum = reducer_.merge(fold_values(sum), *reinterpret_cast<const Value*>(parts.ends + last * 16));
    if (lane_ == 0) tiles_.write_wide(list, sum, lists_.bound(lists_.starts, list));
  }

  const ListsCall& call_;
  const GivenLists& lists_;
  const In* content_;
  const R& reducer_;
  InTile<R> tiles_;
  PipelineHead& head_;
  char* stages_;
  int warp_;
  int lane_;
  int stage_ = 0;
  std::uint32_t parity_ = 0;
  int loaded_ = 0;  ///< tiles
  // Of consumers: a list that lies in several tiles.
  Value running_{};
  std::int64_t running_list_ = 0;
  bool is_running_ = false;
  bool began_here_ = false;
  int flip_ = 0;
  int sent_ = 0;
};

// -------------------------------------------------------------------------------------------------------------- the calls

/// What it is compiled for.
template <class R>
inline constexpr bool kIsPiped = false;
template <class T>
inline constexpr bool kIsPiped<Folded<T, Add>> = true;
template <class T>
inline constexpr bool kIsPiped<Folded<T, Mul>> = true;
template <class T>
inline constexpr bool kIsPiped<Flipped<T, Max>> = true;
template <class T>
inline constexpr bool kIsPiped<Widened<T>> = true;
template <class T>
inline constexpr bool kIsPiped<Pick<T>> = true;
template <class T>
inline constexpr bool kIsPiped<Count<T>> = true;

/// For the widest bounds and results, so that one workspace serves all reductions of the same content.
inline std::int64_t shares_of(const detail::SegmentedCall& call) {
  return most_shares(call.n * call.in_size + call.lists.count * 16);
}
inline std::int64_t bytes_of_parts(std::int64_t shares) {
  return kPartsControl + (shares * 4 + 15) / 16 * 16 + shares * (16 + 16 + 16);
}
/// The control and `missing` come first: they are cleared.
inline Parts parts_at(void* scratch, std::int64_t shares) {
  char* const at = static_cast<char*>(scratch);
  char* const values = at + kPartsControl;
  Parts parts{};
  parts.ticket = reinterpret_cast<unsigned*>(at);
  parts.done = parts.ticket + 32;
  parts.missing = reinterpret_cast<int*>(values);
  parts.goes_on = values + (shares * 4 + 15) / 16 * 16;
  parts.ends = parts.goes_on + shares * 16;
  parts.end = reinterpret_cast<std::int64_t*>(parts.ends + shares * 16);
  return parts;
}

/// Compiled once per type that elements are kept as, in pipeline_kernels.cu.
template <class T>
Status pipeline_on(const detail::SegmentedCall& call) noexcept;

}  // namespace upsweep::segmented
#endif
