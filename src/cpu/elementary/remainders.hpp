// SPDX-License-Identifier: Apache-2.0
// cpu/elementary/remainders.hpp: floor, ceil, trunc, rint, fmod, remainder, floor_divide, copysign and abs of lanes.
//
// Include this header only in files that are compiled once per ISA.
#pragma once

#include "cpu/elementary/lanes.hpp"

namespace upsweep::cpu {
namespace {

/// The largest integer that is not above x.
UPSWEEP_INLINE Lanes lower_integer(Lanes x) {
  const Lanes nearest = round_even(x);
  // -0.0 - 0.0 is -0.0.
  return nearest - select(nearest > x, all(1.0), Lanes{});
}

struct Rint {
  template <class P, bool kAll>
  UPSWEEP_INLINE static Lanes value_of(Lanes x, Bits& /*usual*/) {
    return round_even(x);
  }
};

struct Floor {
  template <class P, bool kAll>
  UPSWEEP_INLINE static Lanes value_of(Lanes x, Bits& /*usual*/) {
    return lower_integer(x);
  }
};

struct Ceil {
  template <class P, bool kAll>
  UPSWEEP_INLINE static Lanes value_of(Lanes x, Bits& /*usual*/) {
    return -lower_integer(-x);
  }
};

struct Trunc {
  template <class P, bool kAll>
  UPSWEEP_INLINE static Lanes value_of(Lanes x, Bits& /*usual*/) {
    return with_sign(lower_integer(absolute(x)), sign_of(x));
  }
};

struct Sqrt {
  template <class P, bool kAll>
  UPSWEEP_INLINE static Lanes value_of(Lanes x, Bits& /*usual*/) {
    return square_root(x);
  }
};

struct Absolute {
  template <class P, bool kAll>
  UPSWEEP_INLINE static Lanes value_of(Lanes x, Bits& /*usual*/) {
    return absolute(x);
  }
};

struct Copysign {
  template <class P, bool kAll>
  UPSWEEP_INLINE static Lanes value_of(Lanes x, Lanes y, Bits& /*usual*/) {
    return with_sign(absolute(x), sign_of(y));
  }
};

/// a·b exactly, by halves of 26 bits (Dekker 1971). The sums in this order are exact.
UPSWEEP_INLINE Parts exact_product(Lanes a, Lanes b) {
  // Rounds to the nearest number of 26 bits: the rest also has 26.
  const auto half = [](Lanes x) { return upper(value(bits(x) + (std::int64_t{1} << 26))); };
  const Lanes ah = half(a);
  const Lanes bh = half(b);
  const Lanes al = a - ah;
  const Lanes bl = b - bh;
  const Lanes hi = a * b;
  return {hi, (((ah * bh - hi) + ah * bl) + al * bh) + al * bl};
}

/// |x| modulo |y|. It is exact, as x - n·y is a double for the integer n below x / y. The quotient may round up to the
/// integer above it; then the rest is negative, and also a double.
template <bool kAll>
UPSWEEP_INLINE Lanes modulus(Lanes x, Lanes y, Bits& usual) {
  const Lanes a = absolute(x);
  const Lanes b = absolute(y);
  const Lanes ratio = a / b;
  constexpr double kLargest = 0x1p1000;
  const Bits ordinary = (ratio < 0x1p52) & (b >= kSmallestNormal) & (b < kLargest) & (a < kLargest);
  usual &= ordinary;
  const Parts product = exact_product(lower_integer(ratio), b);
  const Lanes rest = (a - product.hi) - product.lo;
  Lanes result = select(rest < 0.0, rest + b, rest);
  if constexpr (kAll) {
    for (int i = 0; i < kDoubles; ++i) {
      if (ordinary[i] == 0) result[i] = __builtin_fmod(a[i], b[i]);  // exact in every library
    }
    result = select(is_nan(result), all(kNan), result);
  }
  return result;
}

struct Fmod {
  template <class P, bool kAll>
  UPSWEEP_INLINE static Lanes value_of(Lanes x, Lanes y, Bits& usual) {
    return with_sign(modulus<kAll>(x, y, usual), sign_of(x));
  }
};

/// Rounds to the precision of the result: of a sum or a quotient of floats, a double rounds to what they round to.
template <class P>
UPSWEEP_INLINE Lanes to_precision(Lanes x) {
  if constexpr (P::kFull) return x;
  return widened(narrowed(x));
}

struct Remainder {
  template <class P, bool kAll>
  UPSWEEP_INLINE static Lanes value_of(Lanes x, Lanes y, Bits& usual) {
    const Lanes rest = with_sign(modulus<kAll>(x, y, usual), sign_of(x));
    const Bits differ = (rest < 0.0) ^ (y < 0.0);
    const Lanes moved = select(differ, rest + y, rest);
    const Lanes result = select(rest == 0.0, with_sign(Lanes{}, sign_of(y)), moved);
    return kAll ? select(y == 0.0, rest, result) : result;
  }
};

/// NumPy's rule: the integer nearest to (x - remainder) / y.
struct FloorDivide {
  template <class P, bool kAll>
  UPSWEEP_INLINE static Lanes value_of(Lanes x, Lanes y, Bits& usual) {
    const Lanes rest = with_sign(modulus<kAll>(x, y, usual), sign_of(x));
    const Bits differ = ((rest < 0.0) ^ (y < 0.0)) & (rest != 0.0);
    const Lanes ratio = to_precision<P>(x / y);
    Lanes whole = to_precision<P>(to_precision<P>(x - rest) / y);
    whole = select(differ, to_precision<P>(whole - 1.0), whole);
    Lanes result = lower_integer(whole);
    result = select(whole - result > 0.5, result + 1.0, result);
    result = select(whole == 0.0, with_sign(Lanes{}, sign_of(ratio)), result);
    return kAll ? select(y == 0.0, ratio, result) : result;
  }
};

}  // namespace
}  // namespace upsweep::cpu
