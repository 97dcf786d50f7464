/* SPDX-License-Identifier: Apache-2.0 */
/* tests/c_check.h: shared by the tests in C: a check that counts failures, and arrays for upsweep.h. */
#ifndef UPSWEEP_TESTS_C_CHECK_H
#define UPSWEEP_TESTS_C_CHECK_H

#include <stdio.h>
#include <string.h>

#include "upsweep/upsweep.h"

static int failures = 0;

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) {                                                        \
      ++failures;                                                              \
      fprintf(stderr, "%s:%d: %s is false\n", __FILE__, __LINE__, #condition); \
    }                                                                          \
  } while (0)

static upsweep_array array_of(void* data, int64_t length, upsweep_type type) {
  upsweep_array array;
  array.data = data;
  array.length = length;
  array.type = type;
  return array;
}

#endif
