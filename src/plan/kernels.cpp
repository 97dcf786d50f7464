// SPDX-License-Identifier: Apache-2.0
// plan/kernels.cpp: the loops of plans, compiled once per instruction set, which UPSWEEP_ISA names.
//
// Plain loops that the compiler vectorizes. All names except the table are internal to this file: it uses no std::
// functions and no inline functions of other headers (tests/isa_symbols.sh verifies that). Floats are not contracted,
// and lists are folded in order, so that results have the same bits for every instruction set.
#include "plan/kernels.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>

#define UPSWEEP_PLAN_NAME_2(isa) kernels_##isa
#define UPSWEEP_PLAN_NAME(isa) UPSWEEP_PLAN_NAME_2(isa)

// Loads by index are faster one by one, eight to a round, than as gather instructions.
#if defined(__clang__)
#define UPSWEEP_BY_INDEX _Pragma("clang loop vectorize(disable) unroll_count(8)")
#define UPSWEEP_SCALAR
#else
#define UPSWEEP_BY_INDEX _Pragma("GCC unroll 8")
#define UPSWEEP_SCALAR __attribute__((optimize("no-tree-loop-vectorize")))
#endif

namespace upsweep::plan::detail {
namespace {

using I32 = std::int32_t;
using I64 = std::int64_t;
using Byte = std::uint8_t;  // also a boolean: 0 or 1

template <class T>
constexpr bool kIsFloat = std::is_floating_point<T>::value;
template <class T>
constexpr bool kIsSigned = std::is_signed<T>::value;

template <class T>
struct Limits;
template <>
struct Limits<float> {
  static constexpr float kLowest = -__builtin_inff(), kHighest = __builtin_inff();
  static constexpr float kTiny = 1e-30F, kHuge = 1e30F;
};
template <>
struct Limits<double> {
  static constexpr double kLowest = -__builtin_inf(), kHighest = __builtin_inf();
  static constexpr double kTiny = 1e-300, kHuge = 1e300;
};
template <class T>
  requires(!kIsFloat<T>)
struct Limits<T> {
  using U = std::make_unsigned_t<T>;
  static constexpr T kHighest = static_cast<T>(kIsSigned<T> ? static_cast<U>(U(~U{0}) >> 1) : U(~U{0}));
  static constexpr T kLowest = static_cast<T>(~kHighest);
};

// -------------------------------------------------------------------------------------------------------- element-wise

struct Add {
  template <class T>
  static T of(T x, T y) {
    return static_cast<T>(x + y);
  }
};
struct Subtract {
  template <class T>
  static T of(T x, T y) {
    return static_cast<T>(x - y);
  }
};
struct Multiply {
  template <class T>
  static T of(T x, T y) {
    return static_cast<T>(x * y);
  }
};
struct Divide {
  template <class T>
  static T of(T x, T y) {
    return x / y;
  }
};
struct FloorDivide {  // of integers
  template <class T>
  static T of(T x, T y) {
    if (y == 0) return 0;
    if constexpr (kIsSigned<T>) {
      if (y == -1) return static_cast<T>(-x);
      const T quotient = static_cast<T>(x / y);
      return static_cast<T>(quotient - ((quotient * y != x && (x < 0) != (y < 0)) ? 1 : 0));
    } else {
      return static_cast<T>(x / y);
    }
  }
};
struct Fmod {  // of integers
  template <class T>
  static T of(T x, T y) {
    if (y == 0) return 0;
    if constexpr (kIsSigned<T>) {
      if (y == -1) return 0;
    }
    return static_cast<T>(x % y);
  }
};
struct Remainder {  // of integers
  template <class T>
  static T of(T x, T y) {
    const T rest = Fmod::of(x, y);
    if constexpr (kIsSigned<T>) {
      if (rest != 0 && (rest < 0) != (y < 0)) return static_cast<T>(rest + y);
    }
    return rest;
  }
};
struct Power {  // of integers
  template <class T>
  static T of(T x, T y) {
    if constexpr (kIsSigned<T>) {
      if (y < 0) return 0;
    }
    T result = 1;
    for (; y != 0; y = static_cast<T>(y >> 1)) {
      if ((y & 1) != 0) result = static_cast<T>(result * x);
      x = static_cast<T>(x * x);
    }
    return result;
  }
};
// NaN of either operand is kept; of two equal ones the first.
struct Maximum {
  template <class T>
  static T of(T x, T y) {
    return x >= y || x != x ? x : y;
  }
};
struct Minimum {
  template <class T>
  static T of(T x, T y) {
    return x <= y || x != x ? x : y;
  }
};
struct Fmax {
  template <class T>
  static T of(T x, T y) {
    return x >= y || y != y ? x : y;
  }
};
struct Fmin {
  template <class T>
  static T of(T x, T y) {
    return x <= y || y != y ? x : y;
  }
};
struct Negative {
  template <class T>
  static T of(T x) {
    return static_cast<T>(-x);
  }
};
struct Absolute {
  template <class T>
  static T of(T x) {
    if constexpr (std::is_same<T, float>::value) {
      return __builtin_fabsf(x);
    } else if constexpr (std::is_same<T, double>::value) {
      return __builtin_fabs(x);
    } else if constexpr (kIsSigned<T>) {
      return static_cast<T>(x < 0 ? -x : x);
    } else {
      return x;
    }
  }
};
struct Sign {
  template <class T>
  static T of(T x) {
    if constexpr (kIsFloat<T>) {
      return x > 0 ? T{1} : x < 0 ? T{-1} : x == 0 ? T{0} : x;
    } else {
      return static_cast<T>((x > 0 ? 1 : 0) - (kIsSigned<T> && x < 0 ? 1 : 0));
    }
  }
};
struct And {
  template <class T>
  static T of(T x, T y) {
    return static_cast<T>(x & y);
  }
};
struct Or {
  template <class T>
  static T of(T x, T y) {
    return static_cast<T>(x | y);
  }
};
struct Xor {
  template <class T>
  static T of(T x, T y) {
    return static_cast<T>(x ^ y);
  }
};
struct Invert {
  template <class T>
  static T of(T x) {
    return static_cast<T>(~x);
  }
};
struct Not {
  static Byte of(Byte x) { return x == 0 ? 1 : 0; }
};
template <class T>
bool is_shift(T distance) {
  return static_cast<std::make_unsigned_t<T>>(distance) < 8 * sizeof(T);
}
struct ShiftLeft {
  template <class T>
  static T of(T x, T y) {
    return is_shift(y) ? static_cast<T>(static_cast<std::make_unsigned_t<T>>(x) << y) : T{0};
  }
};
struct ShiftRight {
  template <class T>
  static T of(T x, T y) {
    return is_shift(y) ? static_cast<T>(x >> y) : static_cast<T>(x < 0 ? -1 : 0);
  }
};
struct Less {
  template <class T>
  static Byte of(T x, T y) {
    return x < y;
  }
};
struct LessEqual {
  template <class T>
  static Byte of(T x, T y) {
    return x <= y;
  }
};
struct Greater {
  template <class T>
  static Byte of(T x, T y) {
    return x > y;
  }
};
struct GreaterEqual {
  template <class T>
  static Byte of(T x, T y) {
    return x >= y;
  }
};
struct Equal {
  template <class T>
  static Byte of(T x, T y) {
    return x == y;
  }
};
struct Unequal {
  template <class T>
  static Byte of(T x, T y) {
    return x != y;
  }
};
struct IsNan {
  template <class T>
  static Byte of(T x) {
    return x != x;
  }
};
struct IsInfinite {
  template <class T>
  static Byte of(T x) {
    return Absolute::of(x) == Limits<T>::kHighest;
  }
};
struct IsFinite {
  template <class T>
  static Byte of(T x) {
    return Absolute::of(x) < Limits<T>::kHighest;
  }
};
struct SignBit {
  template <class T>
  static Byte of(T x) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    Bits bits;
    __builtin_memcpy(&bits, &x, sizeof x);
    return static_cast<Byte>(bits >> (8 * sizeof(T) - 1));
  }
};
#define UPSWEEP_PLAN_BUILTIN(Name, function)                        \
  struct Name {                                                     \
    static float of(float x) { return __builtin_##function##f(x); } \
    static double of(double x) { return __builtin_##function(x); }  \
  };
UPSWEEP_PLAN_BUILTIN(Floor, floor)
UPSWEEP_PLAN_BUILTIN(Ceil, ceil)
UPSWEEP_PLAN_BUILTIN(Trunc, trunc)
UPSWEEP_PLAN_BUILTIN(Rint, rint)
UPSWEEP_PLAN_BUILTIN(Sqrt, sqrt)
#undef UPSWEEP_PLAN_BUILTIN
struct Copysign {
  static float of(float x, float y) { return __builtin_copysignf(x, y); }
  static double of(double x, double y) { return __builtin_copysign(x, y); }
};

template <class To>
struct ConvertTo {
  template <class T>
  static To of(T x) {
    if constexpr (kIsFloat<T> && !kIsFloat<To>) {
      // The end of To's range is a power of two, which floats have exactly.
      constexpr To kHalf = Limits<To>::kHighest / 2 + 1;
      constexpr T kEnd = static_cast<T>(kHalf) * 2;
      const bool is_below = x < kEnd;
      bool is_above = x > T{-1};
      if constexpr (kIsSigned<To>) is_above = sizeof(To) * 8 < sizeof(T) * 6 ? x > -kEnd - 1 : x >= -kEnd;
      return is_below && is_above ? static_cast<To>(x) : Limits<To>::kLowest;
    } else {
      return static_cast<To>(x);
    }
  }
};

template <class T, class U, class F>
void unary(void* to, const void* const* in, I64 n, I64 /*first*/) {
  const T* __restrict x = static_cast<const T*>(in[0]);
  U* __restrict out = static_cast<U*>(to);
  for (I64 i = 0; i < n; ++i) out[i] = F::of(x[i]);
}

template <class T, class U, class F>
void binary(void* to, const void* const* in, I64 n, I64 /*first*/) {
  const T* __restrict x = static_cast<const T*>(in[0]);
  const T* __restrict y = static_cast<const T*>(in[1]);
  U* __restrict out = static_cast<U*>(to);
  for (I64 i = 0; i < n; ++i) out[i] = F::of(x[i], y[i]);
}

template <class T>
void where(void* to, const void* const* in, I64 n, I64 /*first*/) {
  const Byte* __restrict mask = static_cast<const Byte*>(in[0]);
  const T* __restrict x = static_cast<const T*>(in[1]);
  const T* __restrict y = static_cast<const T*>(in[2]);
  T* __restrict out = static_cast<T*>(to);
  for (I64 i = 0; i < n; ++i) out[i] = mask[i] != 0 ? x[i] : y[i];
}

template <class T>
void not_zero(void* to, const void* const* in, I64 n, I64 /*first*/) {
  const T* __restrict x = static_cast<const T*>(in[0]);
  Byte* __restrict out = static_cast<Byte*>(to);
  for (I64 i = 0; i < n; ++i) out[i] = x[i] != 0;
}

inline float fmod_of(float x, float y) { return __builtin_fmodf(x, y); }
inline double fmod_of(double x, double y) { return __builtin_fmod(x, y); }

/// NumPy's remainder: the result of fmod, moved to the side of the divisor.
template <class T>
T remainder_of(T x, T y) {
  const T rest = fmod_of(x, y);
  if (y == 0) return rest;
  if (rest == 0) return Copysign::of(T{0}, y);
  return (rest < 0) != (y < 0) ? rest + y : rest;
}

/// For |x| < 2y, as usual for angles, x - y·floor(x / y) has the same bits. The quotient rounds to the right side of
/// integers, and products by -2 … 1 are exact.
template <class T>
void remainder(void* to, const void* const* in, I64 n, I64 /*first*/) {
  constexpr I64 kChunk = 64;
  const T* __restrict x = static_cast<const T*>(in[0]);
  const T* __restrict y = static_cast<const T*>(in[1]);
  T* __restrict out = static_cast<T*>(to);
  for (I64 begin = 0; begin < n; begin += kChunk) {
    const I64 end = begin + kChunk < n ? begin + kChunk : n;
    int bad = 0;
    for (I64 i = begin; i < end; ++i) {
      const T quotient = x[i] / y[i];
      const bool is_small = (y[i] > 0) & (y[i] < Limits<T>::kHuge) & (Absolute::of(x[i]) < 2 * y[i]);
      const bool is_normal = (Absolute::of(quotient) > Limits<T>::kTiny) | (x[i] == 0);
      bad |= (is_small & is_normal) ? 0 : 1;
      out[i] = x[i] - y[i] * Floor::of(quotient);
    }
    if (__builtin_expect(bad, 0) == 0) continue;
    for (I64 i = begin; i < end; ++i) out[i] = remainder_of(x[i], y[i]);
  }
}

template <class T>
UPSWEEP_SCALAR void take(void* to, const void* const* in, I64 n, I64 /*first*/) {
  const T* __restrict x = static_cast<const T*>(in[0]);
  const I32* __restrict index = static_cast<const I32*>(in[1]);
  T* __restrict out = static_cast<T*>(to);
  UPSWEEP_BY_INDEX
  for (I64 i = 0; i < n; ++i) out[i] = x[index[i]];
}

/// x[index], at the nearest position that exists.
template <class T, class Index>
UPSWEEP_SCALAR void take_clamped(void* to, const void* const* in, I64 n, I64 /*first*/) {
  const T* __restrict x = static_cast<const T*>(in[0]);
  const Index* __restrict index = static_cast<const Index*>(in[1]);
  const I64 length = *static_cast<const I64*>(in[2]);
  T* __restrict out = static_cast<T*>(to);
  if (length == 0) {
    for (I64 i = 0; i < n; ++i) out[i] = 0;
    return;
  }
  UPSWEEP_BY_INDEX
  for (I64 i = 0; i < n; ++i) {
    I64 at = index[i];
    at = at < 0 ? 0 : at;
    out[i] = x[at < length ? at : length - 1];
  }
}

template <class T>
UPSWEEP_SCALAR void take_add(void* to, const void* const* in, I64 n, I64 /*first*/) {
  const T* __restrict x = static_cast<const T*>(in[0]), * __restrict y = static_cast<const T*>(in[2]);
  const I32* __restrict a = static_cast<const I32*>(in[1]), * __restrict b = static_cast<const I32*>(in[3]);
  T* __restrict out = static_cast<T*>(to);
  UPSWEEP_BY_INDEX
  for (I64 i = 0; i < n; ++i) out[i] = x[a[i]] + y[b[i]];
}

template <class T>
UPSWEEP_SCALAR void add_take(void* to, const void* const* in, I64 n, I64 /*first*/) {
  const T* __restrict x = static_cast<const T*>(in[0]), * __restrict y = static_cast<const T*>(in[1]);
  const I32* __restrict b = static_cast<const I32*>(in[2]);
  T* __restrict out = static_cast<T*>(to);
  UPSWEEP_BY_INDEX
  for (I64 i = 0; i < n; ++i) out[i] = x[i] + y[b[i]];
}

template <class T>
void copy(void* to, const void* const* in, I64 n, I64 /*first*/) {
  const T* __restrict x = static_cast<const T*>(in[0]);
  T* __restrict out = static_cast<T*>(to);
  for (I64 i = 0; i < n; ++i) out[i] = x[i];
}

void counts(void* to, const void* const* in, I64 n, I64 /*first*/) {
  const I32* __restrict offsets = static_cast<const I32*>(in[0]);
  I32* __restrict out = static_cast<I32*>(to);
  for (I64 i = 0; i < n; ++i) out[i] = offsets[i + 1] - offsets[i];
}

void positions(void* to, const void* const* /*in*/, I64 n, I64 first) {
  I32* __restrict out = static_cast<I32*>(to);
  const I32 begin = static_cast<I32>(first);
  for (I32 i = 0; i < static_cast<I32>(n); ++i) out[i] = begin + i;
}

void numbers(void* to, const void* const* in, I64 n, I64 /*first*/) {
  const I32* __restrict places = static_cast<const I32*>(in[0]);
  const I64 begin = *static_cast<const I64*>(in[2]);
  I64* __restrict out = static_cast<I64*>(to);
  for (I64 i = 0; i < n; ++i) out[i] = places[i] < 0 ? -1 : begin + places[i];
}

/// Elements that a search processes at a time.
constexpr I64 kSearched = 64;
/// Elements of a table that are compared with each x, instead of being searched. On one core with AVX-512, comparing
/// with 64 floats took 5.9 ns for an x, and searching in 65 took 7.9 ns.
constexpr I64 kFewElements = 64;

/// Whether an element of an ascending table precedes the place of x in it. NaN is the maximum.
template <class T, bool kRight>
bool precedes(T element, T x) {
  // Without branches.
  return kRight ? (element <= x) | (x != x) : (element < x) | ((x != x) & (element == element));
}

/// found[i] ← the number of elements of an ascending table that precede x[i], for kSearched elements. No branch depends
/// on x, and the steps of different elements do not wait for each other.
template <class T, bool kRight>
UPSWEEP_SCALAR void search_all(const T* table, I64 length, const T* x, I64* __restrict found) {
  for (I64 i = 0; i < kSearched; ++i) found[i] = 0;
  while (length > 0) {
    const I64 half = (length + 1) / 2;
    const T* middle = table + half - 1;
    UPSWEEP_BY_INDEX
    for (I64 i = 0; i < kSearched; ++i) {
      found[i] += -static_cast<I64>(precedes<T, kRight>(middle[found[i]], x[i])) & half;
    }
    length -= half;
  }
}

/// As search_all().
template <class T, bool kRight>
void compare_all(const T* table, I64 length, const T* x, I64* __restrict found) {
  for (I64 i = 0; i < kSearched; ++i) found[i] = 0;
  for (I64 e = 0; e < length; ++e) {
    const T element = table[e];
    for (I64 i = 0; i < kSearched; ++i) found[i] += precedes<T, kRight>(element, x[i]) ? 1 : 0;
  }
}

/// Calls f(i, found) for each element.
template <class T, bool kRight, class F>
void search_each(const T* table, I64 length, const T* x, I64 n, F f) {
  T some[kSearched] = {};
  I64 found[kSearched];
  for (I64 begin = 0; begin < n; begin += kSearched) {
    const I64 count = begin + kSearched < n ? kSearched : n - begin;
    const bool is_whole = count == kSearched;
    for (I64 i = 0; !is_whole && i < count; ++i) some[i] = x[begin + i];
    const T* these = is_whole ? x + begin : some;
    length <= kFewElements ? compare_all<T, kRight>(table, length, these, found)
                           : search_all<T, kRight>(table, length, these, found);
    for (I64 i = 0; i < count; ++i) f(begin + i, found[i]);
  }
}

/// The number of elements of an ascending table that precede x; NaN is the maximum.
template <class T, bool kRight>
void search(void* to, const void* const* in, I64 n, I64 /*first*/) {
  const T *x = static_cast<const T*>(in[0]), *table = static_cast<const T*>(in[1]);
  const I64 length = *static_cast<const I64*>(in[2]);
  I64* out = static_cast<I64*>(to);
  search_each<T, kRight>(table, length, x, n, [&](I64 i, I64 found) { out[i] = found; });
}

// --------------------------------------------------------------------------------------------------------------- lists

// Eight positions are written at a time, also for an empty list; the next list overwrites the surplus. Thus no branch
// depends on the length of a short list. The vectors are explicit, because compilers vectorize the outer loop instead.
typedef I32 Positions8 __attribute__((vector_size(32)));
typedef I32 UnalignedPositions8 __attribute__((vector_size(32), aligned(4), may_alias));

inline void put(const Positions8& positions, I32* out) { *reinterpret_cast<UnalignedPositions8*>(out) = positions; }

/// Writes n consecutive positions, and up to eight more.
inline void put_positions(I32 from, I64 n, I32* out) {
  Positions8 positions = Positions8{0, 1, 2, 3, 4, 5, 6, 7} + from;
  I64 i = 0;
  do {
    put(positions, out + i);
    positions += 8;
    i += 8;
  } while (i < n);
}

/// Writes the same position n times, and up to eight times more.
inline void put_same(I32 position, I64 n, I32* out) {
  const Positions8 positions = Positions8{} + position;
  I64 i = 0;
  do {
    put(positions, out + i);
    i += 8;
  } while (i < n);
}

/// The list of each element.
void parents(const I32* offsets, I64 lists, I32* out) {
  for (I64 list = 0; list < lists; ++list) {
    put_same(static_cast<I32>(list), offsets[list + 1] - offsets[list], out + offsets[list]);
  }
}

void runs(const I32* from, const I32* to, I64 lists, I32* out) {
  for (I64 list = 0; list < lists; ++list) put_positions(from[list], to[list + 1] - to[list], out + to[list]);
}

void pad(const I32* from, const I32* to, I64 lists, I32* out) {
  for (I64 list = 0; list < lists; ++list) {
    const I64 there = from[list + 1] - from[list];
    put_positions(from[list], there, out + to[list]);
    put_same(-1, to[list + 1] - to[list] - there, out + to[list] + there);
  }
}

void interleave(const I32* x, const I32* y, I64 lists, I32* out) {
  const I32 second = x[lists];
  for (I64 list = 0; list < lists; ++list) {
    const I32 first = x[list + 1] - x[list], then = y[list + 1] - y[list];
    put_positions(x[list], first, out);
    put_positions(second + y[list], then, out + first);
    out += first + then;
  }
}

I64 filter(const Byte* keep, I64 n, I32* places, I32* before) {
  I32 count = 0;
  if (places != nullptr && before != nullptr) {
    UPSWEEP_BY_INDEX
    for (I32 i = 0; i < static_cast<I32>(n); ++i) {
      places[count] = i;
      before[i] = count;
      count += keep[i] != 0 ? 1 : 0;
    }
  } else if (places != nullptr) {
    UPSWEEP_BY_INDEX
    for (I32 i = 0; i < static_cast<I32>(n); ++i) {
      places[count] = i;
      count += keep[i] != 0 ? 1 : 0;
    }
  } else if (before != nullptr) {
    UPSWEEP_BY_INDEX
    for (I32 i = 0; i < static_cast<I32>(n); ++i) {
      before[i] = count;
      count += keep[i] != 0 ? 1 : 0;
    }
  } else {
    for (I64 i = 0; i < n; ++i) count += keep[i] != 0 ? 1 : 0;
  }
  if (before != nullptr) before[n] = count;
  return count;
}

template <class T>
bool input_offsets(const void* from, I64 lists, I32* __restrict out) {
  const T* __restrict offsets = static_cast<const T*>(from);
  const T begin = offsets[0];
  int bad = 0;
  out[0] = 0;
  for (I64 i = 0; i < lists; ++i) {
    bad |= offsets[i + 1] < offsets[i] ? 1 : 0;
    out[i + 1] = static_cast<I32>(offsets[i + 1] - begin);
  }
  return bad == 0;
}

UPSWEEP_SCALAR void at(const I32* __restrict x, const I32* __restrict index, I64 n, I32* __restrict out) {
  UPSWEEP_BY_INDEX
  for (I64 i = 0; i < n; ++i) out[i] = x[index[i]];
}

void add(const I32* __restrict x, I64 n, I32* __restrict out) {
  for (I64 i = 0; i < n; ++i) out[i] += x[i];
}

template <std::size_t kMembers>
I64 tuples_of(const I32* const* tables, const I32* offsets, const I32* to, I64 first, I64 lists, I32* const* out) {
  const I32* table[kMembers];
  I32* target[kMembers];
  for (std::size_t m = 0; m < kMembers; ++m) table[m] = tables[m], target[m] = out[m];
  for (I64 list = first; list < lists; ++list) {
    const I32 begin = offsets[list], length = offsets[list + 1] - begin;
    if (length > kTableLength) return list;
    const I32 at = to[list], count = to[list + 1] - at;
    I32 i = 0;
    do {
      for (std::size_t m = 0; m < kMembers; ++m) {
        const I32* of_length = table[m] + length * kTableTuples + i;
        const Positions8 places = *reinterpret_cast<const UnalignedPositions8*>(of_length);
        put(places + begin, target[m] + at + i);
      }
      i += 8;
    } while (i < count);
  }
  return lists;
}

I64 tuples(const I32* const* tables, int members, const I32* offsets, const I32* to, I64 first, I64 lists,
           I32* const* out) {
  if (members == 1) return tuples_of<1>(tables, offsets, to, first, lists, out);
  if (members == 2) return tuples_of<2>(tables, offsets, to, first, lists, out);
  return tuples_of<3>(tables, offsets, to, first, lists, out);
}

template <class K>
struct Eight {
  typedef K Type __attribute__((vector_size(8 * sizeof(K))));
};
template <class T>
using SortKey = std::conditional_t<sizeof(T) == 8, I64, I32>;

/// Eight elements as integers that ascend in the order of sorting. NaN is less than the others, and -0 is 0.
template <class T, bool kAscending>
void put_sort_keys(const T* x, typename Eight<SortKey<T>>::Type& keys) {
  using K = SortKey<T>;
  using Keys = typename Eight<K>::Type;
  constexpr int kSign = 8 * int{sizeof(K)} - 1;
  constexpr K kLeast = Limits<K>::kLowest, kNan = kLeast + 1;
  if constexpr (kIsFloat<T>) {
    typename Eight<T>::Type elements;
    __builtin_memcpy(&elements, x, sizeof elements);
    elements += T{0};
    const Keys is_nan = elements != elements;
    keys = reinterpret_cast<Keys>(elements);
    keys ^= (keys >> kSign) & ~kLeast;
    if (!kAscending) keys = ~keys;
    keys = (keys & ~is_nan) | (is_nan & kNan);
    return;
  } else if constexpr (sizeof(T) == sizeof(K)) {
    __builtin_memcpy(&keys, x, sizeof keys);
    if (!kIsSigned<T>) keys ^= kLeast;
  } else {
    for (int lane = 0; lane < 8; ++lane) keys[lane] = x[lane];
  }
  if (!kAscending) keys = ~keys;
}

/// The place of an element is the number of elements that precede it. Lanes past the end of a list come last, and the
/// next list overwrites what they write.
template <class T, bool kAscending>
I64 sort_short(const void* from, const I32* offsets, I64 first, I64 lists, I32* out) {
  using K = SortKey<T>;
  using Keys = typename Eight<K>::Type;
  constexpr Keys kLanes = {0, 1, 2, 3, 4, 5, 6, 7};
  const T* const x = static_cast<const T*>(from);
  const I64 elements = offsets[lists];
  for (I64 list = first; list < lists; ++list) {
    const I32 begin = offsets[list], length = offsets[list + 1] - begin;
    if (length > 8 || begin + 8 > elements) return list;
    Keys keys;
    put_sort_keys<T, kAscending>(x + begin, keys);
    const Keys is_past = kLanes >= static_cast<K>(length);
    keys = (keys & ~is_past) | (is_past & Limits<K>::kHighest);
    K each[8];
    __builtin_memcpy(each, &keys, sizeof each);
    Keys places = {};
    for (K lane = 0; lane < 8; ++lane) {
      const Keys other = Keys{} + each[lane];
      if constexpr (kIsFloat<T> || sizeof(T) < sizeof(K)) {
        places -= other + (kLanes > lane) < keys;  // no key is the minimum
      } else {
        places -= (other < keys) | ((other == keys) & (kLanes > lane));
      }
    }
    __builtin_memcpy(each, &places, sizeof each);
    for (I32 lane = 0; lane < 8; ++lane) out[begin + each[lane]] = begin + lane;
  }
  return lists;
}

// ---------------------------------------------------------------------------------------------------------- reductions

struct Any {
  template <class T>
  static Byte of(Byte so_far, T x) {
    return static_cast<Byte>(so_far | (x != 0 ? 1 : 0));
  }
};
struct All {
  template <class T>
  static Byte of(Byte so_far, T x) {
    return static_cast<Byte>(so_far & (x != 0 ? 1 : 0));
  }
};
struct Sum {
  template <class A, class T>
  static A of(A so_far, T x) {
    return static_cast<A>(so_far + static_cast<A>(x));
  }
};
struct Product {
  template <class A, class T>
  static A of(A so_far, T x) {
    return static_cast<A>(so_far * static_cast<A>(x));
  }
};
// NaN is not less and not greater, so it is ignored.
struct Least {
  template <class T>
  static T of(T so_far, T x) {
    return x < so_far ? x : so_far;
  }
};
struct Greatest {
  template <class T>
  static T of(T so_far, T x) {
    return x > so_far ? x : so_far;
  }
};

/// The mean length from which on a loop for each list is faster.
constexpr I64 kLong = 16;

/// Folds in order. Elements of short lists are added to the place of their list, without a loop whose end is hard to
/// predict.
template <class T, class A, class F>
void fold(const T* x, const I32* offsets, I64 lists, A* out, I32* scratch, A identity) {
  const I64 elements = offsets[lists];
  if (elements >= kLong * lists) {
    for (I64 list = 0; list < lists; ++list) {
      A so_far = identity;
      for (I64 i = offsets[list]; i < offsets[list + 1]; ++i) so_far = F::of(so_far, x[i]);
      out[list] = so_far;
    }
    return;
  }
  parents(offsets, lists, scratch);
  for (I64 list = 0; list < lists; ++list) out[list] = identity;
  for (I64 i = 0; i < elements; ++i) out[scratch[i]] = F::of(out[scratch[i]], x[i]);
}

template <class T, class A, class F, int kIdentity>
void fold_from(const void* x, const I32* offsets, I64 lists, void* out, I32* scratch) {
  fold<T, A, F>(static_cast<const T*>(x), offsets, lists, static_cast<A*>(out), scratch, static_cast<A>(kIdentity));
}
template <class T, class F, bool kHighest>
void extreme(const void* x, const I32* offsets, I64 lists, void* out, I32* scratch) {
  fold<T, T, F>(static_cast<const T*>(x), offsets, lists, static_cast<T*>(out), scratch,
                kHighest ? Limits<T>::kHighest : Limits<T>::kLowest);
}

/// The position of the first extreme element. NaN stays if it is the first element.
template <class T, class Before>
void arg(const void* from, const I32* offsets, I64 lists, void* to, I32* /*scratch*/) {
  const T* __restrict x = static_cast<const T*>(from);
  I32* __restrict out = static_cast<I32*>(to);
  for (I64 list = 0; list < lists; ++list) {
    const I32 begin = offsets[list], end = offsets[list + 1];
    if (begin == end) {
      out[list] = -1;
      continue;
    }
    I32 place = begin;
    T best = x[begin];
    for (I32 i = begin + 1; i < end; ++i) {
      const bool is_better = Before::of(x[i], best) != 0;
      best = is_better ? x[i] : best;
      place = is_better ? i : place;
    }
    out[list] = place;
  }
}

/// scratch[i] ← the number of true elements before i.
void count_true(const void* from, I64 n, I32* scratch) {
  const Byte* x = static_cast<const Byte*>(from);
  I32 count = 0;
  for (I64 i = 0; i < n; ++i) {
    scratch[i] = count;
    count += x[i] != 0 ? 1 : 0;
  }
  scratch[n] = count;
}
void any_true(const void* x, const I32* offsets, I64 lists, void* to, I32* scratch) {
  count_true(x, offsets[lists], scratch);
  Byte* __restrict out = static_cast<Byte*>(to);
  for (I64 i = 0; i < lists; ++i) out[i] = scratch[offsets[i + 1]] > scratch[offsets[i]];
}
void all_true(const void* x, const I32* offsets, I64 lists, void* to, I32* scratch) {
  count_true(x, offsets[lists], scratch);
  Byte* __restrict out = static_cast<Byte*>(to);
  for (I64 i = 0; i < lists; ++i) {
    out[i] = scratch[offsets[i + 1]] - scratch[offsets[i]] == offsets[i + 1] - offsets[i];
  }
}
void sum_true(const void* x, const I32* offsets, I64 lists, void* to, I32* scratch) {
  count_true(x, offsets[lists], scratch);
  I64* __restrict out = static_cast<I64*>(to);
  for (I64 i = 0; i < lists; ++i) out[i] = scratch[offsets[i + 1]] - scratch[offsets[i]];
}
/// Booleans are ordered as numbers, and results are 0 or 1.
template <class F, int kIdentity>
void extreme_true(const void* x, const I32* offsets, I64 lists, void* out, I32* scratch) {
  fold<Byte, Byte, F>(static_cast<const Byte*>(x), offsets, lists, static_cast<Byte*>(out), scratch, kIdentity);
}

// ---------------------------------------------------------------------------------------------------------- histograms

/// Elements whose edges are counted at a time.
constexpr I64 kBinned = 64;

/// A z below 1 never has bin n. The largest one is 1 - 2^-53, and its product with n is n - n / 2^53. It is exact if
/// n is a power of two. Otherwise it is rounded down: n / 2^53 is more than half of the distance of floats next to n.
void bin_regular(const Binning& b, const void* from, I64 n, I32* __restrict cells) {
  const double* __restrict x = static_cast<const double*>(from);
  const double low = b.low, width = b.width, bins = b.bins, top = b.top;
  const I32 stride = static_cast<I32>(b.stride);
  for (I64 i = 0; i < n; ++i) {
    const double z = (x[i] - low) / width;
    const double inside = z >= 0 ? z * bins : -1.0;
    const double outside = z == 1 ? top : bins;  // NaN: bins
    cells[i] += (static_cast<I32>(z < 1 ? inside : outside) + 1) * stride;
  }
}

void bin_integer_of_floats(const Binning& b, const void* from, I64 n, I32* __restrict cells) {
  const double* __restrict x = static_cast<const double*>(from);
  const double low = b.low, bins = b.bins;
  const I32 stride = static_cast<I32>(b.stride);
  for (I64 i = 0; i < n; ++i) {
    const double z = x[i] - low;
    const double inside = z >= 0 ? z : -1.0;
    cells[i] += (static_cast<I32>(z < bins ? inside : bins) + 1) * stride;
  }
}

void bin_integer(const Binning& b, const void* from, I64 n, I32* __restrict cells) {
  const I64* __restrict x = static_cast<const I64*>(from);
  const I64 start = b.start, stop = b.stop, over = stop - start + 1;
  const I32 stride = static_cast<I32>(b.stride);
  for (I64 i = 0; i < n; ++i) {
    const I64 inside = x[i] < start ? 0 : x[i] - start + 1;
    cells[i] += static_cast<I32>(x[i] < stop ? inside : over) * stride;
  }
}

/// The cell is the number of edges that are not greater than x, where NaN exceeds all.
void bin_few_edges(const Binning& b, const void* from, I64 n, I32* cells) {
  const double* x = static_cast<const double*>(from);
  const double last = b.edges[b.count - 1];
  const I64 top = b.has_top ? 1 : 0;
  const I32 stride = static_cast<I32>(b.stride);
  for (I64 begin = 0; begin < n; begin += kBinned) {
    const I64 count = begin + kBinned < n ? kBinned : n - begin;
    double some[kBinned];
    I64 found[kBinned];
    for (I64 i = 0; i < count; ++i) some[i] = x[begin + i];
    for (I64 i = count; i < kBinned; ++i) some[i] = last;
    for (I64 i = 0; i < kBinned; ++i) found[i] = some[i] == last ? -top : 0;
    for (I64 e = 0; e < b.count; ++e) {
      const double edge = b.edges[e];
      for (I64 i = 0; i < kBinned; ++i) found[i] += some[i] < edge ? 0 : 1;
    }
    for (I64 i = 0; i < count; ++i) cells[begin + i] += static_cast<I32>(found[i]) * stride;
  }
}

void bin_edges(const Binning& b, const void* from, I64 n, I32* cells) {
  const double* x = static_cast<const double*>(from);
  const double last = b.edges[b.count - 1];
  search_each<double, true>(b.edges, b.count, x, n, [&](I64 i, I64 found) {
    const I64 top = b.has_top && x[i] == last ? 1 : 0;
    cells[i] += static_cast<I32>((found - top) * b.stride);
  });
}

void bin_category(const Binning& b, const void* from, I64 n, I32* cells) {
  const I64* x = static_cast<const I64*>(from);
  search_each<I64, true>(b.values, b.count, x, n, [&](I64 i, I64 found) {
    const bool is_there = found > 0 && b.values[found - 1] == x[i];
    cells[i] += static_cast<I32>((is_there ? b.places[found - 1] : b.count) * b.stride);
  });
}

void count(const I32* cells, I64 n, I64* counts, I64 distance) {
  static_assert(kCellCopies == 4);
  I64 *a = counts, *b = a + distance, *c = b + distance, *d = c + distance;
  I64 i = 0;
  for (; i + 4 <= n; i += 4) {
    ++a[cells[i]], ++b[cells[i + 1]], ++c[cells[i + 2]], ++d[cells[i + 3]];
  }
  for (; i < n; ++i) ++a[cells[i]];
}

void add_weights(const I32* cells, const double* weights, I64 n, WeightedBin* sums) {
  for (I64 i = 0; i < n; ++i) {
    WeightedBin& bin = sums[cells[i]];
    bin.sum += weights[i];
    bin.squares += weights[i] * weights[i];
  }
}

// -------------------------------------------------------------------------------------------------------------- tables

constexpr int at(ElementType type) { return static_cast<int>(type); }
constexpr int at(Op op, ElementType type) { return static_cast<int>(op) * kElementTypes + at(type); }
constexpr int at(Reduction reduction) { return static_cast<int>(reduction); }

template <class T>
constexpr void add_comparisons(Kernels& k, ElementType t) {
  k.element[at(Op::less, t)] = binary<T, Byte, Less>;
  k.element[at(Op::less_equal, t)] = binary<T, Byte, LessEqual>;
  k.element[at(Op::greater, t)] = binary<T, Byte, Greater>;
  k.element[at(Op::greater_equal, t)] = binary<T, Byte, GreaterEqual>;
  k.element[at(Op::equal, t)] = binary<T, Byte, Equal>;
  k.element[at(Op::unequal, t)] = binary<T, Byte, Unequal>;
  k.element[at(Op::where, t)] = where<T>;
  k.reduce[at(Reduction::argmin)][at(t)] = arg<T, Less>;
  k.reduce[at(Reduction::argmax)][at(t)] = arg<T, Greater>;
}

template <class T>
constexpr void add_conversions(Kernels& k, ElementType t) {
  ElementKernel* to = &k.element[kConvert + at(t) * kElementTypes];
  to[at(ElementType::int8)] = unary<T, std::int8_t, ConvertTo<std::int8_t>>;
  to[at(ElementType::int16)] = unary<T, std::int16_t, ConvertTo<std::int16_t>>;
  to[at(ElementType::int32)] = unary<T, std::int32_t, ConvertTo<std::int32_t>>;
  to[at(ElementType::int64)] = unary<T, std::int64_t, ConvertTo<std::int64_t>>;
  to[at(ElementType::uint8)] = unary<T, std::uint8_t, ConvertTo<std::uint8_t>>;
  to[at(ElementType::uint16)] = unary<T, std::uint16_t, ConvertTo<std::uint16_t>>;
  to[at(ElementType::uint32)] = unary<T, std::uint32_t, ConvertTo<std::uint32_t>>;
  to[at(ElementType::uint64)] = unary<T, std::uint64_t, ConvertTo<std::uint64_t>>;
  to[at(ElementType::float32)] = unary<T, float, ConvertTo<float>>;
  to[at(ElementType::float64)] = unary<T, double, ConvertTo<double>>;
  to[at(ElementType::boolean)] = not_zero<T>;
}

template <class T>
constexpr void add_sort(Kernels& k, ElementType t) {
  k.sort_short[0][at(t)] = sort_short<T, false>;
  k.sort_short[1][at(t)] = sort_short<T, true>;
}

template <class T>
constexpr void add_number(Kernels& k, ElementType t) {
  add_comparisons<T>(k, t);
  add_conversions<T>(k, t);
  add_sort<T>(k, t);
  k.element[at(Op::add, t)] = binary<T, T, Add>;
  k.element[at(Op::subtract, t)] = binary<T, T, Subtract>;
  k.element[at(Op::multiply, t)] = binary<T, T, Multiply>;
  k.element[at(Op::maximum, t)] = binary<T, T, Maximum>;
  k.element[at(Op::minimum, t)] = binary<T, T, Minimum>;
  k.element[at(Op::negative, t)] = unary<T, T, Negative>;
  k.element[at(Op::absolute, t)] = unary<T, T, Absolute>;
  k.element[at(Op::sign, t)] = unary<T, T, Sign>;
  k.element[kSearchLeft + at(t)] = search<T, false>;
  k.element[kSearchRight + at(t)] = search<T, true>;
  using A = std::conditional_t<kIsFloat<T>, T, std::conditional_t<kIsSigned<T>, std::int64_t, std::uint64_t>>;
  k.reduce[at(Reduction::sum)][at(t)] = fold_from<T, A, Sum, 0>;
  k.reduce[at(Reduction::product)][at(t)] = fold_from<T, A, Product, 1>;
  k.reduce[at(Reduction::any)][at(t)] = fold_from<T, Byte, Any, 0>;
  k.reduce[at(Reduction::all)][at(t)] = fold_from<T, Byte, All, 1>;
  k.reduce[at(Reduction::minimum)][at(t)] = extreme<T, Least, true>;
  k.reduce[at(Reduction::maximum)][at(t)] = extreme<T, Greatest, false>;
}

template <class T>
constexpr void add_integer(Kernels& k, ElementType t) {
  add_number<T>(k, t);
  k.element[at(Op::floor_divide, t)] = binary<T, T, FloorDivide>;
  k.element[at(Op::remainder, t)] = binary<T, T, Remainder>;
  k.element[at(Op::fmod, t)] = binary<T, T, Fmod>;
  k.element[at(Op::power, t)] = binary<T, T, Power>;
  k.element[at(Op::bit_and, t)] = binary<T, T, And>;
  k.element[at(Op::bit_or, t)] = binary<T, T, Or>;
  k.element[at(Op::bit_xor, t)] = binary<T, T, Xor>;
  k.element[at(Op::invert, t)] = unary<T, T, Invert>;
  k.element[at(Op::shift_left, t)] = binary<T, T, ShiftLeft>;
  k.element[at(Op::shift_right, t)] = binary<T, T, ShiftRight>;
}

template <class T>
constexpr void add_float(Kernels& k, ElementType t) {
  add_number<T>(k, t);
  k.element[at(Op::divide, t)] = binary<T, T, Divide>;
  k.element[at(Op::remainder, t)] = remainder<T>;
  k.element[at(Op::fmax, t)] = binary<T, T, Fmax>;
  k.element[at(Op::fmin, t)] = binary<T, T, Fmin>;
  k.element[at(Op::is_nan, t)] = unary<T, Byte, IsNan>;
  k.element[at(Op::is_infinite, t)] = unary<T, Byte, IsInfinite>;
  k.element[at(Op::is_finite, t)] = unary<T, Byte, IsFinite>;
  k.element[at(Op::sign_bit, t)] = unary<T, Byte, SignBit>;
  k.element[at(Op::copysign, t)] = binary<T, T, Copysign>;
  k.element[at(Op::floor, t)] = unary<T, T, Floor>;
  k.element[at(Op::ceil, t)] = unary<T, T, Ceil>;
  k.element[at(Op::trunc, t)] = unary<T, T, Trunc>;
  k.element[at(Op::rint, t)] = unary<T, T, Rint>;
  k.element[at(Op::sqrt, t)] = unary<T, T, Sqrt>;
  const int is_double = t == ElementType::float64 ? 1 : 0;
  k.element[kTakeAdd + is_double] = take_add<T>;
  k.element[kAddTake + is_double] = add_take<T>;
}

template <class T>
constexpr void add_size(Kernels& k, int log_size) {
  k.element[kTake + log_size] = take<T>;
  k.element[kTakeClamped + log_size] = take_clamped<T, I32>;
  k.element[kLookup + log_size] = take_clamped<T, I64>;
  k.element[kCopy + log_size] = copy<T>;
}

constexpr void add_boolean(Kernels& k) {
  constexpr ElementType kType = ElementType::boolean;
  add_comparisons<Byte>(k, kType);
  add_conversions<Byte>(k, kType);
  add_sort<Byte>(k, kType);
  k.element[at(Op::bit_and, kType)] = binary<Byte, Byte, And>;
  k.element[at(Op::bit_or, kType)] = binary<Byte, Byte, Or>;
  k.element[at(Op::bit_xor, kType)] = binary<Byte, Byte, Xor>;
  k.element[at(Op::invert, kType)] = unary<Byte, Byte, Not>;
  k.reduce[at(Reduction::sum)][at(kType)] = sum_true;
  k.reduce[at(Reduction::product)][at(kType)] = fold_from<Byte, I64, Product, 1>;
  k.reduce[at(Reduction::any)][at(kType)] = any_true;
  k.reduce[at(Reduction::all)][at(kType)] = all_true;
  k.reduce[at(Reduction::minimum)][at(kType)] = extreme_true<Least, 1>;
  k.reduce[at(Reduction::maximum)][at(kType)] = extreme_true<Greatest, 0>;
}

constexpr Kernels made() {
  Kernels k{};
  add_integer<std::int8_t>(k, ElementType::int8);
  add_integer<std::int16_t>(k, ElementType::int16);
  add_integer<std::int32_t>(k, ElementType::int32);
  add_integer<std::int64_t>(k, ElementType::int64);
  add_integer<std::uint8_t>(k, ElementType::uint8);
  add_integer<std::uint16_t>(k, ElementType::uint16);
  add_integer<std::uint32_t>(k, ElementType::uint32);
  add_integer<std::uint64_t>(k, ElementType::uint64);
  add_float<float>(k, ElementType::float32);
  add_float<double>(k, ElementType::float64);
  add_boolean(k);
  add_size<std::uint8_t>(k, 0);
  add_size<std::uint16_t>(k, 1);
  add_size<std::uint32_t>(k, 2);
  add_size<std::uint64_t>(k, 3);
  k.element[kCounts] = counts;
  k.element[kPositions] = positions;
  k.element[kNumbers] = numbers;
  k.filter = filter;
  k.parents = parents;
  k.input_offsets[0] = input_offsets<std::int32_t>;
  k.input_offsets[1] = input_offsets<std::uint32_t>;
  k.input_offsets[2] = input_offsets<std::int64_t>;
  k.at = at;
  k.add = add;
  k.runs = runs;
  k.pad = pad;
  k.interleave = interleave;
  k.tuples = tuples;
  k.bin[static_cast<int>(BinRule::regular)] = bin_regular;
  k.bin[static_cast<int>(BinRule::few_edges)] = bin_few_edges;
  k.bin[static_cast<int>(BinRule::edges)] = bin_edges;
  k.bin[static_cast<int>(BinRule::integer)] = bin_integer;
  k.bin[static_cast<int>(BinRule::integer_of_floats)] = bin_integer_of_floats;
  k.bin[static_cast<int>(BinRule::category)] = bin_category;
  k.count = count;
  k.add_weights = add_weights;
  return k;
}

constexpr Kernels kTable = made();

}  // namespace

const Kernels& UPSWEEP_PLAN_NAME(UPSWEEP_ISA)() noexcept { return kTable; }

}  // namespace upsweep::plan::detail
