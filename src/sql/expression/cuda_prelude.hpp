// SPDX-License-Identifier: Apache-2.0
// sql/expression/cuda_prelude.hpp: functions that generated code calls: exact arithmetic, comparison, loads, for NVRTC.
#pragma once

#include <string_view>

namespace upsweep::expression {

// The CPU implements the same arithmetic with __builtin_…_overflow, number.hpp and kernels.cpp. The table of cases of
// tests/device_query_test.cpp verifies both.
/// Every generated source begins with this CUDA C++ text.
inline constexpr std::string_view kPrelude = R"(typedef long long i64;
typedef unsigned long long u64;
typedef __int128 i128;
typedef unsigned __int128 u128;
#define INLINE static __device__ __forceinline__

INLINE i64 checked_add(i64 a, i64 b, bool& bad) {
  const i64 r = (i64)((u64)a + (u64)b);
  bad |= ((a ^ r) & (b ^ r)) < 0;
  return r;
}
INLINE i64 checked_subtract(i64 a, i64 b, bool& bad) {
  const i64 r = (i64)((u64)a - (u64)b);
  bad |= ((a ^ b) & (a ^ r)) < 0;
  return r;
}
INLINE i64 checked_multiply(i64 a, i64 b, bool& bad) {
  const i64 low = (i64)((u64)a * (u64)b);
  bad |= __mul64hi(a, b) != (low >> 63);
  return low;
}
INLINE i128 checked_add(i128 a, i128 b, bool& bad) {
  const i128 r = (i128)((u128)a + (u128)b);
  bad |= ((a ^ r) & (b ^ r)) < 0;
  return r;
}
INLINE i128 checked_subtract(i128 a, i128 b, bool& bad) {
  const i128 r = (i128)((u128)a - (u128)b);
  bad |= ((a ^ b) & (a ^ r)) < 0;
  return r;
}
INLINE u128 magnitude(i128 a) { return a < 0 ? (u128)0 - (u128)a : (u128)a; }
INLINE i128 checked_multiply(i128 a, i128 b, bool& bad) {
  const u128 x = magnitude(a), y = magnitude(b);
  const u64 x_high = (u64)(x >> 64), y_high = (u64)(y >> 64);
  const u128 cross = (u128)x_high * (u64)y + (u128)y_high * (u64)x;
  const u128 low = (u128)(u64)x * (u64)y;
  const u128 r = low + (cross << 64);
  const bool negative = (a < 0) != (b < 0);
  const u128 most = ((u128)1 << 127) - (negative ? 0 : 1);
  bad |= (x_high != 0 && y_high != 0) || (cross >> 64) != 0 || r < low || r > most;
  return (i128)(negative ? (u128)0 - r : r);
}
// a / b by what the host makes of b (struct Divisor): an arithmetic shift of a product's high half, one more where a is negative, and b's
// sign.
INLINE i64 divided(i64 a, i64 multiplier, int shift, i64 sign) {
  const i64 high = (i64)((u64)a + (u64)__mul64hi(multiplier, a));
  return (((high >> shift) + (a < 0)) ^ sign) - sign;
}
INLINE i64 divided(int a, int multiplier, int shift, i64 sign) {
  const int high = (int)((unsigned)a + (unsigned)__mulhi(multiplier, a));
  return ((i64)((high >> shift) + (a < 0)) ^ sign) - sign;
}
static __device__ __noinline__ i128 quotient(i128 a, i128 b) { return a / b; }
INLINE i128 divided(i128 a, i128 b, i64 multiplier, int shift, i64 sign) {
  const bool is_narrow = a == (i64)a && a != (i64)(1ULL << 63);
  return is_narrow ? (i128)divided((i64)a, multiplier, shift, sign) : quotient(a, b);
}
// NaN is equal to itself and greater than all else.
INLINE bool is_less(double a, double b) { return a < b || (b != b && a == a); }
INLINE bool is_equal(double a, double b) { return a == b || (a != a && b != b); }
INLINE bool is_real(i128 a) { return magnitude(a) <= (u128)1 << 53; }
INLINE i128 join(u64 low, u64 high) { return (i128)((u128)high << 64 | low); }
INLINE double real(u64 bits) { return __longlong_as_double((i64)bits); }
INLINE u64 bits_of(double value) { return (u64)__double_as_longlong(value); }
// In GROUP BY, -0.0 is 0.0, and every NaN is the same.
INLINE i64 key_of(double value) { return value != value ? 0x7ff8LL << 48 : (i64)bits_of(value + 0.0); }
template <class T>
INLINE T at(u64 values, i64 row) { return __ldg((const T*)values + row); }
INLINE i128 wide_at(u64 values, i64 row) {
  return join(__ldg((const u64*)values + 2 * row), __ldg((const u64*)values + 2 * row + 1));
}
// Whether a value is among `count` others, which ascend.
template <class T, class Load>
INLINE bool is_among(i64 count, T value, Load load) {
  i64 first = 0;
  for (i64 left = count; left > 0;) {
    const i64 half = left / 2;
    const bool is_after = load(first + half) < value;
    first = is_after ? first + half + 1 : first;
    left = is_after ? left - half - 1 : half;
  }
  return first < count && load(first) == value;
}
INLINE bool is_member(u64 members, i64 count, i64 value) {
  return is_among(count, value, [=](i64 i) { return at<i64>(members, i); });
}
INLINE bool is_member(u64 members, i64 count, i128 value) {
  return is_among(count, value, [=](i64 i) { return wide_at(members, i); });
}
INLINE bool is_member(u64 members, i64 count, double value) {
  return is_among(count, value, [=](i64 i) { return at<double>(members, i); });
}
INLINE bool bit_at(u64 bits, i64 row) { return (__ldg((const unsigned char*)bits + (row >> 3)) >> (row & 7)) & 1; }
)";

}  // namespace upsweep::expression
