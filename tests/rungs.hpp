// SPDX-License-Identifier: Apache-2.0
// tests/rungs.hpp: the rungs of a ladder that run on one kind of machine, and the error of a call.
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
/// Returns the error of a call, or ok.
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

/// The thread sanitizer runs without oneTBB's loops: it cannot see how a library that is built without the sanitizer
/// orders its threads.
inline std::vector<RungInfo> cpu_rungs(std::string_view problem) {
  std::vector<RungInfo> rungs = rungs_of(problem, Backend::cpu);
#if defined(__SANITIZE_THREAD__)
  std::erase_if(rungs, [](const RungInfo& rung) { return rung.id == "cpu.tbb"; });
#endif
  return rungs;
}

}  // namespace upsweep::tests
