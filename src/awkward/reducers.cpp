// SPDX-License-Identifier: Apache-2.0
// awkward/reducers.cpp: Awkward Array's kernels that reduce every list. They skip NaN in minima and maxima, while
// segmented_reduce() propagates it. So lists with a NaN are reduced again.
#include <atomic>
#include <type_traits>

#include "awkward/ranges.hpp"
#include "awkward/tuning.hpp"
#include "cpu/index_kernels.hpp"
#include "cpu/list_kernels.hpp"
#include "upsweep/segmented_reduce.hpp"

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

/// Calls run() for calls in which only the lists may be bad.
template <class In, class Call>
KernelError reduced(const Content<In>& content, Call call) {
  return run(call, [&](const Error&) { return first_bad_offsets(content.offsets, content.n); });
}

/// Reduces lists. `how` is an operator, after an initial value or none.
template <class In, class Out, class... How>
KernelError reduce(Out* to, const Content<In>& content, How... how) {
  return reduced(content, [&] {
    segmented_reduce(par, Lists::by_offsets(content.offsets, content.n), content.elements, content.end(), to, how...);
  });
}

/// Reduces `lists` lists, starting at `begin`, some at a time, and calls look_again(first, count) for these.
template <class In, class Out, class Look, class... How>
void reduce_and_look(Out* to, const Content<In>& content, std::int64_t begin, std::int64_t lists, Look look_again,
                     How... how) {
  for (std::int64_t first = begin; first < begin + lists; first += kListsAtATime) {
    const std::int64_t count = std::min(kListsAtATime, begin + lists - first);
    segmented_reduce(par, Lists::by_offsets(content.offsets + first, count), content.elements, content.end(),
                     to + first, how...);
    look_again(first, count);
  }
}

template <class T>
bool has_nan(const T* x, std::int64_t n) {
  if constexpr (std::is_integral_v<T>) return false;
  std::atomic<bool> found{false};
  for_ranges(n, [&](std::int64_t first, std::int64_t last) {
    bool is_there = false;
    for (std::int64_t i = first; i < last; ++i) is_there |= x[i] != x[i];
    if (is_there) found.store(true, std::memory_order_relaxed);  // it is read when the threads are done
  });
  return found;
}

struct Less {
  template <class T>
  bool operator()(T a, T b) const {
    return a < b;
  }
  static const auto& kernels(const cpu::ListKernels& of) { return of.least; }
  static const auto& places(const cpu::ListKernels& of) { return of.place_of_least; }
};
struct Greater {
  template <class T>
  bool operator()(T a, T b) const {
    return a > b;
  }
  static const auto& kernels(const cpu::ListKernels& of) { return of.greatest; }
  static const auto& places(const cpu::ListKernels& of) { return of.place_of_greatest; }
};

/// Returns whether lists first … last - 1 are within the content, and short.
template <class T>
bool are_short(const Content<T>& content, std::int64_t first, std::int64_t last) {
  if (content.offsets[first] < 0 || content.offsets[last] > content.end()) return false;
  std::int64_t bits = 0;
  for (std::int64_t i = first; i < last; ++i) bits |= content.offsets[i + 1] - content.offsets[i];
  return (bits & ~kShortList) == 0;
}

/// Calls reduce_short(first, last) for ranges of short lists, and reduce_others(first, count) for the lists between
/// them.
template <class T, class Short, class Others>
void reduce_ranges(const Content<T>& content, Short reduce_short, Others reduce_others) {
  const auto is_done = [&](std::int64_t first, std::int64_t last) {
    if (!are_short(content, first, last)) return false;
    reduce_short(first, last);
    return true;
  };
  if (content.n <= kRange) {
    if (!is_done(0, content.n)) reduce_others(0, content.n);
    return;
  }
  std::vector<std::uint8_t> are_done(static_cast<std::size_t>(cpu::ceil_div(content.n, kRange)));
  for_ranges(content.n, [&](std::int64_t first, std::int64_t last) {
    are_done[static_cast<std::size_t>(first / kRange)] = is_done(first, last) ? 1 : 0;
  });
  for (auto at = are_done.begin(); (at = std::find(at, are_done.end(), 0)) != are_done.end();) {
    const auto end = std::find(at, are_done.end(), 1);
    const std::int64_t first = (at - are_done.begin()) * kRange;
    reduce_others(first, std::min((end - are_done.begin()) * kRange, content.n) - first);
    at = end;
  }
}

/// Whether the kernels for short lists support elements of this type.
template <class T>
constexpr bool kHasKernels = sizeof(T) >= 4;

/// Computes the minimum or maximum of each list and `identity`.
template <class T, class Op, class Better>
KernelError extremum(T* to, const Content<T>& content, Op op, Better is_better, T identity) {
  const auto skip_nan = [&](std::int64_t i) {
    T best = identity;
    for (std::int64_t j = content.offsets[i]; j < content.offsets[i + 1]; ++j) {
      if (is_better(content.elements[j], best)) best = content.elements[j];
    }
    return best;
  };
  const auto look_again = [&](std::int64_t first, std::int64_t count) {
    if (!has_nan(to + first, count)) return;
    for_ranges(count, [&](std::int64_t from, std::int64_t last) {
      for (std::int64_t i = first + from; i < first + last; ++i) {
        if (to[i] != to[i]) to[i] = skip_nan(i);
      }
    });
  };
  const auto reduce_any = [&](std::int64_t first, std::int64_t count) {
    reduce_and_look(to, content, first, count, look_again, identity, op);
  };
  return reduced(content, [&] {
    if (!kHasKernels<T> || any_null(content.n, to, content.elements, content.offsets)) return reduce_any(0, content.n);
    const auto kernel = Better::kernels(cpu::list_kernels(Isa::best))[cpu::at(type_of<T>())];
    reduce_ranges(
        content,
        [&](std::int64_t first, std::int64_t last) {
          const std::int64_t* const offsets = content.offsets + first;
          kernel(nullptr, content.elements, content.end(), offsets, offsets + 1, last - first, &identity, to + first);
        },
        reduce_any);
  });
}

/// Computes the position of each list's first minimum or maximum in the content, not in its list. If a list begins with
/// NaN, it is the position of that NaN.
template <class T, class Op, class Better>
KernelError extremum_at(std::int64_t* to, const Content<T>& content, Op op, Better is_better) {
  const std::int64_t* const offsets = content.offsets;
  const T* const x = content.elements;
  const auto skip_nan = [&](std::int64_t i) {
    std::int64_t best = offsets[i];
    for (std::int64_t j = best + 1; j < offsets[i + 1]; ++j) {
      if (is_better(x[j], x[best])) best = j;
    }
    return best;
  };
  const auto look_again = [&](std::int64_t first, std::int64_t count) {
    const bool may_be_nan = has_nan(x + offsets[first], offsets[first + count] - offsets[first]);
    for_ranges(count, [&](std::int64_t from, std::int64_t last) {
      for (std::int64_t i = first + from; i < first + last; ++i) to[i] += to[i] < 0 ? 0 : offsets[i];
      if (!may_be_nan) return;
      for (std::int64_t i = first + from; i < first + last; ++i) {
        if (to[i] >= 0 && x[to[i]] != x[to[i]]) to[i] = skip_nan(i);
      }
    });
  };
  const auto reduce_any = [&](std::int64_t first, std::int64_t count) {
    reduce_and_look(to, content, first, count, look_again, op);
  };
  return reduced(content, [&] {
    if (!kHasKernels<T> || any_null(content.n, to, x, offsets)) return reduce_any(0, content.n);
    const auto kernel = Better::places(cpu::list_kernels(Isa::best))[cpu::at(type_of<T>())];
    reduce_ranges(
        content,
        [&](std::int64_t first, std::int64_t last) {
          kernel(x, content.end(), offsets + first, offsets + first + 1, last - first, to + first);
        },
        reduce_any);
  });
}

KernelError lengths(std::int64_t* to, const std::int64_t* offsets, std::int64_t n) {
  const auto call = [&] {
    for_ranges(count_of(n), [=](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) to[i] = offsets[i + 1] - offsets[i];
    });
  };
  return run_on(n, call, to, offsets);
}

KernelError are_empty(std::int8_t* to, const std::int64_t* offsets, std::int64_t n) {
  const auto call = [&] {
    for_ranges(count_of(n), [=](std::int64_t first, std::int64_t last) {
      cpu::index_kernels(Isa::best).are_empty(offsets + first, last - first, to + first);
    });
  };
  return run_on(n, call, to, offsets);
}

KernelError in_their_lists(std::int64_t* positions, std::int64_t n, const std::int64_t* starts) {
  const auto call = [&] {
    for_ranges(count_of(n), [=](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) positions[i] -= positions[i] < 0 ? 0 : starts[i];
    });
  };
  return run_on(n, call, positions, starts);
}

}  // namespace
}  // namespace upsweep::awkward

using upsweep::awkward::Content;
using upsweep::awkward::KernelError;

// NOLINTBEGIN(bugprone-macro-parentheses): their arguments are types.

#define UPSWEEP_KERNELS(OUT, OUT_T, IN, IN_T)                                                                 \
  KernelError awkward_reduce_sum_##OUT##_##IN##_64(OUT_T* toptr, const IN_T* fromptr, const int64_t* offsets, \
                                                   int64_t outlength) {                                       \
    return upsweep::awkward::reduce(toptr, Content(fromptr, offsets, outlength), OUT_T{0}, upsweep::add);     \
  }
UPSWEEP_AWKWARD_SUMS(UPSWEEP_KERNELS)
#undef UPSWEEP_KERNELS

KernelError awkward_reduce_sum_int64_bool_64(int64_t* toptr, const bool* fromptr, const int64_t* offsets,
                                             int64_t outlength) {
  return upsweep::awkward::reduce(toptr, Content(fromptr, offsets, outlength), upsweep::count_nonzero);
}

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
// NOLINTEND(bugprone-macro-parentheses)

KernelError awkward_reduce_count_64(int64_t* toptr, const int64_t* offsets, int64_t outlength) {
  return upsweep::awkward::lengths(toptr, offsets, outlength);
}
KernelError awkward_NumpyArray_reduce_adjust_starts_64(int64_t* toptr, int64_t outlength, const int64_t* /*offsets*/,
                                                       const int64_t* starts) {
  return upsweep::awkward::in_their_lists(toptr, outlength, starts);
}
KernelError awkward_NumpyArray_reduce_mask_ByteMaskedArray_64(int8_t* toptr, const int64_t* offsets,
                                                              int64_t outlength) {
  return upsweep::awkward::are_empty(toptr, offsets, outlength);
}
