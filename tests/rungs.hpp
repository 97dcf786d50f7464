// SPDX-License-Identifier: Apache-2.0
// tests/rungs.hpp: the rungs of a ladder that run on one kind of machine, and the error that a call ends with.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "upsweep/error.hpp"
#include "upsweep/ladder.hpp"

namespace upsweep::tests {

inline std::vector<RungInfo> rungs_of(std::string_view problem, Backend backend) {
  std::vector<RungInfo> rungs;
  for (const auto& rung : ladder(problem)) {
    if (rung.backend() == backend) rungs.push_back(rung);
  }
  return rungs;
}
/// The error of a call, or ok.
template <class Call>
Code code_of(Call call) {
  try {
    call();
    return Code::ok;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()), "");
    return error.code();
  }
}

inline std::vector<RungInfo> cpu_rungs(std::string_view problem) { return rungs_of(problem, Backend::cpu); }

}  // namespace upsweep::tests
