/* SPDX-License-Identifier: Apache-2.0 */
/* upsweep/upsweep.h: the library from C, and from whatever calls C (Julia, Rust, ctypes): dynamic.hpp, plainly.
 *
 * Arrays are a pointer, a length and an element type; their place says whether the pointers are the host's or a GPU's.
 * Every call returns 0 or an error's exit status (1: the data, 2: the request, 3: the system, 4: a device) and fills the
 * upsweep_result, where that is not NULL. No call throws, prints or keeps a pointer. Calls on a GPU are put into the
 * stream; those that return a value wait for it. */
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
  int checked;      /* on the CPU, sums of integers: not 0 makes overflow an error, else they wrap around */
  const char* rung; /* NULL: the top rung that fits; a rung asked for by name never falls back */
} upsweep_place;

#define UPSWEEP_PLACE_DEFAULT {UPSWEEP_HOST, 0, 0, 0, 0}

typedef struct upsweep_result {
  char code[24];     /* "ok", "overflow", …: stable, for programs */
  int64_t index;     /* the first offending element or list; -1 where the error is not about one */
  char rung[40];     /* the rung that ran */
  char message[512]; /* what was wrong, where, and what to do; cut off at its end */
} upsweep_result;

/* out[i] = init ⊕ in[0] ⊕ … ⊕ in[i], without the last where `exclusive`. `op`: "add", "mul", "min", "max", "and",
 * "or", "xor". `init`: one element of out's type in host memory, or NULL for the operator's own; on a GPU NULL. */
int upsweep_scan(const upsweep_place* place, const char* op, int exclusive, const void* init, upsweep_array in,
                 upsweep_array out, upsweep_result* result);

/* *value = init ⊕ in[0] ⊕ …: one element of `type`, as `init` is, both in host memory. Waits. Of no elements without
 * init: the operator's identity. */
int upsweep_reduce(const upsweep_place* place, const char* op, const void* init, upsweep_array in, upsweep_type type,
                   void* value, upsweep_result* result);

/* offsets[0] = 0, offsets[i + 1] = offsets[i] + (stops[i] - starts[i]). starts, stops: int32, uint32 or int64; offsets:
 * int64, one longer. Waits. */
int upsweep_compact_offsets(const upsweep_place* place, upsweep_array starts, upsweep_array stops,
                            upsweep_array offsets, upsweep_result* result);

/* *sum = Σ quantity[i]·price[i] where key[i] < limit, modulo 2^64. key: uint32, the others int64. Waits. */
int upsweep_select_sum(const upsweep_place* place, upsweep_array key, upsweep_array quantity, upsweep_array price,
                       uint32_t limit, int64_t* sum, upsweep_result* result);

/* Whether some of the n items, each > 0 and in host memory, add up to the target. *count becomes the number of those that
 * do, or -1; their positions go into `chosen`, which is NULL or has n elements. Waits. */
int upsweep_find_subset(const upsweep_place* place, const int64_t* items, int64_t n, int64_t target, int64_t* chosen,
                        int64_t* count, upsweep_result* result);

/* The problems and their ladders, from the naive loop up. NULL where there is none of that position. */
const char* upsweep_problem(int problem);
const char* upsweep_rung(int problem, int rung);
const char* upsweep_rung_idea(int problem, int rung);

/* GPUs that can be used or not: by their ordinals. */
int upsweep_device_count(void);

#ifdef __cplusplus
}
#endif

#endif
