// SPDX-License-Identifier: Apache-2.0
// tests/consume/combinations.cpp: the pairs of a list of three and a list of two, and the product of both.
#include "upsweep/combinations.hpp"

#include <cstdint>
#include <vector>

int main() {
  using Positions = std::vector<std::int64_t>;
  const Positions lists{0, 3, 5};
  Positions offsets(3);
  const auto counted = upsweep::combinations_offsets(upsweep::par, lists, 5, 2, false, offsets);
  std::vector<Positions> pairs(2, Positions(static_cast<std::size_t>(counted.total)));
  upsweep::combinations(upsweep::par, lists, 5, false, offsets, pairs);
  const bool right = pairs[0] == Positions{0, 0, 1, 3} && pairs[1] == Positions{1, 2, 2, 4};
  const Positions three{0, 3};
  const Positions two{0, 2};
  Positions product_offsets(2);
  std::vector<Positions> product(2, Positions(6));
  upsweep::cartesian(upsweep::par, {{three, 3}, {two, 2}}, product_offsets, product);
  return right && product[0] == Positions{0, 0, 1, 1, 2, 2} && product[1] == Positions{0, 1, 0, 1, 0, 1} ? 0 : 1;
}
