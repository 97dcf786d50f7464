/* SPDX-License-Identifier: Apache-2.0 */
/* tests/guests/reduce_accumulators.c: a solution of exercise 4: sixteen totals, the capacity of four vectors. */
#include <upsweep/rung.h>

enum { kTotals = 16 };

int upsweep_rung_version(void) { return UPSWEEP_RUNG_VERSION; }
const char* upsweep_rung_name(void) { return "sixteen"; }

int upsweep_rung_reduce(upsweep_type type, const void* in, int64_t n, void* sum, int threads) {
  (void)threads;
  if (type != UPSWEEP_FLOAT64) return UPSWEEP_RUNG_SKIPS;
  const double* const x = in;
  double totals[kTotals] = {0};
  int64_t i = 0;
  for (; i + kTotals <= n; i += kTotals) {
    for (int k = 0; k < kTotals; ++k) totals[k] += x[i + k];
  }
  double total = 0;
  for (; i < n; ++i) total += x[i];
  for (int k = 0; k < kTotals; ++k) total += totals[k];
  *(double*)sum = total;
  return 0;
}
