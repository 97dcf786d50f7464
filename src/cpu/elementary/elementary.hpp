// SPDX-License-Identifier: Apache-2.0
// cpu/elementary/elementary.hpp: elementary functions of arrays, with the same bits on every instruction set.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cpu/kernels.hpp"

namespace upsweep::cpu {

/// Functions of one argument, by NumPy's names.
enum class UnaryFunction : std::uint8_t {
  absolute,
  floor,
  ceil,
  trunc,
  rint,
  sqrt,
  cbrt,
  exp,
  exp2,
  expm1,
  log,
  log2,
  log10,
  log1p,
  sin,
  cos,
  tan,
  arcsin,
  arccos,
  arctan,
  sinh,
  cosh,
  tanh,
  arcsinh,
  arccosh,
  arctanh,
};
inline constexpr int kUnaryFunctions = static_cast<int>(UnaryFunction::arctanh) + 1;

/// Functions of two arguments, by NumPy's names.
enum class BinaryFunction : std::uint8_t {
  power,
  arctan2,  ///< of (y, x)
  hypot,
  fmod,          ///< has the dividend's sign
  remainder,     ///< has the divisor's sign
  floor_divide,  ///< as NumPy computes it: (x - remainder) / y, rounded
  copysign,
};
inline constexpr int kBinaryFunctions = static_cast<int>(BinaryFunction::copysign) + 1;

/// Writes the function of n elements. `out` may be one of the arguments, but must not overlap them otherwise. Nothing
/// outside of the n elements is read or written. The caller's rounding mode must be to nearest.
template <class T>
using UnaryLoop = void (*)(const T* x, T* out, std::int64_t n);
template <class T>
using BinaryLoop = void (*)(const T* x, const T* y, T* out, std::int64_t n);

template <class T>
struct ElementaryLoops {
  UnaryLoop<T> unary[kUnaryFunctions];
  BinaryLoop<T> binary[kBinaryFunctions];
};

struct ElementaryTable {
  ElementaryLoops<float> float32;
  ElementaryLoops<double> float64;
};

const ElementaryTable& elementary_kernels_baseline() noexcept;
const ElementaryTable& elementary_kernels_avx2() noexcept;
const ElementaryTable& elementary_kernels_avx512() noexcept;

/// Returns the loops over T, float or double, for an instruction set that the CPU supports.
template <class T>
const ElementaryLoops<T>& elementary_loops(Isa isa) noexcept {
  const ElementaryTable& table =
      table_for(isa, &elementary_kernels_baseline, &elementary_kernels_avx2, &elementary_kernels_avx512);
  if constexpr (std::is_same_v<T, float>) {
    return table.float32;
  } else {
    static_assert(std::is_same_v<T, double>);
    return table.float64;
  }
}

/// Returns the loop for the CPU that this runs on.
template <class T>
UnaryLoop<T> unary_loop(UnaryFunction function) noexcept {
  return elementary_loops<T>(Isa::best).unary[static_cast<int>(function)];
}
template <class T>
BinaryLoop<T> binary_loop(BinaryFunction function) noexcept {
  return elementary_loops<T>(Isa::best).binary[static_cast<int>(function)];
}

}  // namespace upsweep::cpu
