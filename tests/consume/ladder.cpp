// SPDX-License-Identifier: Apache-2.0
// tests/consume/ladder.cpp: the rungs of every problem.
#include "upsweep/ladder.hpp"

int main() {
  for (const auto& problem : upsweep::problems()) {
    if (upsweep::ladder(problem.name).empty()) return 1;
  }
  return upsweep::problems().empty() ? 1 : 0;
}
