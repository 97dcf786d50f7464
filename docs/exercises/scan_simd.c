/* SPDX-License-Identifier: Apache-2.0 */
/* docs/exercises/scan_simd.c: exercise 3, a scan by vectors. The loop is right, but it waits for every addition. */
#include <upsweep/rung.h>

int upsweep_rung_version(void) { return UPSWEEP_RUNG_VERSION; }

int upsweep_rung_scan(upsweep_type type, const void* in, int64_t n, void* out, int threads) {
  (void)threads;
  if (type != UPSWEEP_INT32) return UPSWEEP_RUNG_SKIPS;
  const uint32_t* const x = in; /* unsigned: sums wrap (modulo 2^32) */
  uint32_t* const sums = out;
  uint32_t sum = 0;
  /* TODO: eight elements at a time. Scan them within a vector by three shifted additions, then add the carry. */
  for (int64_t i = 0; i < n; ++i) sums[i] = sum += x[i];
  return 0;
}
