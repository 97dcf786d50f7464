/* SPDX-License-Identifier: Apache-2.0 */
/* upsweep/rung.h: a rung of one's own, from C or whatever makes shared libraries: `upsweep ladder PROBLEM --with ./my_rung.so`
 * verifies it, then times it beside the others.
 *
 * A library defines upsweep_rung_version and one function for each problem that it solves. Inputs are not written, outputs
 * lie apart from them, and arrays are aligned to their elements only; lengths may be 0. `threads` is how many to use, 1 or
 * more. Integers wrap around. A function returns 0, UPSWEEP_RUNG_SKIPS, or an error of its own, from 1 on. */
#ifndef UPSWEEP_RUNG_H
#define UPSWEEP_RUNG_H

#include "upsweep/upsweep.h"

#define UPSWEEP_RUNG_VERSION 1
#define UPSWEEP_RUNG_SKIPS (-1) /* not for this type */

#ifdef __cplusplus
extern "C" {
#endif

/* Returns UPSWEEP_RUNG_VERSION: what the functions were compiled for. */
int upsweep_rung_version(void);

/* May be left out: the rung is called guest.NAME, without it by its file. Letters, digits and _ only. */
const char* upsweep_rung_name(void);

/* out[i] = in[0] + … + in[i]; both have n elements of `type`. */
int upsweep_rung_scan(upsweep_type type, const void* in, int64_t n, void* out, int threads);

/* *sum = in[0] + … + in[n - 1], of `type` too; 0 of none. */
int upsweep_rung_reduce(upsweep_type type, const void* in, int64_t n, void* sum, int threads);

/* offsets[0] = 0, offsets[i + 1] = offsets[i] + (stops[i] - starts[i]) for n lists: n + 1 offsets. starts, stops: int32,
 * uint32 or int64; stops[i] >= starts[i]. Both may be in one array, stops from its second element on. */
int upsweep_rung_offsets(upsweep_type type, const void* starts, const void* stops, int64_t n, int64_t* offsets,
                         int threads);

/* sums[i] = content[offsets[i]] + … + content[offsets[i + 1] - 1], 0 of an empty list; `lists` + 1 ascending offsets. */
int upsweep_rung_segmented_reduce(upsweep_type type, const void* content, const int64_t* offsets, int64_t lists,
                                  void* sums, int threads);

/* *sum = Σ quantity[i]·price[i] where key[i] < limit, of n rows. */
int upsweep_rung_filtered_sum(const uint32_t* key, const int64_t* quantity, const int64_t* price, int64_t n,
                              uint32_t limit, int64_t* sum, int threads);

/* Bit s % 64 of sums[s / 64] = whether some of the n items, each > 0, add up to s, for s in 0 … target; the bits above,
 * up to the end of the last word, are 0: target / 64 + 1 words. */
int upsweep_rung_subset_sum(const int64_t* items, int64_t n, int64_t target, uint64_t* sums, int threads);

#ifdef __cplusplus
}
#endif

#endif
