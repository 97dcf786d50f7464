/* SPDX-License-Identifier: Apache-2.0 */
/* docs/exercises/filtered_sum_branchless.c: exercise 7, a filtered sum. The branch is unpredictable if half is kept. */
#include <upsweep/rung.h>

int upsweep_rung_version(void) { return UPSWEEP_RUNG_VERSION; }

int upsweep_rung_filtered_sum(const uint32_t* key, const int64_t* quantity, const int64_t* price, int64_t n,
                              uint32_t limit, int64_t* sum, int threads) {
  (void)threads;
  uint64_t total = 0;
  for (int64_t i = 0; i < n; ++i) {
    /* TODO: no `if` at all. */
    if (key[i] < limit) total += (uint64_t)quantity[i] * (uint64_t)price[i];
  }
  *sum = (int64_t)total;
  return 0;
}
