// SPDX-License-Identifier: Apache-2.0
// system/float_mode.hpp: the floating-point environment, kept while a user's custom rung runs.
#pragma once

#include <cfenv>

namespace upsweep {

/// Restores the rounding mode of this thread, and whether it keeps subnormal numbers, so that a guest's changes do not
/// affect other rungs. It takes longer than a short call, so it belongs around the timed code, not into it.
class KeptFloatMode {
 public:
  KeptFloatMode() { (void)std::fegetenv(&mode_); }
  ~KeptFloatMode() { (void)std::fesetenv(&mode_); }
  KeptFloatMode(const KeptFloatMode&) = delete;
  KeptFloatMode& operator=(const KeptFloatMode&) = delete;

 private:
  std::fenv_t mode_{};
};

}  // namespace upsweep
