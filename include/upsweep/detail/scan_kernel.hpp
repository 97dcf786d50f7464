// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/scan_kernel.hpp: what a scan does to a range of memory, as a table of functions, and the plain loops.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "upsweep/detail/carry.hpp"

namespace upsweep::detail {

/// How ScanKernel::scan treats its range.
struct ScanMode {
  bool exclusive = false;     ///< out[i] holds what precedes i
  bool non_temporal = false;  ///< the output is larger than the caches: store past them where the kernel can
  /// The memory that this thread reads next, fetched into cache while it scans, byte for byte beside the input, or
  /// null.
  const void* next = nullptr;
  /// Sums by SIMD kernels: of integers becomes itself | x ^ (x >> bits-1) of every element; of floats not 0 where an
  /// output is infinite. Or null.
  std::uint64_t* note = nullptr;
  /// Ragged offsets by SIMD kernels: as many lists elsewhere, folded while stores wait for memory, and where their fold
  /// goes. Or null.
  const void* beside = nullptr;
  void* beside_total = nullptr;
};

/// The operations on a range of n elements that every rung is made of. Types are erased, so that a rung is compiled
/// once and runs compiled operators and a user's lambda alike. `op` points to the user's function object (unused by
/// compiled ones), `carry` to a ScanCarry<Out>. In place (out == in) works.
struct ScanKernel {
  /// carry ← the fold of the range.
  void (*reduce)(const void* op, const void* in, std::int64_t n, void* carry);
  /// out ← the scan of the range, `carry` preceding it; carry ← what precedes the next range.
  void (*scan)(const void* op, const void* in, void* out, std::int64_t n, void* carry, const ScanMode& mode);
  /// out[i] ← carry ⊕ out[i] for a range that scan() wrote with an empty carry; exclusive: out[0] ← carry.
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

/// What an operator that runs on a CPU must be.
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

/// The product of n floats, whose partial products may be too large or too small.
template <class Out, class In>
ScanCarry<Out> product_of(const In* in, std::int64_t n) {
  auto product = empty_carry<Out>();
  for (std::int64_t i = 0; i < n; ++i) merge(Mul{}, product, carry_of(static_cast<Out>(in[i])));
  return product;
}

/// The loops that any associative operator and any trivially copyable type run through: one element after the other.
/// An operator that throws ends the program here, at every length and on every rung alike.
template <class In, class Out, class Op>
struct PlainScan : CheckedOperator<Out, Op> {
  static const Op& as_op(const void* op) { return *static_cast<const Op*>(op); }

  /// step(first) … step(n - 1). Four to a turn, a loop runs at an element per cycle wherever the compiler happens to
  /// place it; one to a turn, at half of that where it is placed badly.
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

  /// The result of a plain std::plus on narrow integers is an int.
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
        // A partial product that is subnormal has lost bits. One that is 0, infinite or NaN never becomes normal again.
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
      // Starts with its first element. An exclusive scan has nothing to write there yet: shift() will, as a call that is
      // exclusive has an initial value.
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
