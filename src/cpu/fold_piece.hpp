// SPDX-License-Identifier: Apache-2.0
// cpu/fold_piece.hpp: the fold of a piece of a scan or reduction, where products of floats keep an exponent of their own.
#pragma once

#include <cstdint>

#include "cpu/kernels.hpp"

namespace upsweep::cpu {

/// The kernel's reduce(). Partial products of floats can leave their type's range where the product of all elements does
/// not: the CPU's flags show it, at no cost, and such a piece is folded again, in the same order, without that limit. Its
/// carry then has an exponent (ScanCarry::wraps).
class FoldPiece {
 public:
  template <class Call>
  FoldPiece(const Call& call, const KernelTable& table, const detail::ScanKernel& kernel, const void* op)
      : kernel_(kernel), op_(op) {
    if (call.custom != nullptr || call.op != Operator::mul || !is_float(call.out_type)) return;
    multiply_ = product_of(call.out_type, &table != &kernels_plain());
  }

  /// carry ← the fold of the piece.
  void operator()(const void* x, std::int64_t n, void* carry) const;
  /// Whether this folds products of floats.
  [[nodiscard]] bool is_product() const { return multiply_ != nullptr; }

 private:
  using Multiply = void (*)(const void* x, std::int64_t n, void* carry);
  /// In the order of the plain loop, or of the vectors of simd_kernels.cpp.
  static Multiply product_of(Type type, bool vectors);

  const detail::ScanKernel& kernel_;
  const void* op_;
  Multiply multiply_ = nullptr;
};

}  // namespace upsweep::cpu
