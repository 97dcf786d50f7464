// SPDX-License-Identifier: Apache-2.0
// climb/guest_trials.hpp: the calls that a guest must pass, on the CPU or on a GPU.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "climb/guest.hpp"

namespace upsweep {

/// Instances with more elements are long enough for threads or thread blocks to depend on each other.
inline constexpr std::int64_t kLargeTrial = 10'000;
/// A time is estimated by a call on this number of elements.
inline constexpr std::int64_t kTimedTrial = 1 << 15;

/// A call of the guest on an instance.
struct Trial {
  std::string how;                     ///< "with 7 threads"
  std::function<std::string()> wrong;  ///< makes the call; returns "", or what is wrong
};

/// The backend of a guest, with the memory in which it is tried.
class TrialPlace {
 public:
  virtual ~TrialPlace() = default;
  /// The calls on a small instance, whose arrays are filled.
  virtual std::vector<Trial> small_trials(Instance& instance) = 0;
  /// The calls on an instance that will be timed; none if there is no memory for its arrays twice.
  virtual std::vector<Trial> timed_trials(Instance& instance) = 0;
};

}  // namespace upsweep
