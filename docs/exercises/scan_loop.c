/* SPDX-License-Identifier: Apache-2.0 */
/* docs/exercises/scan_loop.c: exercise 1, prefix sums by a loop. It writes nothing yet, so it is refused. */
#include <upsweep/rung.h>

int upsweep_rung_version(void) { return UPSWEEP_RUNG_VERSION; }

int upsweep_rung_scan(upsweep_type type, const void* in, int64_t n, void* out, int threads) {
  if (type != UPSWEEP_INT64) return UPSWEEP_RUNG_SKIPS;
  const int64_t* const x = in;
  int64_t* const sums = out;
  /* TODO: sums[i] = x[0] + … + x[i] for every i < n, in one loop. */
  (void)x, (void)sums, (void)n, (void)threads;
  return 0;
}
