// SPDX-License-Identifier: Apache-2.0
// cpu/sort_kernels.cpp: bitonic networks in registers, compiled once per instruction set.
//
// A list of up to 8, 16, 32 or 64 elements is loaded as a row of that number of lanes, including the elements after it.
// Lanes past its end get the largest key, and are stored unchanged. So the only branch on the length selects the row.
// The excess that is stored after one list is overwritten by the next list.
#include "cpu/sort_kernels.hpp"

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "core/visit.hpp"
#include "cpu/simd.hpp"
#include "upsweep/error.hpp"

#define UPSWEEP_SORT_TABLE(isa) UPSWEEP_SORT_TABLE_OF(isa)
#define UPSWEEP_SORT_TABLE_OF(isa) sort_kernels_##isa

namespace upsweep::cpu {
namespace {

// ------------------------------------------------------------------------------------------------------ rows of lanes

constexpr int least(int a, int b) { return a < b ? a : b; }

/// kLanes of T, at any alignment.
template <class T, int kLanes>
struct Some {
  typedef T Type __attribute__((vector_size(kLanes * int{sizeof(T)})));
  typedef T Unaligned __attribute__((vector_size(kLanes * int{sizeof(T)}), aligned(1), may_alias));
};

/// Lanes of a register of a row, by the size of its widest elements.
template <class K, int kN>
constexpr int kRegisterLanesOf = least(kN, kRegisterLanes<K>);

template <class K, int kN>
struct Row {
  static constexpr int kLanes = kRegisterLanesOf<K, kN>;
  static constexpr int kRegs = kN / kLanes;
  using Reg = typename Some<K, kLanes>::Type;
  Reg reg[std::size_t{kRegs}];
};

template <class K>
constexpr K kGreatest = K(~(K(1) << (8 * sizeof(K) - 1)));
template <class K>
constexpr K kSignBit = K(K(1) << (8 * sizeof(K) - 1));

template <class V, auto kIndex, int... kLane>
UPSWEEP_INLINE V shuffle_lanes(V a, V b, std::integer_sequence<int, kLane...>) {
  return __builtin_shufflevector(a, b, kIndex(kLane)...);
}
/// Lane j of the result is lane kIndex(j) of a followed by b.
template <int kLanes, auto kIndex, class V>
UPSWEEP_INLINE V shuffle_lanes(V a, V b) {
  return shuffle_lanes<V, kIndex>(a, b, std::make_integer_sequence<int, kLanes>{});
}
/// Lane j of the result is lane j ^ kMask.
template <int kLanes, int kMask, class V>
UPSWEEP_INLINE V exchange_lanes(V v) {
  if constexpr (kMask == 0) {
    return v;
  } else {
    return shuffle_lanes<kLanes, [](int j) { return j ^ kMask; }>(v, v);
  }
}

constexpr int highest_bit(int mask) {
  int bit = 1;
  while (2 * bit <= mask) bit *= 2;
  return bit;
}

template <int kLanes, int kFirst, class V, int... kLane>
UPSWEEP_INLINE V numbers(std::integer_sequence<int, kLane...>) {
  return V{(kFirst + kLane)...};
}
/// Returns the numbers of the lanes of register p of a row.
template <class R, int kReg>
UPSWEEP_INLINE typename R::Reg lane_numbers() {
  return numbers<R::kLanes, kReg * R::kLanes, typename R::Reg>(std::make_integer_sequence<int, R::kLanes>{});
}

/// Calls f(std::integral_constant<int, r>) for every register: a loop that is always unrolled.
template <class R, class F, int... kReg>
UPSWEEP_INLINE void each_register(F f, std::integer_sequence<int, kReg...>) {
  (f(std::integral_constant<int, kReg>{}), ...);
}
template <class R, class F>
UPSWEEP_INLINE void each_register(F f) {
  each_register<R>(f, std::make_integer_sequence<int, R::kRegs>{});
}

/// Whether any bit is set.
template <class V>
UPSWEEP_INLINE bool any(V v) {
  if constexpr (sizeof(V) == 16) {
    return _mm_movemask_epi8((__m128i)v) != 0;
#if UPSWEEP_REGISTER_BYTES >= 32
  } else if constexpr (sizeof(V) == 32) {
    return _mm256_testz_si256((__m256i)v, (__m256i)v) == 0;
#endif
#if UPSWEEP_REGISTER_BYTES == 64
  } else {
    return _mm512_test_epi64_mask((__m512i)v, (__m512i)v) != 0;
#endif
  }
}

// ----------------------------------------------------------------------------------------------------------- networks
// exchange<kMask>: lanes j and j ^ kMask of a row are exchanged if the larger one is before the other.

template <int kMask, class K, int kN>
UPSWEEP_INLINE void exchange(Row<K, kN>& row) {
  using R = Row<K, kN>;
  constexpr int kInside = kMask % R::kLanes;
  constexpr int kAcross = kMask / R::kLanes;
  for (int p = 0; p < R::kRegs; ++p) {
    const auto mine = row.reg[p];
    if constexpr (kAcross == 0) {
      const auto other = exchange_lanes<R::kLanes, kInside>(mine);
      const auto low = mine < other ? mine : other;
      const auto high = mine < other ? other : mine;
      row.reg[p] = shuffle_lanes<R::kLanes, [](int j) { return (j & highest_bit(kInside)) != 0 ? R::kLanes + j : j; }>(
          low, high);
    } else {
      const int q = p ^ kAcross;
      if (q < p) continue;
      const auto other = exchange_lanes<R::kLanes, kInside>(row.reg[q]);
      row.reg[p] = mine < other ? mine : other;
      row.reg[q] = exchange_lanes<R::kLanes, kInside>(mine < other ? other : mine);
    }
  }
}

template <int kN>
struct Pairs {
  Row<std::int64_t, kN> key;
  Row<std::int64_t, kN> position;
};

#if UPSWEEP_REGISTER_BYTES == 64
using Choice = __mmask8;
UPSWEEP_INLINE Choice is_before(Register<std::int64_t> key, Register<std::int64_t> position,
                                Register<std::int64_t> other_key, Register<std::int64_t> other_position) {
  const auto k = (__m512i)key;
  const auto o = (__m512i)other_key;
  const Choice equal_before =
      _kand_mask8(_mm512_cmpeq_epi64_mask(k, o), _mm512_cmplt_epi64_mask((__m512i)position, (__m512i)other_position));
  return _kor_mask8(_mm512_cmplt_epi64_mask(k, o), equal_before);
}
UPSWEEP_INLINE Choice differ(Choice a, Choice b) { return _kxor_mask8(a, b); }
UPSWEEP_INLINE Register<std::int64_t> choose(Choice choice, Register<std::int64_t> yes, Register<std::int64_t> no) {
  return (Register<std::int64_t>)_mm512_mask_blend_epi64(choice, (__m512i)no, (__m512i)yes);
}
template <int kBit>
UPSWEEP_INLINE Choice lanes_with() {
  unsigned mask = 0;
  for (unsigned j = 0; j < 8; ++j) mask |= (j & kBit) != 0 ? 1U << j : 0U;
  return static_cast<Choice>(mask);
}
#else
using Choice = Register<std::int64_t>;
UPSWEEP_INLINE Choice is_before(Register<std::int64_t> key, Register<std::int64_t> position,
                                Register<std::int64_t> other_key, Register<std::int64_t> other_position) {
  return (key < other_key) | ((key == other_key) & (position < other_position));
}
UPSWEEP_INLINE Choice differ(Choice a, Choice b) { return a ^ b; }
UPSWEEP_INLINE Register<std::int64_t> choose(Choice choice, Register<std::int64_t> yes, Register<std::int64_t> no) {
  return choice ? yes : no;
}
template <int kBit>
UPSWEEP_INLINE Choice lanes_with() {
  Choice lanes{};
  for (int j = 0; j < kRegisterLanes<std::int64_t>; ++j) lanes[j] = (j & kBit) != 0 ? -1 : 0;
  return lanes;
}
#endif

template <int kMask, int kN>
UPSWEEP_INLINE void exchange(Pairs<kN>& pairs) {
  using R = Row<std::int64_t, kN>;
  constexpr int kInside = kMask % R::kLanes;
  constexpr int kAcross = kMask / R::kLanes;
  for (int p = 0; p < R::kRegs; ++p) {
    const auto key = pairs.key.reg[p];
    const auto position = pairs.position.reg[p];
    if constexpr (kAcross == 0) {
      const auto other_key = exchange_lanes<R::kLanes, kInside>(key);
      const auto other_position = exchange_lanes<R::kLanes, kInside>(position);
      // The lower lane takes the other if that is before it, the upper one if it is not.
      const Choice take =
          differ(is_before(other_key, other_position, key, position), lanes_with<highest_bit(kInside)>());
      pairs.key.reg[p] = choose(take, other_key, key);
      pairs.position.reg[p] = choose(take, other_position, position);
    } else {
      const int q = p ^ kAcross;
      if (q < p) continue;
      const auto other_key = exchange_lanes<R::kLanes, kInside>(pairs.key.reg[q]);
      const auto other_position = exchange_lanes<R::kLanes, kInside>(pairs.position.reg[q]);
      const Choice take = is_before(other_key, other_position, key, position);
      pairs.key.reg[p] = choose(take, other_key, key);
      pairs.position.reg[p] = choose(take, other_position, position);
      pairs.key.reg[q] = exchange_lanes<R::kLanes, kInside>(choose(take, key, other_key));
      pairs.position.reg[q] = exchange_lanes<R::kLanes, kInside>(choose(take, position, other_position));
    }
  }
}

template <int kDistance, class Lanes>
UPSWEEP_INLINE void merge_lanes(Lanes& lanes) {
  if constexpr (kDistance > 0) {
    exchange<kDistance>(lanes);
    merge_lanes<kDistance / 2>(lanes);
  }
}
/// Sorts every kSize lanes: Batcher's bitonic sorter, where the first step of a merge mirrors instead of reversing one
/// half.
template <int kSize, class Lanes>
UPSWEEP_INLINE void sort_lanes(Lanes& lanes) {
  if constexpr (kSize > 1) {
    sort_lanes<kSize / 2>(lanes);
    exchange<kSize - 1>(lanes);
    merge_lanes<kSize / 4>(lanes);
  }
}

// Rows of 16 lanes and more are sorted by functions that all types share.
template <class K, int kN>
[[gnu::noinline]] void sort_long_row(Row<K, kN>& row) {
  sort_lanes<kN>(row);
}
template <int kN>
[[gnu::noinline]] void sort_long_row(Pairs<kN>& pairs) {
  sort_lanes<kN>(pairs);
}
template <int kN, class Lanes>
UPSWEEP_INLINE void sort_row(Lanes& lanes) {
  if constexpr (kN <= 8) {
    sort_lanes<kN>(lanes);
  } else {
    sort_long_row(lanes);
  }
}

// --------------------------------------------------------------------------------------------------- elements as keys

template <class T>
constexpr bool kIsFloat = T(0.5) != T(0);

/// The integer type for the bits of an element: for floats a signed one.
template <int kBytes>
struct SignedOf;
template <>
struct SignedOf<4> {
  using Type = std::int32_t;
};
template <>
struct SignedOf<8> {
  using Type = std::int64_t;
};
template <class T, bool kFloat = kIsFloat<T>>
struct BitsOf {
  using Type = T;
};
template <class T>
struct BitsOf<T, true> {
  using Type = typename SignedOf<sizeof(T)>::Type;
};
template <class T>
using Bits = typename BitsOf<T>::Type;

/// The type of an element's key: narrow elements fit 32 bits.
template <class T>
using KeyOf = typename SignedOf<(sizeof(T) < 4 ? 4 : int{sizeof(T)})>::Type;

/// Returns the value that is combined with keys by exclusive or. Keys then compare by sign, or in reverse order if
/// descending.
template <class T, class K>
constexpr K turn_of(SortOrder order) {
  constexpr bool kOverSign = T(-1) > T(0) && sizeof(T) == sizeof(K);
  return K((kOverSign ? kSignBit<K> : K(0)) ^ (order.descending ? K(-1) : K(0)));
}

/// Converts bits of floats to integers that compare as the floats do, and back.
template <class V>
UPSWEEP_INLINE V order_bits(V bits) {
  using B = std::remove_reference_t<decltype(bits[0])>;
  return bits ^ ((bits >> (8 * int{sizeof(B)} - 1)) & kGreatest<B>);
}

/// The bits of positive infinity.
template <class B>
constexpr B kInfinityBits = sizeof(B) == 4 ? B(0x7F800000) : B(0x7FF0000000000000);

template <class K, int kN, int kReg, class T>
UPSWEEP_INLINE auto load_bits(const T* from) {
  constexpr int kLanes = Row<K, kN>::kLanes;
  using Unaligned = typename Some<Bits<T>, kLanes>::Unaligned;
  using Type = typename Some<Bits<T>, kLanes>::Type;
  return (Type) * reinterpret_cast<const Unaligned*>(from + kReg * kLanes);
}

/// Whether lanes that are set in `inside` contain the bits of NaN or -0.0.
template <class V, class M>
UPSWEEP_INLINE bool any_odd(V bits, M inside) {
  using B = std::remove_reference_t<decltype(bits[0])>;
#if UPSWEEP_REGISTER_BYTES == 64
  constexpr int kNanOrMinusZero = 0x01 | 0x80 | 0x04;
  if constexpr (sizeof(V) == 64 && sizeof(B) == 8) {
    return _mm512_mask_fpclass_pd_mask(_mm512_movepi64_mask((__m512i)inside), (__m512d)bits, kNanOrMinusZero) != 0;
  } else if constexpr (sizeof(V) == 64) {
    return _mm512_mask_fpclass_ps_mask(_mm512_movepi32_mask((__m512i)inside), (__m512)bits, kNanOrMinusZero) != 0;
  } else if constexpr (sizeof(B) == 4) {
    return _mm256_mask_fpclass_ps_mask(_mm256_movepi32_mask((__m256i)inside), (__m256)bits, kNanOrMinusZero) != 0;
  }
#endif
  return any(((bits == kSignBit<B>) | ((bits & kGreatest<B>) > kInfinityBits<B>)) & inside);
}

/// Loads the keys of kN elements. `odd` becomes true if an element before `count` has none.
template <int kN, class T, class K = KeyOf<T>>
UPSWEEP_INLINE Row<K, kN> load_keys(const T* from, std::int64_t count, K turn, bool& odd) {
  using R = Row<K, kN>;
  R row;
  each_register<R>([&](auto r) {
    auto bits = load_bits<K, kN, r()>(from);
    if constexpr (kIsFloat<T>) {
      odd |= any_odd(bits, lane_numbers<R, r()>() < static_cast<K>(count));
      bits = order_bits(bits);
    }
    row.reg[r()] = __builtin_convertvector(bits, typename R::Reg) ^ turn;
  });
  return row;
}

/// Sets lanes from `count` on to the largest key.
template <class K, int kN>
UPSWEEP_INLINE Row<K, kN> fill_up(const Row<K, kN>& row, std::int64_t count) {
  using R = Row<K, kN>;
  R filled;
  each_register<R>([&](auto r) {
    const auto numbers = lane_numbers<R, r()>();
    const typename R::Reg most = kGreatest<K> - typename R::Reg{};
    filled.reg[r()] = numbers < static_cast<K>(count) ? row.reg[r()] : most;
  });
  return filled;
}

template <class T, class K, int kN>
UPSWEEP_INLINE void store_elements(T* to, const Row<K, kN>& row, K turn) {
  using R = Row<K, kN>;
  each_register<R>([&](auto r) {
    auto bits = __builtin_convertvector(row.reg[r()] ^ turn, typename Some<Bits<T>, R::kLanes>::Type);
    if constexpr (kIsFloat<T>) bits = order_bits(bits);
    *reinterpret_cast<typename Some<Bits<T>, R::kLanes>::Unaligned*>(to + r() * R::kLanes) = bits;
  });
}

/// Loads kN elements and their positions from `first` on; elements from `count` on sort last.
template <int kN, class T>
UPSWEEP_INLINE Pairs<kN> load_pairs(const T* from, std::int64_t count, std::int64_t first, SortOrder order) {
  using K = std::int64_t;
  using R = Row<K, kN>;
  const K turn = turn_of<T, K>(order);
  const K nan_key = order.nan_first ? kSignBit<K> : kGreatest<K>;
  Pairs<kN> pairs;  // NOLINT(cppcoreguidelines-pro-type-member-init): all of it is written below
  each_register<R>([&](auto r) {
    const auto numbers = lane_numbers<R, r()>();
    auto bits = load_bits<K, kN, r()>(from);
    typename R::Reg key;
    if constexpr (kIsFloat<T>) {
      using B = Bits<T>;
      const auto is_nan = (bits & kGreatest<B>) > kInfinityBits<B>;
      bits = order_bits(bits == kSignBit<B> ? bits - bits : bits);
      const typename R::Reg nan = nan_key - typename R::Reg{};
      key = __builtin_convertvector(is_nan, typename R::Reg) != 0
                ? nan
                : __builtin_convertvector(bits, typename R::Reg) ^ turn;
    } else {
      key = __builtin_convertvector(bits, typename R::Reg) ^ turn;
    }
    const typename R::Reg most = kGreatest<K> - typename R::Reg{};
    pairs.key.reg[r()] = numbers < count ? key : most;
    pairs.position.reg[r()] = numbers + first;
  });
  return pairs;
}

template <class K, int kN>
UPSWEEP_INLINE void store_row(K* to, const Row<K, kN>& row) {
  using R = Row<K, kN>;
  for (int p = 0; p < R::kRegs; ++p) {
    *reinterpret_cast<typename Some<K, R::kLanes>::Unaligned*>(to + p * R::kLanes) = row.reg[p];
  }
}

// -------------------------------------------------------------------------------------------------------- short lists

/// Elements of a list that ends where the memory may end, with space for a row after them.
template <class T, int kN>
struct Copied {
  T elements[std::size_t{kN}] = {};

  Copied(const T* from, std::int64_t count) {
    std::memcpy(elements, from, static_cast<std::size_t>(count) * sizeof(T));
  }
};

/// positions[j] ← the position of the element that is sorted to j. The row must be readable.
template <int kN, class T>
UPSWEEP_INLINE void argsort_row(const T* from, std::int64_t count, SortOrder order, std::int64_t* positions) {
  Pairs<kN> pairs = load_pairs<kN>(from, count, 0, order);
  sort_row<kN>(pairs);
  store_row(positions, pairs.position);
}

/// Sorts a list with elements that have no key.
template <int kN, class T>
[[gnu::noinline]] void sort_odd(const T* from, T* to, std::int64_t count, SortOrder order) {
  const Copied<T, kN> copied(from, count);
  std::int64_t positions[std::size_t{kN}];
  argsort_row<kN>(copied.elements, count, order, positions);
  for (std::int64_t j = 0; j < count; ++j) to[j] = copied.elements[positions[j]];
}

/// Sorts a list whose whole row may be read and written.
template <int kN, class T>
UPSWEEP_INLINE void sort_whole_row(const T* from, T* to, std::int64_t count, SortOrder order) {
  using K = KeyOf<T>;
  using R = Row<K, kN>;
  const K turn = turn_of<T, K>(order);
  bool odd = false;
  const R keys = load_keys<kN>(from, count, turn, odd);
  if (odd) [[unlikely]]
    return sort_odd<kN>(from, to, count, order);
  R row = fill_up(keys, count);
  sort_row<kN>(row);
  each_register<R>([&](auto r) {
    const auto inside = lane_numbers<R, r()>() < static_cast<K>(count);
    row.reg[r()] = inside ? row.reg[r()] : keys.reg[r()];
  });
  store_elements(to, row, turn);
}

template <int kN, class T>
[[gnu::noinline]] void sort_at_end(const T* from, T* to, std::int64_t count, SortOrder order) {
  Copied<T, kN> copied(from, count);
  sort_whole_row<kN>(copied.elements, copied.elements, count, order);
  std::memcpy(to, copied.elements, static_cast<std::size_t>(count) * sizeof(T));
}

template <int kN, class T>
[[gnu::noinline]] void argsort_at_end(const T* from, std::int64_t* to, std::int64_t count, SortOrder order) {
  const Copied<T, kN> copied(from, count);
  std::int64_t positions[std::size_t{kN}];
  argsort_row<kN>(copied.elements, count, order, positions);
  std::memcpy(to, positions, static_cast<std::size_t>(count) * sizeof(std::int64_t));
}

/// Whether a row can be read and written there. Bounds of empty lists may have any value.
UPSWEEP_INLINE bool has_row(const ShortLists& lists, std::int64_t start, std::int64_t to, std::int64_t lanes) {
  return (start >= lists.content_first) & (start <= lists.content_end - lanes) & (to <= lists.out_end - lanes);
}

/// Calls sort(std::integral_constant<int, row>, start, out, count) for every list, with the row that it fits.
template <class Sort>
UPSWEEP_INLINE void each_list(const ShortLists& lists, Sort sort) {
  std::int64_t out = lists.out_first;
  for (std::int64_t i = 0; i < lists.count; ++i) {
    const std::int64_t start = lists.starts[i];
    const std::int64_t count = lists.lengths[i];
    const std::int64_t to = lists.out_first == kNoIndex ? start : out;
    out += count;
    if (count <= 8) {
      sort(std::integral_constant<int, 8>{}, start, to, count);
    } else if (count <= 16) {
      sort(std::integral_constant<int, 16>{}, start, to, count);
    } else if (count <= 32) {
      sort(std::integral_constant<int, 32>{}, start, to, count);
    } else {
      sort(std::integral_constant<int, 64>{}, start, to, count);
    }
  }
}

template <class T>
void sort(const ShortLists& lists, void* out) {
  const T* const content = static_cast<const T*>(lists.content) - lists.content_first;
  T* const sorted = static_cast<T*>(out);
  each_list(lists, [&](auto row, std::int64_t start, std::int64_t to, std::int64_t count) {
    if (has_row(lists, start, to, row())) [[likely]] {
      sort_whole_row<row()>(content + start, sorted + to, count, lists.order);
    } else if (count > 0) {
      sort_at_end<row()>(content + start, sorted + to, count, lists.order);
    }
  });
}

template <class T>
void argsort(const ShortLists& lists, std::int64_t* out) {
  const T* const content = static_cast<const T*>(lists.content) - lists.content_first;
  each_list(lists, [&](auto row, std::int64_t start, std::int64_t to, std::int64_t count) {
    if (has_row(lists, start, to, row())) [[likely]] {
      argsort_row<row()>(content + start, count, lists.order, out + to);
    } else if (count > 0) {
      argsort_at_end<row()>(content + start, out + to, count, lists.order);
    }
  });
}

// --------------------------------------------------------------------------------------------------------- long lists

/// Calls block(elements of a whole block, where it begins, its number of elements).
template <class T, class Block>
UPSWEEP_INLINE void each_block(const T* from, std::int64_t n, Block block) {
  std::int64_t i = 0;
  for (; i + kSortBlock <= n; i += kSortBlock) block(from + i, i, kSortBlock);
  if (i == n) return;
  const Copied<T, kSortBlock> copied(from + i, n - i);
  block(copied.elements, i, n - i);
}

template <class T>
bool keys(const void* from, std::int64_t n, SortOrder order, void* to) {
  using K = KeyOf<T>;
  const K turn = turn_of<T, K>(order);
  bool odd = false;
  each_block(static_cast<const T*>(from), n, [&](const T* block, std::int64_t at, std::int64_t count) {
    auto row = fill_up(load_keys<kSortBlock>(block, count, turn, odd), count);
    sort_row<kSortBlock>(row);
    store_row(static_cast<K*>(to) + at, row);
  });
  return !odd;
}

template <class T>
void pairs(const void* from, std::int64_t n, std::int64_t first, SortOrder order, std::int64_t* to_keys,
           std::int64_t* positions) {
  each_block(static_cast<const T*>(from), n, [&](const T* block, std::int64_t at, std::int64_t count) {
    auto rows = load_pairs<kSortBlock>(block, count, first + at, order);
    sort_row<kSortBlock>(rows);
    store_row(to_keys + at, rows.key);
    store_row(positions + at, rows.position);
  });
}

#if UPSWEEP_REGISTER_BYTES >= 32
constexpr bool kMergesRows = true;
#else
constexpr bool kMergesRows = false;  // there is no minimum instruction for 64 bits, and registers have two of them
#endif
/// Keys that are merged at a time.
constexpr int kMergeRow = 16;

template <class K>
UPSWEEP_INLINE void load_half(Row<K, 2 * kMergeRow>& row, int half, const K* from) {
  using R = Row<K, 2 * kMergeRow>;
  for (int p = 0; p < R::kRegs / 2; ++p) {
    row.reg[half * R::kRegs / 2 + p] =
        *reinterpret_cast<const typename Some<K, R::kLanes>::Unaligned*>(from + p * R::kLanes);
  }
}

/// Sorts a row whose halves are sorted. Writes the lower half, and keeps the upper one.
template <class K>
UPSWEEP_INLINE K* merge_halves(Row<K, 2 * kMergeRow>& row, K* out) {
  using R = Row<K, 2 * kMergeRow>;
  exchange<2 * kMergeRow - 1>(row);
  merge_lanes<kMergeRow / 2>(row);
  for (int p = 0; p < R::kRegs / 2; ++p) {
    *reinterpret_cast<typename Some<K, R::kLanes>::Unaligned*>(out + p * R::kLanes) = row.reg[p];
  }
  return out + kMergeRow;
}

/// Merges a row of the run with the smaller next key and the keys kept from before: these contain the next outputs.
template <class K>
void merge(const void* left_keys, std::int64_t lefts, const void* right_keys, std::int64_t rights, void* to) {
  const K* left = static_cast<const K*>(left_keys);
  const K* right = static_cast<const K*>(right_keys);
  const K* const left_end = left + lefts;
  const K* const right_end = right + rights;
  K* out = static_cast<K*>(to);
  Row<K, 2 * kMergeRow> row;
  load_half(row, 1, left);
  left += kMergeRow;
  while (left != left_end && right != right_end) {
    const bool is_right = *right < *left;
    load_half(row, 0, is_right ? right : left);
    right += is_right ? kMergeRow : 0;
    left += is_right ? 0 : kMergeRow;
    out = merge_halves(row, out);
  }
  for (; left != left_end; left += kMergeRow) {
    load_half(row, 0, left);
    out = merge_halves(row, out);
  }
  for (; right != right_end; right += kMergeRow) {
    load_half(row, 0, right);
    out = merge_halves(row, out);
  }
  for (int p = 0; p < Row<K, 2 * kMergeRow>::kRegs / 2; ++p) {
    constexpr int kLanes = Row<K, 2 * kMergeRow>::kLanes;
    *reinterpret_cast<typename Some<K, kLanes>::Unaligned*>(out + p * kLanes) =
        row.reg[Row<K, 2 * kMergeRow>::kRegs / 2 + p];
  }
}

template <class T>
void elements(const void* from, std::int64_t n, SortOrder order, void* to) {
  using K = KeyOf<T>;
  constexpr int kStep = kLanes<K>;
  const K turn = turn_of<T, K>(order);
  T* const out = static_cast<T*>(to);
  each_block(static_cast<const K*>(from), n, [&](const K* block, std::int64_t at, std::int64_t count) {
    T whole[kSortBlock];
    T* const target = count == kSortBlock ? out + at : whole;
    for (int j = 0; j < kSortBlock; j += kStep) {
      Row<K, kStep> row;
      each_register<Row<K, kStep>>([&](auto r) { row.reg[r()] = load_bits<K, kStep, r()>(block + j); });
      store_elements(target + j, row, turn);
    }
    if (target == whole) std::memcpy(out + at, whole, static_cast<std::size_t>(count) * sizeof(T));
  });
}

template <class T>
constexpr SortKernel kKernel{
    int{sizeof(KeyOf<T>)}, &sort<T>, &argsort<T>, &keys<T>, &pairs<T>, kMergesRows ? &merge<KeyOf<T>> : nullptr,
    &elements<T>};

template <class... T>
constexpr SortKernels kernels_of(std::type_identity<std::tuple<T...>>) {
  return {{kKernel<T>...}};
}
constexpr SortKernels kTable = kernels_of(std::type_identity<Types>{});

}  // namespace

const SortKernels& UPSWEEP_SORT_TABLE(UPSWEEP_ISA)() noexcept { return kTable; }

}  // namespace upsweep::cpu
