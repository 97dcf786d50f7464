// SPDX-License-Identifier: Apache-2.0
// tests/consume/main.cpp: a user's program that uses an installed upsweep.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "upsweep/offsets.hpp"
#include "upsweep/reduce.hpp"
#include "upsweep/scan.hpp"

int main() {
  // Long enough for threads: the installed library must link what they need.
  const std::vector<std::int32_t> ones(1 << 21, 1);
  std::vector<std::int64_t> running(ones.size());
  const auto scanned = upsweep::inclusive_scan(upsweep::par, ones, running);
  const std::int64_t total = upsweep::reduce(upsweep::par, ones, std::int64_t{0});
  std::vector<std::int64_t> offsets(1001);
  const upsweep::ListOptions options{.stops_offset = 1, .length = 1000};
  const auto lists = upsweep::offsets(upsweep::par, running, running, offsets, options);
  const bool works =
      running.back() == total && total == 1 << 21 && offsets.back() == 1000 && lists.rung == "cpu.adjacent";
  std::puts(works ? "upsweep works" : "upsweep does not work");
  return works && scanned.count == 1 << 21 ? 0 : 1;
}
