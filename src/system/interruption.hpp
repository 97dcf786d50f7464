// SPDX-License-Identifier: Apache-2.0
// system/interruption.hpp: whether a call continues, for all of its threads.
#pragma once

#include <atomic>

#include "upsweep/detail/go_on.hpp"
#include "upsweep/error.hpp"

namespace upsweep {

inline constexpr Status kInterrupted{.code = Code::interrupted, .reason = "interrupted"};

class Interruption {
 public:
  /// A null pointer or an empty function means that the call cannot be ended.
  explicit Interruption(const detail::GoOn* go_on) : go_on_(go_on != nullptr && *go_on ? go_on : nullptr) {}

  /// Returns false once the call must stop. Calls go_on unless that is known already.
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
