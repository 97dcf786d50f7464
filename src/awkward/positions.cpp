// SPDX-License-Identifier: Apache-2.0
// awkward/positions.cpp: Awkward Array's kernels that write one value per element of lists: its position in
// its list, its list's number or value, or its position in the content.
#include "awkward/kernel.hpp"
#include "upsweep/broadcast.hpp"

namespace upsweep::awkward {
namespace {

/// Awkward writes each list's outputs at the list's offsets, but ours begin with the first list. Throws negative_start.
template <class T, class Out>
Out* at_first_list(Out* out, const T* offsets, std::int64_t n) {
  if (n == 0 || offsets == nullptr || out == nullptr) return out;
  if (static_cast<std::int64_t>(offsets[0]) < 0)
    throw Error(Code::negative_start, "offsets begin before the output", 0);
  return out + offsets[0];
}

template <class T>
KernelError local_index_of(std::int64_t* toindex, const T* offsets, std::int64_t length) {
  const std::int64_t n = count_of(length);
  return run(
      [&] {
        local_index(par, Lists::by_offsets(offsets, n), at_first_list(toindex, offsets, n), elements_of(offsets, n));
      },
      [&](const Error& error) -> Answer {
        if (error.code() != Code::stop_before_start) return {};
        // Lists in disorder: each is processed separately, and lists that end before their start are empty.
        for (std::int64_t i = 0; i < n; ++i) {
          const auto start = static_cast<std::int64_t>(offsets[i]);
          const auto stop = static_cast<std::int64_t>(offsets[i + 1]);
          if (start < 0 && start < stop) return failure(text_of(Code::negative_start), i);
          for (std::int64_t at = start; at < stop; ++at) toindex[at] = at - start;
        }
        return success();
      });
}

KernelError local_index_of_sized(std::int64_t* toindex, std::int64_t size, std::int64_t length) {
  const Lists lists = Lists::of_size(count_of(length), count_of(size));
  return run([&] { local_index(par, lists, toindex, lists.count * lists.size); }, as_refused);
}

template <class T>
KernelError spread(std::int64_t* to, const std::int64_t* from, const T* offsets, std::int64_t length) {
  const std::int64_t n = count_of(length);
  return run(
      [&] {
        broadcast(par, Lists::by_offsets(offsets, n), from, sizeof(std::int64_t), at_first_list(to, offsets, n),
                  elements_of(offsets, n));
      },
      [&](const Error& error) -> Answer {
        if (error.code() != Code::stop_before_start) return {};
        return first_bad_offsets(offsets, n);
      });
}

KernelError spread_sized(std::int64_t* to, const std::int64_t* from, std::int64_t length, std::int64_t size) {
  const Lists lists = Lists::of_size(count_of(length), count_of(size));
  return run([&] { broadcast(par, lists, from, sizeof(std::int64_t), to, lists.count * lists.size); }, as_refused);
}

KernelError parents_of(std::int64_t* to, const std::int64_t* offsets, std::int64_t length, std::int64_t capacity) {
  const std::int64_t n = count_of(length);
  const std::int64_t elements = elements_of(offsets, n);
  return run(
      [&] {
        if (elements > capacity) throw Error(Code::unequal_lengths, "more elements than parents");
        offsets_to_parents(par, Lists::by_offsets(offsets, n), to, elements);
      },
      [&](const Error& error) -> Answer {
        if (error.code() == Code::unequal_lengths) return failure("offsets extend beyond nextparents");
        return first_bad_offsets(offsets, n);
      });
}

KernelError parents_of_sized(std::int64_t* to, std::int64_t size, std::int64_t length) {
  const Lists lists = Lists::of_size(count_of(length), count_of(size));
  return run([&] { offsets_to_parents(par, lists, to, lists.count * lists.size); }, as_refused);
}

/// Returns the error of the first list that does not fit the offsets.
template <class T>
Answer first_not_broadcast(const std::int64_t* offsets, const T* starts, const T* stops, std::int64_t n,
                           std::int64_t content) {
  for (std::int64_t i = 0; i < n; ++i) {
    const auto start = static_cast<std::int64_t>(starts[i]);
    const auto stop = static_cast<std::int64_t>(stops[i]);
    if (start != stop && stop > content) return failure("stops[i] > len(content)", i, stop);
    if (offsets[i + 1] < offsets[i]) return failure("broadcast's offsets must be monotonically increasing", i);
    if (stop - start != offsets[i + 1] - offsets[i]) return failure("cannot broadcast nested list", i);
  }
  return {};
}

template <class T>
KernelError broadcast_lists(std::int64_t* tocarry, const std::int64_t* offsets, std::int64_t offsets_length,
                            const T* starts, const T* stops, std::int64_t content) {
  const std::int64_t n = count_of(offsets_length - 1);
  return run(
      [&] {
        if (n == 0) return;
        broadcast_to_offsets(par, Lists::by_bounds(starts, stops, n), offsets, count_of(content), tocarry,
                             elements_of(offsets, n));
      },
      [&](const Error& error) -> Answer {
        if (error.index() == kNoIndex) return {};
        return first_not_broadcast(offsets, starts, stops, n, content);
      });
}

}  // namespace
}  // namespace upsweep::awkward

using upsweep::awkward::KernelError;

#define UPSWEEP_KERNELS(NAME, T)                                                                                      \
  KernelError awkward_ListArray##NAME##_localindex_64(int64_t* toindex, const T* offsets, int64_t length) {           \
    return upsweep::awkward::local_index_of(toindex, offsets, length);                                                \
  }                                                                                                                   \
  KernelError awkward_ListArray##NAME##_getitem_next_range_spreadadvanced_64(                                         \
      int64_t* toadvanced, const int64_t* fromadvanced, const T* fromoffsets, int64_t lenstarts) {                    \
    return upsweep::awkward::spread(toadvanced, fromadvanced, fromoffsets, lenstarts);                                \
  }                                                                                                                   \
  KernelError awkward_ListArray##NAME##_broadcast_tooffsets_64(int64_t* tocarry, const int64_t* fromoffsets,          \
                                                               int64_t offsetslength, const T* fromstarts,            \
                                                               const T* fromstops, int64_t lencontent) {              \
    return upsweep::awkward::broadcast_lists(tocarry, fromoffsets, offsetslength, fromstarts, fromstops, lencontent); \
  }
UPSWEEP_AWKWARD_BOUNDS(UPSWEEP_KERNELS)
#undef UPSWEEP_KERNELS

KernelError awkward_RegularArray_localindex_64(int64_t* toindex, int64_t size, int64_t length) {
  return upsweep::awkward::local_index_of_sized(toindex, size, length);
}
KernelError awkward_localindex_64(int64_t* toindex, int64_t length) {
  return upsweep::awkward::local_index_of_sized(toindex, length, 1);
}
KernelError awkward_RegularArray_getitem_next_range_spreadadvanced_64(int64_t* toadvanced, const int64_t* fromadvanced,
                                                                      int64_t length, int64_t nextsize) {
  return upsweep::awkward::spread_sized(toadvanced, fromadvanced, length, nextsize);
}
KernelError awkward_ListOffsetArray64_reduce_local_nextparents_64(int64_t* nextparents, const int64_t* offsets,
                                                                  int64_t length, int64_t nextparents_length) {
  return upsweep::awkward::parents_of(nextparents, offsets, length, nextparents_length);
}
KernelError awkward_RegularArray_reduce_local_nextparents_64(int64_t* nextparents, int64_t size, int64_t length) {
  return upsweep::awkward::parents_of_sized(nextparents, size, length);
}
