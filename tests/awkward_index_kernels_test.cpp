// SPDX-License-Identifier: Apache-2.0
// tests/awkward_index_kernels_test.cpp: the C functions for Awkward Array's unions, padding, slices and options. Each
// is compared with a plain loop with Awkward's semantics, on few lists and on enough lists for several threads. Errors
// are also tested.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "awkward_library.hpp"
#include "patterns.hpp"
#include "upsweep/awkward.h"

namespace upsweep {
namespace {

using tests::Guarded;
using tests::kNothing;
using Index = std::vector<std::int64_t>;

/// The last size is more than one thread processes by itself.
constexpr std::int64_t kSizes[] = {0, 1, 10, 255, 257, 150'001};

std::string text_of(const upsweep_awkward_error& error) { return error.str == nullptr ? "" : error.str; }

void expect_error(const upsweep_awkward_error& error, const std::string& text, std::int64_t identity,
                  std::int64_t attempt = kNothing) {
  EXPECT_EQ(text_of(error), text);
  EXPECT_EQ(error.identity, identity);
  EXPECT_EQ(error.attempt, attempt);
}

template <class T, class U>
void expect_same(Guarded<T>& out, const std::vector<U>& expected, const std::string& what) {
  EXPECT_TRUE(out.intact()) << what;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(out.data()[i], static_cast<T>(expected[i])) << what << " at " << i << " of " << expected.size();
  }
}

/// Makes n lists of 0 to 9 elements, and sometimes a longer list. The first list begins at 3.
template <class T>
std::vector<T> offsets_of(std::int64_t n, unsigned seed = 1) {
  std::mt19937_64 random(seed);
  std::vector<T> offsets{3};
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t length = random() % 1000 == 7 ? 3000 : random() % 10;
    offsets.push_back(static_cast<T>(static_cast<std::uint64_t>(offsets.back()) + length));
  }
  return offsets;
}

template <class T>
std::int64_t at(const std::vector<T>& x, std::int64_t i) {
  return static_cast<std::int64_t>(x[static_cast<std::size_t>(i)]);
}

std::int8_t* bytes(std::vector<std::int8_t>& x) { return x.data(); }

std::vector<std::int8_t> mask_of(std::int64_t n) {
  std::mt19937_64 random(5);
  std::vector<std::int8_t> mask(static_cast<std::size_t>(n));
  for (auto& byte : mask) byte = random() % 3 == 0 ? 0 : static_cast<std::int8_t>(random() % 2 * 2 + 1);
  return mask;
}

/// Makes indices into `content` elements. A third of them are negative if T is signed.
template <class T>
std::vector<T> index_of(std::int64_t n, std::int64_t content, bool with_missing = true) {
  std::mt19937_64 random(6);
  std::vector<T> index(static_cast<std::size_t>(n));
  for (auto& i : index) {
    i = static_cast<T>(random() % static_cast<std::uint64_t>(content));
    if (std::is_signed_v<T> && with_missing && random() % 3 == 0)
      i = static_cast<T>(-1 - static_cast<int>(random() % 2));
  }
  return index;
}

// -------------------------------------------------------------------------------------------------------------- unions

template <class Tag, class T, class Kernel>
void check_simplify_one(Kernel kernel) {
  for (const std::int64_t n : kSizes) {
    std::mt19937_64 random(2);
    std::vector<Tag> tags(static_cast<std::size_t>(n));
    for (auto& tag : tags) tag = static_cast<Tag>(random() % 3);
    const auto index = index_of<T>(n, 1000, false);
    Guarded<std::int8_t> totags(n, 1);
    Guarded<std::int64_t> toindex(n, 1);
    std::vector<std::int8_t> expected_tags(static_cast<std::size_t>(n), 9);
    Index expected_index(static_cast<std::size_t>(n), -7);
    std::fill_n(totags.data(), n, std::int8_t{9});
    std::fill_n(toindex.data(), n, -7);
    for (std::size_t i = 0; i < tags.size(); ++i) {
      if (tags[i] != 2) continue;
      expected_tags[i] = 4;
      expected_index[i] = static_cast<std::int64_t>(index[i]) + 100;
    }
    EXPECT_EQ(text_of(kernel(totags.data(), toindex.data(), tags.data(), index.data(), 4, 2, n, 100)), "");
    expect_same(totags, expected_tags, "tags");
    expect_same(toindex, expected_index, "index");
  }
}

template <class Tag, class T, class Kernel>
void check_nested_fill(Kernel kernel, bool in_order) {
  for (const std::int64_t n : kSizes) {
    const Index offsets = offsets_of<std::int64_t>(n);
    Index counts;
    Index starts;
    for (std::int64_t i = 0; i < n; ++i) {
      counts.push_back((at(offsets, i + 1) - at(offsets, i)) / 2);
      starts.push_back(at(offsets, i));
    }
    if (!in_order) {
      std::reverse(starts.begin(), starts.end());
      std::reverse(counts.begin(), counts.end());
    }
    const std::int64_t elements = offsets.back();
    Guarded<Tag> totags(elements, 1);
    Guarded<T> toindex(elements, 1);
    std::fill_n(totags.data(), elements, Tag{9});
    std::fill_n(toindex.data(), elements, T{77});
    std::vector<Tag> expected_tags(static_cast<std::size_t>(elements), 9);
    Index expected_index(static_cast<std::size_t>(elements), 77);
    Index ends = starts;
    std::int64_t number = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < at(counts, i); ++j) {
        const auto place = static_cast<std::size_t>(ends[static_cast<std::size_t>(i)]++);
        expected_tags[place] = 5;
        expected_index[place] = number++;
      }
    }
    EXPECT_EQ(text_of(kernel(totags.data(), toindex.data(), starts.data(), Tag{5}, counts.data(), n)), "");
    expect_same(totags, expected_tags, "tags");
    expect_same(toindex, expected_index, "index");
    EXPECT_EQ(starts, ends);
  }
}

TEST(AwkwardUnions, EveryType) {
#define CHECK(TAGS, TAG, INDICES, INDEX)                                                                         \
  check_simplify_one<TAG, INDEX>(UPSWEEP_KERNEL(awkward_UnionArray##TAGS##_##INDICES##_simplify_one_to8_64));    \
  check_nested_fill<TAG, INDEX>(UPSWEEP_KERNEL(awkward_UnionArray##TAGS##_##INDICES##_nestedfill_tags_index_64), \
                                true);                                                                           \
  check_nested_fill<TAG, INDEX>(UPSWEEP_KERNEL(awkward_UnionArray##TAGS##_##INDICES##_nestedfill_tags_index_64), false);
  UPSWEEP_AWKWARD_UNIONS(CHECK)
#undef CHECK
}

template <class Tag, class T, class Inner, class Kernel>
void check_simplify(Kernel kernel) {
  for (const std::int64_t n : kSizes) {
    std::mt19937_64 random(3);
    std::vector<Tag> tags(static_cast<std::size_t>(n));
    for (auto& tag : tags) tag = static_cast<Tag>(random() % 2);
    const auto index = index_of<T>(n, 50, false);
    std::vector<std::int8_t> inner_tags(50);
    for (auto& tag : inner_tags) tag = static_cast<std::int8_t>(random() % 2);
    const auto inner_index = index_of<Inner>(50, 1000, false);
    Guarded<std::int8_t> totags(n, 1);
    Guarded<std::int64_t> toindex(n, 1);
    std::fill_n(totags.data(), n, std::int8_t{9});
    std::fill_n(toindex.data(), n, -7);
    Index expected_tags(static_cast<std::size_t>(n), 9);
    Index expected_index(static_cast<std::size_t>(n), -7);
    for (std::size_t i = 0; i < tags.size(); ++i) {
      const auto inner = static_cast<std::size_t>(index[i]);
      if (tags[i] != 1 || inner_tags[inner] != 0) continue;
      expected_tags[i] = 3;
      expected_index[i] = static_cast<std::int64_t>(inner_index[inner]) + 10;
    }
    EXPECT_EQ(text_of(kernel(totags.data(), toindex.data(), tags.data(), index.data(), bytes(inner_tags),
                             inner_index.data(), 3, 0, 1, n, 10)),
              "");
    expect_same(totags, expected_tags, "tags");
    expect_same(toindex, expected_index, "index");
  }
}

TEST(AwkwardUnions, OfUnions) {
#define CHECK(TAGS, TAG, INDICES, INDEX, INNER, INNER_INDEX) \
  check_simplify<TAG, INDEX, INNER_INDEX>(                   \
      UPSWEEP_KERNEL(awkward_UnionArray##TAGS##_##INDICES##_simplify8_##INNER##_to8_64));
  UPSWEEP_AWKWARD_NESTED_UNIONS(CHECK)
#undef CHECK
}

// ------------------------------------------------------------------------------------------------------------- padding

template <class T, class Length, class Positions, class Clip, class Total, class Lists>
void check_padding(Length length, Positions positions, Clip clip, Total total, Lists lists) {
  for (const std::int64_t n : kSizes) {
    for (const std::int64_t target : {0, 2, 11}) {
      const auto offsets = offsets_of<T>(n);
      Index expected_offsets{0};
      Index expected;
      Index expected_clipped;
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t size = at(offsets, i + 1) - at(offsets, i);
        for (std::int64_t j = 0; j < std::max(size, target); ++j)
          expected.push_back(j < size ? at(offsets, i) + j : -1);
        for (std::int64_t j = 0; j < target; ++j) expected_clipped.push_back(j < size ? at(offsets, i) + j : -1);
        expected_offsets.push_back(std::ssize(expected));
      }
      Guarded<T> tooffsets(n + 1, 1);
      std::int64_t count = -1;
      EXPECT_EQ(text_of(length(tooffsets.data(), offsets.data(), n, target, &count)), "");
      EXPECT_EQ(count, std::ssize(expected));
      expect_same(tooffsets, expected_offsets, "offsets");

      Guarded<std::int64_t> to(count, 1);
      EXPECT_EQ(text_of(positions(to.data(), offsets.data(), n, target)), "");
      expect_same(to, expected, "positions");
      Guarded<std::int64_t> clipped(n * target, 1);
      EXPECT_EQ(text_of(clip(clipped.data(), offsets.data(), n, target)), "");
      expect_same(clipped, expected_clipped, "clipped");

      EXPECT_EQ(text_of(total(&count, offsets.data(), offsets.data() + 1, target, n)), "");
      EXPECT_EQ(count, std::ssize(expected));
      Guarded<std::int64_t> again(count, 1);
      Guarded<T> starts(n, 1);
      Guarded<T> stops(n, 1);
      EXPECT_EQ(
          text_of(lists(again.data(), offsets.data(), offsets.data() + 1, starts.data(), stops.data(), target, n)), "");
      expect_same(again, expected, "positions of lists");
      expect_same(stops, Index(expected_offsets.begin() + 1, expected_offsets.end()), "stops");
      expect_same(starts, Index(expected_offsets.begin(), expected_offsets.end() - 1), "starts");
    }
  }
}

TEST(AwkwardPadding, EveryTypeOfBounds) {
#define CHECK(NAME, T)                                                                     \
  check_padding<T>(UPSWEEP_KERNEL(awkward_ListOffsetArray##NAME##_rpad_length_axis1),      \
                   UPSWEEP_KERNEL(awkward_ListOffsetArray##NAME##_rpad_axis1_64),          \
                   UPSWEEP_KERNEL(awkward_ListOffsetArray##NAME##_rpad_and_clip_axis1_64), \
                   UPSWEEP_KERNEL(awkward_ListArray##NAME##_rpad_and_clip_length_axis1),   \
                   UPSWEEP_KERNEL(awkward_ListArray##NAME##_rpad_axis1_64));
  UPSWEEP_AWKWARD_BOUNDS(CHECK)
#undef CHECK
}

TEST(AwkwardPadding, OfListsOfOneSize) {
  for (const std::int64_t n : kSizes) {
    Index expected;
    Index expected_starts;
    Index expected_stops;
    Index expected_list;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < 5; ++j) expected.push_back(j < 3 ? i * 3 + j : -1);
      expected_starts.push_back(i * 5);
      expected_stops.push_back(i * 5 + 5);
      expected_list.push_back(i < n / 2 ? i : -1);
    }
    Guarded<std::int64_t> to(5 * n, 1);
    EXPECT_EQ(text_of(UPSWEEP_KERNEL(awkward_RegularArray_rpad_and_clip_axis1_64)(to.data(), 5, 3, n)), "");
    expect_same(to, expected, "positions");
    Guarded<std::int64_t> starts(n, 1);
    Guarded<std::int64_t> stops(n, 1);
    EXPECT_EQ(text_of(UPSWEEP_KERNEL(awkward_index_rpad_and_clip_axis1_64)(starts.data(), stops.data(), 5, n)), "");
    expect_same(starts, expected_starts, "starts");
    expect_same(stops, expected_stops, "stops");
    Guarded<std::int64_t> list(n, 1);
    EXPECT_EQ(text_of(UPSWEEP_KERNEL(awkward_index_rpad_and_clip_axis0_64)(list.data(), n, n / 2)), "");
    expect_same(list, expected_list, "list");
  }
}

// -------------------------------------------------------------------------------------------------------------- slices

/// Returns the positions that Python's [start:stop:step] selects from `length` elements, computed one at a time.
Index taken(std::int64_t start, std::int64_t stop, std::int64_t step, std::int64_t length) {
  if (step == 0) return {};
  const bool forwards = step > 0;
  const std::int64_t least = forwards ? 0 : -1;
  const std::int64_t most = forwards ? length : length - 1;
  const auto from = [&](std::int64_t bound, std::int64_t otherwise) {
    if (bound == kNothing) return otherwise;
    return std::clamp(bound < 0 ? bound + length : bound, least, most);
  };
  Index positions;
  const std::int64_t last = from(stop, forwards ? length : -1);
  for (std::int64_t i = from(start, forwards ? 0 : length - 1); forwards ? i < last : i > last; i += step) {
    positions.push_back(i);
  }
  return positions;
}

template <class T, class Length, class Range>
void check_range(Length length, Range range) {
  constexpr std::int64_t kSlices[][3] = {{kNothing, kNothing, 1},
                                         {0, 1, 1},
                                         {-2, kNothing, 1},
                                         {1, -1, 1},
                                         {1, 9, 3},
                                         {kNothing, kNothing, -1},
                                         {5, 0, -2},
                                         {-1, -4, -1},
                                         {50, 2, 1},
                                         {0, 5, 0},
                                         {-50, 50, 2}};
  for (const std::int64_t n : kSizes) {
    const auto offsets = offsets_of<T>(n);
    for (const auto& [start, stop, step] : kSlices) {
      Index expected;
      Index expected_offsets{0};
      for (std::int64_t i = 0; i < n; ++i) {
        for (const std::int64_t j : taken(start, stop, step, at(offsets, i + 1) - at(offsets, i))) {
          expected.push_back(at(offsets, i) + j);
        }
        expected_offsets.push_back(std::ssize(expected));
      }
      std::int64_t count = -1;
      EXPECT_EQ(text_of(length(&count, offsets.data(), offsets.data() + 1, n, start, stop, step)), "");
      ASSERT_EQ(count, std::ssize(expected)) << start << ":" << stop << ":" << step;
      Guarded<T> tooffsets(n + 1, 1);
      Guarded<std::int64_t> carry(count, 1);
      EXPECT_EQ(
          text_of(range(tooffsets.data(), carry.data(), offsets.data(), offsets.data() + 1, n, start, stop, step)), "");
      expect_same(tooffsets, expected_offsets, "offsets");
      expect_same(carry, expected, "carry");
    }
  }
}

template <class T, class Kernel>
void check_element(Kernel kernel) {
  for (const std::int64_t n : kSizes) {
    std::vector<T> starts;
    std::vector<T> stops;
    Index first;
    Index last;
    for (std::int64_t i = 0; i < n; ++i) {
      starts.push_back(static_cast<T>(2 * (n - i)));
      stops.push_back(static_cast<T>(2 * (n - i) + 1 + i % 3));
      first.push_back(at(starts, i));
      last.push_back(at(stops, i) - 1);
    }
    Guarded<std::int64_t> carry(n, 1);
    EXPECT_EQ(text_of(kernel(carry.data(), starts.data(), stops.data(), n, 0)), "");
    expect_same(carry, first, "first");
    EXPECT_EQ(text_of(kernel(carry.data(), starts.data(), stops.data(), n, -1)), "");
    expect_same(carry, last, "last");
    if (n < 10) continue;
    expect_error(kernel(carry.data(), starts.data(), stops.data(), n, 2), "index out of range", 0, 2);
    stops[static_cast<std::size_t>(n - 2)] = starts[static_cast<std::size_t>(n - 2)];
    expect_error(kernel(carry.data(), starts.data(), stops.data(), n, -1), "index out of range", n - 2, -1);
  }
}

template <class T, class Expand, class Descend>
void check_lists_of_slices(Expand expand, Descend descend) {
  const Index single{10, 12, 12, 17};
  for (const std::int64_t n : kSizes) {
    std::vector<T> starts;
    std::vector<T> stops;
    Index carry;
    Index multi_starts;
    Index multi_stops;
    for (std::int64_t i = 0; i < n; ++i) {
      starts.push_back(static_cast<T>(5 * (n - i)));
      stops.push_back(static_cast<T>(5 * (n - i) + 3));
      for (std::int64_t j = 0; j < 3; ++j) {
        carry.push_back(at(starts, i) + j);
        multi_starts.push_back(at(single, j));
        multi_stops.push_back(at(single, j + 1));
      }
    }
    Guarded<std::int64_t> tostarts(3 * n, 1);
    Guarded<std::int64_t> tostops(3 * n, 1);
    Guarded<std::int64_t> tocarry(3 * n, 1);
    EXPECT_EQ(text_of(expand(tostarts.data(), tostops.data(), single.data(), tocarry.data(), starts.data(),
                             stops.data(), 3, n)),
              "");
    expect_same(tostarts, multi_starts, "starts");
    expect_same(tostops, multi_stops, "stops");
    expect_same(tocarry, carry, "carry");

    const auto offsets = offsets_of<T>(n);
    Index slice_starts;
    Index slice_stops;
    Index expected{n == 0 ? 0 : 100};
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t size = at(offsets, i + 1) - at(offsets, i);
      slice_starts.push_back(100 + 7 * i);
      slice_stops.push_back(100 + 7 * i + size);
      expected.push_back(expected.back() + size);
    }
    Guarded<std::int64_t> tooffsets(n + 1, 1);
    EXPECT_EQ(text_of(descend(tooffsets.data(), slice_starts.data(), slice_stops.data(), n, offsets.data(),
                              offsets.data() + 1)),
              "");
    expect_same(tooffsets, expected, "offsets");
    if (n < 10) continue;
    slice_stops[static_cast<std::size_t>(n - 3)] += 1;
    expect_error(
        descend(tooffsets.data(), slice_starts.data(), slice_stops.data(), n, offsets.data(), offsets.data() + 1),
        "jagged slice inner length differs from array inner length", n - 3);
    stops[static_cast<std::size_t>(n - 2)] = starts[static_cast<std::size_t>(n - 2)];
    expect_error(
        expand(tostarts.data(), tostops.data(), single.data(), tocarry.data(), starts.data(), stops.data(), 3, n),
        "cannot fit jagged slice into nested list", n - 2);
    std::swap(starts[1], stops[1]);
    expect_error(
        expand(tostarts.data(), tostops.data(), single.data(), tocarry.data(), starts.data(), stops.data(), 3, n),
        "stops[i] < starts[i]", 1);
  }
}

TEST(AwkwardSlices, EveryTypeOfBounds) {
#define CHECK(NAME, T)                                                                         \
  check_range<T>(UPSWEEP_KERNEL(awkward_ListArray##NAME##_getitem_next_range_carrylength),     \
                 UPSWEEP_KERNEL(awkward_ListArray##NAME##_getitem_next_range_64));             \
  check_element<T>(UPSWEEP_KERNEL(awkward_ListArray##NAME##_getitem_next_at_64));              \
  check_lists_of_slices<T>(UPSWEEP_KERNEL(awkward_ListArray##NAME##_getitem_jagged_expand_64), \
                           UPSWEEP_KERNEL(awkward_ListArray##NAME##_getitem_jagged_descend_64));
  UPSWEEP_AWKWARD_BOUNDS(CHECK)
#undef CHECK
}

TEST(AwkwardSlices, OfListsOfOneSize) {
  for (const std::int64_t n : kSizes) {
    for (const std::int64_t size : {1, 3}) {
      Index range;
      Index carry;
      Index lists;
      for (std::int64_t i = 0; i < n; ++i) {
        lists.push_back(n - 1 - i);
        for (std::int64_t j = 0; j < size; ++j) {
          range.push_back(i * 9 + 2 + j * 3);
          carry.push_back((n - 1 - i) * size + j);
        }
      }
      Guarded<std::int64_t> to(n * size, 1);
      EXPECT_EQ(text_of(UPSWEEP_KERNEL(awkward_RegularArray_getitem_next_range_64)(to.data(), 2, 3, n, 9, size)), "");
      expect_same(to, range, "range");
      EXPECT_EQ(text_of(UPSWEEP_KERNEL(awkward_RegularArray_getitem_carry_64)(to.data(), lists.data(), n, size)), "");
      expect_same(to, carry, "carry");
    }
    const auto offsets = offsets_of<std::int64_t>(n);
    for (const std::int64_t times : {1, 2}) {
      Guarded<std::int64_t> starts(n * times, 1);
      Guarded<std::int64_t> stops(n * times, 1);
      Index expected_starts;
      Index expected_stops;
      for (std::int64_t i = 0; i < n * times; ++i) {
        expected_starts.push_back(at(offsets, i % n));
        expected_stops.push_back(at(offsets, i % n + 1));
      }
      const auto kernel = UPSWEEP_KERNEL(awkward_RegularArray_getitem_jagged_expand_64);
      EXPECT_EQ(text_of(kernel(starts.data(), stops.data(), offsets.data(), n, times)), "");
      expect_same(starts, expected_starts, "starts");
      expect_same(stops, expected_stops, "stops");
    }
  }
}

/// Slices with missing elements; their lists are adjacent or not.
TEST(AwkwardSlices, WithMissingElements) {
  const auto count_valid = UPSWEEP_KERNEL(awkward_ListArray_getitem_jagged_numvalid_64);
  const auto shrink = UPSWEEP_KERNEL(awkward_ListArray_getitem_jagged_shrink_64);
  for (const std::int64_t n : kSizes) {
    const auto offsets = offsets_of<std::int64_t>(n);
    const auto missing = index_of<std::int64_t>(offsets.back(), 1000);
    for (const bool adjacent : {true, false}) {
      Index starts(offsets.begin(), offsets.end() - 1);
      Index stops(offsets.begin() + 1, offsets.end());
      if (!adjacent) {
        std::reverse(starts.begin(), starts.end());
        std::reverse(stops.begin(), stops.end());
      }
      const std::int64_t* const from = adjacent ? offsets.data() : starts.data();
      const std::int64_t* const to = adjacent ? offsets.data() + 1 : stops.data();
      const std::int64_t begin = n == 0 ? 0 : *from;
      Index carry;
      Index small{begin};
      Index large{begin};
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = from[i]; j < to[i]; ++j) {
          if (at(missing, j) >= 0) carry.push_back(j);
        }
        small.push_back(begin + std::ssize(carry));
        large.push_back(large.back() + to[i] - from[i]);
      }
      std::int64_t count = -1;
      EXPECT_EQ(text_of(count_valid(&count, from, to, n, missing.data(), std::ssize(missing))), "");
      ASSERT_EQ(count, std::ssize(carry));
      EXPECT_EQ(text_of(UPSWEEP_KERNEL(awkward_ListArray_getitem_jagged_carrylen_64)(&count, from, to, n)), "");
      ASSERT_EQ(count, n == 0 ? 0 : offsets.back() - 3);
      Guarded<std::int64_t> tocarry(std::ssize(carry), 1);
      Guarded<std::int64_t> tosmall(n + 1, 1);
      Guarded<std::int64_t> tolarge(n + 1, 1);
      EXPECT_EQ(text_of(shrink(tocarry.data(), tosmall.data(), tolarge.data(), from, to, n, missing.data())), "");
      expect_same(tocarry, carry, "carry");
      expect_same(tosmall, small, "small offsets");
      expect_same(tolarge, large, "large offsets");
      if (n < 10 || adjacent) continue;
      const std::int64_t end = std::ssize(missing);
      stops[static_cast<std::size_t>(n - 1)] = end + 1;
      expect_error(count_valid(&count, from, to, n, missing.data(), end),
                   "jagged slice's offsets extend beyond its content", n - 1, end + 1);
      stops[2] = starts[2] - 1;
      expect_error(count_valid(&count, from, to, n, missing.data(), end), "jagged slice's stops[i] < starts[i]", 2);
    }
  }
}

// ------------------------------------------------------------------------------------------------------------- options

/// Positions of the elements that are not missing, and the number of missing ones.
struct Carried {
  Index carry;
  Index numbers;
  Index offsets{0};
};

/// Runs on all n elements, or on those between offsets.
template <class Carry>
Carried carried(std::int64_t n, Carry carry_of, const Index& offsets = {}) {
  Carried out;
  const std::int64_t begin = offsets.empty() ? 0 : offsets.front();
  std::size_t list = 1;
  for (std::int64_t i = begin; i < n; ++i) {
    while (!offsets.empty() && offsets[list] <= i) {
      out.offsets.push_back(std::ssize(out.carry));
      ++list;
    }
    const std::int64_t carry = carry_of(i);
    out.numbers.push_back(carry < 0 ? -1 : std::ssize(out.carry));
    if (carry >= 0) out.carry.push_back(carry);
  }
  for (; list < offsets.size(); ++list) out.offsets.push_back(std::ssize(out.carry));
  return out;
}

TEST(AwkwardOptions, ByMask) {
  for (const std::int64_t n : kSizes) {
    const auto offsets = offsets_of<std::int64_t>(n);
    const std::int64_t elements = offsets.back();
    const auto mask = mask_of(elements);
    for (const bool valid : {true, false}) {
      const auto carry_of = [&](std::int64_t i) { return (at(mask, i) != 0) == valid ? i : -1; };
      const Carried all = carried(elements, carry_of);
      Guarded<std::int64_t> carry(std::ssize(all.carry), 1);
      Guarded<std::int64_t> numbers(elements, 1);
      EXPECT_EQ(text_of(UPSWEEP_KERNEL(awkward_ByteMaskedArray_getitem_nextcarry_64)(carry.data(), mask.data(),
                                                                                     elements, valid)),
                "");
      expect_same(carry, all.carry, "carry");
      EXPECT_EQ(text_of(UPSWEEP_KERNEL(awkward_ByteMaskedArray_getitem_nextcarry_outindex_64)(
                    carry.data(), numbers.data(), mask.data(), elements, valid)),
                "");
      expect_same(carry, all.carry, "carry");
      expect_same(numbers, all.numbers, "numbers");
      Index positions;
      for (std::int64_t i = 0; i < elements; ++i) positions.push_back(carry_of(i));
      EXPECT_EQ(text_of(UPSWEEP_KERNEL(awkward_ByteMaskedArray_toIndexedOptionArray64)(numbers.data(), mask.data(),
                                                                                       elements, valid)),
                "");
      expect_same(numbers, positions, "positions");

      const Carried lists = carried(elements, carry_of, offsets);
      Guarded<std::int64_t> list_carry(std::ssize(lists.carry), 1);
      Guarded<std::int64_t> tooffsets(n + 1, 1);
      Guarded<std::int64_t> list_numbers(elements, 1);
      std::fill_n(list_numbers.data(), 3, 42);
      EXPECT_EQ(text_of(UPSWEEP_KERNEL(awkward_ByteMaskedArray_reduce_next_64)(
                    list_carry.data(), tooffsets.data(), list_numbers.data(), mask.data(), offsets.data(), n, valid)),
                "");
      Index expected_numbers(3, 42);
      expected_numbers.insert(expected_numbers.end(), lists.numbers.begin(), lists.numbers.end());
      expect_same(list_carry, lists.carry, "carry of lists");
      expect_same(tooffsets, lists.offsets, "offsets");
      expect_same(list_numbers, expected_numbers, "numbers of lists");
    }
  }
}

template <class T, class Carry, class Numbers, class Lists, class Missing>
void check_index(Carry carry_kernel, Numbers numbers_kernel, Lists lists_kernel, Missing missing_kernel) {
  for (const std::int64_t n : kSizes) {
    const auto offsets = offsets_of<std::int64_t>(n);
    const std::int64_t elements = offsets.back();
    auto index = index_of<T>(elements, 1000);
    const auto carry_of = [&](std::int64_t i) { return at(index, i); };
    const Carried all = carried(elements, carry_of);
    std::int64_t count = -1;
    EXPECT_EQ(text_of(missing_kernel(&count, index.data(), elements)), "");
    EXPECT_EQ(count, elements - std::ssize(all.carry));
    Guarded<std::int64_t> carry(std::ssize(all.carry), 1);
    Guarded<T> numbers(elements, 1);
    EXPECT_EQ(text_of(numbers_kernel(carry.data(), numbers.data(), index.data(), elements, 1000)), "");
    expect_same(carry, all.carry, "carry");
    expect_same(numbers, all.numbers, "numbers");

    const Carried lists = carried(elements, carry_of, offsets);
    Guarded<std::int64_t> list_carry(std::ssize(lists.carry), 1);
    Guarded<std::int64_t> tooffsets(n + 1, 1);
    Guarded<std::int64_t> list_numbers(elements, 1);
    EXPECT_EQ(text_of(lists_kernel(list_carry.data(), tooffsets.data(), list_numbers.data(), index.data(),
                                   offsets.data(), n)),
              "");
    expect_same(list_carry, lists.carry, "carry of lists");
    expect_same(tooffsets, lists.offsets, "offsets");

    const auto present = index_of<T>(elements, 1000, false);
    Guarded<std::int64_t> copied(elements, 1);
    EXPECT_EQ(text_of(carry_kernel(copied.data(), present.data(), elements, 1000)), "");
    expect_same(copied, present, "carry of what is there");

    index[static_cast<std::size_t>(elements - 1)] = 1000;
    expect_error(numbers_kernel(carry.data(), numbers.data(), index.data(), elements, 1000), "index out of range",
                 elements - 1, 1000);
    if constexpr (std::is_signed_v<T>) {
      index[0] = -1;
      expect_error(carry_kernel(copied.data(), index.data(), elements, 1000), "index out of range", 0, -1);
    }
  }
  const std::int64_t decreasing[] = {0, 2, 1};
  std::int64_t out[4] = {};
  std::int64_t offsets[3] = {};
  const T index[] = {0, 1};
  expect_error(lists_kernel(out, offsets, out, index, decreasing, 2), "offsets must be monotonically increasing", 1);
}

TEST(AwkwardOptions, ByIndex) {
#define CHECK(NAME, T)                                                                       \
  check_index<T>(UPSWEEP_KERNEL(awkward_IndexedArray##NAME##_getitem_nextcarry_64),          \
                 UPSWEEP_KERNEL(awkward_IndexedArray##NAME##_getitem_nextcarry_outindex_64), \
                 UPSWEEP_KERNEL(awkward_IndexedArray##NAME##_reduce_next_64),                \
                 UPSWEEP_KERNEL(awkward_IndexedArray##NAME##_numnull));
  UPSWEEP_AWKWARD_BOUNDS(CHECK)
#undef CHECK
}

template <class Outer, class Inner, class Kernel>
void check_index_of_index(Kernel kernel) {
  const std::string error = "index out of range";
  for (const std::int64_t n : kSizes) {
    auto outer = index_of<Outer>(n, 1000);
    auto inner = index_of<Inner>(1000, 3000);
    if constexpr (std::is_signed_v<Inner>) inner[7] = -5;  // stays as it is
    Index expected;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto place = static_cast<std::int64_t>(at(outer, i));
      expected.push_back(place < 0 ? -1 : static_cast<std::int64_t>(at(inner, place)));
    }
    Guarded<std::int64_t> made(n, 1);
    EXPECT_EQ(text_of(kernel(made.data(), outer.data(), n, inner.data(), 1000)), "");
    expect_same(made, expected, "index");
    if (n == 0) continue;
    outer[static_cast<std::size_t>(n - 1)] = 1000;
    expect_error(kernel(made.data(), outer.data(), n, inner.data(), 1000), error, n - 1, 1000);
    outer[0] = 1001;
    expect_error(kernel(made.data(), outer.data(), n, inner.data(), 1000), error, 0, 1001);
  }
  const Outer bad[] = {1, 2, 0};
  const Inner two[] = {5, 6};
  std::int64_t written[] = {7, 7, 7};
  expect_error(kernel(written, bad, 3, two, 2), error, 1, 2);
  EXPECT_EQ(Index(written, written + 3), (Index{6, 7, 7}));  // Awkward's kernel stops there
  if constexpr (std::is_signed_v<Outer>) {
    const Outer far[] = {std::numeric_limits<Outer>::min(), 1, -1};
    EXPECT_EQ(text_of(kernel(written, far, 3, two, 2)), "");
    EXPECT_EQ(Index(written, written + 3), (Index{-1, 6, -1}));
  }
  const Outer some[] = {static_cast<Outer>(-1), 0};
  std::int64_t made[2] = {7, 7};
  if constexpr (std::is_signed_v<Outer>) {
    EXPECT_EQ(text_of(kernel(made, some, 1, nullptr, 0)), "");
    EXPECT_EQ(made[0], -1);
    expect_error(kernel(made, some, 2, nullptr, 0), error, 1, 0);
  } else {
    expect_error(kernel(made, some + 1, 1, nullptr, 0), error, 0, 0);
  }
}

TEST(AwkwardOptions, IndexOfIndex) {
#define CHECK(NAME, T)                                                                                   \
  check_index_of_index<T, std::int32_t>(UPSWEEP_KERNEL(awkward_IndexedArray##NAME##_simplify32_to64));   \
  check_index_of_index<T, std::uint32_t>(UPSWEEP_KERNEL(awkward_IndexedArray##NAME##_simplifyU32_to64)); \
  check_index_of_index<T, std::int64_t>(UPSWEEP_KERNEL(awkward_IndexedArray##NAME##_simplify64_to64));
  UPSWEEP_AWKWARD_BOUNDS(CHECK)
#undef CHECK
}

template <class T, class Append, class Mask>
void check_copied_index(Append append, Mask with_mask) {
  for (const std::int64_t n : kSizes) {
    const auto index = index_of<T>(n, 1000);
    const auto mask = mask_of(n);
    const std::int64_t base = std::int64_t{1} << 40;  // past the range of the smaller types
    Index appended{-9, -9};
    Index masked;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto place = static_cast<std::int64_t>(at(index, i));
      appended.push_back(place < 0 ? -1 : place + base);
      masked.push_back(at(mask, i) != 0 ? -1 : place);
    }
    Guarded<std::int64_t> made(n + 2, 1);
    std::fill_n(made.data(), 2, -9);
    EXPECT_EQ(text_of(append(made.data(), 2, index.data(), n, base)), "");
    expect_same(made, appended, "appended index");
    Guarded<std::int64_t> without(n, 1);
    EXPECT_EQ(text_of(with_mask(without.data(), mask.data(), index.data(), n)), "");
    expect_same(without, masked, "masked index");
  }
}

TEST(AwkwardOptions, IndicesCopied) {
#define CHECK(NAME, T)                                                             \
  check_copied_index<T>(UPSWEEP_KERNEL(awkward_IndexedArray_fill_to64_from##NAME), \
                        UPSWEEP_KERNEL(awkward_IndexedArray##NAME##_overlay_mask8_to64));
  UPSWEEP_AWKWARD_BOUNDS(CHECK)
#undef CHECK
  for (const std::int64_t n : kSizes) {
    Guarded<std::int64_t> made(n + 1, 1);
    made.data()[0] = -9;
    Index expected{-9};
    for (std::int64_t i = 0; i < n; ++i) expected.push_back(i + 5);
    EXPECT_EQ(text_of(UPSWEEP_KERNEL(awkward_IndexedArray_fill_to64_count)(made.data(), 1, n, 5)), "");
    expect_same(made, expected, "positions");
  }
}

template <class T, class Kernel>
void check_drop_none(Kernel kernel) {
  for (const std::int64_t n : kSizes) {
    const auto offsets = offsets_of<T>(n);
    const auto index = index_of<T>(at(offsets, n), 1000);
    Index expected;
    std::int64_t missing = 0;
    std::int64_t i = 0;
    for (const T offset : offsets) {
      for (; i < offset; ++i) missing += at(index, i) < 0 ? 1 : 0;
      expected.push_back(offset - missing);
    }
    Guarded<T> to(n + 1, 1);
    EXPECT_EQ(text_of(kernel(to.data(), index.data(), offsets.data(), n + 1, std::ssize(index))), "");
    expect_same(to, expected, "offsets");
    expect_error(kernel(to.data(), index.data(), offsets.data(), n + 1, std::ssize(index) - 1),
                 "offsets[i] > len(content)", n);
  }
  // Awkward's own tests contain offsets that decrease.
  const T back[] = {2, 1, 3};
  const T index[] = {-1, 0, -1};
  T to[3] = {};
  EXPECT_EQ(text_of(kernel(to, index, back, 3, 3)), "");
  EXPECT_EQ(std::vector<T>(to, to + 3), (std::vector<T>{1, 0, 1}));
}

TEST(AwkwardOptions, DropNone) {
  check_drop_none<std::int32_t>(UPSWEEP_KERNEL(awkward_ListOffsetArray_drop_none_indexes_32));
  check_drop_none<std::int64_t>(UPSWEEP_KERNEL(awkward_ListOffsetArray_drop_none_indexes_64));
}

TEST(AwkwardOptions, FilledInUnions) {
#define CHECK(NAME, T)                                                                                               \
  for (const std::int64_t n : kSizes) {                                                                              \
    const auto index = index_of<T>(n, 1000);                                                                         \
    Index expected;                                                                                                  \
    for (const T i : index) expected.push_back(std::max<std::int64_t>(static_cast<std::int64_t>(i), 0));             \
    Guarded<std::int64_t> to(n, 1);                                                                                  \
    EXPECT_EQ(text_of(UPSWEEP_KERNEL(awkward_UnionArray_fillna_from##NAME##_to64)(to.data(), index.data(), n)), ""); \
    expect_same(to, expected, "index");                                                                              \
  }
  UPSWEEP_AWKWARD_BOUNDS(CHECK)
#undef CHECK
}

TEST(AwkwardReducers, CountsAndMasks) {
  for (const std::int64_t n : kSizes) {
    const auto offsets = offsets_of<std::int64_t>(n);
    Index counts;
    Index empty;
    Index positions;
    Index expected;
    for (std::int64_t i = 0; i < n; ++i) {
      counts.push_back(at(offsets, i + 1) - at(offsets, i));
      empty.push_back(counts.back() == 0 ? 1 : 0);
      positions.push_back(counts.back() == 0 ? -1 : at(offsets, i) + i % counts.back());
      expected.push_back(counts.back() == 0 ? -1 : i % counts.back());
    }
    Guarded<std::int64_t> to(n, 1);
    EXPECT_EQ(text_of(UPSWEEP_KERNEL(awkward_reduce_count_64)(to.data(), offsets.data(), n)), "");
    expect_same(to, counts, "counts");
    Guarded<std::int8_t> mask(n, 1);
    EXPECT_EQ(
        text_of(UPSWEEP_KERNEL(awkward_NumpyArray_reduce_mask_ByteMaskedArray_64)(mask.data(), offsets.data(), n)), "");
    expect_same(mask, empty, "mask");
    std::copy(positions.begin(), positions.end(), to.data());
    EXPECT_EQ(
        text_of(UPSWEEP_KERNEL(awkward_NumpyArray_reduce_adjust_starts_64)(to.data(), n, nullptr, offsets.data())), "");
    expect_same(to, expected, "positions in their lists");
  }
}

TEST(AwkwardSelect, OffsetsOfIndicesThatGoBack) {
  const auto kernel = UPSWEEP_KERNEL(awkward_ListArray64_getitem_jagged_apply_64);
  for (const std::int64_t n : {3, 300, 100'000}) {
    for (const std::int64_t bad : {std::int64_t{1}, n / 2, n - 1}) {
      Index index_offsets(static_cast<std::size_t>(n + 1));
      for (std::int64_t i = 0; i <= n; ++i)
        index_offsets[static_cast<std::size_t>(i)] = i < bad ? 0 : i == bad ? 1000 : 10;
      const Index index(1000, 0);
      const Index starts(static_cast<std::size_t>(n), 5);
      const Index stops(static_cast<std::size_t>(n), 6);
      Guarded<std::int64_t> tooffsets(n + 1, 1);
      Guarded<std::int64_t> carry(index_offsets.back(), 1);  // the length according to the offsets
      const auto error = kernel(tooffsets.data(), carry.data(), index_offsets.data(), index_offsets.data() + 1, n,
                                index.data(), 1000, starts.data(), stops.data(), 6);
      expect_error(error, "jagged slice's stops[i] < starts[i]", bad);
      EXPECT_TRUE(carry.intact()) << n << " lists, of which " << bad;
    }
  }
}

TEST(AwkwardSelect, Take) {
  const auto kernel = UPSWEEP_KERNEL(awkward_upsweep_take_64);
  const std::vector<float> content{10, 11, 12};
  for (const std::int64_t n : kSizes) {
    Index index;
    std::vector<float> expected;
    for (std::int64_t i = 0; i < n; ++i) {
      index.push_back(i % 6 - 3);
      expected.push_back(content[static_cast<std::size_t>((i % 6) % 3)]);
    }
    Guarded<float> to(n, 1);
    EXPECT_EQ(text_of(kernel(to.data(), index.data(), n, content.data(), 3, 4)), "");
    expect_same(to, expected, "taken");
    if (n == 0) continue;
    index.back() = -4;
    expect_error(kernel(to.data(), index.data(), n, content.data(), 3, 4), "index out of range", n - 1, -4);
  }
}

// ----------------------------------------------------------------------------------------------- steps between kernels

TEST(AwkwardSelect, Project) {
  const auto kernel = UPSWEEP_KERNEL(awkward_upsweep_project_64);
  const std::vector<float> content{10, 11, 12};
  for (const std::int64_t n : kSizes) {
    Index index;
    std::vector<float> expected;
    for (std::int64_t i = 0; i < n; ++i) {
      index.push_back(i % 3);
      expected.push_back(content[static_cast<std::size_t>(i % 3)]);
    }
    Guarded<float> to(n, 1);
    EXPECT_EQ(text_of(kernel(to.data(), index.data(), n, content.data(), 3, 4)), "");
    expect_same(to, expected, "projected");
    if (n == 0) continue;
    for (const std::int64_t bad : {std::int64_t{-1}, std::int64_t{3}}) {
      index.back() = bad;
      expect_error(kernel(to.data(), index.data(), n, content.data(), 3, 4), "index out of range", n - 1, bad);
    }
    index[static_cast<std::size_t>(n / 2)] = std::numeric_limits<std::int64_t>::min();
    expect_error(kernel(to.data(), index.data(), n, content.data(), 3, 4), "index out of range", n / 2,
                 std::numeric_limits<std::int64_t>::min());
    index[0] = 0;
    expect_error(kernel(to.data(), index.data(), n, content.data(), 0, 4), "index out of range", 0, 0);
    EXPECT_NE(text_of(kernel(to.data(), index.data(), n, content.data(), 3, 3)), "");
    EXPECT_NE(text_of(kernel(to.data(), index.data(), n, nullptr, 3, 4)), "");
  }
}

template <class T>
void expect_projected() {
  constexpr std::int64_t kCount = 20'001;
  std::vector<T> content(777);
  std::vector<T> expected(kCount);
  Index index(kCount);
  std::generate(content.begin(), content.end(), [i = 0]() mutable { return static_cast<T>(++i * 37); });
  for (std::size_t i = 0; i < index.size(); ++i) {
    index[i] = static_cast<std::int64_t>(i * 131 % content.size());
    expected[i] = content[static_cast<std::size_t>(index[i])];
  }
  Guarded<T> to(kCount, 1);
  EXPECT_EQ(text_of(UPSWEEP_KERNEL(awkward_upsweep_project_64)(to.data(), index.data(), kCount, content.data(), 777,
                                                               std::int64_t{sizeof(T)})),
            "");
  expect_same(to, expected, "projected");
}

TEST(AwkwardSelect, ProjectOfElementSizes) {
  expect_projected<std::int8_t>();
  expect_projected<std::int16_t>();
  expect_projected<float>();
  expect_projected<double>();
}

TEST(AwkwardBetween, Positions) {
  const auto kernel = UPSWEEP_KERNEL(awkward_upsweep_positions_64);
  for (const std::int64_t n : kSizes) {
    Index index;
    Index expected;
    for (std::int64_t i = 0; i < n; ++i) {
      index.push_back(i % 7 - 4);
      expected.push_back(i % 7 < 4 ? i % 7 - 1
                                   : i % 7 - 4);  // positions before the begin are kept: the take reports them
    }
    Guarded<std::int64_t> to(n, 1);
    EXPECT_EQ(text_of(kernel(to.data(), index.data(), n, 3)), "");
    expect_same(to, expected, "positions");
    if (n == 0) continue;
    index.back() = 3;
    EXPECT_EQ(text_of(kernel(to.data(), index.data(), n, 3)), "index out of range");
  }
}

TEST(AwkwardBetween, Equal) {
  const auto kernel = UPSWEEP_KERNEL(awkward_upsweep_equal);
  for (const std::int64_t n : kSizes) {
    const std::vector<char> a(static_cast<std::size_t>(n), 'a');
    std::vector<char> b = a;
    EXPECT_EQ(text_of(kernel(a.data(), b.data(), n)), "");
    if (n == 0) continue;
    b.back() = 'b';
    EXPECT_EQ(text_of(kernel(a.data(), b.data(), n)), "arrays differ");
  }
}

TEST(AwkwardBetween, SpreadAndPack) {
  const auto spread = UPSWEEP_KERNEL(awkward_upsweep_spread_64);
  const auto pack = UPSWEEP_KERNEL(awkward_upsweep_pack_64);
  for (const std::int64_t n : kSizes) {
    Index offsets = offsets_of<std::int64_t>(n);
    Index starts(offsets.rbegin() + 1, offsets.rend());  // the lists in reverse order
    const Index stops(offsets.rbegin(), offsets.rend() - 1);
    Index packed{0};
    std::vector<std::int32_t> numbers;
    Index expected_spread;
    Index expected_packed;
    for (std::int64_t i = 0; i < n; ++i) {
      numbers.push_back(static_cast<std::int32_t>(i));
      packed.push_back(packed.back() + at(stops, i) - at(starts, i));
      for (std::int64_t j = at(starts, i); j < at(stops, i); ++j) {
        expected_spread.push_back(i);
        expected_packed.push_back(j % 1000);
      }
    }
    std::vector<std::int16_t> content(static_cast<std::size_t>(offsets.back()));
    for (std::size_t j = 0; j < content.size(); ++j) content[j] = static_cast<std::int16_t>(j % 1000);
    Guarded<std::int32_t> to(packed.back(), 1);
    EXPECT_EQ(text_of(spread(to.data(), numbers.data(), packed.data(), n, 4)), "");
    expect_same(to, expected_spread, "spread");
    Guarded<std::int16_t> out(packed.back(), 1);
    const auto packs = [&](std::int64_t elements) {
      return text_of(pack(out.data(), packed.data(), n, starts.data(), stops.data(), content.data(), elements, 2));
    };
    EXPECT_EQ(packs(std::ssize(content)), "");
    expect_same(out, expected_packed, "packed");
    if (n < 10) continue;
    EXPECT_EQ(packs(std::ssize(content) - 1), "stops[i] > len(content)");
  }
}

TEST(AwkwardBetween, Concatenate) {
  const auto kernel = UPSWEEP_KERNEL(awkward_upsweep_concatenate_64);
  for (const std::int64_t n : kSizes) {
    const Index first = offsets_of<std::int64_t>(n, 1);
    Index second = offsets_of<std::int64_t>(n, 2);
    const std::int64_t lengths[] = {first.back(), second.back()};
    std::vector<float> a(static_cast<std::size_t>(first.back()));
    std::vector<float> b(static_cast<std::size_t>(second.back()));
    for (std::size_t j = 0; j < a.size(); ++j) a[j] = static_cast<float>(j);
    for (std::size_t j = 0; j < b.size(); ++j) b[j] = -static_cast<float>(j);
    Index offsets{0};
    std::vector<float> elements;
    Index positions;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = at(first, i); j < at(first, i + 1); ++j) {
        elements.push_back(a[static_cast<std::size_t>(j)]);
        positions.push_back(j);
      }
      for (std::int64_t j = at(second, i); j < at(second, i + 1); ++j) {
        elements.push_back(b[static_cast<std::size_t>(j)]);
        positions.push_back(first.back() + j);
      }
      offsets.push_back(std::ssize(elements));
    }
    const std::int64_t* const bounds[] = {first.data(), second.data()};
    const void* const contents[] = {a.data(), b.data()};
    Guarded<std::int64_t> tooffsets(n + 1, 1);
    Guarded<float> to(std::ssize(elements), 1);
    EXPECT_EQ(text_of(kernel(tooffsets.data(), to.data(), bounds, contents, lengths, 2, n, 4)), "");
    expect_same(tooffsets, offsets, "offsets");
    expect_same(to, elements, "elements");
    Guarded<std::int64_t> index(std::ssize(elements), 1);
    EXPECT_EQ(text_of(kernel(tooffsets.data(), index.data(), bounds, nullptr, lengths, 2, n, 0)), "");
    expect_same(index, positions, "positions");
    if (n < 10) continue;
    const std::int64_t short_lengths[] = {first.back(), second.back() - 1};
    EXPECT_NE(text_of(kernel(tooffsets.data(), to.data(), bounds, contents, short_lengths, 2, n, 4)), "");
    std::swap(second[5], second[9]);
    EXPECT_EQ(text_of(kernel(tooffsets.data(), to.data(), bounds, contents, lengths, 2, n, 4)),
              "offsets must be monotonically increasing");
  }
}

TEST(AwkwardBetween, Choose) {
  const auto kernel = UPSWEEP_KERNEL(awkward_upsweep_choose_64);
  const std::vector<double> a{10, 11};
  const std::vector<double> b{20, 21, 22};
  const void* const contents[] = {a.data(), b.data()};
  const std::int64_t lengths[] = {2, 3};
  for (const std::int64_t n : kSizes) {
    std::vector<std::int8_t> tags;
    Index index;
    std::vector<double> expected;
    for (std::int64_t i = 0; i < n; ++i) {
      tags.push_back(static_cast<std::int8_t>(i % 5 > 2));
      index.push_back(i % (tags.back() == 0 ? 2 : 3));
      expected.push_back(static_cast<double>((tags.back() == 0 ? 10 : 20) + index.back()));
    }
    Guarded<double> to(n, 1);
    const auto chooses = [&] { return kernel(to.data(), tags.data(), index.data(), n, contents, lengths, 2, 8); };
    EXPECT_EQ(text_of(chooses()), "");
    expect_same(to, expected, "chosen");
    if (n == 0) continue;
    tags.back() = 2;
    expect_error(chooses(), "index out of range", n - 1);
    tags.back() = 0;
    index.back() = 2;
    expect_error(chooses(), "index out of range", n - 1);
    EXPECT_NE(text_of(kernel(to.data(), tags.data(), index.data(), n, contents, lengths, 2, 3)), "");
  }
}

TEST(AwkwardBetween, Mean) {
  const auto kernel = UPSWEEP_KERNEL(awkward_upsweep_mean_64);
  for (const std::int64_t n : kSizes) {
    const Index offsets = offsets_of<std::int64_t>(n);
    Guarded<double> sums(n, 1);
    for (std::int64_t i = 0; i < n; ++i) sums.data()[i] = static_cast<double>(i);
    EXPECT_EQ(text_of(kernel(sums.data(), offsets.data(), n)), "");
    EXPECT_TRUE(sums.intact());
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t count = at(offsets, i + 1) - at(offsets, i);
      if (count == 0) {
        ASSERT_TRUE(std::isnan(sums.data()[i]) && !std::signbit(sums.data()[i])) << i;
      } else {
        ASSERT_EQ(sums.data()[i], static_cast<double>(i) / static_cast<double>(count)) << i;
      }
    }
  }
}

TEST(AwkwardIndexKernels, NullPointersAreRefused) {
  std::int64_t out[2] = {};
  const std::int64_t some[] = {0, 1};
  const std::string text = "a null pointer, a bad number, or an output that overlaps an input";
  EXPECT_EQ(text_of(UPSWEEP_KERNEL(awkward_reduce_count_64)(out, nullptr, 1)), text);
  EXPECT_EQ(text_of(UPSWEEP_KERNEL(awkward_ListArray64_getitem_next_range_64)(nullptr, out, some, some, 1, 0, 1, 1)),
            text);
  EXPECT_EQ(text_of(UPSWEEP_KERNEL(awkward_ListOffsetArray64_rpad_axis1_64)(out, nullptr, 1, 1)), text);
  EXPECT_EQ(text_of(UPSWEEP_KERNEL(awkward_IndexedArray64_numnull)(out, nullptr, 1)), text);
  EXPECT_EQ(
      text_of(UPSWEEP_KERNEL(awkward_UnionArray8_64_simplify_one_to8_64)(nullptr, out, nullptr, some, 0, 0, 1, 0)),
      text);
}

}  // namespace
}  // namespace upsweep
