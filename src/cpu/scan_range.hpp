// SPDX-License-Identifier: Apache-2.0
// cpu/scan_range.hpp: scans a range whose float vectors may leave the range of their type although the loop does not.
#pragma once

#include <cstdint>

#include "cpu/kernels.hpp"

namespace upsweep::cpu {

/// Runs the kernel's scan(). A vector combines floats that do not follow each other. Therefore its partial results may
/// be too large or too small even if no output is. The outputs or the CPU's flags show this. Such a range is scanned
/// again: vectors with such partial results are computed one element after the other. All other vectors keep their
/// bits.
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
  /// Returns null for operators whose results are elements.
  static Guarded guarded(Type type, Operator op);

  const detail::ScanKernel& kernel_;
  const void* op_;
  Guarded guarded_ = nullptr;
};

}  // namespace upsweep::cpu
