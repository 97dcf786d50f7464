// SPDX-License-Identifier: Apache-2.0
// tests/cuda_segmented_sort_test.cpp: every CUDA rung of sorts per list is compared with the reference. Cases: types,
// lengths, patterns, orders, bounds, nulls, NaN and -0.0 by their bits, positions, in-place calls, invalid lists,
// graphs, memory, and what calls refuse.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "climb/generated_lists.hpp"
#include "device_array.hpp"
#include "list_lengths.hpp"
#include "patterns.hpp"
#include "problems/lists/segmented_sort/reference.hpp"
#include "rungs.hpp"
#include "upsweep/segmented_sort.hpp"

namespace upsweep {
namespace {

using tests::code_of;
using tests::DeviceArray;
using tests::GpuTest;
using tests::LengthPattern;
using tests::require;

using Offsets = std::vector<std::int64_t>;

constexpr SortOptions kOrders[] = {{}, {.descending = true}, {.nan_first = true}, {true, true}};

std::vector<RungInfo> rungs() { return tests::rungs_of("segmented-sort", Backend::cuda); }

/// Whether the rung is slow if the longest list has this length.
bool is_slow(const RungInfo& rung, std::int64_t longest) {
  return (rung.id == "cuda.thread_per_list" && longest > 1100) || (rung.id == "cuda.warp_per_list" && longest > 5000);
}

/// Elements with many duplicates. Some floats are NaN of several kinds, -0.0, 0.0 and infinite.
template <class T>
std::vector<T> make_content(std::int64_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<T> content(static_cast<std::size_t>(n));
  for (auto& x : content) {
    const auto bits = random();
    using Limits = std::numeric_limits<T>;
    if constexpr (std::is_floating_point_v<T>) {
      const T odd[] = {
          Limits::quiet_NaN(), -Limits::quiet_NaN(), static_cast<T>(std::nan("7")), T{-0.0}, T{0}, Limits::infinity(),
          -Limits::infinity(), Limits::lowest(),     Limits::denorm_min()};
      x = bits % 4 == 0 ? odd[(bits >> 8) % std::size(odd)]
                        : static_cast<T>(static_cast<std::int64_t>((bits >> 16) % 1000) - 499) / T{8};
    } else {
      const T ends[] = {Limits::min(), Limits::max(), T{0}, static_cast<T>(-1)};
      x = bits % 4 == 0 ? ends[(bits >> 8) % 4] : static_cast<T>(bits >> 16);
    }
  }
  return content;
}

Offsets offsets_of(const std::vector<std::int64_t>& lengths, std::int64_t first) {
  Offsets offsets{first};
  for (const std::int64_t length : lengths) offsets.push_back(offsets.back() + length);
  return offsets;
}

std::int64_t longest_of(const Offsets& offsets) {
  std::int64_t longest = 0;
  for (std::size_t i = 1; i < offsets.size(); ++i) longest = std::max(longest, offsets[i] - offsets[i - 1]);
  return longest;
}

/// The expected result, element by element. Elements outside all lists, and those of null lists, are not compared.
template <class T>
struct Expected {
  std::vector<T> sorted;
  std::vector<std::int64_t> positions;
  std::vector<bool> is_compared;
  std::int64_t first = 0;  ///< elements before it are in no list
  std::int64_t end = 0;    ///< nor are those from here on
  std::int64_t elements = 0;
};

template <class T>
Expected<T> expected_of(const std::vector<T>& content, const Offsets& offsets, const SortOptions& order,
                        const std::vector<std::uint8_t>& valid = {}) {
  const std::size_t n = content.size();
  Expected<T> expected{.sorted = content, .positions = Offsets(n), .is_compared = std::vector<bool>(n)};
  expected.first = offsets.front();
  expected.end = offsets.back();
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    if (!valid.empty() && valid[i - 1] == 0) continue;
    const auto start = static_cast<std::size_t>(offsets[i - 1]);
    const std::int64_t count = offsets[i] - offsets[i - 1];
    const auto list =
        impl::segmented_sort::expected_positions(content.data() + start, 0, count, order.descending, order.nan_first);
    expected.elements += count;
    for (std::size_t j = 0; j < list.size(); ++j) {
      expected.positions[start + j] = list[j];
      expected.sorted[start + j] = content[start + static_cast<std::size_t>(list[j])];
      expected.is_compared[start + j] = true;
    }
  }
  return expected;
}

/// Returns the first element that is wrong, or kNoIndex. Elements outside all lists must equal `before`.
template <class T, class Out>
std::int64_t first_wrong(const Expected<T>& expected, const std::vector<Out>& right, const std::vector<Out>& found,
                         const std::vector<Out>& before) {
  for (std::size_t j = 0; j < found.size(); ++j) {
    const auto at = static_cast<std::int64_t>(j);
    const bool is_outside = at < expected.first || at >= expected.end;
    if (!is_outside && !expected.is_compared[j]) continue;
    const Out& one = is_outside ? before[j] : right[j];
    if (std::memcmp(&one, &found[j], sizeof(Out)) != 0) return at;
  }
  return kNoIndex;
}

/// Checks the sorted elements, also in place, and the positions.
template <class T>
void check(const gpu::Policy& policy, const Lists& lists, const std::vector<T>& content, const Expected<T>& expected,
           const SortOptions& order, std::int64_t misaligned = 0) {
  const std::int64_t n = std::ssize(content);
  DeviceArray<T> in(content, misaligned);
  DeviceArray<T> out(n, misaligned / 2);
  const auto sorted_before = out.values();
  const auto sorted = segmented_sort(policy, lists, in.data(), n, out.data(), n, order);
  EXPECT_EQ(sorted.rung, policy.rung.empty() ? "cuda.tiles" : policy.rung);
  EXPECT_EQ(sorted.elements, expected.elements);
  EXPECT_EQ(first_wrong(expected, expected.sorted, out.values(), sorted_before), kNoIndex) << "sort";
  EXPECT_TRUE(out.intact());
  DeviceArray<std::int64_t> positions(n, misaligned % 2);
  const auto positions_before = positions.values();
  const auto argsorted = segmented_argsort(policy, lists, in.data(), n, positions.data(), n, order);
  EXPECT_EQ(argsorted.elements, expected.elements);
  EXPECT_EQ(first_wrong(expected, expected.positions, positions.values(), positions_before), kNoIndex) << "argsort";
  EXPECT_TRUE(positions.intact());
  EXPECT_TRUE(impl::segmented_sort::same_bytes(in.values().data(), content.data(), content.size() * sizeof(T)))
      << "the content was written";
  segmented_sort(policy, lists, in.data(), n, in.data(), n, order);
  EXPECT_EQ(first_wrong(expected, expected.sorted, in.values(), content), kNoIndex) << "sort in place";
  EXPECT_TRUE(in.intact());
}

template <class T>
void check_rungs(const Lists& lists, const std::vector<T>& content, const Expected<T>& expected,
                 const SortOptions& order, std::int64_t longest, std::int64_t misaligned = 0) {
  for (const auto& rung : rungs()) {
    if (is_slow(rung, longest) || (lists.valid.is_given() && rung.id == "cuda.cub")) continue;
    SCOPED_TRACE(testing::Message() << rung.id << (order.descending ? " descending" : "")
                                    << (order.nan_first ? " NaN first" : ""));
    check(gpu::Policy{}.with_rung(rung.id), lists, content, expected, order, misaligned);
  }
}

Lists on_device(DeviceArray<std::int64_t>& offsets, std::size_t count) {
  return Lists::by_offsets(offsets.data(), static_cast<std::int64_t>(count) - 1);
}

template <class T>
class CudaSort : public GpuTest {};
TYPED_TEST_SUITE(CudaSort, tests::ElementTypes);

/// Lists of every length up to 140, and of the given lengths, among others.
template <class T>
void check_lengths(const std::vector<std::int64_t>& lengths) {
  Offsets offsets{3};
  std::mt19937 random(1);
  for (std::int64_t length = 0; length <= 140; ++length) {
    offsets.push_back(offsets.back() + length);
    offsets.push_back(offsets.back() + static_cast<std::int64_t>(random() % 9));
  }
  for (const std::int64_t length : lengths) offsets.push_back(offsets.back() + length);
  DeviceArray<std::int64_t> bounds(offsets, 0);
  const auto content = make_content<T>(offsets.back() + 5, 7);
  for (const SortOptions& order : kOrders) {
    const auto expected = expected_of(content, offsets, order);
    check_rungs(on_device(bounds, offsets.size()), content, expected, order, longest_of(offsets), 1);
  }
}

// Lengths around a thread's elements, tiles (1,920, 2,048, 2,176), runs (4,096) and merges of several runs.
TYPED_TEST(CudaSort, EveryLength) {
  check_lengths<TypeParam>({191, 255, 256, 257, 1023, 1024, 1025});
  check_lengths<TypeParam>({1919, 1920, 1921, 2047, 2048, 2049, 2175, 2176, 2177, 4095, 4096, 4097, 12288, 12289});
}

TYPED_TEST(CudaSort, EveryLengthAtTheEndOfMemory) {
  for (std::int64_t length = 0; length <= 70; length += length < 40 ? 1 : 5) {
    const Offsets offsets{0, 0, length, length};
    DeviceArray<std::int64_t> bounds(offsets, 0);
    const auto content = make_content<TypeParam>(length, static_cast<unsigned>(length));
    check_rungs(on_device(bounds, 4), content, expected_of(content, offsets, {}), {}, length, length % 4);
  }
}

TYPED_TEST(CudaSort, EveryPattern) {
  for (const LengthPattern pattern : tests::kLengthPatterns) {
    const auto offsets = offsets_of(tests::make_lengths(pattern, 70001), 2);
    DeviceArray<std::int64_t> bounds(offsets, 0);
    const auto content = make_content<TypeParam>(offsets.back() + 3, 5);
    const SortOptions order{.descending = static_cast<int>(pattern) % 2 == 1};
    SCOPED_TRACE(name(pattern));
    check_rungs(on_device(bounds, offsets.size()), content, expected_of(content, offsets, order), order,
                longest_of(offsets), 1);
  }
}

TYPED_TEST(CudaSort, LongListsAreMergedByAllBlocks) {
  for (const Offsets& offsets :
       {Offsets{0, 700003}, Offsets{1, 3, 8195, 16387, 20483, 20483, 290003, 290004, 298196, 700003}}) {
    DeviceArray<std::int64_t> bounds(offsets, 0);
    const auto content = make_content<TypeParam>(700003, 11);
    const SortOptions order{.descending = offsets.size() > 2};
    const auto expected = expected_of(content, offsets, order);
    for (const char* rung : {"cuda.tiles", "cuda.block_per_list", "cuda.cub"}) {
      SCOPED_TRACE(rung);
      check(gpu::Policy{}.with_rung(rung), on_device(bounds, offsets.size()), content, expected, order);
    }
  }
}

// ----------------------------------------------------------------------------------------------------- kinds of lists

template <class T>
class CudaSortBounds : public GpuTest {};
using BoundTypes = testing::Types<std::int32_t, std::uint32_t, std::int64_t>;
TYPED_TEST_SUITE(CudaSortBounds, BoundTypes);

/// Some lists are null; their bounds may have any value.
TYPED_TEST(CudaSortBounds, NullListsAreEmptyAndNothingIsSaidOfThem) {
  constexpr std::int64_t kLists = 3000;
  std::mt19937 random(2);
  const auto content = make_content<float>(20000, 3);
  Offsets offsets{2};
  std::vector<std::uint8_t> valid;
  for (std::int64_t i = 0; i < kLists; ++i) {
    valid.push_back(random() % 4 != 0 ? 1 : 0);
    offsets.push_back(offsets.back() + static_cast<std::int64_t>(i == 900 ? 5000 : random() % 7));
  }
  ASSERT_LE(offsets.back(), 20000);
  const auto expected = expected_of(content, offsets, {}, valid);
  std::vector<TypeParam> given(offsets.begin(), offsets.end());
  valid.insert(valid.end(), {0, 0});
  given.push_back(static_cast<TypeParam>(1'000'000));  // bounds of two null lists
  given.push_back(0);
  std::vector<std::uint8_t> bits(valid.size() / 8 + 2);
  for (std::size_t i = 0; i < valid.size(); ++i) {
    if (valid[i] != 0) bits[(i + 3) / 8] |= static_cast<std::uint8_t>(1U << ((i + 3) % 8));
  }
  DeviceArray<TypeParam> bounds(given, 0);
  DeviceArray<std::uint8_t> as_bytes(valid, 1);
  DeviceArray<std::uint8_t> as_bits(bits, 1);
  const auto lists = Lists::by_offsets(bounds.data(), kLists + 2);
  for (const Mask& mask : {Mask::bytes(as_bytes.data(), kLists + 2), Mask::bits(as_bits.data(), kLists + 2, 3)}) {
    check_rungs(lists.with_validity(mask), content, expected, {}, 5000);
  }
}

TYPED_TEST(CudaSortBounds, TheFirstBadListIsNamedAndNothingIsWritten) {
  for (const auto& rung : rungs()) {
    for (const std::int64_t lists : {1, 40, 5000}) {
      for (const std::int64_t bad : {std::int64_t{0}, lists / 3, lists - 1}) {
        for (const int flaw : {0, 1, 2}) {
          if (flaw == 2 && !std::is_signed_v<TypeParam>) continue;
          std::vector<TypeParam> offsets;
          for (std::int64_t i = 0; i <= lists; ++i) offsets.push_back(static_cast<TypeParam>(3 * i + 5));
          const auto at = static_cast<std::size_t>(bad);
          Code code = Code::stop_past_end;
          if (flaw == 0) offsets[at + 1] = static_cast<TypeParam>(3 * lists + 100);
          if (flaw == 1) offsets[at + 1] = 1;
          if (flaw == 1) code = Code::stop_before_start;
          if (flaw == 2) offsets[at] = static_cast<TypeParam>(-4);
          if (flaw == 2) code = bad == 0 ? Code::negative_start : Code::stop_before_start;
          const std::int64_t first = flaw == 2 && bad > 0 ? bad - 1 : bad;
          const auto content = make_content<std::int16_t>(3 * lists + 9, 1);
          DeviceArray<TypeParam> bounds(offsets, 0);
          DeviceArray<std::int16_t> in(content, 0);
          DeviceArray<std::int16_t> out(std::ssize(content));
          const auto before = out.values();
          try {
            segmented_sort(gpu::Policy{}.with_rung(rung.id), Lists::by_offsets(bounds.data(), lists), in.data(),
                           std::ssize(content), out.data(), std::ssize(content));
            ADD_FAILURE() << rung.id << " takes list " << bad << " of " << lists << " with flaw " << flaw;
          } catch (const Error& error) {
            EXPECT_EQ(error.code(), code) << rung.id << ": " << error.what();
            EXPECT_EQ(error.index(), first) << rung.id << ": " << error.what();
          }
          EXPECT_EQ(out.values(), before) << rung.id;
        }
      }
    }
  }
}

TEST_F(GpuTest, ListsOfOneSize) {
  for (const std::int64_t size : {0, 1, 3, 32, 1000, 2048, 5000}) {
    const std::int64_t count = size == 0 ? 1000 : 30000 / size;
    const auto content = make_content<double>(count * size + 9, 4);
    const auto offsets = offsets_of(Offsets(static_cast<std::size_t>(count), size), 0);
    check_rungs(Lists::of_size(count, size), content, expected_of(content, offsets, {}), {}, size);
  }
}

TEST_F(GpuTest, MillionsOfListsOfEveryPattern) {
  for (std::size_t i = 0; i < std::size(kListPatterns); ++i) {
    constexpr std::int64_t kElements = 1'000'003;
    const auto offsets = generated_offsets(static_cast<ListPattern>(i), kElements);
    DeviceArray<std::int64_t> bounds(offsets, 0);
    const auto content = make_content<float>(offsets.back() + 1, 9);
    SCOPED_TRACE(kListPatterns[i]);
    check(gpu::Policy{}, on_device(bounds, offsets.size()), content, expected_of(content, offsets, {}), {});
  }
}

// ---------------------------------------------------------------------------------------------------- lists anywhere

/// Lists in any order, which overlap and have gaps between them, in n elements.
template <class Bound>
struct Anywhere {
  std::vector<Bound> starts;
  std::vector<Bound> stops;

  void add(std::int64_t start, std::int64_t length) {
    starts.push_back(static_cast<Bound>(start));
    stops.push_back(static_cast<Bound>(start + length));
  }
};

template <class Bound>
Anywhere<Bound> anywhere(std::int64_t lists, std::int64_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  Anywhere<Bound> given;
  for (std::int64_t i = 0; i < lists; ++i) {
    const auto length = static_cast<std::int64_t>(random() % (i % 97 == 5 ? 1100 : 12));
    if (i % 5 == 0) {
      given.add(static_cast<std::int64_t>(random() % 1'000'000'000), 0);  // an empty list may have any bounds
    } else {
      given.add(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n - length)), length);
    }
  }
  return given;
}

/// Elements, positions, the memory after them, and the content must be as on the CPU.
template <class T, class Bound>
void expect_as_on_cpu(const gpu::Policy& policy, const Anywhere<Bound>& given, const std::vector<T>& content,
                      const SortOptions& order, const std::vector<std::uint8_t>& valid = {}) {
  std::int64_t most = 0;
  for (std::size_t i = 0; i < given.starts.size(); ++i)
    most += static_cast<std::int64_t>(given.stops[i]) - static_cast<std::int64_t>(given.starts[i]);
  const std::int64_t n = std::ssize(content);
  Lists on_host(given.starts, given.stops);
  std::vector<T> sorted(static_cast<std::size_t>(most));
  Offsets positions(static_cast<std::size_t>(most));
  DeviceArray<Bound> starts(given.starts, 1);
  DeviceArray<Bound> stops(given.stops, 0);
  DeviceArray<std::uint8_t> mask(valid, 1);
  Lists lists = Lists::by_bounds(starts.data(), stops.data(), std::ssize(given.starts));
  if (!valid.empty()) {
    on_host = on_host.with_validity(valid);
    lists = lists.with_validity(Mask::bytes(mask.data(), std::ssize(valid)));
  }
  const std::int64_t elements = segmented_sort(par, on_host, content, sorted, order).elements;
  segmented_argsort(par, on_host, content, positions, order);
  for (const std::int64_t spare : {0, 5}) {
    const std::int64_t capacity = elements + spare;
    DeviceArray<T> in(content, 1);
    DeviceArray<T> out(capacity, 1);
    DeviceArray<std::int64_t> device_positions(capacity, 1);
    const auto out_before = out.values();
    const auto positions_before = device_positions.values();
    EXPECT_EQ(segmented_sort(policy, lists, in.data(), n, out.data(), capacity, order).elements, elements);
    EXPECT_EQ(segmented_argsort(policy, lists, in.data(), n, device_positions.data(), capacity, order).elements,
              elements);
    auto expected = out_before;
    std::copy_n(sorted.begin(), elements, expected.begin());
    EXPECT_TRUE(impl::segmented_sort::same_bytes(out.values().data(), expected.data(), expected.size() * sizeof(T)))
        << "sort";
    auto expected_positions = positions_before;
    std::copy_n(positions.begin(), elements, expected_positions.begin());
    EXPECT_EQ(device_positions.values(), expected_positions);
    EXPECT_TRUE(out.intact() && device_positions.intact());
    EXPECT_TRUE(impl::segmented_sort::same_bytes(in.values().data(), content.data(), content.size() * sizeof(T)));
  }
}

TYPED_TEST(CudaSort, ListsAnywhereGoOneAfterTheOther) {
  const std::int64_t n = 20'011;
  const auto content = make_content<TypeParam>(n, 13);
  const auto given = anywhere<std::int64_t>(3001, n, 1);
  for (const auto& rung : rungs()) {
    if (rung.id == "cuda.cub") continue;
    SCOPED_TRACE(rung.id);
    expect_as_on_cpu(gpu::Policy{}.with_rung(rung.id), given, content, {.descending = true});
  }
  auto with_long = anywhere<std::int64_t>(301, n, 2);
  for (const std::int64_t length : {2177, 4096, 4097, 20'011, 20'011, 12'289}) with_long.add(n - length, length);
  for (const SortOptions& order : kOrders) expect_as_on_cpu(gpu::Policy{}, with_long, content, order);
}

TYPED_TEST(CudaSortBounds, ListsAnywhereMayBeNull) {
  const auto given = anywhere<TypeParam>(5003, 9001, 3);
  std::mt19937 random(4);
  std::vector<std::uint8_t> valid(given.starts.size());
  for (auto& one : valid) one = random() % 4 != 0 ? 1 : 0;
  expect_as_on_cpu(gpu::Policy{}, given, make_content<std::int16_t>(9001, 5), {}, valid);
  expect_as_on_cpu(gpu::Policy{}, Anywhere<TypeParam>{{7, 3, 3}, {7, 3, 3}}, make_content<float>(9, 5), {});
}

TEST_F(GpuTest, WhatIsWrongWithListsAnywhereIsReportedAndNothingIsWritten) {
  const auto content = make_content<double>(1000, 6);
  DeviceArray<double> in(content, 0);
  DeviceArray<gpu::ListsStatus> status(1);
  const auto check = [&](const Offsets& host_starts, const Offsets& host_stops, std::int64_t capacity, Code code,
                         std::int64_t index) {
    DeviceArray<std::int64_t> starts(host_starts, 0);
    DeviceArray<std::int64_t> stops(host_stops, 0);
    const Lists lists = Lists::by_bounds(starts.data(), stops.data(), std::ssize(host_starts));
    DeviceArray<double> out(capacity);
    DeviceArray<std::int64_t> positions(capacity);
    const auto before = out.values();
    const auto positions_before = positions.values();
    const auto expect_error = [&](auto call) {
      try {
        call();
        ADD_FAILURE() << "let pass";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), code) << error.what();
        EXPECT_EQ(error.index(), index) << error.what();
      }
    };
    expect_error([&] { segmented_sort(gpu::Policy{}, lists, in.data(), 1000, out.data(), capacity); });
    expect_error([&] { segmented_argsort(gpu::Policy{}, lists, in.data(), 1000, positions.data(), capacity); });
    segmented_sort_async(gpu::Policy{}, lists, in.data(), 1000, out.data(), capacity, status.data());
    require(cudaDeviceSynchronize());
    EXPECT_EQ(status.values()[0].code, code);
    EXPECT_EQ(status.values()[0].first_bad, index);
    EXPECT_TRUE(impl::segmented_sort::same_bytes(out.values().data(), before.data(), before.size() * sizeof(double)));
    EXPECT_EQ(positions.values(), positions_before);
  };
  check({5, 9, 3, 7}, {9, 7, 2, 8}, 100, Code::stop_before_start, 1);
  check({5, -9, 3}, {9, 7, 2}, 100, Code::negative_start, 1);
  check({900, 990}, {1000, 1001}, 1000, Code::stop_past_end, 1);
  check({900, 0, 0}, {1000, 500, 1000}, 1599, Code::unequal_lengths, kNoIndex);
  check({900, 0}, {1000, 500}, 0, Code::unequal_lengths, kNoIndex);
  EXPECT_EQ(code_of([&] {
              DeviceArray<std::int64_t> starts(Offsets{1, 0}, 0);
              DeviceArray<std::int64_t> stops(Offsets{2, 1}, 0);
              segmented_sort(gpu::Policy{}, Lists::by_bounds(starts.data(), stops.data(), 2), in.data(), 1000,
                             in.data(), 1000);
            }),
            Code::invalid_argument);
}

TEST_F(GpuTest, AGraphReplaysSortsOfListsAnywhere) {
  const std::int64_t n = 30'011;
  auto given = anywhere<std::int64_t>(4001, n, 7);
  given.add(3, 20'000);
  const auto content = make_content<float>(n, 8);
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < given.starts.size(); ++i) elements += given.stops[i] - given.starts[i];
  std::vector<float> sorted(static_cast<std::size_t>(elements));
  Offsets expected(sorted.size());
  segmented_sort(par, Lists(given.starts, given.stops), content, sorted);
  segmented_argsort(par, Lists(given.starts, given.stops), content, expected);
  DeviceArray<std::int64_t> starts(given.starts, 0);
  DeviceArray<std::int64_t> stops(given.stops, 0);
  DeviceArray<float> in(content, 0);
  DeviceArray<float> out(elements);
  DeviceArray<std::int64_t> positions(elements);
  DeviceArray<gpu::ListsStatus> statuses(2);
  const Lists lists = Lists::by_bounds(starts.data(), stops.data(), std::ssize(given.starts));
  const tests::OwnStream stream;
  auto policy = gpu::Policy{}.with_stream(stream);
  gpu::Workspace workspace(gpu::segmented_argsort_workspace<float>(policy, lists, n, elements), 0, stream);
  tests::CountingMemory none(1);
  policy = policy.with_workspace(workspace).with_memory(none);
  const tests::Replay replay(stream, [&] {
    segmented_sort_async(policy, lists, in.data(), n, out.data(), elements, statuses.data());
    segmented_argsort_async(policy, lists, in.data(), n, positions.data(), elements, statuses.data() + 1);
  });
  for (int run = 0; run < 3; ++run) {
    require(cudaMemsetAsync(workspace.scratch(), 7 * run, static_cast<std::size_t>(workspace.size().scratch), stream));
    replay.launch(out, positions, statuses);
    require(cudaStreamSynchronize(stream));
    for (const gpu::ListsStatus& status : statuses.values()) EXPECT_EQ(status.code, Code::ok);
    EXPECT_TRUE(impl::segmented_sort::same_bytes(out.values().data(), sorted.data(), sorted.size() * sizeof(float)));
    EXPECT_EQ(positions.values(), expected);
  }
}

// ------------------------------------------------------------------------------------------------- calls, and memory

TEST_F(GpuTest, AGraphReplaysSortsWhoseStatusStaysOnTheDevice) {
  auto lengths = tests::make_lengths(LengthPattern::giants, 300007);
  const auto offsets = offsets_of(lengths, 0);
  const std::int64_t n = offsets.back();
  const auto lists_count = std::ssize(offsets) - 1;
  const auto content = make_content<double>(n, 6);
  const auto expected = expected_of(content, offsets, {});
  DeviceArray<std::int64_t> bounds(offsets, 0);
  DeviceArray<double> in(content, 0);
  DeviceArray<double> out(n);
  DeviceArray<std::int64_t> positions(n);
  DeviceArray<gpu::ListsStatus> statuses(2);
  const tests::OwnStream stream;
  const auto lists = on_device(bounds, offsets.size());
  auto policy = gpu::Policy{}.with_stream(stream);
  gpu::Workspace workspace(gpu::segmented_argsort_workspace<double>(policy, lists_count, n), 0, stream);
  policy = policy.with_workspace(workspace);
  const tests::Replay replay(stream, [&] {
    EXPECT_EQ(code_of([&] { (void)segmented_sort(policy, lists, in.data(), n, out.data(), n); }),
              Code::invalid_argument);  // it would have to wait
    EXPECT_EQ(segmented_sort_async(policy, lists, in.data(), n, out.data(), n, statuses.data()), "cuda.tiles");
    segmented_argsort_async(policy, lists, in.data(), n, positions.data(), n, statuses.data() + 1);
  });
  for (int run = 0; run < 10; ++run) {
    const bool bad = run % 3 == 1;
    const std::int64_t stop = bad ? -1 : offsets[778];
    require(cudaMemcpyAsync(bounds.data() + 778, &stop, sizeof stop, cudaMemcpyHostToDevice, stream));
    require(cudaMemsetAsync(workspace.scratch(), run, static_cast<std::size_t>(workspace.size().scratch), stream));
    replay.launch(out, positions, statuses);
    require(cudaStreamSynchronize(stream));
    for (const gpu::ListsStatus& status : statuses.values()) {
      EXPECT_EQ(status.code, bad ? Code::stop_before_start : Code::ok) << run;
      EXPECT_EQ(status.first_bad, bad ? 777 : kNoIndex) << run;
    }
    if (bad) continue;
    EXPECT_EQ(first_wrong(expected, expected.sorted, out.values(), content), kNoIndex) << run;
    EXPECT_EQ(first_wrong(expected, expected.positions, positions.values(), expected.positions), kNoIndex) << run;
  }
}

TEST_F(GpuTest, SortsAreRightAHundredTimesBesideOtherWork) {
  const auto offsets = generated_offsets(ListPattern::pareto, 600011);
  const std::int64_t n = offsets.back();
  const auto content = make_content<float>(n, 8);
  const auto expected = expected_of(content, offsets, {});
  DeviceArray<std::int64_t> bounds(offsets, 0);
  DeviceArray<float> in(content, 0);
  DeviceArray<float> out(n);
  DeviceArray<std::byte> elsewhere(32 << 20);
  const tests::OwnStream other;
  for (int run = 0; run < 100; ++run) {
    require(cudaMemsetAsync(elsewhere.data(), run, 32 << 20, other));
    tests::fill(out.data(), run, static_cast<std::size_t>(n) * sizeof(float));
    segmented_sort(gpu::Policy{}, on_device(bounds, offsets.size()), in.data(), n, out.data(), n);
    ASSERT_EQ(first_wrong(expected, expected.sorted, out.values(), content), kNoIndex) << run;
  }
}

TEST_F(GpuTest, NoMemoryIsHeldAfterAnErrorAndStaleErrorsStayTheCallers) {
  Offsets offsets{0, 3, 2, 9};
  DeviceArray<std::int64_t> bounds(offsets, 0);
  DeviceArray<float> in(make_content<float>(9, 1), 0);
  DeviceArray<float> out(9);
  for (const auto& rung : rungs()) {
    tests::CountingMemory enough(100);
    tests::leave_stale_error();
    const auto policy = gpu::Policy{}.with_rung(rung.id).with_memory(enough);
    EXPECT_EQ(code_of([&] { (void)segmented_sort(policy, on_device(bounds, 4), in.data(), 9, out.data(), 9); }),
              Code::stop_before_start)
        << rung.id;
    tests::expect_stale_error(rung);
    EXPECT_EQ(enough.held, 0) << rung.id;
    tests::CountingMemory none(1);
    EXPECT_EQ(code_of([&] {
                (void)segmented_sort(policy.with_memory(none), on_device(bounds, 4), in.data(), 9, out.data(), 9);
              }),
              Code::device_memory)
        << rung.id;
  }
}

TEST_F(GpuTest, SortsSayWhatIsWrong) {
  const Offsets host{0, 3, 9};
  DeviceArray<std::int64_t> bounds(host, 0);
  DeviceArray<std::int64_t> in(Offsets(9, 1), 0);
  DeviceArray<std::int64_t> out(9);
  DeviceArray<gpu::ListsStatus> status(1);
  const auto lists = on_device(bounds, 3);
  const auto code = [&](const gpu::Policy& policy, const Lists& given, const std::int64_t* from, std::int64_t* to,
                        std::int64_t capacity) {
    return code_of([&] { (void)segmented_sort(policy, given, from, 9, to, capacity); });
  };
  EXPECT_EQ(code({}, lists, in.data(), out.data(), 9), Code::ok);
  EXPECT_EQ(code({}, lists, in.data(), in.data(), 9), Code::ok);
  EXPECT_EQ(code({}, Lists(host), in.data(), out.data(), 9), Code::invalid_argument);
  EXPECT_EQ(code({}, lists, Offsets(9, 1).data(), out.data(), 9), Code::invalid_argument);
  EXPECT_EQ(code({}, lists, in.data(), nullptr, 9), Code::invalid_argument);
  EXPECT_EQ(code({}, lists, in.data(), in.data() + 1, 8), Code::invalid_argument);
  EXPECT_EQ(code({}, lists, in.data(), bounds.data(), 9), Code::invalid_argument);
  EXPECT_EQ(code({}, lists, in.data(), out.data(), 8), Code::unequal_lengths);
  EXPECT_EQ(code({}, Lists::by_bounds(bounds.data() + 1, bounds.data(), 2), in.data(), out.data(), 9),
            Code::stop_before_start);
  EXPECT_EQ(code(gpu::Policy{}.with_rung("cpu.networks"), lists, in.data(), out.data(), 9), Code::unsupported);
  EXPECT_EQ(code(gpu::Policy{}.with_rung("cuda.none"), lists, in.data(), out.data(), 9), Code::unknown_rung);
  EXPECT_EQ(code_of([&] {
              segmented_sort_async(gpu::Policy{}.with_rung("cuda.cub"), lists, in.data(), 9, out.data(), 9,
                                   status.data());
            }),
            Code::unsupported);
  EXPECT_EQ(
      code_of([&] { (void)segmented_sort(par.with_rung("cuda.tiles"), Lists(host), in.data(), 9, out.data(), 9); }),
      Code::unsupported);
  EXPECT_TRUE(out.intact());
}

}  // namespace
}  // namespace upsweep
