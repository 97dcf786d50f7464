// SPDX-License-Identifier: Apache-2.0
// awkward/select.cpp: Awkward Array's kernels that take elements of lists by index, and that count masked elements.
#include "upsweep/select.hpp"

#include <cstddef>
#include <cstring>
#include <span>

#include "awkward/ranges.hpp"

namespace upsweep::awkward {
namespace {

/// Lists, their content's length, and for each list the indices that are taken from it.
template <class T>
struct Take {
  const std::int64_t* index_starts;
  const std::int64_t* index_stops;
  std::int64_t n;
  const std::int64_t* indices;
  std::int64_t indices_length;
  const T* starts;
  const T* stops;
  std::int64_t content;

  /// Returns whether list i and its indices are within their arrays. A list without indices may be anywhere.
  [[nodiscard]] bool is_within(std::int64_t i) const {
    const std::int64_t first = index_starts[i];
    const std::int64_t last = index_stops[i];
    const auto start = static_cast<std::int64_t>(starts[i]);
    const auto stop = static_cast<std::int64_t>(stops[i]);
    const bool are_indices = first >= 0 && first <= last && last <= indices_length;
    return first == last || (are_indices && (start == stop || (start >= 0 && start <= stop && stop <= content)));
  }
  /// The number of indices of lists, and the sign of the minimum number.
  struct Count {
    std::int64_t total = 0;
    std::int64_t signs = 0;
  };
  [[nodiscard]] Count count(std::int64_t first, std::int64_t last) const {
    Count count;
    for (std::int64_t i = first; i < last; ++i) {
      count.total += index_stops[i] - index_starts[i];
      count.signs |= index_stops[i] - index_starts[i];
    }
    return count;
  }
  [[nodiscard]] Count count_between(std::int64_t first, std::int64_t last) const {
    const std::int64_t total = first == last ? 0 : index_stops[last - 1] - index_starts[first];
    return {total, total};
  }
  /// Writes the positions of the elements that are taken from list i. Returns whether all its indices are within the
  /// list.
  bool write(std::int64_t* to, std::int64_t i) const {
    const auto start = static_cast<std::int64_t>(starts[i]);
    const std::int64_t size = static_cast<std::int64_t>(stops[i]) - start;
    bool is_good = true;
    for (std::int64_t j = index_starts[i]; j < index_stops[i]; ++j) {
      const std::int64_t at = indices[j] + (size & -static_cast<std::int64_t>(indices[j] < 0));
      is_good &= static_cast<std::uint64_t>(at) < static_cast<std::uint64_t>(size);
      *to++ = start + at;
    }
    return is_good;
  }

  /// Returns the error of list i.
  [[nodiscard]] Answer error_of(std::int64_t i) const {
    const std::int64_t first = index_starts[i];
    const std::int64_t last = index_stops[i];
    if (first == last) return {};
    if (last < first) return failure("jagged slice's stops[i] < starts[i]", i);
    if (last > indices_length) return failure("jagged slice's offsets extend beyond its content", i, last);
    if (first < 0) return failure("jagged slice's starts[i] < 0", i);
    const auto count = static_cast<std::int64_t>(stops[i]) - static_cast<std::int64_t>(starts[i]);
    if (count < 0) return failure("stops[i] < starts[i]", i);
    if (count > 0 && static_cast<std::int64_t>(stops[i]) > content) return failure("stops[i] > len(content)", i);
    if (count > 0 && static_cast<std::int64_t>(starts[i]) < 0) return failure("starts[i] < 0", i);
    for (std::int64_t j = first; j < last; ++j) {
      if (indices[j] < -count || indices[j] >= count) return failure("index out of range", i, indices[j]);
    }
    return {};
  }
  [[nodiscard]] Answer first_error() const {
    for (std::int64_t i = 0; i < n; ++i) {
      if (const Answer error = error_of(i)) return error;
    }
    return {};
  }
};

template <class T>
KernelError jagged_apply(std::int64_t* tooffsets, std::int64_t* tocarry, const Take<T>& take) {
  if (tooffsets == nullptr) return null_array();
  if (any_null(take.n, take.index_starts, take.index_stops, take.starts, take.stops)) return null_array();
  tooffsets[0] = 0;
  cpu::LowestIndex bad;
  // A list with a negative number of indices would write over another list. Between offsets such lists are found during
  // writing: a list before them has more indices than its range.
  const bool are_adjacent = take.index_stops == take.index_starts + 1;
  const auto count = [&](std::int64_t first, std::int64_t last) {
    const auto indices = are_adjacent ? take.count_between(first, last) : take.count(first, last);
    if (indices.signs >= 0) return indices.total;
    bad.add(first);
    return std::int64_t{0};
  };
  const auto call = [&] {
    const bool is_counted = take.n > kUncounted;
    const std::int64_t all = is_counted ? 0 : count(0, take.n);
    write_in_order(take.n, count, [=, &bad](std::int64_t first, std::int64_t last, Destination place) {
      if (bad.get() != kNoIndex) return place.at;
      const Take<T> lists = take;  // a separate copy, which no write can change
      const std::int64_t end = is_counted ? place.end : all;
      for (std::int64_t i = first; i < last; ++i) {
        const std::int64_t next = place.at + lists.index_stops[i] - lists.index_starts[i];
        if (next > end || !lists.is_within(i) || !lists.write(tocarry + place.at, i)) {
          bad.add(i);
          break;
        }
        tooffsets[i + 1] = place.at = next;
      }
      return place.at;
    });
  };
  const KernelError error = run(call, as_refused);
  return bad.get() == kNoIndex ? error : *take.first_error();
}

KernelError count_null(std::int64_t* numnull, const std::int8_t* mask, std::int64_t length, bool valid_when) {
  return run(
      [&] {
        const std::int64_t n = count_of(length);
        const std::int64_t not_zero = count_kept(par, Mask::bytes(mask, n));
        *numnull = valid_when ? n - not_zero : not_zero;
      },
      as_refused);
}

/// Returns the bytes of an element. The library moves some sizes and refuses others.
int element_size(std::int64_t bytes) {
  return static_cast<int>(std::min<std::int64_t>(bytes, std::numeric_limits<int>::max()));
}

KernelError take_elements(void* to, const std::int64_t* index, std::int64_t n, const void* content,
                          std::int64_t elements, std::int64_t bytes) {
  return run(
      [&] {
        const SelectColumn column(content, elements, to, n, element_size(bytes));
        take(par, Indices(index, n), std::span(&column, 1));
      },
      [&](const Error& error) -> Answer {
        if (error.code() != Code::index_out_of_range) return {};
        return failure(text_of(error.code()), error.index(), index[error.index()]);
      });
}

/// Returns the first of these indices that is not below `elements`, or kNoIndex.
std::int64_t first_outside(const std::int64_t* index, std::int64_t first, std::int64_t last, std::int64_t elements) {
  // The sign of an index, or of its distance to the last element, tells that it is outside. Differences need no
  // comparison of 64 bits, which SSE2 lacks.
  const auto end = static_cast<std::uint64_t>(elements) - 1;
  std::uint64_t signs = 0;
  for (std::int64_t i = first; i < last; ++i) {
    const auto at = static_cast<std::uint64_t>(index[i]);
    signs |= at | (end - at);
  }
  if (static_cast<std::int64_t>(signs) >= 0) return kNoIndex;
  while (static_cast<std::uint64_t>(index[first]) < static_cast<std::uint64_t>(elements)) ++first;
  return first;
}

/// to[i] ← content[index[i]] for a range of indices, which are valid.
template <int kBytes>
void move_elements(std::byte* to, const std::int64_t* index, std::int64_t first, std::int64_t last,
                   const std::byte* content) {
  for (std::int64_t i = first; i < last; ++i) std::memcpy(to + i * kBytes, content + index[i] * kBytes, kBytes);
}

/// Returns the function that moves elements of this size, or null.
auto* mover_of(std::int64_t bytes) {
  switch (bytes) {
    case 1:
      return &move_elements<1>;
    case 2:
      return &move_elements<2>;
    case 4:
      return &move_elements<4>;
    case 8:
      return &move_elements<8>;
    case 16:
      return &move_elements<16>;
    default:
      return decltype(&move_elements<1>){nullptr};
  }
}

/// Takes elements by indices that do not count from the end. A batch of them is checked, and moved while it is in L1.
KernelError project_elements(std::byte* to, const std::int64_t* index, std::int64_t length, const std::byte* content,
                             std::int64_t elements, std::int64_t bytes) {
  constexpr std::int64_t kBatch = 1024;
  const std::int64_t n = count_of(length);
  auto* const move = mover_of(bytes);
  if (move == nullptr || any_null(n, to, index, content)) return null_array();
  std::int64_t bad = kNoIndex;
  const auto call = [&] {
    bad = first_bad_of_ranges(n, [=](std::int64_t first, std::int64_t last) {
      for (; first < last; first += kBatch) {
        const std::int64_t end = std::min(first + kBatch, last);
        const std::int64_t outside = first_outside(index, first, end, elements);
        if (outside != kNoIndex) return outside;
        move(to, index, first, end, content);
      }
      return kNoIndex;
    });
  };
  const KernelError error = run(call, as_refused);
  return bad == kNoIndex ? error : failure("index out of range", bad, index[bad]);
}

}  // namespace
}  // namespace upsweep::awkward

using upsweep::awkward::KernelError;

#define UPSWEEP_KERNELS(NAME, T)                                                                                  \
  KernelError awkward_ListArray##NAME##_getitem_jagged_apply_64(                                                  \
      int64_t* tooffsets, int64_t* tocarry, const int64_t* slicestarts, const int64_t* slicestops,                \
      int64_t sliceouterlen, const int64_t* sliceindex, int64_t sliceinnerlen, const T* fromstarts,               \
      const T* fromstops, int64_t contentlen) {                                                                   \
    return upsweep::awkward::jagged_apply<T>(tooffsets, tocarry,                                                  \
                                             {slicestarts, slicestops, upsweep::awkward::count_of(sliceouterlen), \
                                              sliceindex, sliceinnerlen, fromstarts, fromstops, contentlen});     \
  }
UPSWEEP_AWKWARD_BOUNDS(UPSWEEP_KERNELS)
#undef UPSWEEP_KERNELS

KernelError awkward_ByteMaskedArray_numnull(int64_t* numnull, const int8_t* mask, int64_t length, bool validwhen) {
  return upsweep::awkward::count_null(numnull, mask, length, validwhen);
}

KernelError awkward_upsweep_take_64(void* to, const int64_t* fromindex, int64_t lenindex, const void* content,
                                    int64_t lencontent, int64_t bytes) {
  return upsweep::awkward::take_elements(to, fromindex, lenindex, content, lencontent, bytes);
}
KernelError awkward_upsweep_project_64(void* to, const int64_t* fromindex, int64_t lenindex, const void* content,
                                       int64_t lencontent, int64_t bytes) {
  return upsweep::awkward::project_elements(static_cast<std::byte*>(to), fromindex, lenindex,
                                            static_cast<const std::byte*>(content), lencontent, bytes);
}
