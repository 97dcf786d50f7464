// SPDX-License-Identifier: Apache-2.0
// climb/reference.hpp: the correct results of scans and reductions, and the check of rungs against them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "upsweep/error.hpp"
#include "upsweep/ladder.hpp"
#include "upsweep/operators.hpp"

namespace upsweep::reference {

/// The scan by its definition, output by output: next(x) is the value after x.
/// Integers, min and max are computed by definition; every rung must agree bit for bit.
template <class Out, class Op>
class ExactReference {
 public:
  explicit ExactReference(Op op) : op_(op) {}
  ExactReference(Op op, Out init) : op_(op), total_(init), any_(true) {}

  template <class In>
  Out next(In x) {
    total_ = any_ ? static_cast<Out>(detail::wrapping<Out>(op_)(total_, static_cast<Out>(x))) : static_cast<Out>(x);
    any_ = true;
    return total_;
  }
  [[nodiscard]] Out total() const { return total_; }

 private:
  Op op_;
  Out total_{};
  bool any_ = false;
};

/// A float sum in long double with Neumaier's compensation, and the sum of magnitudes that its error is measured in.
class SumReference {
 public:
  SumReference() = default;
  explicit SumReference(long double init) : sum_(init), magnitude_(std::abs(init)) {}

  void next(long double x) {
    const long double sum = sum_ + x;
    lost_ += std::abs(sum_) >= std::abs(x) ? (sum_ - sum) + x : (x - sum) + sum_;
    sum_ = sum;
    magnitude_ += std::abs(x);
  }
  [[nodiscard]] long double value() const { return std::isfinite(sum_) ? sum_ + lost_ : sum_; }
  [[nodiscard]] long double magnitude() const { return magnitude_; }

 private:
  long double sum_ = 0;
  long double lost_ = 0;
  long double magnitude_ = 0;
};

template <class T>
bool same_value(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a == b || (std::isnan(a) && std::isnan(b));
  return a == b;
}

/// Whether a sum is within `factor` of the true sum. An infinite or NaN sum must be the same. If partial sums may have
/// exceeded the type, every sum is accepted.
template <class Out>
bool is_close(const SumReference& reference, Out sum, double factor) {
  using Limits = std::numeric_limits<Out>;
  if (!std::isfinite(reference.value())) return same_value(static_cast<long double>(sum), reference.value());
  if (reference.magnitude() > static_cast<long double>(Limits::max())) return true;
  const long double error = std::abs(static_cast<long double>(sum) - reference.value());
  return error <=
         static_cast<long double>(factor) * static_cast<long double>(Limits::epsilon()) * reference.magnitude();
}

/// The first wrong output of a scan, or kNoIndex: an exact comparison, output by output. `in` is the scanned input.
template <class In, class Out, class Op>
std::int64_t first_wrong(ExactReference<Out, Op> reference, const In* in, const Out* out, std::int64_t n,
                         bool exclusive) {
  for (std::int64_t i = 0; i < n; ++i) {
    const Out before = reference.total();
    const Out after = reference.next(in[i]);
    if (!same_value(out[i], exclusive ? before : after)) return i;
  }
  return kNoIndex;
}

/// The same check for float sums of any values: they must be within the rung's bound of the true sum.
template <class In, class Out>
std::int64_t first_beyond(SumReference reference, const In* in, const Out* out, std::int64_t n, bool exclusive,
                          const FloatBound& bound) {
  for (std::int64_t i = 0; i < n; ++i) {
    if (!exclusive) reference.next(static_cast<long double>(in[i]));
    // The value itself is rounded once, even if nothing is added.
    if (!is_close(reference, out[i], std::max(1.0, bound.factor(i, n)))) return i;
    if (exclusive) reference.next(static_cast<long double>(in[i]));
  }
  return kNoIndex;
}

}  // namespace upsweep::reference
