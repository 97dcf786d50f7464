// SPDX-License-Identifier: Apache-2.0
// tests/consume/upsweep.cpp: the C functions.
#include "upsweep/upsweep.h"

int main() {
  double in[] = {1, 2, 3};
  double value = 0;
  const upsweep_array array = {in, 3, UPSWEEP_FLOAT64};
  const int status = upsweep_reduce(nullptr, "add", nullptr, array, UPSWEEP_FLOAT64, &value, nullptr);
  return status == 0 && value == 6 ? 0 : 1;
}
