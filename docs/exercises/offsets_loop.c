/* SPDX-License-Identifier: Apache-2.0 */
/* docs/exercises/offsets_loop.c: exercise 5, offsets from starts and stops. It writes lengths, so it is refused. */
#include <upsweep/rung.h>

int upsweep_rung_version(void) { return UPSWEEP_RUNG_VERSION; }

int upsweep_rung_offsets(upsweep_type type, const void* starts, const void* stops, int64_t n, int64_t* offsets,
                         int threads) {
  (void)threads;
  if (type != UPSWEEP_INT64) return UPSWEEP_RUNG_SKIPS;
  const int64_t* const from = starts;
  const int64_t* const to = stops;
  /* TODO: offsets. There is one more offset than there are lists. */
  for (int64_t i = 0; i < n; ++i) offsets[i] = to[i] - from[i];
  return 0;
}
