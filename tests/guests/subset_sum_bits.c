/* SPDX-License-Identifier: Apache-2.0 */
/* tests/guests/subset_sum_bits.c: a solution of exercise 8: 64 sums by two shifts, from the last word down. */
#include <string.h>
#include <upsweep/rung.h>

int upsweep_rung_version(void) { return UPSWEEP_RUNG_VERSION; }

int upsweep_rung_subset_sum(const int64_t* items, int64_t n, int64_t target, uint64_t* sums, int threads) {
  (void)threads;
  const int64_t last = target / 64;
  memset(sums, 0, (size_t)(last + 1) * sizeof *sums);
  sums[0] = 1;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t words = items[i] / 64;
    const int bits = (int)(items[i] % 64);
    for (int64_t w = last; w >= words; --w) {
      uint64_t moved = sums[w - words] << bits;
      if (bits > 0 && w > words) moved |= sums[w - words - 1] >> (64 - bits);
      sums[w] |= moved;
    }
  }
  if (target % 64 != 63) sums[last] &= ((uint64_t)1 << (target % 64 + 1)) - 1;
  return 0;
}
