// SPDX-License-Identifier: Apache-2.0
// awkward/unions.cpp: Awkward Array's kernels that compute tags and indices of unions, for concatenate() and where().
#include "awkward/ranges.hpp"
#include "cpu/index_kernels.hpp"

namespace upsweep::awkward {
namespace {

/// Tags and index of a union.
template <class Tag, class Index>
struct Union {
  Tag* tags;
  Index* index;
};

template <class Tag, class Index>
const auto& kernels() {
  return std::get<cpu::UnionKernels<Tag, Index>>(cpu::index_kernels(Isa::best).unions);
}

/// to ← (to_which, from's index + base) where from's tag is from_which. Unchanged elements are also written.
template <class Tag, class Index>
KernelError simplify_one(Union<std::int8_t, std::int64_t> to, Union<const Tag, const Index> from, std::int64_t to_which,
                         std::int64_t from_which, std::int64_t length, std::int64_t base) {
  const auto call = [&] {
    const cpu::Retag how{.from = from_which, .to = static_cast<std::int8_t>(to_which), .base = base};
    for_ranges(length, [=](std::int64_t first, std::int64_t last) {
      write_to_pages(to.tags + first, last - first);
      write_to_pages(to.index + first, last - first);
      kernels<Tag, Index>().retag(from.tags + first, from.index + first, last - first, how, to.tags + first,
                                  to.index + first);
    });
  };
  return run_on(length, call, to.tags, to.index, from.tags, from.index);
}

/// Simplifies a union of which one content is a union.
template <class OuterTag, class OuterIndex, class InnerIndex>
KernelError simplify(Union<std::int8_t, std::int64_t> to, Union<const OuterTag, const OuterIndex> outer,
                     Union<const std::int8_t, const InnerIndex> inner, std::int64_t to_which, std::int64_t inner_which,
                     std::int64_t outer_which, std::int64_t length, std::int64_t base) {
  const auto call = [&] {
    for_ranges(length, [=](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        if (outer.tags[i] != outer_which) continue;
        const auto at = static_cast<std::int64_t>(outer.index[i]);
        if (inner.tags[at] != inner_which) continue;
        to.tags[i] = static_cast<std::int8_t>(to_which);
        to.index[i] = static_cast<std::int64_t>(inner.index[at]) + base;
      }
    });
  };
  return run_on(length, call, to.tags, to.index, outer.tags, outer.index);
}

/// Lists of one content of a union of lists: the positions in the union of the next list's elements.
template <class Tag, class Index>
class NestedFill {
 public:
  NestedFill(Union<Tag, Index> to, std::int64_t* starts, Tag tag, const std::int64_t* counts)
      : to_(to), starts_(starts), tag_(tag), counts_(counts) {}

  /// Returns the number of elements of these of n lists. It is negative unless each list ends before the next one
  /// begins. In order, ranges of lists do not overlap.
  [[nodiscard]] std::int64_t count_in_order(std::int64_t first, std::int64_t last, std::int64_t n) const {
    std::int64_t total = 0;
    std::int64_t signs = 0;
    for (std::int64_t i = first; i < last; ++i) {
      total += counts_[i];
      signs |= counts_[i];
    }
    for (std::int64_t i = first; i < std::min(last, n - 1); ++i) signs |= starts_[i + 1] - starts_[i] - counts_[i];
    return signs < 0 ? -1 : total;
  }
  /// Numbers the elements of these lists, starting with `number`. Elements between the lists are not changed. Returns
  /// the next number.
  std::int64_t fill(std::int64_t first, std::int64_t last, std::int64_t number, std::int64_t end) const {
    return kernels<Tag, Index>().fill(to_.tags, to_.index, tag_, {starts_ + first, counts_ + first, last - first, end},
                                      number);
  }
  /// Return where the elements of the list begin and end.
  [[nodiscard]] std::int64_t start(std::int64_t i) const { return starts_[i]; }
  [[nodiscard]] std::int64_t end(std::int64_t i) const { return starts_[i] + counts_[i]; }

 private:
  Union<Tag, Index> to_;
  std::int64_t* starts_;
  Tag tag_;
  const std::int64_t* counts_;
};

template <class Tag, class Index>
KernelError nested_fill(Union<Tag, Index> to, std::int64_t* starts, Tag tag, const std::int64_t* counts,
                        std::int64_t length) {
  const NestedFill<Tag, Index> lists(to, starts, tag, counts);
  const auto call = [&] {
    if (length <= kRange) {
      lists.fill(0, length, 0, 0);
      return;
    }
    // The ends of ranges in the union, before the starts are advanced.
    std::vector<std::int64_t> ends(static_cast<std::size_t>(cpu::ceil_div(length, kRange)));
    for (std::size_t range = 0; range < ends.size(); ++range) {
      ends[range] = lists.end(std::min(length, (static_cast<std::int64_t>(range) + 1) * kRange) - 1);
    }
    std::atomic<bool> are_in_order{true};  // it is read when the threads are done
    write_in_order(
        length,
        [&](std::int64_t first, std::int64_t last) {
          const std::int64_t count = lists.count_in_order(first, last, length);
          if (count < 0) are_in_order.store(false, std::memory_order_relaxed);
          return count;
        },
        [&](std::int64_t first, std::int64_t last, Destination numbers) {
          if (!are_in_order.load(std::memory_order_relaxed)) return numbers.at;
          const std::int64_t end = ends[static_cast<std::size_t>(first / kRange)];
          const std::int64_t begin = lists.start(first);
          write_to_pages(to.tags + begin, end - begin);
          write_to_pages(to.index + begin, end - begin);
          return lists.fill(first, last, numbers.at, end);
        });
    if (!are_in_order) lists.fill(0, length, 0, 0);
  };
  return run_on(length, call, starts, counts);
}

/// Replaces negative indices by 0.
template <class Index>
KernelError fill_missing(std::int64_t* to, const Index* from, std::int64_t length) {
  const auto call = [&] {
    for_ranges(length, [=](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) to[i] = from[i] < 0 ? 0 : static_cast<std::int64_t>(from[i]);
    });
  };
  return run_on(length, call, to, from);
}

}  // namespace
}  // namespace upsweep::awkward

using upsweep::awkward::KernelError;

// NOLINTBEGIN(bugprone-macro-parentheses): their arguments are types.
#define UPSWEEP_KERNELS(TAGS, TAG, INDICES, INDEX)                                                                  \
  KernelError awkward_UnionArray##TAGS##_##INDICES##_simplify_one_to8_64(                                           \
      int8_t* totags, int64_t* toindex, const TAG* fromtags, const INDEX* fromindex, int64_t towhich,               \
      int64_t fromwhich, int64_t length, int64_t base) {                                                            \
    return upsweep::awkward::simplify_one<TAG, INDEX>({totags, toindex}, {fromtags, fromindex}, towhich, fromwhich, \
                                                      length, base);                                                \
  }                                                                                                                 \
  KernelError awkward_UnionArray##TAGS##_##INDICES##_nestedfill_tags_index_64(                                      \
      TAG* totags, INDEX* toindex, int64_t* tmpstarts, TAG tag, const int64_t* fromcounts, int64_t length) {        \
    return upsweep::awkward::nested_fill<TAG, INDEX>({totags, toindex}, tmpstarts, tag, fromcounts, length);        \
  }
UPSWEEP_AWKWARD_UNIONS(UPSWEEP_KERNELS)
#undef UPSWEEP_KERNELS

#define UPSWEEP_KERNELS(OUTER_TAGS, OUTER_TAG, OUTER_INDICES, OUTER_INDEX, INNER_INDICES, INNER_INDEX)                 \
  KernelError awkward_UnionArray##OUTER_TAGS##_##OUTER_INDICES##_simplify8_##INNER_INDICES##_to8_64(                   \
      int8_t* totags, int64_t* toindex, const OUTER_TAG* outertags, const OUTER_INDEX* outerindex,                     \
      const int8_t* innertags, const INNER_INDEX* innerindex, int64_t towhich, int64_t innerwhich, int64_t outerwhich, \
      int64_t length, int64_t base) {                                                                                  \
    return upsweep::awkward::simplify<OUTER_TAG, OUTER_INDEX, INNER_INDEX>({totags, toindex}, {outertags, outerindex}, \
                                                                           {innertags, innerindex}, towhich,           \
                                                                           innerwhich, outerwhich, length, base);      \
  }
UPSWEEP_AWKWARD_NESTED_UNIONS(UPSWEEP_KERNELS)
#undef UPSWEEP_KERNELS

#define UPSWEEP_KERNELS(NAME, T)                                                                                  \
  KernelError awkward_UnionArray_fillna_from##NAME##_to64(int64_t* toindex, const T* fromindex, int64_t length) { \
    return upsweep::awkward::fill_missing(toindex, fromindex, length);                                            \
  }
UPSWEEP_AWKWARD_BOUNDS(UPSWEEP_KERNELS)
#undef UPSWEEP_KERNELS
// NOLINTEND(bugprone-macro-parentheses)
