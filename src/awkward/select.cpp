// SPDX-License-Identifier: Apache-2.0
// awkward/select.cpp: Awkward Array's kernels that take elements of lists by index, and that count what a mask leaves out.
#include "upsweep/select.hpp"

#include <span>

#include "awkward/kernel.hpp"

namespace upsweep::awkward {
namespace {

/// Lists, their content's length, and for each of them the indices that are taken of it.
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

  /// How many indices there are, where they are good.
  [[nodiscard]] std::int64_t taken() const {
    if (n == 0) return 0;
    if (index_stops == index_starts + 1) return index_stops[n - 1] - index_starts[0];
    std::uint64_t total = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      total += static_cast<std::uint64_t>(index_stops[i]) - static_cast<std::uint64_t>(index_starts[i]);
    }
    return static_cast<std::int64_t>(total);
  }

  /// What is wrong with list i.
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
  return run(
      [&] {
        detail::require_array(take.index_starts, take.n, "starts of the indices");
        detail::require_array(take.index_stops, take.n, "stops of the indices");
        take_positions(par, Lists::by_bounds(take.starts, take.stops, take.n), count_of(take.content),
                       Lists::by_bounds(take.index_starts, take.index_stops, take.n),
                       Indices(take.indices, count_of(take.indices_length)), tooffsets, tocarry,
                       count_of(take.taken()));
      },
      [&](const Error& error) { return error.code() == Code::invalid_argument ? Answer{} : take.first_error(); });
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

/// Bytes of an element, of which the library moves some.
int element_size(std::int64_t bytes) {
  return static_cast<int>(std::min<std::int64_t>(bytes, std::numeric_limits<int>::max()));
}

KernelError select_lists(std::int64_t* tooffsets, void* to, std::int64_t room, const std::int64_t* offsets,
                         std::int64_t length, const bool* mask, const void* content, std::int64_t bytes) {
  const std::int64_t n = count_of(length);
  const std::int64_t elements = count_of(end_of(offsets, n));
  return run(
      [&] {
        const SelectColumn column(content, elements, to, room, element_size(bytes));
        const auto columns = std::span(&column, bytes == 0 ? 0 : 1);
        select(par, Lists::by_offsets(offsets, n), Mask::bytes(mask, elements), tooffsets, columns);
      },
      [&](const Error&) { return first_bad_offsets(offsets, n); });
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

KernelError awkward_upsweep_select_64(int64_t* tooffsets, void* to, int64_t room, const int64_t* fromoffsets,
                                      int64_t length, const bool* mask, const void* content, int64_t bytes) {
  return upsweep::awkward::select_lists(tooffsets, to, room, fromoffsets, length, mask, content, bytes);
}
KernelError awkward_upsweep_take_64(void* to, const int64_t* fromindex, int64_t lenindex, const void* content,
                                    int64_t lencontent, int64_t bytes) {
  return upsweep::awkward::take_elements(to, fromindex, lenindex, content, lencontent, bytes);
}
