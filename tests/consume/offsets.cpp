// SPDX-License-Identifier: Apache-2.0
// tests/consume/offsets.cpp: offsets of a thousand lists.
#include "upsweep/offsets.hpp"

#include <cstdint>
#include <vector>

int main() {
  const std::vector<std::int64_t> starts(1000, 0);
  const std::vector<std::int64_t> stops(1000, 2);
  std::vector<std::int64_t> offsets(1001);
  return upsweep::offsets(upsweep::par, starts, stops, offsets).total == 2000 && offsets.back() == 2000 ? 0 : 1;
}
