/* SPDX-License-Identifier: Apache-2.0 */
/* tests/guests/scan_loop.c: a solution of exercise 1, for every type that the ladder usually runs. */
#include <upsweep/rung.h>

int upsweep_rung_version(void) { return UPSWEEP_RUNG_VERSION; }

static void scan_int32(const uint32_t* x, int64_t n, uint32_t* sums) {
  uint32_t sum = 0;
  for (int64_t i = 0; i < n; ++i) sums[i] = sum += x[i];
}

static void scan_int64(const uint64_t* x, int64_t n, uint64_t* sums) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < n; ++i) sums[i] = sum += x[i];
}

static void scan_float32(const float* x, int64_t n, float* sums) {
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) sums[i] = sum += x[i];
}

static void scan_float64(const double* x, int64_t n, double* sums) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sums[i] = sum += x[i];
}

int upsweep_rung_scan(upsweep_type type, const void* in, int64_t n, void* out, int threads) {
  (void)threads;
  switch (type) {
    case UPSWEEP_INT32:
      scan_int32(in, n, out);
      return 0;
    case UPSWEEP_INT64:
      scan_int64(in, n, out);
      return 0;
    case UPSWEEP_FLOAT32:
      scan_float32(in, n, out);
      return 0;
    case UPSWEEP_FLOAT64:
      scan_float64(in, n, out);
      return 0;
    default:
      return UPSWEEP_RUNG_SKIPS;
  }
}
