// SPDX-License-Identifier: Apache-2.0
// plan/argsort.cpp: the positions that sort lists: of up to 8 elements by a kernel, otherwise by insertion and merges.
#include "plan/argsort.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "plan/types.hpp"

namespace upsweep::plan::detail {
namespace {

/// The elements that insertion sorts.
constexpr std::int64_t kRun = 16;

template <class T, bool kAscending>
struct Precedes {
  const T* x;
  bool operator()(std::int32_t a, std::int32_t b) const {
    const T p = x[a], q = x[b];
    if constexpr (std::is_floating_point_v<T>) {
      if (p != p) return q == q;
    }
    return kAscending ? p < q : p > q;
  }
};

template <class Before>
void insertion(std::int32_t* begin, std::int32_t* end, Before before) {
  for (std::int32_t* i = begin; i < end; ++i) {
    const std::int32_t moved = *i;
    std::int32_t* hole = i;
    for (; hole > begin && before(moved, hole[-1]); --hole) *hole = hole[-1];
    *hole = moved;
  }
}

template <class Before>
void sort_list(std::int32_t* out, std::int64_t n, std::int32_t* scratch, Before before) {
  for (std::int64_t i = 0; i < n; i += kRun) insertion(out + i, out + std::min(i + kRun, n), before);
  std::int32_t *from = out, *to = scratch;
  for (std::int64_t run = kRun; run < n; run *= 2) {
    for (std::int64_t i = 0; i < n; i += 2 * run) {
      const std::int64_t middle = std::min(i + run, n), end = std::min(i + 2 * run, n);
      std::merge(from + i, from + middle, from + middle, from + end, to + i, before);
    }
    std::swap(from, to);
  }
  if (from != out) std::copy_n(from, n, out);
}

template <class T, bool kAscending>
void sort_lists(const Kernels& kernels, ElementType type, const void* x, const std::int32_t* offsets,
                std::int64_t lists, std::int32_t* out, std::int32_t* scratch) {
  const Precedes<T, kAscending> before{static_cast<const T*>(x)};
  const auto sort_short = kernels.sort_short[kAscending ? 1 : 0][static_cast<int>(type)];
  for (std::int64_t list = 0; list < lists; ++list) {
    list = sort_short(x, offsets, list, lists, out);
    if (list == lists) return;
    const std::int32_t begin = offsets[list], end = offsets[list + 1];
    std::iota(out + begin, out + end, begin);
    sort_list(out + begin, end - begin, scratch, before);
  }
}

}  // namespace

void argsort(const Kernels& kernels, ElementType type, const void* x, const std::int32_t* offsets, std::int64_t lists,
             bool ascending, std::int32_t* out, std::int32_t* scratch) noexcept {
  visit_element(type, [&]<class T>(std::type_identity<T>) {
    ascending ? sort_lists<T, true>(kernels, type, x, offsets, lists, out, scratch)
              : sort_lists<T, false>(kernels, type, x, offsets, lists, out, scratch);
  });
}

}  // namespace upsweep::plan::detail
