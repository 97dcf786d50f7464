// SPDX-License-Identifier: Apache-2.0
// tests/cuda_broadcast_test.cpp: conversions of positions in lists on a GPU: patterns, types, borders, addresses, and
// errors, which must equal the CPU's.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "climb/generated_lists.hpp"
#include "device_array.hpp"
#include "failure.hpp"
#include "upsweep/broadcast.hpp"

namespace upsweep {
namespace {

using tests::DeviceArray;
using tests::Failure;
using tests::failure_of;
using tests::GpuTest;
using tests::require;

using Positions = std::vector<std::int64_t>;
using Bytes = std::vector<std::uint8_t>;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

constexpr ListPattern kPatterns[] = {ListPattern::poisson,   ListPattern::fixed3,    ListPattern::fixed32,
                                     ListPattern::fixed1000, ListPattern::zero_to_4, ListPattern::empty,
                                     ListPattern::one,       ListPattern::giants,    ListPattern::pareto};
// Sizes around warps, words of bits, and tiles (2048, 4096 or 8192 lists and elements).
constexpr std::int64_t kSizes[] = {0,    1,    2,    31,   33,   1023, 1025,  2046,
                                   2047, 2048, 2049, 4097, 8191, 8193, 70001, 300007};

template <class T>
std::vector<T> shifted(const Positions& offsets, std::int64_t first) {
  std::vector<T> all;
  for (const std::int64_t offset : offsets) all.push_back(static_cast<T>(offset + first));
  return all;
}

Positions parents_of(const Positions& offsets) {
  Positions parents;
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    for (std::int64_t j = offsets[i]; j < offsets[i + 1]; ++j) parents.push_back(static_cast<std::int64_t>(i));
  }
  return parents;
}
Positions local_of(const Positions& offsets) {
  Positions local;
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    for (std::int64_t j = offsets[i]; j < offsets[i + 1]; ++j) local.push_back(j - offsets[i]);
  }
  return local;
}

template <class T>
Lists lists_at(DeviceArray<T>& offsets, std::int64_t count) {
  return Lists::by_offsets(static_cast<const T*>(offsets.data()), count);
}

/// Spreads values of `size` bytes per list from an address at a distance `from` from a 256-byte boundary to elements at
/// another address.
void check_broadcast(const Lists& lists, const Positions& parents, int size, std::int64_t from, std::int64_t to) {
  const auto bytes = static_cast<std::size_t>(size);
  Bytes values(static_cast<std::size_t>(lists.count) * bytes);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::uint8_t>((static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15U + 77) >> 47);
  }
  Bytes expected;
  for (const std::int64_t list : parents) {
    const auto first = values.begin() + list * size;
    expected.insert(expected.end(), first, first + size);
  }
  DeviceArray<std::uint8_t> in(values, from);
  DeviceArray<std::uint8_t> out(std::ssize(expected), to);
  const auto total = std::ssize(parents);
  EXPECT_EQ(broadcast(gpu::Policy{}, lists, in.data(), size, out.data(), total), total);
  EXPECT_TRUE(out.values() == expected && out.intact() && in.intact())
      << size << " bytes, misaligned by " << from << " and " << to;
}

template <class T>
void check_positions(const Positions& offsets, std::int64_t first, std::int64_t misaligned) {
  const gpu::Policy policy;
  const std::int64_t n = std::ssize(offsets) - 1;
  const std::int64_t total = offsets.back();
  const Positions parents = parents_of(offsets);
  DeviceArray<T> given(shifted<T>(offsets, first), misaligned);
  const Lists lists = lists_at(given, n);
  DeviceArray<std::int64_t> local(total, misaligned);
  EXPECT_EQ(local_index(policy, lists, local.data(), total), total);
  EXPECT_TRUE(local.values() == local_of(offsets) && local.intact());
  DeviceArray<std::int64_t> found(total + 5, misaligned + 1);  // with more capacity
  EXPECT_EQ(offsets_to_parents(policy, lists, found.data(), total + 5), total);
  const Positions found_parents = found.values();
  EXPECT_TRUE(std::equal(parents.begin(), parents.end(), found_parents.begin()) && found.intact());
  check_broadcast(lists, parents, 1 << (misaligned % 5), 0, misaligned << (misaligned % 5));
  // Convert back.
  DeviceArray<T> sorted(shifted<T>(parents, 0), misaligned);
  DeviceArray<std::int64_t> back(n + 1, misaligned);
  parents_to_offsets(policy, static_cast<const T*>(sorted.data()), total, n, back.data());
  EXPECT_TRUE(back.values() == offsets && back.intact());
  std::vector<T> host_lengths;
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    host_lengths.push_back(static_cast<T>(offsets[i + 1] - offsets[i]));
  }
  DeviceArray<T> lengths(host_lengths, misaligned);
  DeviceArray<std::int64_t> again(n + 1, misaligned + 1);
  EXPECT_EQ(lengths_to_offsets(policy, static_cast<const T*>(lengths.data()), n, again.data()), total);
  EXPECT_TRUE(again.values() == offsets && again.intact());
  // The positions of the elements that the offsets, which begin at 9, are made of.
  DeviceArray<std::int64_t> to(shifted<std::int64_t>(offsets, 9), 0);
  Positions in_order(static_cast<std::size_t>(total));
  std::iota(in_order.begin(), in_order.end(), first);
  EXPECT_EQ(broadcast_to_offsets(policy, lists, to.data(), total + first, local.data(), total), total);
  EXPECT_TRUE(local.values() == in_order && local.intact());
}

template <class T>
class CudaBroadcast : public GpuTest {};
using BoundTypes = testing::Types<std::int32_t, std::uint32_t, std::int64_t>;
TYPED_TEST_SUITE(CudaBroadcast, BoundTypes);

TYPED_TEST(CudaBroadcast, OfEveryPattern) {
  std::int64_t turn = 0;
  for (const ListPattern pattern : kPatterns) {
    for (const std::int64_t elements : kSizes) {
      SCOPED_TRACE(pattern_name(pattern) + " " + std::to_string(elements));
      check_positions<TypeParam>(generated_offsets(pattern, elements), turn % 2 * 7, turn % 5);
      ++turn;
      if (testing::Test::HasFailure()) return;
    }
  }
}

TYPED_TEST(CudaBroadcast, OffsetsMayBeginAnywhere) {
  using T = TypeParam;
  const Positions offsets = generated_offsets(ListPattern::zero_to_4, 5000);
  const std::int64_t total = offsets.back();
  const auto most = static_cast<std::int64_t>(std::numeric_limits<T>::max());
  const auto least = static_cast<std::int64_t>(std::numeric_limits<T>::min());
  for (const std::int64_t first : {least, most - total}) {
    DeviceArray<T> given(shifted<T>(offsets, first), 1);
    DeviceArray<std::int64_t> local(total);
    EXPECT_EQ(local_index(gpu::Policy{}, lists_at(given, std::ssize(offsets) - 1), local.data(), total), total);
    EXPECT_EQ(local.values(), local_of(offsets));
  }
}

TEST_F(GpuTest, ValuesOfEverySizeAtEveryAddressAreSpread) {
  const Positions offsets = generated_offsets(ListPattern::zero_to_4, 30011);
  const Positions parents = parents_of(offsets);
  DeviceArray<std::int64_t> given(offsets, 0);
  const Lists lists = lists_at(given, std::ssize(offsets) - 1);
  for (const int size : {1, 2, 4, 8, 16}) {
    for (const std::int64_t to : {0, 1, 2, 3, 4, 6, 8, 12, 15, 16}) check_broadcast(lists, parents, size, to / 2, to);
    check_broadcast(lists, parents, size, 0, 8);
    check_broadcast(lists, parents, size, 16, size);
    check_broadcast(lists, parents, size, size, 16 - size);
  }
}

TEST_F(GpuTest, ManyEmptyListsAnywhereAreNoMatter) {
  for (const std::int64_t empties : {3'000, 20'000}) {
    Positions offsets{0};
    const auto add = [&](std::int64_t count, std::int64_t length) {
      for (std::int64_t i = 0; i < count; ++i) offsets.push_back(offsets.back() + length);
    };
    add(empties, 0);
    add(1, 3);
    add(empties, 0);
    add(1, 4000);
    add(2, 1);
    add(empties, 0);
    check_positions<std::int32_t>(offsets, 3, 1);
  }
}

TEST_F(GpuTest, ListsOfOneSizeHavePositions) {
  const gpu::Policy policy;
  for (const std::int64_t size : {0, 1, 3, 8, 300, 9000}) {
    for (const std::int64_t n : {0, 1, 2047, 5000}) {
      if (n * size > 10'000'000) continue;
      Positions offsets{0};
      for (std::int64_t i = 0; i < n; ++i) offsets.push_back(offsets.back() + size);
      const Lists lists = Lists::of_size(n, size);
      const std::int64_t total = n * size;
      DeviceArray<std::int64_t> out(total);
      EXPECT_EQ(local_index(policy, lists, out.data(), total), total);
      EXPECT_TRUE(out.values() == local_of(offsets) && out.intact()) << n << " of " << size;
      EXPECT_EQ(offsets_to_parents(policy, lists, out.data(), total), total);
      EXPECT_TRUE(out.values() == parents_of(offsets) && out.intact()) << n << " of " << size;
    }
  }
  // More lists than fit in any memory.
  DeviceArray<std::int64_t> nothing(1);
  EXPECT_EQ(local_index(policy, Lists::of_size(kMost, 0), nothing.data(), 1), 0);
  EXPECT_EQ(failure_of([&] { flatten(policy, Lists::of_size(kMost, 0), Lists::of_size(1, 1), nothing.data()); }).code,
            Code::invalid_argument);
}

TEST_F(GpuTest, ListsAnywhereAreFoundByOffsets) {
  std::mt19937_64 random(3);
  const std::int64_t n = 20'000;
  std::vector<std::int32_t> starts;
  std::vector<std::int32_t> stops;
  Bytes valid;
  Positions offsets{-4};
  Positions expected;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto start = static_cast<std::int32_t>(random() % 9000);
    const auto length = static_cast<std::int32_t>(i == 500 ? 7000 : static_cast<std::int64_t>(random() % 5));
    valid.push_back(random() % 3 != 0);
    starts.push_back(valid.back() != 0 ? start : 99);
    stops.push_back(valid.back() != 0 ? start + length : -99);
    offsets.push_back(offsets.back() + (valid.back() != 0 ? length : 0));
    for (std::int32_t j = 0; valid.back() != 0 && j < length; ++j) expected.push_back(start + j);
  }
  DeviceArray<std::int32_t> from(starts, 1);
  DeviceArray<std::int32_t> to(stops, 0);
  DeviceArray<std::uint8_t> is_valid(valid, 3);
  DeviceArray<std::int64_t> given(offsets, 1);
  const std::int64_t total = std::ssize(expected);
  DeviceArray<std::int64_t> positions(total, 1);
  const Lists lists =
      Lists::by_bounds(static_cast<const std::int32_t*>(from.data()), static_cast<const std::int32_t*>(to.data()), n)
          .with_validity(Mask::bytes(is_valid.data(), n));
  const auto run = [&](std::int64_t content, std::int64_t capacity) {
    return broadcast_to_offsets(gpu::Policy{}, lists, given.data(), content, positions.data(), capacity);
  };
  EXPECT_EQ(run(16'000, total), total);
  EXPECT_TRUE(positions.values() == expected && positions.intact());
  EXPECT_EQ(failure_of([&] { run(16'000, total - 1); }), (Failure{Code::unequal_lengths, kNoIndex}));
  const auto past = std::ranges::find_if(stops, [](std::int32_t stop) { return stop > 8000; }) - stops.begin();
  EXPECT_EQ(failure_of([&] { run(8'000, total); }), (Failure{Code::stop_past_end, past}));
  for (const std::int64_t other : {offsets[1000] + 1, offsets[1000] - 7, kLeast, kMost}) {
    tests::copy_in(given.data() + 1000, &other, sizeof other);
    EXPECT_EQ(failure_of([&] { run(16'000, total); }), (Failure{Code::unequal_lengths, 999})) << other;
  }
  EXPECT_TRUE(positions.intact());
}

TEST_F(GpuTest, LevelsAreFlattened) {
  std::mt19937_64 random(4);
  std::vector<std::int32_t> inner{2};
  constexpr std::int64_t kInner = 50'000;
  for (std::int64_t i = 0; i < kInner; ++i) inner.push_back(inner.back() + static_cast<std::int32_t>(random() % 4));
  Positions outer{1};
  while (outer.back() < kInner - 10) outer.push_back(outer.back() + static_cast<std::int64_t>(random() % 5));
  const auto n = std::ssize(outer) - 1;
  DeviceArray<std::int32_t> inner_at(inner, 1);
  const auto check = [&](const Positions& offsets, const std::vector<std::int32_t>& inner_offsets) {
    Positions expected(offsets.size());
    const Failure failure = failure_of([&] { flatten(par, offsets, inner_offsets, expected); });
    DeviceArray<std::int64_t> given(offsets, 1);
    tests::copy_in(inner_at.data(), inner_offsets.data(), inner_offsets.size() * 4);
    DeviceArray<std::int64_t> out(n + 1, 1);
    EXPECT_EQ(failure_of([&] { flatten(gpu::Policy{}, lists_at(given, n), lists_at(inner_at, kInner), out.data()); }),
              failure);
    EXPECT_TRUE(out.intact());
    if (failure.code == Code::ok) {
      EXPECT_EQ(out.values(), expected);
    }
  };
  check(outer, inner);
  for (const std::int64_t at : {std::int64_t{0}, std::int64_t{1}, n / 2, n}) {
    for (const std::int64_t value : {kInner + 1, std::int64_t{-1}, kMost, kLeast, std::int64_t{0}, kInner}) {
      Positions bad = outer;
      bad[static_cast<std::size_t>(at)] = value;
      SCOPED_TRACE(testing::Message() << "offset " << at << " is " << value);
      check(bad, inner);
    }
  }
  auto decreasing = inner;
  decreasing[static_cast<std::size_t>(outer[static_cast<std::size_t>(n / 3)])] = -5;
  check(outer, decreasing);
  DeviceArray<std::int64_t> one(1);
  flatten(gpu::Policy{}, Lists::of_size(0, 0), lists_at(inner_at, kInner), one.data());
  EXPECT_EQ(one.values()[0], 2);
}

// -------------------------------------------------------------------------------------------------------------- errors

/// Checks that local_index, offsets_to_parents and broadcast end as on the CPU, and write nothing around their outputs.
void expect_as_on_the_cpu(const Positions& offsets, std::int64_t capacity) {
  const std::int64_t n = std::ssize(offsets) - 1;
  Positions host(static_cast<std::size_t>(capacity));
  const Failure expected = failure_of([&] { (void)local_index(par, offsets, host); });
  EXPECT_NE(expected.code, Code::ok);
  DeviceArray<std::int64_t> given(offsets, 0);
  const Lists lists = lists_at(given, n);
  DeviceArray<std::int64_t> out(capacity, 1);
  DeviceArray<std::uint8_t> values(n);
  DeviceArray<std::uint8_t> bytes(capacity);
  const gpu::Policy policy;
  EXPECT_EQ(failure_of([&] { local_index(policy, lists, out.data(), capacity); }), expected);
  EXPECT_EQ(failure_of([&] { offsets_to_parents(policy, lists, out.data(), capacity); }), expected);
  EXPECT_EQ(failure_of([&] { broadcast(policy, lists, values.data(), 1, bytes.data(), capacity); }), expected);
  EXPECT_TRUE(out.intact() && bytes.intact() && given.intact() && values.intact());
}

TEST_F(GpuTest, TheFirstBadListOfAnyOffsetsIsNamed) {
  for (const ListPattern pattern : {ListPattern::poisson, ListPattern::fixed1000, ListPattern::giants}) {
    const Positions offsets = generated_offsets(pattern, 40'000);
    const auto n = std::ssize(offsets) - 1;
    const std::int64_t total = offsets.back();
    for (const std::int64_t at : {std::int64_t{0}, std::int64_t{1}, n / 3, n / 2, n - 1, n}) {
      for (const std::int64_t by : {total, -total - 1, std::int64_t{-2000}, std::int64_t{1} << 60, kMost - total,
                                    -(std::int64_t{1} << 60), kLeast}) {
        Positions bad = offsets;
        bad[static_cast<std::size_t>(at)] += by;
        if (std::ranges::is_sorted(bad)) continue;
        SCOPED_TRACE(testing::Message() << pattern_name(pattern) << " offset " << at << " moved by " << by);
        expect_as_on_the_cpu(bad, total);
        bad[static_cast<std::size_t>(n - n / 5)] = 7;  // and a later error
        expect_as_on_the_cpu(bad, total);
      }
    }
  }
}

TEST_F(GpuTest, OffsetsInDisorderWriteNothingElsewhere) {
  std::mt19937_64 random(5);
  for (int run = 0; run < 30; ++run) {
    Positions offsets(static_cast<std::size_t>(1 + random() % 9000));
    for (std::int64_t& offset : offsets)
      offset = static_cast<std::int64_t>(random() % 20'000) - (run % 3 == 0 ? 9000 : 0);
    if (run % 2 == 0) offsets.front() = 0;
    if (run % 2 == 0) offsets.back() = 15'000;
    if (std::ranges::is_sorted(offsets)) continue;
    expect_as_on_the_cpu(offsets, 20'000);
  }
}

TEST_F(GpuTest, TooSmallCapacityIsAnErrorAboutNoList) {
  const Positions offsets = generated_offsets(ListPattern::poisson, 30'000);
  for (const std::int64_t capacity : {offsets.back() - 1, std::int64_t{0}}) expect_as_on_the_cpu(offsets, capacity);
  expect_as_on_the_cpu({kLeast, 0, kMost}, 100);  // more than int64 can count
  Positions bad = offsets;
  bad[5000] = -1;
  expect_as_on_the_cpu(bad, 10);
}

TEST_F(GpuTest, TheFirstBadParentIsNamed) {
  constexpr std::int64_t kLists = 1000;
  constexpr std::int64_t kElements = 30'000;
  Positions good;
  for (std::int64_t k = 0; k < kElements; ++k) good.push_back(5 + k * (kLists - 10) / kElements);
  for (const std::int64_t at : {std::int64_t{0}, std::int64_t{1}, kElements / 2, kElements - 1}) {
    for (const std::int64_t value : {std::int64_t{-1}, kLists, kLists + 1000, kLeast, kMost, std::int64_t{2}}) {
      if (value == 2 && at == 0) continue;  // this case is sorted
      Positions bad = good;
      bad[static_cast<std::size_t>(at)] = value;
      DeviceArray<std::int64_t> parents(bad, 1);
      DeviceArray<std::int64_t> out(kLists + 1);
      EXPECT_EQ(failure_of([&] {
                  parents_to_offsets(gpu::Policy{}, static_cast<const std::int64_t*>(parents.data()), kElements, kLists,
                                     out.data());
                }),
                (Failure{value == 2 ? Code::stop_before_start : Code::index_out_of_range, at}))
          << at << ' ' << value;
      EXPECT_TRUE(out.intact()) << at << ' ' << value;
    }
  }
  DeviceArray<std::int32_t> none(1);
  DeviceArray<std::int64_t> out(4);
  parents_to_offsets(gpu::Policy{}, static_cast<const std::int32_t*>(none.data()), 0, 3, out.data());
  EXPECT_EQ(out.values(), (Positions{0, 0, 0, 0}));
}

TEST_F(GpuTest, TheFirstBadLengthIsNamed) {
  Positions lengths(20'000, 3);
  const auto run = [&](const Positions& of, const Mask& valid = {}) {
    DeviceArray<std::int64_t> given(of, 1);
    DeviceArray<std::int64_t> out(std::ssize(of) + 1, 1);
    const Failure failure = failure_of([&] {
      lengths_to_offsets(gpu::Policy{}, static_cast<const std::int64_t*>(given.data()), std::ssize(of), out.data(),
                         valid);
    });
    EXPECT_TRUE(out.intact());
    return failure;
  };
  for (const std::size_t at : {std::size_t{0}, std::size_t{4095}, std::size_t{4096}, std::size_t{19'999}}) {
    Positions bad = lengths;
    bad[at] = -3;
    bad.back() = -1;
    EXPECT_EQ(run(bad), (Failure{Code::stop_before_start, static_cast<std::int64_t>(at)}));
    bad = lengths;
    bad[at] = kMost;
    const auto next = static_cast<std::int64_t>(at == 0 ? 1 : at);
    EXPECT_EQ(run(bad), (Failure{Code::overflow, next}));
  }
  lengths[77] = -1;
  Bytes valid(lengths.size(), 1);
  valid[77] = 0;
  DeviceArray<std::uint8_t> is_valid(valid, 1);
  EXPECT_EQ(run(lengths, Mask::bytes(is_valid.data(), std::ssize(lengths))), Failure{});
}

TEST_F(GpuTest, PositionsSayWhatIsWrong) {
  const Positions host{0, 2, 3};
  DeviceArray<std::int64_t> bounds(host, 0);
  DeviceArray<std::int64_t> out(3);
  DeviceArray<std::uint8_t> valid(Bytes{1, 0}, 0);
  const Lists lists = lists_at(bounds, 2);
  const auto code = [&](const gpu::Policy& policy, const Lists& given, std::int64_t* to, std::int64_t capacity) {
    return failure_of([&] { local_index(policy, given, to, capacity); }).code;
  };
  EXPECT_EQ(code({}, lists, out.data(), 3), Code::ok);
  EXPECT_EQ(code({}, Lists(host), out.data(), 3), Code::invalid_argument);
  Positions host_out(3);
  EXPECT_EQ(code({}, lists, host_out.data(), 3), Code::invalid_argument);
  EXPECT_EQ(code({}, lists, nullptr, 3), Code::invalid_argument);
  EXPECT_EQ(code({}, lists, out.data(), 2), Code::unequal_lengths);
  EXPECT_EQ(code({}, lists.with_validity(Mask::bytes(valid.data(), 2)), out.data(), 3), Code::invalid_argument);
  EXPECT_EQ(code({}, Lists::by_bounds(bounds.data() + 1, bounds.data(), 2), out.data(), 3), Code::invalid_argument);
  EXPECT_EQ(code(gpu::Policy{}.with_rung("cuda.tiles"), lists, out.data(), 3), Code::unsupported);
  EXPECT_EQ(code({}, Lists(), nullptr, 0), Code::ok);
  const auto values = failure_of([&] { broadcast(gpu::Policy{}, lists, bounds.data(), 3, out.data(), 3); });
  EXPECT_EQ(values.code, Code::invalid_argument);
  tests::leave_stale_error();
  EXPECT_EQ(code({}, lists, out.data(), 3), Code::ok);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice) << "the caller's error must stay in the runtime";
  EXPECT_TRUE(out.intact());
}

// ----------------------------------------------------------------------------------------------------- streams, memory

TEST_F(GpuTest, AGraphReplaysPositionsWhoseStatusStaysOnTheDevice) {
  const Positions offsets = generated_offsets(ListPattern::poisson, 100'003);
  const std::int64_t n = std::ssize(offsets) - 1;
  const std::int64_t total = offsets.back();
  const Positions host_parents = parents_of(offsets);
  Positions lengths;
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) lengths.push_back(offsets[i + 1] - offsets[i]);
  DeviceArray<std::int64_t> given(lengths, 0);
  DeviceArray<std::int64_t> made(n + 1);
  DeviceArray<std::int64_t> local(total);
  DeviceArray<std::int64_t> parents(total);
  DeviceArray<std::int64_t> spread(total);
  DeviceArray<std::int64_t> again(n + 1);
  DeviceArray<std::int64_t> positions(total);
  DeviceArray<std::int64_t> flat(2);
  DeviceArray<gpu::PackStatus> status(7);
  const tests::OwnStream stream;
  auto policy = gpu::Policy{}.with_stream(stream);
  gpu::Workspace workspace(gpu::broadcast_workspace({}, n, total), 0, stream);
  gpu::Workspace of_parents(gpu::broadcast_workspace({}, total, n), 0, stream);
  const auto with_parents = policy.with_workspace(of_parents);
  policy = policy.with_workspace(workspace);
  const Lists lists = lists_at(made, n);
  const tests::Replay replay(stream, [&] {
    EXPECT_EQ(failure_of([&] { local_index(policy, lists, local.data(), total); }).code, Code::invalid_argument);
    lengths_to_offsets_async(policy, static_cast<const std::int64_t*>(given.data()), n, made.data(), status.data());
    local_index_async(policy, lists, local.data(), total, status.data() + 1);
    offsets_to_parents_async(policy, lists, parents.data(), total, status.data() + 2);
    broadcast_async(policy, lists, given.data(), 8, spread.data(), total, status.data() + 3);
    parents_to_offsets_async(with_parents, static_cast<const std::int64_t*>(parents.data()), total, n, again.data(),
                             status.data() + 4);
    broadcast_to_offsets_async(policy, lists, made.data(), total, positions.data(), total, status.data() + 5);
    flatten_async(policy, Lists::of_size(1, n), lists, flat.data(), status.data() + 6);
  });
  Positions expected_spread;
  for (const std::int64_t list : host_parents) expected_spread.push_back(lengths[static_cast<std::size_t>(list)]);
  Positions in_order(host_parents.size());
  std::iota(in_order.begin(), in_order.end(), 0);
  for (int run = 0; run < 4; ++run) {
    const bool bad = run == 2;
    const std::int64_t length = bad ? -1 : lengths[5001];
    tests::copy_in(given.data() + 5001, &length, sizeof length);
    require(
        cudaMemsetAsync(workspace.scratch(), 0xB0 + run, static_cast<std::size_t>(workspace.size().scratch), stream));
    replay.launch(made, local, parents, spread, again, positions, flat, status);
    require(cudaStreamSynchronize(stream));
    const auto ended = status.values();
    EXPECT_EQ(ended[0].code, bad ? Code::stop_before_start : Code::ok) << run;
    EXPECT_EQ(ended[0].first_bad, bad ? 5001 : kNoIndex) << run;
    EXPECT_EQ(ended[1].code == Code::ok, !bad) << run;
    if (bad) continue;
    for (const gpu::PackStatus& one : ended) {
      EXPECT_EQ(one.code, Code::ok);
      EXPECT_EQ(one.total, total);
    }
    EXPECT_EQ(made.values(), offsets);
    EXPECT_EQ(local.values(), local_of(offsets));
    EXPECT_EQ(parents.values(), host_parents);
    EXPECT_EQ(spread.values(), expected_spread);
    EXPECT_EQ(again.values(), offsets);
    EXPECT_EQ(positions.values(), in_order);
    EXPECT_EQ(flat.values(), (Positions{0, total}));
  }
}

TEST_F(GpuTest, NoMemoryIsHeldAfterAnErrorOfPositions) {
  DeviceArray<std::int64_t> bounds(Positions{0, 5, 3}, 0);
  DeviceArray<std::int64_t> out(9);
  for (const int refused_from : {1, 100}) {
    tests::CountingMemory memory(refused_from);
    const auto policy = gpu::Policy{}.with_memory(memory);
    EXPECT_EQ(failure_of([&] { local_index(policy, lists_at(bounds, 2), out.data(), 9); }).code,
              refused_from == 1 ? Code::device_memory : Code::stop_before_start);
    EXPECT_EQ(memory.held, 0);
  }
}

}  // namespace
}  // namespace upsweep
