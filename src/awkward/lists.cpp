// SPDX-License-Identifier: Apache-2.0
// awkward/lists.cpp: Awkward Array's kernels that make offsets: compact_offsets and flatten_offsets.
#include "awkward/kernel.hpp"
#include "upsweep/broadcast.hpp"
#include "upsweep/offsets.hpp"

namespace upsweep::awkward {
namespace {

template <class T>
KernelError compact(std::int64_t* tooffsets, const T* starts, const T* stops, std::int64_t length) {
  return run([&] { upsweep::offsets(par, starts, stops, count_of(length), tooffsets); }, as_refused);
}

/// Flattens offsets one after the other, with outer offsets in any order: inputs that flatten() refuses or that have no
/// list.
template <class T>
KernelError flattened_in_any_order(std::int64_t* tooffsets, const T* outer, std::int64_t length,
                                   const std::int64_t* inner) {
  for (std::int64_t i = 0; i < length; ++i) {
    const auto at = static_cast<std::int64_t>(outer[i]);
    if (at < 0) return failure("outer offset out of range", i, at);
    tooffsets[i] = inner[at];
  }
  return success();
}

template <class T>
KernelError flattened(std::int64_t* tooffsets, const T* outer, std::int64_t length, const std::int64_t* inner) {
  if (length > 0 && (tooffsets == nullptr || outer == nullptr || inner == nullptr)) {
    return failure(text_of(Code::invalid_argument));
  }
  // The outer lists determine the number of inner lists.
  const std::int64_t lists = length - 1;
  const std::int64_t inner_lists = lists < 1 ? 0 : static_cast<std::int64_t>(outer[lists]);
  if (inner_lists < 1) return flattened_in_any_order(tooffsets, outer, length, inner);
  return run([&] { flatten(par, Lists::by_offsets(outer, lists), Lists::by_offsets(inner, inner_lists), tooffsets); },
             [&](const Error& error) -> Answer {
               if (error.index() == kNoIndex) return {};
               return flattened_in_any_order(tooffsets, outer, length, inner);
             });
}

}  // namespace
}  // namespace upsweep::awkward

using upsweep::awkward::KernelError;

#define UPSWEEP_KERNELS(NAME, T)                                                                         \
  KernelError awkward_ListArray##NAME##_compact_offsets_64(int64_t* tooffsets, const T* fromstarts,      \
                                                           const T* fromstops, int64_t length) {         \
    return upsweep::awkward::compact(tooffsets, fromstarts, fromstops, length);                          \
  }                                                                                                      \
  KernelError awkward_ListOffsetArray##NAME##_flatten_offsets_64(                                        \
      int64_t* tooffsets, const T* outeroffsets, int64_t outeroffsetslen, const int64_t* inneroffsets) { \
    return upsweep::awkward::flattened(tooffsets, outeroffsets, outeroffsetslen, inneroffsets);          \
  }
UPSWEEP_AWKWARD_BOUNDS(UPSWEEP_KERNELS)
#undef UPSWEEP_KERNELS
