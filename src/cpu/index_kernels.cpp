// SPDX-License-Identifier: Apache-2.0
// cpu/index_kernels.cpp: tags, indices, slices and masks without a branch per element or list; per instruction set.
#include "cpu/index_kernels.hpp"

#include <cstring>

#include "cpu/simd.hpp"
#include "cpu/tuning/lists.hpp"

#define UPSWEEP_INDEX_TABLE(isa) UPSWEEP_INDEX_TABLE_OF(isa)
#define UPSWEEP_INDEX_TABLE_OF(isa) index_kernels_##isa

namespace upsweep::cpu {
namespace {

constexpr int kEight = 8;
template <class T>
struct EightOf {
  typedef T Type __attribute__((vector_size(kEight * sizeof(T))));
  typedef T Unaligned __attribute__((vector_size(kEight * sizeof(T)), aligned(1), may_alias));
};
template <class T>
using Eight = typename EightOf<T>::Type;
template <class T>
constexpr Eight<T> kSteps = {0, 1, 2, 3, 4, 5, 6, 7};

// -------------------------------------------------------------------------------------------------------------- unions

#if UPSWEEP_REGISTER_BYTES == 64
UPSWEEP_INLINE __m512i eight_wide(const std::int64_t* from) { return _mm512_loadu_si512(from); }
template <class T>
UPSWEEP_INLINE __m512i eight_wide(const T* from) {
  return (__m512i)widen(from);
}

/// Processes whole groups of 64 elements; returns where the rest begins.
template <class Tag, class Index>
UPSWEEP_INLINE std::int64_t retag_groups(const Tag* tags, const Index* index, std::int64_t n, Retag how,
                                         std::int8_t* to_tags, std::int64_t* to_index) {
  if constexpr (sizeof(Tag) != 1) return 0;
  const __m512i from = _mm512_set1_epi8(static_cast<char>(how.from));
  const __m512i to = _mm512_set1_epi8(how.to);
  const __m512i base = _mm512_set1_epi64(how.base);
  std::int64_t i = 0;
  for (; i + 64 <= n; i += 64) {
    const auto same = _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(tags + i), from);
    if (same == 0) continue;
    _mm512_mask_storeu_epi8(to_tags + i, same, to);
    for (int j = 0; j < 64; j += kEight) {
      _mm512_mask_storeu_epi64(to_index + i + j, static_cast<__mmask8>(same >> j),
                               _mm512_add_epi64(eight_wide(index + i + j), base));
    }
  }
  return i;
}
#else
template <class... T>
UPSWEEP_INLINE std::int64_t retag_groups(T...) {
  return 0;
}
#endif

template <class Tag, class Index>
void retag(const Tag* tags, const Index* index, std::int64_t n, Retag how, std::int8_t* to_tags,
           std::int64_t* to_index) {
  if (static_cast<Tag>(how.from) != how.from) return;
  for (std::int64_t i = retag_groups(tags, index, n, how, to_tags, to_index); i < n; ++i) {
    // Masks instead of a conditional, for which the compiler would generate a branch.
    const std::int64_t mask = -static_cast<std::int64_t>(tags[i] == how.from);
    const std::int64_t at = static_cast<std::int64_t>(index[i]) + how.base;
    to_tags[i] = static_cast<std::int8_t>((how.to & mask) | (to_tags[i] & ~mask));
    to_index[i] = (at & mask) | (to_index[i] & ~mask);
  }
}

/// Stores the first `count` of eight elements. Without masked stores the others are rewritten with their old values.
template <class T>
UPSWEEP_INLINE void store_first(T* to, const Eight<T>& v, std::int64_t count) {
#if UPSWEEP_REGISTER_BYTES == 64
  const auto mask = (1U << count) - 1;
  if constexpr (sizeof(T) == 8) {
    _mm512_mask_storeu_epi64(to, static_cast<__mmask8>(mask), (__m512i)v);
  } else if constexpr (sizeof(T) == 4) {
    _mm256_mask_storeu_epi32(to, static_cast<__mmask8>(mask), (__m256i)v);
  } else {
    std::int64_t bytes = 0;
    std::memcpy(&bytes, &v, sizeof bytes);
    _mm_mask_storeu_epi8(to, static_cast<__mmask16>(mask), _mm_cvtsi64_si128(bytes));
  }
#else
  auto* const out = reinterpret_cast<typename EightOf<T>::Unaligned*>(to);
  *out = kSteps<T> < static_cast<T>(count) ? v : *out;
#endif
}

template <class Tag, class Index>
std::int64_t fill(Tag* tags, Index* index, Tag tag, NumberedLists lists, std::int64_t number) {
  constexpr bool kStoresMore = UPSWEEP_REGISTER_BYTES != 64;
  const Eight<Tag> eight_tags = Eight<Tag>{} + tag;
  for (std::int64_t i = 0; i < lists.count; ++i) {
    const std::int64_t start = lists.starts[i];
    const std::int64_t count = lists.counts[i];
    lists.starts[i] = start + count;
    if (count <= 0) continue;
    if (count <= kEight && (!kStoresMore || start + kEight <= lists.end)) {
      store_first(tags + start, eight_tags, count);
      store_first(index + start, kSteps<Index> + static_cast<Index>(number), count);
    } else {
      for (std::int64_t j = 0; j < count; ++j) {
        tags[start + j] = tag;
        index[start + j] = static_cast<Index>(number + j);
      }
    }
    number += count;
  }
  return number;
}

// -------------------------------------------------------------------------------------------------------------- slices

UPSWEEP_INLINE std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
UPSWEEP_INLINE std::int64_t greatest(std::int64_t a, std::int64_t b) { return a > b ? a : b; }

/// The taken elements of 0 … length - 1 of a list. kStep: 1 or -1, or 0 for any other step.
template <int kStep>
struct Taken {
  std::int64_t first;
  std::int64_t count;

  UPSWEEP_INLINE Taken(const Slice& slice, std::int64_t length) {
    const std::int64_t step = kStep != 0 ? kStep : slice.step;
    // The bounds where nothing is taken: one step before the first element.
    const std::int64_t least_at = step > 0 ? 0 : -1;
    const std::int64_t most_at = step > 0 ? length : length - 1;
    const std::int64_t start = slice.has_start ? slice.start : step > 0 ? 0 : -1;
    first = bounded(start, length, least_at, most_at);
    const std::int64_t no_stop = step > 0 ? length : -1;
    const std::int64_t last = slice.has_stop ? bounded(slice.stop, length, least_at, most_at) : no_stop;
    const std::int64_t distance = greatest(step > 0 ? last - first : first - last, 0);
    if constexpr (kStep != 0) {
      count = distance;
    } else {
      const std::int64_t size = step > 0 ? step : -step;
      count = step == 0 ? 0 : distance / size + (distance % size != 0 ? 1 : 0);
    }
  }

 private:
  /// Negative positions count from the end.
  UPSWEEP_INLINE static std::int64_t bounded(std::int64_t at, std::int64_t length, std::int64_t least_at,
                                             std::int64_t most_at) {
    return least(greatest(at < 0 ? at + length : at, least_at), most_at);
  }
};

template <int kStep, class T>
UPSWEEP_INLINE Taken<kStep> taken_of(const SlicedLists<T>& lists, std::int64_t i) {
  return {lists.slice, static_cast<std::int64_t>(lists.stops[i]) - static_cast<std::int64_t>(lists.starts[i])};
}

template <int kStep, class T>
std::int64_t count_taken(const SlicedLists<T>& lists) {
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < lists.n; ++i) total += taken_of<kStep>(lists, i).count;
  return total;
}

template <int kStep, class T>
std::int64_t write_taken(const SlicedLists<T>& lists, T* ends, std::int64_t* to, std::int64_t at, std::int64_t end) {
  constexpr std::int64_t kLists = tuning::kListKernels.index_lists;  // whose numbers stay in the core's L1
  std::int64_t firsts[std::size_t{kLists}];
  std::int64_t counts[std::size_t{kLists}];
  const std::int64_t step = kStep != 0 ? kStep : lists.slice.step;
  const Eight<std::int64_t> steps = kSteps<std::int64_t> * step;
  for (std::int64_t begin = 0; begin < lists.n; begin += kLists) {
    const std::int64_t some = least(kLists, lists.n - begin);
    for (std::int64_t i = 0; i < some; ++i) {
      const Taken<kStep> taken = taken_of<kStep>(lists, begin + i);
      firsts[i] = static_cast<std::int64_t>(lists.starts[begin + i]) + taken.first;
      counts[i] = taken.count;
    }
    for (std::int64_t i = 0; i < some; ++i) {
      if (counts[i] <= kEight && at + kEight <= end) {  // a whole vector: no loop exit to mispredict
        *reinterpret_cast<EightOf<std::int64_t>::Unaligned*>(to + at) = steps + firsts[i];
      } else {
        for (std::int64_t j = 0; j < counts[i]; ++j) to[at + j] = firsts[i] + j * step;
      }
      at += counts[i];
      ends[begin + i] = static_cast<T>(at);
    }
  }
  return at;
}

template <class T>
std::int64_t count_slices(const SlicedLists<T>& lists) {
  return lists.slice.step == 1    ? count_taken<1>(lists)
         : lists.slice.step == -1 ? count_taken<-1>(lists)
                                  : count_taken<0>(lists);
}
template <class T>
std::int64_t write_slices(const SlicedLists<T>& lists, T* ends, std::int64_t* to, std::int64_t at, std::int64_t end) {
  return lists.slice.step == 1    ? write_taken<1>(lists, ends, to, at, end)
         : lists.slice.step == -1 ? write_taken<-1>(lists, ends, to, at, end)
                                  : write_taken<0>(lists, ends, to, at, end);
}

// --------------------------------------------------------------------------------------------------------------- masks

UPSWEEP_INLINE bool is_counted(const MaskRange& range, std::int64_t i) { return (range.mask[i] != 0) == range.nonzero; }

#if UPSWEEP_REGISTER_BYTES == 64
/// Returns which of 64 elements count.
UPSWEEP_INLINE std::uint64_t counted(const MaskRange& range, std::int64_t i) {
  const __m512i bytes = _mm512_loadu_si512(range.mask + i);
  return range.nonzero ? _mm512_test_epi8_mask(bytes, bytes) : _mm512_testn_epi8_mask(bytes, bytes);
}
#endif

std::int64_t count(MaskRange range) {
  std::int64_t total = 0;
  std::int64_t i = range.first;
#if UPSWEEP_REGISTER_BYTES == 64
  for (; i + 64 <= range.last; i += 64) total += __builtin_popcountll(counted(range, i));
#endif
  for (; i < range.last; ++i) total += is_counted(range, i) ? 1 : 0;
  return total;
}

std::int64_t positions(MaskRange range, std::int64_t* to, std::int64_t at, std::int64_t end) {
  std::int64_t i = range.first;
#if UPSWEEP_REGISTER_BYTES == 64
  for (; i + 64 <= range.last; i += 64) {
    std::uint64_t word = counted(range, i);
    if (at + 64 > end) {
      for (; word != 0; word &= word - 1) to[at++] = i + __builtin_ctzll(word);
      continue;
    }
    for (int j = 0; j < 64; j += kEight) {
      const auto eight = static_cast<__mmask8>(word >> j);
      // Compressed into a register first: compressing into memory takes longer.
      const __m512i positions = _mm512_add_epi64((__m512i)kSteps<std::int64_t>, _mm512_set1_epi64(i + j));
      _mm512_storeu_si512(to + at, _mm512_maskz_compress_epi64(eight, positions));
      at += __builtin_popcount(eight);
    }
  }
#endif
  for (; i < range.last; ++i) {
    const bool counts = is_counted(range, i);
    // Positions that do not count are overwritten by later ones that do. There is one branch, and it is predicted.
    if ((static_cast<int>(counts) | static_cast<int>(at < end)) != 0) to[at] = i;
    at += counts ? 1 : 0;
  }
  return at;
}

void are_empty(const std::int64_t* offsets, std::int64_t n, std::int8_t* to) {
  std::int64_t i = 0;
#if UPSWEEP_REGISTER_BYTES == 64
  for (; i + 64 <= n; i += 64) {
    std::uint64_t word = 0;
    for (int j = 0; j < 64; j += kEight) {
      const std::int64_t* const at = offsets + i + j;
      const auto eight = _mm512_cmple_epi64_mask(_mm512_loadu_si512(at + 1), _mm512_loadu_si512(at));
      word |= std::uint64_t{eight} << j;
    }
    _mm512_storeu_si512(to + i, _mm512_maskz_set1_epi8(word, 1));
  }
#endif
  for (; i < n; ++i) to[i] = offsets[i + 1] > offsets[i] ? 0 : 1;
}

template <class Tag, class Index>
constexpr UnionKernels<Tag, Index> kUnion{&retag<Tag, Index>, &fill<Tag, Index>};

template <class T>
constexpr SliceKernels<T> kSlices{&count_slices<T>, &write_slices<T>};

constexpr IndexKernels kTable{.unions = {kUnion<std::int8_t, std::int32_t>, kUnion<std::int8_t, std::uint32_t>,
                                         kUnion<std::int8_t, std::int64_t>, kUnion<std::int64_t, std::int64_t>},
                              .slices = {kSlices<std::int32_t>, kSlices<std::uint32_t>, kSlices<std::int64_t>},
                              .count = &count,
                              .positions = &positions,
                              .are_empty = &are_empty};

}  // namespace

const IndexKernels& UPSWEEP_INDEX_TABLE(UPSWEEP_ISA)() noexcept { return kTable; }

}  // namespace upsweep::cpu
