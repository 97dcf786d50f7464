/* SPDX-License-Identifier: Apache-2.0 */
/* upsweep/awkward.h: replacements for the kernels of Awkward Array that upsweep has operations for.
 *
 * Names, structs and semantics are those of Awkward's kernel ABI (awkward-cpp 57). Register or load the kernels of
 * libupsweep-awkward in place of Awkward's.
 *
 * Success is a null `str`. Otherwise `str` says what is wrong, in Awkward's words if Awkward's kernel checks for it.
 * `identity` is the first bad list, and `attempt` the value that was refused. Each of them is INT64_MAX if it has no
 * meaning for the error. After an error, outputs are unspecified, except those of compact_offsets. Calls may come from
 * any number of threads. A call uses all cores.
 *
 * Differences from Awkward's kernels:
 *   - Decreasing offsets ("offsets must be monotonically increasing"), negative starts, null pointers and results past
 *     the largest int64 are errors. Awkward's kernels do not check for them.
 *   - Sums and products of floats of lists of more than 4,096 elements are folded in blocks of that size, in order (see
 *     segmented_reduce.hpp). Therefore their last bits may differ from Awkward's. Shorter lists have the same bits.
 *   - Sorts are always stable.
 */
#ifndef UPSWEEP_AWKWARD_H
#define UPSWEEP_AWKWARD_H

#include <stdbool.h>
#include <stdint.h>

/* NOLINTBEGIN(bugprone-macro-parentheses): their arguments are types. */

#ifdef __cplusplus
extern "C" {
#endif

/* Awkward's `struct Error`: the same members in the same order. */
struct upsweep_awkward_error {
  const char* str;
  const char* filename;
  int64_t identity;
  int64_t attempt;
};

/* ------------------------------------------------------------------------------------------------------------- types
 * The types that kernels exist for: X(name of the type in the kernels' names, the type). */

/* Bounds of lists. */
#define UPSWEEP_AWKWARD_BOUNDS(X) X(32, int32_t) X(U32, uint32_t) X(64, int64_t)

#define UPSWEEP_AWKWARD_NUMBERS(X) \
  X(int8, int8_t)                  \
  X(uint8, uint8_t)                \
  X(int16, int16_t)                \
  X(uint16, uint16_t)              \
  X(int32, int32_t) X(uint32, uint32_t) X(int64, int64_t) X(uint64, uint64_t) X(float32, float) X(float64, double)

#define UPSWEEP_AWKWARD_ELEMENTS(X) X(bool, bool) UPSWEEP_AWKWARD_NUMBERS(X)

/* Results and elements: X(result, its type, element, its type). */
#define UPSWEEP_AWKWARD_PRODUCTS(X)     \
  X(int64, int64_t, int8, int8_t)       \
  X(int64, int64_t, int16, int16_t)     \
  X(int64, int64_t, int32, int32_t)     \
  X(int64, int64_t, int64, int64_t)     \
  X(uint64, uint64_t, uint8, uint8_t)   \
  X(uint64, uint64_t, uint16, uint16_t) \
  X(uint64, uint64_t, uint32, uint32_t) \
  X(uint64, uint64_t, uint64, uint64_t) \
  X(int32, int32_t, int8, int8_t)       \
  X(int32, int32_t, int16, int16_t)     \
  X(int32, int32_t, int32, int32_t)     \
  X(uint32, uint32_t, uint8, uint8_t)   \
  X(uint32, uint32_t, uint16, uint16_t) \
  X(uint32, uint32_t, uint32, uint32_t) \
  X(float32, float, float32, float)     \
  X(float64, double, float64, double)

#define UPSWEEP_AWKWARD_SUMS(X)        \
  UPSWEEP_AWKWARD_PRODUCTS(X)          \
  X(int32, int32_t, bool, bool)        \
  X(float64, double, int8, int8_t)     \
  X(float64, double, uint8, uint8_t)   \
  X(float64, double, int16, int16_t)   \
  X(float64, double, uint16, uint16_t) \
  X(float64, double, int32, int32_t)   \
  X(float64, double, uint32, uint32_t) \
  X(float64, double, int64, int64_t)   \
  X(float64, double, uint64, uint64_t) \
  X(float64, double, float32, float)

/* Tags and indices of unions: X(name of the tags, their type, name of the indices, their type). */
#define UPSWEEP_AWKWARD_UNIONS(X) \
  X(8, int8_t, 32, int32_t) X(8, int8_t, U32, uint32_t) X(8, int8_t, 64, int64_t) X(64, int64_t, 64, int64_t)

/* Tags and indices of a union, and indices of the inner union, whose tags are int8: X(..., name of the inner indices,
 * their type). */
#define UPSWEEP_AWKWARD_NESTED_UNIONS(X)     \
  X(8, int8_t, 32, int32_t, 32, int32_t)     \
  X(8, int8_t, 32, int32_t, U32, uint32_t)   \
  X(8, int8_t, 32, int32_t, 64, int64_t)     \
  X(8, int8_t, U32, uint32_t, 32, int32_t)   \
  X(8, int8_t, U32, uint32_t, U32, uint32_t) \
  X(8, int8_t, U32, uint32_t, 64, int64_t)   \
  X(8, int8_t, 64, int64_t, 32, int32_t)     \
  X(8, int8_t, 64, int64_t, U32, uint32_t)   \
  X(8, int8_t, 64, int64_t, 64, int64_t)     \
  X(64, int64_t, 64, int64_t, 64, int64_t)

/* ------------------------------------------------------------------------------------------------- offsets: lists.cpp
 * awkward_ListArray{32,U32,64}_compact_offsets_64            Offsets of the lists packed: length + 1 elements. Errors:
 *                                                            "stops[i] < starts[i]", or "offsets overflow int64"; then
 *                                                            tooffsets[0 ... identity] are right.
 * awkward_ListOffsetArray{32,U32,64}_flatten_offsets_64      Writes inneroffsets[outeroffsets[i]]. */
#define UPSWEEP_AWKWARD_KERNELS(NAME, T)                                                                             \
  struct upsweep_awkward_error awkward_ListArray##NAME##_compact_offsets_64(int64_t* tooffsets, const T* fromstarts, \
                                                                            const T* fromstops, int64_t length);     \
  struct upsweep_awkward_error awkward_ListOffsetArray##NAME##_flatten_offsets_64(                                   \
      int64_t* tooffsets, const T* outeroffsets, int64_t outeroffsetslen, const int64_t* inneroffsets);
UPSWEEP_AWKWARD_BOUNDS(UPSWEEP_AWKWARD_KERNELS)
#undef UPSWEEP_AWKWARD_KERNELS

/* -------------------------------------------------------------------------- values for the elements: positions.cpp
 * awkward_ListArray{32,U32,64}_localindex_64                 Positions in the lists between length + 1 offsets.
 * awkward_RegularArray_localindex_64, awkward_localindex_64  Positions in lists of one size, and in one list.
 * awkward_ListArray{32,U32,64}_getitem_next_range_spreadadvanced_64, awkward_RegularArray_...
 *                                                            Copies a value per list to its elements.
 * awkward_ListOffsetArray64_reduce_local_nextparents_64, awkward_RegularArray_...
 *                                                            The list of each element.
 * awkward_ListArray{32,U32,64}_broadcast_tooffsets_64        Positions of the elements of lists that must fit
 *                                                            fromoffsets. Errors: "stops[i] > len(content)",
 *                                                            "broadcast's offsets must be monotonically increasing",
 *                                                            "cannot broadcast nested list". */
#define UPSWEEP_AWKWARD_KERNELS(NAME, T)                                                                            \
  struct upsweep_awkward_error awkward_ListArray##NAME##_localindex_64(int64_t* toindex, const T* offsets,          \
                                                                       int64_t length);                             \
  struct upsweep_awkward_error awkward_ListArray##NAME##_getitem_next_range_spreadadvanced_64(                      \
      int64_t* toadvanced, const int64_t* fromadvanced, const T* fromoffsets, int64_t lenstarts);                   \
  struct upsweep_awkward_error awkward_ListArray##NAME##_broadcast_tooffsets_64(                                    \
      int64_t* tocarry, const int64_t* fromoffsets, int64_t offsetslength, const T* fromstarts, const T* fromstops, \
      int64_t lencontent);
UPSWEEP_AWKWARD_BOUNDS(UPSWEEP_AWKWARD_KERNELS)
#undef UPSWEEP_AWKWARD_KERNELS
struct upsweep_awkward_error awkward_RegularArray_localindex_64(int64_t* toindex, int64_t size, int64_t length);
struct upsweep_awkward_error awkward_localindex_64(int64_t* toindex, int64_t length);
struct upsweep_awkward_error awkward_RegularArray_getitem_next_range_spreadadvanced_64(int64_t* toadvanced,
                                                                                       const int64_t* fromadvanced,
                                                                                       int64_t length,
                                                                                       int64_t nextsize);
struct upsweep_awkward_error awkward_ListOffsetArray64_reduce_local_nextparents_64(int64_t* nextparents,
                                                                                   const int64_t* offsets,
                                                                                   int64_t length,
                                                                                   int64_t nextparents_length);
struct upsweep_awkward_error awkward_RegularArray_reduce_local_nextparents_64(int64_t* nextparents, int64_t size,
                                                                              int64_t length);

/* ------------------------------------------------------------------------------------------ elements taken: select.cpp
 * awkward_ListArray{32,U32,64}_getitem_jagged_apply_64       The elements of each list at its indices; -1 is the last.
 *                                                            Errors, list by list: "jagged slice's stops[i] <
 *                                                            starts[i]", "jagged slice's offsets extend beyond its
 *                                                            content", "stops[i] < starts[i]", "stops[i] >
 *                                                            len(content)", "index out of range" (attempt: the index).
 * awkward_ByteMaskedArray_numnull                            The number of bytes that, as booleans, differ from
 *                                                            validwhen. */
#define UPSWEEP_AWKWARD_KERNELS(NAME, T)                                                            \
  struct upsweep_awkward_error awkward_ListArray##NAME##_getitem_jagged_apply_64(                   \
      int64_t* tooffsets, int64_t* tocarry, const int64_t* slicestarts, const int64_t* slicestops,  \
      int64_t sliceouterlen, const int64_t* sliceindex, int64_t sliceinnerlen, const T* fromstarts, \
      const T* fromstops, int64_t contentlen);
UPSWEEP_AWKWARD_BOUNDS(UPSWEEP_AWKWARD_KERNELS)
#undef UPSWEEP_AWKWARD_KERNELS
struct upsweep_awkward_error awkward_ByteMaskedArray_numnull(int64_t* numnull, const int8_t* mask, int64_t length,
                                                             bool validwhen);

/* Operations for which Awkward has no kernel. It does them in several steps between kernels.
 * awkward_upsweep_take_64         Elements by their positions, negative ones from the end. Error: "index out of range".
 * awkward_upsweep_project_64      Elements by their positions; negative positions are errors. */
struct upsweep_awkward_error awkward_upsweep_take_64(void* to, const int64_t* fromindex, int64_t lenindex,
                                                     const void* content, int64_t lencontent, int64_t bytes);
struct upsweep_awkward_error awkward_upsweep_project_64(void* to, const int64_t* fromindex, int64_t lenindex,
                                                        const void* content, int64_t lencontent, int64_t bytes);

/* ---------------------------------------------------------------------------------- steps between kernels: between.cpp
 * Elements have 1, 2, 4, 8 or 16 `bytes`. Where contents may have 0 bytes, the positions of elements are written, as
 * int64. The `identity` of an error is at most the first bad one: Awkward's code must find it.
 *
 * awkward_upsweep_positions_64     Copies positions, and makes negative ones count from the start. Error: "index out of
 *                                  range" for positions past the end.
 * awkward_upsweep_equal            Returns "arrays differ", or success.
 * awkward_upsweep_spread_64        Copies element i to each element of list i. Lists are given by offsets from 0.
 * awkward_upsweep_pack_64          Gathers lists one after the other, at their offsets from 0. Error: bad lists.
 * awkward_upsweep_concatenate_64   Joins the lists i of several arrays: their offsets and elements. For 0 `bytes`, it
 *                                  writes positions in all contents one after the other.
 * awkward_upsweep_choose_64        Writes to[i] = contents[tags[i]][index[i]]. Error: "index out of range".
 * awkward_upsweep_mean_64          Sums of lists, divided by their lengths: NaN if a list is empty. */
struct upsweep_awkward_error awkward_upsweep_positions_64(int64_t* to, const int64_t* fromindex, int64_t lenindex,
                                                          int64_t lencontent);
struct upsweep_awkward_error awkward_upsweep_equal(const void* a, const void* b, int64_t bytes);
struct upsweep_awkward_error awkward_upsweep_spread_64(void* to, const void* from, const int64_t* offsets,
                                                       int64_t length, int64_t bytes);
struct upsweep_awkward_error awkward_upsweep_pack_64(void* to, const int64_t* offsets, int64_t length,
                                                     const int64_t* starts, const int64_t* stops, const void* content,
                                                     int64_t lencontent, int64_t bytes);
struct upsweep_awkward_error awkward_upsweep_concatenate_64(int64_t* tooffsets, void* to, const int64_t* const* offsets,
                                                            const void* const* contents, const int64_t* lengths,
                                                            int64_t arrays, int64_t length, int64_t bytes);
struct upsweep_awkward_error awkward_upsweep_choose_64(void* to, const int8_t* tags, const int64_t* index,
                                                       int64_t length, const void* const* contents,
                                                       const int64_t* lengths, int64_t arrays, int64_t bytes);
struct upsweep_awkward_error awkward_upsweep_mean_64(double* sums, const int64_t* offsets, int64_t length);

/* -------------------------------------------------------------------------------------- combinations: combinations.cpp
 * awkward_ListArray{32,U32,64}_combinations_length_64        The number of choices of n elements of each list, as
 *                                                            offsets.
 * awkward_ListArray{32,U32,64}_combinations_64, awkward_RegularArray_combinations_64
 *                                                            The choices, as n arrays of positions. toindex[0 ... n -
 *                                                            1] become their length; fromindex is not used. */
#define UPSWEEP_AWKWARD_KERNELS(NAME, T)                                                                     \
  struct upsweep_awkward_error awkward_ListArray##NAME##_combinations_length_64(                             \
      int64_t* totallen, int64_t* tooffsets, int64_t n, bool replacement, const T* starts, const T* stops,   \
      int64_t length);                                                                                       \
  struct upsweep_awkward_error awkward_ListArray##NAME##_combinations_64(                                    \
      int64_t** tocarry, int64_t* toindex, int64_t* fromindex, int64_t n, bool replacement, const T* starts, \
      const T* stops, int64_t length);
UPSWEEP_AWKWARD_BOUNDS(UPSWEEP_AWKWARD_KERNELS)
#undef UPSWEEP_AWKWARD_KERNELS
struct upsweep_awkward_error awkward_RegularArray_combinations_64(int64_t** tocarry, int64_t* toindex,
                                                                  int64_t* fromindex, int64_t n, bool replacement,
                                                                  int64_t size, int64_t length);

/* -------------------------------------------------------------------------------------------------- order: sort.cpp
 * awkward_sort_{bool,int8,...,float64}                       Each list's elements in order.
 * awkward_argsort_{bool,...}_{int32,uint32,int64,uint64}     Their positions in their lists. The second type is that of
 *                                                            the offsets.
 * NaN are first in both directions. Lists are truncated after `length` elements. */
#define UPSWEEP_AWKWARD_KERNELS(NAME, T)                                                                               \
  struct upsweep_awkward_error awkward_sort_##NAME(T* toptr, const T* fromptr, int64_t length, const int64_t* offsets, \
                                                   int64_t offsetslength, bool ascending, bool stable);                \
  struct upsweep_awkward_error awkward_argsort_##NAME##_int32(int64_t* toptr, const T* fromptr, int64_t length,        \
                                                              const int32_t* offsets, int64_t offsetslength,           \
                                                              bool ascending, bool stable);                            \
  struct upsweep_awkward_error awkward_argsort_##NAME##_uint32(int64_t* toptr, const T* fromptr, int64_t length,       \
                                                               const uint32_t* offsets, int64_t offsetslength,         \
                                                               bool ascending, bool stable);                           \
  struct upsweep_awkward_error awkward_argsort_##NAME##_int64(int64_t* toptr, const T* fromptr, int64_t length,        \
                                                              const int64_t* offsets, int64_t offsetslength,           \
                                                              bool ascending, bool stable);                            \
  struct upsweep_awkward_error awkward_argsort_##NAME##_uint64(int64_t* toptr, const T* fromptr, int64_t length,       \
                                                               const uint64_t* offsets, int64_t offsetslength,         \
                                                               bool ascending, bool stable);
UPSWEEP_AWKWARD_ELEMENTS(UPSWEEP_AWKWARD_KERNELS)
#undef UPSWEEP_AWKWARD_KERNELS

/* --------------------------------------------------------------------------------------------- reducers: reducers.cpp
 * For each list between outlength + 1 offsets:
 * awkward_reduce_sum_{result}_{element}_64, awkward_reduce_prod_...
 *                                                            Sums and products; integers wrap.
 * awkward_reduce_{sum_bool,prod_bool,countnonzero}_{bool,int8,...,float64}_64
 *                                                            Whether any or all are nonzero, and the number of these.
 * awkward_reduce_{min,max}_{int8,...,float64}_{the same}_64  Minimum and maximum, beginning with `identity`; NaN are
 *                                                            skipped.
 * awkward_reduce_{argmin,argmax}_{int8,...,float64}_64       The position in fromptr of the first one, -1 for an empty
 *                                                            list. NaN are skipped, except that the result of a list
 *                                                            that begins with NaN is that position. */
#define UPSWEEP_AWKWARD_KERNELS(OUT, OUT_T, IN, IN_T)                                                  \
  struct upsweep_awkward_error awkward_reduce_sum_##OUT##_##IN##_64(OUT_T* toptr, const IN_T* fromptr, \
                                                                    const int64_t* offsets, int64_t outlength);
UPSWEEP_AWKWARD_SUMS(UPSWEEP_AWKWARD_KERNELS)
#undef UPSWEEP_AWKWARD_KERNELS
struct upsweep_awkward_error awkward_reduce_sum_int64_bool_64(int64_t* toptr, const bool* fromptr,
                                                              const int64_t* offsets, int64_t outlength);
#define UPSWEEP_AWKWARD_KERNELS(OUT, OUT_T, IN, IN_T)                                                   \
  struct upsweep_awkward_error awkward_reduce_prod_##OUT##_##IN##_64(OUT_T* toptr, const IN_T* fromptr, \
                                                                     const int64_t* offsets, int64_t outlength);
UPSWEEP_AWKWARD_PRODUCTS(UPSWEEP_AWKWARD_KERNELS)
#undef UPSWEEP_AWKWARD_KERNELS
#define UPSWEEP_AWKWARD_KERNELS(NAME, T)                                                                        \
  struct upsweep_awkward_error awkward_reduce_sum_bool_##NAME##_64(bool* toptr, const T* fromptr,               \
                                                                   const int64_t* offsets, int64_t outlength);  \
  struct upsweep_awkward_error awkward_reduce_prod_bool_##NAME##_64(bool* toptr, const T* fromptr,              \
                                                                    const int64_t* offsets, int64_t outlength); \
  struct upsweep_awkward_error awkward_reduce_countnonzero_##NAME##_64(int64_t* toptr, const T* fromptr,        \
                                                                       const int64_t* offsets, int64_t outlength);
UPSWEEP_AWKWARD_ELEMENTS(UPSWEEP_AWKWARD_KERNELS)
#undef UPSWEEP_AWKWARD_KERNELS
#define UPSWEEP_AWKWARD_KERNELS(NAME, T)                                                                   \
  struct upsweep_awkward_error awkward_reduce_min_##NAME##_##NAME##_64(                                    \
      T* toptr, const T* fromptr, const int64_t* offsets, int64_t outlength, T identity);                  \
  struct upsweep_awkward_error awkward_reduce_max_##NAME##_##NAME##_64(                                    \
      T* toptr, const T* fromptr, const int64_t* offsets, int64_t outlength, T identity);                  \
  struct upsweep_awkward_error awkward_reduce_argmin_##NAME##_64(                                          \
      int64_t* toptr, const T* fromptr, const int64_t* offsets, const int64_t* starts, int64_t outlength); \
  struct upsweep_awkward_error awkward_reduce_argmax_##NAME##_64(                                          \
      int64_t* toptr, const T* fromptr, const int64_t* offsets, const int64_t* starts, int64_t outlength);
UPSWEEP_AWKWARD_NUMBERS(UPSWEEP_AWKWARD_KERNELS)
#undef UPSWEEP_AWKWARD_KERNELS

/* awkward_reduce_count_64                              The length of each list.
 * awkward_NumpyArray_reduce_adjust_starts_64           toptr[i] -= starts[i] if not negative; offsets are unused.
 * awkward_NumpyArray_reduce_mask_ByteMaskedArray_64    Whether each list is empty. */
struct upsweep_awkward_error awkward_reduce_count_64(int64_t* toptr, const int64_t* offsets, int64_t outlength);
struct upsweep_awkward_error awkward_NumpyArray_reduce_adjust_starts_64(int64_t* toptr, int64_t outlength,
                                                                        const int64_t* offsets, const int64_t* starts);
struct upsweep_awkward_error awkward_NumpyArray_reduce_mask_ByteMaskedArray_64(int8_t* toptr, const int64_t* offsets,
                                                                               int64_t outlength);

/* ------------------------------------------------------------------------------------------------- unions: unions.cpp
 * awkward_UnionArray{tags}_{indices}_simplify_one_to8_64     Writes (towhich, fromindex[i] + base) where fromtags[i] ==
 *                                                            fromwhich.
 * awkward_UnionArray{tags}_{indices}_simplify8_{indices}_to8_64
 *                                                            Does this for a union in a union.
 * awkward_UnionArray{tags}_{indices}_nestedfill_tags_index_64
 *                                                            Numbers fromcounts[i] elements from tmpstarts[i] on, and
 *                                                            moves the starts past them.
 * awkward_UnionArray_fillna_from{32,U32,64}_to64             Negative indices become 0. */
#define UPSWEEP_AWKWARD_KERNELS(TAGS, TAG, INDICES, INDEX)                                            \
  struct upsweep_awkward_error awkward_UnionArray##TAGS##_##INDICES##_simplify_one_to8_64(            \
      int8_t* totags, int64_t* toindex, const TAG* fromtags, const INDEX* fromindex, int64_t towhich, \
      int64_t fromwhich, int64_t length, int64_t base);                                               \
  struct upsweep_awkward_error awkward_UnionArray##TAGS##_##INDICES##_nestedfill_tags_index_64(       \
      TAG* totags, INDEX* toindex, int64_t* tmpstarts, TAG tag, const int64_t* fromcounts, int64_t length);
UPSWEEP_AWKWARD_UNIONS(UPSWEEP_AWKWARD_KERNELS)
#undef UPSWEEP_AWKWARD_KERNELS
#define UPSWEEP_AWKWARD_KERNELS(TAGS, TAG, INDICES, INDEX, INNER_INDICES, INNER_INDEX)                          \
  struct upsweep_awkward_error awkward_UnionArray##TAGS##_##INDICES##_simplify8_##INNER_INDICES##_to8_64(       \
      int8_t* totags, int64_t* toindex, const TAG* outertags, const INDEX* outerindex, const int8_t* innertags, \
      const INNER_INDEX* innerindex, int64_t towhich, int64_t innerwhich, int64_t outerwhich, int64_t length,   \
      int64_t base);
UPSWEEP_AWKWARD_NESTED_UNIONS(UPSWEEP_AWKWARD_KERNELS)
#undef UPSWEEP_AWKWARD_KERNELS
#define UPSWEEP_AWKWARD_KERNELS(NAME, T)                                                                         \
  struct upsweep_awkward_error awkward_UnionArray_fillna_from##NAME##_to64(int64_t* toindex, const T* fromindex, \
                                                                           int64_t length);
UPSWEEP_AWKWARD_BOUNDS(UPSWEEP_AWKWARD_KERNELS)
#undef UPSWEEP_AWKWARD_KERNELS

/* ------------------------------------------------------------------------------------------------ padding: padding.cpp
 * Lists are filled up to `target` elements with -1. With clip, longer lists are truncated.
 * awkward_ListOffsetArray{32,U32,64}_rpad_length_axis1       The new lengths, as offsets.
 * awkward_ListOffsetArray{32,U32,64}_rpad_axis1_64           The positions of their elements.
 * awkward_ListOffsetArray{32,U32,64}_rpad_and_clip_axis1_64
 * awkward_ListArray{32,U32,64}_rpad_and_clip_length_axis1    The total of the new lengths.
 * awkward_ListArray{32,U32,64}_rpad_axis1_64                 Their elements, and their new starts and stops.
 * awkward_RegularArray_rpad_and_clip_axis1_64                For lists of one size.
 * awkward_index_rpad_and_clip_axis{0,1}_64                   For one list; starts and stops of lists of one size. */
#define UPSWEEP_AWKWARD_KERNELS(NAME, T)                                                                             \
  struct upsweep_awkward_error awkward_ListOffsetArray##NAME##_rpad_length_axis1(                                    \
      T* tooffsets, const T* fromoffsets, int64_t fromlength, int64_t target, int64_t* tolength);                    \
  struct upsweep_awkward_error awkward_ListOffsetArray##NAME##_rpad_axis1_64(int64_t* toindex, const T* fromoffsets, \
                                                                             int64_t fromlength, int64_t target);    \
  struct upsweep_awkward_error awkward_ListOffsetArray##NAME##_rpad_and_clip_axis1_64(                               \
      int64_t* toindex, const T* fromoffsets, int64_t length, int64_t target);                                       \
  struct upsweep_awkward_error awkward_ListArray##NAME##_rpad_and_clip_length_axis1(                                 \
      int64_t* tomin, const T* fromstarts, const T* fromstops, int64_t target, int64_t lenstarts);                   \
  struct upsweep_awkward_error awkward_ListArray##NAME##_rpad_axis1_64(int64_t* toindex, const T* fromstarts,        \
                                                                       const T* fromstops, T* tostarts, T* tostops,  \
                                                                       int64_t target, int64_t length);
UPSWEEP_AWKWARD_BOUNDS(UPSWEEP_AWKWARD_KERNELS)
#undef UPSWEEP_AWKWARD_KERNELS
struct upsweep_awkward_error awkward_RegularArray_rpad_and_clip_axis1_64(int64_t* toindex, int64_t target, int64_t size,
                                                                         int64_t length);
struct upsweep_awkward_error awkward_index_rpad_and_clip_axis0_64(int64_t* toindex, int64_t target, int64_t length);
struct upsweep_awkward_error awkward_index_rpad_and_clip_axis1_64(int64_t* tostarts, int64_t* tostops, int64_t target,
                                                                  int64_t length);

/* ------------------------------------------------------------------------------------------------- slices: slices.cpp
 * A start or stop of INT64_MAX means that none is given; steps are not 0.
 * awkward_ListArray{32,U32,64}_getitem_next_range_carrylength
 *                                                            The number of elements that [start:stop:step] takes from
 *                                                            the lists.
 * awkward_ListArray{32,U32,64}_getitem_next_range_64         These elements, and their offsets.
 * awkward_ListArray{32,U32,64}_getitem_next_at_64            Element `at` of each list. Error: "index out of range".
 * awkward_RegularArray_getitem_next_range_64, awkward_RegularArray_getitem_carry_64
 *                                                            For lists of one size: nextsize elements of each list,
 *                                                            and all elements of some lists.
 * awkward_RegularArray_getitem_jagged_expand_64              The lists between `regularsize` + 1 offsets, repeated.
 * awkward_ListArray{32,U32,64}_getitem_jagged_expand_64      These lists repeated, and the elements of the array's
 *                                                            lists, which must have the same number. Errors: "stops[i]
 *                                                            < starts[i]", "cannot fit jagged slice into nested list".
 * awkward_ListArray{32,U32,64}_getitem_jagged_descend_64     Offsets of lists that are as long as the slice's. Error:
 *                                                            "jagged slice inner length differs from array inner
 *                                                            length".
 * awkward_ListArray_getitem_jagged_carrylen_64               The number of elements of the slice.
 * awkward_ListArray_getitem_jagged_numvalid_64               The number of elements that are not missing (negative).
 *                                                            Errors: "jagged slice's stops[i] < starts[i]", "jagged
 *                                                            slice's offsets extend beyond its content".
 * awkward_ListArray_getitem_jagged_shrink_64                 These elements, their offsets, and the slice's offsets. */
#define UPSWEEP_AWKWARD_KERNELS(NAME, T)                                                                              \
  struct upsweep_awkward_error awkward_ListArray##NAME##_getitem_next_range_carrylength(                              \
      int64_t* carrylength, const T* fromstarts, const T* fromstops, int64_t lenstarts, int64_t start, int64_t stop,  \
      int64_t step);                                                                                                  \
  struct upsweep_awkward_error awkward_ListArray##NAME##_getitem_next_range_64(                                       \
      T* tooffsets, int64_t* tocarry, const T* fromstarts, const T* fromstops, int64_t lenstarts, int64_t start,      \
      int64_t stop, int64_t step);                                                                                    \
  struct upsweep_awkward_error awkward_ListArray##NAME##_getitem_next_at_64(                                          \
      int64_t* tocarry, const T* fromstarts, const T* fromstops, int64_t lenstarts, int64_t at);                      \
  struct upsweep_awkward_error awkward_ListArray##NAME##_getitem_jagged_expand_64(                                    \
      int64_t* multistarts, int64_t* multistops, const int64_t* singleoffsets, int64_t* tocarry, const T* fromstarts, \
      const T* fromstops, int64_t jaggedsize, int64_t length);                                                        \
  struct upsweep_awkward_error awkward_ListArray##NAME##_getitem_jagged_descend_64(                                   \
      int64_t* tooffsets, const int64_t* slicestarts, const int64_t* slicestops, int64_t sliceouterlen,               \
      const T* fromstarts, const T* fromstops);
UPSWEEP_AWKWARD_BOUNDS(UPSWEEP_AWKWARD_KERNELS)
#undef UPSWEEP_AWKWARD_KERNELS
struct upsweep_awkward_error awkward_RegularArray_getitem_next_range_64(int64_t* tocarry, int64_t regular_start,
                                                                        int64_t step, int64_t length, int64_t size,
                                                                        int64_t nextsize);
struct upsweep_awkward_error awkward_RegularArray_getitem_carry_64(int64_t* tocarry, const int64_t* fromcarry,
                                                                   int64_t lencarry, int64_t size);
struct upsweep_awkward_error awkward_RegularArray_getitem_jagged_expand_64(int64_t* multistarts, int64_t* multistops,
                                                                           const int64_t* singleoffsets,
                                                                           int64_t regularsize, int64_t regularlength);
struct upsweep_awkward_error awkward_ListArray_getitem_jagged_carrylen_64(int64_t* carrylen, const int64_t* slicestarts,
                                                                          const int64_t* slicestops,
                                                                          int64_t sliceouterlen);
struct upsweep_awkward_error awkward_ListArray_getitem_jagged_numvalid_64(int64_t* numvalid, const int64_t* slicestarts,
                                                                          const int64_t* slicestops, int64_t length,
                                                                          const int64_t* missing,
                                                                          int64_t missinglength);
struct upsweep_awkward_error awkward_ListArray_getitem_jagged_shrink_64(int64_t* tocarry, int64_t* tosmalloffsets,
                                                                        int64_t* tolargeoffsets,
                                                                        const int64_t* slicestarts,
                                                                        const int64_t* slicestops, int64_t length,
                                                                        const int64_t* missing);

/* ----------------------------------------------------------------------------------------------- options: options.cpp
 * For elements that may be missing, marked by bytes that are not validwhen, or by negative indices:
 * awkward_ByteMaskedArray_getitem_nextcarry_64, awkward_IndexedArray{32,U32,64}_getitem_nextcarry_64
 *                                                            The elements that are not missing. With an index, none
 *                                                            may be missing: "index out of range".
 * awkward_ByteMaskedArray_getitem_nextcarry_outindex_64, awkward_IndexedArray{32,U32,64}_...
 *                                                            These, and the number of each element among them, or -1.
 * awkward_ByteMaskedArray_reduce_next_64, awkward_IndexedArray{32,U32,64}_reduce_next_64
 *                                                            All of these, and offsets among them.
 * awkward_ByteMaskedArray_toIndexedOptionArray64             The position of each element, or -1.
 * awkward_IndexedArray{32,U32,64}_numnull                    The number of missing elements.
 * awkward_IndexedArray{32,U32,64}_simplify{32,U32,64}_to64   An index of an index. Error: "index out of range".
 * awkward_IndexedArray_fill_to64_from{32,U32,64}             An index plus a base, written after other ones.
 * awkward_IndexedArray_fill_to64_count                       Positions from a base on, written after other ones.
 * awkward_IndexedArray{32,U32,64}_overlay_mask8_to64         An index; -1 where the mask is not 0.
 * awkward_upsweep_valid_together_64                          For 1 to 4 arrays with indices: numvalid ← the number of
 *                                                            elements that are valid in all; toindex ← the number of
 *                                                            each among these, or -1; tocarries[1 + array] ← their
 *                                                            indices[1 + array]. tocarries[0] ← their positions,
 *                                                            unless it is null. Carries have room for all elements.
 * awkward_ListOffsetArray_drop_none_indexes_{32,64}          Offsets without the missing elements. Error: "offsets[i] >
 *                                                            len(content)".
 */
#define UPSWEEP_AWKWARD_KERNELS(NAME, T)                                                                               \
  struct upsweep_awkward_error awkward_IndexedArray##NAME##_getitem_nextcarry_64(                                      \
      int64_t* tocarry, const T* fromindex, int64_t lenindex, int64_t lencontent);                                     \
  struct upsweep_awkward_error awkward_IndexedArray##NAME##_getitem_nextcarry_outindex_64(                             \
      int64_t* tocarry, T* toindex, const T* fromindex, int64_t lenindex, int64_t lencontent);                         \
  struct upsweep_awkward_error awkward_IndexedArray##NAME##_reduce_next_64(int64_t* nextcarry, int64_t* nextoffsets,   \
                                                                           int64_t* outindex, const T* index,          \
                                                                           const int64_t* offsets, int64_t outlength); \
  struct upsweep_awkward_error awkward_IndexedArray##NAME##_numnull(int64_t* numnull, const T* fromindex,              \
                                                                    int64_t lenindex);                                 \
  struct upsweep_awkward_error awkward_IndexedArray##NAME##_simplify32_to64(                                           \
      int64_t* toindex, const T* outerindex, int64_t outerlength, const int32_t* innerindex, int64_t innerlength);     \
  struct upsweep_awkward_error awkward_IndexedArray##NAME##_simplifyU32_to64(                                          \
      int64_t* toindex, const T* outerindex, int64_t outerlength, const uint32_t* innerindex, int64_t innerlength);    \
  struct upsweep_awkward_error awkward_IndexedArray##NAME##_simplify64_to64(                                           \
      int64_t* toindex, const T* outerindex, int64_t outerlength, const int64_t* innerindex, int64_t innerlength);     \
  struct upsweep_awkward_error awkward_IndexedArray_fill_to64_from##NAME(                                              \
      int64_t* toindex, int64_t toindexoffset, const T* fromindex, int64_t length, int64_t base);                      \
  struct upsweep_awkward_error awkward_IndexedArray##NAME##_overlay_mask8_to64(int64_t* toindex, const int8_t* mask,   \
                                                                               const T* fromindex, int64_t length);
UPSWEEP_AWKWARD_BOUNDS(UPSWEEP_AWKWARD_KERNELS)
#undef UPSWEEP_AWKWARD_KERNELS
struct upsweep_awkward_error awkward_upsweep_valid_together_64(int64_t* numvalid, int64_t* toindex,
                                                               int64_t* const* tocarries, const int64_t* const* indices,
                                                               int64_t arrays, int64_t length);
struct upsweep_awkward_error awkward_IndexedArray_fill_to64_count(int64_t* toindex, int64_t toindexoffset,
                                                                  int64_t length, int64_t base);
struct upsweep_awkward_error awkward_ByteMaskedArray_getitem_nextcarry_64(int64_t* tocarry, const int8_t* mask,
                                                                          int64_t length, bool validwhen);
struct upsweep_awkward_error awkward_ByteMaskedArray_getitem_nextcarry_outindex_64(int64_t* tocarry, int64_t* outindex,
                                                                                   const int8_t* mask, int64_t length,
                                                                                   bool validwhen);
struct upsweep_awkward_error awkward_ByteMaskedArray_reduce_next_64(int64_t* nextcarry, int64_t* nextoffsets,
                                                                    int64_t* outindex, const int8_t* mask,
                                                                    const int64_t* offsets, int64_t outlength,
                                                                    bool validwhen);
struct upsweep_awkward_error awkward_ByteMaskedArray_toIndexedOptionArray64(int64_t* toindex, const int8_t* mask,
                                                                            int64_t length, bool validwhen);
struct upsweep_awkward_error awkward_ListOffsetArray_drop_none_indexes_32(int32_t* tooffsets,
                                                                          const int32_t* noneindexes,
                                                                          const int32_t* fromoffsets,
                                                                          int64_t length_offsets,
                                                                          int64_t length_indexes);
struct upsweep_awkward_error awkward_ListOffsetArray_drop_none_indexes_64(int64_t* tooffsets,
                                                                          const int64_t* noneindexes,
                                                                          const int64_t* fromoffsets,
                                                                          int64_t length_offsets,
                                                                          int64_t length_indexes);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(bugprone-macro-parentheses) */

#endif /* UPSWEEP_AWKWARD_H */
