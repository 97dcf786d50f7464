/* SPDX-License-Identifier: Apache-2.0 */
/* upsweep/upsweep.h: the library's interface for C, and for languages that call C (Julia, Rust, ctypes).
 *
 * It has the calls of dynamic.hpp and of similar headers. An array is a pointer, a length and an element type. The
 * place of a call says whether the pointers are to host memory or to a GPU's memory. Every call returns 0 or the exit
 * status of an error: 1: the data, 2: the request, 3: the system, 4: a device. It also fills the upsweep_result, unless
 * that pointer is NULL. No call throws, prints or keeps a pointer. Calls on a GPU are put into the stream. Calls that
 * return a value wait for the stream. The C++ headers document each call in full. The rules in these headers also apply
 * to C: for the order in which floats are added, for null and empty lists, and for memory. */
#ifndef UPSWEEP_UPSWEEP_H
#define UPSWEEP_UPSWEEP_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum upsweep_type { /* NOLINT(performance-enum-size): C's have no other */
                            UPSWEEP_INT8,
                            UPSWEEP_INT16,
                            UPSWEEP_INT32,
                            UPSWEEP_INT64,
                            UPSWEEP_UINT8,
                            UPSWEEP_UINT16,
                            UPSWEEP_UINT32,
                            UPSWEEP_UINT64,
                            UPSWEEP_FLOAT32,
                            UPSWEEP_FLOAT64
} upsweep_type;

typedef struct upsweep_array {
  void* data; /* inputs are not written */
  int64_t length;
  upsweep_type type;
} upsweep_array;

#define UPSWEEP_HOST (-1)

/* Where and how a call runs. UPSWEEP_PLACE_DEFAULT: host memory, with every core. */
typedef struct upsweep_place {
  int device;       /* UPSWEEP_HOST, or the ordinal of the GPU whose memory the arrays are in */
  void* stream;     /* cudaStream_t; NULL: the default stream */
  int threads;      /* on the CPU; 0: every core */
  int checked;      /* sums of integers: if not 0, overflow is an error; if 0, they wrap. On a GPU only
                       upsweep_segmented_reduce and upsweep_group_by check. A call is refused if it would check nothing
                       (other sums on a GPU, "mul" of integers, upsweep_filtered_sum) */
  const char* rung; /* NULL: the top rung that fits; a rung requested by name never falls back */
} upsweep_place;

#define UPSWEEP_PLACE_DEFAULT {UPSWEEP_HOST, 0, 0, 0, 0}

typedef struct upsweep_result {
  char code[24];     /* "ok", "overflow", …: stable, for programs */
  int64_t index;     /* the first wrong element or list; -1 if the error is not about one */
  char rung[40];     /* the rung that ran; "" after an error, and for calls that have no ladder */
  char message[512]; /* what was wrong, where, and what to do; truncated at its end */
} upsweep_result;

/* Computes a scan: out[i] = init ⊕ in[0] ⊕ … ⊕ in[i], without in[i] if `exclusive` is not 0. `op` is the name of an
 * operator, such as "add"; the error for an unknown name lists all names. `init` is one element of out's type in host
 * memory, or NULL for the operator's default. On a GPU it must be NULL. */
int upsweep_scan(const upsweep_place* place, const char* op, int exclusive, const void* init, upsweep_array in,
                 upsweep_array out, upsweep_result* result);

/* Computes the reduction *value = init ⊕ in[0] ⊕ …. `value` and `init` are one element of `type` each, both in host
 * memory. Without elements and without init, the result is the operator's identity. The call waits. */
int upsweep_reduce(const upsweep_place* place, const char* op, const void* init, upsweep_array in, upsweep_type type,
                   void* value, upsweep_result* result);

/* An array of outer x length x inner elements, in row-major order. The next two calls scan or reduce along the middle
 * axis. They run only on the host: on a GPU the error is unsupported. */
typedef struct upsweep_axis {
  int64_t outer;
  int64_t length;
  int64_t inner;
} upsweep_axis;

/* Computes scans along an axis: out[o][i][j] = init ⊕ in[o][0][j] ⊕ … ⊕ in[o][i][j], without the last element if
 * `exclusive` is not 0. `op` and `init` are as in upsweep_scan. `out` may be `in`. `overflow`: the index is the first
 * such output. */
int upsweep_scan_along(const upsweep_place* place, const char* op, int exclusive, const void* init, upsweep_axis axis,
                       upsweep_array in, upsweep_array out, upsweep_result* result);

/* Computes reductions along an axis: out[o][j] = init ⊕ in[o][0][j] ⊕ …. `out` has outer x inner elements and must not
 * be `in`. `overflow`: the index is the first such output. */
int upsweep_reduce_along(const upsweep_place* place, const char* op, const void* init, upsweep_axis axis,
                         upsweep_array in, upsweep_array out, upsweep_result* result);

/* Computes offsets: offsets[0] = 0, offsets[i + 1] = offsets[i] + (stops[i] - starts[i]). starts, stops: int32, uint32
 * or int64. `offsets`: int64, one element longer. The call waits. */
int upsweep_offsets(const upsweep_place* place, upsweep_array starts, upsweep_array stops, upsweep_array offsets,
                    upsweep_result* result);

/* Computes *sum = Σ quantity[i]·price[i] of the rows with key[i] < limit, modulo 2^64. `key`: uint32, the others int64.
 * The call waits. */
int upsweep_filtered_sum(const upsweep_place* place, upsweep_array key, upsweep_array quantity, upsweep_array price,
                         uint32_t limit, int64_t* sum, upsweep_result* result);

/* Finds items that add up to the target. Each of the n items is > 0 and in host memory. `*count` becomes the number of
 * items found, or -1 if no choice adds up to the target. Their positions are written to `chosen`, which is NULL or has
 * n elements. The call waits. */
int upsweep_find_subset(const upsweep_place* place, const int64_t* items, int64_t n, int64_t target, int64_t* chosen,
                        int64_t* count, upsweep_result* result);

/* --------------------------------------------------------------------------------------------------------------- lists
 *
 * A list is a range of elements of an array, its content. The structs are in host memory; their pointers are to the
 * memory that the place names. Counts are returned in host memory, unless their pointer is NULL. All of these calls
 * wait.
 *
 * Errors of lists contain the index of the first bad list: stop_before_start (offsets decrease), negative_start,
 * stop_past_end (past the end of the content). `unequal_lengths`: a length does not match the others, or the capacity
 * of an output is too small. `unsupported_type`: bounds or indices have another type than the listed ones.
 * `invalid_argument`: a required pointer is NULL, a name is unknown, a type is not possible for an output, or arrays
 * overlap. After an error, outputs are unspecified, but nothing is written past their ends. Outputs must overlap
 * neither inputs nor each other, unless the call's comment allows it. */

/* Booleans: one byte each (0 is false), or one bit each, the low bit of a byte first, as in Arrow. */
typedef struct upsweep_mask {
  const void* data;
  int64_t length;
  int64_t first_bit; /* of a bitmap: number of bits before the first boolean */
  int is_bitmap;     /* not 0: one bit each */
} upsweep_mask;

/* The description of lists. By n + 1 offsets: list i is the elements offsets[i] … offsets[i+1] - 1. By bounds: list i
 * is the elements starts[i] … stops[i] - 1; the lists may be in any order, overlap and have gaps. With one size: all
 * lists are one after the other. */
/* NOLINTNEXTLINE(performance-enum-size): C's have no other */
typedef enum upsweep_lists_form { UPSWEEP_BY_OFFSETS, UPSWEEP_BY_BOUNDS, UPSWEEP_OF_SIZE } upsweep_lists_form;

typedef struct upsweep_lists {
  upsweep_lists_form form;
  upsweep_array starts;      /* int32, uint32 or int64; or the offsets, one more than there are lists */
  upsweep_array stops;       /* by bounds: the same length and type as starts */
  int64_t count;             /* of one size: the number of lists */
  int64_t size;              /* of one size: the number of elements of each list */
  const upsweep_mask* valid; /* false where a list is null, which counts as empty; NULL: no list is null */
} upsweep_lists;

/* A column of content whose elements are moved, whatever their type, and the output for them. */
typedef struct upsweep_column {
  const void* data;
  int64_t length; /* elements of the content */
  void* out;
  int64_t capacity; /* number of elements that fit into `out` */
  int element_size; /* bytes: 1, 2, 4, 8 or 16; other sizes are refused */
} upsweep_column;

/* Reduces each list: out[i] = init ⊕ the elements of list i, by an `op` of upsweep_scan. `init` is one element of
 * out's type in host memory, also on a GPU, or NULL for the operator's default. `op` may also be "any" or "all" (out:
 * uint8), or "count", "count_nonzero", "argmin" or "argmax" (out: int64). "argmin" and "argmax" are positions in the
 * list, -1 for an empty list. These six accept no init. `out` has one element per list. `valid` is false where an
 * element is null; null elements are skipped. If `valid` is NULL, no element is null. `overflow`: the index is the
 * first list whose sum does not fit. */
int upsweep_segmented_reduce(const upsweep_place* place, const char* op, const void* init, const upsweep_lists* lists,
                             upsweep_array content, const upsweep_mask* valid, upsweep_array out,
                             upsweep_result* result);

/* Scans each list: out[j] = init ⊕ the elements of j's list up to element j, without element j if `exclusive` is not
 * 0. `init` and `valid` are as in upsweep_segmented_reduce. The lists must be one after the other: by offsets, or of
 * one size. `out` is as long as the content and may be the content. Outputs of elements that are in no list are not
 * written. */
int upsweep_segmented_scan(const upsweep_place* place, const char* op, int exclusive, const void* init,
                           const upsweep_lists* lists, upsweep_array content, const upsweep_mask* valid,
                           upsweep_array out, upsweep_result* result);

/* Sorts the elements of each list, ascending or `descending`. Equal elements keep their order. NaN are last, or first
 * with `nan_first`. `out` has the content's type. Lists by offsets or of one size are written where they start: `out`
 * is as long as the content and may be the content. Lists by bounds are written one after the other from out[0] on:
 * `out` is as long as all of them together. */
int upsweep_segmented_sort(const upsweep_place* place, const upsweep_lists* lists, upsweep_array content,
                           int descending, int nan_first, upsweep_array out, upsweep_result* result);

/* Computes the positions, each within its list, that sort the list. `out`: int64, not in place. Other arguments are as
 * in upsweep_segmented_sort. */
int upsweep_segmented_argsort(const upsweep_place* place, const upsweep_lists* lists, upsweep_array content,
                              int descending, int nan_first, upsweep_array out, upsweep_result* result);

/* Copies the elements of every column whose boolean is true, in order. `mask` and all columns have the same length.
 * `*kept` becomes the number of these elements; without columns, the call only counts them. `lists` is NULL for a plain
 * array. `offsets` become the offsets of the kept elements of each list: int64, one more than there are lists; or
 * NULL. */
int upsweep_select(const upsweep_place* place, const upsweep_lists* lists, const upsweep_mask* mask,
                   const upsweep_array* offsets, const upsweep_column* columns, int64_t column_count, int64_t* kept,
                   upsweep_result* result);

/* Copies the elements whose boolean is true, then the others, both in order. `*kept` becomes the number of the former.
 * Outputs must have capacity for all elements. */
int upsweep_partition(const upsweep_place* place, const upsweep_mask* mask, const upsweep_column* columns,
                      int64_t column_count, int64_t* kept, upsweep_result* result);

/* Gathers elements: out[k] = data[indices[k]] of every column. `indices`: int32, uint32 or int64; a negative index
 * counts from the end. `index_out_of_range`: the index of the error is the first k whose index is out of range. */
int upsweep_take(const upsweep_place* place, upsweep_array indices, const upsweep_column* columns, int64_t column_count,
                 upsweep_result* result);

/* Gathers elements of lists. The result for list i is the elements of list i at the positions in list i of
 * `index_lists`, whose content is `indices`. `content` is the number of elements of the lists' array and of every
 * column. `offsets` become the offsets of the taken elements: int64, one more than there are lists. `*taken` becomes
 * the number of taken elements. Without columns, the call only computes the offsets. */
int upsweep_take_lists(const upsweep_place* place, const upsweep_lists* lists, int64_t content,
                       const upsweep_lists* index_lists, upsweep_array indices, upsweep_array offsets,
                       const upsweep_column* columns, int64_t column_count, int64_t* taken, upsweep_result* result);

/* Computes where each list begins after all lists are packed one after the other: int64, one more than there are
 * lists. The lists are ranges of an array of `content` elements. `*total` becomes their number of elements, which is
 * the capacity that the columns of upsweep_pack_content need. */
int upsweep_pack_offsets(const upsweep_place* place, const upsweep_lists* lists, int64_t content, upsweep_array offsets,
                         int64_t* total, upsweep_result* result);

/* Copies the elements of the lists, of every column, to the offsets that upsweep_pack_offsets computed.
 * `unequal_lengths`: the index is the first list whose length differs from its offsets. */
int upsweep_pack_content(const upsweep_place* place, const upsweep_lists* lists, upsweep_array offsets,
                         const upsweep_column* columns, int64_t column_count, upsweep_result* result);

/* Computes offsets from lengths: offsets[0] = 0, offsets[i+1] = offsets[i] + lengths[i]. Where `valid` is given and
 * false, the length counts as 0. `lengths`: int32, uint32 or int64. `offsets`: int64, one longer. `*total` becomes the
 * last offset. `stop_before_start`: the index is the first negative length. */
int upsweep_lengths_to_offsets(const upsweep_place* place, upsweep_array lengths, const upsweep_mask* valid,
                               upsweep_array offsets, int64_t* total, upsweep_result* result);

/* Computes the offsets of lists from the sorted parents of their elements: parents[j] is the list that contains
 * element j. `parents`: int32, uint32 or int64. `offsets`: int64, one more than there are lists. `stop_before_start`:
 * the index is the first element whose parent is less than the one before. `index_out_of_range`: the first element
 * whose parent is not a list. */
int upsweep_parents_to_offsets(const upsweep_place* place, upsweep_array parents, upsweep_array offsets,
                               upsweep_result* result);

/* Writes for every element the list that contains it. `parents`: int64. For this call and the next two: the lists must
 * be one after the other, and none is null. `out[0]` belongs to the first element of the first list. The output needs
 * capacity for the elements of all lists; *total becomes their number. */
int upsweep_offsets_to_parents(const upsweep_place* place, const upsweep_lists* lists, upsweep_array parents,
                               int64_t* total, upsweep_result* result);

/* Writes for every element its position in its list. `index`: int64. */
int upsweep_local_index(const upsweep_place* place, const upsweep_lists* lists, upsweep_array index, int64_t* total,
                        upsweep_result* result);

/* Writes for every element the value of its list: values.data contains one value per list. */
int upsweep_broadcast(const upsweep_place* place, const upsweep_lists* lists, upsweep_column values, int64_t* total,
                      upsweep_result* result);

/* Computes the offsets of the contents of lists of lists: the lists `outer` contain the lists `inner`. `offsets`:
 * int64, one more than there are outer lists. `index_out_of_range`: the index is the first outer list that needs more
 * inner lists than there are. */
int upsweep_flatten(const upsweep_place* place, const upsweep_lists* outer, const upsweep_lists* inner,
                    upsweep_array offsets, upsweep_result* result);

/* Enumerates every choice of n elements of each list, with `replacement` or without, in lexicographic order. The
 * choices of list i are numbered offsets[i] … offsets[i+1] - 1. `out[0][k]`, …, `out[n-1][k]` are the positions in the
 * content of the elements of choice k. `out`: n arrays of int64 with capacity for all choices. `*total` becomes the
 * number of choices. If `out` is NULL, the call only computes the offsets (int64, one more than there are lists) and
 * the total. Otherwise `offsets` may be NULL. `content` is the number of elements of the lists' array. `overflow`: the
 * index is the first list with which the number of choices exceeds int64. */
int upsweep_combinations(const upsweep_place* place, const upsweep_lists* lists, int64_t content, int64_t n,
                         int replacement, const upsweep_array* offsets, const upsweep_array* out, int64_t* total,
                         upsweep_result* result);

/* Enumerates every choice of one element from list i of each of the n inputs, with outputs as in upsweep_combinations.
 * All inputs have the same number of lists. `contents[d]` is the number of elements of the array of inputs[d];
 * out[d][k] is a position in that array. */
int upsweep_cartesian(const upsweep_place* place, const upsweep_lists* inputs, const int64_t* contents, int64_t n,
                      const upsweep_array* offsets, const upsweep_array* out, int64_t* total, upsweep_result* result);

/* Finds runs of equal adjacent keys, as in sorted keys. `*runs` becomes the number of runs. `offsets` become where each
 * run begins and where the last ends: int64, at least one more than there are runs. If `offsets` is NULL, the call
 * only counts the runs. Keys have any type; all NaN are one key. The offsets describe the lists of
 * upsweep_segmented_reduce and upsweep_segmented_scan by key. */
int upsweep_key_offsets(const upsweep_place* place, upsweep_array keys, const upsweep_array* offsets, int64_t* runs,
                        upsweep_result* result);

/* Reduces the values of equal keys, which need not be adjacent, by an `op` of upsweep_scan. `out_keys[g]` becomes the
 * key of group g, out[g] the fold of its values, and counts[g] its number of rows (int64; `counts` may be NULL).
 * `*groups` becomes the number of groups. Groups are in the order of their first rows. Keys are integers. out_keys has
 * the type of the keys. `out` has the type of the values, or for sums of integers the 64-bit type of the same
 * signedness. The number of keys is always enough capacity. `unequal_lengths`: the capacity is too small for the
 * groups. `overflow`: the index is the first group whose sum does not fit. */
int upsweep_group_by(const upsweep_place* place, const char* op, upsweep_array keys, upsweep_array values,
                     upsweep_array out_keys, upsweep_array out, const upsweep_array* counts, int64_t* groups,
                     upsweep_result* result);

/* --------------------------------------------------------------------------------------------- the library, devices */

/* Return the name of a problem, and the id and the idea of a rung. Ladders are ordered from the naive loop up. NULL:
 * there is none with that position. */
const char* upsweep_problem(int problem);
const char* upsweep_rung(int problem, int rung);
const char* upsweep_rung_idea(int problem, int rung);

/* Returns the number of GPUs, usable or not. Their ordinals are 0 to this number minus 1. */
int upsweep_device_count(void);

/* Returns whether this build has CUDA. */
int upsweep_has_cuda(void);

/* A GPU as its driver describes it. */
typedef struct upsweep_device {
  char name[128];
  char error[256]; /* why the driver cannot describe the GPU, which then cannot be used; "" otherwise */
  int major;       /* compute capability */
  int minor;
  int multiprocessors;
  int64_t memory_bytes;
  int64_t l2_bytes;
} upsweep_device;

/* Fills in the description of a GPU. `no_device`: there is none with that ordinal. */
int upsweep_describe_device(int ordinal, upsweep_device* device, upsweep_result* result);

#ifdef __cplusplus
}
#endif

#endif
