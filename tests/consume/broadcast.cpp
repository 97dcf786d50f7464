// SPDX-License-Identifier: Apache-2.0
// tests/consume/broadcast.cpp: offsets of three lists, and where their elements are.
#include "upsweep/broadcast.hpp"

#include <cstdint>
#include <vector>

int main() {
  using Positions = std::vector<std::int64_t>;
  Positions offsets(4);
  Positions index(5);
  Positions parents(5);
  upsweep::lengths_to_offsets(upsweep::par, std::vector<int>{2, 0, 3}, offsets);
  upsweep::local_index(upsweep::par, offsets, index);
  upsweep::offsets_to_parents(upsweep::par, offsets, parents);
  return offsets == Positions{0, 2, 2, 5} && index == Positions{0, 1, 0, 1, 2} && parents == Positions{0, 0, 2, 2, 2}
             ? 0
             : 1;
}
