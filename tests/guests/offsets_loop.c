/* SPDX-License-Identifier: Apache-2.0 */
/* tests/guests/offsets_loop.c: a solution of exercise 5: a scan of lengths that are never written. */
#include <upsweep/rung.h>

int upsweep_rung_version(void) { return UPSWEEP_RUNG_VERSION; }

int upsweep_rung_offsets(upsweep_type type, const void* starts, const void* stops, int64_t n, int64_t* offsets,
                         int threads) {
  (void)threads;
  if (type != UPSWEEP_INT64) return UPSWEEP_RUNG_SKIPS;
  const int64_t* const from = starts;
  const int64_t* const to = stops;
  int64_t offset = 0;
  offsets[0] = 0;
  for (int64_t i = 0; i < n; ++i) offsets[i + 1] = offset += to[i] - from[i];
  return 0;
}
