// SPDX-License-Identifier: Apache-2.0
// system/interruption.hpp: whether a call is to go on, for all of its threads.
#pragma once

#include <atomic>

#include "upsweep/detail/go_on.hpp"
#include "upsweep/error.hpp"

namespace upsweep {

inline constexpr Status kInterrupted{.code = Code::interrupted, .reason = "interrupted"};

class Interruption {
 public:
  /// Null, or nothing to be called: nobody ends the call.
  explicit Interruption(const detail::GoOn* go_on) : go_on_(go_on != nullptr && *go_on ? go_on : nullptr) {}

  /// False once the call is to stop. Calls go_on unless that is known already.
  bool goes_on() {
    if (go_on_ == nullptr) return true;
    if (!is_stopped() && !(*go_on_)()) stopped_.store(true, std::memory_order_relaxed);
    return !is_stopped();
  }
  [[nodiscard]] bool is_stopped() const { return stopped_.load(std::memory_order_relaxed); }

 private:
  const detail::GoOn* go_on_;
  std::atomic<bool> stopped_{false};
};

}  // namespace upsweep
