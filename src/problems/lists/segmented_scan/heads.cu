// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_scan/heads.cu: a pass over the bounds that checks lists and sets a bit at the head of each
// list.
#include "problems/lists/segmented_scan/heads.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "cuda/device_lists.cuh"
#include "upsweep/detail/kernel_launch.cuh"
#include "upsweep/detail/tuning/segmented_scan.hpp"

namespace upsweep::impl::segmented_scan {
namespace {

constexpr int kMarkThreads = gpu::tuning::kHeads.threads;
/// Number of blocks per multiprocessor.
template <class Bound>
constexpr int kMarkBlocks = sizeof(Bound) == 8 ? gpu::tuning::kHeads.wide_blocks : gpu::tuning::kHeads.blocks;
/// Number of consecutive lists per thread, most of which begin in the same word of heads.
constexpr int kMarkLists = gpu::tuning::kHeads.lists;
constexpr int kMarkedLists = kMarkThreads * kMarkLists;
/// Number of words of heads that a block assembles in shared memory: enough for lists of up to 32 elements.
constexpr int kOwnWords = kMarkedLists;

/// The range of the content that contains all lists with elements.
struct Span {
  std::int64_t begin = std::numeric_limits<std::int64_t>::max();
  std::int64_t end = 0;
  __device__ void include(std::int64_t from, std::int64_t to) {
    begin = from < begin ? from : begin;
    end = to > end ? to : end;
  }
};

/// Checks every list and sets the bit of its first element. Null lists are not checked, and set no bit.
template <class Offsets, bool kHasNulls>
class Marks {
 public:
  using Bound = typename Offsets::Bound;
  using Word = std::make_unsigned_t<Bound>;
  static constexpr std::int64_t kMost = std::numeric_limits<Bound>::max();

  struct Buffer {
    Bound bounds[kMarkedLists + kMarkThreads + 1];
    unsigned words[kOwnWords];  ///< zero between groups of lists
  };

  __device__ Marks(const Offsets& offsets, const gpu::DeviceLists& lists, std::int64_t content, gpu::ListFacts* facts,
                   unsigned* heads, Buffer& buffer)
      : offsets_(offsets),
        lists_(lists),
        count_(lists.lists.count),
        limit_(static_cast<Bound>(::min(content, kMost))),
        facts_(facts),
        heads_(heads),
        buffer_(buffer),
        thread_(static_cast<int>(threadIdx.x)) {}

  __device__ void run() {
    for (int w = thread_; w < kOwnWords; w += kMarkThreads) buffer_.words[w] = 0;
    std::int64_t group = std::int64_t{blockIdx.x} * kMarkedLists;
    const std::int64_t stride = std::int64_t{gridDim.x} * kMarkedLists;
    Bound loaded[kMarkLists + 1];
    load(group, loaded);
    for (; group < count_; group += stride) {
#pragma unroll
      for (int k = 0; k < kMarkLists; ++k) buffer_.bounds[place(k * kMarkThreads + thread_)] = loaded[k];
      if (thread_ == 0) buffer_.bounds[place(kMarkedLists)] = loaded[kMarkLists];
      __syncthreads();                                            // the bounds are written, the words are zero
      if (group + stride < count_) load(group + stride, loaded);  // overlaps with the work on this group
      const Bound first = buffer_.bounds[0];
      const Bound last = buffer_.bounds[place(kMarkedLists)];
      const Word low = word_of(first);
      const Word words = word_of(last) - low;  // minus one
      if (!gpu::is_bad(first, last, limit_) && words < kOwnWords) {
        mark_near(group, low, words);
        __syncthreads();  // the words are complete; all threads have read the bounds
#pragma unroll 1
        for (int w = thread_; w <= static_cast<int>(words); w += kMarkThreads) {
          const unsigned bits = buffer_.words[w];
          buffer_.words[w] = 0;
          // Other blocks also write the first and the last word. If null lists make offsets decrease, this is true of
          // all.
          if (kHasNulls || w == 0 || w == static_cast<int>(words)) {
            if (bits != 0) atomicOr(heads_ + low + w, bits);
          } else {
            heads_[low + w] = bits;
          }
        }
      } else {
        mark_far(group);
        __syncthreads();  // all threads have read the bounds
      }
    }
    report_span();
  }

 private:
  __device__ static int place(int i) { return i + i / kMarkLists; }  // adjacent threads' elements begin in other banks
  __device__ static Word word_of(Bound element) { return static_cast<Word>(element) / 32; }

  __device__ __forceinline__ void load(std::int64_t group, Bound (&loaded)[kMarkLists + 1]) const {
    const std::int64_t own = group + thread_;
    if (group + kMarkedLists <= count_) {
#pragma unroll
      for (int k = 0; k < kMarkLists; ++k) loaded[k] = offsets_(own + k * kMarkThreads);
      if (thread_ == 0) loaded[kMarkLists] = offsets_(group + kMarkedLists);
    } else if (group < count_) {
      // Past the last list, bounds are its end, as for empty lists.
#pragma unroll
      for (int k = 0; k < kMarkLists; ++k) loaded[k] = offsets_(::min(own + k * kMarkThreads, count_));
      loaded[kMarkLists] = offsets_(count_);
    }
  }

  /// Returns whether a list has elements and is valid. Reports a bad list.
  __device__ __forceinline__ bool check(std::int64_t list, Bound from, Bound to) {
    if (from == to || (kHasNulls && lists_.is_null(list))) return false;
    if (gpu::is_bad(from, to, limit_)) {
      atomicMax(&facts_->bad, ~static_cast<unsigned long long>(list));
      return false;
    }
    if constexpr (kHasNulls) span_.include(from, to);
    return true;
  }

  /// Marks lists that begin in words `low` … low + words, unless they are bad. A thread's short lists begin in two
  /// words, which are assembled without branches.
  __device__ __forceinline__ void mark_near(std::int64_t group, Word low, Word words) {
    const int own = thread_ * kMarkLists;
    Bound from = buffer_.bounds[place(own)];
    const Word first = word_of(from) - low;
    const Word begin = static_cast<Word>(from) / 32 * 32;
    const Word span = static_cast<Word>(buffer_.bounds[place(own + kMarkLists)]) - begin;
    if (kHasNulls || span > 64 || first >= kOwnWords - 1) return mark_each(group + own, low, words);  // or before low
    unsigned bits[2] = {0, 0};
    bool descend = false;
#pragma unroll
    for (int k = 0; k < kMarkLists; ++k) {
      const Bound to = buffer_.bounds[place(own + k + 1)];
      descend = descend || to < from;
      const auto at = static_cast<unsigned>(static_cast<Word>(from) - begin);
      const unsigned one = from != to ? 1 : 0;
      bits[0] |= shifted(one, at);
      bits[1] |= shifted(one, at - 32);
      from = to;
    }
    // If no bound decreases, the last bound is the maximum.
    if (descend || from > limit_) return mark_each(group + own, low, words);
    if (bits[0] != 0) atomicOr(buffer_.words + first, bits[0]);
    if (bits[1] != 0) atomicOr(buffer_.words + first + 1, bits[1]);
  }
  /// Returns bits << by, or 0 if `by` is 32 or more.
  __device__ static __forceinline__ unsigned shifted(unsigned bits, unsigned by) {
    unsigned out = 0;
    asm("shl.b32 %0,%1,%2;" : "=r"(out) : "r"(bits), "r"(by));
    return out;
  }
  __device__ __forceinline__ void mark_each(std::int64_t list, Word low, Word words) {
    const int own = thread_ * kMarkLists;
    Bound from = buffer_.bounds[place(own)];
#pragma unroll 1
    for (int k = 0; k < kMarkLists; ++k) {
      const Bound to = buffer_.bounds[place(own + k + 1)];
      const Word word = word_of(from) - low;
      const unsigned bit = 1U << (static_cast<unsigned>(from) % 32);
      const bool begins = check(list + k, from, to);
      if (begins && word <= words) atomicOr(buffer_.words + word, bit);
      // If null lists make offsets decrease, other lists may begin anywhere.
      if (begins && word > words) atomicOr(heads_ + word_of(from), bit);
      from = to;
    }
  }

  /// Marks any other lists. Adjacent threads process adjacent lists, which begin in adjacent words.
  __device__ __forceinline__ void mark_far(std::int64_t group) {
#pragma unroll 2
    for (int k = 0; k < kMarkLists; ++k) {
      const int i = k * kMarkThreads + thread_;
      const Bound from = buffer_.bounds[place(i)];
      if (!check(group + i, from, buffer_.bounds[place(i + 1)])) continue;
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
  const Bound limit_;  ///< length of the content
  gpu::ListFacts* const facts_;
  unsigned* const heads_;
  Buffer& buffer_;
  const int thread_;
  Span span_;
};

template <class Offsets, bool kHasNulls>
__global__ void __launch_bounds__(kMarkThreads, kMarkBlocks<typename Offsets::Bound>)
    mark_lists(const __grid_constant__ Offsets offsets, const __grid_constant__ gpu::DeviceLists lists,
               std::int64_t content, gpu::ListFacts* facts, unsigned* heads) {
  using AllMarks = Marks<Offsets, kHasNulls>;
  __shared__ typename AllMarks::Buffer buffer;
  AllMarks(offsets, lists, content, facts, heads, buffer).run();
}

}  // namespace

cudaError_t launch_heads(const Lists& lists, std::int64_t content, gpu::ListFacts* facts, unsigned* heads,
                         const gpu::Launch& at) {
  if (lists.count == 0 || (lists.has_size && lists.size == 0)) return cudaSuccess;  // no heads, no bad list
  const std::int64_t groups = (lists.count + kMarkedLists - 1) / kMarkedLists;
  return gpu::visit_offsets(lists, [&]<class Offsets>(const Offsets& offsets) {
    const std::int64_t most = std::int64_t{kMarkBlocks<typename Offsets::Bound>} * std::max(at.multiprocessors, 1);
    const gpu::detail::Grid grid{
        .blocks = static_cast<unsigned>(std::min(groups, most)), .threads = kMarkThreads, .stream = at.stream};
    const auto kernel = lists.valid.is_given() ? mark_lists<Offsets, true> : mark_lists<Offsets, false>;
    return gpu::detail::launch(grid, kernel, offsets, gpu::DeviceLists{lists}, content, facts, heads);
  });
}

}  // namespace upsweep::impl::segmented_scan
