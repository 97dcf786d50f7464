// SPDX-License-Identifier: Apache-2.0
// tests/consume/by_key.cpp: sums and running sums of two keys' values.
#include "upsweep/by_key.hpp"

#include <cstdint>
#include <vector>

int main() {
  const std::vector<int> keys{3, 3, 8};
  const std::vector<float> values{1, 2, 4};
  std::vector<int> out_keys(2);
  std::vector<float> sums(2);
  std::vector<float> running(3);
  upsweep::reduce_by_key(upsweep::par, keys, values, out_keys, sums);
  upsweep::inclusive_scan_by_key(upsweep::par, keys, values, running);
  return sums == std::vector<float>{3, 4} && running == std::vector<float>{1, 3, 4} && out_keys[1] == 8 ? 0 : 1;
}
