// SPDX-License-Identifier: Apache-2.0
// awkward/reducers.cpp: Awkward Array's kernels that reduce every list. They skip NaN in minima and maxima, where
// segmented_reduce() propagates it: lists in which there was one are done again.
#include <type_traits>

#include "awkward/kernel.hpp"
#include "cpu/blocks.hpp"
#include "upsweep/segmented.hpp"

namespace upsweep::awkward {
namespace {

/// n lists and their content.
template <class In>
struct Content {
  const In* elements;
  const std::int64_t* offsets;
  std::int64_t n;

  Content(const In* from, const std::int64_t* list_offsets, std::int64_t length)
      : elements(from), offsets(list_offsets), n(count_of(length)) {}

  [[nodiscard]] std::int64_t end() const { return end_of(offsets, n); }
};

/// run(), of calls whose lists alone may be bad.
template <class In, class Call>
KernelError reduced(const Content<In>& content, Call call) {
  return run(call, [&](const Error&) { return first_bad_offsets(content.offsets, content.n); });
}

template <class In, class Out, class Op>
KernelError reduce(Out* to, const Content<In>& content, Op op) {
  return reduced(content, [&] {
    segmented_reduce(par, Lists::by_offsets(content.offsets, content.n), content.elements, content.end(), to, op);
  });
}

/// Results are looked at again while the lists that they are of are in the cache.
constexpr std::int64_t kListsAtATime = 128 * 1024;
/// … by one thread at a time.
constexpr std::int64_t kListsOfABlock = 8 * 1024;

/// Reduces the lists and calls look_again(i) for each.
template <class In, class Out, class Op, class Look, class... Init>
KernelError reduce_and_look(Out* to, const Content<In>& content, Op op, Look look_again, Init... init) {
  return reduced(content, [&] {
    for (std::int64_t first = 0; first < content.n; first += kListsAtATime) {
      const std::int64_t count = std::min(kListsAtATime, content.n - first);
      segmented_reduce(par, Lists::by_offsets(content.offsets + first, count), content.elements, content.end(),
                       to + first, op, init...);
      cpu::for_each_block(count, kListsOfABlock, par.threads, [&](cpu::Range lists) {
        for (std::int64_t i = 0; i < lists.count; ++i) look_again(first + lists.first + i);
        return kNoIndex;
      });
    }
  });
}

struct Less {
  template <class T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};
struct Greater {
  template <class T>
  bool operator()(T a, T b) const {
    return a > b;
  }
};

/// The minimum or maximum of each list and `identity`.
template <class T, class Op, class Better>
KernelError extremum(T* to, const Content<T>& content, Op op, Better is_better, T identity) {
  if constexpr (std::is_floating_point_v<T>) {
    const auto skip_nan = [&, to](std::int64_t i) {
      if (to[i] == to[i]) return;
      T best = identity;
      for (std::int64_t j = content.offsets[i]; j < content.offsets[i + 1]; ++j) {
        if (is_better(content.elements[j], best)) best = content.elements[j];
      }
      to[i] = best;
    };
    return reduce_and_look(to, content, op, skip_nan, identity);
  } else {
    return reduced(content, [&] {
      segmented_reduce(par, Lists::by_offsets(content.offsets, content.n), content.elements, content.end(), to, op,
                       identity);
    });
  }
}

/// Where in the content, not in its list, each list's first minimum or maximum is. Of a list that begins with NaN, that is it.
template <class T, class Op, class Better>
KernelError extremum_at(std::int64_t* to, const Content<T>& content, Op op, Better is_better) {
  return reduce_and_look(to, content, op, [&, to](std::int64_t i) {
    if (to[i] < 0) return;  // an empty list
    std::int64_t best = content.offsets[i] + to[i];
    const T found = content.elements[best];
    if (found != found && to[i] > 0) {  // a NaN in its midst
      best = content.offsets[i];
      for (std::int64_t j = best + 1; j < content.offsets[i + 1]; ++j) {
        if (is_better(content.elements[j], content.elements[best])) best = j;
      }
    }
    to[i] = best;
  });
}

}  // namespace
}  // namespace upsweep::awkward

using upsweep::awkward::Content;
using upsweep::awkward::KernelError;

#define UPSWEEP_KERNELS(OUT, OUT_T, IN, IN_T)                                                                 \
  KernelError awkward_reduce_sum_##OUT##_##IN##_64(OUT_T* toptr, const IN_T* fromptr, const int64_t* offsets, \
                                                   int64_t outlength) {                                       \
    return upsweep::awkward::reduce(toptr, Content(fromptr, offsets, outlength), upsweep::add);               \
  }
UPSWEEP_AWKWARD_SUMS(UPSWEEP_KERNELS)
#undef UPSWEEP_KERNELS

#define UPSWEEP_KERNELS(OUT, OUT_T, IN, IN_T)                                                                  \
  KernelError awkward_reduce_prod_##OUT##_##IN##_64(OUT_T* toptr, const IN_T* fromptr, const int64_t* offsets, \
                                                    int64_t outlength) {                                       \
    return upsweep::awkward::reduce(toptr, Content(fromptr, offsets, outlength), upsweep::mul);                \
  }
UPSWEEP_AWKWARD_PRODUCTS(UPSWEEP_KERNELS)
#undef UPSWEEP_KERNELS

#define UPSWEEP_KERNELS(NAME, T)                                                                                \
  KernelError awkward_reduce_sum_bool_##NAME##_64(bool* toptr, const T* fromptr, const int64_t* offsets,        \
                                                  int64_t outlength) {                                          \
    return upsweep::awkward::reduce(toptr, Content(fromptr, offsets, outlength), upsweep::any);                 \
  }                                                                                                             \
  KernelError awkward_reduce_prod_bool_##NAME##_64(bool* toptr, const T* fromptr, const int64_t* offsets,       \
                                                   int64_t outlength) {                                         \
    return upsweep::awkward::reduce(toptr, Content(fromptr, offsets, outlength), upsweep::all);                 \
  }                                                                                                             \
  KernelError awkward_reduce_countnonzero_##NAME##_64(int64_t* toptr, const T* fromptr, const int64_t* offsets, \
                                                      int64_t outlength) {                                      \
    return upsweep::awkward::reduce(toptr, Content(fromptr, offsets, outlength), upsweep::count_nonzero);       \
  }
UPSWEEP_AWKWARD_ELEMENTS(UPSWEEP_KERNELS)
#undef UPSWEEP_KERNELS

#define UPSWEEP_KERNELS(NAME, T)                                                                          \
  KernelError awkward_reduce_min_##NAME##_##NAME##_64(T* toptr, const T* fromptr, const int64_t* offsets, \
                                                      int64_t outlength, T identity) {                    \
    return upsweep::awkward::extremum(toptr, Content(fromptr, offsets, outlength), upsweep::min,          \
                                      upsweep::awkward::Less{}, identity);                                \
  }                                                                                                       \
  KernelError awkward_reduce_max_##NAME##_##NAME##_64(T* toptr, const T* fromptr, const int64_t* offsets, \
                                                      int64_t outlength, T identity) {                    \
    return upsweep::awkward::extremum(toptr, Content(fromptr, offsets, outlength), upsweep::max,          \
                                      upsweep::awkward::Greater{}, identity);                             \
  }                                                                                                       \
  KernelError awkward_reduce_argmin_##NAME##_64(int64_t* toptr, const T* fromptr, const int64_t* offsets, \
                                                const int64_t* /*starts*/, int64_t outlength) {           \
    return upsweep::awkward::extremum_at(toptr, Content(fromptr, offsets, outlength), upsweep::argmin,    \
                                         upsweep::awkward::Less{});                                       \
  }                                                                                                       \
  KernelError awkward_reduce_argmax_##NAME##_64(int64_t* toptr, const T* fromptr, const int64_t* offsets, \
                                                const int64_t* /*starts*/, int64_t outlength) {           \
    return upsweep::awkward::extremum_at(toptr, Content(fromptr, offsets, outlength), upsweep::argmax,    \
                                         upsweep::awkward::Greater{});                                    \
  }
UPSWEEP_AWKWARD_NUMBERS(UPSWEEP_KERNELS)
#undef UPSWEEP_KERNELS
