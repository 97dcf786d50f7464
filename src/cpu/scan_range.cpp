// SPDX-License-Identifier: Apache-2.0
// cpu/scan_range.cpp: scans a range in the order of the vectors of simd_kernels.cpp. If the CPU's flags show that a
// partial result of a vector is out of range, the vector is scanned one element after the other.
#include "cpu/scan_range.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>

#include "cpu/range_flags.hpp"
#include "cpu/tuning/dense.hpp"

namespace upsweep::cpu {
namespace {

constexpr std::size_t kSavedBytes = tuning::kDense.saved_bytes;  // of the input, if it is overwritten

/// scan_vector() of simd.hpp.
template <class T, class Op>
[[gnu::noinline]] void scan_tree(T* v) {
  constexpr std::size_t kLanes = kVectorBytes / sizeof(T);
  for (std::size_t half = 1; half < kLanes; half *= 2) {
    for (std::size_t j = 0; j < kLanes; ++j) {
      if ((j & half) != 0) v[j] = Op{}(v[(j & ~(2 * half - 1)) + half - 1], v[j]);
    }
  }
}

template <class T, class Op>
bool leaves_range(T* v) {
  const RangeFlags flags;
  asm volatile("" : : "r"(v) : "memory");  // nothing before the flags are cleared,
  scan_tree<T, Op>(v);
  asm volatile("" : : "r"(v) : "memory");  // nor after they are read
  return flags.raised();
}

/// Scans the vector x. `total` is the fold of the elements before x, and becomes the fold including x.
template <class T, class Op>
void scan_lanes(const T* x, T* out, bool exclusive, T& total) {
  constexpr std::size_t kLanes = kVectorBytes / sizeof(T);
  T v[kLanes];
  std::copy_n(x, kLanes, v);
  const bool one_by_one = leaves_range<T, Op>(v);
  const T before = total;
  for (std::size_t j = 0; j < kLanes; ++j) {
    const T next = one_by_one ? Op{}(total, x[j]) : Op{}(before, v[j]);
    out[j] = exclusive ? total : next;
    total = next;
  }
}

template <class T, class Op>
void scan_again(const T* x, T* y, std::int64_t n, ScanCarry<T>& carry, bool exclusive) {
  constexpr std::size_t kLanes = kVectorBytes / sizeof(T);
  constexpr T kIdentity = Op::template identity<T>();
  T total = carry.any ? detail::value_of(carry) : kIdentity;
  for (std::int64_t i = 0; i < n; i += std::int64_t{kLanes}) {
    const std::int64_t count = std::min(std::int64_t{kLanes}, n - i);
    T in[kLanes];
    T out[kLanes];
    std::fill_n(in, kLanes, kIdentity);
    std::copy_n(x + i, count, in);
    scan_lanes<T, Op>(in, out, exclusive, total);
    std::copy_n(out, count, y + i);
  }
  carry = carry_of(total);
}

/// Runs the kernel. Returns whether all partial results were in range. For sums, an out-of-range partial result makes
/// an output infinite, which the kernel notes, or the carry not finite. The CPU's flags would also show it. But reading
/// the flags waits for all earlier instructions, which makes short ranges up to a fifth slower.
template <class T, class Op>
bool scan_in_range(const detail::ScanKernel& kernel, const T* in, T* out, std::int64_t n, ScanCarry<T>& carry,
                   detail::ScanMode mode) {
  if (Op::kOperator == Operator::add && std::isfinite(detail::value_of(carry))) {
    std::uint64_t infinite = 0;
    mode.note = &infinite;
    kernel.scan(nullptr, in, out, n, &carry, mode);
    return infinite == 0 && std::isfinite(carry.total);
  }
  const RangeFlags flags;
  kernel.scan(nullptr, in, out, n, &carry, mode);
  return !flags.raised();
}

template <class T, class Op>
void scan_guarded(const detail::ScanKernel& kernel, const void* x, void* y, std::int64_t n, void* carry,
                  const detail::ScanMode& mode) {
  T saved[kSavedBytes / sizeof(T)];
  const bool in_place = x == y;
  const std::int64_t length = in_place ? std::ssize(saved) : n;
  auto& state = *static_cast<ScanCarry<T>*>(carry);
  detail::ScanMode own = mode;
  for (std::int64_t first = 0; first < n; first += length) {
    const std::int64_t count = std::min(length, n - first);
    const T* in = static_cast<const T*>(x) + first;
    T* const out = static_cast<T*>(y) + first;
    const ScanCarry<T> before = state;
    if (in_place) std::copy_n(in, count, saved);
    if (mode.next != nullptr) own.next = static_cast<const T*>(mode.next) + first;
    if (scan_in_range<T, Op>(kernel, in, out, count, state, own)) continue;
    state = before;
    scan_again<T, Op>(in_place ? saved : in, out, count, state, mode.exclusive);
  }
}

}  // namespace

ScanRange::Guarded ScanRange::guarded(Type type, Operator op) {
  return visit_operator<float>(op, [&]<class Op>(Op) -> Guarded {
    if constexpr (Op::kSelects) return nullptr;
    return type == Type::float32 ? &scan_guarded<float, Op> : &scan_guarded<double, Op>;
  });
}

}  // namespace upsweep::cpu
