// SPDX-License-Identifier: Apache-2.0
// tests/rungs.hpp: the rungs of a ladder that run on one kind of machine.
#pragma once

#include <string_view>
#include <vector>

#include "upsweep/ladder.hpp"

namespace upsweep::tests {

inline std::vector<RungInfo> rungs_of(std::string_view problem, Backend backend) {
  std::vector<RungInfo> rungs;
  for (const auto& rung : ladder(problem)) {
    if (rung.backend() == backend) rungs.push_back(rung);
  }
  return rungs;
}
inline std::vector<RungInfo> cpu_rungs(std::string_view problem) { return rungs_of(problem, Backend::cpu); }

}  // namespace upsweep::tests
