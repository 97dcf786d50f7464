// SPDX-License-Identifier: Apache-2.0
// scale/staged/staged.hpp: what a Staged keeps from call to call.
#pragma once

#include <string>
#include <string_view>

#include "scale/staging.hpp"
#include "upsweep/chunked.hpp"
#include "upsweep/dynamic.hpp"

namespace upsweep::dynamic {

struct Staged::State {
  std::string rung;  // what is asked for; once a chunk has run, all others run it too
  gpu::Staging staging;
  gpu::Chunked chunked;

  template <class Run>
  std::string_view run(Run run_it) {
    const std::string_view ran = run_alone(run_it);
    rung = ran;
    return ran;
  }
  /// Of a chunk that is nothing to the others: lists with nulls and lists without are different rungs'.
  template <class Run>
  std::string_view run_alone(Run run_it) {
    std::string_view ran;
    staging.compute([&](const gpu::Policy& policy) { ran = run_it(policy.with_rung(rung)); });
    return ran;
  }
  /// Whether sums of these elements, on the device, fit after what precedes them in whatever order.
  bool sums_fit(ConstArray in, const Carry& carry);
  /// Throws unsupported where they might not.
  void require_fit(ConstArray in, const Carry& carry);
};

}  // namespace upsweep::dynamic
