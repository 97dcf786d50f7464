/* SPDX-License-Identifier: Apache-2.0 */
/* upsweep/rung.h: a custom rung, from C or any language that makes shared libraries: `upsweep ladder PROBLEM
 * --with ./my_rung.so` verifies it, then times it together with the other rungs. With --device cuda it runs on a GPU.
 *
 * A library defines upsweep_rung_version and one function for each problem that it solves. Functions do not write
 * their inputs, and outputs do not overlap inputs. Arrays are aligned only to their elements. Lengths may be 0.
 * `threads` is the number of threads to use, 1 or more. Integers wrap (modulo 2^bits). A function returns 0,
 * UPSWEEP_RUNG_SKIPS, or its error code, which is 1 or more.
 *
 * Functions called upsweep_rung_cuda_… run on a GPU. A library may define functions for both places. Rules that differ:
 * - Arrays are memory of the current device. Host code must not access them.
 * - All work must be in `stream`: kernels, copies, and temporary memory (cudaMallocAsync). It is not the default stream
 *   and does not wait for that.
 * - A function need not wait for its work. It may be called again before that work has ended.
 * - An error code is a cudaError_t: return cudaGetLastError() after the launches. */
#ifndef UPSWEEP_RUNG_H
#define UPSWEEP_RUNG_H

#include "upsweep/upsweep.h"

#define UPSWEEP_RUNG_VERSION 1
#define UPSWEEP_RUNG_SKIPS (-1) /* not for this type */

#ifdef __cplusplus
extern "C" {
#endif

/* Returns UPSWEEP_RUNG_VERSION: the version that the functions were compiled for. */
int upsweep_rung_version(void);

/* Returns NAME: the rung is called guest.NAME. NAME contains only letters, digits and _. This function is optional:
 * without it the rung is named after its file. */
const char* upsweep_rung_name(void);

/* Computes out[i] = in[0] + … + in[i]; both arrays have n elements of `type`. */
int upsweep_rung_scan(upsweep_type type, const void* in, int64_t n, void* out, int threads);

/* Computes *sum = in[0] + … + in[n - 1], also of `type`; 0 if n is 0. */
int upsweep_rung_reduce(upsweep_type type, const void* in, int64_t n, void* sum, int threads);

/* Computes the n + 1 offsets of n lists: offsets[0] = 0, offsets[i + 1] = offsets[i] + (stops[i] - starts[i]). starts,
 * stops: int32, uint32 or int64; stops[i] >= starts[i]. Both may be in one array, with stops from its second element
 * on. */
int upsweep_rung_offsets(upsweep_type type, const void* starts, const void* stops, int64_t n, int64_t* offsets,
                         int threads);

/* Computes sums[i] = content[offsets[i]] + … + content[offsets[i + 1] - 1], 0 for an empty list. There are `lists` + 1
 * ascending offsets. */
int upsweep_rung_segmented_reduce(upsweep_type type, const void* content, const int64_t* offsets, int64_t lists,
                                  void* sums, int threads);

/* Computes *sum = Σ quantity[i]·price[i] of the rows with key[i] < limit, among n rows. */
int upsweep_rung_filtered_sum(const uint32_t* key, const int64_t* quantity, const int64_t* price, int64_t n,
                              uint32_t limit, int64_t* sum, int threads);

/* Computes for each s in 0 … target whether some of the n items, each > 0, add up to s: bit s % 64 of sums[s / 64].
 * There are target / 64 + 1 words. The bits above bit `target`, up to the end of the last word, are 0. */
int upsweep_rung_subset_sum(const int64_t* items, int64_t n, int64_t target, uint64_t* sums, int threads);

/* ------------------------------------------------------------------------------------------------ rungs on a GPU */

typedef struct CUstream_st* upsweep_rung_stream; /* cudaStream_t, without a CUDA header */

/* Each function computes the same as the function for the CPU. */
int upsweep_rung_cuda_scan(upsweep_type type, const void* in, int64_t n, void* out, upsweep_rung_stream stream);
int upsweep_rung_cuda_reduce(upsweep_type type, const void* in, int64_t n, void* sum, upsweep_rung_stream stream);
int upsweep_rung_cuda_offsets(upsweep_type type, const void* starts, const void* stops, int64_t n, int64_t* offsets,
                              upsweep_rung_stream stream);
int upsweep_rung_cuda_segmented_reduce(upsweep_type type, const void* content, const int64_t* offsets, int64_t lists,
                                       void* sums, upsweep_rung_stream stream);

/* Returns and clears the last error of the library's CUDA runtime. This function is optional. nvcc links a separate
 * runtime into each library, so upsweep sees its errors only through this function. nvcc defines it here. */
int upsweep_rung_cuda_error(void);
#ifdef __CUDACC__
__attribute__((used)) inline int upsweep_rung_cuda_error(void) { return (int)cudaGetLastError(); }
#endif

#ifdef __cplusplus
}
#endif

#endif
