/* SPDX-License-Identifier: Apache-2.0 */
/* docs/exercises/subset_sum_bits.c: exercise 8, the sums of all subsets. One bit at a time: right, but too slow. */
#include <string.h>
#include <upsweep/rung.h>

int upsweep_rung_version(void) { return UPSWEEP_RUNG_VERSION; }

int upsweep_rung_subset_sum(const int64_t* items, int64_t n, int64_t target, uint64_t* sums, int threads) {
  (void)threads;
  memset(sums, 0, (size_t)(target / 64 + 1) * sizeof *sums);
  sums[0] = 1;
  for (int64_t i = 0; i < n; ++i) {
    /* TODO: sums |= sums << item, a word at a time. Go downwards, so that each item is added only once. */
    for (int64_t s = target; s >= items[i]; --s) {
      const int64_t without = s - items[i];
      sums[s / 64] |= (sums[without / 64] >> (without % 64) & 1) << (s % 64);
    }
  }
  return 0;
}
