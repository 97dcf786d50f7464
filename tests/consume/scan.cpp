// SPDX-License-Identifier: Apache-2.0
// tests/consume/scan.cpp: a running sum, long enough for threads.
#include "upsweep/scan.hpp"

#include <cstdint>
#include <vector>

int main() {
  const std::vector<std::int32_t> ones(1 << 21, 1);
  std::vector<std::int64_t> running(ones.size());
  const auto scanned = upsweep::inclusive_scan(upsweep::par, ones, running);
  std::vector<__int128> wide(3, 1);  // an integer if the compiler's extensions are on, as in CMake's default
  upsweep::inclusive_scan(upsweep::par, wide, wide);
  return scanned.count == 1 << 21 && running.back() == 1 << 21 && wide[2] == 3 ? 0 : 1;
}
