// SPDX-License-Identifier: Apache-2.0
// cpu/range_flags.hpp: whether floats have left their range since a point, by the CPU's sticky exception flags.
#pragma once

#include <xmmintrin.h>

namespace upsweep::cpu {

/// Clears the flags for results that are too large or too small for their type. At the end every flag is set that was
/// set before or in between. The checked floats must be computed by functions that are not inlined here: the compiler
/// does not consider the flags.
class RangeFlags {
 public:
  RangeFlags() : before_(_mm_getcsr()) { _mm_setcsr(before_ & ~kFlags); }
  ~RangeFlags() { _mm_setcsr(_mm_getcsr() | before_); }
  RangeFlags(const RangeFlags&) = delete;
  RangeFlags& operator=(const RangeFlags&) = delete;

  [[nodiscard]] bool raised() const { return (_mm_getcsr() & kFlags) != 0; }

 private:
  static constexpr unsigned kFlags = _MM_EXCEPT_OVERFLOW | _MM_EXCEPT_UNDERFLOW;
  unsigned before_;
};

}  // namespace upsweep::cpu
