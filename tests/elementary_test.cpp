// SPDX-License-Identifier: Apache-2.0
// tests/elementary_test.cpp: elementary functions against MPFR, C's special cases, and the same bits on every ISA.
//
// UPSWEEP_ELEMENTARY_ARGUMENTS sets the number of arguments of each range that are compared with MPFR.
#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "cpu/elementary/elementary.hpp"
#include "patterns.hpp"

namespace upsweep::cpu {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

using tests::supported_isas;

/// SplitMix64 (Steele, Lea, Flood 2014): the same numbers everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  double below_one() { return std::ldexp(static_cast<double>(next() >> 11), -53); }

 private:
  std::uint64_t state_;
};

/// Arguments: uniform in an interval, or with random bits.
struct Range {
  double low;
  double high;
};
constexpr Range kBits{0, 0};

template <class T>
T from_bits(std::uint64_t bits) {
  if constexpr (sizeof(T) == 4) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits >> 32));
  } else {
    return std::bit_cast<double>(bits);
  }
}

template <class T>
T argument(Random& random, Range range) {
  if (range.low == range.high) return from_bits<T>(random.next());
  return static_cast<T>(range.low + (range.high - range.low) * random.below_one());
}

struct UnaryCase {
  const char* name;
  UnaryFunction function;
  int (*exact)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
  double (*standard)(double);
  std::uint64_t hash_32;
  std::uint64_t hash_64;
  std::vector<Range> ranges;
};

struct BinaryCase {
  const char* name;
  BinaryFunction function;
  int (*exact)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);
  double (*standard)(double, double);
  std::uint64_t hash_32;
  std::uint64_t hash_64;
  std::vector<std::pair<Range, Range>> ranges;
};

// NumPy's rules, from those of C.
double python_remainder(double x, double y) {
  const double rest = std::fmod(x, y);
  if (y == 0 || std::isnan(rest)) return rest;
  if (rest == 0) return std::copysign(0.0, y);
  return (rest < 0) != (y < 0) ? rest + y : rest;
}
template <class T>
T python_floor_divide(T x, T y) {
  if (y == 0) return x / y;
  const T rest = std::fmod(x, y);
  T ratio = (x - rest) / y;
  if (rest != 0 && (rest < 0) != (y < 0)) ratio -= 1;
  if (ratio == 0) return std::copysign(T{0}, x / y);
  const T whole = std::floor(ratio);
  return ratio - whole > T{0.5} ? whole + 1 : whole;
}

#define UPSWEEP_STANDARD_1(name) [](double x) { return std::name(x); }
#define UPSWEEP_STANDARD_2(name) [](double x, double y) { return std::name(x, y); }

/// The ranges are hard ones: where results are near a power of two or 0, where a reduction changes, and ends.
std::vector<UnaryCase> unary_cases() {
  using U = UnaryFunction;
  return {
      {"cbrt",
       U::cbrt,
       mpfr_cbrt,
       UPSWEEP_STANDARD_1(cbrt),
       0xd1512b1dd2662ffe,
       0x666e1e9d75165184,
       {kBits, {1, 8}, {0, 1e-300}, {0.99, 1.01}}},
      {"exp",
       U::exp,
       mpfr_exp,
       UPSWEEP_STANDARD_1(exp),
       0x3ebdfb5edb125fe9,
       0x22321179a118c511,
       {kBits, {-1, 1}, {-0.35, 0.35}, {-746, -707}, {707, 710}, {-700, 700}, {-104, 89}, {-1e-8, 1e-8}}},
      {"exp2",
       U::exp2,
       mpfr_exp2,
       UPSWEEP_STANDARD_1(exp2),
       0x21578eaf7e1d9761,
       0x52f8df6a755f5c8a,
       {kBits, {-1, 1}, {-1076, -1020}, {1019, 1025}, {-1000, 1000}, {-151, 129}, {-1e-8, 1e-8}}},
      {"expm1",
       U::expm1,
       mpfr_expm1,
       UPSWEEP_STANDARD_1(expm1),
       0x1a4ef620c4af3427,
       0xd9035adffba7acf8,
       {kBits, {-1, 1}, {-40, 40}, {0.34, 0.36}, {-0.36, -0.34}, {-0.8, 0.8}, {30, 45}, {707, 710}, {-1e-8, 1e-8}}},
      {"log",
       U::log,
       mpfr_log,
       UPSWEEP_STANDARD_1(log),
       0xee38eed601fd3322,
       0xf7adfdd485f06f1d,
       {kBits, {0.5, 2}, {0.99, 1.01}, {0.999999, 1.000001}, {0, 1e-307}, {0.68, 0.7}, {1.37, 1.39}, {0, 1e6}}},
      {"log2",
       U::log2,
       mpfr_log2,
       UPSWEEP_STANDARD_1(log2),
       0x33d8327be2a3b1be,
       0xd1060f369cb36a54,
       {kBits, {0.5, 2}, {0.99, 1.01}, {0.999999, 1.000001}, {0, 1e-307}, {0.68, 0.7}, {1.37, 1.39}, {0, 1e6}}},
      {"log10",
       U::log10,
       mpfr_log10,
       UPSWEEP_STANDARD_1(log10),
       0x181f3b9029e08d5b,
       0xff23c81bf336f288,
       {kBits, {0.5, 2}, {0.99, 1.01}, {0.999999, 1.000001}, {0, 1e-307}, {0.68, 0.7}, {1.37, 1.39}, {0, 1e6}}},
      {"log1p",
       U::log1p,
       mpfr_log1p,
       UPSWEEP_STANDARD_1(log1p),
       0x998ffb55b91d465e,
       0xac39d845c7071eec,
       {kBits, {-1, 1}, {-0.01, 0.01}, {-0.33, -0.3}, {0.36, 0.42}, {1.7, 1.8}, {-1, -0.99}, {0, 1e6}, {-1e-8, 1e-8}}},
      {"sin",
       U::sin,
       mpfr_sin,
       UPSWEEP_STANDARD_1(sin),
       0x3d746224f0524ff7,
       0x0f80c7604e5a4a2c,
       {kBits, {-0.8, 0.8}, {-3.2, 3.2}, {-8300, 8300}, {-1e6, 1e6}, {1e6, 1e10}, {3.1415926535, 3.1415926536}}},
      {"cos",
       U::cos,
       mpfr_cos,
       UPSWEEP_STANDARD_1(cos),
       0x943843b76c9057fe,
       0xe01f59648a3d7b17,
       {kBits, {-0.8, 0.8}, {-3.2, 3.2}, {-8300, 8300}, {-1e6, 1e6}, {1e6, 1e10}, {1.57079632, 1.57079633}}},
      {"tan",
       U::tan,
       mpfr_tan,
       UPSWEEP_STANDARD_1(tan),
       0x8a4a6cff117edfb7,
       0x89309b4015f18a40,
       {kBits, {0.75, 0.8}, {-3.2, 3.2}, {-8300, 8300}, {-1e6, 1e6}, {1e6, 1e10}, {1.57079632, 1.57079633}}},
      {"arcsin",
       U::arcsin,
       mpfr_asin,
       UPSWEEP_STANDARD_1(asin),
       0x169d3efcef0d5c00,
       0x46f112cb801dbec6,
       {kBits, {-1, 1}, {0.49, 0.51}, {0.99, 1}, {0.3, 0.5}, {-0.1, 0.1}, {0.9999999, 1}}},
      {"arccos",
       U::arccos,
       mpfr_acos,
       UPSWEEP_STANDARD_1(acos),
       0x8a670f7df4168a30,
       0xc4e97236b09c2f8b,
       {kBits, {-1, 1}, {0.49, 0.51}, {0.99, 1}, {-1, -0.5}, {-0.5, 0.5}, {0.9999999, 1}}},
      {"arctan",
       U::arctan,
       mpfr_atan,
       UPSWEEP_STANDARD_1(atan),
       0xc077bc3ef6a3b380,
       0x8ea86d34a23cf39e,
       {kBits, {-1, 1}, {0.41, 0.42}, {0.42, 0.5}, {2.3, 2.5}, {-10, 10}, {0.9, 1.1}, {1e15, 1e20}}},
      {"sinh",
       U::sinh,
       mpfr_sinh,
       UPSWEEP_STANDARD_1(sinh),
       0x957a7d7e5e01f713,
       0xe40ae1bc2319bbd5,
       {kBits, {-1, 1}, {0.34, 0.36}, {-5, 5}, {0.35, 1.04}, {1.03, 1.05}, {-30, 30}, {18, 19.5}, {705, 711}}},
      {"cosh",
       U::cosh,
       mpfr_cosh,
       UPSWEEP_STANDARD_1(cosh),
       0xc7af0545fa2237b4,
       0x4f883a71dcab9d5d,
       {kBits, {-1, 1}, {0.34, 0.36}, {-5, 5}, {0.35, 1.04}, {1.03, 1.05}, {-30, 30}, {18, 19.5}, {705, 711}}},
      {"tanh",
       U::tanh,
       mpfr_tanh,
       UPSWEEP_STANDARD_1(tanh),
       0x086bd80628e7e384,
       0x694e6ea72f2f3951,
       {kBits, {-1, 1}, {0.34, 0.36}, {-5, 5}, {0.35, 1.04}, {1.9, 2.1}, {-30, 30}, {15, 20}}},
      {"arcsinh",
       U::arcsinh,
       mpfr_asinh,
       UPSWEEP_STANDARD_1(asinh),
       0x9dc85041fbca15c5,
       0x3f8544dcdd640d44,
       {kBits, {-1, 1}, {-0.1, 0.1}, {-5, 5}, {0.3, 0.4}, {-30, 30}, {1e100, 1e200}, {1e30, 1e38}}},
      {"arccosh",
       U::arccosh,
       mpfr_acosh,
       UPSWEEP_STANDARD_1(acosh),
       0xb3b60aa1e4550925,
       0xd8bc12a7e9e26637,
       {kBits, {1, 2}, {1, 1.01}, {1, 5}, {1.04, 1.07}, {1, 30}, {1e100, 1e200}, {1e30, 1e38}}},
      {"arctanh",
       U::arctanh,
       mpfr_atanh,
       UPSWEEP_STANDARD_1(atanh),
       0x1257615d2b595ad2,
       0x1a4aae21a8f6cafd,
       {kBits, {-1, 1}, {-0.1, 0.1}, {0.14, 0.18}, {0.9, 1}, {0.3, 0.4}, {-0.5, 0.5}}},
      {"sqrt", U::sqrt, mpfr_sqrt, UPSWEEP_STANDARD_1(sqrt), 0xab4bd5ff7bc895df, 0x9b3bab3f1b1c3488, {kBits, {0, 2}}},
      {"absolute", U::absolute, nullptr, UPSWEEP_STANDARD_1(fabs), 0xa56e776c86945877, 0x5ace16bdcf69ae0b, {}},
      {"floor", U::floor, nullptr, UPSWEEP_STANDARD_1(floor), 0xaf287426857a55a8, 0x65b8aeda2e4aa1d6, {}},
      {"ceil", U::ceil, nullptr, UPSWEEP_STANDARD_1(ceil), 0x97035e9d18c32232, 0x30a61917662f4f2e, {}},
      {"trunc", U::trunc, nullptr, UPSWEEP_STANDARD_1(trunc), 0x0684025e6eaf94c2, 0xc1b526fc3f7b035f, {}},
      {"rint", U::rint, nullptr, UPSWEEP_STANDARD_1(rint), 0x8fe38cc071862575, 0x23d81b1caef946e8, {}},
  };
}

std::vector<BinaryCase> binary_cases() {
  using B = BinaryFunction;
  return {
      {"power",
       B::power,
       mpfr_pow,
       UPSWEEP_STANDARD_2(pow),
       0x1bdd0a80fd612249,
       0x6f6de514f74bc01f,
       {{kBits, kBits},
        {{0, 2}, {-100, 100}},
        {{0.9, 1.1}, {-7000, 7000}},
        {{0, 1000}, {-5, 5}},
        {{0.7, 1.5}, {-1000, 1000}},
        {{0.999, 1.001}, {-1e5, 1e5}},
        {{0.999999, 1.000001}, {-7e8, 7e8}},
        {{1.4, 1.42}, {-2000, 2000}},
        {{0, 1e-307}, {-1, 1}}}},
      {"arctan2",
       B::arctan2,
       mpfr_atan2,
       UPSWEEP_STANDARD_2(atan2),
       0xf4483bc8202d6a89,
       0x17401f0256a4039b,
       {{kBits, kBits},
        {{-1, 1}, {-1, 1}},
        {{-50, 50}, {-50, 50}},
        {{0, 1e-3}, {-1, 0}},
        {{1, 1.1}, {1, 1.1}},
        {{0.41, 0.42}, {0.999, 1}},
        {{-1e-310, 1e-310}, {-1e-310, 1e-310}},
        {{1e300, 1e308}, {-1e308, 1e308}}}},
      {"hypot",
       B::hypot,
       mpfr_hypot,
       UPSWEEP_STANDARD_2(hypot),
       0x5a9c1e445acaca5d,
       0x4cebd2a89f377550,
       {{kBits, kBits},
        {{-1, 1}, {-1, 1}},
        {{0, 1e-310}, {0, 1e-310}},
        {{1, 2}, {1e-9, 1e-7}},
        {{1e307, 1.79e308}, {1e307, 1.7e308}}}},
      {"fmod", B::fmod, nullptr, UPSWEEP_STANDARD_2(fmod), 0xda92c94a0f474187, 0xdd1b1f4167b09c15, {}},
      {"remainder", B::remainder, nullptr, python_remainder, 0x7a9fd9a90cc797ae, 0xe7a2a635c0a9ba27, {}},
      {"floor_divide",
       B::floor_divide,
       nullptr,
       python_floor_divide<double>,
       0x8e0a96aa9bd0a058,
       0x91a63f518856c5a9,
       {}},
      {"copysign", B::copysign, nullptr, UPSWEEP_STANDARD_2(copysign), 0xed292f727449cd83, 0x207730743f456b6f, {}},
  };
}

/// A number in multiple precision.
class Exact {
 public:
  Exact() { mpfr_init2(number_, kPrecision); }
  explicit Exact(double x) : Exact() { mpfr_set_d(number_, x, MPFR_RNDN); }
  Exact(const Exact&) = delete;
  Exact& operator=(const Exact&) = delete;
  ~Exact() { mpfr_clear(number_); }
  [[nodiscard]] mpfr_ptr get() { return number_; }

 private:
  static constexpr mpfr_prec_t kPrecision = 200;
  mpfr_t number_;
};

/// The distance of a result from the exact one, in units of the last place of T at the exact one. An infinity counts as
/// the power of two after the largest number.
template <class T>
double error_in_ulps(T result, Exact& exact) {
  using Limits = std::numeric_limits<T>;
  if (mpfr_nan_p(exact.get()) != 0 || std::isnan(result)) {
    return mpfr_nan_p(exact.get()) != 0 && std::isnan(result) ? 0 : kInf;
  }
  Exact limit(1);
  mpfr_mul_2si(limit.get(), limit.get(), Limits::max_exponent, MPFR_RNDN);
  if (mpfr_cmpabs(exact.get(), limit.get()) > 0)
    mpfr_setsign(exact.get(), limit.get(), mpfr_signbit(exact.get()), MPFR_RNDN);
  Exact difference;
  if (std::isinf(result)) {
    mpfr_setsign(difference.get(), limit.get(), std::signbit(result) ? 1 : 0, MPFR_RNDN);
  } else {
    mpfr_set_d(difference.get(), static_cast<double>(result), MPFR_RNDN);
  }
  if (result == 0 && mpfr_signbit(exact.get()) != (std::signbit(result) ? 1 : 0)) return kInf;
  mpfr_sub(difference.get(), difference.get(), exact.get(), MPFR_RNDN);
  constexpr mpfr_exp_t kSmallest = Limits::min_exponent - Limits::digits;
  const mpfr_exp_t exponent = mpfr_zero_p(exact.get()) != 0 ? kSmallest : mpfr_get_exp(exact.get()) - Limits::digits;
  mpfr_mul_2si(difference.get(), difference.get(), -std::max(exponent, kSmallest), MPFR_RNDN);
  return std::fabs(mpfr_get_d(difference.get(), MPFR_RNDN));
}

int arguments_per_range() {
  const char* set = std::getenv("UPSWEEP_ELEMENTARY_ARGUMENTS");
  return set != nullptr ? static_cast<int>(std::strtol(set, nullptr, 10)) : 1000;
}

constexpr double kBound = 1;  // ulp, of every function

template <class T>
constexpr const char* kTypeName = sizeof(T) == 4 ? "float32" : "float64";

template <class T>
class Elementary : public testing::Test {};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(Elementary, Floats);

TYPED_TEST(Elementary, IsWithinOneUlpOfUnaryFunctions) {
  using T = TypeParam;
  const int n = arguments_per_range();
  for (const UnaryCase& c : unary_cases()) {
    if (c.exact == nullptr) continue;
    double worst = 0;
    T at = 0;
    Random random(1);
    std::vector<T> x(static_cast<std::size_t>(n));
    std::vector<T> out(x.size());
    for (const Range range : c.ranges) {
      for (T& one : x) one = argument<T>(random, range);
      unary_loop<T>(c.function)(x.data(), out.data(), n);
      for (std::size_t i = 0; i < x.size(); ++i) {
        Exact exact(static_cast<double>(x[i]));
        c.exact(exact.get(), exact.get(), MPFR_RNDN);
        const double error = error_in_ulps(out[i], exact);
        if (!(error <= worst)) worst = error, at = x[i];
      }
    }
    std::printf("%-12s %s: at most %.3f ulp, at %a\n", c.name, kTypeName<T>, worst, static_cast<double>(at));
    EXPECT_LE(worst, kBound) << c.name << " of " << at;
  }
}

TYPED_TEST(Elementary, IsWithinOneUlpOfBinaryFunctions) {
  using T = TypeParam;
  const int n = arguments_per_range();
  for (const BinaryCase& c : binary_cases()) {
    if (c.exact == nullptr) continue;
    double worst = 0;
    std::pair<T, T> at;
    Random random(1);
    std::vector<T> x(static_cast<std::size_t>(n));
    std::vector<T> y(x.size());
    std::vector<T> out(x.size());
    for (const auto& [first, second] : c.ranges) {
      for (T& one : x) one = argument<T>(random, first);
      for (T& one : y) one = argument<T>(random, second);
      binary_loop<T>(c.function)(x.data(), y.data(), out.data(), n);
      for (std::size_t i = 0; i < x.size(); ++i) {
        Exact exact(static_cast<double>(x[i]));
        Exact other(static_cast<double>(y[i]));
        c.exact(exact.get(), exact.get(), other.get(), MPFR_RNDN);
        const double error = error_in_ulps(out[i], exact);
        if (!(error <= worst)) worst = error, at = {x[i], y[i]};
      }
    }
    std::printf("%-12s %s: at most %.3f ulp, at %a, %a\n", c.name, kTypeName<T>, worst, static_cast<double>(at.first),
                static_cast<double>(at.second));
    EXPECT_LE(worst, kBound) << c.name << " of " << at.first << ", " << at.second;
  }
}

/// Arguments of special cases, with both signs.
template <class T>
std::vector<T> special_arguments() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> found;
  for (const T x : {T{0},
                    Limits::denorm_min(),
                    Limits::min() / 2,
                    std::nextafter(Limits::min(), T{0}),
                    Limits::min(),
                    T{1e-30F},
                    Limits::epsilon() / 2,
                    Limits::epsilon(),
                    T{0.125},
                    T{0.3F},
                    std::nextafter(T{0.5}, T{0}),
                    T{0.5},
                    std::nextafter(T{0.5}, T{1}),
                    std::nextafter(T{1}, T{0}),
                    T{1},
                    std::nextafter(T{1}, T{2}),
                    T{1.5},
                    T{2},
                    T{2.5},
                    T{3},
                    T{4},
                    T{8},
                    T{10},
                    T{27},
                    T{88.5},
                    T{89},
                    T{100},
                    T{103},
                    T{128},
                    T{150},
                    T{700},
                    T{709},
                    T{710},
                    T{745},
                    T{746},
                    T{1000},
                    T{1024},
                    T{1074},
                    T{8191.5},
                    T{1e6F},
                    T{8388607.5F},
                    T{8388608},
                    T{8388609},
                    T{16777215},
                    T{1e10F},
                    static_cast<T>(4503599627370495.5),
                    static_cast<T>(4503599627370497.0),
                    static_cast<T>(9007199254740991.0),
                    T{1e20F},
                    T{1e30F},
                    static_cast<T>(Limits::max() / 2),
                    Limits::max(),
                    Limits::infinity(),
                    Limits::quiet_NaN()}) {
    found.push_back(x);
    found.push_back(-x);
  }
  return found;
}

/// Whether the bits are equal, or both are NaN.
template <class T>
bool is_same(T result, T expected) {
  if (std::isnan(expected)) return std::isnan(result);
  return result == expected && std::signbit(result) == std::signbit(expected);
}

/// Whether a result is the same zero, infinity or NaN as the C library's, or at most two numbers from it.
template <class T>
bool is_near(T result, double exact) {
  const T expected = static_cast<T>(exact);
  if (expected == 0 && exact != 0 && std::fabs(result) == std::numeric_limits<T>::denorm_min()) {
    return std::signbit(result) == std::signbit(exact);
  }
  if (std::isnan(expected) || std::isinf(expected) || expected == 0) return is_same(result, expected);
  T next = std::nextafter(std::nextafter(expected, T{0}), T{0});
  for (int step = 0; step < 5; ++step) {
    if (is_same(result, next)) return true;
    next = std::nextafter(next, std::copysign(std::numeric_limits<T>::infinity(), expected));
  }
  return false;
}

TYPED_TEST(Elementary, HasTheSpecialCasesOfC) {
  using T = TypeParam;
  const std::vector<T> x = special_arguments<T>();
  std::vector<T> out(x.size());
  std::vector<T> first;
  std::vector<T> second;
  for (const T one : x) {
    first.insert(first.end(), x.size(), one);
    second.insert(second.end(), x.begin(), x.end());
  }
  std::vector<T> of_pairs(first.size());
  for (const Isa isa : supported_isas()) {
    for (const UnaryCase& c : unary_cases()) {
      elementary_loops<T>(isa).unary[static_cast<int>(c.function)](x.data(), out.data(), std::ssize(x));
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double expected = c.standard(static_cast<double>(x[i]));
        EXPECT_TRUE(c.exact == nullptr ? is_same(out[i], static_cast<T>(expected)) : is_near(out[i], expected))
            << c.name << " of " << x[i] << " is " << out[i] << ", expected " << expected;
      }
    }
    for (const BinaryCase& c : binary_cases()) {
      elementary_loops<T>(isa).binary[static_cast<int>(c.function)](first.data(), second.data(), of_pairs.data(),
                                                                    std::ssize(first));
      for (std::size_t i = 0; i < first.size(); ++i) {
        const double expected = c.function == BinaryFunction::floor_divide
                                    ? static_cast<double>(python_floor_divide(first[i], second[i]))
                                    : c.standard(static_cast<double>(first[i]), static_cast<double>(second[i]));
        EXPECT_TRUE(c.exact == nullptr ? is_same(of_pairs[i], static_cast<T>(expected))
                                       : is_near(of_pairs[i], expected))
            << c.name << " of " << first[i] << ", " << second[i] << " is " << of_pairs[i] << ", expected " << expected;
      }
    }
  }
}

TYPED_TEST(Elementary, RemaindersAndIntegersAreExact) {
  using T = TypeParam;
  constexpr int kCount = 20000;
  Random random(2);
  std::vector<T> x;
  std::vector<T> y;
  for (int i = 0; i < kCount; ++i) {
    x.push_back(i % 2 == 0 ? from_bits<T>(random.next()) : argument<T>(random, {-1000, 1000}));
    // Also multiples, and neighbors of multiples.
    const T some = i % 4 < 2 ? from_bits<T>(random.next()) : argument<T>(random, {-3, 3});
    y.push_back(i % 5 == 0 ? x.back() / static_cast<T>(1 + random.next() % 100) : some);
  }
  std::vector<T> out(x.size());
  for (const Isa isa : supported_isas()) {
    for (const UnaryCase& c : unary_cases()) {
      if (c.exact != nullptr) continue;
      elementary_loops<T>(isa).unary[static_cast<int>(c.function)](x.data(), out.data(), kCount);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const T expected = static_cast<T>(c.standard(static_cast<double>(x[i])));
        ASSERT_TRUE(is_same(out[i], expected)) << c.name << " of " << x[i] << " is " << out[i];
      }
    }
    for (const BinaryCase& c : binary_cases()) {
      if (c.exact != nullptr) continue;
      elementary_loops<T>(isa).binary[static_cast<int>(c.function)](x.data(), y.data(), out.data(), kCount);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const T expected = c.function == BinaryFunction::floor_divide
                               ? python_floor_divide(x[i], y[i])
                               : static_cast<T>(c.standard(static_cast<double>(x[i]), static_cast<double>(y[i])));
        ASSERT_TRUE(is_same(out[i], expected)) << c.name << " of " << x[i] << ", " << y[i] << " is " << out[i];
      }
    }
  }
}

/// Integers of exp2 and powers, and powers of ten of log10, are exact.
TYPED_TEST(Elementary, ExactResultsAreExact) {
  using T = TypeParam;
  using Limits = std::numeric_limits<T>;
  for (int k = Limits::min_exponent - Limits::digits; k < Limits::max_exponent; ++k) {
    const T power = std::ldexp(T{1}, k);
    T x = static_cast<T>(k);
    T out = 0;
    unary_loop<T>(UnaryFunction::exp2)(&x, &out, 1);
    EXPECT_EQ(out, power);
    unary_loop<T>(UnaryFunction::log2)(&power, &out, 1);
    EXPECT_EQ(out, x);
    const T two = 2;
    binary_loop<T>(BinaryFunction::power)(&two, &x, &out, 1);
    EXPECT_EQ(out, power);
  }
  T power = 1;
  for (int k = 0; power < std::ldexp(T{1}, Limits::digits); ++k, power *= 10) {
    T out = 0;
    unary_loop<T>(UnaryFunction::log10)(&power, &out, 1);
    EXPECT_EQ(out, static_cast<T>(k));
  }
  for (int i = -40; i <= 40; ++i) {
    T x = static_cast<T>(i);
    T cube = x * x * x;
    T out = 0;
    unary_loop<T>(UnaryFunction::cbrt)(&cube, &out, 1);
    EXPECT_EQ(out, x);
    const T three = 3;
    binary_loop<T>(BinaryFunction::power)(&x, &three, &out, 1);
    EXPECT_EQ(out, cube);
  }
}

/// Every length, and in place. The arrays have exactly n elements, so that sanitizers notice accesses beyond them.
TYPED_TEST(Elementary, AnyLengthInPlaceHasTheSameBits) {
  using T = TypeParam;
  Random random(3);
  for (const Isa isa : supported_isas()) {
    for (std::int64_t n = 0; n <= 40; ++n) {
      std::vector<T> x;
      std::vector<T> y;
      for (std::int64_t i = 0; i < n; ++i) {
        x.push_back(i % 7 == 3 ? std::numeric_limits<T>::infinity() : argument<T>(random, {0.1, 0.9}));
        y.push_back(argument<T>(random, {0.1, 0.9}));
      }
      for (const UnaryCase& c : unary_cases()) {
        const auto loop = elementary_loops<T>(isa).unary[static_cast<int>(c.function)];
        std::vector<T> out(x.size());
        loop(x.data(), out.data(), n);
        std::vector<T> in_place = x;
        loop(in_place.data(), in_place.data(), n);
        for (std::size_t i = 0; i < x.size(); ++i) {
          T alone = 0;
          loop(&x[i], &alone, 1);
          EXPECT_TRUE(is_same(out[i], alone) && is_same(in_place[i], alone))
              << c.name << ", element " << i << " of " << n;
        }
      }
      for (const BinaryCase& c : binary_cases()) {
        const auto loop = elementary_loops<T>(isa).binary[static_cast<int>(c.function)];
        std::vector<T> out(x.size());
        loop(x.data(), y.data(), out.data(), n);
        std::vector<T> in_first = x;
        loop(in_first.data(), y.data(), in_first.data(), n);
        std::vector<T> in_second = y;
        loop(x.data(), in_second.data(), in_second.data(), n);
        for (std::size_t i = 0; i < x.size(); ++i) {
          T alone = 0;
          loop(&x[i], &y[i], &alone, 1);
          EXPECT_TRUE(is_same(out[i], alone) && is_same(in_first[i], alone) && is_same(in_second[i], alone))
              << c.name << ", element " << i << " of " << n;
        }
      }
    }
  }
}

/// A hash of the bits of results; all NaN count as one.
template <class T>
std::uint64_t hash_of(const std::vector<T>& results) {
  std::uint64_t hash = 0;
  for (const T result : results) {
    const std::uint64_t bits = std::isnan(result) ? 1 : std::bit_cast<std::uint64_t>(static_cast<double>(result));
    hash = (hash ^ bits) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  }
  return hash;
}

/// A million arguments: an eighth with random bits, the others of magnitudes from 2^-16 to 2^16.
template <class T>
std::vector<T> hashed_arguments(std::uint64_t seed) {
  Random random(seed);
  std::vector<T> found(1'000'000);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (i % 8 == 0) {
      found[i] = from_bits<T>(random.next());
    } else {
      const double mantissa = 1 + random.below_one();
      const std::uint64_t more = random.next();
      found[i] = static_cast<T>(std::ldexp((more & 32) != 0 ? -mantissa : mantissa, static_cast<int>(more % 32) - 16));
    }
  }
  return found;
}

TYPED_TEST(Elementary, BitsAreTheSameOnEveryInstructionSet) {
  using T = TypeParam;
  const std::vector<T> x = hashed_arguments<T>(4);
  const std::vector<T> y = hashed_arguments<T>(5);
  std::vector<T> out(x.size());
  for (const Isa isa : supported_isas()) {
    const auto check = [&](const auto& c) {
      const std::uint64_t expected = sizeof(T) == 4 ? c.hash_32 : c.hash_64;
      EXPECT_EQ(hash_of(out), expected) << std::hex << c.name << " of " << kTypeName<T> << " on instruction set "
                                        << static_cast<int>(isa) << ": 0x" << hash_of(out);
    };
    for (const UnaryCase& c : unary_cases()) {
      elementary_loops<T>(isa).unary[static_cast<int>(c.function)](x.data(), out.data(), std::ssize(x));
      check(c);
    }
    for (const BinaryCase& c : binary_cases()) {
      elementary_loops<T>(isa).binary[static_cast<int>(c.function)](x.data(), y.data(), out.data(), std::ssize(x));
      check(c);
    }
  }
}

}  // namespace
}  // namespace upsweep::cpu
