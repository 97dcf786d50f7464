/* SPDX-License-Identifier: Apache-2.0 */
/* tests/guests/scan_simd.c: a solution of exercise 3, with the vector types of GCC and Clang, for any CPU. */
#include <string.h>
#include <upsweep/rung.h>

typedef uint32_t Vector __attribute__((vector_size(32)));

int upsweep_rung_version(void) { return UPSWEEP_RUNG_VERSION; }

int upsweep_rung_scan(upsweep_type type, const void* in, int64_t n, void* out, int threads) {
  (void)threads;
  if (type != UPSWEEP_INT32) return UPSWEEP_RUNG_SKIPS;
  const uint32_t* const x = in;
  uint32_t* const sums = out;
  const Vector zero = {0};
  Vector carry = zero; /* in every lane */
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    Vector v;
    memcpy(&v, x + i, sizeof v); /* a load from any address */
    v += __builtin_shufflevector(zero, v, 0, 8, 9, 10, 11, 12, 13, 14);
    v += __builtin_shufflevector(zero, v, 0, 0, 8, 9, 10, 11, 12, 13);
    v += __builtin_shufflevector(zero, v, 0, 0, 0, 0, 8, 9, 10, 11);
    v += carry;
    memcpy(sums + i, &v, sizeof v);
    carry = __builtin_shufflevector(v, v, 7, 7, 7, 7, 7, 7, 7, 7);
  }
  for (uint32_t sum = carry[0]; i < n; ++i) sums[i] = sum += x[i];
  return 0;
}
