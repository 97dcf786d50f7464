// SPDX-License-Identifier: Apache-2.0
// sql/expression/functions.cpp: the table of scalar functions, with a body each. It is compiled once per instruction
// set.
//
// A function is an entry of kFunctions plus a body above it. A body computes one row. It is written once, in the common
// subset of C++ and CUDA C++. The compiler turns it into a loop over a block, and the generated code of a GPU includes
// its text. Both give the same bits, because neither contracts a product and a sum into one operation. A body sets
// `bad` if its result does not fit its type or is not defined. The CPU then computes the rows one by one and finds the
// row to report.
//
// All names except the table are internal to this file: it uses no std:: functions and no inline functions of other
// headers (tests/isa_symbols.sh verifies that).
#include "sql/expression/functions.hpp"

#include <cstdint>

#include "sql/expression/rules.hpp"

#define UPSWEEP_FUNCTIONS_NAME_2(isa) functions_##isa
#define UPSWEEP_FUNCTIONS_NAME(isa) UPSWEEP_FUNCTIONS_NAME_2(isa)

/// Compiles the code for the CPU, and keeps its text for GPUs.
#define UPSWEEP_CODE_AND_TEXT(text, ...) \
  __VA_ARGS__                            \
  constexpr char text[] = #__VA_ARGS__ "\n";

namespace upsweep::expression {
namespace {

// ------------------------------------------------------------------------------------------ what bodies are written in

// NOLINTBEGIN(readability-identifier-naming): names of CUDA C++, or names that cuda_prelude.hpp defines
#define INLINE inline
using i64 = std::int64_t;
using u64 = std::uint64_t;
using i128 = Int128;
using u128 = UInt128;
// NOLINTEND(readability-identifier-naming)
using Flag = std::int64_t;  // as wide as values, because loops that set a bool are not vectorized

inline double fabs(double a) { return __builtin_fabs(a); }
inline double sqrt(double a) { return __builtin_sqrt(a); }
inline double copysign(double a, double sign) { return __builtin_copysign(a, sign); }
inline i128 quotient(i128 a, i128 b) { return a / b; }
template <class T>
inline T checked_multiply(T a, T b, bool& bad) {
  T result;
  bad = __builtin_mul_overflow(a, b, &result) || bad;
  return result;
}

// clang-format off
UPSWEEP_CODE_AND_TEXT(kShared,
INLINE i64 quotient(i64 a, i64 b) { return a / b; }
INLINE i64 opposite(i64 a) { return (i64)((u64)0 - (u64)a); }
INLINE i128 opposite(i128 a) { return (i128)((u128)0 - (u128)a); }
)

// ---------------------------------------------------------------------------------------------------------- the bodies

UPSWEEP_CODE_AND_TEXT(kAbsolute,
template <class T> INLINE T absolute(Flag& bad, T a) {
  const T size = a < 0 ? opposite(a) : a;
  bad |= size < 0;
  return size;
}
)

UPSWEEP_CODE_AND_TEXT(kAbsoluteReal,
INLINE double absolute_real(Flag&, double a) { return fabs(a); }
)

// Returns the quotient nearest to a / divisor, halves away from zero, times `multiple`. Both are powers of ten.
UPSWEEP_CODE_AND_TEXT(kRounded,
template <class T> INLINE T rounded(Flag& bad, T a, T divisor, T multiple) {
  const T whole = quotient(a, divisor);
  const T rest = a - whole * divisor;
  const T size = rest < 0 ? -rest : rest;
  const T away = size < divisor - size ? 0 : a < 0 ? -1 : 1;
  bool over = false;
  const T result = checked_multiply((T)(whole + away), multiple, over);
  bad |= over;
  return result;
}
)

// Halves are rounded away from zero. Adding 2^52 rounds halves to even, so some results are too small. Floats from 2^52
// on are whole numbers. Either `up` or `down` is a power of ten, the other is 1. Values that they move out of the float
// range have no digit to round.
UPSWEEP_CODE_AND_TEXT(kRoundedReal,
INLINE double whole_of(double a) {
  const double from = 4503599627370496.0;
  const double size = fabs(a);
  const double even = (size + from) - from;
  const double whole = even + (size - even >= 0.5 ? 1.0 : 0.0);
  return size < from ? copysign(whole, a) : a;
}
INLINE double rounded_real(Flag&, double a, double up, double down) {
  const double scaled = a * up / down;
  const double whole = whole_of(scaled);
  const double back = whole / up * down;
  const double result = whole == 0 ? whole : back;
  return scaled - scaled == 0 ? result : a;
}
)

UPSWEEP_CODE_AND_TEXT(kSquareRoot,
INLINE double square_root(Flag& bad, double a) {
  bad |= a < 0;
  return sqrt(a);
}
)
// clang-format on

// ----------------------------------------------------------------------------------------------------------- the loops

/// Applies kBody to each row.
template <auto kBody, class First, class... Further>
inline bool each(int n, First* results, const First* first, Further... further) {
  Flag bad = 0;
  for (int i = 0; i < n; ++i) results[i] = kBody(bad, first[i], further...);
  return bad != 0;
}

/// The loop of a body whose operands all have type T.
template <class T, T (*kBody)(Flag&, T)>
bool loop(const void* const* operands, int n, void* results) {
  return each<kBody>(n, static_cast<T*>(results), static_cast<const T*>(operands[0]));
}
template <class T, T (*kBody)(Flag&, T, T, T)>
bool loop(const void* const* operands, int n, void* results) {
  return each<kBody>(n, static_cast<T*>(results), static_cast<const T*>(operands[0]),
                     *static_cast<const T*>(operands[1]), *static_cast<const T*>(operands[2]));
}

// ----------------------------------------------------------------------------------------------------------- the table

constexpr Function kFunctions[] = {
    {.names = "abs",
     .takes = {Takes::number},
     .gives = Gives::same,
     .nulls = NullRule::any,
     .meaning = "The absolute value. It is an error if it does not fit the type.",
     .exact = {"absolute", kAbsolute, loop<i64, absolute<i64>>, loop<i128, absolute<i128>>},
     .real = {"absolute_real", kAbsoluteReal, nullptr, nullptr, loop<double, absolute_real>},
     .bound = [](const UInt128* bounds) { return bounds[0]; }},
    {.names = "round",
     .takes = {Takes::number, Takes::places},
     .gives = Gives::rounded,
     .nulls = NullRule::any,
     .meaning =
         "x rounded to n decimal places, to 0 places without n. Halves are rounded away from zero. A negative n rounds "
         "to tens, hundreds and so on. A decimal with at most n decimal places is not changed.",
     .exact = {"rounded", kRounded, loop<i64, rounded<i64>>, loop<i128, rounded<i128>>},
     .real = {"rounded_real", kRoundedReal, nullptr, nullptr, loop<double, rounded_real>},
     .bound = [](const UInt128* bounds) { return saturated_product(bounds[0] / bounds[1] + 1, bounds[2]); }},
    {.names = "sqrt",
     .takes = {Takes::real},
     .gives = Gives::real,
     .nulls = NullRule::any,
     .meaning = "The square root. A negative number is an error.",
     .failure = "square root of a negative number",
     .real = {"square_root", kSquareRoot, nullptr, nullptr, loop<double, square_root>}},
};

}  // namespace

const FunctionTable UPSWEEP_FUNCTIONS_NAME(UPSWEEP_ISA) = {kFunctions, sizeof kFunctions / sizeof *kFunctions, kShared};

}  // namespace upsweep::expression
