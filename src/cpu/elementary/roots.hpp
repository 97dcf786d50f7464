// SPDX-License-Identifier: Apache-2.0
// cpu/elementary/roots.hpp: sqrt, cbrt and hypot of the lanes of a register.
//
// Include this header only in files that are compiled once per ISA.
#pragma once

#include "cpu/elementary/coefficients.hpp"
#include "cpu/elementary/lanes.hpp"

namespace upsweep::cpu {
namespace {

struct Cbrt {
  /// A third of the bits of x, read as an integer, are the bits of a number within 4 % of the root. A polynomial leads
  /// to 20 bits, and a step of Halley's method to all of them.
  template <class P, bool kAll>
  UPSWEEP_INLINE static Lanes value_of(Lanes x, Bits& usual) {
    const Lanes a = absolute(x);
    usual &= (a >= kSmallestNormal) & (a < kInfinity);
    const Bits small = a < kSmallestNormal;
    const Lanes b = kAll ? select(small, a * 0x1p54, a) : a;
    constexpr double kIntegers = 0x1p52;
    const Lanes upper_half = value(shifted_right(bits(b), 32) | bits(all(kIntegers))) - kIntegers;
    constexpr double kShift = (682 - 0.0331) * 0x1p20;  // two thirds of the bias, and the mean error of the line
    const Bits third = bits(upper_half * (1.0 / 3) + (kIntegers + kShift)) << 32;
    const Lanes guess = value(third);
    const Lanes ratio = (guess * guess) * (guess / b);
    Lanes t = guess * polynomial(ratio, kCbrt);
    if constexpr (P::kFull) t = value((bits(t) + (std::int64_t{1} << 29)) & ~((std::int64_t{1} << 30) - 1));
    const Lanes q = b / (t * t);  // the square is exact
    Lanes root = t + t * ((q - t) / ((t + t) + q));
    if constexpr (kAll) root = select(small, root * 0x1p-18, root);
    if constexpr (kAll) root = select((a > 0.0) & (a < kInfinity), root, a);
    return with_sign(root, sign_of(x));
  }
};

struct Hypot {
  template <class P, bool kAll>
  UPSWEEP_INLINE static Lanes value_of(Lanes x, Lanes y, Bits& usual) {
    const Lanes ax = absolute(x);
    const Lanes ay = absolute(y);
    const Bits order = ax < ay;
    Lanes large = select(order, ay, ax);
    Lanes small = select(order, ax, ay);
    constexpr double kSmallest = 0x1p-400;
    constexpr double kLargest = 0x1p500;
    const Bits ordinary = (large >= kSmallest) & (large < kLargest) & (small >= 0.0);
    usual &= ordinary;
    Lanes factor = all(1.0);
    if constexpr (kAll) {
      factor = select(ordinary, factor, select(large < kSmallest, all(0x1p600), all(0x1p-600)));
      large = large * factor;
      small = small * factor;
    }
    const Parts a = square_of<P>(large);
    const Parts b = square_of<P>(small);
    Parts sum = ordered_sum(a.hi, b.hi);
    sum.lo += a.lo + b.lo;
    const Parts root = square_root<P>(sum);
    Lanes result = P::kFull ? root.hi + root.lo : root.hi;
    if constexpr (kAll) {
      result = result * select(factor == 0x1p600, all(0x1p-600), select(factor == 0x1p-600, all(0x1p600), factor));
      result = select(is_nan(y), ay, result);
      result = select(is_nan(x), ax, result);
      result = select((ax == kInfinity) | (ay == kInfinity), all(kInfinity), result);
    }
    return result;
  }
};

}  // namespace
}  // namespace upsweep::cpu
