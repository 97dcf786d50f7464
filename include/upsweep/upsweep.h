/* SPDX-License-Identifier: Apache-2.0 */
/* upsweep/upsweep.h: the library from C, and from whatever calls C (Julia, Rust, ctypes): dynamic.hpp and its like, plainly.
 *
 * Arrays are a pointer, a length and an element type; their place says whether the pointers are the host's or a GPU's.
 * Every call returns 0 or an error's exit status (1: the data, 2: the request, 3: the system, 4: a device) and fills the
 * upsweep_result, where that is not NULL. No call throws, prints or keeps a pointer. Calls on a GPU are put into the
 * stream; those that return a value wait for it. What the headers in C++ say of a call holds here too: how floats are added,
 * what null and empty lists give, what memory is taken. */
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

/* Where and how a call runs. UPSWEEP_PLACE_DEFAULT: every core, on the host's memory. */
typedef struct upsweep_place {
  int device;       /* UPSWEEP_HOST, or the ordinal of the GPU whose memory the arrays are in */
  void* stream;     /* cudaStream_t; NULL: the default stream */
  int threads;      /* on the CPU; 0: every core */
  int checked;      /* sums of integers: not 0 makes overflow an error, 0 lets them wrap. On a GPU only
                       upsweep_segmented_reduce and upsweep_group_by check. Where nothing would be checked (other sums on a
                       GPU, "mul" of integers, upsweep_filtered_sum) the call is refused */
  const char* rung; /* NULL: the top rung that fits; a rung asked for by name never falls back */
} upsweep_place;

#define UPSWEEP_PLACE_DEFAULT {UPSWEEP_HOST, 0, 0, 0, 0}

typedef struct upsweep_result {
  char code[24];     /* "ok", "overflow", …: stable, for programs */
  int64_t index;     /* the first offending element or list; -1 where the error is not about one */
  char rung[40];     /* the rung that ran; "" after an error, and of calls that have no ladder */
  char message[512]; /* what was wrong, where, and what to do; truncated at its end */
} upsweep_result;

/* out[i] = init ⊕ in[0] ⊕ … ⊕ in[i], without the last where `exclusive`. `op` is the name of an operator, such as
 * "add": the error for another name lists all. `init`: one element of out's type in host memory, or NULL for the operator's own; on a GPU NULL. */
int upsweep_scan(const upsweep_place* place, const char* op, int exclusive, const void* init, upsweep_array in,
                 upsweep_array out, upsweep_result* result);

/* *value = init ⊕ in[0] ⊕ …: one element of `type`, as `init` is, both in host memory. Waits. Of no elements without
 * init: the operator's identity. */
int upsweep_reduce(const upsweep_place* place, const char* op, const void* init, upsweep_array in, upsweep_type type,
                   void* value, upsweep_result* result);

/* An array of outer x length x inner elements, the last axis's side by side: the next two calls go along the axis in the
 * middle. They run on the host alone: on a GPU unsupported. */
typedef struct upsweep_axis {
  int64_t outer;
  int64_t length;
  int64_t inner;
} upsweep_axis;

/* out[o][i][j] = init ⊕ in[o][0][j] ⊕ … ⊕ in[o][i][j], without the last where `exclusive`; op and init as in upsweep_scan.
 * `out` may be `in`. overflow: the first such output. */
int upsweep_scan_along(const upsweep_place* place, const char* op, int exclusive, const void* init, upsweep_axis axis,
                       upsweep_array in, upsweep_array out, upsweep_result* result);

/* out[o][j] = init ⊕ in[o][0][j] ⊕ …: outer x inner elements, not in place. overflow: the first such output. */
int upsweep_reduce_along(const upsweep_place* place, const char* op, const void* init, upsweep_axis axis,
                         upsweep_array in, upsweep_array out, upsweep_result* result);

/* offsets[0] = 0, offsets[i + 1] = offsets[i] + (stops[i] - starts[i]). starts, stops: int32, uint32 or int64; offsets:
 * int64, one longer. Waits. */
int upsweep_offsets(const upsweep_place* place, upsweep_array starts, upsweep_array stops, upsweep_array offsets,
                    upsweep_result* result);

/* *sum = Σ quantity[i]·price[i] where key[i] < limit, modulo 2^64. key: uint32, the others int64. Waits. */
int upsweep_filtered_sum(const upsweep_place* place, upsweep_array key, upsweep_array quantity, upsweep_array price,
                         uint32_t limit, int64_t* sum, upsweep_result* result);

/* Whether some of the n items, each > 0 and in host memory, add up to the target. *count becomes the number of those that
 * do, or -1; their positions go into `chosen`, which is NULL or has n elements. Waits. */
int upsweep_find_subset(const upsweep_place* place, const int64_t* items, int64_t n, int64_t target, int64_t* chosen,
                        int64_t* count, upsweep_result* result);

/* ------------------------------------------------------------------------------------------------------------------ lists
 *
 * A list is a range of elements of an array, its content. The structs are the host's, what they point to is where the place
 * says. Counts are returned in host memory, where their pointer is not NULL; all of these calls wait.
 *
 * Errors of lists carry the index of the first bad one: stop_before_start (of offsets: they decrease), negative_start,
 * stop_past_end (of the content). unequal_lengths: a length does not suit the others, or an output has too little
 * capacity. unsupported_type: bounds or indices of another type than those named. invalid_argument: NULL where
 * something is needed, a word that there is not, a type that an output cannot have, arrays that overlap. Then outputs
 * are unspecified; nothing is written past their ends. Outputs overlap neither inputs nor each other, but where a call
 * says so. */

/* Booleans: a byte each (0 is false), or a bit each, the least significant bit of a byte first, as Arrow has them. */
typedef struct upsweep_mask {
  const void* data;
  int64_t length;
  int64_t first_bit; /* of a bitmap: bits before the first boolean */
  int is_bitmap;     /* not 0: a bit each */
} upsweep_mask;

/* List i is the elements offsets[i] … offsets[i+1] - 1, by n + 1 offsets; or starts[i] … stops[i] - 1, by bounds: in any order,
 * overlapping, with gaps; or all are of one size, one after the other. */
/* NOLINTNEXTLINE(performance-enum-size): C's have no other */
typedef enum upsweep_lists_form { UPSWEEP_BY_OFFSETS, UPSWEEP_BY_BOUNDS, UPSWEEP_OF_SIZE } upsweep_lists_form;

typedef struct upsweep_lists {
  upsweep_lists_form form;
  upsweep_array starts;      /* int32, uint32 or int64; or the offsets, one more than there are lists */
  upsweep_array stops;       /* by bounds: as many, of the same type */
  int64_t count;             /* of one size: how many lists there are, */
  int64_t size;              /* and how many elements each has */
  const upsweep_mask* valid; /* false where a list is null, and so as if it were empty; NULL: none is */
} upsweep_lists;

/* A column of content that elements are moved from, whatever their type, and where they go. */
typedef struct upsweep_column {
  const void* data;
  int64_t length; /* elements of the content */
  void* out;
  int64_t capacity; /* elements that `out` holds */
  int element_size; /* bytes: 1, 2, 4, 8 or 16; others are refused */
} upsweep_column;

/* out[i] = init ⊕ the elements of list i, by an `op` of upsweep_scan. `init`: one element of out's type in host memory, on a
 * GPU too, or NULL for the operator's own. Or `op` is "any" or "all" (out: uint8), "count", "count_nonzero", "argmin" or
 * "argmax" (out: int64; positions in the list, -1 of an empty one), which take no init. `out` has an element for each list.
 * `valid`: false where an element is null, and so skipped; NULL: none is. overflow: the first list whose sum does not fit. */
int upsweep_segmented_reduce(const upsweep_place* place, const char* op, const void* init, const upsweep_lists* lists,
                             upsweep_array content, const upsweep_mask* valid, upsweep_array out,
                             upsweep_result* result);

/* out[j] = init ⊕ the elements of j's list up to element j, without that one where `exclusive`; init and `valid` as above.
 * Lists lie one after the other: by offsets, or of one size. `out` is as long as the content, and may be it; what is in no
 * list is not written. */
int upsweep_segmented_scan(const upsweep_place* place, const char* op, int exclusive, const void* init,
                           const upsweep_lists* lists, upsweep_array content, const upsweep_mask* valid,
                           upsweep_array out, upsweep_result* result);

/* Each list's elements in order, `descending` or not; equal ones keep theirs; NaN come last, or first where `nan_first`. `out`
 * is of the content's type. Lists by offsets or of one size go where they start: out is as long as the content, and may be it.
 * Lists by bounds go one after the other from out[0] on: out is as long as all of them. */
int upsweep_segmented_sort(const upsweep_place* place, const upsweep_lists* lists, upsweep_array content,
                           int descending, int nan_first, upsweep_array out, upsweep_result* result);

/* The positions, each in its list, that put them in order: int64, not in place. */
int upsweep_segmented_argsort(const upsweep_place* place, const upsweep_lists* lists, upsweep_array content,
                              int descending, int nan_first, upsweep_array out, upsweep_result* result);

/* The elements whose boolean is true, in order, of every column; `mask` and columns have one length. *kept becomes how many
 * these are: without columns they are counted alone. Of `lists`, or NULL: of the array. `offsets` become those of what is
 * kept of each list: int64, one more than there are lists; or NULL. */
int upsweep_select(const upsweep_place* place, const upsweep_lists* lists, const upsweep_mask* mask,
                   const upsweep_array* offsets, const upsweep_column* columns, int64_t column_count, int64_t* kept,
                   upsweep_result* result);

/* The elements whose boolean is true, then the others, both in order; *kept becomes how many the former are. Outputs have
 * capacity for all. */
int upsweep_partition(const upsweep_place* place, const upsweep_mask* mask, const upsweep_column* columns,
                      int64_t column_count, int64_t* kept, upsweep_result* result);

/* out[k] = data[indices[k]] of every column. indices: int32, uint32 or int64; a negative one counts from the end.
 * index_out_of_range: the first k whose index is. */
int upsweep_take(const upsweep_place* place, upsweep_array indices, const upsweep_column* columns, int64_t column_count,
                 upsweep_result* result);

/* The same of lists: list i gives those of its elements that list i of `index_lists`, whose content is `indices`, names by
 * their positions in it. `content`: how many elements the lists' array has, as all columns do. `offsets` become those of what
 * is taken, int64, one more than there are lists; *taken becomes how many elements that is. Without columns offsets alone. */
int upsweep_take_lists(const upsweep_place* place, const upsweep_lists* lists, int64_t content,
                       const upsweep_lists* index_lists, upsweep_array indices, upsweep_array offsets,
                       const upsweep_column* columns, int64_t column_count, int64_t* taken, upsweep_result* result);

/* Where each list begins once all are packed one after the other: int64, one more than there are lists. The lists are of
 * `content` elements. *total becomes how many elements they have: what the columns of upsweep_pack_content must hold. */
int upsweep_pack_offsets(const upsweep_place* place, const upsweep_lists* lists, int64_t content, upsweep_array offsets,
                         int64_t* total, upsweep_result* result);

/* Their elements, of every column, to where these offsets say. unequal_lengths: the first list with another length than they
 * say. */
int upsweep_pack_content(const upsweep_place* place, const upsweep_lists* lists, upsweep_array offsets,
                         const upsweep_column* columns, int64_t column_count, upsweep_result* result);

/* offsets[0] = 0, offsets[i+1] = offsets[i] + lengths[i], or 0 where `valid` is given and false. lengths: int32, uint32 or
 * int64; offsets: int64, one longer. *total becomes the last. stop_before_start: the first negative length. */
int upsweep_lengths_to_offsets(const upsweep_place* place, upsweep_array lengths, const upsweep_mask* valid,
                               upsweep_array offsets, int64_t* total, upsweep_result* result);

/* Offsets of lists from the sorted parents of their elements: parents[j], of int32, uint32 or int64, is the list that element
 * j is in. offsets: int64, one more than there are lists. stop_before_start: the first element whose parent is less than the
 * one before; index_out_of_range: the first whose parent is no list. */
int upsweep_parents_to_offsets(const upsweep_place* place, upsweep_array parents, upsweep_array offsets,
                               upsweep_result* result);

/* Of every element the list that it is in. Here and in the next two calls, lists lie one after the other, none is null, and
 * out[0] is the first list's first element's; there is capacity for the elements of all; *total becomes how many these
 * are. parents: int64. */
int upsweep_offsets_to_parents(const upsweep_place* place, const upsweep_lists* lists, upsweep_array parents,
                               int64_t* total, upsweep_result* result);

/* Of every element its position in its list. index: int64. */
int upsweep_local_index(const upsweep_place* place, const upsweep_lists* lists, upsweep_array index, int64_t* total,
                        upsweep_result* result);

/* Of every element its list's value: values.data has one for each list. */
int upsweep_broadcast(const upsweep_place* place, const upsweep_lists* lists, upsweep_column values, int64_t* total,
                      upsweep_result* result);

/* Offsets of the contents of lists of lists: the lists `outer` are of the lists `inner`. offsets: int64, one more than there
 * are outer lists. index_out_of_range: the first that is of more inner lists than there are. */
int upsweep_flatten(const upsweep_place* place, const upsweep_lists* outer, const upsweep_lists* inner,
                    upsweep_array offsets, upsweep_result* result);

/* Every choice of n elements of each list, with `replacement` or without, in lexicographic order: those of list i are numbered
 * offsets[i] … offsets[i+1] - 1, and out[0][k], …, out[n-1][k] are where in the content the elements of number k lie. out: n
 * arrays of int64 with capacity for all. *total becomes their number. Where `out` is NULL, offsets (int64, one more
 * than there are lists) and total alone; where it is not, `offsets` may be NULL. `content`: how many elements the
 * lists' array has. overflow: the first list that has, with those before it, more than int64 counts. */
int upsweep_combinations(const upsweep_place* place, const upsweep_lists* lists, int64_t content, int64_t n,
                         int replacement, const upsweep_array* offsets, const upsweep_array* out, int64_t* total,
                         upsweep_result* result);

/* The same of every choice of one element from list i of each of the n inputs, which have as many lists; contents[d] is how
 * many elements the array of inputs[d] has, and out[d][k] a position in it. */
int upsweep_cartesian(const upsweep_place* place, const upsweep_lists* inputs, const int64_t* contents, int64_t n,
                      const upsweep_array* offsets, const upsweep_array* out, int64_t* total, upsweep_result* result);

/* Runs of equal keys side by side, as sorted keys have them: *runs becomes how many there are, offsets (int64, one more, or
 * longer) where each begins and the last ends. offsets: NULL where the runs are counted alone. Keys of any type; all NaN are
 * one key. The offsets are the lists of upsweep_segmented_reduce and upsweep_segmented_scan by key. */
int upsweep_key_offsets(const upsweep_place* place, upsweep_array keys, const upsweep_array* offsets, int64_t* runs,
                        upsweep_result* result);

/* The values of equal keys, wherever these stand, folded by an `op` of upsweep_scan: out_keys[g] becomes the key of group g,
 * out[g] the fold of its values, counts[g] (int64; `counts` may be NULL) how many rows it has, and *groups how many groups
 * there are, in the order of their first rows. Keys are integers; out_keys is of their type, `out` of the values' type, or of
 * sums of integers the 64 bits of their sign. As much capacity as there are keys is always enough; unequal_lengths:
 * there is too little for the groups. overflow: the first group whose sum does not fit. */
int upsweep_group_by(const upsweep_place* place, const char* op, upsweep_array keys, upsweep_array values,
                     upsweep_array out_keys, upsweep_array out, const upsweep_array* counts, int64_t* groups,
                     upsweep_result* result);

/* --------------------------------------------------------------------------------------------------- the library, devices */

/* The problems and their ladders, from the naive loop up. NULL where there is none of that position. */
const char* upsweep_problem(int problem);
const char* upsweep_rung(int problem, int rung);
const char* upsweep_rung_idea(int problem, int rung);

/* GPUs that can be used or not: by their ordinals. */
int upsweep_device_count(void);

/* Whether this build has CUDA. */
int upsweep_has_cuda(void);

/* A GPU as its driver describes it. */
typedef struct upsweep_device {
  char name[128];
  char error[256]; /* why the driver does not describe it, and it cannot be used; "" where it does */
  int major;       /* compute capability */
  int minor;
  int multiprocessors;
  int64_t memory_bytes;
  int64_t l2_bytes;
} upsweep_device;

/* no_device: there is none of that ordinal. */
int upsweep_describe_device(int ordinal, upsweep_device* device, upsweep_result* result);

#ifdef __cplusplus
}
#endif

#endif
