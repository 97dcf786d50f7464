// SPDX-License-Identifier: Apache-2.0
// tests/consume/awkward.cpp: C functions for Awkward Array.
#include "upsweep/awkward.h"

#include <cstdint>

int main() {
  const std::int64_t starts[] = {0, 5};
  const std::int64_t stops[] = {3, 7};
  std::int64_t offsets[3] = {};
  const double content[] = {1, 2, 3, 4, 5};
  double sums[2] = {};
  const bool is_good = awkward_ListArray64_compact_offsets_64(offsets, starts, stops, 2).str == nullptr &&
                       awkward_reduce_sum_float64_float64_64(sums, content, offsets, 2).str == nullptr;
  return is_good && offsets[2] == 5 && sums[1] == 9 ? 0 : 1;
}
