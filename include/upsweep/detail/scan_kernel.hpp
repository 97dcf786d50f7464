// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/scan_kernel.hpp: a scan of a memory range, as a table of functions, and plain loops.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "upsweep/detail/carry.hpp"

namespace upsweep::detail {

/// Options of ScanKernel::scan.
struct ScanMode {
  bool exclusive = false;     ///< out[i] holds what precedes i
  bool non_temporal = false;  ///< the output is larger than the caches: use non-temporal stores if the kernel can
  /// The memory that this thread reads next, or null. The kernel prefetches it into cache while it scans, one byte for
  /// each byte of the input.
  const void* next = nullptr;
  /// For sums by SIMD kernels, or null. Integers: becomes itself | x ^ (x >> bits-1) of every element. Floats: not 0 if
  /// an output is infinite.
  std::uint64_t* note = nullptr;
  /// For ragged offsets by SIMD kernels, or null: n other lists, which are folded while stores wait for memory, and the
  /// output of their fold.
  const void* beside = nullptr;
  void* beside_total = nullptr;
};

/// The operations on a range of n elements that every rung consists of. Types are erased, so that a rung is compiled
/// once and runs compiled operators and custom ones. `op` points to the custom operator; compiled operators do not use
/// `op`. `carry` points to a ScanCarry<Out>. In place (out == in) works.
struct ScanKernel {
  /// carry ← the fold of the range.
  void (*reduce)(const void* op, const void* in, std::int64_t n, void* carry);
  /// out ← the scan of the range, after `carry`; carry ← the carry for the next range.
  void (*scan)(const void* op, const void* in, void* out, std::int64_t n, void* carry, const ScanMode& mode);
  /// out[i] ← carry ⊕ out[i], for a range that scan() wrote with an empty carry. If `exclusive`, out[0] ← carry
  /// instead.
  void (*shift)(const void* op, void* out, std::int64_t n, const void* carry, bool exclusive);
  /// left ← left ⊕ right.
  void (*merge)(const void* op, void* left, const void* right);
  /// Whether scan() leaves the same bits in `carry` as reduce() and merge() would.
  bool exact;
};

/// Whether a function object combines two elements.
template <class Op, class T>
inline constexpr bool kIsOperatorOn =
    std::is_class_v<Op> && !std::is_convertible_v<T, Op> && std::is_invocable_v<Op&, T, T>;

template <class Op, class T>
inline constexpr bool kIsBitsOfFloats = std::is_floating_point_v<T> && is_integer_only(OperatorOf<Op, T>::value);

/// The requirements on an operator that runs on a CPU.
template <class T, class Op>
struct CheckedOperator {
  static_assert(check_element<T>());
  static_assert(!kIsBitsOfFloats<Op, T>, "bit operators are for integers, not for floats");
  static_assert(
      !(std::same_as<T, bool> && (operator_of<Op, T>() == Operator::add || operator_of<Op, T>() == Operator::mul)),
      "upsweep computes in the output's type, and does not add or multiply bool: choose an output or an initial "
      "value of an integer type, such as std::int64_t{0}");
  static_assert(!std::is_invocable_v<Op&, T, T> || std::is_invocable_v<const Op&, T, T>,
                "the operator must be callable as const, as threads share it: a lambda must not be mutable");
  static_assert(std::is_invocable_r_v<T, const Op&, T, T>,
                "the operator must take two elements of the output's type and return one: upsweep::add needs their +, "
                "upsweep::mul their *, upsweep::min and upsweep::max their <");
};

/// Returns the product of n floats. Its partial products may be too large or too small.
template <class Out, class In>
ScanCarry<Out> product_of(const In* in, std::int64_t n) {
  auto product = empty_carry<Out>();
  for (std::int64_t i = 0; i < n; ++i) merge(Mul{}, product, carry_of(static_cast<Out>(in[i])));
  return product;
}

/// The loops for any associative operator and any trivially copyable type, one element after the other. An operator
/// that throws ends the program here, for every length and every rung.
template <class In, class Out, class Op>
struct PlainScan : CheckedOperator<Out, Op> {
  static const Op& as_op(const void* op) { return *static_cast<const Op*>(op); }

  /// Calls step(first) … step(n - 1). With four steps per iteration, the loop runs at one element per cycle for any
  /// code alignment. With one step per iteration, an unfavorable code alignment halves that rate.
  template <class Step>
  static void by_fours(std::int64_t first, std::int64_t n, Step step) {
    for (; first + 4 <= n; first += 4) {
      step(first);
      step(first + 1);
      step(first + 2);
      step(first + 3);
    }
    for (; first < n; ++first) step(first);
  }

  /// Applies the operator. The result of a plain std::plus on narrow integers is an int.
  template <class X>
  static Out combine(const void* op, Out left, X right) {
    return static_cast<Out>(as_op(op)(left, static_cast<Out>(right)));
  }

  static void reduce(const void* op, const void* in, std::int64_t n, void* carry) noexcept {
    const In* x = static_cast<const In*>(in);
    ScanCarry<Out> sum{};
    if (n > 0) {
      constexpr bool kMultiplies = std::is_floating_point_v<Out> && operator_of<Op, Out>() == Operator::mul;
      Out total = static_cast<Out>(x[0]);
      if constexpr (kMultiplies) {
        // A subnormal partial product has lost bits. A product that is 0, infinite or NaN never becomes normal again.
        Out least = std::numeric_limits<Out>::max();
        by_fours(1, n, [&](std::int64_t i) {
          total = combine(op, total, x[i]);
          const Out size = std::fabs(total);
          least = size < least ? size : least;
        });
        const bool is_in_range = std::isnormal(total) && least >= std::numeric_limits<Out>::min();
        sum = is_in_range ? carry_of(total) : product_of<Out>(x, n);
      } else {
        for (std::int64_t i = 1; i < n; ++i) total = combine(op, total, x[i]);
        sum = carry_of(total);
      }
    }
    *static_cast<ScanCarry<Out>*>(carry) = sum;
  }

  static void scan(const void* op, const void* in, void* out, std::int64_t n, void* carry,
                   const ScanMode& mode) noexcept {
    auto& before = *static_cast<ScanCarry<Out>*>(carry);
    const In* x = static_cast<const In*>(in);
    Out* y = static_cast<Out*>(out);
    if (n == 0) return;
    Out total = before.any ? value_of(before) : Out{};
    std::int64_t i = 0;
    if (!before.any) {
      // Starts with the first element. An exclusive scan has no value to write there yet. shift() writes it, because an
      // exclusive call has an initial value.
      total = static_cast<Out>(x[0]);
      if (!mode.exclusive) y[0] = total;
      i = 1;
    }
    if (mode.exclusive) {
      by_fours(i, n, [&](std::int64_t at) {
        const Out next = combine(op, total, x[at]);  // read first: in place, y[at] is x[at]
        y[at] = total;
        total = next;
      });
    } else {
      by_fours(i, n, [&](std::int64_t at) {
        total = combine(op, total, x[at]);
        y[at] = total;
      });
    }
    before = carry_of(total);
  }

  static void shift(const void* op, void* out, std::int64_t n, const void* carry, bool exclusive) noexcept {
    const auto& before = *static_cast<const ScanCarry<Out>*>(carry);
    if (!before.any) return;
    const Out left = value_of(before);
    Out* y = static_cast<Out*>(out);
    if (exclusive) y[0] = left;
    for (std::int64_t i = exclusive ? 1 : 0; i < n; ++i) y[i] = combine(op, left, y[i]);
  }

  static void merge(const void* op, void* left, const void* right) noexcept {
    detail::merge(as_op(op), *static_cast<ScanCarry<Out>*>(left), *static_cast<const ScanCarry<Out>*>(right));
  }

  static constexpr ScanKernel kernel() { return {&reduce, &scan, &shift, &merge, std::is_integral_v<Out>}; }
};

}  // namespace upsweep::detail
