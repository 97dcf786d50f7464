// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/cuda_pipeline.cuh: a reduction of every list in one pass over memory on Hopper: shares, bulk copies, roles.
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

#include "problems/lists/segmented_reduce/cuda_lists.cuh"

#if UPSWEEP_HAS_CUDA
#include "upsweep/detail/tile_pipeline.cuh"
#include "upsweep/detail/tuning/segmented_reduce.hpp"

namespace upsweep::impl::segmented_reduce {

// ---------------------------------------------------------------------------------------------------------------- the shape

inline constexpr int kConsumers = gpu::tuning::kPipelineOrder.consumers;  ///< warps
inline constexpr int kSearch = kConsumers;
inline constexpr int kLoader = kConsumers + 1;
inline constexpr int kPublisher = kConsumers + 2;
inline constexpr int kPipelineThreads = (kConsumers + 3) * 32;
inline constexpr int kConsumerThreads = kConsumers * 32;
inline constexpr int kBlocks = gpu::tuning::kPipeline.blocks;  ///< per multiprocessor
inline constexpr int kStages = gpu::tuning::kPipeline.stages;
inline constexpr int kStageBytes = gpu::tuning::kPipelineOrder.stage_bytes;
inline constexpr int kHeadBytes = gpu::tuning::kPipeline.head_bytes;
inline constexpr int kPipelineShared = kHeadBytes + kStages * kStageBytes;
/// A share is a thousandth of the work or so, a power of two of bytes between these; in the last eighth a quarter of it, so
/// that blocks end together.
inline constexpr int kMostShareBits = gpu::tuning::kPipelineOrder.most_share_bits;
inline constexpr int kLeastShareBits = gpu::tuning::kPipelineOrder.least_share_bits;
/// Lists of up to so many bytes are not cut by a border between shares.
inline constexpr std::int64_t kSnapBytes = gpu::tuning::kPipelineOrder.snap_bytes;
/// Tiles begin at multiples of a power of two of lists, a unit: at most so many, less where these do not fit a quarter of a
/// stage, and twice as many where they are tiny.
inline constexpr int kMostUnit = gpu::tuning::kPipelineOrder.most_unit;
inline constexpr std::int64_t kTinyBytes = gpu::tuning::kPipelineOrder.tiny_bytes;
/// Of the least lists, of bounds of four bytes and results of one, in the largest share.
inline constexpr int kMostUnits = 224;
static_assert(((1 << kMostShareBits) + kSnapBytes) / (2 * kMostUnit * 5) + 2 <= kMostUnits);
static_assert(((1 << kMostShareBits) + kSnapBytes) / (kMostUnit * (kTinyBytes + 2)) + 2 <= kMostUnits);
/// A bulk copy is a tenth faster where source and destination are the same place of a line.
inline constexpr std::uint32_t kLineBytes = 128;
/// What alignment may add to a tile's offsets and content.
inline constexpr std::int64_t kStageSlack = 2 * kLineBytes + 64;
static_assert(kHeadBytes % kLineBytes == 0 && kStageBytes % kLineBytes == 0);

/// The most shares of up to so many bytes of work.
constexpr std::int64_t most_shares(std::int64_t bytes) { return 4096 + (bytes >> kMostShareBits) * 11 / 8; }

/// What blocks share besides the parts; zero when a call begins, and when it has ended.
struct Control {
  unsigned ticket;
  alignas(128) unsigned done;
  alignas(128) unsigned long long bad;  ///< the complement of the first bad list
};

/// A list that lies in several shares: a part per share.
struct Parts {
  int* missing;       ///< by the share that the list begins in: parts yet to come; zero between calls
  std::int64_t* end;  ///< by the same, two each: the share that it ends in, and the list
  char* goes_on;      ///< by the part's share, 16 bytes each: of a list that goes on in the next share
  char* ends;         ///< by the share: of the list that ends there
};

/// One call.
struct ListsCall {
  GivenLists lists;
  Control* control;
  Parts parts;
  std::int64_t shares;  ///< at most
  int result_bytes;
};

// ------------------------------------------------------------------------------------------------------- folds within a tile
// As reducers, but positions are those in the tile, in 32 bits.

template <class T, class Op>
__device__ T absent_of(const Folded<T, Op>& reducer) {
  return reducer.none();
}
template <class T, class Op>
__device__ T absent_of(const Flipped<T, Op>& reducer) {
  return static_cast<T>(reducer.none() ^ reducer.flip);
}
template <class T>
__device__ T absent_of(const Widened<T>&) {
  return 0;
}

template <class R>
struct InTile {
  using In = typename R::In;
  using Acc = typename R::Value;
  static constexpr bool kByWords = false;
  static constexpr bool kByGroups = false;
  static constexpr bool kMergesWarps = false;
  const R& reducer;

  /// The fold of no elements of a list, or part of one, that starts at `start` of the tile.
  __device__ Acc none(std::uint32_t) const { return reducer.none(); }
  /// An element that changes nothing.
  __device__ In absent() const { return absent_of(reducer); }
  __device__ void add(Acc& acc, In x, std::uint32_t) const { acc = reducer.merge(acc, reducer.of(x, 0)); }
  __device__ Acc merge(const Acc& a, const Acc& b) const { return reducer.merge(a, b); }
  /// A fold of elements from `start` on of a tile, whose content begins at element `base`, as one of the content.
  __device__ typename R::Value widen(const Acc& acc, const In*, std::uint32_t, std::int64_t) const { return acc; }
  /// The result of a list of so many elements that starts at `start` of the tile; of a long one that starts there in the
  /// content.
  __device__ void write(std::int64_t list, const Acc& acc, const In*, std::uint32_t, std::uint32_t length) const {
    write_result(reducer, list, acc, [&] { return length == 0; });
  }
  __device__ void write_wide(std::int64_t list, const typename R::Value& value, std::int64_t) const {
    reducer.write(list, value);
  }
};

/// A value, and the first of the elements of the tile, of four, that it is the first greatest of. Positions are before the
/// tile's begin where four elements begin there.
template <class T>
struct PickedInTile {
  T value;
  std::int32_t position;
};

/// Four elements that follow each other are compared with the greatest so far at once. Which of them it was is found when all
/// are folded. Values are kept as keys, in which equal elements have equal bits.
template <class T>
struct InTile<Pick<T>> {
  using In = T;
  using Acc = PickedInTile<T>;
  static constexpr bool kByWords = false;
  static constexpr bool kByGroups = true;
  static constexpr bool kMergesWarps = sizeof(T) <= 4;
  const Pick<T>& reducer;

  /// Where nothing is greater than the least element of all, the list's first one is picked.
  __device__ Acc none(std::uint32_t start) const { return {Pick<T>::kLowest, static_cast<std::int32_t>(start)}; }
  __device__ In absent() const { return reducer.least; }

  /// Of floats the sum with zero turns -0 into 0, and every NaN into one (two of doubles may differ); other than an operation
  /// on bits, it does not take turns with the comparisons.
  __device__ T key(T x) const {
    if constexpr (std::is_same_v<T, float>) {
      return __fmaf_rn(x, reducer.sign, 0);
    } else if constexpr (std::is_same_v<T, double>) {
      return __fma_rn(x, reducer.sign, 0);
    } else {
      return Pick<T>::flipped(x, reducer.flip);
    }
  }
  __device__ static bool is_greater(T b, T a) {
    if constexpr (std::is_same_v<T, float>) {
      return __float_as_uint(greater_of(a, b)) != __float_as_uint(a);
    } else if constexpr (std::is_same_v<T, double>) {
      return !(b <= a) && a == a;
    } else {
      return b > a;
    }
  }
  __device__ static T greater_of(T a, T b) {
    if constexpr (std::is_same_v<T, float>) {
      asm("max.NaN.f32 %0,%0,%1;" : "+f"(a) : "f"(b));
      return a;
    } else {
      return is_greater(b, a) ? b : a;
    }
  }
  __device__ static bool is_same(T a, T b) {
    if constexpr (std::is_same_v<T, float>) {
      return __float_as_uint(a) == __float_as_uint(b);
    } else if constexpr (std::is_same_v<T, double>) {
      return a == b || (a != a && b != b);
    } else {
      return a == b;
    }
  }

  __device__ void add(Acc& acc, In x, std::uint32_t position) const {
    acc = merge(acc, {key(x), static_cast<std::int32_t>(position)});
  }
  /// Up to four elements from `position` on.
  template <int kElements>
  __device__ void add_group(Acc& acc, const In* x, std::int32_t position) const {
    acc = merge(acc, {greatest<kElements>(x), position});
  }
  /// The same of elements that follow all that were added before.
  template <int kElements>
  __device__ void add_next_group(Acc& acc, const In* x, std::int32_t position) const {
    const T value = greatest<kElements>(x);
    if (is_greater(value, acc.value)) acc.position = position;
    acc.value = greater_of(acc.value, value);
  }
  template <int kElements>
  __device__ T greatest(const In* x) const {
    T value = key(x[0]);
#pragma unroll
    for (int u = 1; u < kElements; ++u) value = greater_of(value, key(x[u]));
    return value;
  }
  __device__ Acc merge(const Acc& a, const Acc& b) const {
    const bool is_first = b.position < a.position;
    const bool is_b = is_greater(b.value, a.value) || (is_same(a.value, b.value) && is_first);
    return {greater_of(a.value, b.value), is_b ? b.position : a.position};
  }
  /// The folds of all lanes, on all of them.
  __device__ Acc merge_warp(const Acc& acc) const {
    const int value = ordered(acc.value);
    const int greatest = __reduce_max_sync(gpu::detail::kAllLanes, value);
    const int position = value == greatest ? acc.position : kMost;
    return {value_of(greatest), __reduce_min_sync(gpu::detail::kAllLanes, position)};
  }
  /// A key of up to 32 bits as an integer of the same order, and back.
  __device__ static int ordered(T key) {
    if constexpr (std::is_same_v<T, float>) {
      const int bits = __float_as_int(key);
      return bits ^ (bits >> 31 & kMost);
    } else {
      return static_cast<int>(key ^ kTop);
    }
  }
  __device__ static T value_of(int ordered_key) {
    if constexpr (std::is_same_v<T, float>) {
      return __int_as_float(ordered_key ^ (ordered_key >> 31 & kMost));
    } else {
      return static_cast<T>(static_cast<std::uint32_t>(ordered_key) ^ kTop);
    }
  }
  static constexpr int kMost = std::numeric_limits<int>::max();
  static constexpr std::uint32_t kTop = std::uint32_t{1} << 31;

  /// The picked element, of those from `start` on. What is read past the list's end lies in the stage, and is of no consequence.
  __device__ std::uint32_t place_of(const Acc& acc, const In* content, std::uint32_t start) const {
    const auto begin = static_cast<std::int32_t>(start);
    const auto first = static_cast<std::uint32_t>(acc.position > begin ? acc.position : begin);
    std::uint32_t place = first + 3;
#pragma unroll
    for (std::uint32_t u = 3; u-- > 0;) {
      if (is_same(key(content[first + u]), acc.value)) place = first + u;
    }
    return place;
  }
  __device__ Picked<T> widen(const Acc& acc, const In* content, std::uint32_t start, std::int64_t base) const {
    const std::uint32_t place = place_of(acc, content, start);
    const T x = content[place];
    // Of none the place is that of another element, and the value must not be.
    return {is_same(key(x), acc.value) ? Pick<T>::flipped(x, reducer.flip) : acc.value, base + place};
  }
  __device__ void write(std::int64_t list, const Acc& acc, const In* content, std::uint32_t start,
                        std::uint32_t length) const {
    Picked<T> picked = reducer.none();
    if (length > 0) {
      const std::uint32_t place = place_of(acc, content, start);
      picked = {Pick<T>::flipped(content[place], reducer.flip), place - start};
    }
    reducer.write(list, picked);
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
  static constexpr bool kByGroups = false;
  static constexpr bool kMergesWarps = false;
  const Count<T>& reducer;

  __device__ Acc none(std::uint32_t) const { return 0; }
  __device__ In absent() const { return reducer.counted == Counted::not_zeros ? 0 : 1; }
  __device__ void add(Acc& acc, In x, std::uint32_t) const {
    acc += (x != T{0}) == (reducer.counted == Counted::not_zeros) ? 1 : 0;
  }
  __device__ Acc merge(Acc a, Acc b) const { return a + b; }
  __device__ std::int64_t widen(Acc acc, const In*, std::uint32_t, std::int64_t) const { return acc; }
  __device__ void write(std::int64_t list, Acc acc, const In*, std::uint32_t, std::uint32_t) const {
    reducer.write(list, acc);
  }
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
  int large_bits;
  int small_bits;
  std::int64_t large;  ///< shares
  std::int64_t shares;

  __device__ Cuts(const GivenLists& given, int element, int result)
      : lists(given),
        element_bytes(element),
        list_bytes((given.kind == BoundKind::int64 ? 8 : 4) + result),
        first(given.bound(given.starts, 0)),
        last(given.end_of(given.count - 1, given.begin, given.bound(given.starts, given.count))),
        work((last - first) * element_bytes + given.count * list_bytes),
        large_bits(bits_of(work)),
        small_bits(clamp(large_bits - 2)),
        large(work / 8 * 7 >> large_bits),
        shares(large + ((work - (large << large_bits) + (1LL << small_bits) - 1) >> small_bits)) {}

  __device__ static int bits_of(std::int64_t work) { return clamp(53 - __clzll(work)); }
  __device__ static int clamp(int bits) {
    return bits < kLeastShareBits ? kLeastShareBits : bits > kMostShareBits ? kMostShareBits : bits;
  }

  /// Whether the first and the last offset alone say that some list is bad.
  __device__ bool are_bad() const {
    return last < first || (last > first && (first < lists.begin || last > lists.end));
  }

  /// An offset, not before the first nor after the last.
  __device__ __forceinline__ std::int64_t offset(std::int64_t i) const {
    const std::int64_t value = lists.bound(lists.starts, i);
    return value < first ? first : value > last ? last : value;
  }
  /// The work before a share.
  __device__ std::int64_t before(std::int64_t share) const {
    const std::int64_t all =
        share <= large ? share << large_bits : (large << large_bits) + ((share - large) << small_bits);
    return all < work ? all : work;
  }
  __device__ std::int64_t share_of(std::int64_t position) const {
    const std::int64_t in_large = large << large_bits;
    return position < in_large ? position >> large_bits : large + ((position - in_large) >> small_bits);
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
  // First around where the list were if all were as long: 8^7 … 8, 1 lists before, 1, 8 … 8^7 after.
  {
    const auto guess = static_cast<std::int64_t>(static_cast<double>(wanted) / static_cast<double>(cuts.work) *
                                                 static_cast<double>(cuts.lists.count));
    const auto place_of = [&](int p) {
      return p < 8 ? guess - (std::int64_t{1} << (3 * (7 - p))) : guess + (std::int64_t{1} << (3 * (p - 8)));
    };
    const std::int64_t i = place_of(probe);
    const bool is_before = i <= low || (i < high && cuts.position(i, cuts.offset(i)) <= wanted);
    const int before = __popc((__ballot_sync(gpu::detail::kAllLanes, is_before) >> (16 * half)) & 0xffffU);
    if (before > 0 && place_of(before - 1) > low) low = place_of(before - 1);
    if (before < 16 && place_of(before) < high) high = place_of(before);
  }
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
      // At a line of the content, but not before the list's first element where the share begins with it.
      const std::int64_t in_line = kLineBytes / cuts.element_bytes - 1;
      const std::int64_t element = within > 0 ? (border.start + within + in_line) & ~in_line : border.start;
      if (element >= next) {
        border = {low + 1, next, next};
      } else {
        border.element = element;
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
  std::int64_t list;         ///< the first one with offsets here
  std::int64_t begin;        ///< content
  std::uint32_t size;        ///< elements
  std::uint32_t lists;       ///< with offsets here
  std::uint32_t bounds_at;   ///< bytes from the stage's begin to the first offset
  std::uint32_t content_at;  ///< to element `begin`
  std::uint32_t flags;
  int lanes;  ///< of a list: log2
  // Of the share; only of tiles that are clipped, or begin one.
  std::int64_t first;  ///< lists first … last - 1 end in the share
  std::int64_t last;
  std::int64_t start;  ///< of list `first`
  std::int64_t share;

  __device__ std::int64_t end() const { return begin + size; }
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

/// A share as the search leaves it for the loader.
struct Share {
  Border begin;
  Border end;
  std::int64_t number;  ///< -1: there is none left
  std::int64_t lists_end;
  std::int64_t base;                   ///< the list that the first unit begins with: at or before begin.list
  int unit;                            ///< lists
  int units;                           ///< 0: nothing to fold; less: offsets descend, lists are only checked
  std::uint32_t elements[kMostUnits];  ///< from the share's begin to each unit's end
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
  Share share[2];
  alignas(16) char sums[2][kConsumers][16];
};
static_assert(sizeof(PipelineHead) <= kHeadBytes);

__device__ inline void report_bad(const ListsCall& call, std::int64_t list) {
  atomicMax(&call.control->bad, ~static_cast<unsigned long long>(list));
}
__device__ inline void report_if_bad(const ListsCall& call, std::int64_t list, std::int64_t start, std::int64_t stop) {
  if (call.lists.check(list, start, stop) != Code::ok) report_bad(call, list);
}
/// Lists from, from + step, …: nothing but their bounds.
__device__ inline void check_lists(const ListsCall& call, std::int64_t from, std::int64_t to, std::int64_t step) {
  for (std::int64_t i = from; i < to; i += step) {
    report_if_bad(call, i, call.lists.bound(call.lists.starts, i), call.lists.bound(call.lists.stops, i));
  }
}

/// A bulk copy to come.
struct Copy {
  char* to;
  const char* from;
  std::uint32_t bytes;
  std::uint32_t shift;  ///< where the first byte goes, in the stage
  std::uint32_t end;    ///< where the last unit of 16 ends
};
/// Of so many bytes and those around them to whole units of 16, if any, to the same place of a line at or after stage + from.
__device__ __forceinline__ Copy whole_units(char* stage, std::uint32_t from, const char* first, std::uint32_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(first);
  const auto past = static_cast<std::uint32_t>(address % 16);
  const std::uint32_t at = from + ((static_cast<std::uint32_t>(address) - past - from) & (kLineBytes - 1));
  const std::uint32_t units = bytes > 0 ? (past + bytes + 15) / 16 * 16 : 0;
  return {stage + at, first - past, units, at + past, at + units};
}
/// The same for few shares of all: the bytes of a unit that would reach out of the array, at its two ends, are copied here,
/// one by one by a warp. Not inline: its registers would be everybody's.
__device__ __noinline__ static Copy copy_ends(char* stage, std::uint32_t from, const char* first, const char* last,
                                              const char* array, const char* array_end) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (first == last) return {stage, first, 0, from, from};
  const auto past = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(first) % 16);
  const auto past_last = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(last) % 16);
  char* const place = stage + from + past;
  const char* begin = first - past;
  const char* end = last + (16 - past_last) % 16;
  const std::uint32_t room_end = from + static_cast<std::uint32_t>(end - begin);
  if (begin < array) begin += 16;
  if (end > array_end) end -= 16;
  const char* const head_end = begin < last ? begin : last;
  const char* const tail_begin = end > head_end ? end : head_end;
  const char* const byte = lane < 16 ? first + lane : tail_begin + (lane - 16);
  if (byte < (lane < 16 ? head_end : last)) {
    place[byte - first] = *byte;
    gpu::detail::fence_before_bulk();  // a later bulk copy may write there
  }
  const std::uint32_t bytes = end > begin ? static_cast<std::uint32_t>(end - begin) : 0;
  return {place + (begin - first), begin, bytes, from + past, room_end};
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
      check_lists(call_, std::int64_t{blockIdx.x} * kPipelineThreads + threadIdx.x, lists_.count,
                  std::int64_t{gridDim.x} * kPipelineThreads);
    } else {
      begin();
      if (warp_ < kConsumers) {
        lists_.kind == BoundKind::int64 ? consume<std::uint64_t>() : consume<std::uint32_t>();
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

  /// The last block to end says how the call ended, and clears what the next call counts in.
  __device__ __forceinline__ void end() {
    __syncthreads();
    if (threadIdx.x != 0) return;
    Control& control = *call_.control;
    __threadfence();  // this block's reports before the count
    if (atomicAdd(&control.done, 1U) != gridDim.x - 1) return;
    __threadfence();  // the count before the other blocks' reports
    const unsigned long long bad = atomicExch(&control.bad, 0ULL);
    control.ticket = 0;
    control.done = 0;
    gpu::ListsStatus status{kNoIndex, Code::ok};
    if (bad != 0) {
      status.first_bad = static_cast<std::int64_t>(~bad);
      (void)lists_.extent(status.first_bad, status.code);
      // Parts of lists that were not folded to the end.
      for (std::int64_t s = 0; s < call_.shares; ++s) call_.parts.missing[s] = 0;
    }
    *lists_.status = status;
  }

  // ------------------------------------------------------------------------------------------------ search
  __device__ __forceinline__ void search() {
    const Cuts cuts(lists_, kBytes, call_.result_bytes);
    int slot = 0;
    std::uint32_t parity = 0;
    std::int64_t number = blockIdx.x;
    for (int k = 0;; ++k) {
      if (k >= 2) head_.taken[slot].wait(parity ^ 1);
      Share& share = head_.share[slot];
      if (number < cuts.shares) {
        find_share(cuts, number, share);
      } else if (lane_ == 0) {
        share.number = -1;
      }
      __syncwarp();
      if (lane_ == 0) head_.found[slot].arrive();
      if (number >= cuts.shares) return;
      if (lane_ == 0) number = gridDim.x + std::int64_t{atomicAdd(&call_.control->ticket, 1U)};
      number = of_lane(number, 0);
      slot ^= 1;
      if (slot == 0) parity ^= 1;
    }
  }

  __device__ __forceinline__ void find_share(const Cuts& cuts, std::int64_t number, Share& share) const {
    Border begin{};
    Border end{};
    find_borders(cuts, cuts.before(number), cuts.before(number + 1), lane_, begin, end);
    const std::int64_t lists_end = end.list + (end.element > end.start ? 1 : 0);
    const std::int64_t lists = lists_end - begin.list;
    int unit = kMostUnit;
    int units = 0;
    std::int64_t base = begin.list;
    // Where offsets descend, borders may: these lists are in other shares, too.
    if (end.list > begin.list || (end.list == begin.list && end.element > begin.element)) {
      const std::int64_t each =
          (end.element - begin.element) * kBytes / lists + (lists_.kind == BoundKind::int64 ? 8 : 4);
      if (each <= kTinyBytes) unit *= 2;
      while (unit > 1 && each * unit > kStageBytes / 4) unit /= 2;
      base = begin.list & ~std::int64_t{unit - 1};
      const std::int64_t needed = (lists_end - base + unit - 1) / unit;
      units = needed <= kMostUnits ? static_cast<int>(needed) : -1;
      bool ascends = end.element >= begin.element;
      std::int64_t before = begin.element;
#pragma unroll 2
      for (int u = 0; u < units; u += 32) {
        const std::int64_t list = base + std::int64_t{u + lane_ + 1} * unit;
        const std::int64_t border = list >= lists_end ? end.element : cuts.offset(list);
        const std::int64_t left = __shfl_up_sync(gpu::detail::kAllLanes, static_cast<long long>(border), 1);
        ascends = ascends && border >= (lane_ == 0 ? before : left) && border <= end.element;
        before = of_lane(border, 31);
        share.elements[u + lane_] = static_cast<std::uint32_t>(border - begin.element);
      }
      if (!__all_sync(gpu::detail::kAllLanes, ascends)) units = -1;
    }
    if (lane_ != 0) return;
    share.begin = begin;
    share.end = end;
    share.number = number;
    share.lists_end = lists_end;
    share.base = base;
    share.unit = unit;
    share.units = units;
  }

  // -------------------------------------------------------------------------------------------------- load
  __device__ __forceinline__ void load() {
    int slot = 0;
    std::uint32_t parity = 0;
    for (;;) {
      head_.found[slot].wait(parity);
      const Share& share = head_.share[slot];
      if (share.number < 0) break;
      if (share.units < 0) {
        check_lists(call_, share.begin.list + lane_, share.end.list, 32);
      } else {
        load_share(share);
      }
      __syncwarp();
      if (lane_ == 0) head_.taken[slot].arrive();
      slot ^= 1;
      if (slot == 0) parity ^= 1;
    }
    if (loaded_ >= kStages) head_.empty[stage_].wait(parity_ ^ 1);
    if (lane_ == 0) {
      head_.tile[stage_].flags = kNoMore;
      head_.full[stage_].arrive();
    }
    __syncwarp();
  }

  /// Cuts a share into tiles. Elements are counted from the share's begin.
  __device__ __forceinline__ void load_share(const Share& share) {
    const int bound_shift = lists_.kind == BoundKind::int64 ? 3 : 2;
    const int unit = share.unit;
    const int units = share.units;
    const std::int64_t base = share.base;
    const auto lists = static_cast<int>(share.lists_end - base);
    const bool split = share.begin.element > share.begin.start;
    // Whether copies may reach past what is copied, to whole units of 16 bytes.
    const bool are_inner_bounds = base >= 16 && share.lists_end + 16 <= lists_.count;
    const bool is_inner_content = share.begin.element >= lists_.begin + 16 && share.end.element + 16 <= lists_.end;
    std::uint32_t flags_of_begin = kShareBegin | (split ? kSplit | kClip : 0) | (base != share.begin.list ? kClip : 0);
    bool is_first = !split;
    const auto first = static_cast<std::uint32_t>(share.begin.element);
    std::uint32_t x = 0;
    for (int row = 0; row < units; row += 32) {
      const std::uint32_t y = row + lane_ < units ? share.elements[row + lane_] : ~0U >> 4;
      int u = 0;
      while (u < 32 && row + u < units) {
        const std::uint32_t bytes =
            (y - x) * kBytes + (static_cast<std::uint32_t>((lane_ + 1 - u) * unit) << bound_shift);
        const int fit = __popc(__ballot_sync(gpu::detail::kAllLanes, lane_ >= u && bytes <= kStageBytes - kStageSlack));
        const int u_end = u + (fit > 0 ? fit : 1);
        const std::uint32_t x_end =
            fit > 0 ? __shfl_sync(gpu::detail::kAllLanes, y, u_end - 1)
                    : to_line(first, x + (kStageBytes - kStageSlack - (unit << bound_shift)) / kBytes);
        const int list = (row + u) * unit;
        const bool is_last = row + u_end == units;
        std::uint32_t flags = flags_of_begin | (is_first ? kFirst : kClip);
        if (fit == 0) flags |= kCut | kClip;
        if (fit > 0 && is_last) {
          flags |= kShareEnd | kClip | (share.end.element > share.end.start ? kTrail : 0);
        }
        const auto lists_here = static_cast<std::uint32_t>((is_last ? lists : (row + u_end) * unit) - list);
        const Piece piece{base + list, share.begin.element + x, lists_here, x_end - x, flags};
        load_tile(piece, share, bound_shift, are_inner_bounds, is_inner_content);
        x = x_end;
        flags_of_begin = 0;
        is_first = fit > 0;
        if (fit > 0) u = u_end;
      }
    }
  }

  /// The last element up to x of those from `first` on that begins a line of the content.
  __device__ static __forceinline__ std::uint32_t to_line(std::uint32_t first, std::uint32_t x) {
    return x - ((first + x) & (kLineBytes / kBytes - 1));
  }

  /// Lists and elements of a tile.
  struct Piece {
    std::int64_t list;
    std::int64_t begin;
    std::uint32_t lists;
    std::uint32_t size;
    std::uint32_t flags;
  };

  __device__ __forceinline__ void load_tile(const Piece& piece, const Share& share, int bound_shift,
                                            bool are_inner_bounds, bool is_inner_content) {
    const char* const first_bound = static_cast<const char*>(lists_.starts) + (piece.list << bound_shift);
    const char* const first_element = reinterpret_cast<const char*>(content_ + piece.begin);
    const std::uint32_t bound_bytes = (piece.lists + 1) << bound_shift;
    char* const stage = stages_ + stage_ * kStageBytes;
    if (loaded_ >= kStages) head_.empty[stage_].wait(parity_ ^ 1);
    const char* const starts = static_cast<const char*>(lists_.starts);
    const Copy bounds = are_inner_bounds ? whole_units(stage, 0, first_bound, bound_bytes)
                                         : copy_ends(stage, 0, first_bound, first_bound + bound_bytes, starts,
                                                     starts + ((lists_.count + 1) << bound_shift));
    const std::uint32_t content_bytes = piece.size * kBytes;
    const Copy content = is_inner_content ? whole_units(stage, bounds.end, first_element, content_bytes)
                                          : copy_ends(stage, bounds.end, first_element, first_element + content_bytes,
                                                      reinterpret_cast<const char*>(content_ + lists_.begin),
                                                      reinterpret_cast<const char*>(content_ + lists_.end));
    __syncwarp();  // the bytes at the ends before the arrival below
    if (lane_ == 0) {
      Tile& tile = head_.tile[stage_];
      tile.list = piece.list;
      tile.begin = piece.begin;
      tile.size = piece.size;
      tile.lists = piece.lists;
      tile.bounds_at = bounds.shift;
      tile.content_at = content.shift;
      tile.flags = piece.flags;
      tile.lanes = lanes_for(piece.lists, piece.size);
      if ((piece.flags & (kClip | kShareBegin)) != 0) {
        tile.first = share.begin.list;
        tile.last = share.end.list;
        tile.start = share.begin.start;
        tile.share = share.number;
      }
      head_.full[stage_].arrive_expecting(bounds.bytes + content.bytes);
      if (bounds.bytes > 0) gpu::detail::bulk_load(bounds.to, bounds.from, bounds.bytes, head_.full[stage_]);
      if (content.bytes > 0) gpu::detail::bulk_load(content.to, content.from, content.bytes, head_.full[stage_]);
    }
    __syncwarp();
    next();
    ++loaded_;
  }

  /// log2 of the lanes of a list, of so many in the tile: all lanes have something to do.
  __device__ static __forceinline__ int lanes_for(std::uint32_t lists, std::uint32_t elements) {
    if (InTile<R>::kByWords && elements >= lists * 128) return 5;
    const int lanes = 31 - __clz(kConsumerThreads) - (32 - __clz(static_cast<int>(lists - 1)));
    return lanes < 0 ? 0 : lanes < 5 ? lanes : 5;
  }

  // ----------------------------------------------------------------------------------------------- consume
  /// The elements [from, to) of the tile, those of one of `threads` threads.
  template <int kLoads>
  __device__ __forceinline__ Acc fold_spread(const In* content, std::uint32_t from, std::uint32_t to, std::uint32_t me,
                                             std::uint32_t threads) const {
    Acc acc = tiles_.none(from);
    if constexpr (InTile<R>::kByWords) {
      if (from < to) fold_words<kLoads>(content, from, to, me, threads, acc);
    } else if constexpr (InTile<R>::kByGroups) {
      fold_groups_of(content, from, to, me, threads, acc);
    } else {
      for (std::uint32_t j = from + me; j < to; j += kLoads * threads) {
        In x[kLoads];
#pragma unroll
        for (int u = 0; u < kLoads; ++u) {
          x[u] = tiles_.absent();
          if (j + u * threads < to) x[u] = content[j + u * threads];
        }
#pragma unroll
        for (int u = 0; u < kLoads; ++u) tiles_.add(acc, x[u], j + u * threads);
      }
    }
    return acc;
  }

  static constexpr std::uint32_t kVector = 16 / kBytes;
  struct alignas(16) Vector {
    In element[kVector];
  };
  /// Elements that are added at once.
  static constexpr std::uint32_t kGroup = kVector < 4 ? kVector : 4;

  /// The same by vectors where they are in memory; of the first and the last some elements may be outside.
  __device__ __forceinline__ void fold_groups_of(const In* content, std::uint32_t from, std::uint32_t to,
                                                 std::uint32_t me, std::uint32_t threads, Acc& acc) const {
    const std::uint32_t length = to - from;
    const std::uint32_t before = gpu::detail::shared_address(content + from) % 16 / kBytes;
    const std::uint32_t vectors = (before + length + kVector - 1) / kVector;
    const std::uint32_t inside = length >= kVector ? length - kVector + 1 : 0;
    const auto* const at = reinterpret_cast<const Vector*>(content + from - before);
#pragma unroll 1  // registers are scarce
    for (std::uint32_t v = me; v < vectors; v += threads) {
      Vector x = at[v];
      const std::uint32_t first = v * kVector - before;  // from `from` on
      if (first >= inside) {
#pragma unroll
        for (std::uint32_t e = 0; e < kVector; ++e) {
          if (first + e >= length) x.element[e] = tiles_.absent();
        }
      }
#pragma unroll
      for (std::uint32_t e = 0; e < kVector; e += kGroup) {
        tiles_.template add_next_group<kGroup>(acc, x.element + e, static_cast<std::int32_t>(from + first + e));
      }
    }
  }

  /// The same of bytes that are counted, four at a time; those outside are zero.
  template <int kLoads>
  __device__ __forceinline__ void fold_words(const In* content, std::uint32_t from, std::uint32_t to, std::uint32_t me,
                                             std::uint32_t threads, Acc& acc) const {
    const std::uint32_t before = gpu::detail::shared_address(content + from) & 3U;
    const std::uint32_t words = (before + (to - from) + 3) / 4;
    const auto* const at = reinterpret_cast<const std::uint32_t*>(content + from - before);
    for (std::uint32_t j = me; j < words; j += threads * kLoads) {
      std::uint32_t x[kLoads];
#pragma unroll
      for (int u = 0; u < kLoads; ++u) {
        const std::uint32_t i = j + u * threads;
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

  /// Four elements of each lane from `first` on, as far as there are `left`.
  __device__ __forceinline__ void add_four(Acc& acc, const In* first, int left, std::uint32_t position) const {
    In x[4];
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      x[u] = tiles_.absent();
      if (u < left) x[u] = first[u];
    }
    if constexpr (InTile<R>::kByGroups) {
      tiles_.template add_next_group<4>(acc, x, static_cast<std::int32_t>(position));
    } else {
#pragma unroll
      for (int u = 0; u < 4; ++u) tiles_.add(acc, x[u], position + u);
    }
  }
  /// The elements [from, from + length) of each lane, one after the other.
  __device__ __forceinline__ Acc fold_lane(const In* content, std::uint32_t from, std::uint32_t length,
                                           std::uint32_t longest) const {
    const auto left = static_cast<int>(length);
    Acc acc = tiles_.none(from);
    add_four(acc, content + from, left, from);
    if (longest <= 4) return acc;
    add_four(acc, content + from + 4, left - 4, from + 4);
#pragma unroll 1
    for (std::uint32_t j = 8; j < longest; j += 4) {
      add_four(acc, content + from + j, left - static_cast<int>(j), from + j);
    }
    return acc;
  }

  /// The greatest power of two that is no greater than x, of zero 1.
  __device__ static __forceinline__ std::uint32_t floor_power(std::uint32_t x) {
    return 1U << (31 - __clz(static_cast<int>(x | 1U)));
  }

  /// `length` elements of each lane, a multiple of a vector: each lane begins where its banks differ from its neighbours'.
  /// Results do not depend on where vectors begin in memory; those that are added by groups must be aligned.
  __device__ __forceinline__ Acc fold_vectors(const In* content, std::uint32_t from, std::uint32_t length,
                                              bool are_aligned) const {
    const std::uint32_t vectors = length / kVector;
    const std::uint32_t at = from / kVector;
    // Eight lanes load at once. Lists of eight vectors or more begin at the lane's own place in a row of banks, shorter ones
    // one further in each row.
    std::uint32_t k = vectors >= 8 ? (lane_ - at) & 7 : at / 8 & (floor_power(vectors) - 1);
    Acc acc = tiles_.none(from);
#pragma unroll 4
    for (std::uint32_t j = 0; j < vectors; ++j) {
      const std::uint32_t position = from + k * kVector;
      Vector vector;
      if (InTile<R>::kByGroups || are_aligned) {
        vector = *reinterpret_cast<const Vector*>(content + position);
      } else {
#pragma unroll
        for (std::uint32_t e = 0; e < kVector; ++e) vector.element[e] = content[position + e];
      }
      if constexpr (InTile<R>::kByGroups) {
#pragma unroll
        for (std::uint32_t e = 0; e < kVector; e += kGroup) {
          tiles_.template add_group<kGroup>(acc, vector.element + e, static_cast<std::int32_t>(position + e));
        }
      } else {
#pragma unroll
        for (std::uint32_t e = 0; e < kVector; ++e) tiles_.add(acc, vector.element[e], position + e);
      }
      if (++k == vectors) k = 0;
    }
    return acc;
  }

  /// Elements [from, from + length) of each lane, from `rotation` on and around.
  __device__ __forceinline__ Acc fold_around(const In* content, std::uint32_t from, std::uint32_t length,
                                             std::uint32_t longest, std::uint32_t rotation) const {
    Acc acc = tiles_.none(from);
    std::uint32_t k = rotation;
    for (std::uint32_t j = 0; j < longest; j += 4) {
      In x[4];
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
  __device__ __forceinline__ Acc fold_warp(Acc acc) const {
    if constexpr (InTile<R>::kMergesWarps) {
      return tiles_.merge_warp(acc);
    } else {
#pragma unroll
      for (int step = 16; step > 0; step /= 2) acc = tiles_.merge(acc, shuffle_xor(acc, step));
      return acc;
    }
  }

  /// The lists [from, from + length) of each lane; all have the same length, or none.
  __device__ __forceinline__ Acc fold_equal(const In* content, std::uint32_t from, std::uint32_t length,
                                            std::uint32_t longest) const {
    if (longest % kVector == 0) {
      const bool is_aligned = gpu::detail::shared_address(content + from) % 16 == 0;
      const bool are_aligned = __all_sync(gpu::detail::kAllLanes, is_aligned || length == 0);
      if (!InTile<R>::kByGroups || are_aligned) return fold_vectors(content, from, length, are_aligned);
    }
    constexpr std::uint32_t kSpread = kBytes < 4 ? 4 / kBytes : 1;
    const std::uint32_t turn = from * kBytes / 128 * kSpread & (floor_power(length) - 1);
    return fold_around(content, from, length, longest, turn);
  }

  /// The elements [from, from + length) of each lane, of which there may be none.
  __device__ __forceinline__ Acc fold_lists(const In* content, std::uint32_t from, std::uint32_t length) const {
    const std::uint32_t longest = __reduce_max_sync(gpu::detail::kAllLanes, length);
    if (longest >= 4 && __all_sync(gpu::detail::kAllLanes, length == longest || length == 0)) {
      return fold_equal(content, from, length, longest);
    }
    if (longest <= 20) return fold_lane(content, from, length, longest);
    return fold_unequal(content, from, length, longest);
  }

  /// Lists of more than `most` elements by the whole warp, one after the other, the others by their lanes.
  __device__ __forceinline__ Acc fold_unequal(const In* content, std::uint32_t from, std::uint32_t length,
                                              std::uint32_t longest) const {
    // One by the warp costs about as much time as 12 elements of a lane.
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
    Acc acc = fold_lane(content, from, length > most ? 0 : length, most < longest ? most : longest);
    for (unsigned large = __ballot_sync(gpu::detail::kAllLanes, length > most); large != 0; large &= large - 1) {
      const int source = __ffs(static_cast<int>(large)) - 1;
      const std::uint32_t begin = __shfl_sync(gpu::detail::kAllLanes, from, source);
      const std::uint32_t end = begin + __shfl_sync(gpu::detail::kAllLanes, length, source);
      const Acc all = fold_warp(fold_spread<4>(content, begin, end, lane_, 32));
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
    std::uint32_t size;  ///< elements
    std::uint32_t lists;
    std::uint32_t flags;
  };

  /// Whether the list ends here as it is cut off there, if it does not end before; in the last tile of any share it may.
  __device__ __forceinline__ bool is_cut(const Here& here, std::uint32_t i) const {
    return (here.flags & kShareEnd) != 0 && lists_.cuts_last && here.list + i == lists_.count - 1;
  }
  /// Where list number i of the tile ends.
  __device__ __forceinline__ std::int64_t end_of(const Tile& tile, const char* bounds, std::uint32_t i) const {
    return lists_.end_of(tile.list + i, bound(bounds, i), bound(bounds, i + 1));
  }

  /// The list's place in the tile; an empty one unless it is all here and this tile's to fold; whether it is. A bad one is
  /// reported. Bounds are compared as unsigned ones of their size, in which all that are within the tile are exact.
  template <class Bound>
  __device__ __forceinline__ bool place(const Here& here, std::uint32_t i, std::uint32_t& from,
                                        std::uint32_t& length) const {
    const Bound* const bounds = reinterpret_cast<const Bound*>(here.bounds);
    const auto base = static_cast<Bound>(here.begin);
    const Bound begin = bounds[i < here.lists ? i : here.lists] - base;
    const Bound end = bounds[i < here.lists ? i + 1 : here.lists] - base;
    from = static_cast<std::uint32_t>(begin);
    length = static_cast<std::uint32_t>(end) - from;
    bool is_here = begin <= end && end <= here.size;
    if ((here.flags & kClip) != 0) {
      const Tile& tile = head_.tile[stage_];
      const std::int64_t list = here.list + i;
      const bool is_its = i < here.lists && list >= tile.first && list < tile.last;
      if (is_cut(here, i) && begin <= here.size && end > here.size) {
        length = here.size - from;
        is_here = true;
      }
      if (is_its && !is_here) report_if_bad(call_, list, bound(here.bounds, i), bound(here.bounds, i + 1));
      is_here = is_its && is_here && (end > 0 || (here.flags & kFirst) != 0);
    } else if (i < here.lists && !is_here) {
      report_if_bad(call_, here.list + i, bound(here.bounds, i), bound(here.bounds, i + 1));
    }
    if (!is_here) {
      from = 0;
      length = 0;
    }
    return is_here && i < here.lists;
  }

  /// Lists of several lanes each, in whose first lane the results are. Equal lists are cut into equal parts, whose lanes can
  /// stay out of each other's banks; of lists that are about as long as each other lanes take elements in turn; else they
  /// take parts, and the warp the large ones.
  __device__ __forceinline__ Acc fold_groups(const In* content, std::uint32_t from, std::uint32_t length,
                                             int lanes) const {
    const std::uint32_t part = lane_ & ((1U << lanes) - 1);
    const std::uint32_t longest = __reduce_max_sync(gpu::detail::kAllLanes, length);
    const bool divides = (longest & ((1U << lanes) - 1)) == 0;
    Acc acc;
    if (lanes == 5) {
      acc = fold_spread<8>(content, from, from + length, part, 32);
      if constexpr (InTile<R>::kMergesWarps) return tiles_.merge_warp(acc);
    } else if (divides && __all_sync(gpu::detail::kAllLanes, length == 0 || length == longest)) {
      acc = fold_equal(content, from + (length >> lanes) * part, length >> lanes, longest >> lanes);
    } else if (__all_sync(gpu::detail::kAllLanes, length == 0 || length * 2 >= longest)) {
      acc = fold_spread<4>(content, from, from + length, part, 1U << lanes);
    } else {
      const std::uint32_t before = length * part >> lanes;
      const std::uint32_t own = (length * (part + 1) >> lanes) - before;
      acc = fold_unequal(content, from + before, own, __reduce_max_sync(gpu::detail::kAllLanes, own));
    }
    for (int step = 1; step < 1 << lanes; step *= 2) acc = tiles_.merge(acc, shuffle_xor(acc, step));
    return acc;
  }

  template <class Bound>
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
      const Here here{bounds, tile.list, tile.begin, tile.size, tile.lists, tile.flags};
      const int lanes = tile.lanes;
      const int batches = static_cast<int>(((here.lists << lanes) + 31) / 32);
      int batch = turn;
      for (; batch < batches; batch += kConsumers) {
        const std::uint32_t i = static_cast<std::uint32_t>(batch * 32 + lane_) >> lanes;
        std::uint32_t from;
        std::uint32_t length;
        const bool is_mine = place<Bound>(here, i, from, length);
        const Acc acc = lanes == 0 ? fold_lists(content, from, length) : fold_groups(content, from, length, lanes);
        if (is_mine && (lane_ & ((1 << lanes) - 1)) == 0) {
          tiles_.write(here.list + i, acc, content, from, length);
        }
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
    const auto first = static_cast<std::uint32_t>(from - tile.begin);
    const Acc acc =
        fold_spread<8>(content, first, static_cast<std::uint32_t>(to - tile.begin), threadIdx.x, kConsumerThreads);
    return tiles_.widen(acc, content, first, tile.begin);
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
          ends_in_share ? end_of(tile, bounds, static_cast<std::uint32_t>(running_list_ - tile.list)) : 0;
      const bool ends_here = ends_in_share && stop <= tile.end();
      running_ = reducer_.merge(running_, part_of(content, tile, tile.begin, ends_here ? stop : tile.end()));
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
      const bool begins = one < tile.lists && tile.list + one >= tile.first && bound(bounds, one) < tile.end();
      const unsigned all = __ballot_sync(gpu::detail::kAllLanes, begins);
      if (all != 0) {
        found = i + 31 - __clz(static_cast<int>(all));
        break;
      }
      if (i == 0) break;
    }
    if (found < 0) return;
    const std::int64_t start = bound(bounds, static_cast<std::uint32_t>(found));
    const bool goes_on =
        (tile.flags & kTrail) != 0 || end_of(tile, bounds, static_cast<std::uint32_t>(found)) > tile.end();
    if (!goes_on || start < tile.begin) return;
    is_running_ = true;
    began_here_ = true;
    running_list_ = tile.list + found;
    running_ = part_of(content, tile, start, tile.end());
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
#pragma unroll 16
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

/// With the widest bounds and results, so that one workspace serves all reductions of the same content.
inline std::int64_t most_work(const detail::SegmentedReduceCall& call) {
  return call.n * call.in_size + call.lists.count * 16;
}
inline std::int64_t shares_of(const detail::SegmentedReduceCall& call) { return most_shares(most_work(call)); }
/// A block per share, at most.
inline std::int64_t needed_blocks(const detail::SegmentedReduceCall& call) {
  return (most_work(call) >> kLeastShareBits) + 1;
}
/// Kept: what blocks count in. Scratch: the parts.
inline gpu::WorkspaceSize memory_for(std::int64_t shares) {
  return {.kept = std::int64_t{sizeof(Control)} + shares * 4,
          .scratch = shares * (16 + 16 + 16),
          .kept_as = gpu::Kept::list_counts};
}
inline Control* control_at(void* kept) { return static_cast<Control*>(kept); }
inline Parts parts_at(void* kept, void* scratch, std::int64_t shares) {
  char* const values = static_cast<char*>(scratch);
  Parts parts{};
  parts.missing = reinterpret_cast<int*>(control_at(kept) + 1);
  parts.goes_on = values;
  parts.ends = values + shares * 16;
  parts.end = reinterpret_cast<std::int64_t*>(values + shares * 32);
  return parts;
}

/// Compiled once per type that elements are kept as, in pipeline_kernels.cu.
template <class T>
Status pipeline_on(const detail::SegmentedReduceCall& call) noexcept;

}  // namespace upsweep::impl::segmented_reduce
#endif
