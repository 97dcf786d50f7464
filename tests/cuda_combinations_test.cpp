// SPDX-License-Identifier: Apache-2.0
// tests/cuda_combinations_test.cpp: every CUDA rung of combinations and of cartesian products is compared with the
// reference. Cases: tuples of 1 to 6 and of many, replacement, patterns, bounds, nulls, misalignment, and errors, which
// must equal the CPU's.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "climb/generated_lists.hpp"
#include "device_array.hpp"
#include "expected_tuples.hpp"
#include "failure.hpp"
#include "problems/lists/combinations/reference.hpp"
#include "rungs.hpp"
#include "upsweep/combinations.hpp"

namespace upsweep {
namespace {

using tests::DeviceArray;
using tests::Expected;
using tests::expected_of;
using tests::Failure;
using tests::failure_of;
using tests::GpuTest;
using tests::Positions;
using tests::require;

using Bytes = std::vector<std::uint8_t>;
using Kind = impl::combinations::ExpectedTuples::Kind;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::vector<RungInfo> rungs() { return tests::rungs_of("combinations", Backend::cuda); }

/// Arrays of positions on the device, each at a different address.
struct DeviceOut {
  std::vector<std::unique_ptr<DeviceArray<std::int64_t>>> arrays;
  std::vector<std::int64_t*> pointers;

  DeviceOut(std::int64_t n, std::int64_t capacity, std::int64_t misaligned) {
    for (std::int64_t d = 0; d < n; ++d) {
      arrays.push_back(std::make_unique<DeviceArray<std::int64_t>>(capacity, misaligned + d));
      pointers.push_back(arrays.back()->data());
    }
  }
  void poison() {
    for (const auto& array : arrays) array->poison();
  }
  [[nodiscard]] bool intact() const {
    return std::ranges::all_of(arrays, [](const auto& array) { return array->intact(); });
  }
  void expect(const Expected& expected) const {
    for (std::size_t d = 0; d < arrays.size(); ++d) {
      EXPECT_TRUE(arrays[d]->values() == expected.out[d]) << "position " << d;
    }
    EXPECT_TRUE(intact());
  }
};

/// Checks count(policy, offsets) and make(policy, offsets, out, capacity), with every rung and with the API's choice.
template <class Count, class Make>
void check(const Expected& expected, std::int64_t misaligned, Count count, Make make) {
  std::vector<std::string_view> ids{""};
  for (const RungInfo& rung : rungs()) ids.push_back(rung.id);
  const std::int64_t total = expected.total();
  for (const std::string_view id : ids) {
    const auto policy = gpu::Policy{}.with_rung(id);
    SCOPED_TRACE(testing::Message() << id << " n " << expected.n);
    DeviceArray<std::int64_t> counted(std::ssize(expected.offsets), misaligned);
    EXPECT_EQ(count(policy, counted.data()).total, total);
    EXPECT_TRUE(counted.values() == expected.offsets && counted.intact()) << "counted";
    DeviceArray<std::int64_t> made(std::ssize(expected.offsets), misaligned / 2);
    const DeviceOut out(expected.n, total, misaligned);
    const Combinations result = make(policy, made.data(), out.pointers.data(), total);
    EXPECT_EQ(result.total, total);
    if (!id.empty()) {
      EXPECT_EQ(result.rung, id);
    }
    EXPECT_TRUE(made.values() == expected.offsets && made.intact()) << "offsets";
    out.expect(expected);
    const DeviceOut again(expected.n, total, 0);  // without offsets
    EXPECT_EQ(make(policy, nullptr, again.pointers.data(), total).total, total);
    again.expect(expected);
  }
}

void check_combinations(const Lists& lists, std::int64_t content, const Expected& expected, std::int64_t misaligned) {
  const bool replacement = expected.kind == Kind::with_replacement;
  SCOPED_TRACE(replacement ? "with replacement" : "without replacement");
  check(
      expected, misaligned,
      [&](const gpu::Policy& policy, std::int64_t* offsets) {
        return combinations_offsets(policy, lists, content, expected.n, replacement, offsets);
      },
      [&](const gpu::Policy& policy, std::int64_t* offsets, std::int64_t* const* out, std::int64_t capacity) {
        return combinations(policy, lists, content, expected.n, replacement, offsets, out, capacity);
      });
}

void check_offsets(const Positions& lists, std::int64_t n, bool replacement, std::int64_t misaligned = 0) {
  DeviceArray<std::int64_t> given(lists, misaligned);
  check_combinations(Lists::by_offsets(static_cast<const std::int64_t*>(given.data()), std::ssize(lists) - 1),
                     lists.back(), expected_of(lists, n, replacement), misaligned);
}

TEST_F(GpuTest, CombinationsOfEveryLengthAndN) {
  for (const bool replacement : {false, true}) {
    for (std::int64_t n = 1; n <= 6; ++n) {
      Positions lists{5};
      const std::int64_t longest = n == 1 ? 200 : n == 2 ? 70 : n == 3 ? 25 : 12;
      for (std::int64_t length = 0; length <= longest; ++length) lists.push_back(lists.back() + length);
      for (std::int64_t length = 0; length <= 6; ++length) lists.push_back(lists.back() + length);
      check_offsets(lists, n, replacement, n % 3);
    }
  }
}

TEST_F(GpuTest, CombinationsOfEveryPattern) {
  constexpr auto kPatterns = static_cast<int>(std::size(kListPatterns));
  for (int pattern = 0; pattern < kPatterns; ++pattern) {
    const auto which = static_cast<ListPattern>(pattern);
    const bool is_long = which == ListPattern::one || which == ListPattern::pareto || which == ListPattern::fixed1000;
    SCOPED_TRACE(kListPatterns[pattern]);
    check_offsets(generated_offsets(which, is_long ? 1000 : 100'001), 2, pattern % 2 == 1, pattern % 4);
    if (is_long || which == ListPattern::giants) continue;
    check_offsets(generated_offsets(which, 20'003), 3, pattern % 2 == 0);
    if (which == ListPattern::fixed32) continue;
    check_offsets(generated_offsets(which, 9'001), 4, pattern % 2 == 1);
  }
}

/// Work units begin within lists.
TEST_F(GpuTest, CombinationsOfLongLists) {
  for (const auto& [length, n, replacement] : {std::tuple{900, 2, false},
                                               {900, 2, true},
                                               {120, 3, false},
                                               {110, 3, true},
                                               {50, 4, false},
                                               {21, 6, true},
                                               {29, 24, false},
                                               {70, 68, false},   // larger than the table's counts
                                               {1500, 1, false},  // and than its sizes
                                               {100'000, 1, true}}) {
    SCOPED_TRACE(testing::Message() << length << " of " << n);
    check_offsets({2, 4, 4 + length, 10 + length}, n, replacement, 1);
  }
  check_offsets({1, 3, 3, 4, 6}, 200, true);
}

/// Three million of each.
TEST_F(GpuTest, PairsAndTriplesPastWhatFloatsCount) {
  check_offsets({0, 2500}, 2, false);
  check_offsets({0, 265}, 3, true);
}

template <class T>
class CudaCombinationBounds : public GpuTest {};
using BoundTypes = testing::Types<std::int32_t, std::uint32_t, std::int64_t>;
TYPED_TEST_SUITE(CudaCombinationBounds, BoundTypes);

TYPED_TEST(CudaCombinationBounds, ListsAnywhereAndNullOnes) {
  using T = TypeParam;
  std::mt19937 random(4);
  for (const bool is_bitmap : {false, true}) {
    constexpr std::int64_t kLists = 3000;
    std::vector<T> starts;
    std::vector<T> stops;
    Bytes valid((kLists + 5 + 7) / 8 * (is_bitmap ? 1 : 8) + 1);
    Expected expected(Kind::without_replacement, 3);
    for (std::int64_t i = 0; i < kLists; ++i) {
      const auto start = static_cast<std::int64_t>(random() % 1000);
      const std::int64_t stop = start + static_cast<std::int64_t>(random() % 8);
      const bool is_valid = random() % 3 != 0;
      if (is_valid)
        valid[static_cast<std::size_t>(is_bitmap ? (i + 5) / 8 : i)] |= is_bitmap ? 1U << ((i + 5) % 8) : 4U;
      starts.push_back(static_cast<T>(is_valid ? start : start + 9));  // bounds of null lists are not checked
      stops.push_back(static_cast<T>(stop));
      expected.add(start, is_valid ? stop : start);
    }
    DeviceArray<T> from(starts, 1);
    DeviceArray<T> to(stops, 2);
    DeviceArray<std::uint8_t> mask(valid, 1);
    const Lists lists = Lists::by_bounds(static_cast<const T*>(from.data()), static_cast<const T*>(to.data()), kLists);
    check_combinations(
        lists.with_validity(is_bitmap ? Mask::bits(mask.data(), kLists, 5) : Mask::bytes(mask.data(), kLists)), 1008,
        expected, 1);
  }
}

TEST_F(GpuTest, CombinationsOfListsOfOneSize) {
  for (const std::int64_t size : {0, 1, 2, 5, 40}) {
    Positions lists;
    for (std::int64_t i = 0; i <= 2000; ++i) lists.push_back(i * size);
    check_combinations(Lists::of_size(2000, size), 2000 * size, expected_of(lists, 2, true), 0);
  }
  DeviceArray<std::int64_t> offsets(1);
  const DeviceOut out(3, 0, 0);
  EXPECT_EQ(combinations(gpu::Policy{}, Lists(), 0, 3, false, offsets.data(), out.pointers.data(), 0).total, 0);
  EXPECT_EQ(offsets.values()[0], 0);
}

// -------------------------------------------------------------------------------------------------- cartesian products

TEST_F(GpuTest, ProductsOfOneToFourListsAndOfMany) {
  std::mt19937 random(8);
  for (const std::size_t n : {1U, 2U, 3U, 4U, 40U}) {
    for (const bool is_long : {false, true}) {
      const std::size_t count = is_long ? 3 : 2500;
      const auto most = static_cast<std::size_t>(!is_long ? (n == 40 ? 2 : 5)
                                                 : n == 2 ? 500
                                                 : n == 3 ? 60
                                                 : n == 4 ? 20
                                                          : 3);
      std::vector<Positions> offsets(n, Positions{7});
      for (std::size_t d = 0; d < n; ++d) {
        for (std::size_t i = 0; i < count; ++i) {
          const bool is_one = n == 40 && d % 6 != 0;  // few tuples, of many positions
          offsets[d].push_back(offsets[d].back() + static_cast<std::int64_t>(is_one    ? 1
                                                                             : is_long ? most
                                                                                       : random() % (most + 1)));
        }
      }
      Expected expected(Kind::cartesian, static_cast<std::int64_t>(n));
      for (std::size_t i = 0; i < count; ++i) {
        Positions starts;
        Positions stops;
        for (const Positions& input : offsets) {
          starts.push_back(input[i]);
          stops.push_back(input[i + 1]);
        }
        expected.add(starts, stops);
      }
      std::vector<std::unique_ptr<DeviceArray<std::int64_t>>> given;
      std::vector<CartesianInput> inputs;
      for (const Positions& input : offsets) {
        given.push_back(std::make_unique<DeviceArray<std::int64_t>>(input, std::ssize(given) % 2));
        const std::int64_t* const data = given.back()->data();
        inputs.push_back({Lists::by_offsets(data, static_cast<std::int64_t>(count)), input.back()});
      }
      check(
          expected, 1,
          [&](const gpu::Policy& policy, std::int64_t* to) { return cartesian_offsets(policy, inputs, to); },
          [&](const gpu::Policy& policy, std::int64_t* to, std::int64_t* const* out, std::int64_t capacity) {
            return cartesian(policy, inputs, to, out, capacity);
          });
    }
  }
}

// -------------------------------------------------------------------------------------------------------------- errors

TEST_F(GpuTest, TheFirstBadListOfCombinationsIsNamed) {
  constexpr std::int64_t kLists = 100'000;
  constexpr std::int64_t kContent = kMost - 1;  // the content is not read
  Positions starts(kLists, 3);
  Positions stops(kLists, 5);
  DeviceArray<std::int64_t> from(starts, 0);
  DeviceArray<std::int64_t> to(stops, 1);
  DeviceArray<std::int64_t> offsets(kLists + 1);
  const Lists lists = Lists::by_bounds(static_cast<const std::int64_t*>(from.data()),
                                       static_cast<const std::int64_t*>(to.data()), kLists);
  Positions host(kLists + 1);
  const auto expect = [&](std::int64_t n, bool replacement) {
    const Failure expected =
        failure_of([&] { combinations_offsets(par, Lists(starts, stops), kContent, n, replacement, host); });
    for (const RungInfo& rung : rungs()) {
      const auto policy = gpu::Policy{}.with_rung(rung.id);
      EXPECT_EQ(failure_of([&] { combinations_offsets(policy, lists, kContent, n, replacement, offsets.data()); }),
                expected)
          << rung.id << " n " << n;
      EXPECT_TRUE(offsets.intact());
      if (expected.code == Code::ok) {
        EXPECT_TRUE(offsets.values() == host);
      }
    }
  };
  const auto set = [&](std::int64_t list, std::int64_t start, std::int64_t stop) {
    starts[static_cast<std::size_t>(list)] = start;
    stops[static_cast<std::size_t>(list)] = stop;
    tests::copy_in(from.data() + list, &start, sizeof start);
    tests::copy_in(to.data() + list, &stop, sizeof stop);
  };
  expect(2, false);
  for (const std::int64_t list : {std::int64_t{0}, std::int64_t{4095}, std::int64_t{4096}, kLists - 1}) {
    for (const auto& [start, stop] :
         {std::pair<std::int64_t, std::int64_t>{5, 4}, {-1, 4}, {5, kMost}, {0, kMost - 1}}) {
      set(list, start, stop);
      for (const std::int64_t n : {1, 2, 3, 5}) expect(n, n == 3);
      set(list, 3, 5);
    }
  }
  // A single list just fits: 4294967296 choose 2. With other lists it does not.
  set(2000, 0, std::int64_t{1} << 32);
  for (const std::int64_t shift : {15, 17}) {
    set(2001, 0, std::int64_t{1} << shift);
    expect(2, false);
    set(2001, 3, 5);
  }
  set(50'000, 5, 4);
  expect(2, false);
  set(40'000, -1, 4);
  expect(2, false);
  set(2001, 0, std::int64_t{1} << 17);
  expect(2, true);
  set(1999, 5, 4);
  expect(2, true);

  // With two inputs, the error names the first invalid list of either.
  for (const RungInfo& rung : rungs()) {
    const auto policy = gpu::Policy{}.with_rung(rung.id);
    const std::vector<CartesianInput> inputs{{Lists::of_size(kLists, 0), 0}, {lists, kContent}};
    EXPECT_EQ(failure_of([&] { cartesian_offsets(policy, inputs, offsets.data()); }),
              (Failure{Code::stop_before_start, 1999}));
    // The bounds of a null list are never an error.
    DeviceArray<std::int64_t> other_starts(Positions(kLists, 9), 0);
    DeviceArray<std::int64_t> other_stops(Positions(kLists, 8), 0);
    DeviceArray<std::uint8_t> valid(Bytes(kLists, 0), 0);
    const Lists nulls = Lists::by_bounds(static_cast<const std::int64_t*>(other_starts.data()),
                                         static_cast<const std::int64_t*>(other_stops.data()), kLists)
                            .with_validity(Mask::bytes(valid.data(), kLists));
    set(1500, -1, 4);
    const std::vector<CartesianInput> with_nulls{{nulls, 10}, {lists, kContent}};
    EXPECT_EQ(failure_of([&] { cartesian_offsets(policy, with_nulls, offsets.data()); }),
              (Failure{Code::negative_start, 1500}));
    DeviceArray<gpu::CombinationsStatus> status(1);
    cartesian_async(policy, with_nulls, offsets.data(), nullptr, 0, status.data());
    EXPECT_EQ(status.values()[0].code, Code::negative_start);
    EXPECT_EQ(status.values()[0].first_bad, 1500);
    set(1500, 3, 5);
    set(1999, 0, kMost / 2);
    const std::vector<CartesianInput> twice{{lists, kContent}, {lists, kContent}};
    EXPECT_EQ(failure_of([&] { cartesian_offsets(policy, twice, offsets.data()); }), (Failure{Code::overflow, 1999}));
  }
}

TEST_F(GpuTest, WhatCombinationsRefuse) {
  const Positions host{0, 3, 9};
  DeviceArray<std::int64_t> bounds(host, 0);
  DeviceArray<std::int64_t> offsets(3);
  const Lists lists = Lists::by_offsets(static_cast<const std::int64_t*>(bounds.data()), 2);
  const DeviceOut out(2, 18, 0);
  const auto pairs = [&](const gpu::Policy& policy, const Lists& of, std::int64_t* const* to, std::int64_t capacity) {
    return failure_of([&] { combinations(policy, of, 9, 2, false, offsets.data(), to, capacity); });
  };
  EXPECT_EQ(pairs({}, lists, out.pointers.data(), 18), Failure{});
  for (const std::int64_t capacity : {17, 0}) {
    EXPECT_EQ(pairs({}, lists, out.pointers.data(), capacity), (Failure{Code::unequal_lengths, kNoIndex})) << capacity;
  }
  EXPECT_EQ(pairs({}, Lists(host), out.pointers.data(), 18).code, Code::invalid_argument);
  Positions host_out(18);
  std::int64_t* const on_host[] = {host_out.data(), host_out.data()};
  EXPECT_EQ(pairs({}, lists, on_host, 18).code, Code::invalid_argument);
  std::int64_t* const null[] = {out.pointers[0], nullptr};
  EXPECT_EQ(pairs({}, lists, null, 18).code, Code::invalid_argument);
  EXPECT_EQ(pairs(gpu::Policy{}.with_rung("cpu.shares"), lists, out.pointers.data(), 18).code, Code::unsupported);
  EXPECT_EQ(pairs(gpu::Policy{}.with_rung("cuda.none"), lists, out.pointers.data(), 18).code, Code::unknown_rung);
  EXPECT_EQ(failure_of([&] { combinations_offsets(gpu::Policy{}, lists, 9, 0, false, offsets.data()); }).code,
            Code::invalid_argument);
  EXPECT_EQ(failure_of([&] { combinations_offsets(gpu::Policy{}, lists, 8, 2, false, offsets.data()); }),
            (Failure{Code::stop_past_end, 1}));
  EXPECT_TRUE(out.intact() && offsets.intact());
  for (const RungInfo& rung : rungs()) {
    tests::leave_stale_error();
    EXPECT_EQ(pairs(gpu::Policy{}.with_rung(rung.id), lists, out.pointers.data(), 18), Failure{}) << rung.id;
    tests::expect_stale_error(rung);
  }
}

// ----------------------------------------------------------------------------------------------------- streams, memory

TEST_F(GpuTest, AGraphReplaysCombinationsWhoseStatusStaysOnTheDevice) {
  const Positions lists = generated_offsets(ListPattern::poisson, 30'003);
  const std::int64_t n = std::ssize(lists) - 1;
  for (const RungInfo& rung : rungs()) {
    for (const std::int64_t positions : {2, 3, 4}) {
      const Expected expected = expected_of(lists, positions, true);
      Expected products(Kind::cartesian, 2);
      for (std::size_t i = 1; i < lists.size(); ++i) products.add(lists[i - 1], lists[i]);
      DeviceArray<std::int64_t> given(lists, 0);
      DeviceArray<std::int64_t> offsets(n + 1);
      DeviceOut out(positions, expected.total(), 0);
      DeviceOut of_products(2, products.total(), 1);
      DeviceArray<gpu::CombinationsStatus> status(3);
      const tests::OwnStream stream;
      auto policy = gpu::Policy{}.with_stream(stream).with_rung(rung.id);
      const Lists view = Lists::by_offsets(static_cast<const std::int64_t*>(given.data()), n);
      const std::vector<CartesianInput> inputs(2, {view, lists.back()});
      const auto size = gpu::combinations_workspace(policy, view, lists.back(), positions, true, expected.total());
      gpu::Workspace workspace(size, 0, stream);
      gpu::Workspace other(gpu::cartesian_workspace(policy, inputs, products.total()), 0, stream);
      policy = policy.with_workspace(workspace);
      const tests::Replay replay(stream, [&] {
        EXPECT_EQ(failure_of([&] { combinations_offsets(policy, view, lists.back(), 2, false, offsets.data()); }).code,
                  Code::invalid_argument);
        std::vector<std::int64_t*> pointers = out.pointers;
        combinations_async(policy, view, lists.back(), positions, true, offsets.data(), pointers.data(),
                           expected.total(), status.data());
        std::vector<CartesianInput> copied = inputs;
        cartesian_async(policy.with_workspace(other), copied, nullptr, of_products.pointers.data(), products.total(),
                        status.data() + 1);
        combinations_async(policy, view, lists.back(), positions, true, offsets.data(), nullptr, 0, status.data() + 2);
        // The graph has its own copy.
        std::ranges::fill(pointers, nullptr);
        std::ranges::fill(copied, CartesianInput{});
      });
      for (int run = 0; run < 4; ++run) {
        const bool bad = run == 2;
        const std::int64_t bound = bad ? -1 : lists[778];
        tests::copy_in(given.data() + 778, &bound, sizeof bound);
        require(cudaMemsetAsync(workspace.scratch(), 0xB0 + run, static_cast<std::size_t>(size.scratch), stream));
        replay.launch(offsets, out, of_products, status);
        require(cudaStreamSynchronize(stream));
        const auto ended = status.values();
        for (std::size_t i = 0; i < 3; ++i) {
          EXPECT_EQ(ended[i].code, bad ? Code::stop_before_start : Code::ok) << run << ' ' << i;
          EXPECT_EQ(ended[i].first_bad, bad ? 777 : kNoIndex) << run << ' ' << i;
          if (bad) continue;
          EXPECT_EQ(ended[i].total, i == 1 ? products.total() : expected.total());
        }
        if (bad) continue;
        EXPECT_EQ(offsets.values(), expected.offsets);
        out.expect(expected);
        of_products.expect(products);
      }
    }
  }
}

TEST_F(GpuTest, NoMemoryIsHeldAfterAnErrorOfCombinations) {
  DeviceArray<std::int64_t> bounds(Positions{0, 5, 3}, 0);
  DeviceArray<std::int64_t> offsets(3);
  const Lists lists = Lists::by_offsets(static_cast<const std::int64_t*>(bounds.data()), 2);
  for (const RungInfo& rung : rungs()) {
    for (const int refused_from : {1, 100}) {
      tests::CountingMemory memory(refused_from);
      const auto policy = gpu::Policy{}.with_rung(rung.id).with_memory(memory);
      EXPECT_EQ(failure_of([&] { combinations_offsets(policy, lists, 9, 2, false, offsets.data()); }).code,
                refused_from == 1 ? Code::device_memory : Code::stop_before_start);
      EXPECT_EQ(memory.held, 0);
    }
  }
}

}  // namespace
}  // namespace upsweep
