// SPDX-License-Identifier: Apache-2.0
// tests/consume/ladder.cpp: the rungs of every problem.
#include "upsweep/ladder.hpp"

int main() {
  for (int problem = 0; problem < upsweep::kProblemCount; ++problem) {
    if (upsweep::ladder(static_cast<upsweep::Problem>(problem)).empty()) return 1;
  }
  return 0;
}
