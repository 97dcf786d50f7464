// SPDX-License-Identifier: Apache-2.0
// cpu/simd.hpp: the 64-byte logical vector of all SIMD rungs, on the registers that the target has.
//
// A vector is 64 bytes for every ISA: one AVX-512 register, two AVX2 ones, four SSE ones. The order in which its lanes
// are combined is the same for every ISA, so a float result has the same bits for every ISA. The code uses the vector
// extensions of GCC and Clang: one source for every ISA and every operator, and the compiler selects the instructions.
//
// Include this header only in files that are compiled once per ISA (simd_kernels.cpp). Everything in it has internal
// linkage. Otherwise the linker would keep one copy of an inline function for all callers, and this copy might be the
// one that was compiled for AVX-512.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <type_traits>
#include <utility>

#include "cpu/kernels.hpp"
#include "upsweep/operators.hpp"

#if defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define UPSWEEP_REGISTER_BYTES 64
#elif defined(__AVX2__)
#define UPSWEEP_REGISTER_BYTES 32
#else
#define UPSWEEP_REGISTER_BYTES 16
#endif

#define UPSWEEP_INLINE [[gnu::always_inline]] inline

namespace upsweep::cpu {
namespace {

constexpr int kRegisterBytes = UPSWEEP_REGISTER_BYTES;
constexpr int kRegisters = kVectorBytes / kRegisterBytes;
constexpr int kLaneBytes = 16;  // in-lane shuffles stay within this size on every ISA

template <class T>
struct RegisterOf {
  typedef T Type __attribute__((vector_size(kRegisterBytes)));
  typedef T Unaligned __attribute__((vector_size(kRegisterBytes), aligned(1), may_alias));
};
template <class T>
using Register = typename RegisterOf<T>::Type;
template <class T>
constexpr int kRegisterLanes = kRegisterBytes / int{sizeof(T)};
template <class T>
constexpr int kLanes = kVectorBytes / int{sizeof(T)};

template <class T>
struct Vector {
  Register<T> reg[kRegisters];
};

// Copies one register at a time. For a copy of all 64 bytes, GCC 12 uses the stack if registers are narrower.
template <class T>
UPSWEEP_INLINE Vector<T> load(const T* from) {
  Vector<T> v;
  for (int r = 0; r < kRegisters; ++r) {
    v.reg[r] = reinterpret_cast<const typename RegisterOf<T>::Unaligned*>(from)[r];
  }
  return v;
}

template <class T>
UPSWEEP_INLINE void store(T* to, const Vector<T>& v) {
  for (int r = 0; r < kRegisters; ++r) reinterpret_cast<typename RegisterOf<T>::Unaligned*>(to)[r] = v.reg[r];
}

/// Converts int32 or uint32 elements to a register of int64. For vectors of 64 bytes GCC 12 converts halves and joins
/// them, six instructions instead of one. For SSE registers it finds the best code.
template <class T>
UPSWEEP_INLINE Register<std::int64_t> widen(const T* from) {
  static_assert(sizeof(T) == 4);
#if UPSWEEP_REGISTER_BYTES == 64
  const __m256i narrow = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  return (Register<std::int64_t>)(T(-1) < T(0) ? _mm512_cvtepi32_epi64(narrow) : _mm512_cvtepu32_epi64(narrow));
#elif UPSWEEP_REGISTER_BYTES == 32
  const __m128i narrow = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return (Register<std::int64_t>)(T(-1) < T(0) ? _mm256_cvtepi32_epi64(narrow) : _mm256_cvtepu32_epi64(narrow));
#else
  typedef T Narrow __attribute__((vector_size(8), aligned(1), may_alias));
  return __builtin_convertvector(*reinterpret_cast<const Narrow*>(from), Register<std::int64_t>);
#endif
}

/// Stores a register past the caches; `to` is aligned to its size.
template <class R>
UPSWEEP_INLINE void store_non_temporal(void* to, R v) {
#if UPSWEEP_REGISTER_BYTES == 64
  _mm512_stream_si512(static_cast<__m512i*>(to), reinterpret_cast<const __m512i&>(v));
#elif UPSWEEP_REGISTER_BYTES == 32
  _mm256_stream_si256(static_cast<__m256i*>(to), reinterpret_cast<const __m256i&>(v));
#else
  _mm_stream_si128(static_cast<__m128i*>(to), reinterpret_cast<const __m128i&>(v));
#endif
}

template <class T>
UPSWEEP_INLINE Vector<T> splat(T value) {
  Vector<T> v;
  // GCC 12 would store each lane separately. Subtracting zero keeps the bits, also of -0.0.
  for (int r = 0; r < kRegisters; ++r) v.reg[r] = value - Register<T>{};
  return v;
}

/// Combines lane by lane: op works on registers.
template <class T, class Op>
UPSWEEP_INLINE Vector<T> combine(Op op, const Vector<T>& a, const Vector<T>& b) {
  Vector<T> v;
  for (int r = 0; r < kRegisters; ++r) v.reg[r] = op(a.reg[r], b.reg[r]);
  return v;
}

/// Each lane is not finite if `seen` is not finite or x is infinite, otherwise finite. If x is NaN, `seen` may stay.
template <class T>
UPSWEEP_INLINE Register<T> see_infinity(Register<T> seen, Register<T> x) {
#if UPSWEEP_REGISTER_BYTES == 64
  constexpr int kLargerMagnitude = 0b1011;
  if constexpr (sizeof(T) == 4) {
    return _mm512_range_ps(seen, x, kLargerMagnitude);
  } else {
    return _mm512_range_pd(seen, x, kLargerMagnitude);
  }
#else
  return seen + (x - x);
#endif
}

/// Returns b if it is less than a (or greater, by kGreatest), or NaN; otherwise a.
template <bool kGreatest, class R>
UPSWEEP_INLINE R extremum(R a, R b) {
#if UPSWEEP_REGISTER_BYTES == 64
  // The instruction returns a if one of them is NaN, so b is kept where it is NaN. GCC 12 compiles conditions to three
  // instructions, each of which waits for the one before.
  if constexpr (std::is_same_v<R, Register<float>>) {
    const auto is_number = _mm512_cmp_ps_mask(b, b, _CMP_ORD_Q);
    return kGreatest ? _mm512_mask_max_ps(b, is_number, b, a) : _mm512_mask_min_ps(b, is_number, b, a);
  } else if constexpr (std::is_same_v<R, Register<double>>) {
    const auto is_number = _mm512_cmp_pd_mask(b, b, _CMP_ORD_Q);
    return kGreatest ? _mm512_mask_max_pd(b, is_number, b, a) : _mm512_mask_min_pd(b, is_number, b, a);
  }
#endif
  const auto precedes = kGreatest ? a < b : b < a;
  return (precedes | (b != b)) ? b : a;
}

/// An operator on registers. It does not call Op: Op is an inline function of another header (see the head of the
/// file).
template <class Op>
struct VectorOp {
  template <class R>
  UPSWEEP_INLINE R operator()(R a, R b) const {
    constexpr Operator kOp = Op::kOperator;
    if constexpr (kOp == Operator::add) {
      return a + b;
    } else if constexpr (kOp == Operator::mul) {
      return a * b;
    } else if constexpr (kOp == Operator::min) {
      return extremum<false>(a, b);
    } else if constexpr (kOp == Operator::max) {
      return extremum<true>(a, b);
    } else if constexpr (kOp == Operator::bit_and) {
      return a & b;
    } else if constexpr (kOp == Operator::bit_or) {
      return a | b;
    } else {
      static_assert(kOp == Operator::bit_xor, "a new operator needs its vector form here");
      return a ^ b;
    }
  }
};

template <class T, auto kIndex, int... kLane>
UPSWEEP_INLINE Register<T> shuffle(Register<T> a, Register<T> b, std::integer_sequence<int, kLane...>) {
  return __builtin_shufflevector(a, b, kIndex(kLane)...);
}

/// Lane j of the result is lane kIndex(j) of a followed by b.
template <class T, auto kIndex>
UPSWEEP_INLINE Register<T> shuffle(Register<T> a, Register<T> b) {
  return shuffle<T, kIndex>(a, b, std::make_integer_sequence<int, kRegisterLanes<T>>{});
}

/// Shuffles of 1- and 2-byte elements across the register take many instructions before AVX-512 VBMI. A shuffle within
/// 16-byte lanes and one of whole lanes take two. Wider elements need only one.
template <class T>
constexpr bool kInTwoSteps = sizeof(T) < 4;
template <class T>
constexpr int kPerLane = kLaneBytes / int{sizeof(T)};

/// Every lane ← the last element of its 16-byte lane.
template <class T>
UPSWEEP_INLINE Register<std::int64_t> last_of_lanes(Register<T> v) {
  return (Register<std::int64_t>)shuffle<T, [](int j) { return j | (kPerLane<T> - 1); }>(v, v);
}

/// Every lane ← the register's last element.
template <class T>
UPSWEEP_INLINE Register<T> broadcast_last(Register<T> v) {
  if constexpr (kInTwoSteps<T>) {
    const auto lanes = last_of_lanes<T>(v);
    return (Register<T>)shuffle<std::int64_t, [](int) { return kRegisterLanes<std::int64_t> - 1; }>(lanes, lanes);
  } else {
    return shuffle<T, [](int) { return kRegisterLanes<T> - 1; }>(v, v);
  }
}

/// In every group of 2·kHalf elements: the right half ← (last of the left half) ⊕ itself.
template <class T, int kHalf, class Op>
UPSWEEP_INLINE Register<T> scan_level(Op op, Register<T> v) {
  Register<T> left;
  if constexpr (kInTwoSteps<T> && kHalf >= kPerLane<T>) {
    constexpr int kHalfWords = 2 * kHalf / kPerLane<T>;  // a 16-byte lane is two words of 64 bits
    const auto lanes = last_of_lanes<T>(v);
    left = (Register<T>)shuffle<std::int64_t, [](int j) {
      return (j & kHalfWords) != 0 ? (j & ~(2 * kHalfWords - 1)) + kHalfWords - 1 : j;
    }>(lanes, lanes);
  } else {
    left = shuffle<T, [](int j) { return (j & kHalf) != 0 ? (j & ~(2 * kHalf - 1)) + kHalf - 1 : j; }>(v, v);
  }
  const Register<T> sum = op(left, v);
  return shuffle<T, [](int j) { return (j & kHalf) != 0 ? j + kRegisterLanes<T> : j; }>(v, sum);
}

template <class T, int kHalf, class Op>
UPSWEEP_INLINE Register<T> scan_levels(Op op, Register<T> v) {
  if constexpr (kHalf < kRegisterLanes<T>) {
    return scan_levels<T, 2 * kHalf>(op, scan_level<T, kHalf>(op, v));
  } else {
    return v;
  }
}

/// Scans a vector inclusively in log2(lanes) steps: Sklansky's tree (IRE Trans. EC-9, 1960). At each level the last
/// element of every left half is combined into all of its right half. The levels continue across registers, so the tree
/// is the same for any register width.
template <class T, class Op>
UPSWEEP_INLINE Vector<T> scan_vector(Op op, Vector<T> v) {
  for (int r = 0; r < kRegisters; ++r) v.reg[r] = scan_levels<T, 1>(op, v.reg[r]);
  for (int half = 1; half < kRegisters; half *= 2) {
    for (int r = 0; r < kRegisters; ++r) {
      if ((r & half) != 0) v.reg[r] = op(broadcast_last<T>(v.reg[(r & ~(2 * half - 1)) + half - 1]), v.reg[r]);
    }
  }
  return v;
}

/// Lane 0 ← the last lane of `before`, every other lane ← the one in front of it.
template <class T>
UPSWEEP_INLINE Vector<T> shift_in(const Vector<T>& before, const Vector<T>& v) {
  Vector<T> shifted;
  for (int r = 0; r < kRegisters; ++r) {
    const Register<T> left = r == 0 ? before.reg[kRegisters - 1] : v.reg[r - 1];
    shifted.reg[r] = shuffle<T, [](int j) { return kRegisterLanes<T> - 1 + j; }>(left, v.reg[r]);
  }
  return shifted;
}

/// All lanes ← the vector's last element.
template <class T>
UPSWEEP_INLINE Vector<T> splat_last(const Vector<T>& v) {
  Vector<T> last;
  const Register<T> all = broadcast_last<T>(v.reg[kRegisters - 1]);
  for (int r = 0; r < kRegisters; ++r) last.reg[r] = all;
  return last;
}

template <class T>
UPSWEEP_INLINE T last_of(const Vector<T>& v) {
  return v.reg[kRegisters - 1][kRegisterLanes<T> - 1];
}

// ------------------------------------------------------------------------------------------- where results are put
// A sink receives the vectors of an output in order, then finish(end of the last one).

/// Stores through the caches, at any address.
struct Cached {
  template <class T>
  UPSWEEP_INLINE void put(T* to, const Vector<T>& v) {
    store(to, v);
  }
  UPSWEEP_INLINE void finish(void*) {}
};

/// Non-temporal stores, at addresses aligned to 64 bytes.
struct NonTemporal {
  template <class T>
  UPSWEEP_INLINE void put(T* to, const Vector<T>& v) {
    char* at = reinterpret_cast<char*>(to);
    for (int r = 0; r < kRegisters; ++r, at += kRegisterBytes) store_non_temporal(at, v.reg[r]);
  }
  UPSWEEP_INLINE void finish(void*) {}
};

#if UPSWEEP_REGISTER_BYTES >= 32
constexpr bool kCanRealign = true;

/// Non-temporal stores, at any address of 4- or 8-byte elements. The end of one register and the beginning of the next
/// are stored at an aligned address. In front of the first vector there must be a register of finished output.
class Realigned {
 public:
  explicit Realigned(const void* out)
      : over_(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(out) % kRegisterBytes)),
        left_(*reinterpret_cast<const RegisterOf<std::int32_t>::Unaligned*>(static_cast<const char*>(out) -
                                                                            kRegisterBytes)) {
    const int over = static_cast<int>(over_ / 4);
    for (int j = 0; j < kWords; ++j) {
      from_right_[j] = j < over ? 0 : -1;
      index_[j] = j < over ? kWords - over + j : j - over;
    }
  }

  template <class T>
  UPSWEEP_INLINE void put(T* to, const Vector<T>& v) {
    char* aligned = reinterpret_cast<char*>(to) - over_;
    for (int r = 0; r < kRegisters; ++r, aligned += kRegisterBytes) {
      const auto right = (Words)v.reg[r];
      store_non_temporal(aligned, join(left_, right));
      left_ = right;
    }
  }

  /// Writes the last register's end; its beginning is written again.
  UPSWEEP_INLINE void finish(void* end) {
    char* last = static_cast<char*>(end) - kRegisterBytes;
    *reinterpret_cast<RegisterOf<std::int32_t>::Unaligned*>(last) = left_;
  }

 private:
  using Words = Register<std::int32_t>;
  static constexpr int kWords = kRegisterLanes<std::int32_t>;

  /// Lane j ← lane index_[j] of `right` if from_right_[j] is set, otherwise of `left`.
  [[nodiscard]] UPSWEEP_INLINE Words join(Words left, Words right) const {
#if UPSWEEP_REGISTER_BYTES == 64
    const auto index = (__m512i)(index_ | (from_right_ & kWords));
    return (Words)_mm512_permutex2var_epi32((__m512i)left, index, (__m512i)right);
#else
    const auto index = (__m256i)index_;
    const auto from_left = _mm256_permutevar8x32_epi32((__m256i)left, index);
    const auto from_right = _mm256_permutevar8x32_epi32((__m256i)right, index);
    return (Words)_mm256_blendv_epi8(from_left, from_right, (__m256i)from_right_);
#endif
  }

  std::int64_t over_;  // distance in bytes from the aligned address in front of an output register
  Words left_;         // the register in front
  Words index_{};
  Words from_right_{};
};
#else
constexpr bool kCanRealign = false;
class Realigned;
#endif

}  // namespace
}  // namespace upsweep::cpu
