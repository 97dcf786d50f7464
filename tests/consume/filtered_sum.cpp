// SPDX-License-Identifier: Apache-2.0
// tests/consume/filtered_sum.cpp: a sum of products over the rows that are kept.
#include "upsweep/filtered_sum.hpp"

#include <cstdint>
#include <vector>

int main() {
  const std::vector<std::uint32_t> key{1, 2, 3};
  const std::vector<std::int64_t> quantity{1, 2, 3};
  const std::vector<std::int64_t> price{10, 20, 30};
  return upsweep::filtered_sum(upsweep::par, key, quantity, price, 3) == 50 ? 0 : 1;
}
