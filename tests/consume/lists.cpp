// SPDX-License-Identifier: Apache-2.0
// tests/consume/lists.cpp: lists by offsets, by bounds and of one size.
#include <upsweep/lists.hpp>
#include <vector>

int main() {
  const std::vector<int> offsets{0, 3, 3, 5};
  const std::vector<int> starts{3, 0};
  const std::vector<int> stops{5, 3};
  const upsweep::Lists adjacent(offsets);
  const upsweep::Lists anywhere(starts, stops);
  return adjacent.count == 3 && adjacent.are_adjacent() && anywhere.count == 2 && !anywhere.are_adjacent() &&
                 upsweep::Lists::of_size(4, 3).are_adjacent()
             ? 0
             : 1;
}
