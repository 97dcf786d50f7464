// SPDX-License-Identifier: Apache-2.0
// tests/consume/segmented_sort.cpp: two lists in order.
#include "upsweep/segmented_sort.hpp"

#include <cstdint>
#include <vector>

int main() {
  const std::vector<std::int64_t> offsets{0, 3, 5};
  const std::vector<double> content{3, 1, 2, 5, 4};
  std::vector<double> sorted(5);
  std::vector<std::int64_t> positions(5);
  upsweep::segmented_sort(upsweep::par, offsets, content, sorted);
  upsweep::segmented_argsort(upsweep::par, offsets, content, positions);
  return sorted == std::vector<double>{1, 2, 3, 4, 5} && positions == std::vector<std::int64_t>{1, 2, 0, 1, 0} ? 0 : 1;
}
