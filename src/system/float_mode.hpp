// SPDX-License-Identifier: Apache-2.0
// system/float_mode.hpp: how floats are computed, kept while a rung of the user's own runs.
#pragma once

#include <cfenv>

namespace upsweep {

/// Puts back how this thread rounds, and whether it keeps subnormal numbers: what a guest changes is not for other rungs.
/// It takes longer than a short call, so it belongs around what is timed, not into it.
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
