// SPDX-License-Identifier: Apache-2.0
// awkward/slices.cpp: Awkward Array's kernels for slices of lists: ranges, one element per list, and lists as slices.
#include "awkward/kept.hpp"
#include "awkward/ranges.hpp"
#include "cpu/index_kernels.hpp"

namespace upsweep::awkward {
namespace {

template <class T>
struct Bounds {
  const T* starts;
  const T* stops;

  [[nodiscard]] std::int64_t start(std::int64_t i) const { return static_cast<std::int64_t>(starts[i]); }
  [[nodiscard]] std::int64_t size(std::int64_t i) const { return static_cast<std::int64_t>(stops[i]) - start(i); }
};

template <class T>
const auto& slice_kernels() {
  return std::get<cpu::SliceKernels<T>>(cpu::index_kernels(Isa::best).slices);
}

/// Returns a function that makes the slices of a range of lists.
template <class T>
auto sliced(Bounds<T> lists, std::int64_t start, std::int64_t stop, std::int64_t step) {
  const cpu::Slice slice{start, stop, step, start != kNothing, stop != kNothing};
  return [=](std::int64_t first, std::int64_t last) {
    return cpu::SlicedLists<T>{lists.starts + first, lists.stops + first, last - first, slice};
  };
}

template <class T>
KernelError range_length(std::int64_t* carrylength, Bounds<T> lists, std::int64_t n, std::int64_t start,
                         std::int64_t stop, std::int64_t step) {
  if (carrylength == nullptr) return null_array();
  const auto call = [&] {
    const auto of = sliced(lists, start, stop, step);
    *carrylength = sum_of_ranges(
        count_of(n), [&](std::int64_t first, std::int64_t last) { return slice_kernels<T>().count(of(first, last)); });
  };
  return run_on(n, call, lists.starts, lists.stops);
}

template <class T>
KernelError range(T* tooffsets, std::int64_t* tocarry, Bounds<T> lists, std::int64_t n, std::int64_t start,
                  std::int64_t stop, std::int64_t step) {
  if (tooffsets == nullptr) return null_array();
  const auto call = [&] {
    const auto of = sliced(lists, start, stop, step);
    tooffsets[0] = 0;
    write_in_order(
        count_of(n), [&](std::int64_t first, std::int64_t last) { return slice_kernels<T>().count(of(first, last)); },
        [&](std::int64_t first, std::int64_t last, Destination place) {
          return slice_kernels<T>().write(of(first, last), tooffsets + first + 1, tocarry, place.at, place.end);
        });
  };
  return run_on(n, call, lists.starts, lists.stops);
}

template <class T>
KernelError element(std::int64_t* tocarry, Bounds<T> lists, std::int64_t n, std::int64_t at) {
  std::int64_t bad = kNoIndex;
  const auto call = [&] {
    bad = first_bad_of_ranges(count_of(n), [=](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        const std::int64_t size = lists.size(i);
        const std::int64_t from_start = at < 0 ? at + size : at;
        if (from_start < 0 || from_start >= size) return i;
        tocarry[i] = lists.start(i) + from_start;
      }
      return kNoIndex;
    });
  };
  const KernelError error = run_on(n, call, tocarry, lists.starts, lists.stops);
  return bad == kNoIndex ? error : failure("index out of range", bad, at);
}

/// to[i * size + j] ← value(i, j), for n lists of one size.
template <class Value>
void for_sized(std::int64_t* to, std::int64_t n, std::int64_t size, Value value) {
  for_ranges(count_of(n), [=](std::int64_t first, std::int64_t last) {
    if (size == 1) {
      for (std::int64_t i = first; i < last; ++i) to[i] = value(i, 0);
      return;
    }
    for (std::int64_t i = first; i < last; ++i) {
      for (std::int64_t j = 0; j < size; ++j) to[i * size + j] = value(i, j);
    }
  });
}

KernelError sized_range(std::int64_t* tocarry, std::int64_t start, std::int64_t step, std::int64_t n, std::int64_t size,
                        std::int64_t taken) {
  const auto call = [&] {
    for_sized(tocarry, n, taken, [=](std::int64_t i, std::int64_t j) { return i * size + start + j * step; });
  };
  return run_on(n * taken, call, tocarry);
}

KernelError sized_carry(std::int64_t* tocarry, const std::int64_t* lists, std::int64_t n, std::int64_t size) {
  const auto call = [&] {
    for_sized(tocarry, n, size, [=](std::int64_t i, std::int64_t j) { return lists[i] * size + j; });
  };
  return run_on(n * size, call, tocarry, lists);
}

/// Repeats the same lists n times.
KernelError repeat_lists(std::int64_t* tostarts, std::int64_t* tostops, const std::int64_t* offsets, std::int64_t size,
                         std::int64_t n) {
  const auto call = [&] {
    for_sized(tostarts, n, size, [=](std::int64_t /*i*/, std::int64_t j) { return offsets[j]; });
    for_sized(tostops, n, size, [=](std::int64_t /*i*/, std::int64_t j) { return offsets[j + 1]; });
  };
  // If n is 1, the offsets are copied.
  const auto copy = [&] {
    for_ranges(size, [=](std::int64_t first, std::int64_t last) {
      std::copy(offsets + first, offsets + last, tostarts + first);
      std::copy(offsets + first + 1, offsets + last + 1, tostops + first);
    });
  };
  if (n == 1) return run_on(size, copy, tostarts, tostops, offsets);
  return run_on(n * size, call, tostarts, tostops, offsets);
}

template <class T>
KernelError expand(std::int64_t* tostarts, std::int64_t* tostops, const std::int64_t* offsets, std::int64_t* tocarry,
                   Bounds<T> lists, std::int64_t size, std::int64_t n) {
  if (any_null(n, lists.starts, lists.stops)) return null_array();
  std::int64_t bad = kNoIndex;
  const KernelError error = run(
      [&] {
        bad = first_bad_of_ranges(count_of(n), [=](std::int64_t first, std::int64_t last) {
          for (std::int64_t i = first; i < last; ++i) {
            if (lists.size(i) != size) return i;
          }
          return kNoIndex;
        });
        if (bad != kNoIndex) return;
        for_sized(tocarry, n, size, [=](std::int64_t i, std::int64_t j) { return lists.start(i) + j; });
      },
      as_refused);
  if (bad != kNoIndex) {
    return failure(lists.size(bad) < 0 ? "stops[i] < starts[i]" : "cannot fit jagged slice into nested list", bad);
  }
  return error.str != nullptr ? error : repeat_lists(tostarts, tostops, offsets, size, n);
}

template <class T>
KernelError descend(std::int64_t* tooffsets, Bounds<std::int64_t> slice, std::int64_t n, Bounds<T> lists) {
  if (tooffsets == nullptr || any_null(n, slice.starts, slice.stops, lists.starts, lists.stops)) return null_array();
  tooffsets[0] = n <= 0 ? 0 : slice.starts[0];
  std::int64_t bad = kNoIndex;
  const KernelError error = run(
      [&] {
        bad = first_bad_of_ranges(count_of(n), [=](std::int64_t first, std::int64_t last) {
          for (std::int64_t i = first; i < last; ++i) {
            if (slice.size(i) != lists.size(i)) return i;
          }
          return kNoIndex;
        });
        if (bad != kNoIndex) return;
        const std::int64_t begin = tooffsets[0];
        write_in_order(
            count_of(n),
            [=](std::int64_t first, std::int64_t last) {
              std::int64_t total = 0;
              for (std::int64_t i = first; i < last; ++i) total += slice.size(i);
              return total;
            },
            [=](std::int64_t first, std::int64_t last, Destination place) {
              for (std::int64_t i = first; i < last; ++i) {
                place.at += slice.size(i);
                tooffsets[i + 1] = begin + place.at;
              }
              return place.at;
            });
      },
      as_refused);
  if (bad != kNoIndex) return failure("jagged slice inner length differs from array inner length", bad);
  return error;
}

KernelError slice_length(std::int64_t* carrylen, Bounds<std::int64_t> slice, std::int64_t n) {
  if (carrylen == nullptr) return null_array();
  const auto call = [&] {
    *carrylen = sum_of_ranges(count_of(n), [=](std::int64_t first, std::int64_t last) {
      std::int64_t total = 0;
      for (std::int64_t i = first; i < last; ++i) total += slice.size(i);
      return total;
    });
  };
  return run_on(n, call, slice.starts, slice.stops);
}

/// Returns the error of a list of the slice.
Answer slice_error(Bounds<std::int64_t> slice, std::int64_t i, std::int64_t missing_length) {
  if (slice.size(i) < 0) return failure("jagged slice's stops[i] < starts[i]", i);
  if (slice.stops[i] > missing_length) {
    return failure("jagged slice's offsets extend beyond its content", i, slice.stops[i]);
  }
  return failure("jagged slice's starts[i] < 0", i);
}

/// Returns how many indices are not negative.
std::int64_t count_given(const std::int64_t* index, std::int64_t first, std::int64_t last) {
  constexpr int kSign = 63;
  std::uint64_t missing = 0;
  for (std::int64_t j = first; j < last; ++j) missing += static_cast<std::uint64_t>(index[j]) >> kSign;
  return std::max<std::int64_t>(last - first, 0) - static_cast<std::int64_t>(missing);
}

KernelError valid_count(std::int64_t* numvalid, Bounds<std::int64_t> slice, std::int64_t n, const std::int64_t* missing,
                        std::int64_t missing_length) {
  if (numvalid == nullptr || any_null(n, slice.starts, slice.stops)) return null_array();
  std::int64_t bad = kNoIndex;
  const auto call = [&] {
    std::atomic<std::int64_t> total{0};
    bad = first_bad_of_ranges(count_of(n), [&, slice](std::int64_t first, std::int64_t last) {
      const auto is_bad = [=](std::int64_t i) {
        const std::int64_t size = slice.size(i);
        return size < 0 || (size > 0 && (slice.stops[i] > missing_length || slice.starts[i] < 0));
      };
      std::int64_t signs = 0;  // negative if a list may be bad
      for (std::int64_t i = first; i < last; ++i) {
        signs |= slice.size(i) | slice.starts[i] | (missing_length - slice.stops[i]);
      }
      for (std::int64_t i = first; signs < 0 && i < last; ++i) {
        if (is_bad(i)) return i;
      }
      std::int64_t gaps = 0;
      for (std::int64_t i = first; i + 1 < last; ++i) gaps |= slice.stops[i] ^ slice.starts[i + 1];
      std::int64_t count = 0;
      const auto add = [&](std::int64_t begin, std::int64_t end) { count += count_given(missing, begin, end); };
      if (gaps == 0) {
        if (first < last) add(slice.starts[first], slice.stops[last - 1]);
      } else {
        for (std::int64_t i = first; i < last; ++i) add(slice.starts[i], slice.stops[i]);
      }
      total.fetch_add(count, std::memory_order_relaxed);  // it is read when the threads are done
      return kNoIndex;
    });
    *numvalid = total;
  };
  const KernelError error = run(call, as_refused);
  return bad == kNoIndex ? error : *slice_error(slice, bad, missing_length);
}

/// Processes lists in any order, on one thread.
void shrink_any(std::int64_t* tocarry, std::int64_t* tosmall, std::int64_t* tolarge, Bounds<std::int64_t> slice,
                std::int64_t n, const std::int64_t* missing) {
  std::int64_t number = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = slice.starts[i]; j < slice.stops[i]; ++j) {
      if (missing[j] >= 0) tocarry[number++] = j;
    }
    tosmall[i + 1] = tosmall[0] + number;
    tolarge[i + 1] = tolarge[i] + slice.size(i);
  }
}

KernelError shrink(std::int64_t* tocarry, std::int64_t* tosmall, std::int64_t* tolarge, Bounds<std::int64_t> slice,
                   std::int64_t n, const std::int64_t* missing) {
  if (tosmall == nullptr || tolarge == nullptr) return null_array();
  if (any_null(n, slice.starts, slice.stops)) return null_array();
  tosmall[0] = tolarge[0] = n <= 0 ? 0 : slice.starts[0];
  const auto call = [&] {
    if (slice.stops != slice.starts + 1 || first_decrease(slice.starts, count_of(n)) != kNoIndex) {
      shrink_any(tocarry, tosmall, tolarge, slice, count_of(n), missing);
      return;
    }
    const std::int64_t* const offsets = slice.starts;
    const std::int64_t begin = n > 0 ? offsets[0] : 0;
    write_in_order(
        count_of(n),
        [=](std::int64_t first, std::int64_t last) { return count_given(missing, offsets[first], offsets[last]); },
        [=](std::int64_t first, std::int64_t last, Destination place) {
          return walk_lists(
              offsets, first, last, place.at, [=](std::int64_t j) { return missing[j] >= 0; },
              [=](std::int64_t j, std::int64_t number, bool is_kept) {
                if (is_written(number, is_kept, place)) tocarry[number] = j;
              },
              [=](std::int64_t i, std::int64_t number) {
                tosmall[i + 1] = begin + number;
                tolarge[i + 1] = offsets[i + 1];
              });
        });
  };
  return run(call, as_refused);
}

}  // namespace
}  // namespace upsweep::awkward

using upsweep::awkward::KernelError;

// NOLINTBEGIN(bugprone-macro-parentheses): their arguments are types.
#define UPSWEEP_KERNELS(NAME, T)                                                                                       \
  KernelError awkward_ListArray##NAME##_getitem_next_range_carrylength(int64_t* carrylength, const T* fromstarts,      \
                                                                       const T* fromstops, int64_t lenstarts,          \
                                                                       int64_t start, int64_t stop, int64_t step) {    \
    return upsweep::awkward::range_length<T>(carrylength, {fromstarts, fromstops}, lenstarts, start, stop, step);      \
  }                                                                                                                    \
  KernelError awkward_ListArray##NAME##_getitem_next_range_64(T* tooffsets, int64_t* tocarry, const T* fromstarts,     \
                                                              const T* fromstops, int64_t lenstarts, int64_t start,    \
                                                              int64_t stop, int64_t step) {                            \
    return upsweep::awkward::range<T>(tooffsets, tocarry, {fromstarts, fromstops}, lenstarts, start, stop, step);      \
  }                                                                                                                    \
  KernelError awkward_ListArray##NAME##_getitem_next_at_64(int64_t* tocarry, const T* fromstarts, const T* fromstops,  \
                                                           int64_t lenstarts, int64_t at) {                            \
    return upsweep::awkward::element<T>(tocarry, {fromstarts, fromstops}, lenstarts, at);                              \
  }                                                                                                                    \
  KernelError awkward_ListArray##NAME##_getitem_jagged_expand_64(                                                      \
      int64_t* multistarts, int64_t* multistops, const int64_t* singleoffsets, int64_t* tocarry, const T* fromstarts,  \
      const T* fromstops, int64_t jaggedsize, int64_t length) {                                                        \
    return upsweep::awkward::expand<T>(multistarts, multistops, singleoffsets, tocarry, {fromstarts, fromstops},       \
                                       jaggedsize, length);                                                            \
  }                                                                                                                    \
  KernelError awkward_ListArray##NAME##_getitem_jagged_descend_64(int64_t* tooffsets, const int64_t* slicestarts,      \
                                                                  const int64_t* slicestops, int64_t sliceouterlen,    \
                                                                  const T* fromstarts, const T* fromstops) {           \
    return upsweep::awkward::descend<T>(tooffsets, {slicestarts, slicestops}, sliceouterlen, {fromstarts, fromstops}); \
  }
UPSWEEP_AWKWARD_BOUNDS(UPSWEEP_KERNELS)
#undef UPSWEEP_KERNELS
// NOLINTEND(bugprone-macro-parentheses)

KernelError awkward_RegularArray_getitem_next_range_64(int64_t* tocarry, int64_t regular_start, int64_t step,
                                                       int64_t length, int64_t size, int64_t nextsize) {
  return upsweep::awkward::sized_range(tocarry, regular_start, step, length, size, nextsize);
}
KernelError awkward_RegularArray_getitem_carry_64(int64_t* tocarry, const int64_t* fromcarry, int64_t lencarry,
                                                  int64_t size) {
  return upsweep::awkward::sized_carry(tocarry, fromcarry, lencarry, size);
}
KernelError awkward_RegularArray_getitem_jagged_expand_64(int64_t* multistarts, int64_t* multistops,
                                                          const int64_t* singleoffsets, int64_t regularsize,
                                                          int64_t regularlength) {
  return upsweep::awkward::repeat_lists(multistarts, multistops, singleoffsets, regularsize, regularlength);
}
KernelError awkward_ListArray_getitem_jagged_carrylen_64(int64_t* carrylen, const int64_t* slicestarts,
                                                         const int64_t* slicestops, int64_t sliceouterlen) {
  return upsweep::awkward::slice_length(carrylen, {slicestarts, slicestops}, sliceouterlen);
}
KernelError awkward_ListArray_getitem_jagged_numvalid_64(int64_t* numvalid, const int64_t* slicestarts,
                                                         const int64_t* slicestops, int64_t length,
                                                         const int64_t* missing, int64_t missinglength) {
  return upsweep::awkward::valid_count(numvalid, {slicestarts, slicestops}, length, missing, missinglength);
}
KernelError awkward_ListArray_getitem_jagged_shrink_64(int64_t* tocarry, int64_t* tosmalloffsets,
                                                       int64_t* tolargeoffsets, const int64_t* slicestarts,
                                                       const int64_t* slicestops, int64_t length,
                                                       const int64_t* missing) {
  return upsweep::awkward::shrink(tocarry, tosmalloffsets, tolargeoffsets, {slicestarts, slicestops}, length, missing);
}
