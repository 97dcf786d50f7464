// SPDX-License-Identifier: Apache-2.0
// awkward/padding.cpp: Awkward Array's kernels that pad lists to a length with -1, or truncate them there.
#include "awkward/ranges.hpp"

namespace upsweep::awkward {
namespace {

/// Lists that are padded to at least `target` elements.
template <class T>
struct Padded {
  const T* starts;
  const T* stops;
  std::int64_t target;

  [[nodiscard]] std::int64_t size(std::int64_t i) const {
    return static_cast<std::int64_t>(stops[i]) - static_cast<std::int64_t>(starts[i]);
  }
  [[nodiscard]] std::int64_t padded(std::int64_t i) const { return std::max(size(i), target); }
  [[nodiscard]] std::int64_t total(std::int64_t first, std::int64_t last) const {
    std::int64_t sum = 0;
    for (std::int64_t i = first; i < last; ++i) sum += padded(i);
    return sum;
  }
  /// Writes the positions of the elements of list i and its padding, and advances the place.
  void write(std::int64_t* to, Destination& place, std::int64_t i) const {
    const auto start = static_cast<std::int64_t>(starts[i]);
    const std::int64_t there = std::max<std::int64_t>(size(i), 0);
    const std::int64_t count = padded(i);
    std::int64_t* const out = to + place.at;
    if (count <= kWhole && place.at + kWhole <= place.end) {
      const std::int64_t* const missing = beyond<std::int64_t>(there);
      for (std::int64_t lane = 0; lane < kWhole; ++lane) out[lane] = (start + lane) | missing[lane];
    } else {
      for (std::int64_t j = 0; j < there; ++j) out[j] = start + j;
      std::fill(out + there, out + std::max(there, count), -1);
    }
    place.at += count;
  }
};

template <class T>
Padded<T> padded_of(const T* offsets, std::int64_t target) {
  return {offsets, offsets + 1, target};
}

template <class T>
KernelError padded_offsets(T* tooffsets, const T* offsets, std::int64_t n, std::int64_t target,
                           std::int64_t* tolength) {
  if (tooffsets == nullptr || tolength == nullptr) return null_array();
  const auto call = [&] {
    const Padded<T> lists = padded_of(offsets, target);
    tooffsets[0] = 0;
    *tolength = write_in_order(
        count_of(n), [&](std::int64_t first, std::int64_t last) { return lists.total(first, last); },
        [&](std::int64_t first, std::int64_t last, Destination place) {
          for (std::int64_t i = first; i < last; ++i) {
            place.at += lists.padded(i);
            tooffsets[i + 1] = static_cast<T>(place.at);
          }
          return place.at;
        });
  };
  return run_on(n, call, offsets);
}

template <class T>
KernelError padded_positions(std::int64_t* to, const T* offsets, std::int64_t n, std::int64_t target) {
  const auto call = [&] {
    const Padded<T> lists = padded_of(offsets, target);
    write_in_order(
        count_of(n), [&](std::int64_t first, std::int64_t last) { return lists.total(first, last); },
        [&](std::int64_t first, std::int64_t last, Destination place) {
          for (std::int64_t i = first; i < last; ++i) lists.write(to, place, i);
          return place.at;
        });
  };
  return run_on(n, call, offsets);
}

template <class T>
KernelError padded_length(std::int64_t* to, const T* starts, const T* stops, std::int64_t target, std::int64_t n) {
  if (to == nullptr) return null_array();
  const auto call = [&] {
    const Padded<T> lists{starts, stops, target};
    *to = sum_of_ranges(count_of(n), [&](std::int64_t first, std::int64_t last) { return lists.total(first, last); });
  };
  return run_on(n, call, starts, stops);
}

template <class T>
KernelError padded_lists(std::int64_t* to, const T* starts, const T* stops, T* tostarts, T* tostops,
                         std::int64_t target, std::int64_t n) {
  const auto call = [&] {
    const Padded<T> lists{starts, stops, target};
    write_in_order(
        count_of(n), [&](std::int64_t first, std::int64_t last) { return lists.total(first, last); },
        [&](std::int64_t first, std::int64_t last, Destination place) {
          for (std::int64_t i = first; i < last; ++i) {
            tostarts[i] = static_cast<T>(place.at);
            lists.write(to, place, i);
            tostops[i] = static_cast<T>(place.at);
          }
          return place.at;
        });
  };
  return run_on(n, call, starts, stops, tostarts, tostops);
}

/// Writes the first `target` elements of each list. They begin at start(i), and size(i) of them exist.
template <class Start, class Size>
void clip(std::int64_t* to, std::int64_t n, std::int64_t target, Start start, Size size) {
  for_ranges(n, [=](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t from = start(i);
      const std::int64_t there = size(i);
      for (std::int64_t j = 0; j < target; ++j) to[i * target + j] = j < there ? from + j : -1;
    }
  });
}

template <class T>
KernelError clipped(std::int64_t* to, const T* offsets, std::int64_t n, std::int64_t target) {
  const auto call = [&] {
    const Padded<T> lists = padded_of(offsets, target);
    clip(
        to, count_of(n), target, [=](std::int64_t i) { return static_cast<std::int64_t>(offsets[i]); },
        [=](std::int64_t i) { return lists.size(i); });
  };
  return run_on(n, call, to, offsets);
}

KernelError clipped_of_size(std::int64_t* to, std::int64_t target, std::int64_t size, std::int64_t n) {
  const auto call = [&] {
    clip(to, count_of(n), target, [=](std::int64_t i) { return i * size; }, [=](std::int64_t /*i*/) { return size; });
  };
  return run_on(n, call, to);
}

KernelError clipped_bounds(std::int64_t* tostarts, std::int64_t* tostops, std::int64_t target, std::int64_t n) {
  const auto call = [&] {
    for_ranges(count_of(n), [=](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        tostarts[i] = i * target;
        tostops[i] = (i + 1) * target;
      }
    });
  };
  return run_on(n, call, tostarts, tostops);
}

/// Pads or truncates one list of `length` elements.
KernelError clipped_list(std::int64_t* to, std::int64_t target, std::int64_t length) {
  const auto call = [&] {
    for_ranges(count_of(target), [=](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) to[i] = i < length ? i : -1;
    });
  };
  return run_on(target, call, to);
}

}  // namespace
}  // namespace upsweep::awkward

using upsweep::awkward::KernelError;

// NOLINTBEGIN(bugprone-macro-parentheses): their arguments are types.
#define UPSWEEP_KERNELS(NAME, T)                                                                                 \
  KernelError awkward_ListOffsetArray##NAME##_rpad_length_axis1(                                                 \
      T* tooffsets, const T* fromoffsets, int64_t fromlength, int64_t target, int64_t* tolength) {               \
    return upsweep::awkward::padded_offsets(tooffsets, fromoffsets, fromlength, target, tolength);               \
  }                                                                                                              \
  KernelError awkward_ListOffsetArray##NAME##_rpad_axis1_64(int64_t* toindex, const T* fromoffsets,              \
                                                            int64_t fromlength, int64_t target) {                \
    return upsweep::awkward::padded_positions(toindex, fromoffsets, fromlength, target);                         \
  }                                                                                                              \
  KernelError awkward_ListOffsetArray##NAME##_rpad_and_clip_axis1_64(int64_t* toindex, const T* fromoffsets,     \
                                                                     int64_t length, int64_t target) {           \
    return upsweep::awkward::clipped(toindex, fromoffsets, length, target);                                      \
  }                                                                                                              \
  KernelError awkward_ListArray##NAME##_rpad_and_clip_length_axis1(                                              \
      int64_t* tomin, const T* fromstarts, const T* fromstops, int64_t target, int64_t lenstarts) {              \
    return upsweep::awkward::padded_length(tomin, fromstarts, fromstops, target, lenstarts);                     \
  }                                                                                                              \
  KernelError awkward_ListArray##NAME##_rpad_axis1_64(int64_t* toindex, const T* fromstarts, const T* fromstops, \
                                                      T* tostarts, T* tostops, int64_t target, int64_t length) { \
    return upsweep::awkward::padded_lists(toindex, fromstarts, fromstops, tostarts, tostops, target, length);    \
  }
UPSWEEP_AWKWARD_BOUNDS(UPSWEEP_KERNELS)
#undef UPSWEEP_KERNELS
// NOLINTEND(bugprone-macro-parentheses)

KernelError awkward_RegularArray_rpad_and_clip_axis1_64(int64_t* toindex, int64_t target, int64_t size,
                                                        int64_t length) {
  return upsweep::awkward::clipped_of_size(toindex, target, size, length);
}
KernelError awkward_index_rpad_and_clip_axis0_64(int64_t* toindex, int64_t target, int64_t length) {
  return upsweep::awkward::clipped_list(toindex, target, length);
}
KernelError awkward_index_rpad_and_clip_axis1_64(int64_t* tostarts, int64_t* tostops, int64_t target, int64_t length) {
  return upsweep::awkward::clipped_bounds(tostarts, tostops, target, length);
}
