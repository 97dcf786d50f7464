// SPDX-License-Identifier: Apache-2.0
// cpu/list_kernels.cpp: folds short lists, one list per SIMD lane, compiled once per instruction set.
//
// The slow part of a loop over short lists is its exit, which is mispredicted once per list: 9 ns. These kernels load
// eight elements of each of 8 or 16 lists, whatever their lengths, and transpose them. The first vector then contains
// the first elements of all lists, and the next vector the second elements. Every lane folds until its list ends. The
// order within a list is that of a loop.
#include "cpu/list_kernels.hpp"

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/visit.hpp"
#include "cpu/simd.hpp"
#include "cpu/tuning/lists.hpp"

#define UPSWEEP_LIST_TABLE(isa) UPSWEEP_LIST_TABLE_OF(isa)
#define UPSWEEP_LIST_TABLE_OF(isa) list_kernels_##isa

namespace upsweep::cpu {
namespace {

constexpr int kDepth = 8;  // elements of a list that are transposed at a time

/// The signed integer type of a lane of the same width as T: lengths and positions.
template <class T>
using Lane = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;

/// Eight elements of each of kLanes<T> lists: vector j has the j-th element of every list.
template <class T>
struct Columns {
  Vector<T> at[kDepth];
};

/// Exchanges the blocks of kHalf elements next to the diagonal: a step of transposing squares in registers.
template <class T, int kHalf, std::size_t kCount>
UPSWEEP_INLINE void exchange(Register<T> (&r)[kCount]) {
  constexpr int kWidth = kRegisterLanes<T>;
  for (std::size_t i = 0; i < kCount; ++i) {
    if ((i & kHalf) != 0) continue;
    const Register<T> a = r[i];
    const Register<T> b = r[i + kHalf];
    r[i] = shuffle<T, [](int j) { return (j & kHalf) != 0 ? j - kHalf + kWidth : j; }>(a, b);
    r[i + kHalf] = shuffle<T, [](int j) { return (j & kHalf) != 0 ? j + kWidth : j + kHalf; }>(a, b);
  }
}

/// Transposes squares of kCount x kCount elements that are next to each other in kCount registers.
template <class T, int kHalf, std::size_t kCount>
UPSWEEP_INLINE void transpose(Register<T> (&r)[kCount]) {
  if constexpr (std::size_t{kHalf} < kCount) {
    exchange<T, kHalf>(r);
    transpose<T, 2 * kHalf>(r);
  }
}

template <class T>
UPSWEEP_INLINE Register<T> load_register(const T* from) {
  return *reinterpret_cast<const typename RegisterOf<T>::Unaligned*>(from);
}

/// Loads elements starts[q] + first … starts[q] + first + 7 of lists q = 0 … kLanes<T> - 1.
template <class T>
UPSWEEP_INLINE Columns<T> load_columns(const T* content, const std::int64_t* starts, std::int64_t first) {
  constexpr int kWidth = kRegisterLanes<T>;
  constexpr int kSide = kWidth < kDepth ? kWidth : kDepth;  // of a square
  const T* const x = content + first;
  Columns<T> columns;
  for (int g = 0; g < kRegisters; ++g) {
    const std::int64_t* const start = starts + std::ptrdiff_t{g} * kWidth;
    for (int depth = 0; depth < kDepth; depth += kSide) {
      Register<T> r[std::size_t{kSide}];
      for (int q = 0; q < kSide; ++q) {
#if UPSWEEP_REGISTER_BYTES == 64
        if constexpr (sizeof(T) == 4) {  // two lists to a register
          const auto low = (__v4di)_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + start[q]));
          const auto high = (__v4di)_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + start[q + kDepth]));
          r[q] = (Register<T>)__builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
          continue;
        }
#endif
        r[q] = load_register(x + start[q] + depth);
      }
      transpose<T, 1>(r);
      for (int q = 0; q < kSide; ++q) columns.at[depth + q].reg[g] = r[q];
    }
  }
  return columns;
}

template <class R, int... kLane>
UPSWEEP_INLINE auto join(R low, R high, std::integer_sequence<int, kLane...>) {
  return __builtin_shufflevector(low, high, kLane...);
}

template <class T, int kHalf>
UPSWEEP_INLINE Register<T> max_levels(Register<T> v) {
  if constexpr (kHalf == 0) {
    return v;
  } else {
    const Register<T> other = shuffle<T, [](int j) { return (j + kHalf) % kRegisterLanes<T>; }>(v, v);
    return max_levels<T, kHalf / 2>(v > other ? v : other);
  }
}

template <class T>
UPSWEEP_INLINE T max_of(const Vector<T>& v) {
  Register<T> most = v.reg[0];
  for (int r = 1; r < kRegisters; ++r) most = v.reg[r] > most ? v.reg[r] : most;
  return max_levels<T, kRegisterLanes<T> / 2>(most)[0];
}

typedef std::int32_t HalfRegister __attribute__((vector_size(kRegisterBytes / 2)));
UPSWEEP_INLINE HalfRegister narrowed(Register<std::int64_t> v) { return __builtin_convertvector(v, HalfRegister); }

/// Returns the lengths of kLanes<T> lists.
template <class T>
UPSWEEP_INLINE Vector<Lane<T>> lengths_of(const std::int64_t* starts, const std::int64_t* stops) {
  Vector<Lane<T>> lengths;
  if constexpr (sizeof(T) == 8) {
    const Vector<std::int64_t> from = load(starts);
    const Vector<std::int64_t> to = load(stops);
    for (int r = 0; r < kRegisters; ++r) lengths.reg[r] = to.reg[r] - from.reg[r];
  } else {
    constexpr int kWide = kRegisterLanes<std::int64_t>;
    for (int r = 0; r < kRegisters; ++r) {
      const std::int64_t* const from = starts + std::ptrdiff_t{2} * r * kWide;
      const std::int64_t* const to = stops + std::ptrdiff_t{2} * r * kWide;
      lengths.reg[r] = join(narrowed(load_register(to) - load_register(from)),
                            narrowed(load_register(to + kWide) - load_register(from + kWide)),
                            std::make_integer_sequence<int, 2 * kWide>{});
    }
  }
  return lengths;
}

/// kLanes<T> lists, one per lane.
template <class T>
struct ListPerLane {
  Vector<Lane<T>> lengths;
  std::int64_t longest;
  std::int64_t stop;  // of the last one

  UPSWEEP_INLINE ListPerLane(const std::int64_t* starts, const std::int64_t* stops)
      : lengths(lengths_of<T>(starts, stops)), longest(max_of(lengths)), stop(stops[kLanes<T> - 1]) {}
};

/// Returns how many of the lists can be read by whole columns: all before the first list that is too near to `end`,
/// rounded down to whole groups of kLanes<T>.
template <class T>
UPSWEEP_INLINE std::int64_t readable(const std::int64_t* starts, const std::int64_t* stops, std::int64_t lists,
                                     std::int64_t end) {
  constexpr std::int64_t kGroup = kLanes<T>;
  std::int64_t last = 0;
  std::int64_t longest = 0;
  for (std::int64_t i = 0; i < lists; ++i) {
    last = starts[i] > last ? starts[i] : last;
    longest = stops[i] - starts[i] > longest ? stops[i] - starts[i] : longest;
  }
  if (last + longest + kDepth - 1 <= end) return lists / kGroup * kGroup;
  std::int64_t i = 0;
  for (; i + kGroup <= lists; i += kGroup) {
    std::int64_t group_last = 0;
    std::int64_t group_longest = 0;
    for (std::int64_t q = i; q < i + kGroup; ++q) {
      group_last = starts[q] > group_last ? starts[q] : group_last;
      group_longest = stops[q] - starts[q] > group_longest ? stops[q] - starts[q] : group_longest;
    }
    if (group_last + group_longest + kDepth - 1 > end) break;
  }
  return i;
}

/// Returns how many bytes ahead content is prefetched, if the lists follow each other. The distance is at least the
/// bytes of a group, because lists in lanes are read at many places at the same time, which no hardware prefetcher
/// predicts. The distance also covers the memory latency.
template <class T>
UPSWEEP_INLINE std::int64_t bytes_ahead(const std::int64_t* starts, const ListPerLane<T>& lists) {
  constexpr std::int64_t kLeast = tuning::kListKernels.fetch_bytes;
  const std::int64_t elements = lists.stop - starts[0];
  if (elements < 0 || elements > kLanes<T> * lists.longest) return 0;  // loaded anyway
  const std::int64_t bytes = elements * std::int64_t{sizeof(T)};
  return bytes > kLeast ? bytes : kLeast;
}

/// Prefetches the number of bytes that load_columns() loads; half of it if no list has more than kDepth elements.
template <class T>
UPSWEEP_INLINE void fetch(std::uintptr_t at, const ListPerLane<T>& lists) {
  const int lines = lists.longest <= kDepth ? kDepth / 2 : kDepth;
  for (int line = 0; line < lines; ++line) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): it may lie past the end, where no pointer may point
    _mm_prefetch(reinterpret_cast<const char*>(at + static_cast<std::uintptr_t>(line) * kVectorBytes), _MM_HINT_T0);
  }
}

/// Calls begin(first elements), then step(j, column) for the vectors of the first, second, … elements of the lists.
template <class T, class Begin, class Step>
UPSWEEP_INLINE void for_each_column(const T* content, const std::int64_t* starts, const ListPerLane<T>& lists,
                                    Begin begin, Step step) {
  auto ahead =
      reinterpret_cast<std::uintptr_t>(content + starts[0]) + static_cast<std::uintptr_t>(bytes_ahead(starts, lists));
  for (std::int64_t first = 0; first < lists.longest; first += kDepth, ahead += kDepth * kVectorBytes) {
    const Columns<T> columns = load_columns(content, starts, first);
    fetch(ahead, lists);
    if (first == 0) begin(columns.at[0]);
    for (int j = 0; j < kDepth; ++j) step(static_cast<Lane<T>>(first + j), columns.at[j]);
  }
}
template <class T, class Step>
UPSWEEP_INLINE void for_each_column(const T* content, const std::int64_t* starts, const ListPerLane<T>& lists,
                                    Step step) {
  for_each_column(content, starts, lists, [](const Vector<T>&) {}, step);
}

/// Returns b if it is less than a (or greater, by kGreatest), otherwise a; a also if b is NaN. Awkward Array's minima
/// and maxima use this rule.
template <bool kGreatest>
struct PassingOverNaN {
  template <class R>
  UPSWEEP_INLINE R operator()(R a, R b) const {
#if UPSWEEP_REGISTER_BYTES == 64
    // The instructions return their second operand if one is NaN, or both are zero.
    if constexpr (std::is_same_v<R, Register<float>>) return kGreatest ? _mm512_max_ps(b, a) : _mm512_min_ps(b, a);
    if constexpr (std::is_same_v<R, Register<double>>) return kGreatest ? _mm512_max_pd(b, a) : _mm512_min_pd(b, a);
#endif
    return (kGreatest ? b > a : b < a) ? b : a;
  }
};

/// The result of a list without elements.
enum class Empty : bool { init, zero };

/// Operation is a VectorOp or similar.
template <class T, class Operation, Empty kEmpty = Empty::init>
struct FoldPerLane {
  static void lists(const void*, const void* content, std::int64_t end, const std::int64_t* starts,
                    const std::int64_t* stops, std::int64_t lists, const void* init, void* out) {
    const T* const x = static_cast<const T*>(content);
    const T begin = *static_cast<const T*>(init);
    const Vector<T> begins = splat(begin);
    T* const to = static_cast<T*>(out);
    const std::int64_t in_lanes = readable<T>(starts, stops, lists, end);
    for (std::int64_t i = 0; i < in_lanes; i += kLanes<T>) {
      store(to + i, fold(x, starts + i, ListPerLane<T>(starts + i, stops + i), begins));
    }
    one_by_one(x, starts + in_lanes, stops + in_lanes, lists - in_lanes, begin, to + in_lanes);
  }

 private:
  UPSWEEP_INLINE static Vector<T> fold(const T* x, const std::int64_t* starts, const ListPerLane<T>& lists,
                                       Vector<T> total) {
    for_each_column(x, starts, lists, [&](Lane<T> j, const Vector<T>& column) {
      for (int r = 0; r < kRegisters; ++r) {
        const Register<T> next = Operation{}(total.reg[r], column.reg[r]);
        total.reg[r] = lists.lengths.reg[r] > j ? next : total.reg[r];
      }
    });
    if constexpr (kEmpty == Empty::zero) {
      for (int r = 0; r < kRegisters; ++r) {
        total.reg[r] = lists.lengths.reg[r] > 0 ? total.reg[r] : Register<T>{};
      }
    }
    return total;
  }

  static void one_by_one(const T* x, const std::int64_t* starts, const std::int64_t* stops, std::int64_t lists, T begin,
                         T* out) {
    for (std::int64_t i = 0; i < lists; ++i) {
      Register<T> total{begin};  // the same code as for vectors; a smaller variable would be kept in memory
      for (std::int64_t j = starts[i]; j < stops[i]; ++j) total = Operation{}(total, Register<T>{x[j]});
      out[i] = kEmpty == Empty::zero && starts[i] >= stops[i] ? T{0} : total[0];
    }
  }
};

// --------------------------------------------------------------------------------------------------------------- scans

/// Stores the first elements of a register, up to `left`. The list has `left` elements from `to` on.
template <class T>
UPSWEEP_INLINE void store_first(T* to, Register<T> v, std::int64_t left) {
  constexpr int kWidth = kRegisterLanes<T>;
#if UPSWEEP_REGISTER_BYTES == 64
  const auto mask = left >= kWidth ? ~0U : left <= 0 ? 0U : (1U << left) - 1;
  if constexpr (sizeof(T) == 8) {
    _mm512_mask_storeu_epi64(to, static_cast<__mmask8>(mask), (__m512i)v);
  } else {
    _mm512_mask_storeu_epi32(to, static_cast<__mmask16>(mask), (__m512i)v);
  }
#elif UPSWEEP_REGISTER_BYTES == 32
  constexpr Lane<T> kLane[] = {0, 1, 2, 3, 4, 5, 6, 7};
  const Register<Lane<T>> mask = load_register(kLane) < static_cast<Lane<T>>(left < kWidth ? left : kWidth);
  if constexpr (sizeof(T) == 8) {
    _mm256_maskstore_epi64(reinterpret_cast<long long*>(to), (__m256i)mask, (__m256i)v);
  } else {
    _mm256_maskstore_epi32(reinterpret_cast<int*>(to), (__m256i)mask, (__m256i)v);
  }
#else
  for (int j = 0; j < kWidth && j < left; ++j) to[j] = v[j];
#endif
}

/// Stores the elements of load_columns() back to their places, except those past a list's end.
template <class T>
UPSWEEP_INLINE void store_columns(T* out, const Columns<T>& columns, const std::int64_t* starts,
                                  const std::int64_t* stops, std::int64_t first) {
  constexpr int kWidth = kRegisterLanes<T>;
  constexpr int kSide = kWidth < kDepth ? kWidth : kDepth;
  T* const to = out + first;
  for (int g = 0; g < kRegisters; ++g) {
    const std::int64_t* const start = starts + std::ptrdiff_t{g} * kWidth;
    const std::int64_t* const stop = stops + std::ptrdiff_t{g} * kWidth;
    for (int depth = 0; depth < kDepth; depth += kSide) {
      Register<T> r[std::size_t{kSide}];
      for (int q = 0; q < kSide; ++q) r[q] = columns.at[depth + q].reg[g];
      transpose<T, 1>(r);
      // A register may hold elements of two lists: at most kSide belong to the first one.
      const auto left = [&](int q) {
        const std::int64_t elements = stop[q] - start[q] - first - depth;
        return elements < kSide ? elements : kSide;
      };
      for (int q = 0; q < kSide; ++q) {
        store_first<T>(to + start[q] + depth, r[q], left(q));
#if UPSWEEP_REGISTER_BYTES == 64
        if constexpr (sizeof(T) == 4) {
          const auto high = shuffle<T, [](int j) { return (j + kDepth) % kRegisterLanes<T>; }>(r[q], r[q]);
          store_first<T>(to + start[q + kDepth], high, left(q + kDepth));
        }
#endif
      }
    }
  }
}

template <class T, class Op>
struct ScanPerLane {
  static void lists(const void*, const void* content, std::int64_t end, const std::int64_t* starts,
                    const std::int64_t* stops, std::int64_t lists, const void* init, bool exclusive, void* out) {
    const T* const x = static_cast<const T*>(content);
    T* const to = static_cast<T*>(out);
    const T begin = *static_cast<const T*>(init);
    const Vector<T> begins = splat(begin);
    const std::int64_t in_lanes = readable<T>(starts, stops, lists, end);
    for (std::int64_t i = 0; i < in_lanes; i += kLanes<T>) {
      const ListPerLane<T> group(starts + i, stops + i);
      if (mostly_idle(group.longest, starts + i, stops + i)) {
        one_by_one(x, starts + i, stops + i, kLanes<T>, begin, exclusive, to);
      } else if (exclusive) {
        scan<true>(x, starts + i, stops + i, group.longest, begins, to);
      } else {
        scan<false>(x, starts + i, stops + i, group.longest, begins, to);
      }
    }
    one_by_one(x, starts + in_lanes, stops + in_lanes, lists - in_lanes, begin, exclusive, to);
  }

 private:
  /// Whether, with one list per lane, most lanes would wait for the longest list. Up to 32 elements this is accepted.
  UPSWEEP_INLINE static bool mostly_idle(std::int64_t longest, const std::int64_t* starts, const std::int64_t* stops) {
    if (longest <= 32) return false;
    std::int64_t elements = 0;
    for (int q = 0; q < kLanes<T>; ++q) elements += stops[q] - starts[q];
    return elements < kLanes<T> / 2 * longest;
  }

  template <bool kExclusive>
  UPSWEEP_INLINE static void scan(const T* x, const std::int64_t* starts, const std::int64_t* stops,
                                  std::int64_t longest, Vector<T> total, T* out) {
    for (std::int64_t first = 0; first < longest; first += kDepth) {
      Columns<T> columns = load_columns(x, starts, first);
      for (int j = 0; j < kDepth; ++j) {  // elements past a list's end are not stored
        const Vector<T> before = total;
        total = combine<T>(VectorOp<Op>{}, total, columns.at[j]);
        columns.at[j] = kExclusive ? before : total;
      }
      store_columns(out, columns, starts, stops, first);
    }
  }

  static void one_by_one(const T* x, const std::int64_t* starts, const std::int64_t* stops, std::int64_t lists, T begin,
                         bool exclusive, T* out) {
    for (std::int64_t i = 0; i < lists; ++i) {
      Register<T> total{begin};
      for (std::int64_t j = starts[i]; j < stops[i]; ++j) {
        const Register<T> before = total;
        total = VectorOp<Op>{}(total, Register<T>{x[j]});
        out[j] = exclusive ? before[0] : total[0];
      }
    }
  }
};

// ---------------------------------------------------------------------------------------------------------------- rows

enum class Writes : std::uint8_t { nothing, before, after };

template <class T, class Op>
struct Rows {
  static void fold(const void* in, std::int64_t apart, std::int64_t rows, std::int64_t n, void* totals, void* outs,
                   std::int64_t out_apart, bool exclusive) {
    const T* const x = static_cast<const T*>(in);
    T* const total = static_cast<T*>(totals);
    T* const out = static_cast<T*>(outs);
    for (std::int64_t r = 0; r < rows; ++r) {
      if (out == nullptr) {
        row<Writes::nothing>(x + r * apart, total, nullptr, n);
      } else if (exclusive) {
        row<Writes::before>(x + r * apart, total, out + r * out_apart, n);
      } else {
        row<Writes::after>(x + r * apart, total, out + r * out_apart, n);
      }
    }
  }

 private:
  using Unaligned = typename RegisterOf<T>::Unaligned;

  template <Writes kWrites>
  UPSWEEP_INLINE static void row(const T* x, T* total, T* out, std::int64_t n) {
    constexpr int kWidth = kRegisterLanes<T>;
    std::int64_t j = 0;
    for (; j + kWidth <= n; j += kWidth) {
      const Register<T> before = load_register(total + j);
      const Register<T> after = VectorOp<Op>{}(before, load_register(x + j));
      *reinterpret_cast<Unaligned*>(total + j) = after;
      if constexpr (kWrites != Writes::nothing) {
        *reinterpret_cast<Unaligned*>(out + j) = kWrites == Writes::before ? before : after;
      }
    }
    for (; j < n; ++j) {
      const T before = total[j];
      total[j] = VectorOp<Op>{}(Register<T>{before}, Register<T>{x[j]})[0];
      if constexpr (kWrites != Writes::nothing) out[j] = kWrites == Writes::before ? before : total[j];
    }
  }
};

// ------------------------------------------------------------------------------------------------------ argmin, argmax

/// The first smallest or largest element of kLanes<T> lists, and its position.
template <class T, bool kGreatest>
class Picked {
 public:
  UPSWEEP_INLINE explicit Picked(const Vector<Lane<T>>& lengths) {
    for (int r = 0; r < kRegisters; ++r) at_.reg[r] = lengths.reg[r] > 0 ? Lanes{} : Lanes{} - 1;
  }

  /// Processes the elements at j: those of lists that are longer than j.
  UPSWEEP_INLINE void next(Lane<T> j, const Vector<T>& column, const Vector<Lane<T>>& lengths) {
    const Vector<T> worst = splat(kWorst);
    const Vector<Lane<T>> here = splat(j);
    for (int r = 0; r < kRegisters; ++r) {
      const Register<T> best = best_.reg[r];
      const Register<T> x = lengths.reg[r] > j ? column.reg[r] : worst.reg[r];
      best_.reg[r] = extremum<kGreatest>(best, x);
      // If x is neither less nor equal, it is larger, or one of the two is NaN.
      const auto is_behind = kGreatest ? x <= best : x >= best;
      at_.reg[r] = (is_behind | (best != best)) ? at_.reg[r] : here.reg[r];
    }
  }

  /// Returns -1 for an empty list.
  [[nodiscard]] UPSWEEP_INLINE const Vector<Lane<T>>& at() const { return at_; }

 private:
  using Lanes = Register<Lane<T>>;
  /// Every element is picked before it, except equal ones. In a list of only equal ones, the first stays picked.
  static constexpr T kWorst = identity<T>(kGreatest ? Operator::max : Operator::min);

  Vector<T> best_ = splat(kWorst);
  Vector<Lane<T>> at_;
};

/// Whether b is picked before a: smaller or larger, or the first NaN.
template <bool kGreatest, class T>
UPSWEEP_INLINE bool precedes(T a, T b) {
  return (kGreatest ? b > a : b < a) || (b != b && a == a);
}

template <class T, bool kGreatest>
void pick_lists(const void* content, std::int64_t end, const std::int64_t* starts, const std::int64_t* stops,
                std::int64_t lists, std::int64_t* out) {
  const T* const x = static_cast<const T*>(content);
  const std::int64_t side_by_side = readable<T>(starts, stops, lists, end);
  for (std::int64_t i = 0; i < side_by_side; i += kLanes<T>) {
    const ListPerLane<T> group(starts + i, stops + i);
    Picked<T, kGreatest> picked(group.lengths);
    for_each_column(x, starts + i, group,
                    [&](Lane<T> j, const Vector<T>& column) { picked.next(j, column, group.lengths); });
    Lane<T> lane[std::size_t{kLanes<T>}];
    store(lane, picked.at());
    for (int q = 0; q < kLanes<T>; ++q) out[i + q] = lane[q];
  }
  for (std::int64_t i = side_by_side; i < lists; ++i) {
    std::int64_t best = starts[i];
    for (std::int64_t j = best + 1; j < stops[i]; ++j) {
      if (precedes<kGreatest>(x[best], x[j])) best = j;
    }
    out[i] = starts[i] < stops[i] ? best - starts[i] : -1;
  }
}

/// The position in the content of the first smallest or largest element of each list. NaN is neither, unless a list
/// begins with it.
template <class T, bool kGreatest>
struct PlacePerLane {
  static void lists(const void* content, std::int64_t end, const std::int64_t* starts, const std::int64_t* stops,
                    std::int64_t lists, std::int64_t* out) {
    const T* const x = static_cast<const T*>(content);
    const std::int64_t in_lanes = readable<T>(starts, stops, lists, end);
    for (std::int64_t i = 0; i < in_lanes; i += kLanes<T>) {
      const ListPerLane<T> group(starts + i, stops + i);
      put(positions(x, starts + i, group), starts + i, stops + i, out + i);
    }
    for (std::int64_t i = in_lanes; i < lists; ++i) {
      std::int64_t best = starts[i];
      for (std::int64_t j = best + 1; j < stops[i]; ++j) {
        if (kGreatest ? x[j] > x[best] : x[j] < x[best]) best = j;
      }
      out[i] = starts[i] < stops[i] ? best : -1;
    }
  }

 private:
  /// Returns positions within their lists.
  UPSWEEP_INLINE static Vector<Lane<T>> positions(const T* x, const std::int64_t* starts, const ListPerLane<T>& lists) {
    Vector<T> best{};
    Vector<Lane<T>> at{};
    for_each_column(
        x, starts, lists, [&](const Vector<T>& column) { best = column; },
        [&](Lane<T> j, const Vector<T>& column) {
          const Vector<Lane<T>> here = splat(j);
          for (int r = 0; r < kRegisters; ++r) {
            const Register<T> next = column.reg[r];
            const auto is_better =
                (kGreatest ? next > best.reg[r] : next < best.reg[r]) & (lists.lengths.reg[r] > here.reg[r]);
            best.reg[r] = is_better ? next : best.reg[r];
            at.reg[r] = is_better ? here.reg[r] : at.reg[r];
          }
        });
    return at;
  }

  UPSWEEP_INLINE static void put(const Vector<Lane<T>>& at, const std::int64_t* starts, const std::int64_t* stops,
                                 std::int64_t* out) {
    Lane<T> lane[std::size_t{kLanes<T>}];
    store(lane, at);
    for (int q = 0; q < kLanes<T>; ++q) out[q] = starts[q] < stops[q] ? starts[q] + lane[q] : -1;
  }
};

// -------------------------------------------------------------------------------------------------------------- bounds

template <class T>
ListsSeen read_bounds(const void* starts, const void* stops, std::int64_t lists, std::int64_t content,
                      std::int64_t* from, std::int64_t* to) {
  const T* const start = static_cast<const T*>(starts);
  const T* const stop = static_cast<const T*>(stops);
  std::int64_t bad = 0;
  std::int64_t longest = 0;
  std::int64_t shortest = INT64_MAX;
  for (std::int64_t i = 0; i < lists; ++i) {
    const auto first = static_cast<std::int64_t>(start[i]);
    const auto last = static_cast<std::int64_t>(stop[i]);
    const std::int64_t length = last - first;
    const std::int64_t is_given = (length | -length) >> 63;  // all bits unless the list is empty
    // The sign of any of these: if start and stop are not negative, no difference wraps.
    bad |= length | (is_given & (first | last | (content - last)));
    longest = length > longest ? length : longest;
    shortest = length < shortest ? length : shortest;
    from[i] = first & is_given;
    to[i] = last & is_given;
  }
  return {bad, longest, shortest};
}

/// Subtracts `by` from the bounds of lists, except those of empty ones.
void shift_bounds(std::int64_t* from, std::int64_t* to, std::int64_t lists, std::int64_t by) {
  for (std::int64_t i = 0; i < lists; ++i) {
    const std::int64_t shift = from[i] < to[i] ? by : 0;
    from[i] -= shift;
    to[i] -= shift;
  }
}

// ---------------------------------------------------------------------------------------------------------------- bits

template <class T>
UPSWEEP_INLINE std::uint64_t nonzero_of(const T* x, int count) {
  std::uint64_t bits = 0;
  for (int j = 0; j < count; ++j) bits |= static_cast<std::uint64_t>(x[j] != T{0}) << j;
  return bits;
}

/// Returns a word of 64 bits, one for each of 64 elements.
template <class T>
UPSWEEP_INLINE std::uint64_t nonzero_word(const T* x) {
  std::uint64_t bits = 0;
#if UPSWEEP_REGISTER_BYTES == 64
  constexpr int kCount = kLanes<T>;
  for (int j = 0; j < 64; j += kCount) {
    const __m512i v = _mm512_loadu_si512(x + j);
    std::uint64_t mask = 0;
    if constexpr (std::is_same_v<T, float>) {
      mask = _mm512_cmp_ps_mask(_mm512_castsi512_ps(v), _mm512_setzero_ps(), _CMP_NEQ_UQ);
    } else if constexpr (std::is_same_v<T, double>) {
      mask = _mm512_cmp_pd_mask(_mm512_castsi512_pd(v), _mm512_setzero_pd(), _CMP_NEQ_UQ);
    } else if constexpr (sizeof(T) == 1) {
      mask = _mm512_test_epi8_mask(v, v);
    } else if constexpr (sizeof(T) == 2) {
      mask = _mm512_test_epi16_mask(v, v);
    } else if constexpr (sizeof(T) == 4) {
      mask = _mm512_test_epi32_mask(v, v);
    } else {
      mask = _mm512_test_epi64_mask(v, v);
    }
    bits |= mask << j;
  }
#else
  // The bytes are 0 or 255. Eight of them become one bit each.
  for (int j = 0; j < 64; j += kLaneBytes) {
    alignas(kLaneBytes) signed char is_set[kLaneBytes];
    for (int b = 0; b < kLaneBytes; ++b) is_set[b] = x[j + b] != T{0} ? -1 : 0;
    const auto mask = static_cast<unsigned>(_mm_movemask_epi8(*reinterpret_cast<const __m128i*>(is_set)));
    bits |= std::uint64_t{mask} << j;
  }
#endif
  return bits;
}

template <class T>
void nonzero(const void* content, std::int64_t n, std::uint8_t* bits) {
  const T* const x = static_cast<const T*>(content);
  std::int64_t i = 0;
  for (; i + 64 <= n; i += 64) {
    const std::uint64_t word = nonzero_word(x + i);
    std::memcpy(bits + i / 8, &word, sizeof word);
  }
  for (; i < n; i += 8) {
    const std::int64_t left = n - i < 8 ? n - i : 8;
    bits[i / 8] = static_cast<std::uint8_t>(nonzero_of(x + i, static_cast<int>(left)));
  }
}

// A word that is read at any byte contains at least 57 bits from any bit on.
constexpr std::int64_t kBitsAtOnce = 57;

/// Returns bits from number `first` on, kBitsAtOnce of them or more.
UPSWEEP_INLINE std::uint64_t bits_from(const std::uint8_t* bits, std::int64_t first) {
  std::uint64_t word = 0;
  std::memcpy(&word, bits + first / 8, sizeof word);
  return word >> (first % 8);
}

/// Reduces lists of bits: up to kBitsAtOnce bits of a list, whose totals are added, and eight lists of up to eight
/// bits, each of which has a byte.
struct AnyBit {
  using Out = std::uint8_t;
  UPSWEEP_INLINE static std::int64_t of_some(std::uint64_t set, std::uint64_t /*given*/) { return set != 0; }
  UPSWEEP_INLINE static Out done(std::int64_t some) { return some != 0; }
#if UPSWEEP_REGISTER_BYTES == 64
  UPSWEEP_INLINE static void eight(std::uint64_t set, std::uint64_t /*given*/, Out* out) {
    const __m128i sets = _mm_cvtsi64_si128(static_cast<long long>(set));
    _mm_storeu_si64(out, _mm_maskz_set1_epi8(_mm_test_epi8_mask(sets, sets), 1));
  }
#endif
};

struct AllBits {
  using Out = std::uint8_t;
  UPSWEEP_INLINE static std::int64_t of_some(std::uint64_t set, std::uint64_t given) { return set != given; }
  UPSWEEP_INLINE static Out done(std::int64_t missing) { return missing == 0; }
#if UPSWEEP_REGISTER_BYTES == 64
  UPSWEEP_INLINE static void eight(std::uint64_t set, std::uint64_t given, Out* out) {
    const __mmask16 same = _mm_cmpeq_epi8_mask(_mm_cvtsi64_si128(static_cast<long long>(set)),
                                               _mm_cvtsi64_si128(static_cast<long long>(given)));
    _mm_storeu_si64(out, _mm_maskz_set1_epi8(same, 1));
  }
#endif
};

struct CountBits {
  using Out = std::int64_t;
  UPSWEEP_INLINE static std::int64_t of_some(std::uint64_t set, std::uint64_t /*given*/) {
    return __builtin_popcountll(set);
  }
  UPSWEEP_INLINE static Out done(std::int64_t count) { return count; }
#if UPSWEEP_REGISTER_BYTES == 64
  UPSWEEP_INLINE static void eight(std::uint64_t set, std::uint64_t /*given*/, Out* out) {
    constexpr std::uint64_t kPairs = 0x5555555555555555;
    constexpr std::uint64_t kFours = 0x3333333333333333;
    constexpr std::uint64_t kBytes = 0x0F0F0F0F0F0F0F0F;
    const std::uint64_t pairs = set - ((set >> 1) & kPairs);
    const std::uint64_t fours = (pairs & kFours) + ((pairs >> 2) & kFours);
    const std::uint64_t bytes = (fours + (fours >> 4)) & kBytes;
    _mm512_storeu_si512(out, _mm512_cvtepu8_epi64(_mm_cvtsi64_si128(static_cast<long long>(bytes))));
  }
#endif
};

#if UPSWEEP_REGISTER_BYTES == 64
/// Reduces eight lists of bits from number `first` on, if none has more than eight. Returns how many bits they have, or
/// -1.
template <class Reduced>
UPSWEEP_INLINE std::int64_t reduce_eight(const std::uint8_t* bits, std::int64_t first, const std::int64_t* starts,
                                         const std::int64_t* stops, typename Reduced::Out* out) {
  const __m512i lengths = _mm512_sub_epi64(_mm512_loadu_si512(stops), _mm512_loadu_si512(starts));
  if (_mm512_cmpgt_epi64_mask(lengths, _mm512_set1_epi64(8)) != 0) return -1;
  // Each list gets a byte with one low bit set for each of its bits. The bits are then deposited into these.
  const __m512i one = _mm512_set1_epi64(1);
  const __m512i ones = _mm512_sub_epi64(_mm512_sllv_epi64(one, lengths), one);
  const auto given = static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm512_cvtepi64_epi8(ones)));
  const std::int64_t count = __builtin_popcountll(given);
  if (count > kBitsAtOnce) return -1;
  Reduced::eight(_pdep_u64(bits_from(bits, first), given), given, out);
  return count;
}
#endif

/// out[i] ← the reduction of the bits of list i. Lists follow each other, from the first bit on.
template <class Reduced>
void reduce_bits(const std::uint8_t* bits, const std::int64_t* starts, const std::int64_t* stops, std::int64_t lists,
                 typename Reduced::Out* out) {
  std::int64_t first = 0;
  for (std::int64_t i = 0; i < lists;) {
#if UPSWEEP_REGISTER_BYTES == 64
    if (i + 8 <= lists) {
      const std::int64_t reduced = reduce_eight<Reduced>(bits, first, starts + i, stops + i, out + i);
      if (reduced >= 0) {
        first += reduced;
        i += 8;
        continue;
      }
    }
#endif
    const std::int64_t some = lists - i < 8 ? lists : i + 8;
    for (; i < some; ++i) {
      std::int64_t total = 0;
      const auto add_some = [&](std::int64_t count) {
        const std::uint64_t given = (std::uint64_t{1} << count) - 1;
        total += Reduced::of_some(bits_from(bits, first) & given, given);
        first += count;
      };
      std::int64_t left = stops[i] - starts[i];
      for (; left > kBitsAtOnce; left -= kBitsAtOnce) add_some(kBitsAtOnce);
      add_some(left);  // for a short or empty list, the only call
      out[i] = Reduced::done(total);
    }
  }
}

template <class T>
constexpr void add_type(ListKernels& table) {
  constexpr int kType = at(type_of<T>());
  table.nonzero[kType] = &nonzero<T>;
  if constexpr (is_list_bound(type_of<T>())) table.read_bounds[kType] = &read_bounds<T>;
  if constexpr (sizeof(T) >= 4) {
    for_each_operator<T>([&]<class Op>(Op) {
      using Element = CombinedAs<T, Op>;
      table.fold[kType][at(Op::kOperator)] = &FoldPerLane<Element, VectorOp<Op>>::lists;
      table.scan[kType][at(Op::kOperator)] = &ScanPerLane<Element, Op>::lists;
      table.rows[kType][at(Op::kOperator)] = &Rows<Element, Op>::fold;
    });
    if constexpr (T(0.5) != T(0)) table.sum[kType] = &FoldPerLane<T, VectorOp<Add>, Empty::zero>::lists;
    table.argmin[kType] = &pick_lists<T, false>;
    table.argmax[kType] = &pick_lists<T, true>;
    table.least[kType] = &FoldPerLane<T, PassingOverNaN<false>>::lists;
    table.greatest[kType] = &FoldPerLane<T, PassingOverNaN<true>>::lists;
    table.place_of_least[kType] = &PlacePerLane<T, false>::lists;
    table.place_of_greatest[kType] = &PlacePerLane<T, true>::lists;
  }
}

constexpr ListKernels make_table() {
  ListKernels table{};
  for_each_type([&]<class T>(std::type_identity<T>) { add_type<T>(table); });
  table.shift_bounds = &shift_bounds;
  table.bits = {&reduce_bits<AnyBit>, &reduce_bits<AllBits>, &reduce_bits<CountBits>};
  table.is_wide = true;
  return table;
}

constexpr ListKernels kTable = make_table();

}  // namespace

const ListKernels& UPSWEEP_LIST_TABLE(UPSWEEP_ISA)() noexcept { return kTable; }

}  // namespace upsweep::cpu
