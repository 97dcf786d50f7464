// SPDX-License-Identifier: Apache-2.0
// tests/consume/rung.cpp: a custom rung in C++ with the installed header, called as `upsweep ladder --with` would call
// it.
#include <cstdint>

#include "upsweep/rung.h"

int upsweep_rung_version(void) { return UPSWEEP_RUNG_VERSION; }

int upsweep_rung_reduce(upsweep_type type, const void* in, std::int64_t n, void* sum, int /*threads*/) {
  if (type != UPSWEEP_INT64) return UPSWEEP_RUNG_SKIPS;
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < n; ++i) total += static_cast<const std::int64_t*>(in)[i];
  *static_cast<std::int64_t*>(sum) = total;
  return 0;
}

int main() {
  const std::int64_t in[] = {17, 36, 8};
  std::int64_t sum = 0;
  const bool is_right = upsweep_rung_reduce(UPSWEEP_INT64, in, 3, &sum, 1) == 0 && sum == 61;
  const bool skips = upsweep_rung_reduce(UPSWEEP_FLOAT32, in, 3, &sum, 1) == UPSWEEP_RUNG_SKIPS;
  return is_right && skips && upsweep_rung_version() == 1 ? 0 : 1;
}
