// SPDX-License-Identifier: Apache-2.0
// tests/consume/group_by.cpp: sums and counts of two keys' values.
#include "upsweep/group_by.hpp"

#include <cstdint>
#include <vector>

int main() {
  const std::vector<std::int64_t> keys{8, 3, 8};
  const std::vector<float> values{1, 2, 4};
  std::vector<std::int64_t> out_keys(3);
  std::vector<float> sums(3);
  std::vector<std::int64_t> counts(3);
  const auto grouped = upsweep::group_by(upsweep::par, keys, values, out_keys, sums, counts);
  return grouped.groups == 2 && out_keys[0] == 8 && sums[0] == 5 && sums[1] == 2 && counts[0] == 2 ? 0 : 1;
}
