// SPDX-License-Identifier: Apache-2.0
// cpu/scan_range.hpp: the scan of a range, where vectors of floats may leave the range that the loop stays in.
#pragma once

#include <cstdint>

#include "cpu/kernels.hpp"

namespace upsweep::cpu {

/// The kernel's scan(). Vectors combine floats that do not follow each other, and the results may be too large or too
/// small although no output is: the results or the CPU's flags show it, and such a range is scanned again, those vectors one
/// element after the other. All others keep their bits.
class ScanRange {
 public:
  template <class Call>
  ScanRange(const Call& call, const KernelTable& table, const detail::ScanKernel& kernel, const void* op)
      : kernel_(kernel), op_(op) {
    const bool vectors = call.custom == nullptr && &table != &kernels_plain();
    if (vectors && is_float(call.out_type)) guarded_ = guarded(call.out_type, call.op);
  }

  void operator()(const void* x, void* y, std::int64_t n, void* carry, const detail::ScanMode& mode) const {
    if (guarded_ == nullptr) return kernel_.scan(op_, x, y, n, carry, mode);
    guarded_(kernel_, x, y, n, carry, mode);
  }

 private:
  using Guarded = void (*)(const detail::ScanKernel& kernel, const void* x, void* y, std::int64_t n, void* carry,
                           const detail::ScanMode& mode);
  /// Null for operators whose results are elements.
  static Guarded guarded(Type type, Operator op);

  const detail::ScanKernel& kernel_;
  const void* op_;
  Guarded guarded_ = nullptr;
};

}  // namespace upsweep::cpu
