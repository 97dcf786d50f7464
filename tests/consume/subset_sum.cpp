// SPDX-License-Identifier: Apache-2.0
// tests/consume/subset_sum.cpp: which items add up to a target.
#include "upsweep/subset_sum.hpp"

#include <cstdint>
#include <vector>

int main() {
  const std::vector<std::int64_t> items{3, 34, 4, 12, 5, 2};
  return upsweep::find_subset(upsweep::par, items, 9).reachable ? 0 : 1;
}
