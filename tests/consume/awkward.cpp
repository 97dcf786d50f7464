// SPDX-License-Identifier: Apache-2.0
// tests/consume/awkward.cpp: the C function for Awkward Array.
#include "upsweep/awkward.h"

#include <cstdint>

int main() {
  const std::int64_t starts[] = {0, 5};
  const std::int64_t stops[] = {3, 7};
  std::int64_t offsets[3] = {};
  const upsweep_awkward_error error = awkward_ListArray64_compact_offsets_64(offsets, starts, stops, 2);
  return error.str == nullptr && offsets[2] == 5 ? 0 : 1;
}
