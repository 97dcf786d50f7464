/* SPDX-License-Identifier: Apache-2.0 */
/* tests/c_api_test.c: upsweep.h from C: calls on arrays, their errors, the lists of problems and rungs, and devices. */
#include <math.h>
#include <string.h>

#include "c_check.h"

static void scans(void) {
  int32_t in[] = {3, -1, 4};
  int64_t out[3] = {77, 77, 77};
  const int64_t init = 10;
  upsweep_result result;
  const upsweep_array from = array_of(in, 3, UPSWEEP_INT32);
  const upsweep_array to = array_of(out, 3, UPSWEEP_INT64);
  CHECK(upsweep_scan(NULL, "add", 0, NULL, from, to, &result) == 0);
  CHECK(out[0] == 3 && out[1] == 2 && out[2] == 6);
  CHECK(strcmp(result.code, "ok") == 0 && result.index == -1 && strncmp(result.rung, "cpu.", 4) == 0);
  CHECK(upsweep_scan(NULL, "max", 1, &init, from, to, NULL) == 0);
  CHECK(out[0] == 10 && out[1] == 10 && out[2] == 10);
  CHECK(upsweep_scan(NULL, "add", 1, NULL, from, to, NULL) == 0);
  CHECK(out[0] == 0 && out[1] == 3 && out[2] == 2);
}

static void scans_of_what_is_wrong(void) {
  int8_t in[] = {100, 100};
  int8_t out[2] = {0, 0};
  upsweep_result result;
  upsweep_place place = UPSWEEP_PLACE_DEFAULT;
  const upsweep_array from = array_of(in, 2, UPSWEEP_INT8);
  place.checked = 1;
  CHECK(upsweep_scan(&place, "add", 0, NULL, from, array_of(out, 2, UPSWEEP_INT8), &result) == 1);
  CHECK(strcmp(result.code, "overflow") == 0 && result.index == 1 && strlen(result.message) > 0);
  CHECK(upsweep_scan(NULL, "add", 0, NULL, from, array_of(out, 1, UPSWEEP_INT8), &result) == 1);
  CHECK(strcmp(result.code, "unequal_lengths") == 0);
  CHECK(upsweep_scan(NULL, "plus", 0, NULL, from, array_of(out, 2, UPSWEEP_INT8), &result) == 2);
  CHECK(strcmp(result.code, "invalid_argument") == 0 && strstr(result.message, "plus") != NULL);
  CHECK(upsweep_scan(NULL, "add", 0, NULL, array_of(NULL, 2, UPSWEEP_INT8), array_of(out, 2, UPSWEEP_INT8), NULL) == 2);
  CHECK(upsweep_scan(NULL, "and", 0, NULL, from, array_of(out, 2, UPSWEEP_FLOAT32), NULL) == 2);
  CHECK(upsweep_scan(NULL, "add", 0, NULL, array_of(in, 2, (upsweep_type)10), array_of(out, 2, UPSWEEP_INT8), NULL) ==
        2);
  place.rung = "cpu.nosuch";
  CHECK(upsweep_scan(&place, "add", 0, NULL, from, array_of(out, 2, UPSWEEP_INT8), &result) == 2);
  CHECK(strcmp(result.code, "unknown_rung") == 0);
  place.rung = "cpu.adjacent";
  CHECK(upsweep_scan(&place, "add", 0, NULL, from, array_of(out, 2, UPSWEEP_INT8), &result) == 2);
  CHECK(strcmp(result.code, "unsupported") == 0 && strstr(result.message, "belongs to offsets, not to scan") != NULL);
}

static void reductions(void) {
  float in[] = {0.5F, 0.25F};
  double value = 0;
  int8_t small[] = {100, 100};
  int8_t sum = 0;
  upsweep_place place = UPSWEEP_PLACE_DEFAULT;
  upsweep_result result;
  CHECK(upsweep_reduce(NULL, "mul", NULL, array_of(in, 2, UPSWEEP_FLOAT32), UPSWEEP_FLOAT64, &value, NULL) == 0);
  CHECK(fabs(value - 0.125) < 1e-12);
  CHECK(upsweep_reduce(NULL, "min", NULL, array_of(in, 0, UPSWEEP_FLOAT32), UPSWEEP_FLOAT64, &value, NULL) == 0);
  CHECK(isinf(value) && value > 0);
  place.checked = 1;
  CHECK(upsweep_reduce(&place, "add", NULL, array_of(small, 2, UPSWEEP_INT8), UPSWEEP_INT8, &sum, &result) == 1);
  CHECK(strcmp(result.code, "overflow") == 0);
  CHECK(upsweep_reduce(NULL, "add", NULL, array_of(small, 2, UPSWEEP_INT8), UPSWEEP_INT8, &sum, &result) == 0);
  CHECK(sum == (int8_t)200);
}

static void axes(void) {
  const upsweep_axis axis = {1, 3, 2};
  const upsweep_axis negative = {-1, 3, -2};
  int8_t in[] = {1, 100, 2, 50, 3, 4}; /* three rows of two columns */
  int64_t out[6] = {0};
  int64_t sums[2] = {0};
  const int64_t init = 10;
  upsweep_place place = UPSWEEP_PLACE_DEFAULT;
  upsweep_result result;
  const upsweep_array from = array_of(in, 6, UPSWEEP_INT8);
  const upsweep_array to = array_of(out, 6, UPSWEEP_INT64);
  CHECK(upsweep_scan_along(NULL, "add", 0, NULL, axis, from, to, &result) == 0);
  CHECK(memcmp(out, (const int64_t[]){1, 100, 3, 150, 6, 154}, sizeof out) == 0);
  CHECK(strcmp(result.code, "ok") == 0 && strcmp(result.rung, "") == 0);
  CHECK(upsweep_scan_along(NULL, "add", 1, &init, axis, from, to, NULL) == 0);
  CHECK(memcmp(out, (const int64_t[]){10, 10, 11, 110, 13, 160}, sizeof out) == 0);
  CHECK(upsweep_reduce_along(NULL, "max", NULL, axis, from, array_of(sums, 2, UPSWEEP_INT64), &result) == 0);
  CHECK(sums[0] == 3 && sums[1] == 100);
  CHECK(upsweep_reduce_along(NULL, "add", NULL, axis, from, array_of(sums, 1, UPSWEEP_INT64), &result) == 1);
  CHECK(strcmp(result.code, "unequal_lengths") == 0);
  CHECK(upsweep_reduce_along(NULL, "count", NULL, axis, from, array_of(sums, 2, UPSWEEP_INT64), NULL) == 2);
  CHECK(upsweep_scan_along(NULL, "add", 0, NULL, negative, from, to, &result) == 2);
  place.checked = 1;
  CHECK(upsweep_scan_along(&place, "add", 0, NULL, axis, from, from, &result) == 1);
  CHECK(strcmp(result.code, "overflow") == 0 && result.index == 3);
  CHECK(upsweep_scan_along(&place, "mul", 0, NULL, axis, from, to, &result) == 2);
  CHECK(strcmp(result.code, "unsupported") == 0 && strstr(result.message, "mul") != NULL);
  CHECK(upsweep_reduce_along(&place, "mul", NULL, axis, from, array_of(sums, 2, UPSWEEP_INT64), &result) == 2);
  CHECK(strcmp(result.code, "unsupported") == 0);
  CHECK(upsweep_reduce_along(&place, "max", NULL, axis, from, array_of(sums, 2, UPSWEEP_INT64), &result) == 0);
  place.device = 0;
  CHECK(upsweep_reduce_along(&place, "add", NULL, axis, from, array_of(sums, 2, UPSWEEP_INT64), &result) == 2);
  CHECK(strcmp(result.code, "unsupported") == 0);
}

static void lists(void) {
  uint32_t starts[] = {4, 0, 9};
  uint32_t stops[] = {6, 0, 8};
  int64_t offsets[4] = {77, 77, 77, 77};
  upsweep_result result;
  CHECK(upsweep_offsets(NULL, array_of(starts, 2, UPSWEEP_UINT32), array_of(stops, 2, UPSWEEP_UINT32),
                        array_of(offsets, 3, UPSWEEP_INT64), &result) == 0);
  CHECK(offsets[0] == 0 && offsets[1] == 2 && offsets[2] == 2 && offsets[3] == 77);
  CHECK(upsweep_offsets(NULL, array_of(starts, 3, UPSWEEP_UINT32), array_of(stops, 3, UPSWEEP_UINT32),
                        array_of(offsets, 4, UPSWEEP_INT64), &result) == 1);
  CHECK(strcmp(result.code, "stop_before_start") == 0 && result.index == 2);
  CHECK(upsweep_offsets(NULL, array_of(starts, 2, UPSWEEP_UINT32), array_of(stops, 2, UPSWEEP_UINT32),
                        array_of(offsets, 2, UPSWEEP_INT64), &result) == 1);
  CHECK(strcmp(result.code, "unequal_lengths") == 0);
}

static void sums(void) {
  uint32_t key[] = {5, 40};
  int64_t quantity[] = {2, 3};
  int64_t price[] = {7, 11};
  int64_t sum = 0;
  int64_t items[] = {8, 5, 3};
  int64_t chosen[3] = {-1, -1, -1};
  int64_t count = 0;
  CHECK(upsweep_filtered_sum(NULL, array_of(key, 2, UPSWEEP_UINT32), array_of(quantity, 2, UPSWEEP_INT64),
                             array_of(price, 2, UPSWEEP_INT64), 30, &sum, NULL) == 0);
  CHECK(sum == 14);
  CHECK(upsweep_filtered_sum(NULL, array_of(key, 2, UPSWEEP_INT32), array_of(quantity, 2, UPSWEEP_INT64),
                             array_of(price, 2, UPSWEEP_INT64), 30, &sum, NULL) == 2);
  CHECK(upsweep_find_subset(NULL, items, 3, 11, chosen, &count, NULL) == 0);
  CHECK(count == 2 && items[chosen[0]] + items[chosen[1]] == 11);
  CHECK(upsweep_find_subset(NULL, items, 3, 12, chosen, &count, NULL) == 0 && count == -1);
  CHECK(upsweep_find_subset(NULL, items, 3, 11, NULL, &count, NULL) == 0 && count == 2);
  items[1] = 0;
  CHECK(upsweep_find_subset(NULL, items, 3, 11, chosen, &count, NULL) == 1);
}

static void ladders(void) {
  int problem = 0;
  for (; upsweep_problem(problem) != NULL; ++problem) {
    CHECK(upsweep_rung(problem, 0) != NULL && upsweep_rung_idea(problem, 0) != NULL);
    CHECK(upsweep_rung(problem, 1000) == NULL && upsweep_rung(problem, -1) == NULL);
  }
  CHECK(problem >= 5);
  CHECK(strcmp(upsweep_problem(0), "scan") == 0 && strcmp(upsweep_rung(0, 0), "cpu.serial") == 0);
  CHECK(upsweep_problem(-1) == NULL && upsweep_rung(problem, 0) == NULL);
}

static void places(void) {
  int32_t in[] = {1};
  int32_t out[] = {0};
  upsweep_place place = UPSWEEP_PLACE_DEFAULT;
  upsweep_result result;
  const upsweep_array from = array_of(in, 1, UPSWEEP_INT32);
  const upsweep_array to = array_of(out, 1, UPSWEEP_INT32);
  place.device = upsweep_device_count();
  CHECK(upsweep_scan(&place, "add", 0, NULL, from, to, &result) >= 2); /* no such device, or not built */
  place.device = UPSWEEP_HOST;
  place.threads = -1;
  CHECK(upsweep_scan(&place, "add", 0, NULL, from, to, &result) == 2);
}

static void devices(void) {
  upsweep_device device;
  upsweep_result result;
  const int count = upsweep_device_count();
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    CHECK(upsweep_describe_device(ordinal, &device, &result) == 0);
    CHECK(strlen(device.error) > 0 || (strlen(device.name) > 0 && device.major > 0 && device.memory_bytes > 0));
  }
  CHECK(count == 0 || upsweep_has_cuda() == 1);
  CHECK(upsweep_describe_device(count, &device, &result) == 4);
  CHECK(strcmp(result.code, "no_device") == 0 && result.index == -1);
  CHECK(upsweep_describe_device(-1, &device, NULL) == 4);
  CHECK(upsweep_describe_device(0, NULL, NULL) == 2);
}

int main(void) {
  scans();
  scans_of_what_is_wrong();
  reductions();
  axes();
  lists();
  sums();
  ladders();
  places();
  devices();
  return failures == 0 ? 0 : 1;
}
