/* SPDX-License-Identifier: Apache-2.0 */
/* tests/c_lists_test.c: upsweep.h from C: calls on lists, masks, columns and keys, and the errors of each. */
#include <math.h>
#include <string.h>

#include "c_check.h"

/* Value of output memory that a call must not write. */
enum { untouched = 77 };

static upsweep_lists by_offsets(upsweep_array offsets) {
  const upsweep_lists lists = {UPSWEEP_BY_OFFSETS, offsets};
  return lists;
}

static upsweep_lists by_bounds(upsweep_array starts, upsweep_array stops) {
  const upsweep_lists lists = {UPSWEEP_BY_BOUNDS, starts, stops};
  return lists;
}

static upsweep_lists of_size(int64_t count, int64_t size) {
  upsweep_lists lists;
  memset(&lists, 0, sizeof lists);
  lists.form = UPSWEEP_OF_SIZE;
  lists.count = count;
  lists.size = size;
  return lists;
}

static upsweep_mask mask_of(const void* booleans, int64_t length) {
  const upsweep_mask mask = {booleans, length};
  return mask;
}

static upsweep_column column_of(const void* data, int64_t length, void* out, int64_t capacity, int element_size) {
  const upsweep_column column = {data, length, out, capacity, element_size};
  return column;
}

static int same(const int64_t* values, int64_t count, const int64_t* expected) {
  return memcmp(values, expected, (size_t)count * sizeof *values) == 0;
}

static int is(const upsweep_result* result, const char* code, int64_t index) {
  const int it_is = strcmp(result->code, code) == 0 && result->index == index && strlen(result->message) > 0;
  if (!it_is) fprintf(stderr, "%s, index %lld: %s\n", result->code, (long long)result->index, result->message);
  return it_is;
}

static int ran(const upsweep_result* result) {
  return strcmp(result->code, "ok") == 0 && result->index == -1 && strncmp(result->rung, "cpu.", 4) == 0;
}

/* Lists 3 1 4 | | 1 5 by int32 offsets: the input of most calls below. */
static int32_t offsets_data[] = {0, 3, 3, 5};
static int32_t content_data[] = {3, 1, 4, 1, 5};

static upsweep_array content(void) { return array_of(content_data, 5, UPSWEEP_INT32); }
static upsweep_lists three_lists(void) { return by_offsets(array_of(offsets_data, 4, UPSWEEP_INT32)); }
/* The second list ends before it starts. */
static int32_t falling_data[] = {0, 3, 2, 5};
static upsweep_lists falling_lists(void) { return by_offsets(array_of(falling_data, 4, UPSWEEP_INT32)); }

static void reductions(void) {
  const upsweep_lists lists = three_lists();
  const uint8_t valid_data[] = {1, 1, 0, 1, 1};
  const upsweep_mask valid = mask_of(valid_data, 5);
  const int64_t init = 10;
  int64_t sums[3] = {0};
  uint8_t flags[3] = {0};
  const upsweep_array out = array_of(sums, 3, UPSWEEP_INT64);
  upsweep_result result;
  CHECK(upsweep_segmented_reduce(NULL, "add", NULL, &lists, content(), NULL, out, &result) == 0 && ran(&result));
  CHECK(same(sums, 3, (const int64_t[]){8, 0, 6}));
  CHECK(upsweep_segmented_reduce(NULL, "add", &init, &lists, content(), &valid, out, NULL) == 0);
  CHECK(same(sums, 3, (const int64_t[]){14, 10, 16}));
  CHECK(upsweep_segmented_reduce(NULL, "argmax", NULL, &lists, content(), NULL, out, NULL) == 0);
  CHECK(same(sums, 3, (const int64_t[]){2, -1, 1}));
  CHECK(upsweep_segmented_reduce(NULL, "argmin", NULL, &lists, content(), NULL, out, NULL) == 0);
  CHECK(same(sums, 3, (const int64_t[]){1, -1, 0}));
  CHECK(upsweep_segmented_reduce(NULL, "count", NULL, &lists, content(), &valid, out, NULL) == 0);
  CHECK(same(sums, 3, (const int64_t[]){2, 0, 2}));
  CHECK(upsweep_segmented_reduce(NULL, "count_nonzero", NULL, &lists, content(), NULL, out, NULL) == 0);
  CHECK(same(sums, 3, (const int64_t[]){3, 0, 2}));
  CHECK(upsweep_segmented_reduce(NULL, "all", NULL, &lists, content(), NULL, array_of(flags, 3, UPSWEEP_UINT8), NULL) == 0);
  CHECK(flags[0] == 1 && flags[1] == 1 && flags[2] == 1);
  CHECK(upsweep_segmented_reduce(NULL, "any", NULL, &lists, content(), NULL, array_of(flags, 3, UPSWEEP_UINT8), NULL) == 0);
  CHECK(flags[0] == 1 && flags[1] == 0 && flags[2] == 1);
}

static void reductions_of_what_is_wrong(void) {
  const upsweep_lists lists = three_lists();
  const upsweep_lists falling = falling_lists();
  const uint8_t valid_data[] = {1, 1};
  const upsweep_mask valid = mask_of(valid_data, 2);
  const upsweep_mask negative = mask_of(valid_data, -1);
  const int64_t init = 10;
  int64_t sums[3] = {0};
  int8_t small[] = {100, 100, 1, 100, 100};
  int8_t small_sums[3] = {0};
  upsweep_place checked = UPSWEEP_PLACE_DEFAULT;
  const upsweep_array out = array_of(sums, 3, UPSWEEP_INT64);
  upsweep_result result;
  CHECK(upsweep_segmented_reduce(NULL, "add", NULL, &falling, content(), NULL, out, &result) == 1);
  CHECK(is(&result, "stop_before_start", 1) && strlen(result.rung) == 0);
  CHECK(upsweep_segmented_reduce(NULL, "add", NULL, &lists, array_of(content_data, 4, UPSWEEP_INT32), NULL, out, &result) == 1);
  CHECK(is(&result, "stop_past_end", 2));
  CHECK(upsweep_segmented_reduce(NULL, "plus", NULL, &lists, content(), NULL, out, &result) == 2);
  CHECK(is(&result, "invalid_argument", -1) && strstr(result.message, "plus") != NULL);
  CHECK(upsweep_segmented_reduce(NULL, NULL, NULL, &lists, content(), NULL, out, &result) == 2);
  CHECK(upsweep_segmented_reduce(NULL, "fold", NULL, &lists, content(), NULL, out, &result) == 2);
  CHECK(upsweep_segmented_reduce(NULL, "any", NULL, &lists, content(), NULL, out, &result) == 2);
  CHECK(upsweep_segmented_reduce(NULL, "count", &init, &lists, content(), NULL, out, &result) == 2);
  CHECK(is(&result, "invalid_argument", -1) && strstr(result.message, "init") != NULL);
  CHECK(upsweep_segmented_reduce(NULL, "add", NULL, NULL, content(), NULL, out, &result) == 2);
  CHECK(is(&result, "invalid_argument", -1) && strstr(result.message, "lists") != NULL);
  CHECK(upsweep_segmented_reduce(NULL, "add", NULL, &lists, content(), &valid, out, &result) == 1);
  CHECK(is(&result, "unequal_lengths", -1));
  CHECK(upsweep_segmented_reduce(NULL, "add", NULL, &lists, content(), &negative, out, &result) == 2);
  CHECK(upsweep_segmented_reduce(NULL, "add", NULL, &lists, content(), NULL, array_of(sums, 2, UPSWEEP_INT64), &result) == 1);
  CHECK(is(&result, "unequal_lengths", -1));
  CHECK(upsweep_segmented_reduce(NULL, "add", NULL, &lists, content(), NULL, array_of(NULL, 3, UPSWEEP_INT64), &result) == 2);
  CHECK(upsweep_segmented_reduce(NULL, "add", NULL, &lists, array_of(NULL, 5, UPSWEEP_INT32), NULL, out, NULL) == 2);
  CHECK(upsweep_segmented_reduce(NULL, "add", NULL, &lists, content(), NULL, array_of(sums, 3, (upsweep_type)10), NULL) == 2);
  CHECK(upsweep_segmented_reduce(NULL, "and", NULL, &lists, content(), NULL, array_of(sums, 3, UPSWEEP_FLOAT64), NULL) == 2);
  checked.checked = 1;
  CHECK(upsweep_segmented_reduce(&checked, "add", NULL, &lists, array_of(small, 5, UPSWEEP_INT8), NULL,
                                 array_of(small_sums, 3, UPSWEEP_INT8), &result) == 1);
  CHECK(is(&result, "overflow", 0));
  checked.checked = 0;
  checked.rung = "cpu.nosuch";
  CHECK(upsweep_segmented_reduce(&checked, "add", NULL, &lists, content(), NULL, out, &result) == 2);
  CHECK(is(&result, "unknown_rung", -1));
}

static void forms_of_lists(void) {
  uint32_t starts[] = {3, 0, 4};
  uint32_t stops[] = {5, 3, 4};
  uint32_t far_stops[] = {5, 3, 9};
  int64_t negative[] = {-1, 0};
  int64_t ends[] = {1, 1};
  int16_t narrow[] = {0, 3, 3, 5};
  const uint8_t bits[] = {0x0A}; /* after one bit: true, false, true */
  const upsweep_mask valid = {bits, 3, 1, 1};
  const upsweep_mask short_valid = {bits, 2, 1, 1};
  int64_t sums[3] = {0};
  const upsweep_array out = array_of(sums, 3, UPSWEEP_INT64);
  upsweep_lists lists = by_bounds(array_of(starts, 3, UPSWEEP_UINT32), array_of(stops, 3, UPSWEEP_UINT32));
  upsweep_result result;
  CHECK(upsweep_segmented_reduce(NULL, "add", NULL, &lists, content(), NULL, out, &result) == 0);
  CHECK(same(sums, 3, (const int64_t[]){6, 8, 0}));
  lists.valid = &valid;
  CHECK(upsweep_segmented_reduce(NULL, "add", NULL, &lists, content(), NULL, out, &result) == 0);
  CHECK(same(sums, 3, (const int64_t[]){6, 0, 0}));
  lists.valid = &short_valid;
  CHECK(upsweep_segmented_reduce(NULL, "add", NULL, &lists, content(), NULL, out, &result) == 1);
  CHECK(is(&result, "unequal_lengths", -1));
  lists = of_size(2, 2);
  CHECK(upsweep_segmented_reduce(NULL, "add", NULL, &lists, content(), NULL, array_of(sums, 2, UPSWEEP_INT64), NULL) == 0);
  CHECK(same(sums, 2, (const int64_t[]){4, 5}));
  lists = of_size(0, 2);
  CHECK(upsweep_segmented_reduce(NULL, "add", NULL, &lists, array_of(NULL, 0, UPSWEEP_INT32), NULL,
                                 array_of(NULL, 0, UPSWEEP_INT64), NULL) == 0);
  lists = of_size(3, 2);
  CHECK(upsweep_segmented_reduce(NULL, "add", NULL, &lists, content(), NULL, out, &result) == 1);
  lists = of_size(3, -1);
  CHECK(upsweep_segmented_reduce(NULL, "add", NULL, &lists, content(), NULL, out, &result) == 2);
  lists = of_size(-1, 2);
  CHECK(upsweep_segmented_reduce(NULL, "add", NULL, &lists, content(), NULL, out, &result) != 0);
  lists = by_bounds(array_of(starts, 3, UPSWEEP_UINT32), array_of(far_stops, 3, UPSWEEP_UINT32));
  CHECK(upsweep_segmented_reduce(NULL, "add", NULL, &lists, content(), NULL, out, &result) == 1);
  CHECK(is(&result, "stop_past_end", 2));
  lists = by_bounds(array_of(negative, 2, UPSWEEP_INT64), array_of(ends, 2, UPSWEEP_INT64));
  CHECK(upsweep_segmented_reduce(NULL, "add", NULL, &lists, content(), NULL, array_of(sums, 2, UPSWEEP_INT64), &result) == 1);
  CHECK(is(&result, "negative_start", 0));
  lists = by_bounds(array_of(starts, 3, UPSWEEP_UINT32), array_of(stops, 2, UPSWEEP_UINT32));
  CHECK(upsweep_segmented_reduce(NULL, "add", NULL, &lists, content(), NULL, out, &result) == 1);
  CHECK(is(&result, "unequal_lengths", -1));
  lists = by_bounds(array_of(starts, 3, UPSWEEP_UINT32), array_of(stops, 3, UPSWEEP_INT32));
  CHECK(upsweep_segmented_reduce(NULL, "add", NULL, &lists, content(), NULL, out, &result) == 1);
  CHECK(is(&result, "unsupported_type", -1));
  lists = by_offsets(array_of(narrow, 4, UPSWEEP_INT16));
  CHECK(upsweep_segmented_reduce(NULL, "add", NULL, &lists, content(), NULL, out, &result) == 1);
  CHECK(is(&result, "unsupported_type", -1));
  lists = by_offsets(array_of(NULL, 4, UPSWEEP_INT32));
  CHECK(upsweep_segmented_reduce(NULL, "add", NULL, &lists, content(), NULL, out, &result) == 2);
  lists = by_offsets(array_of(offsets_data, 0, UPSWEEP_INT32));
  CHECK(upsweep_segmented_reduce(NULL, "add", NULL, &lists, content(), NULL, out, &result) == 1);
  CHECK(is(&result, "unequal_lengths", -1));
  lists = three_lists();
  lists.form = (upsweep_lists_form)-7;
  CHECK(upsweep_segmented_reduce(NULL, "add", NULL, &lists, content(), NULL, out, &result) == 2);
  CHECK(is(&result, "invalid_argument", -1) && strstr(result.message, "form") != NULL);
}

static void scans(void) {
  const upsweep_lists lists = three_lists();
  const upsweep_lists falling = falling_lists();
  const uint8_t valid_data[] = {1, 0, 1, 1, 1};
  const upsweep_mask valid = mask_of(valid_data, 5);
  const int64_t init = 10;
  int64_t scanned[5] = {0};
  int8_t small[] = {1, 1, 1, 100, 100};
  const upsweep_array out = array_of(scanned, 5, UPSWEEP_INT64);
  upsweep_place checked = UPSWEEP_PLACE_DEFAULT;
  upsweep_result result;
  CHECK(upsweep_segmented_scan(NULL, "add", 0, NULL, &lists, content(), NULL, out, &result) == 0 && ran(&result));
  CHECK(same(scanned, 5, (const int64_t[]){3, 4, 8, 1, 6}));
  CHECK(upsweep_segmented_scan(NULL, "add", 1, &init, &lists, content(), &valid, out, NULL) == 0);
  CHECK(same(scanned, 5, (const int64_t[]){10, 13, 13, 10, 11}));
  CHECK(upsweep_segmented_scan(NULL, "add", 0, NULL, &falling, content(), NULL, out, &result) == 1);
  CHECK(is(&result, "stop_before_start", 1));
  CHECK(upsweep_segmented_scan(NULL, "argmax", 0, NULL, &lists, content(), NULL, out, &result) == 2);
  CHECK(upsweep_segmented_scan(NULL, "add", 0, NULL, NULL, content(), NULL, out, &result) == 2);
  CHECK(upsweep_segmented_scan(NULL, "add", 0, NULL, &lists, content(), NULL, array_of(scanned, 4, UPSWEEP_INT64), &result) == 1);
  CHECK(is(&result, "unequal_lengths", -1));
  CHECK(upsweep_segmented_scan(NULL, "add", 0, NULL, &lists, content(), NULL, array_of(NULL, 5, UPSWEEP_INT64), NULL) == 2);
  checked.checked = 1;
  CHECK(upsweep_segmented_scan(&checked, "add", 0, NULL, &lists, array_of(small, 5, UPSWEEP_INT8), NULL,
                               array_of(small, 5, UPSWEEP_INT8), &result) == 1);
  CHECK(is(&result, "overflow", 2));
}

static void sorts(void) {
  const upsweep_lists lists = three_lists();
  const upsweep_lists falling = falling_lists();
  int32_t sorted[5] = {0};
  int64_t positions[5] = {0};
  float with_nan[] = {2, NAN, 1};
  const upsweep_lists one = of_size(1, 3);
  const upsweep_array out = array_of(sorted, 5, UPSWEEP_INT32);
  const upsweep_array to = array_of(positions, 5, UPSWEEP_INT64);
  upsweep_result result;
  CHECK(upsweep_segmented_sort(NULL, &lists, content(), 0, 0, out, &result) == 0 && ran(&result));
  CHECK(memcmp(sorted, (const int32_t[]){1, 3, 4, 1, 5}, sizeof sorted) == 0);
  CHECK(upsweep_segmented_argsort(NULL, &lists, content(), 1, 0, to, &result) == 0 && ran(&result));
  CHECK(same(positions, 5, (const int64_t[]){2, 0, 1, 1, 0}));
  CHECK(upsweep_segmented_argsort(NULL, &one, array_of(with_nan, 3, UPSWEEP_FLOAT32), 0, 1, to, NULL) == 0);
  CHECK(same(positions, 3, (const int64_t[]){1, 2, 0}));
  CHECK(upsweep_segmented_sort(NULL, &falling, content(), 0, 0, out, &result) == 1);
  CHECK(is(&result, "stop_before_start", 1));
  CHECK(upsweep_segmented_argsort(NULL, &falling, content(), 0, 0, to, &result) == 1);
  CHECK(is(&result, "stop_before_start", 1));
  CHECK(upsweep_segmented_sort(NULL, &lists, content(), 0, 0, to, &result) == 2);
  CHECK(upsweep_segmented_argsort(NULL, &lists, content(), 0, 0, out, &result) == 2);
  CHECK(upsweep_segmented_sort(NULL, NULL, content(), 0, 0, out, NULL) == 2);
  CHECK(upsweep_segmented_sort(NULL, &lists, content(), 0, 0, array_of(sorted, 4, UPSWEEP_INT32), &result) == 1);
  CHECK(upsweep_segmented_sort(NULL, &lists, content(), 0, 0, array_of(NULL, 5, UPSWEEP_INT32), NULL) == 2);
  CHECK(upsweep_segmented_sort(NULL, &lists, array_of(NULL, 5, UPSWEEP_INT32), 0, 0, out, NULL) == 2);
}

static void selections(void) {
  const upsweep_lists lists = three_lists();
  const upsweep_lists falling = falling_lists();
  const uint8_t mask_data[] = {1, 0, 1, 0, 1};
  const uint8_t bits[] = {0x15};
  const upsweep_mask mask = mask_of(mask_data, 5);
  const upsweep_mask bitmap = {bits, 5, 0, 1};
  const upsweep_mask negative = mask_of(mask_data, -1);
  const upsweep_mask before = {bits, 5, -1, 1};
  const char letters[] = {'a', 'b', 'c', 'd', 'e'};
  int32_t numbers[5] = {untouched, untouched, untouched, untouched, untouched};
  char chosen[3] = {0};
  int64_t offsets[4] = {0};
  int64_t kept = 0;
  upsweep_column columns[2];
  const upsweep_array to = array_of(offsets, 4, UPSWEEP_INT64);
  const upsweep_array too_few = array_of(offsets, 3, UPSWEEP_INT64);
  const upsweep_array wrong_type = array_of(numbers, 4, UPSWEEP_INT32);
  upsweep_result result;
  columns[0] = column_of(content_data, 5, numbers, 5, 4);
  columns[1] = column_of(letters, 5, chosen, 3, 1);
  CHECK(upsweep_select(NULL, &lists, &mask, &to, columns, 2, &kept, &result) == 0 && ran(&result));
  CHECK(kept == 3 && same(offsets, 4, (const int64_t[]){0, 2, 2, 3}));
  CHECK(numbers[0] == 3 && numbers[1] == 4 && numbers[2] == 5 && numbers[3] == untouched);
  CHECK(memcmp(chosen, "ace", 3) == 0);
  kept = 0;
  CHECK(upsweep_select(NULL, NULL, &bitmap, NULL, columns, 2, &kept, &result) == 0 && kept == 3);
  CHECK(upsweep_select(NULL, NULL, &mask, NULL, columns, 2, NULL, NULL) == 0);
  kept = 0;
  CHECK(upsweep_select(NULL, &lists, &mask, NULL, NULL, 0, &kept, &result) == 0 && kept == 3);
  CHECK(upsweep_select(NULL, &lists, &mask, NULL, columns, 2, &kept, &result) == 0 && kept == 3);

  CHECK(upsweep_select(NULL, &falling, &mask, &to, columns, 2, &kept, &result) == 1);
  CHECK(is(&result, "stop_before_start", 1));
  CHECK(upsweep_select(NULL, &lists, NULL, &to, columns, 2, &kept, &result) == 2);
  CHECK(is(&result, "invalid_argument", -1) && strstr(result.message, "mask") != NULL);
  CHECK(upsweep_select(NULL, &lists, &negative, &to, columns, 2, &kept, &result) == 2);
  CHECK(upsweep_select(NULL, &lists, &before, &to, columns, 2, &kept, &result) == 2);
  CHECK(upsweep_select(NULL, &lists, &mask, &too_few, columns, 2, &kept, &result) == 1);
  CHECK(is(&result, "unequal_lengths", -1));
  CHECK(upsweep_select(NULL, &lists, &mask, &wrong_type, columns, 2, &kept, &result) == 2);
  CHECK(upsweep_select(NULL, NULL, &mask, &to, columns, 2, &kept, &result) == 2);
  CHECK(upsweep_select(NULL, &lists, &mask, &to, NULL, 2, &kept, &result) == 2);
  CHECK(upsweep_select(NULL, &lists, &mask, &to, columns, -1, &kept, &result) == 2);
  columns[1].capacity = 2;
  CHECK(upsweep_select(NULL, &lists, &mask, &to, columns, 2, &kept, &result) == 1);
  CHECK(is(&result, "unequal_lengths", -1));
  columns[1] = column_of(letters, 4, chosen, 3, 1);
  CHECK(upsweep_select(NULL, &lists, &mask, &to, columns, 2, &kept, &result) == 1);
  columns[1] = column_of(letters, 5, chosen, 3, 3);
  CHECK(upsweep_select(NULL, &lists, &mask, &to, columns, 2, &kept, &result) == 1);
  CHECK(is(&result, "unsupported_type", -1));
  columns[1] = column_of(letters, 5, NULL, 3, 1);
  CHECK(upsweep_select(NULL, &lists, &mask, &to, columns, 2, &kept, &result) == 2);
}

static void partitions(void) {
  const uint8_t mask_data[] = {1, 0, 1, 0, 1};
  const upsweep_mask mask = mask_of(mask_data, 5);
  const upsweep_mask none = mask_of(NULL, 0);
  int32_t numbers[5] = {0};
  int64_t kept = 0;
  upsweep_column column = column_of(content_data, 5, numbers, 5, 4);
  upsweep_result result;
  CHECK(upsweep_partition(NULL, &mask, &column, 1, &kept, &result) == 0 && ran(&result));
  CHECK(kept == 3 && memcmp(numbers, (const int32_t[]){3, 4, 5, 1, 1}, sizeof numbers) == 0);
  CHECK(upsweep_partition(NULL, NULL, &column, 1, &kept, &result) == 2);
  CHECK(upsweep_partition(NULL, &mask, NULL, 1, &kept, &result) == 2);
  column.capacity = 4;
  CHECK(upsweep_partition(NULL, &mask, &column, 1, &kept, &result) == 1);
  CHECK(is(&result, "unequal_lengths", -1));
  column = column_of(NULL, 0, NULL, 0, 4);
  CHECK(upsweep_partition(NULL, &none, &column, 1, &kept, NULL) == 0 && kept == 0);
}

static void takes(void) {
  int32_t indices[] = {-1, 0, 0};
  int64_t bad_indices[] = {0, 5, -6};
  uint8_t narrow[] = {0};
  int32_t numbers[3] = {0};
  upsweep_column column = column_of(content_data, 5, numbers, 3, 4);
  upsweep_result result;
  CHECK(upsweep_take(NULL, array_of(indices, 3, UPSWEEP_INT32), &column, 1, &result) == 0 && ran(&result));
  CHECK(numbers[0] == 5 && numbers[1] == 3 && numbers[2] == 3);
  CHECK(upsweep_take(NULL, array_of(indices, 0, UPSWEEP_INT32), &column, 1, NULL) == 0);
  CHECK(upsweep_take(NULL, array_of(bad_indices, 3, UPSWEEP_INT64), &column, 1, &result) == 1);
  CHECK(is(&result, "index_out_of_range", 1));
  CHECK(upsweep_take(NULL, array_of(narrow, 1, UPSWEEP_UINT8), &column, 1, &result) == 1);
  CHECK(is(&result, "unsupported_type", -1));
  CHECK(upsweep_take(NULL, array_of(NULL, 3, UPSWEEP_INT32), &column, 1, NULL) == 2);
  CHECK(upsweep_take(NULL, array_of(indices, 3, UPSWEEP_INT32), NULL, 1, NULL) == 2);
  column.capacity = 2;
  CHECK(upsweep_take(NULL, array_of(indices, 3, UPSWEEP_INT32), &column, 1, &result) == 1);
  CHECK(is(&result, "unequal_lengths", -1));
}

static void takes_of_lists(void) {
  const upsweep_lists lists = three_lists();
  const upsweep_lists falling = falling_lists();
  int64_t of_indices[] = {0, 2, 2, 3};
  int64_t indices[] = {-1, 0, 1};
  int64_t bad_indices[] = {-1, 3, 1};
  const upsweep_lists index_lists = by_offsets(array_of(of_indices, 4, UPSWEEP_INT64));
  const upsweep_lists fewer = by_offsets(array_of(of_indices, 3, UPSWEEP_INT64));
  int32_t numbers[3] = {0};
  int64_t offsets[4] = {0};
  int64_t taken = 0;
  const upsweep_column column = column_of(content_data, 5, numbers, 3, 4);
  const upsweep_array from = array_of(indices, 3, UPSWEEP_INT64);
  const upsweep_array to = array_of(offsets, 4, UPSWEEP_INT64);
  upsweep_result result;
  CHECK(upsweep_take_lists(NULL, &lists, 5, &index_lists, from, to, &column, 1, &taken, &result) == 0 && ran(&result));
  CHECK(taken == 3 && same(offsets, 4, (const int64_t[]){0, 2, 2, 3}));
  CHECK(numbers[0] == 4 && numbers[1] == 3 && numbers[2] == 5);
  taken = 0;
  CHECK(upsweep_take_lists(NULL, &lists, 5, &index_lists, from, to, NULL, 0, &taken, NULL) == 0 && taken == 3);
  CHECK(upsweep_take_lists(NULL, &lists, 5, &index_lists, array_of(bad_indices, 3, UPSWEEP_INT64), to, &column, 1, &taken,
                           &result) == 1);
  CHECK(is(&result, "index_out_of_range", 1));
  CHECK(upsweep_take_lists(NULL, &lists, 4, &index_lists, from, to, NULL, 0, &taken, &result) == 1);
  CHECK(is(&result, "stop_past_end", 2));
  CHECK(upsweep_take_lists(NULL, &lists, 5, &falling, from, to, NULL, 0, &taken, &result) == 1);
  CHECK(upsweep_take_lists(NULL, NULL, 5, &index_lists, from, to, NULL, 0, &taken, &result) == 2);
  CHECK(upsweep_take_lists(NULL, &lists, 5, NULL, from, to, NULL, 0, &taken, &result) == 2);
  CHECK(upsweep_take_lists(NULL, &lists, 5, &fewer, from, array_of(offsets, 3, UPSWEEP_INT64), NULL, 0, &taken, &result) == 1);
  CHECK(is(&result, "unequal_lengths", -1));
  CHECK(upsweep_take_lists(NULL, &lists, 5, &index_lists, from, array_of(NULL, 4, UPSWEEP_INT64), NULL, 0, &taken, NULL) == 2);
}

static void packs(void) {
  int64_t starts[] = {3, 0, 1};
  int64_t stops[] = {5, 1, 1};
  int64_t bad_stops[] = {5, 1, 0};
  const upsweep_lists lists = by_bounds(array_of(starts, 3, UPSWEEP_INT64), array_of(stops, 3, UPSWEEP_INT64));
  const upsweep_lists bad = by_bounds(array_of(starts, 3, UPSWEEP_INT64), array_of(bad_stops, 3, UPSWEEP_INT64));
  int64_t offsets[4] = {0};
  int32_t numbers[3] = {0};
  int64_t total = 0;
  upsweep_column column = column_of(content_data, 5, numbers, 3, 4);
  const upsweep_array to = array_of(offsets, 4, UPSWEEP_INT64);
  upsweep_result result;
  CHECK(upsweep_pack_offsets(NULL, &lists, 5, to, &total, &result) == 0 && ran(&result));
  CHECK(total == 3 && same(offsets, 4, (const int64_t[]){0, 2, 3, 3}));
  CHECK(upsweep_pack_content(NULL, &lists, to, &column, 1, &result) == 0 && ran(&result));
  CHECK(numbers[0] == 1 && numbers[1] == 5 && numbers[2] == 3);
  column.capacity = 2;
  CHECK(upsweep_pack_content(NULL, &lists, to, &column, 1, &result) == 1);
  CHECK(strcmp(result.code, "unequal_lengths") == 0);
  column.capacity = 3;
  offsets[2] = 2;
  CHECK(upsweep_pack_content(NULL, &lists, to, &column, 1, &result) == 1);
  CHECK(is(&result, "unequal_lengths", 1));
  CHECK(upsweep_pack_content(NULL, NULL, to, &column, 1, NULL) == 2);
  CHECK(upsweep_pack_content(NULL, &lists, array_of(NULL, 4, UPSWEEP_INT64), &column, 1, NULL) == 2);
  CHECK(upsweep_pack_content(NULL, &lists, to, NULL, 1, NULL) == 2);
  CHECK(upsweep_pack_offsets(NULL, &lists, 4, to, &total, &result) == 1);
  CHECK(is(&result, "stop_past_end", 0));
  CHECK(upsweep_pack_offsets(NULL, &bad, 5, to, &total, &result) == 1);
  CHECK(is(&result, "stop_before_start", 2));
  CHECK(upsweep_pack_offsets(NULL, NULL, 5, to, &total, NULL) == 2);
  CHECK(upsweep_pack_offsets(NULL, &lists, -1, to, &total, NULL) != 0);
  CHECK(upsweep_pack_offsets(NULL, &lists, 5, array_of(offsets, 3, UPSWEEP_INT64), &total, &result) == 1);
  CHECK(is(&result, "unequal_lengths", -1));
}

static void conversions(void) {
  int32_t lengths[] = {3, 0, 2};
  int32_t bad_lengths[] = {3, 0, -2};
  const uint8_t valid_data[] = {0, 1, 1};
  const upsweep_mask valid = mask_of(valid_data, 3);
  uint32_t parents[] = {0, 0, 0, 2, 2};
  uint32_t unsorted[] = {0, 2, 1, 2, 2};
  int64_t offsets[4] = {0};
  int64_t total = 0;
  const upsweep_array to = array_of(offsets, 4, UPSWEEP_INT64);
  upsweep_result result;
  CHECK(upsweep_lengths_to_offsets(NULL, array_of(lengths, 3, UPSWEEP_INT32), NULL, to, &total, &result) == 0);
  CHECK(total == 5 && same(offsets, 4, (const int64_t[]){0, 3, 3, 5}));
  CHECK(upsweep_lengths_to_offsets(NULL, array_of(lengths, 3, UPSWEEP_INT32), &valid, to, NULL, NULL) == 0);
  CHECK(same(offsets, 4, (const int64_t[]){0, 0, 0, 2}));
  CHECK(upsweep_lengths_to_offsets(NULL, array_of(NULL, 0, UPSWEEP_INT32), NULL, array_of(offsets, 1, UPSWEEP_INT64),
                                   &total, NULL) == 0);
  CHECK(total == 0 && offsets[0] == 0);
  CHECK(upsweep_lengths_to_offsets(NULL, array_of(bad_lengths, 3, UPSWEEP_INT32), NULL, to, &total, &result) == 1);
  CHECK(is(&result, "stop_before_start", 2));
  CHECK(upsweep_lengths_to_offsets(NULL, array_of(lengths, 3, UPSWEEP_FLOAT32), NULL, to, &total, &result) == 1);
  CHECK(is(&result, "unsupported_type", -1));
  CHECK(upsweep_lengths_to_offsets(NULL, array_of(lengths, 2, UPSWEEP_INT32), NULL, to, &total, &result) == 1);
  CHECK(is(&result, "unequal_lengths", -1));
  CHECK(upsweep_lengths_to_offsets(NULL, array_of(NULL, 3, UPSWEEP_INT32), NULL, to, &total, NULL) == 2);

  CHECK(upsweep_parents_to_offsets(NULL, array_of(parents, 5, UPSWEEP_UINT32), to, &result) == 0);
  CHECK(same(offsets, 4, (const int64_t[]){0, 3, 3, 5}));
  CHECK(upsweep_parents_to_offsets(NULL, array_of(unsorted, 5, UPSWEEP_UINT32), to, &result) == 1);
  CHECK(is(&result, "stop_before_start", 2));
  CHECK(upsweep_parents_to_offsets(NULL, array_of(parents, 5, UPSWEEP_UINT32), array_of(offsets, 3, UPSWEEP_INT64),
                                   &result) == 1);
  CHECK(is(&result, "index_out_of_range", 3));
  CHECK(upsweep_parents_to_offsets(NULL, array_of(parents, 5, UPSWEEP_UINT32), array_of(offsets, 0, UPSWEEP_INT64),
                                   &result) == 1);
  CHECK(upsweep_parents_to_offsets(NULL, array_of(parents, 5, UPSWEEP_UINT32), array_of(NULL, 4, UPSWEEP_INT64), NULL) == 2);
  CHECK(upsweep_parents_to_offsets(NULL, array_of(parents, 5, UPSWEEP_UINT64), to, &result) == 1);
}

static void positions(void) {
  const upsweep_lists lists = three_lists();
  const upsweep_lists falling = falling_lists();
  const int64_t each[] = {10, 20, 30};
  int64_t values[5] = {0};
  int64_t out[6] = {0, 0, 0, 0, 0, untouched};
  int64_t total = 0;
  const upsweep_array to = array_of(out, 6, UPSWEEP_INT64);
  const upsweep_array too_short = array_of(out, 4, UPSWEEP_INT64);
  upsweep_result result;
  CHECK(upsweep_offsets_to_parents(NULL, &lists, to, &total, &result) == 0 && ran(&result) && total == 5);
  CHECK(same(out, 6, (const int64_t[]){0, 0, 0, 2, 2, untouched}));
  CHECK(upsweep_local_index(NULL, &lists, to, &total, &result) == 0 && ran(&result) && total == 5);
  CHECK(same(out, 6, (const int64_t[]){0, 1, 2, 0, 1, untouched}));
  CHECK(upsweep_broadcast(NULL, &lists, column_of(each, 3, values, 5, 8), &total, &result) == 0 && ran(&result));
  CHECK(total == 5 && same(values, 5, (const int64_t[]){10, 10, 10, 30, 30}));
  CHECK(upsweep_broadcast(NULL, &lists, column_of(each, 3, values, 5, 8), NULL, NULL) == 0);

  CHECK(upsweep_offsets_to_parents(NULL, &falling, to, &total, &result) == 1);
  CHECK(is(&result, "stop_before_start", 1));
  CHECK(upsweep_local_index(NULL, &falling, to, &total, &result) == 1);
  CHECK(is(&result, "stop_before_start", 1));
  CHECK(upsweep_broadcast(NULL, &falling, column_of(each, 3, values, 5, 8), &total, &result) == 1);
  CHECK(is(&result, "stop_before_start", 1));
  CHECK(upsweep_offsets_to_parents(NULL, &lists, too_short, &total, &result) == 1);
  CHECK(strcmp(result.code, "unequal_lengths") == 0);
  CHECK(upsweep_local_index(NULL, &lists, too_short, &total, &result) == 1);
  CHECK(upsweep_local_index(NULL, NULL, to, &total, &result) == 2);
  CHECK(upsweep_local_index(NULL, &lists, array_of(out, 6, UPSWEEP_UINT64), &total, &result) == 2);
  CHECK(upsweep_local_index(NULL, &lists, array_of(NULL, 6, UPSWEEP_INT64), &total, &result) == 2);
  CHECK(upsweep_broadcast(NULL, &lists, column_of(each, 2, values, 5, 8), &total, &result) == 1);
  CHECK(is(&result, "unequal_lengths", -1));
  CHECK(upsweep_broadcast(NULL, &lists, column_of(each, 3, values, 5, 3), &total, &result) == 2);
  CHECK(upsweep_broadcast(NULL, &lists, column_of(NULL, 3, values, 5, 8), &total, &result) == 2);
  CHECK(upsweep_broadcast(NULL, &lists, column_of(each, 3, NULL, 5, 8), &total, &result) == 2);
}

static void flattened(void) {
  const upsweep_lists inner = three_lists();
  int64_t outer_offsets[] = {0, 2, 3};
  int64_t far_offsets[] = {0, 2, 4};
  const upsweep_lists outer = by_offsets(array_of(outer_offsets, 3, UPSWEEP_INT64));
  const upsweep_lists far = by_offsets(array_of(far_offsets, 3, UPSWEEP_INT64));
  int64_t offsets[3] = {0};
  const upsweep_array to = array_of(offsets, 3, UPSWEEP_INT64);
  upsweep_result result;
  CHECK(upsweep_flatten(NULL, &outer, &inner, to, &result) == 0);
  CHECK(same(offsets, 3, (const int64_t[]){0, 3, 5}));
  CHECK(upsweep_flatten(NULL, &far, &inner, to, &result) == 1);
  CHECK(is(&result, "index_out_of_range", 1));
  CHECK(upsweep_flatten(NULL, NULL, &inner, to, &result) == 2);
  CHECK(upsweep_flatten(NULL, &outer, NULL, to, &result) == 2);
  CHECK(upsweep_flatten(NULL, &outer, &inner, array_of(offsets, 2, UPSWEEP_INT64), &result) == 1);
}

static void tuples(void) {
  const upsweep_lists lists = three_lists();
  const upsweep_lists falling = falling_lists();
  int64_t offsets[4] = {0};
  int64_t left[6] = {0};
  int64_t right[6] = {0};
  int64_t total = 0;
  const upsweep_array to = array_of(offsets, 4, UPSWEEP_INT64);
  upsweep_array out[2];
  upsweep_result result;
  out[0] = array_of(left, 4, UPSWEEP_INT64);
  out[1] = array_of(right, 6, UPSWEEP_INT64);
  CHECK(upsweep_combinations(NULL, &lists, 5, 2, 1, &to, NULL, &total, &result) == 0 && ran(&result));
  CHECK(total == 9 && same(offsets, 4, (const int64_t[]){0, 6, 6, 9}));
  CHECK(upsweep_combinations(NULL, &lists, 5, 2, 0, &to, out, &total, &result) == 0 && ran(&result));
  CHECK(total == 4 && same(offsets, 4, (const int64_t[]){0, 3, 3, 4}));
  CHECK(same(left, 4, (const int64_t[]){0, 0, 1, 3}) && same(right, 4, (const int64_t[]){1, 2, 2, 4}));
  CHECK(upsweep_combinations(NULL, &lists, 5, 2, 0, NULL, out, NULL, NULL) == 0);
  out[0].length = 3;
  CHECK(upsweep_combinations(NULL, &lists, 5, 2, 0, NULL, out, &total, &result) == 1);
  CHECK(is(&result, "unequal_lengths", -1));
  out[0].type = UPSWEEP_INT32;
  CHECK(upsweep_combinations(NULL, &lists, 5, 2, 0, NULL, out, &total, &result) == 2);
  CHECK(upsweep_combinations(NULL, &falling, 5, 2, 0, &to, NULL, &total, &result) == 1);
  CHECK(is(&result, "stop_before_start", 1));
  CHECK(upsweep_combinations(NULL, &lists, 5, 2, 0, NULL, NULL, &total, &result) == 2);
  CHECK(upsweep_combinations(NULL, &lists, 5, -1, 0, &to, out, &total, &result) == 2);
  CHECK(upsweep_combinations(NULL, NULL, 5, 2, 0, &to, NULL, &total, &result) == 2);
}

static void products(void) {
  int64_t other[] = {0, 1, 2, 4};
  upsweep_lists inputs[2];
  const int64_t contents[] = {5, 4};
  const int64_t short_contents[] = {5, 3};
  int64_t offsets[4] = {0};
  int64_t left[7] = {0};
  int64_t right[7] = {0};
  int64_t total = 0;
  const upsweep_array to = array_of(offsets, 4, UPSWEEP_INT64);
  upsweep_array out[2];
  upsweep_result result;
  inputs[0] = three_lists();
  inputs[1] = by_offsets(array_of(other, 4, UPSWEEP_INT64));
  out[0] = array_of(left, 7, UPSWEEP_INT64);
  out[1] = array_of(right, 7, UPSWEEP_INT64);
  CHECK(upsweep_cartesian(NULL, inputs, contents, 2, &to, NULL, &total, &result) == 0 && ran(&result));
  CHECK(total == 7 && same(offsets, 4, (const int64_t[]){0, 3, 3, 7}));
  CHECK(upsweep_cartesian(NULL, inputs, contents, 2, NULL, out, &total, NULL) == 0 && total == 7);
  CHECK(same(left, 7, (const int64_t[]){0, 1, 2, 3, 3, 4, 4}) && same(right, 7, (const int64_t[]){0, 0, 0, 2, 3, 2, 3}));
  CHECK(upsweep_cartesian(NULL, inputs, short_contents, 2, &to, NULL, &total, &result) == 1);
  CHECK(is(&result, "stop_past_end", 2));
  out[1].length = 6;
  CHECK(upsweep_cartesian(NULL, inputs, contents, 2, NULL, out, &total, &result) == 1);
  CHECK(is(&result, "unequal_lengths", -1));
  inputs[1] = of_size(2, 1);
  CHECK(upsweep_cartesian(NULL, inputs, contents, 2, &to, NULL, &total, &result) == 1);
  CHECK(is(&result, "unequal_lengths", -1));
  CHECK(upsweep_cartesian(NULL, NULL, contents, 2, &to, NULL, &total, &result) == 2);
  CHECK(upsweep_cartesian(NULL, inputs, NULL, 2, &to, NULL, &total, &result) == 2);
  CHECK(upsweep_cartesian(NULL, inputs, contents, -2, &to, NULL, &total, &result) == 2);
  CHECK(upsweep_cartesian(NULL, inputs, contents, 0, &to, NULL, &total, &result) != 0);
}

static void runs_of_keys(void) {
  double keys[] = {2, 2, NAN, NAN, 5, 2};
  int64_t offsets[6] = {0, 0, 0, 0, 0, untouched};
  int64_t sums[4] = {0};
  int32_t values[] = {1, 2, 3, 4, 5, 6};
  int64_t runs = 0;
  const upsweep_array of = array_of(keys, 6, UPSWEEP_FLOAT64);
  const upsweep_array to = array_of(offsets, 6, UPSWEEP_INT64);
  const upsweep_array too_short = array_of(offsets, 4, UPSWEEP_INT64);
  const upsweep_array too_small = array_of(NULL, 0, UPSWEEP_INT64);
  upsweep_lists lists;
  upsweep_result result;
  CHECK(upsweep_key_offsets(NULL, of, NULL, &runs, &result) == 0 && runs == 4);
  runs = 0;
  CHECK(upsweep_key_offsets(NULL, of, &to, &runs, &result) == 0 && runs == 4);
  CHECK(same(offsets, 6, (const int64_t[]){0, 2, 4, 5, 6, untouched}));
  lists = by_offsets(array_of(offsets, runs + 1, UPSWEEP_INT64));
  CHECK(upsweep_segmented_reduce(NULL, "add", NULL, &lists, array_of(values, 6, UPSWEEP_INT32), NULL,
                                 array_of(sums, runs, UPSWEEP_INT64), NULL) == 0);
  CHECK(same(sums, 4, (const int64_t[]){3, 7, 5, 6}));
  CHECK(upsweep_key_offsets(NULL, array_of(NULL, 0, UPSWEEP_INT8), &to, &runs, NULL) == 0 && runs == 0);
  CHECK(upsweep_key_offsets(NULL, of, &too_short, &runs, &result) == 1);
  CHECK(is(&result, "unequal_lengths", -1));
  CHECK(upsweep_key_offsets(NULL, of, &too_small, &runs, &result) == 1);
  CHECK(upsweep_key_offsets(NULL, array_of(NULL, 6, UPSWEEP_FLOAT64), &to, &runs, &result) == 2);
  CHECK(upsweep_key_offsets(NULL, array_of(keys, -6, UPSWEEP_FLOAT64), NULL, &runs, &result) == 2);
  CHECK(upsweep_key_offsets(NULL, array_of(keys, 6, (upsweep_type)-1), NULL, &runs, &result) == 2);
}

static void groups(void) {
  int32_t keys[] = {7, 2, 7, 5};
  int8_t values[] = {100, 1, 27, 3};
  int32_t firsts[4] = {0};
  int64_t sums[4] = {0};
  int64_t rows[4] = {0};
  int64_t count = 0;
  const upsweep_array of = array_of(keys, 4, UPSWEEP_INT32);
  const upsweep_array from = array_of(values, 4, UPSWEEP_INT8);
  const upsweep_array to_keys = array_of(firsts, 4, UPSWEEP_INT32);
  const upsweep_array to = array_of(sums, 4, UPSWEEP_INT64);
  const upsweep_array counts = array_of(rows, 3, UPSWEEP_INT64);
  const upsweep_array too_short = array_of(rows, 2, UPSWEEP_INT64);
  const upsweep_array small = array_of(sums, 4, UPSWEEP_INT8);
  const upsweep_array none = array_of(NULL, 4, UPSWEEP_INT64);
  upsweep_place place = UPSWEEP_PLACE_DEFAULT;
  upsweep_result result;
  CHECK(upsweep_group_by(NULL, "add", of, from, to_keys, to, &counts, &count, &result) == 0 && ran(&result));
  CHECK(count == 3 && memcmp(firsts, (const int32_t[]){7, 2, 5}, 3 * sizeof *firsts) == 0);
  CHECK(same(sums, 3, (const int64_t[]){127, 1, 3}) && same(rows, 3, (const int64_t[]){2, 1, 1}));
  CHECK(upsweep_group_by(NULL, "max", of, of, to_keys, array_of(values, 4, UPSWEEP_INT8), NULL, NULL, &result) == 2);
  CHECK(is(&result, "unsupported", -1));
  CHECK(upsweep_group_by(NULL, "add", of, from, to_keys, to, &too_short, NULL, &result) == 1);
  CHECK(is(&result, "unequal_lengths", -1));
  CHECK(upsweep_group_by(NULL, "add", of, from, to_keys, to, &none, NULL, &result) == 2);
  CHECK(upsweep_group_by(NULL, "add", of, from, to_keys, to, &of, NULL, &result) == 2);
  CHECK(upsweep_group_by(NULL, "count", of, from, to_keys, to, NULL, NULL, NULL) == 2);
  place.checked = 1;
  place.rung = "cpu.serial";
  values[2] = 28;
  CHECK(upsweep_group_by(&place, "add", of, from, to_keys, small, NULL, &count, &result) == 1);
  CHECK(is(&result, "overflow", 0));
  CHECK(upsweep_group_by(&place, "max", of, from, to_keys, small, NULL, &count, &result) == 0);
  CHECK(count == 3 && strcmp(result.rung, "cpu.serial") == 0 && memcmp(sums, (const int8_t[]){100, 1, 3}, 3) == 0);
}

static void places(void) {
  const upsweep_lists lists = three_lists();
  int64_t sums[3] = {0};
  const upsweep_array out = array_of(sums, 3, UPSWEEP_INT64);
  upsweep_place place = UPSWEEP_PLACE_DEFAULT;
  upsweep_result result;
  place.threads = 1;
  place.rung = "cpu.serial";
  CHECK(upsweep_segmented_reduce(&place, "add", NULL, &lists, content(), NULL, out, &result) == 0);
  CHECK(strcmp(result.rung, "cpu.serial") == 0 && same(sums, 3, (const int64_t[]){8, 0, 6}));
  CHECK(upsweep_local_index(&place, &lists, array_of((int64_t[5]){0}, 5, UPSWEEP_INT64), NULL, &result) == 0);
  CHECK(strcmp(result.rung, "cpu.serial") == 0);
  place.rung = NULL;
  place.device = upsweep_device_count();
  CHECK(upsweep_segmented_reduce(&place, "add", NULL, &lists, content(), NULL, out, &result) >= 2);
  CHECK(upsweep_key_offsets(&place, content(), NULL, NULL, &result) >= 2);
}

int main(void) {
  reductions();
  reductions_of_what_is_wrong();
  forms_of_lists();
  scans();
  sorts();
  selections();
  partitions();
  takes();
  takes_of_lists();
  packs();
  conversions();
  positions();
  flattened();
  tuples();
  products();
  runs_of_keys();
  groups();
  places();
  return failures == 0 ? 0 : 1;
}
