// SPDX-License-Identifier: Apache-2.0
// awkward/sort.cpp: Awkward Array's kernels that sort lists: NaN first in both directions, always stable.
#include <numeric>
#include <vector>

#include "awkward/kernel.hpp"
#include "upsweep/segmented_sort.hpp"

namespace upsweep::awkward {
namespace {

/// Returns the offsets, or a copy of them in `shorter` with lists truncated after `length` elements, as Awkward does.
template <class Offset>
const Offset* within(std::int64_t length, const Offset* offsets, std::int64_t n, std::vector<Offset>& shorter) {
  detail::require_array(offsets, n + 1, "offsets");
  if (static_cast<std::int64_t>(offsets[n]) <= length) return offsets;
  shorter.assign(offsets, offsets + n + 1);
  for (Offset& offset : shorter) offset = static_cast<Offset>(std::min<std::int64_t>(offset, length));
  return shorter.data();
}

constexpr SortOptions options(bool ascending) { return {.descending = !ascending, .nan_first = true}; }

template <class T>
KernelError sort(T* to, const T* from, std::int64_t length, const std::int64_t* given, std::int64_t offsets_length,
                 bool ascending) {
  const std::int64_t n = offsets_length - 1;
  if (n < 0) return success();
  return run(
      [&] {
        std::vector<std::int64_t> shorter;
        const std::int64_t* const offsets = within(count_of(length), given, n, shorter);
        const std::int64_t end = count_of(offsets[n]);
        // Elements before the first list stay unchanged.
        if (offsets[0] > 0) std::copy_n(from, std::min(offsets[0], end), to);
        segmented_sort(par, Lists::by_offsets(offsets, n), from, end, to, end, options(ascending));
      },
      [&](const Error&) { return first_bad_offsets(given, n); });
}

template <class T, class Offset>
KernelError argsort(std::int64_t* to, const T* from, std::int64_t length, const Offset* given,
                    std::int64_t offsets_length, bool ascending) {
  const std::int64_t elements = count_of(length);
  const std::int64_t n = count_of(offsets_length - 1);
  return run(
      [&] {
        std::vector<Offset> shorter;
        const Offset* const offsets = n == 0 ? given : within(elements, given, n, shorter);
        const std::int64_t begin = n == 0 ? 0 : std::clamp<std::int64_t>(offsets[0], 0, elements);
        const std::int64_t end = n == 0 ? 0 : count_of(static_cast<std::int64_t>(offsets[n]));
        segmented_argsort(par, Lists::by_offsets(offsets, n), from, end, to, end, options(ascending));
        // Elements that are in no list keep their position in the content.
        std::iota(to, to + begin, std::int64_t{0});
        std::iota(to + end, to + elements, end);
      },
      [&](const Error&) { return first_bad_offsets(given, n); });
}

/// Offsets are less than 2^63.
const std::int64_t* as_signed(const std::uint64_t* offsets) { return reinterpret_cast<const std::int64_t*>(offsets); }

}  // namespace
}  // namespace upsweep::awkward

using upsweep::awkward::KernelError;

// NOLINTBEGIN(bugprone-macro-parentheses): their arguments are types.

#define UPSWEEP_KERNELS(NAME, T)                                                                                       \
  KernelError awkward_sort_##NAME(T* toptr, const T* fromptr, int64_t length, const int64_t* offsets,                  \
                                  int64_t offsetslength, bool ascending, bool /*stable*/) {                            \
    return upsweep::awkward::sort(toptr, fromptr, length, offsets, offsetslength, ascending);                          \
  }                                                                                                                    \
  KernelError awkward_argsort_##NAME##_int32(int64_t* toptr, const T* fromptr, int64_t length, const int32_t* offsets, \
                                             int64_t offsetslength, bool ascending, bool /*stable*/) {                 \
    return upsweep::awkward::argsort(toptr, fromptr, length, offsets, offsetslength, ascending);                       \
  }                                                                                                                    \
  KernelError awkward_argsort_##NAME##_uint32(int64_t* toptr, const T* fromptr, int64_t length,                        \
                                              const uint32_t* offsets, int64_t offsetslength, bool ascending,          \
                                              bool /*stable*/) {                                                       \
    return upsweep::awkward::argsort(toptr, fromptr, length, offsets, offsetslength, ascending);                       \
  }                                                                                                                    \
  KernelError awkward_argsort_##NAME##_int64(int64_t* toptr, const T* fromptr, int64_t length, const int64_t* offsets, \
                                             int64_t offsetslength, bool ascending, bool /*stable*/) {                 \
    return upsweep::awkward::argsort(toptr, fromptr, length, offsets, offsetslength, ascending);                       \
  }                                                                                                                    \
  KernelError awkward_argsort_##NAME##_uint64(int64_t* toptr, const T* fromptr, int64_t length,                        \
                                              const uint64_t* offsets, int64_t offsetslength, bool ascending,          \
                                              bool /*stable*/) {                                                       \
    return upsweep::awkward::argsort(toptr, fromptr, length, upsweep::awkward::as_signed(offsets), offsetslength,      \
                                     ascending);                                                                       \
  }
UPSWEEP_AWKWARD_ELEMENTS(UPSWEEP_KERNELS)
#undef UPSWEEP_KERNELS
// NOLINTEND(bugprone-macro-parentheses)
