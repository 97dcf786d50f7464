// SPDX-License-Identifier: Apache-2.0
// tests/consume/upsweep.cpp: the C functions.
#include <cstdint>

#include "upsweep/upsweep.h"

int main() {
  double in[] = {1, 2, 3};
  double value = 0;
  const upsweep_array array = {in, 3, UPSWEEP_FLOAT64};
  const int status = upsweep_reduce(nullptr, "add", nullptr, array, UPSWEEP_FLOAT64, &value, nullptr);
  double sums[] = {0, 0};
  std::int64_t offsets[] = {0, 1, 3};
  const upsweep_lists lists = {UPSWEEP_BY_OFFSETS, {offsets, 3, UPSWEEP_INT64}, {}, 0, 0, {}};
  const int of_lists =
      upsweep_segmented_reduce(nullptr, "add", nullptr, &lists, array, nullptr, {sums, 2, UPSWEEP_FLOAT64}, nullptr);
  return status == 0 && value == 6 && of_lists == 0 && sums[0] == 1 && sums[1] == 5 ? 0 : 1;
}
