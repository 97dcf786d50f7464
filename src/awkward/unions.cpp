// SPDX-License-Identifier: Apache-2.0
// awkward/unions.cpp: Awkward Array's kernels that make the tags and the index of unions, as concatenate() and where() do.
#include "awkward/ranges.hpp"

namespace upsweep::awkward {
namespace {

/// Tags and index of a union.
template <class Tag, class Index>
struct Union {
  Tag* tags;
  Index* index;
};

/// to ← (to_which, from's index + base) where from's tag is from_which. What is left as it is is written too.
template <class Tag, class Index>
KernelError simplify_one(Union<std::int8_t, std::int64_t> to, Union<const Tag, const Index> from, std::int64_t to_which,
                         std::int64_t from_which, std::int64_t length, std::int64_t base) {
  const auto call = [&] {
    const auto tag = static_cast<std::int8_t>(to_which);
    for_ranges(length, [=](std::int64_t first, std::int64_t last) {
      write_to_pages(to.tags + first, last - first);
      write_to_pages(to.index + first, last - first);
      for (std::int64_t i = first; i < last; ++i) {
        // Masks instead of a choice, for which there would be a branch.
        const std::int64_t mask = -static_cast<std::int64_t>(from.tags[i] == from_which);
        const std::int64_t at = static_cast<std::int64_t>(from.index[i]) + base;
        to.tags[i] = static_cast<std::int8_t>((tag & mask) | (to.tags[i] & ~mask));
        to.index[i] = (at & mask) | (to.index[i] & ~mask);
      }
    });
  };
  return run_on(length, call, to.tags, to.index, from.tags, from.index);
}

/// The same of a union of which one content is a union.
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

/// Lists of one content of a union of lists: where in the union the next one's elements go.
template <class Tag, class Index>
class NestedFill {
 public:
  NestedFill(Union<Tag, Index> to, std::int64_t* starts, Tag tag, const std::int64_t* counts)
      : to_(to), starts_(starts), tag_(tag), counts_(counts) {}

  /// Whether each of the lists ends before the next one begins: then ranges of them do not meet.
  [[nodiscard]] bool are_in_order(std::int64_t n) const {
    const auto first_out_of_order = [this, n](std::int64_t first, std::int64_t last) {
      bool is_good = true;
      for (std::int64_t i = first; i < last; ++i) {
        is_good &= counts_[i] >= 0 && (i + 1 == n || starts_[i] + counts_[i] <= starts_[i + 1]);
      }
      return is_good ? kNoIndex : first;
    };
    return first_bad_of_ranges(n, first_out_of_order) == kNoIndex;
  }
  /// Their elements' numbers begin with `number`. What lies between them is left as it is. Returns the next number.
  std::int64_t fill(std::int64_t first, std::int64_t last, std::int64_t number, std::int64_t end) const {
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t start = starts_[i];
      const std::int64_t count = counts_[i];
      if (count <= kWhole && start + kWhole <= end) {
        fill_whole(start, number, count);
      } else {
        for (std::int64_t j = 0; j < count; ++j) {
          to_.tags[start + j] = tag_;
          to_.index[start + j] = static_cast<Index>(number + j);
        }
      }
      starts_[i] = start + count;
      number += std::max<std::int64_t>(count, 0);
    }
    return number;
  }
  /// Where the elements of the list lie.
  [[nodiscard]] std::int64_t start(std::int64_t i) const { return starts_[i]; }
  [[nodiscard]] std::int64_t count(std::int64_t first, std::int64_t last) const {
    std::int64_t total = 0;
    for (std::int64_t i = first; i < last; ++i) total += counts_[i];
    return total;
  }

 private:
  void fill_whole(std::int64_t start, std::int64_t number, std::int64_t count) const {
    Tag* const tags = to_.tags + start;
    Index* const index = to_.index + start;
    const Tag* const other_tags = beyond<Tag>(count);
    const Index* const others = beyond<Index>(count);
    const auto from = static_cast<Index>(number);
    for (std::int64_t lane = 0; lane < kWhole; ++lane) {
      tags[lane] = static_cast<Tag>((tags[lane] & other_tags[lane]) | (tag_ & ~other_tags[lane]));
    }
    for (std::int64_t lane = 0; lane < kWhole; ++lane) {
      index[lane] = (index[lane] & others[lane]) | ((from + static_cast<Index>(lane)) & ~others[lane]);
    }
  }

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
    if (length <= kRange || !lists.are_in_order(length)) {
      lists.fill(0, length, 0, 0);
      return;
    }
    // Where ranges end in the union, before starts are moved on.
    std::vector<std::int64_t> ends(static_cast<std::size_t>(cpu::parts(length, kRange)));
    for (std::size_t range = 0; range < ends.size(); ++range) {
      const std::int64_t last = std::min(length, (static_cast<std::int64_t>(range) + 1) * kRange) - 1;
      ends[range] = lists.start(last) + lists.count(last, last + 1);
    }
    write_in_order(
        length, [&](std::int64_t first, std::int64_t last) { return lists.count(first, last); },
        [&](std::int64_t first, std::int64_t last, Place numbers) {
          const std::int64_t end = ends[static_cast<std::size_t>(first / kRange)];
          const std::int64_t begin = lists.start(first);
          write_to_pages(to.tags + begin, end - begin);
          write_to_pages(to.index + begin, end - begin);
          return lists.fill(first, last, numbers.at, end);
        });
  };
  return run_on(length, call, starts, counts);
}

/// Negative indices become 0.
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
