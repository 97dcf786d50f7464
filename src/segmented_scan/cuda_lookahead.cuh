// SPDX-License-Identifier: Apache-2.0
// segmented_scan/cuda_lookahead.cuh: scans of lists by scan's pipeline of tiles, to which elements that begin a list are heads.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "cuda/device_lists.cuh"
#include "segmented_scan/folds.cuh"
#include "upsweep/detail/device_scan.cuh"
#include "upsweep/detail/segmented_scan_call.hpp"

namespace upsweep::gpu::detail {

// A tile's fold is published as its value, and whether it has a head in the bit of the tag that is free for that.

template <class T>
inline constexpr int kTaggedWords<segmented_scan::Fold<T>> = kTaggedWords<T>;

inline constexpr unsigned kHeadTag = 0x80000000U;

template <class T>
struct Tagged<segmented_scan::Fold<T>> : Tagged<T> {
  using Tagged<T>::kValues;

  __device__ __forceinline__ bool is_there(unsigned tag, std::int64_t count) const {
    bool there = true;
#pragma unroll
    for (int w = 0; w < 2 * Tagged<T>::kLoads; ++w) {
      const int value = kValues == 2 ? w : 0;
      there = there && (count <= value || (tag_of(w) & ~kHeadTag) == tag);
    }
    return there;
  }
  __device__ __forceinline__ segmented_scan::Fold<T> value(int which) const {
    return segmented_scan::fold_of(Tagged<T>::value(which), (tag_of(kValues == 2 ? which : 0) & kHeadTag) != 0);
  }

 private:
  __device__ __forceinline__ unsigned tag_of(int word) const { return static_cast<unsigned>(this->words[word] >> 32); }
};

}  // namespace upsweep::gpu::detail

namespace upsweep::segmented_scan {

/// Found by the type of its argument.
template <class T>
__device__ __forceinline__ void put_tagged(unsigned long long* words, std::int64_t index, const Fold<T>& fold,
                                           unsigned tag) {
  gpu::detail::put_tagged(words, index, fold.value, fold.has_head != 0 ? tag | gpu::detail::kHeadTag : tag);
}

/// What scan's pipeline scans, and what it hands on from tile to tile.
template <class In_, class T_, class Op_>
struct ListProblem {
  using In = In_;
  using T = T_;
  using Op = Op_;
  using Carry = Fold<T>;
  using Join = segmented_scan::Join<T, Op>;
  static constexpr int kInputs = 1;
  static constexpr int kWarps = 10;
  static constexpr int kUnits = gpu::detail::lane_units(sizeof(In), sizeof(T));
  static constexpr int kLoadsInFlight = 3;
  static constexpr int kStoresInFlight = 1;
  static constexpr bool kEndsWithTotal = false;
  static constexpr bool kFillsTail = false;
  static constexpr bool kCommutes = true;
  static_assert(is_commutative<Op, T>);
  static constexpr T kNone = Op::template identity<T>();

  Op op;
  T init;
  const unsigned* heads;   ///< of the first tile's elements, and on
  std::int64_t unwritten;  ///< elements of the first tile, which come before all lists

  /// What the folds of rows of 32 tiles come to, lane by lane, with those of the first `count` lanes of the next row: from
  /// the last head on.
  __device__ __forceinline__ Carry join_rows(const Carry& before, bool any, const Carry& row, int lane,
                                             int count) const {
    const unsigned lanes = __ballot_sync(gpu::detail::kAllLanes, lane < count && row.has_head != 0);
    const int last = 31 - __clz(static_cast<int>(lanes));  // -1: none
    const bool is_row = lane < count && lane >= last;
    T joined = lanes == 0 && any ? before.value : kNone;
    if (is_row) joined = op(joined, row.value);
    return fold_of(joined, false);
  }
  /// The fold of a row, on lane 0.
  __device__ __forceinline__ Carry fold_row(const Carry& row) const {
    return fold_of(gpu::detail::fold_lanes(op, row.value, static_cast<int>(threadIdx.x) % 32), false);
  }
  template <int kCount>
  __device__ __forceinline__ Carry fold(const T (&items)[kCount], const gpu::detail::HeadBits<kCount>& heads) const {
    T total = heads[0] ? op(init, items[0]) : items[0];
#pragma unroll
    for (int i = 1; i < kCount; ++i) total = op(heads[i] ? init : total, items[i]);
    return fold_of(total, heads.any());
  }
  template <int kCount>
  __device__ __forceinline__ void scan(const Carry& carry, T (&items)[kCount],
                                       const gpu::detail::HeadBits<kCount>& heads, bool exclusive) const {
    T total = carry.value;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const T before = heads[i] ? init : total;
      total = op(before, items[i]);
      items[i] = exclusive ? before : total;
    }
  }
};

// ---------------------------------------------------------------------------------------------------------- the heads

template <class Bound_>
struct OffsetsOf {
  using Bound = Bound_;
  static constexpr std::int64_t kMost = std::numeric_limits<Bound>::max();
  const Bound* offsets;
  __device__ Bound operator()(std::int64_t i) const { return offsets[i]; }
};
struct OffsetsOfSize {
  using Bound = std::int64_t;
  static constexpr std::int64_t kMost = std::numeric_limits<Bound>::max();
  std::int64_t size;
  __device__ Bound operator()(std::int64_t i) const { return i * size; }
};

inline constexpr int kMarkThreads = 256;
/// Per multiprocessor: as many as registers allow.
template <class Bound>
inline constexpr int kMarkBlocks = sizeof(Bound) == 8 ? 4 : 5;
/// Consecutive lists of a thread, most of which begin in the same word of heads.
inline constexpr int kMarkLists = 8;
inline constexpr int kMarkedLists = kMarkThreads * kMarkLists;
/// Words of heads that a block puts together in shared memory: those of lists of up to 32 elements.
inline constexpr int kOwnWords = kMarkedLists;

/// Whether a list that is not empty is bad.
template <class Bound>
__device__ __forceinline__ bool is_bad(Bound from, Bound to, Bound limit) {
  if constexpr (std::is_signed_v<Bound>) {
    if (from < 0) return true;
  }
  return to < from || to > limit;
}

/// Where lists with elements lie in the content.
struct Span {
  std::int64_t begin = OffsetsOfSize::kMost;
  std::int64_t end = 0;
  __device__ void include(std::int64_t from, std::int64_t to) {
    begin = from < begin ? from : begin;
    end = to > end ? to : end;
  }
};

/// Checks every list and sets the bit of the element that it begins with. Null lists are not checked, and set none.
template <class Offsets, bool kHasNulls>
class Marks {
 public:
  using Bound = typename Offsets::Bound;
  using Word = std::make_unsigned_t<Bound>;

  struct Room {
    Bound bounds[kMarkedLists + kMarkThreads + 1];
    unsigned words[kOwnWords];  ///< zero between groups of lists
  };

  __device__ Marks(const Offsets& offsets, const gpu::DeviceLists& lists, std::int64_t content, gpu::ListFacts* facts,
                   unsigned* heads, Room& room)
      : offsets_(offsets),
        lists_(lists),
        count_(lists.lists.count),
        limit_(static_cast<Bound>(content < Offsets::kMost ? content : Offsets::kMost)),
        facts_(facts),
        heads_(heads),
        room_(room),
        thread_(static_cast<int>(threadIdx.x)) {}

  __device__ void run() {
    for (int w = thread_; w < kOwnWords; w += kMarkThreads) room_.words[w] = 0;
    std::int64_t group = std::int64_t{blockIdx.x} * kMarkedLists;
    const std::int64_t stride = std::int64_t{gridDim.x} * kMarkedLists;
    Bound loaded[kMarkLists + 1];
    load(group, loaded);
    for (; group < count_; group += stride) {
#pragma unroll
      for (int k = 0; k < kMarkLists; ++k) room_.bounds[place(k * kMarkThreads + thread_)] = loaded[k];
      if (thread_ == 0) room_.bounds[place(kMarkedLists)] = loaded[kMarkLists];
      __syncthreads();                                            // the bounds are there, the words are zero
      if (group + stride < count_) load(group + stride, loaded);  // while these are looked at
      const Bound first = room_.bounds[0];
      const Bound last = room_.bounds[place(kMarkedLists)];
      const Word low = word_of(first);
      const Word words = word_of(last) - low;  // less one
      if (!is_bad(first, last, limit_) && words < kOwnWords) {
        mark_near(group, low, words);
        __syncthreads();  // the words are there; all have read the bounds
#pragma unroll 1
        for (int w = thread_; w <= static_cast<int>(words); w += kMarkThreads) {
          const unsigned bits = room_.words[w];
          room_.words[w] = 0;
          // The first and the last word are other blocks' too; where null lists go back, all are.
          if (kHasNulls || w == 0 || w == static_cast<int>(words)) {
            if (bits != 0) atomicOr(heads_ + low + w, bits);
          } else {
            heads_[low + w] = bits;
          }
        }
      } else {
        mark_far(group);
        __syncthreads();  // all have read the bounds
      }
    }
    report_span();
  }

 private:
  __device__ static int place(int i) { return i + i / kMarkLists; }  // parts of threads begin in different banks
  __device__ static Word word_of(Bound element) { return static_cast<Word>(element) / 32; }

  __device__ __forceinline__ void load(std::int64_t group, Bound (&loaded)[kMarkLists + 1]) const {
    const std::int64_t own = group + thread_;
    if (group + kMarkedLists <= count_) {
#pragma unroll
      for (int k = 0; k < kMarkLists; ++k) loaded[k] = offsets_(own + k * kMarkThreads);
      if (thread_ == 0) loaded[kMarkLists] = offsets_(group + kMarkedLists);
    } else if (group < count_) {
      // Bounds of lists past the last are its end: of empty ones.
#pragma unroll
      for (int k = 0; k < kMarkLists; ++k) loaded[k] = offsets_(::min(own + k * kMarkThreads, count_));
      loaded[kMarkLists] = offsets_(count_);
    }
  }

  /// Whether a list has elements, and is good; a bad one is reported.
  __device__ __forceinline__ bool check(std::int64_t list, Bound from, Bound to) {
    if (from == to || (kHasNulls && lists_.is_null(list))) return false;
    if (is_bad(from, to, limit_)) {
      atomicMax(&facts_->bad, ~static_cast<unsigned long long>(list));
      return false;
    }
    if constexpr (kHasNulls) span_.include(from, to);
    return true;
  }

  /// Lists that begin in words `low` … low + words, unless they are bad. Those of a thread that are short begin in two words,
  /// which are put together without branches.
  __device__ __forceinline__ void mark_near(std::int64_t group, Word low, Word words) {
    const int own = thread_ * kMarkLists;
    Bound from = room_.bounds[place(own)];
    const Word first = word_of(from) - low;
    const Word begin = static_cast<Word>(from) / 32 * 32;
    const Word span = static_cast<Word>(room_.bounds[place(own + kMarkLists)]) - begin;
    if (kHasNulls || span > 64 || first >= kOwnWords - 1) return mark_each(group + own, low, words);  // or before low
    unsigned bits[2] = {0, 0};
    bool descend = false;
#pragma unroll
    for (int k = 0; k < kMarkLists; ++k) {
      const Bound to = room_.bounds[place(own + k + 1)];
      descend = descend || to < from;
      const auto at = static_cast<unsigned>(static_cast<Word>(from) - begin);
      const unsigned one = from != to ? 1 : 0;
      bits[0] |= shifted(one, at);
      bits[1] |= shifted(one, at - 32);
      from = to;
    }
    // Where none descends, the last bound is the greatest.
    if (descend || from > limit_) return mark_each(group + own, low, words);
    if (bits[0] != 0) atomicOr(room_.words + first, bits[0]);
    if (bits[1] != 0) atomicOr(room_.words + first + 1, bits[1]);
  }
  /// bits << by; 0 where `by` is 32 or more.
  __device__ static __forceinline__ unsigned shifted(unsigned bits, unsigned by) {
    unsigned out = 0;
    asm("shl.b32 %0,%1,%2;" : "=r"(out) : "r"(bits), "r"(by));
    return out;
  }
  __device__ __forceinline__ void mark_each(std::int64_t list, Word low, Word words) {
    const int own = thread_ * kMarkLists;
    Bound from = room_.bounds[place(own)];
#pragma unroll 1
    for (int k = 0; k < kMarkLists; ++k) {
      const Bound to = room_.bounds[place(own + k + 1)];
      const Word word = word_of(from) - low;
      const unsigned bit = 1U << (static_cast<unsigned>(from) % 32);
      const bool begins = check(list + k, from, to);
      if (begins && word <= words) atomicOr(room_.words + word, bit);
      // Where null lists go back, others may begin anywhere.
      if (begins && word > words) atomicOr(heads_ + word_of(from), bit);
      from = to;
    }
  }

  /// Any others. Neighbouring threads take neighbouring lists, which begin in neighbouring words.
  __device__ __forceinline__ void mark_far(std::int64_t group) {
#pragma unroll 2
    for (int k = 0; k < kMarkLists; ++k) {
      const int i = k * kMarkThreads + thread_;
      const Bound from = room_.bounds[place(i)];
      if (!check(group + i, from, room_.bounds[place(i + 1)])) continue;
      atomicOr(heads_ + word_of(from), 1U << (static_cast<unsigned>(from) % 32));
    }
  }

  __device__ void report_span() {
    if constexpr (kHasNulls) {
#pragma unroll
      for (int step = 16; step > 0; step /= 2) {
        const std::int64_t begin = __shfl_down_sync(gpu::detail::kAllLanes, span_.begin, step);
        span_.include(begin, __shfl_down_sync(gpu::detail::kAllLanes, span_.end, step));
      }
      if (thread_ % 32 != 0) return;
    } else {
      if (blockIdx.x != 0 || thread_ != 0) return;
      const Bound first = offsets_(0);
      if (offsets_(count_) > first) span_.include(first, offsets_(count_));
    }
    if (span_.end == 0) return;
    atomicMax(&facts_->end, static_cast<unsigned long long>(span_.end));
    atomicMax(&facts_->before, ~static_cast<unsigned long long>(span_.begin));
  }

  const Offsets& offsets_;
  const gpu::DeviceLists& lists_;
  const std::int64_t count_;
  const Bound limit_;  ///< of the content
  gpu::ListFacts* const facts_;
  unsigned* const heads_;
  Room& room_;
  const int thread_;
  Span span_;
};

template <class Offsets, bool kHasNulls>
__global__ void __launch_bounds__(kMarkThreads, kMarkBlocks<typename Offsets::Bound>)
    mark_lists(const __grid_constant__ Offsets offsets, const __grid_constant__ gpu::DeviceLists lists,
               std::int64_t content, gpu::ListFacts* facts, unsigned* heads) {
  using AllMarks = Marks<Offsets, kHasNulls>;
  __shared__ typename AllMarks::Room room;
  AllMarks(offsets, lists, content, facts, heads, room).run();
}

inline cudaError_t launch_mark(const Lists& lists, std::int64_t content, gpu::ListFacts* facts, unsigned* heads,
                               const gpu::Launch& at) {
  if (lists.count == 0 || (lists.has_size && lists.size == 0)) return cudaSuccess;  // no heads, and none is bad
  const std::int64_t groups = (lists.count + kMarkedLists - 1) / kMarkedLists;
  const auto mark = [&]<class Offsets>(const Offsets& offsets) {
    const std::int64_t most = std::int64_t{kMarkBlocks<typename Offsets::Bound>} * std::max(at.multiprocessors, 1);
    const gpu::detail::Grid grid{
        .blocks = static_cast<unsigned>(std::min(groups, most)), .threads = kMarkThreads, .stream = at.stream};
    const auto kernel = lists.valid.is_given() ? mark_lists<Offsets, true> : mark_lists<Offsets, false>;
    return gpu::detail::launch(grid, kernel, offsets, gpu::DeviceLists{lists}, content, facts, heads);
  };
  if (lists.has_size) return mark(OffsetsOfSize{lists.size});
  if (lists.type == Type::int64) return mark(OffsetsOf<std::int64_t>{static_cast<const std::int64_t*>(lists.starts)});
  if (lists.type == Type::int32) return mark(OffsetsOf<std::int32_t>{static_cast<const std::int32_t*>(lists.starts)});
  return mark(OffsetsOf<std::uint32_t>{static_cast<const std::uint32_t*>(lists.starts)});
}

// ------------------------------------------------------------------------------------------------------------ the scan

/// The arrays begin with the tile that the first list begins in.
template <class Problem>
static __global__ void __launch_bounds__(gpu::detail::Shape<Problem>::kThreads, 1)
    scan_marked(const __grid_constant__ gpu::detail::DeviceScan<Problem> call,
                const __grid_constant__ gpu::DeviceLists lists, const gpu::ListFacts* facts, gpu::ListsStatus* status) {
#if __CUDA_ARCH__ >= 900
  constexpr std::int64_t kTile = gpu::detail::Shape<Problem>::kTile;
  extern __shared__ __align__(128) char shared[];
  if (blockIdx.x == 0 && threadIdx.x == 0) gpu::report(lists, call.n, *facts, status);
  if (facts->bad != 0 || facts->end == 0) return;
  const auto begin = static_cast<std::int64_t>(~facts->before);
  const std::int64_t skipped = begin / kTile * kTile;
  gpu::detail::DeviceScan<Problem> scan = call;
  scan.in[0] += skipped;
  scan.out += skipped;
  scan.n = static_cast<std::int64_t>(facts->end) - skipped;
  scan.problem.heads += skipped / 32;
  scan.problem.unwritten = begin - skipped;
  gpu::detail::Pipeline<Problem>(scan, shared).run();
#else
  __trap();  // lookahead_refusal() keeps calls away
#endif
}

/// The scratch of n elements: what the pass over the bounds finds, and the heads, of whole tiles.
template <class Problem>
constexpr std::int64_t head_bytes(std::int64_t n) {
  return gpu::detail::tiles_of<Problem>(n) * gpu::detail::Shape<Problem>::kHeadBytes;
}
inline constexpr std::int64_t kFactsBytes = 256;
static_assert(sizeof(gpu::ListFacts) <= kFactsBytes);

template <class Problem>
constexpr gpu::WorkspaceSize lookahead_workspace(std::int64_t n) {
  constexpr std::int64_t kAhead = 2;  // values that look-ahead may read past the last
  const std::int64_t words =
      (gpu::detail::tiles_of<Problem>(n) + kAhead) * gpu::detail::kTaggedWords<typename Problem::Carry>;
  return {.kept = std::int64_t{sizeof(gpu::detail::Control)} + words * 8,
          .scratch = kFactsBytes + head_bytes<Problem>(n)};
}

template <class Problem>
cudaError_t launch_lookahead(const detail::SegmentedScanCall& call, typename Problem::Op op) {
  using In = typename Problem::In;
  using T = typename Problem::T;
  const gpu::Launch& at = *call.launch;
  auto* const facts = static_cast<gpu::ListFacts*>(at.scratch);
  auto* const heads = reinterpret_cast<unsigned*>(static_cast<char*>(at.scratch) + kFactsBytes);
  const auto cleared = static_cast<std::size_t>(kFactsBytes + head_bytes<Problem>(call.n));
  cudaError_t error = cudaMemsetAsync(at.scratch, 0, cleared, at.stream);
  if (error == cudaSuccess) error = launch_mark(call.lists, call.n, facts, heads, at);
  if (error != cudaSuccess) return error;
  const T init = *static_cast<const T*>(call.init);
  const gpu::detail::DeviceScan<Problem> scan{.in = {static_cast<const In*>(call.in)},
                                              .out = static_cast<T*>(call.out),
                                              .n = call.n,
                                              .workspace = gpu::detail::workspace_of(at),
                                              .init = init,
                                              .has_init = false,
                                              .exclusive = call.exclusive,
                                              .problem = {op, init, heads, 0}};
  return gpu::detail::launch_pipeline<Problem>(scan_marked<Problem>, call.n > 0 ? call.n : 1, at.device,
                                               at.multiprocessors, at.stream, scan, gpu::DeviceLists{call.lists}, facts,
                                               call.status);
}

}  // namespace upsweep::segmented_scan
