// SPDX-License-Identifier: Apache-2.0
// cpu/fold_range.hpp: the folds of a scan's or reduction's elements, with a separate exponent for products of floats.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/elements.hpp"
#include "cpu/kernels.hpp"
#include "upsweep/detail/scan_call.hpp"

namespace upsweep::cpu {

/// Folds a call's elements. Partial products of floats can leave their type's range even if the product of all elements
/// does not. The CPU's flags show this at no cost. Such a range is folded again, in the same order, by a loop whose
/// partial products have a wider exponent. The carry of the range then has an exponent (ScanCarry::wraps).
class FoldRange {
 public:
  template <class Call>
  FoldRange(const Call& call, const KernelTable& table)
      : kernel_(call.custom != nullptr ? *call.custom : table.scan[at(call.out_type)][at(call.op)]),
        merge_(call.custom != nullptr ? call.custom->merge
                                      : kernels_plain().scan[at(call.out_type)][at(call.op)].merge),
        op_(operator_object(call)),
        elements_(call),
        out_type_(call.out_type) {
    if (elements_.converts() && call.op == Operator::add && is_integer(call.in_type) && is_integer(call.out_type)) {
      exact_sum_ = table.exact_sum[at(call.in_type)];
    }
    if (call.custom != nullptr || call.op != Operator::mul || !is_float(call.out_type)) return;
    multiply_ = product_of(call.out_type, &table != &kernels_plain());
  }

  [[nodiscard]] const detail::ScanKernel& kernel() const { return kernel_; }
  [[nodiscard]] const void* op() const { return op_; }
  [[nodiscard]] const Elements& elements() const { return elements_; }
  /// Whether this folds products of floats.
  [[nodiscard]] bool is_product() const { return multiply_ != nullptr; }

  /// carry ← the carry of no elements.
  void clear(void* carry) const { kernel_.reduce(op_, nullptr, 0, carry); }
  /// left ← left ⊕ right, two carries.
  void merge(void* left, const void* right) const { merge_(op_, left, right); }
  /// carry ← the fold of the range.
  void operator()(Range range, void* carry) const;

 private:
  using Multiply = void (*)(const void* x, std::int64_t n, void* carry);
  /// Multiplies in the order of the plain loop, or of the vectors of simd_kernels.cpp.
  static Multiply product_of(Type type, bool vectors);
  /// Folds elements of the output type.
  void fold(const void* x, std::int64_t n, void* carry) const;

  const detail::ScanKernel& kernel_;
  void (*merge_)(const void* op, void* left, const void* right);
  const void* op_;
  Elements elements_;
  Type out_type_;
  Multiply multiply_ = nullptr;
  /// Sums integers whose output type differs: the exact sum is converted once, instead of each element.
  Int128 (*exact_sum_)(const void* in, std::int64_t n) = nullptr;
};

}  // namespace upsweep::cpu
