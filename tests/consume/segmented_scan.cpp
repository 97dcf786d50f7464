// SPDX-License-Identifier: Apache-2.0
// tests/consume/segmented_scan.cpp: running sums of three lists, inclusive and exclusive.
#include "upsweep/segmented_scan.hpp"

#include <cstdint>
#include <vector>

int main() {
  const std::vector<std::int32_t> offsets{0, 2, 2, 4};
  std::vector<int> values{1, 2, 3, 4};
  std::vector<std::int64_t> before(4);
  upsweep::segmented_exclusive_scan(upsweep::par, offsets, values, before);
  upsweep::segmented_inclusive_scan(upsweep::par, offsets, values, values);
  return values == std::vector<int>{1, 3, 3, 7} && before == std::vector<std::int64_t>{0, 1, 0, 3} ? 0 : 1;
}
