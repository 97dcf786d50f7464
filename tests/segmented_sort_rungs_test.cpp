// SPDX-License-Identifier: Apache-2.0
// tests/segmented_sort_rungs_test.cpp: every rung of sorts per list is compared with the reference. Cases: types,
// lengths, patterns, order, bounds, misalignment, threads, instruction sets, NaN and -0.0 by their bits, invalid lists,
// and what calls refuse.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "climb/generated_lists.hpp"
#include "patterns.hpp"
#include "problems/lists/segmented_sort/reference.hpp"
#include "rungs.hpp"
#include "upsweep/segmented_sort.hpp"

namespace upsweep {
namespace {

using tests::code_of;
using tests::Guarded;
using tests::isas;
using tests::kSanitized;

using Offsets = std::vector<std::int64_t>;

constexpr SortOptions kOrders[] = {{}, {.descending = true}, {.nan_first = true}, {true, true}};

/// Elements with many duplicates. Some floats are NaN of several kinds, -0.0, 0.0 and infinite.
template <class T>
std::vector<T> make_content(std::int64_t n, unsigned seed, bool is_odd = true) {
  std::mt19937_64 random(seed);
  std::vector<T> content(static_cast<std::size_t>(n));
  for (auto& x : content) {
    const auto bits = random();
    if constexpr (std::is_floating_point_v<T>) {
      using Limits = std::numeric_limits<T>;
      const T odd[] = {
          Limits::quiet_NaN(), -Limits::quiet_NaN(), static_cast<T>(std::nan("7")), T{-0.0}, T{0}, Limits::infinity(),
          -Limits::infinity(), Limits::lowest(),     Limits::denorm_min()};
      x = is_odd && bits % 4 == 0 ? odd[(bits >> 8) % std::size(odd)]
                                  : static_cast<T>(static_cast<std::int64_t>((bits >> 16) % 1000) - 499) / T{8};
      if (!is_odd && x == 0) x = T{1};
    } else {
      using Limits = std::numeric_limits<T>;
      const T ends[] = {Limits::min(), Limits::max(), T{0}, static_cast<T>(-1)};
      x = bits % 4 == 0 ? ends[(bits >> 8) % 4] : static_cast<T>(bits >> 16);
    }
  }
  return content;
}

/// The lists' elements and their positions in order, list after list.
template <class T>
struct Expected {
  Offsets starts;
  Offsets lengths;
  std::vector<T> sorted;
  std::vector<std::int64_t> positions;

  void add(const std::vector<T>& content, std::int64_t start, std::int64_t length, const SortOptions& order) {
    starts.push_back(start);
    lengths.push_back(length);
    if (length == 0) return;
    const T* const list = content.data() + start;
    for (const std::int64_t at :
         impl::segmented_sort::expected_positions(list, 0, length, order.descending, order.nan_first)) {
      sorted.push_back(list[at]);
      positions.push_back(at);
    }
  }
  [[nodiscard]] std::int64_t elements() const { return std::ssize(sorted); }
};

template <class T>
Expected<T> expected_of(const std::vector<T>& content, const Offsets& offsets, const SortOptions& order) {
  Expected<T> expected;
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    expected.add(content, offsets[i - 1], offsets[i] - offsets[i - 1], order);
  }
  return expected;
}

/// Whether the lists of `out`, each at its start or all adjacent, equal the expected ones, bit by bit.
template <class T, class Out>
bool is_right(const Expected<T>& expected, const std::vector<Out>& values, const Out* out, bool is_packed) {
  std::int64_t at = 0;
  for (std::size_t i = 0; i < expected.starts.size(); ++i) {
    if (expected.lengths[i] == 0) continue;
    const Out* const list = out + (is_packed ? at : expected.starts[i]);
    if (!impl::segmented_sort::same_bytes(list, values.data() + at,
                                          static_cast<std::size_t>(expected.lengths[i]) * sizeof(Out))) {
      return false;
    }
    at += expected.lengths[i];
  }
  return true;
}

/// Elements outside all lists must not change.
template <class Out>
bool is_untouched(const Out* first, std::int64_t count) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(first);
  return std::all_of(bytes, bytes + count * std::int64_t{sizeof(Out)}, [](unsigned char b) { return b == 0xA5; });
}

/// Checks adjacent lists: sorted, also in place, and their positions.
template <class T>
void check_adjacent(const Policy& policy, const Lists& lists, const std::vector<T>& content,
                    const Expected<T>& expected, const SortOptions& order, std::int64_t misaligned = 0) {
  const std::int64_t n = std::ssize(content);
  Guarded<T> in(n, misaligned);
  std::copy(content.begin(), content.end(), in.data());
  const std::int64_t first = expected.starts.empty() ? 0 : expected.starts.front();
  const std::int64_t end = expected.starts.empty() ? 0 : expected.starts.back() + expected.lengths.back();
  const auto check = [&](auto& out, const auto& values, const SegmentedSort& result, const char* what) {
    EXPECT_EQ(result.elements, expected.elements());
    EXPECT_TRUE(is_right(expected, values, out.data(), false)) << what << " by " << result.rung;
    EXPECT_TRUE(out.intact()) << what << " by " << result.rung;
  };
  {
    Guarded<T> out(n, misaligned / 2);
    check(out, expected.sorted, segmented_sort(policy, lists, in.data(), n, out.data(), n, order), "sort");
    EXPECT_TRUE(is_untouched(out.data(), first) && is_untouched(out.data() + end, n - end));
  }
  Guarded<std::int64_t> positions(n, misaligned);
  check(positions, expected.positions, segmented_argsort(policy, lists, in.data(), n, positions.data(), n, order),
        "argsort");
  EXPECT_TRUE(is_untouched(positions.data(), first) && is_untouched(positions.data() + end, n - end));
  EXPECT_TRUE(impl::segmented_sort::same_bytes(in.data(), content.data(), content.size() * sizeof(T)))
      << "the content was written";
  check(in, expected.sorted, segmented_sort(policy, lists, in.data(), n, in.data(), n, order), "sort in place");
  EXPECT_TRUE(impl::segmented_sort::same_bytes(in.data(), content.data(), static_cast<std::size_t>(first) * sizeof(T)));
  EXPECT_TRUE(impl::segmented_sort::same_bytes(in.data() + end, content.data() + end,
                                               static_cast<std::size_t>(n - end) * sizeof(T)));
}

template <class T>
void check_rungs(const Policy& policy, const Lists& lists, const std::vector<T>& content, const Expected<T>& expected,
                 const SortOptions& order, std::int64_t misaligned = 0) {
  for (const auto& rung : tests::cpu_rungs("segmented-sort")) {
    SCOPED_TRACE(testing::Message() << rung.id << " threads " << policy.threads << " isa " << name(policy.isa)
                                    << (order.descending ? " descending" : "")
                                    << (order.nan_first ? " NaN first" : ""));
    check_adjacent(policy.with_rung(rung.id), lists, content, expected, order, misaligned);
  }
}

template <class T>
class SortRungs : public testing::Test {};
TYPED_TEST_SUITE(SortRungs, tests::ElementTypes);

TYPED_TEST(SortRungs, EveryLength) {
  // Lengths around every row (8, 16, 32, 64), its parts, and blocks of long lists; each length also at the end of
  // memory.
  Offsets offsets{3};
  std::mt19937 random(1);
  for (std::int64_t length = 0; length <= 140; ++length) {
    offsets.push_back(offsets.back() + length);
    offsets.push_back(offsets.back() + static_cast<std::int64_t>(random() % 9));
  }
  for (const std::int64_t length : {191, 192, 193, 1023, 1024, 1025, 2047, 5000}) {
    offsets.push_back(offsets.back() + length);
  }
  for (const bool is_odd : {true, false}) {
    const auto content = make_content<TypeParam>(offsets.back() + 5, 7, is_odd);
    for (const SortOptions& order : kOrders) {
      const auto expected = expected_of(content, offsets, order);
      for (const Isa isa : isas()) check_rungs(seq.with_isa(isa), Lists(offsets), content, expected, order, 1);
    }
  }
}

TYPED_TEST(SortRungs, EveryLengthAtTheEndOfMemory) {
  for (std::int64_t length = 0; length <= 70; ++length) {
    const Offsets offsets{0, 0, length, length};
    const auto content = make_content<TypeParam>(length, static_cast<unsigned>(length));
    const auto expected = expected_of(content, offsets, {});
    for (const Isa isa : isas()) check_rungs(seq.with_isa(isa), Lists(offsets), content, expected, {}, length % 4);
  }
}

TYPED_TEST(SortRungs, EveryPatternThreadCountAndAlignment) {
  for (int pattern = 0; pattern < static_cast<int>(std::size(kListPatterns)); ++pattern) {
    const auto offsets = generated_offsets(static_cast<ListPattern>(pattern), 70001);
    const auto content = make_content<TypeParam>(70001, 5);
    for (const int threads : {1, 3}) {
      const SortOptions order{.descending = threads == 3};
      SCOPED_TRACE(kListPatterns[pattern]);
      check_rungs(par.with_threads(threads), Lists(offsets), content, expected_of(content, offsets, order), order,
                  threads);
    }
  }
}

/// Lists that all threads sort together, among others.
TEST(SortTogether, OneListOfEverythingAndAFewOnManyThreads) {
  constexpr std::int64_t kElements = 400003;
  for (const Offsets& offsets : {Offsets{0, kElements}, Offsets{1, 3, 140003, 140003, 290003, 290004, kElements}}) {
    for (const bool is_odd : {false, true}) {
      const auto content = make_content<double>(kElements, 11, is_odd);
      const auto narrow = make_content<std::uint16_t>(kElements, 11);
      for (const int threads : {2, 3, 4}) {
        const SortOptions order{.descending = threads == 3};
        check_adjacent(par.with_threads(threads), Lists(offsets), content, expected_of(content, offsets, order), order);
        check_adjacent(par.with_threads(threads), Lists(offsets), narrow, expected_of(narrow, offsets, order), order);
      }
    }
  }
}

TEST(SortTogether, ManyUnitsOnManyThreadsAndEveryInstructionSet) {
  const std::int64_t n = kSanitized ? 200000 : 1000003;
  for (const ListPattern pattern : {ListPattern::poisson, ListPattern::giants, ListPattern::pareto}) {
    const auto offsets = generated_offsets(pattern, n);
    const auto content = make_content<float>(n, 12);
    const auto expected = expected_of(content, offsets, {});
    for (const int threads : {1, 2, 3, 4}) {
      for (const Isa isa : isas()) {
        check_adjacent(par.with_threads(threads).with_isa(isa), Lists(offsets), content, expected, {}, threads);
      }
    }
  }
}

// ----------------------------------------------------------------------------------------------------- kinds of lists

template <class T>
class SortBounds : public testing::Test {};
using BoundTypes = testing::Types<std::int32_t, std::uint32_t, std::int64_t>;
TYPED_TEST_SUITE(SortBounds, BoundTypes);

/// Some lists are null; their bounds may have any value.
TYPED_TEST(SortBounds, NullListsAreEmptyAndNothingIsSaidOfThem) {
  constexpr std::int64_t kLists = 3000;
  std::mt19937 random(2);
  const auto content = make_content<float>(20000, 3);
  std::vector<TypeParam> offsets{2};
  std::vector<std::uint8_t> valid;
  for (std::int64_t i = 0; i < kLists; ++i) {
    valid.push_back(random() % 4 != 0);
    offsets.push_back(static_cast<TypeParam>(offsets.back() + static_cast<TypeParam>(random() % 7)));
  }
  ASSERT_LE(static_cast<std::int64_t>(offsets.back()), 20000);
  std::vector<std::uint8_t> bits(kLists / 8 + 2);
  for (std::size_t i = 0; i < valid.size(); ++i)
    bits[(i + 5) / 8] |= static_cast<std::uint8_t>(valid[i] << ((i + 5) % 8));
  Expected<float> expected;
  for (std::size_t i = 0; i < valid.size(); ++i) {
    const auto start = static_cast<std::int64_t>(offsets[i]);
    expected.add(content, start, valid[i] != 0 ? static_cast<std::int64_t>(offsets[i + 1]) - start : 0, {});
  }
  const Lists lists(offsets);
  for (const Mask& mask : {Mask(valid), Mask::bits(bits.data(), kLists, 5)}) {
    for (const auto& rung : tests::cpu_rungs("segmented-sort")) {
      const Policy policy = par.with_threads(2).with_rung(rung.id);
      std::vector<float> out(content.size(), 77);
      EXPECT_EQ(segmented_sort(policy, lists.with_validity(mask), content, out).elements, expected.elements());
      EXPECT_TRUE(is_right(expected, expected.sorted, out.data(), false)) << rung.id;
      std::vector<std::uint8_t> is_in_list(content.size());
      for (std::size_t i = 0; i < valid.size(); ++i) {
        if (valid[i] == 0) continue;
        for (auto j = static_cast<std::size_t>(offsets[i]); j < static_cast<std::size_t>(offsets[i + 1]); ++j) {
          is_in_list[j] = 1;
        }
      }
      for (std::size_t j = 0; j < out.size(); ++j)
        ASSERT_TRUE(is_in_list[j] != 0 || out[j] == 77) << rung.id << ' ' << j;
      std::vector<float> both = content;
      segmented_sort(policy, lists.with_validity(mask), both, both);
      EXPECT_TRUE(is_right(expected, expected.sorted, both.data(), false)) << rung.id;
      for (std::size_t i = 0; i < valid.size(); ++i) {
        if (valid[i] != 0) continue;
        const auto first = static_cast<std::size_t>(offsets[i]);
        const auto bytes = (static_cast<std::size_t>(offsets[i + 1]) - first) * sizeof(float);
        ASSERT_TRUE(impl::segmented_sort::same_bytes(both.data() + first, content.data() + first, bytes))
            << rung.id << " null list " << i;
      }
    }
  }
}

TYPED_TEST(SortBounds, ListsAnywhereGoOneAfterTheOther) {
  constexpr std::int64_t kLists = 2500;
  std::mt19937 random(4);
  const auto content = make_content<std::int32_t>(5000, 3);
  std::vector<TypeParam> starts;
  std::vector<TypeParam> stops;
  Expected<std::int32_t> expected;
  for (std::int64_t i = 0; i < kLists; ++i) {
    const auto length =
        static_cast<std::int64_t>(i % 500 == 7 ? 1500 + random() % 3000 : random() % 80 * (random() % 2));
    const auto start = static_cast<std::int64_t>(random() % static_cast<unsigned>(5000 - length + 1));
    const std::int64_t anywhere = std::is_signed_v<TypeParam> && i % 2 == 0 ? -5 : 1 << 30;  // start of an empty list
    starts.push_back(static_cast<TypeParam>(length == 0 ? anywhere : start));
    stops.push_back(static_cast<TypeParam>(length == 0 ? anywhere : start + length));
    expected.add(content, start, length, {.descending = true});
  }
  const Lists lists(starts, stops);
  const std::int64_t n = expected.elements();
  for (const Isa isa : isas()) {
    for (const int threads : {1, 3}) {
      for (const auto& rung : tests::cpu_rungs("segmented-sort")) {
        const Policy policy = par.with_threads(threads).with_isa(isa).with_rung(rung.id);
        Guarded<std::int32_t> out(n, 1);
        Guarded<std::int64_t> positions(n, 1);
        segmented_sort(policy, lists, content, out.span(), {.descending = true});
        segmented_argsort(policy, lists, content, positions.span(), {.descending = true});
        EXPECT_TRUE(is_right(expected, expected.sorted, out.data(), true) && out.intact()) << rung.id;
        EXPECT_TRUE(is_right(expected, expected.positions, positions.data(), true) && positions.intact()) << rung.id;
      }
    }
  }
}

/// Bounds of null lists that no memory has.
TEST(SortLists, NullListsFarAway) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const Offsets offsets{-5, 0, 3, kMost, kMost - 9};
  const std::vector<std::uint8_t> valid{0, 1, 0, 0};
  const auto content = make_content<double>(40, 6);
  Expected<double> expected;
  expected.add(content, 0, 3, {});
  for (const auto& rung : tests::cpu_rungs("segmented-sort")) {
    for (const bool in_place : {false, true}) {
      Guarded<double> out(40);
      std::copy(content.begin(), content.end(), out.data());
      segmented_sort(par.with_rung(rung.id), Lists(offsets).with_validity(valid),
                     in_place ? out.data() : content.data(), 40, out.data(), 40);
      EXPECT_TRUE(is_right(expected, expected.sorted, out.data(), false) && out.intact()) << rung.id;
    }
  }
}

TEST(SortLists, OfOneSize) {
  for (const std::int64_t size : {0, 1, 3, 8, 9, 33, 64, 65, 1000, 1025, 3000}) {
    const std::int64_t count = size == 0 ? 5000 : 20000 / size;
    Offsets offsets;
    for (std::int64_t i = 0; i <= count; ++i) offsets.push_back(i * size);
    const auto content = make_content<std::uint64_t>(count * size + 3, 9);
    check_rungs(par.with_threads(2), Lists::of_size(count, size), content, expected_of(content, offsets, {}), {});
  }
}

// ------------------------------------------------------------------------------------------------------------- errors

TEST(SortErrors, TheFirstBadListIsNamedAndNothingIsWritten) {
  constexpr std::int64_t kLists = 200000;
  Offsets starts;
  Offsets stops;
  for (std::int64_t i = 0; i < kLists; ++i) {
    starts.push_back(i * 3);
    stops.push_back(i * 3 + 3);
  }
  const auto content = make_content<double>(3 * kLists, 1);
  const auto check = [&](std::int64_t bad, Code code) {
    for (const auto& rung : tests::cpu_rungs("segmented-sort")) {
      for (const int threads : {1, 4}) {
        Guarded<double> out(std::ssize(content));
        try {
          segmented_sort(par.with_threads(threads).with_rung(rung.id), Lists(starts, stops), content, out.span());
          ADD_FAILURE() << rung.id << ": no error";
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), code) << error.what();
          EXPECT_EQ(error.index(), bad) << error.what();
        }
        EXPECT_TRUE(out.intact() && is_untouched(out.data(), std::ssize(content)));
      }
    }
  };
  const auto with = [&](std::int64_t list, std::int64_t start, std::int64_t stop, const auto& run) {
    const auto at = static_cast<std::size_t>(list);
    const std::int64_t kept[] = {std::exchange(starts[at], start), std::exchange(stops[at], stop)};
    run();
    starts[at] = kept[0];
    stops[at] = kept[1];
  };
  for (const std::int64_t list : {std::int64_t{0}, std::int64_t{1023}, std::int64_t{1024}, kLists - 1}) {
    with(list, 9, 8, [&] { check(list, Code::stop_before_start); });
    with(list, 1, std::numeric_limits<std::int64_t>::min(), [&] { check(list, Code::stop_before_start); });
    with(list, -1, 8, [&] { check(list, Code::negative_start); });
    with(list, 8, 3 * kLists + 1, [&] { check(list, Code::stop_past_end); });
  }
  with(kLists - 1, 9, 8, [&] { with(150000, -1, 8, [&] { check(150000, Code::negative_start); }); });
  with(70000, 9, 8, [&] { with(69999, 8, 3 * kLists + 1, [&] { check(69999, Code::stop_past_end); }); });
}

TEST(SortErrors, WhatCallsRefuse) {
  std::vector<double> content{3, 1, 2};
  std::vector<double> out(3);
  std::vector<std::int64_t> positions(3);
  const Offsets offsets{0, 3};
  const Offsets starts{0, 1};
  const Offsets stops{2, 3};
  const Lists anywhere(starts, stops);
  const auto sort = [&](const Policy& policy, const Lists& lists, std::int64_t capacity, double* to) {
    return code_of([&] { segmented_sort(policy, lists, content.data(), 3, to, capacity); });
  };
  EXPECT_EQ(sort(par, Lists(offsets), 3, out.data()), Code::ok);
  EXPECT_EQ(sort(par, Lists(offsets), 2, out.data()), Code::unequal_lengths);
  EXPECT_EQ(sort(par, anywhere, 3, out.data()), Code::unequal_lengths) << "four elements in all";
  EXPECT_EQ(sort(par, Lists(offsets), 3, nullptr), Code::invalid_argument);
  EXPECT_EQ(sort(par, Lists(offsets), -1, out.data()), Code::invalid_argument);
  EXPECT_EQ(sort(par, anywhere, 3, content.data()), Code::invalid_argument) << "in place, one after the other";
  EXPECT_EQ(sort(par, Lists(offsets), 3, content.data() + 1), Code::invalid_argument) << "overlapping";
  EXPECT_EQ(sort(par, Lists::of_size(2, 2), 3, out.data()), Code::unequal_lengths);
  EXPECT_EQ(sort(par, Lists::of_size(std::numeric_limits<std::int64_t>::max(), 0), 3, out.data()),
            Code::invalid_argument);
  EXPECT_EQ(sort(par.with_rung("cpu.quick"), Lists(offsets), 3, out.data()), Code::unknown_rung);
  EXPECT_EQ(sort(par.with_threads(-1), Lists(offsets), 3, out.data()), Code::invalid_argument);
  EXPECT_EQ(code_of([&] {
              segmented_argsort(par, Lists(offsets), reinterpret_cast<const std::int64_t*>(positions.data()), 3,
                                positions.data(), 3);
            }),
            Code::invalid_argument);
  std::vector<float> many(1 << 20);
  for (const std::int64_t place : {std::int64_t{0}, std::int64_t{-5}, std::numeric_limits<std::int64_t>::max()}) {
    const Offsets all(std::size_t{3}, place);
    EXPECT_EQ(segmented_sort(par, Lists(all), many, many).elements, 0);
    EXPECT_EQ(segmented_sort(par, Lists(all), content, out).elements, 0) << "empty lists, wherever they are";
  }
}

TEST(SortApi, NothingAtAllAndBooleans) {
  const Offsets none{0};
  const std::vector<double> empty;
  std::vector<double> out;
  EXPECT_EQ(segmented_sort(par, none, empty, out).elements, 0);
  EXPECT_EQ(segmented_sort(par, Lists(), empty, out).rung, "cpu.networks");
  const Offsets offsets{0, 3, 5};
  const bool content[] = {true, false, true, true, false};
  bool sorted[5];
  std::int64_t positions[5];
  segmented_sort(par, offsets, content, sorted);
  segmented_argsort(par, offsets, content, positions);
  const bool expected[] = {false, true, true, false, true};
  const std::int64_t expected_positions[] = {1, 0, 2, 1, 0};
  EXPECT_TRUE(std::equal(std::begin(sorted), std::end(sorted), std::begin(expected)));
  EXPECT_TRUE(std::equal(std::begin(positions), std::end(positions), std::begin(expected_positions)));
}

TEST(SortErrors, OutputsThatOverlapTheBounds) {
  // Enough lists for several work units of a plan, with their bounds in the memory of the output.
  constexpr std::int64_t kElements = 15'000;
  const std::vector<std::int64_t> content(kElements, std::int64_t{1} << 45);
  Offsets offsets(kElements + 1);
  for (std::int64_t i = 0; i <= kElements; ++i) offsets[static_cast<std::size_t>(i)] = std::min(3 * i, kElements);
  const Offsets before = offsets;
  for (const auto& rung : tests::cpu_rungs("segmented-sort")) {
    const Policy policy = par.with_rung(rung.id);
    EXPECT_EQ(
        code_of([&] { segmented_sort(policy, Lists(offsets), content.data(), kElements, offsets.data(), kElements); }),
        Code::invalid_argument)
        << rung.id;
    EXPECT_EQ(code_of([&] {
                segmented_argsort(policy, Lists(offsets), content.data(), kElements, offsets.data(), kElements);
              }),
              Code::invalid_argument)
        << rung.id;
  }
  EXPECT_EQ(offsets, before);
}

}  // namespace
}  // namespace upsweep
