// SPDX-License-Identifier: Apache-2.0
// sql/expression/kernels.cpp: loops over a block of values, compiled once per instruction set, which UPSWEEP_ISA names.
//
// Plain loops that the compiler vectorizes. All names except the table are internal to this file: it uses no std::
// functions and no inline functions of other headers (tests/isa_symbols.sh verifies that).
#include "sql/expression/kernels.hpp"

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "cpu/simd.hpp"

#define UPSWEEP_KERNELS_NAME_2(isa) kernels_##isa
#define UPSWEEP_KERNELS_NAME(isa) UPSWEEP_KERNELS_NAME_2(isa)
#define UPSWEEP_FUNCTIONS_NAME_2(isa) functions_##isa
#define UPSWEEP_FUNCTIONS_NAME(isa) UPSWEEP_FUNCTIONS_NAME_2(isa)

namespace upsweep::expression {
namespace {

/// Converts an element to the type that it is computed in.
template <class T>
using As = std::conditional_t<std::is_floating_point<T>::value, double, std::int64_t>;

template <class T>
void take(const void* in, const std::int32_t* rows, int n, void* out) {
  const auto* from = static_cast<const T*>(in);
  auto* to = static_cast<As<T>*>(out);
  if (rows == nullptr) {
    for (int i = 0; i < n; ++i) to[i] = static_cast<As<T>>(from[i]);
  } else {
    for (int i = 0; i < n; ++i) to[i] = static_cast<As<T>>(from[rows[i]]);
  }
}

// ---------------------------------------------------------------------------------------------------------- selections

constexpr int kGroup = kMarksPerWord;

/// Bit i of the result: whether byte i is not 0.
inline std::uint64_t bits_of(const std::uint8_t* bytes) {
#if defined(__AVX512BW__)
  const __m512i all = _mm512_loadu_si512(bytes);
  return _mm512_test_epi8_mask(all, all);
#elif defined(__AVX2__)
  std::uint64_t bits = 0;
  for (int half = 0; half < 2; ++half) {
    const __m256i some = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes) + half);
    const auto zero = static_cast<unsigned>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(some, _mm256_setzero_si256())));
    bits |= std::uint64_t{~zero} << (32 * half);
  }
  return bits;
#else
  std::uint64_t bits = 0;
  for (int quarter = 0; quarter < 4; ++quarter) {
    const __m128i some = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes) + quarter);
    const auto zero = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(some, _mm_setzero_si128())));
    bits |= std::uint64_t{~zero & 0xFFFFU} << (16 * quarter);
  }
  return bits;
#endif
}

/// Appends first + i for every bit i that is set. Returns the end. It may write up to 64 entries past that.
inline std::int32_t* append_places(std::uint64_t bits, std::int32_t first, std::int32_t* to) {
  if (bits == ~std::uint64_t{0}) {
    for (int i = 0; i < kGroup; ++i) to[i] = first + i;
    return to + kGroup;
  }
#if defined(__AVX512F__)
  const __m512i step = _mm512_set1_epi32(16);
  __m512i places = _mm512_add_epi32(_mm512_set1_epi32(first),
                                    _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
  if (bits == 0) return to;
  for (int quarter = 0; quarter < 4; ++quarter) {
    const auto some = static_cast<__mmask16>(bits >> (16 * quarter));
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(some, places));
    to += __builtin_popcount(some);
    places = _mm512_add_epi32(places, step);
  }
#else
  for (; bits != 0; bits &= bits - 1) *to++ = first + __builtin_ctzll(bits);
#endif
  return to;
}

int places(const std::uint8_t* keep, int n, std::int32_t* rows) {
  std::int32_t* to = rows;
  int i = 0;
  for (; i + kGroup <= n; i += kGroup) to = append_places(bits_of(keep + i), i, to);
  for (; i < n; ++i) {
    *to = i;
    to += keep[i] != 0 ? 1 : 0;
  }
  return static_cast<int>(to - rows);
}

int marked(const std::uint64_t* marks, int n, std::int32_t* rows) {
  std::int32_t* to = rows;
  for (int i = 0; i < n; i += kGroup) to = append_places(*marks++, i, to);
  return static_cast<int>(to - rows);
}

/// Clears the marks of rows i … i + 63 that are not set in bits(i). Returns the number of marked rows.
template <class F>
inline int clear_marks(std::uint64_t* marks, int n, F bits) {
  int left = 0;
  for (int i = 0; i < n; i += kGroup, ++marks) {
    *marks &= bits(i);
    left += __builtin_popcountll(*marks);
  }
  return left;
}

int mark_true(const std::uint8_t* keep, int n, std::uint64_t* marks) {
  return clear_marks(marks, n, [=](int first) {
    if (n - first >= kGroup) return bits_of(keep + first);
    std::uint64_t bits = 0;
    for (int i = first; i < n; ++i) bits |= std::uint64_t{keep[i] != 0} << (i - first);
    return bits;
  });
}

/// Tests minimum <= x <= maximum with one comparison: of the unsigned distance from minimum.
template <class T>
struct Range {
  using U = std::make_unsigned_t<T>;
  U minimum;
  U width;

  [[nodiscard]] bool holds(T value) const { return static_cast<U>(static_cast<U>(value) - minimum) <= width; }

#if defined(__AVX512BW__)
  /// Bit j of the result: whether from[j] is in the range, for 64 bytes.
  [[nodiscard]] auto mask(const T* from) const {
    const __m512i values = _mm512_loadu_si512(from);
    if constexpr (sizeof(T) == 1) {
      return _mm512_cmple_epu8_mask(_mm512_sub_epi8(values, _mm512_set1_epi8(static_cast<char>(minimum))),
                                    _mm512_set1_epi8(static_cast<char>(width)));
    } else if constexpr (sizeof(T) == 2) {
      return _mm512_cmple_epu16_mask(_mm512_sub_epi16(values, _mm512_set1_epi16(static_cast<short>(minimum))),
                                     _mm512_set1_epi16(static_cast<short>(width)));
    } else if constexpr (sizeof(T) == 4) {
      return _mm512_cmple_epu32_mask(_mm512_sub_epi32(values, _mm512_set1_epi32(static_cast<int>(minimum))),
                                     _mm512_set1_epi32(static_cast<int>(width)));
    } else {
      return _mm512_cmple_epu64_mask(_mm512_sub_epi64(values, _mm512_set1_epi64(static_cast<long long>(minimum))),
                                     _mm512_set1_epi64(static_cast<long long>(width)));
    }
  }
#endif

  /// Bit j of the result: whether group[j] is in the range, for kGroup elements.
  [[nodiscard]] std::uint64_t bits(const T* group) const {
#if defined(__AVX512BW__)
    constexpr int kLanes = 64 / static_cast<int>(sizeof(T));
    if constexpr (kLanes == kGroup) return mask(group);  // 8-bit elements
    std::uint64_t bits = 0;
    for (int first = 0; first < kGroup; first += kLanes) {
      auto some = static_cast<std::uint32_t>(mask(group + first));
      // Extend in a general register: GCC 12 may spill a mask of 32 bits and load 64 bits back.
      asm("" : "+r"(some));
      bits |= std::uint64_t{some} << first;
    }
    return bits;
#else
    std::uint8_t keep[kGroup];
    for (int j = 0; j < kGroup; ++j) keep[j] = holds(group[j]) ? 1 : 0;
    return bits_of(keep);
#endif
  }
};

// Prefetches the rows that the next block reads first, because hardware prefetching stops at page boundaries. The
// target is L2: on Zen 4, filling L1 delays the computation.
constexpr int kAhead = 1024;
constexpr int kLine = 64;

template <class T>
Range<T> range_of(std::int64_t minimum, std::int64_t maximum) {
  using U = typename Range<T>::U;
  const auto low = static_cast<U>(minimum);
  return {low, static_cast<U>(static_cast<U>(maximum) - low)};
}

template <class T>
inline void prefetch_ahead(const T* group) {
  for (int line = 0; line < kGroup * static_cast<int>(sizeof(T)); line += kLine) {
    _mm_prefetch(reinterpret_cast<const char*>(group + kAhead) + line, _MM_HINT_T1);
  }
}

template <class T>
int mark(const void* in, int n, std::int64_t minimum, std::int64_t maximum, std::uint64_t* marks) {
  const auto* from = static_cast<const T*>(in);
  const Range<T> range = range_of<T>(minimum, maximum);
  return clear_marks(marks, n, [=](int first) {
    prefetch_ahead(from + first);
    if (n - first >= kGroup) return range.bits(from + first);
    std::uint64_t bits = 0;
    for (int i = first; i < n; ++i) bits |= std::uint64_t{range.holds(from[i])} << (i - first);
    return bits;
  });
}

template <class T>
int select(const void* in, const std::int32_t* rows, int n, std::int64_t minimum, std::int64_t maximum,
           std::int32_t* kept) {
  const auto* from = static_cast<const T*>(in);
  const Range<T> range = range_of<T>(minimum, maximum);
  std::int32_t* to = kept;
  if (rows != nullptr) {
    for (int i = 0; i < n; ++i) {
      const std::int32_t row = rows[i];
      *to = row;
      to += range.holds(from[row]) ? 1 : 0;
    }
    return static_cast<int>(to - kept);
  }
  int i = 0;
  for (; i + kGroup <= n; i += kGroup) {
    prefetch_ahead(from + i);
    to = append_places(range.bits(from + i), i, to);
  }
  for (; i < n; ++i) {
    *to = i;
    to += range.holds(from[i]) ? 1 : 0;
  }
  return static_cast<int>(to - kept);
}

/// Rows outside the range count as 0, so that no row waits for the comparison of another row.
template <class T>
RangeSum sum_in_range(const void* key, std::int64_t minimum, std::int64_t maximum, const std::int64_t* left,
                      const std::int64_t* right, int n) {
  const auto* keys = static_cast<const T*>(key);
  const Range<T> range = range_of<T>(minimum, maximum);
  std::int64_t rows = 0;
  std::int64_t sum = 0;
  std::int64_t left_bits = 0;
  std::int64_t right_bits = 0;
  const auto bits = [](std::int64_t value) { return value ^ (value >> 63); };
  if (right == nullptr) {
    for (int i = 0; i < n; ++i) {
      const std::int64_t mask = range.holds(keys[i]) ? -1 : 0;
      const std::int64_t value = left[i] & mask;
      rows -= mask;
      sum += value;
      left_bits |= bits(value);
    }
  } else {
    for (int i = 0; i < n; ++i) {
      const std::int64_t mask = range.holds(keys[i]) ? -1 : 0;
      const std::int64_t a = left[i] & mask;
      const std::int64_t b = right[i] & mask;
      rows -= mask;
      sum += a * b;
      left_bits |= bits(a);
      right_bits |= bits(b);
    }
  }
  return {static_cast<int>(rows), sum, static_cast<std::uint64_t>(left_bits), static_cast<std::uint64_t>(right_bits)};
}

// ---------------------------------------------------------------------------------------------------------- operations

template <class T, class Out, class F>
inline void each(const T* a, bool one_a, const T* b, bool one_b, int n, Out* out, F f) {
  if (one_a && one_b) {
    const Out all = f(*a, *b);
    for (int i = 0; i < n; ++i) out[i] = all;
  } else if (one_a) {
    const T left = *a;
    for (int i = 0; i < n; ++i) out[i] = f(left, b[i]);
  } else if (one_b) {
    const T right = *b;
    for (int i = 0; i < n; ++i) out[i] = f(a[i], right);
  } else {
    for (int i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
  }
}

template <class T>
inline bool is_less(T a, T b) {
  return a < b || (b != b && a == a);
}
template <class T>
inline bool is_greater(T a, T b) {
  return is_less(b, a);
}
template <class T>
inline bool is_equal(T a, T b) {
  return a == b || (a != a && b != b);
}

/// Computes kF(a[i], b[i]) for every pair.
template <class T, class Out, auto kF>
void binary(const T* a, bool one_a, const T* b, bool one_b, int n, Out* out) {
  each(a, one_a, b, one_b, n, out, kF);
}

constexpr int kLanes = 8;  // lanes of a sum: the same number for every instruction set

template <class T>
T sum(const T* in, int n) {
  T lanes[kLanes];
  for (T& lane : lanes) lane = static_cast<T>(-0.0);  // for floats, the value that changes no bit
  int i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const T* const group = in + i;
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += group[lane];
  }
  for (int lane = 0; i < n; ++i, ++lane) lanes[lane] += in[i];
  for (int step = kLanes / 2; step > 0; step /= 2) {
    for (int lane = 0; lane < step; ++lane) lanes[lane] += lanes[lane + step];
  }
  return lanes[0];
}

/// Returns the first element that no other element precedes.
template <class T, bool (*kPrecedes)(T, T)>
T extreme(const T* in, int n) {
  T value = in[0];
  for (int i = 1; i < n; ++i) value = kPrecedes(in[i], value) ? in[i] : value;
  return value;
}

std::uint64_t magnitude(const std::int64_t* in, int n) {
  constexpr int kStep = cpu::kLanes<std::int64_t>;
  auto all = cpu::splat<std::int64_t>(0);
  int i = 0;
  for (; i + kStep <= n; i += kStep) {
    const auto values = cpu::load(in + i);
    for (int r = 0; r < cpu::kRegisters; ++r) all.reg[r] |= values.reg[r] ^ (values.reg[r] >> 63);
  }
  std::int64_t bits = 0;
  for (int r = 0; r < cpu::kRegisters; ++r) {
    for (int lane = 0; lane < cpu::kRegisterLanes<std::int64_t>; ++lane) bits |= all.reg[r][lane];
  }
  for (; i < n; ++i) bits |= in[i] ^ (in[i] >> 63);
  return static_cast<std::uint64_t>(bits);
}

// -------------------------------------------------------------------------------------------------------------- groups

void append_digit(const std::int32_t* before, const std::int32_t* digit, std::int32_t size, int n,
                  std::int32_t* number) {
  for (int i = 0; i < n; ++i) number[i] = before[i] * size + digit[i];
}

void distances(const std::int64_t* in, std::int64_t from, int n, std::int32_t* number) {
  for (int i = 0; i < n; ++i) number[i] = static_cast<std::int32_t>(in[i] - from);
}

bool look_up(const std::int32_t* groups, [[maybe_unused]] int size, const std::int32_t* number, int n,
             std::int32_t unknown, std::int32_t* group) {
  int i = 0;
  bool any = false;
#if defined(__AVX512F__)
  if (size <= 16) {
    const __m512i all = _mm512_maskz_loadu_epi32(static_cast<__mmask16>((1U << size) - 1), groups);
    const __m512i none = _mm512_set1_epi32(unknown);
    __mmask16 some = 0;
    for (; i + 16 <= n; i += 16) {
      const __m512i found = _mm512_permutexvar_epi32(_mm512_loadu_si512(number + i), all);
      some |= _mm512_cmpeq_epi32_mask(found, none);
      _mm512_storeu_si512(group + i, found);
    }
    any = some != 0;
  }
#endif
  for (; i < n; ++i) {
    group[i] = groups[number[i]];
    any |= group[i] == unknown;
  }
  return any;
}

void drop(const std::uint64_t* marks, int n, std::int32_t* group) {
  int i = 0;
#if defined(__AVX512F__)
  for (; i + kGroup <= n; i += kGroup, ++marks) {
    for (int at = 0; at < kGroup; at += 16) {
      _mm512_mask_storeu_epi32(group + i + at, static_cast<__mmask16>(~*marks >> at), _mm512_set1_epi32(kNoGroup));
    }
  }
#endif
  for (; i < n; i += kGroup, ++marks) {
    for (int j = 0; j < kGroup && i + j < n; ++j) {
      if (((*marks >> j) & 1) == 0) group[i + j] = kNoGroup;
    }
  }
}

#if defined(__AVX512F__)
/// Keeps every group's sum in a register, so that no value waits for the previous one.
template <std::size_t kGroups>
void sum_masked(const std::int64_t* in, const std::int32_t* group, int n, std::int64_t* sums) {
  constexpr int kWide = 8;
  __m512i total[kGroups];
  for (auto& sum : total) sum = _mm512_setzero_si512();
  int i = 0;
  for (; i + kWide <= n; i += kWide) {
    const __m512i values = _mm512_loadu_si512(in + i);
    const __m256i groups = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(group + i));
    for (std::size_t g = 0; g < kGroups; ++g) {
      const __mmask8 mine = _mm256_cmpeq_epi32_mask(groups, _mm256_set1_epi32(static_cast<int>(g)));
      total[g] = _mm512_mask_add_epi64(total[g], mine, total[g], values);
    }
  }
  for (std::size_t g = 0; g < kGroups; ++g) {
    for (int lane = 0; lane < kWide; ++lane) sums[g] += total[g][lane];
  }
  for (; i < n; ++i) sums[group[i]] += in[i];
}
#else
/// Keeps four copies of the sums, so that no value waits for the previous one.
template <std::size_t kGroups>
void sum_masked(const std::int64_t* in, const std::int32_t* group, int n, std::int64_t* sums) {
  constexpr int kCopies = 4;
  std::int64_t copies[kCopies][kGroups + 1] = {};
  int i = 0;
  for (; i + kCopies <= n; i += kCopies) {
    for (int c = 0; c < kCopies; ++c) copies[c][group[i + c] + 1] += in[i + c];
  }
  for (; i < n; ++i) copies[0][group[i] + 1] += in[i];
  for (std::size_t g = 0; g < kGroups; ++g) {
    for (int c = 0; c < kCopies; ++c) sums[g] += copies[c][g + 1];
  }
}
#endif

void sum_groups(const std::int64_t* in, const std::int32_t* group, int n, int groups, std::int64_t* sums) {
  constexpr decltype(&sum_masked<1>) kFew[kFewGroups] = {sum_masked<1>, sum_masked<2>, sum_masked<3>, sum_masked<4>,
                                                         sum_masked<5>, sum_masked<6>, sum_masked<7>, sum_masked<8>};
  if (groups <= kFewGroups) return kFew[groups - 1](in, group, n, sums);
  for (int i = 0; i < n; ++i) sums[group[i]] += in[i];
}

void count_few(const std::int32_t* group, int n, int groups, std::int64_t* counts) {
  for (std::int32_t g = 0; g < groups; ++g) {
    std::int32_t rows = 0;
    for (int i = 0; i < n; ++i) rows += group[i] == g ? 1 : 0;
    counts[g] = rows;
  }
}

template <class T>
constexpr TypedKernels<T> kTyped{
    .add = binary<T, T, [](T x, T y) { return x + y; }>,
    .subtract = binary<T, T, [](T x, T y) { return x - y; }>,
    .multiply = binary<T, T, [](T x, T y) { return x * y; }>,
    .compare = {binary<T, std::uint8_t, [](T x, T y) -> std::uint8_t { return is_equal(x, y); }>,
                binary<T, std::uint8_t, [](T x, T y) -> std::uint8_t { return !is_equal(x, y); }>,
                binary<T, std::uint8_t, [](T x, T y) -> std::uint8_t { return is_less(x, y); }>,
                binary<T, std::uint8_t, [](T x, T y) -> std::uint8_t { return !is_less(y, x); }>},
    .sum = sum<T>,
    .minimum = extreme<T, is_less<T>>,
    .maximum = extreme<T, is_greater<T>>};

constexpr Kernels kTable{
    .take = {take<std::int8_t>, take<std::int16_t>, take<std::int32_t>, take<std::int64_t>, take<std::uint8_t>,
             take<std::uint16_t>, take<std::uint32_t>, take<std::uint64_t>, nullptr, take<float>, take<double>,
             nullptr},
    .select = {select<std::int8_t>, select<std::int16_t>, select<std::int32_t>, select<std::int64_t>,
               select<std::uint8_t>, select<std::uint16_t>, select<std::uint32_t>, nullptr, nullptr, nullptr, nullptr,
               nullptr},
    .mark = {mark<std::int8_t>, mark<std::int16_t>, mark<std::int32_t>, mark<std::int64_t>, mark<std::uint8_t>,
             mark<std::uint16_t>, mark<std::uint32_t>, nullptr, nullptr, nullptr, nullptr, nullptr},
    .sum_in_range = {sum_in_range<std::int8_t>, sum_in_range<std::int16_t>, sum_in_range<std::int32_t>,
                     sum_in_range<std::int64_t>, sum_in_range<std::uint8_t>, sum_in_range<std::uint16_t>,
                     sum_in_range<std::uint32_t>, nullptr, nullptr, nullptr, nullptr, nullptr},
    .integers = kTyped<std::int64_t>,
    .reals = kTyped<double>,
    .places = places,
    .mark_true = mark_true,
    .marked = marked,
    .magnitude = magnitude,
    .append_digit = append_digit,
    .distances = distances,
    .look_up = look_up,
    .drop = drop,
    .sum_groups = sum_groups,
    .count_few = count_few,
    .functions = &UPSWEEP_FUNCTIONS_NAME(UPSWEEP_ISA)};

}  // namespace

const Kernels& UPSWEEP_KERNELS_NAME(UPSWEEP_ISA)() noexcept { return kTable; }

}  // namespace upsweep::expression
