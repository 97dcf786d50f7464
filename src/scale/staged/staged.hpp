// SPDX-License-Identifier: Apache-2.0
// scale/staged/staged.hpp: the state that a Staged keeps from call to call.
#pragma once

#include <string>
#include <string_view>

#include "scale/staging.hpp"
#include "upsweep/chunked.hpp"
#include "upsweep/dynamic.hpp"

namespace upsweep::dynamic {

struct Staged::State {
  std::string rung;  // the requested rung; after the first chunk, the rung that all other chunks also run
  gpu::Staging staging;
  gpu::Chunked chunked;

  template <class Run>
  std::string_view run(Run run_it) {
    const std::string_view ran = run_alone(run_it);
    rung = ran;
    return ran;
  }
  /// Runs a chunk that does not affect the others: lists with nulls and lists without nulls use different rungs.
  template <class Run>
  std::string_view run_alone(Run run_it) {
    std::string_view ran;
    staging.compute([&](const gpu::Policy& policy) { ran = run_it(policy.with_rung(rung)); });
    return ran;
  }
  /// Returns whether sums of these elements, on the device, fit after the preceding total in any order.
  bool sums_fit(ConstArray in, const Carry& carry);
  /// Throws unsupported if they may not fit.
  void require_fit(ConstArray in, const Carry& carry);
};

}  // namespace upsweep::dynamic
