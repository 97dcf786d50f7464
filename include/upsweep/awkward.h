/* SPDX-License-Identifier: Apache-2.0 */
/* upsweep/awkward.h: compact_offsets with the names, structs and semantics of Awkward Array's own kernel ABI.
 *
 * Link or load libupsweep-awkward in place of Awkward's kernel library for these three functions. tooffsets holds
 * length + 1 offsets. Success is a null `str`. Otherwise `str` reports what is wrong: "stops[i] < starts[i]" as with
 * Awkward's kernel, or "offsets overflow int64" where a difference or an offset does not fit (Awkward's kernel wraps
 * around). `identity` is then the first bad list, and tooffsets[0 ... identity] are right. `identity` and `attempt` are
 * INT64_MAX where they mean nothing. Safe to call from any number of threads. */
#ifndef UPSWEEP_AWKWARD_H
#define UPSWEEP_AWKWARD_H

#include <stdint.h>

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

struct upsweep_awkward_error awkward_ListArray32_compact_offsets_64(int64_t* tooffsets, const int32_t* fromstarts,
                                                                    const int32_t* fromstops, int64_t length);
struct upsweep_awkward_error awkward_ListArrayU32_compact_offsets_64(int64_t* tooffsets, const uint32_t* fromstarts,
                                                                     const uint32_t* fromstops, int64_t length);
struct upsweep_awkward_error awkward_ListArray64_compact_offsets_64(int64_t* tooffsets, const int64_t* fromstarts,
                                                                    const int64_t* fromstops, int64_t length);

#ifdef __cplusplus
}
#endif

#endif /* UPSWEEP_AWKWARD_H */
