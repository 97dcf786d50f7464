// SPDX-License-Identifier: Apache-2.0
// cpu/elementary/elementary_kernels.cpp: loops of the elementary functions over arrays, compiled once per ISA.
#include "cpu/elementary/elementary.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "cpu/elementary/angles.hpp"
#include "cpu/elementary/arcs.hpp"
#include "cpu/elementary/exponentials.hpp"
#include "cpu/elementary/lanes.hpp"
#include "cpu/elementary/logarithms.hpp"
#include "cpu/elementary/remainders.hpp"
#include "cpu/elementary/roots.hpp"

#define UPSWEEP_ELEMENTARY_TABLE(isa) UPSWEEP_ELEMENTARY_TABLE_OF(isa)
#define UPSWEEP_ELEMENTARY_TABLE_OF(isa) elementary_kernels_##isa

namespace upsweep::cpu {
namespace {

UPSWEEP_INLINE Lanes load_lanes(const double* from) {
  return *reinterpret_cast<const RegisterOf<double>::Unaligned*>(from);
}
UPSWEEP_INLINE Lanes load_lanes(const float* from) { return widened(*reinterpret_cast<const UnalignedNarrow*>(from)); }
UPSWEEP_INLINE void store_lanes(double* to, Lanes x) { *reinterpret_cast<RegisterOf<double>::Unaligned*>(to) = x; }
UPSWEEP_INLINE void store_lanes(float* to, Lanes x) { *reinterpret_cast<UnalignedNarrow*>(to) = narrowed(x); }

template <class T>
using PrecisionOf = std::conditional_t<std::is_same<T, double>::value, Full, Short>;

/// Registers that are computed together. Those of floats are short computations: two at a time keep the CPU busy.
template <class T>
constexpr int kTogether = std::is_same<T, double>::value ? 1 : 2;
template <class T>
constexpr int kStep = kTogether<T> * kDoubles;

/// The values of kStep elements, also of those that are not usual.
template <class F, class T, class... X>
[[gnu::noinline]] void value_of_all(Lanes* values, const X*... x) {
  Bits ignored{};
  for (int r = 0; r < kTogether<T>; ++r) {
    values[r] = F::template value_of<PrecisionOf<T>, true>(load_lanes(x + r * kDoubles)..., ignored);
  }
}

/// out[j] ← the function of x[j]… for kStep elements.
template <class F, class T, class... X>
UPSWEEP_INLINE void step(T* out, const X*... x) {
  using P = PrecisionOf<T>;
  constexpr int kCount = kTogether<T>;
  Lanes values[std::size_t{kCount}];
  Bits usual = Bits{} - 1;
  for (int r = 0; r < kCount; ++r) values[r] = F::template value_of<P, false>(load_lanes(x + r * kDoubles)..., usual);
  if (!is_every_lane_set(usual)) [[unlikely]] {
    value_of_all<F, T>(values, x...);
  }
  for (int r = 0; r < kCount; ++r) store_lanes(out + r * kDoubles, values[r]);
}

/// The last elements of an array, then the first of them again.
template <class T>
struct Padded {
  T of[std::size_t{kStep<T>}];

  UPSWEEP_INLINE Padded(const T* from, std::int64_t count) {
    for (int j = 0; j < kStep<T>; ++j) of[j] = from[j < count ? j : 0];
  }
};

template <class F, class T, class... X>
UPSWEEP_INLINE void loop(T* out, std::int64_t n, const X*... x) {
  std::int64_t i = 0;
  for (; i + kStep<T> <= n; i += kStep<T>) step<F>(out + i, (x + i)...);
  if (i == n) return;
  T rest[std::size_t{kStep<T>}];
  step<F>(rest, Padded<T>(x + i, n - i).of...);
  for (int j = 0; j < n - i; ++j) out[i + j] = rest[j];
}

template <class F, class T>
void unary(const T* x, T* out, std::int64_t n) {
  loop<F>(out, n, x);
}

template <class F, class T>
void binary(const T* x, const T* y, T* out, std::int64_t n) {
  loop<F>(out, n, x, y);
}

/// In the order of UnaryFunction and of BinaryFunction.
template <class T>
constexpr ElementaryLoops<T> kLoops{
    {&unary<Absolute, T>, &unary<Floor, T>, &unary<Ceil, T>, &unary<Trunc, T>, &unary<Rint, T>, &unary<Sqrt, T>,
     &unary<Cbrt, T>,     &unary<Exp, T>,   &unary<Exp2, T>, &unary<Expm1, T>, &unary<Log, T>,  &unary<Log2, T>,
     &unary<Log10, T>,    &unary<Log1p, T>, &unary<Sin, T>,  &unary<Cos, T>,   &unary<Tan, T>,  &unary<Asin, T>,
     &unary<Acos, T>,     &unary<Atan, T>,  &unary<Sinh, T>, &unary<Cosh, T>,  &unary<Tanh, T>, &unary<Asinh, T>,
     &unary<Acosh, T>,    &unary<Atanh, T>},
    {&binary<Power, T>, &binary<Atan2, T>, &binary<Hypot, T>, &binary<Fmod, T>, &binary<Remainder, T>,
     &binary<FloorDivide, T>, &binary<Copysign, T>}};

constexpr ElementaryTable kTable{kLoops<float>, kLoops<double>};

}  // namespace

const ElementaryTable& UPSWEEP_ELEMENTARY_TABLE(UPSWEEP_ISA)() noexcept { return kTable; }

}  // namespace upsweep::cpu
