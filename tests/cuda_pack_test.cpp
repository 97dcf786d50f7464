// SPDX-License-Identifier: Apache-2.0
// tests/cuda_pack_test.cpp: every CUDA rung of the pack ladder: lists in order, permuted and overlapping, columns,
// errors.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device_array.hpp"
#include "device_selections.hpp"
#include "rungs.hpp"
#include "selections.hpp"
#include "upsweep/pack.hpp"

namespace upsweep {
namespace {

using tests::adjacent_lists;
using tests::DeviceArray;
using tests::DeviceColumn;
using tests::DeviceLists;
using tests::Failure;
using tests::failure_of;
using tests::GpuTest;
using tests::require;
using tests::Selection;
using tests::shuffled;
using Pattern = upsweep::ListPattern;

constexpr Pattern kPatterns[] = {Pattern::poisson,   Pattern::fixed3,    Pattern::fixed32,
                                 Pattern::fixed1000, Pattern::zero_to_4, Pattern::empty,
                                 Pattern::one,       Pattern::giants,    Pattern::pareto};
// Sizes around a warp, a block's lists (256, 1024), and a tile of results and of lists (4096). Also around the lists
// that a tile searches (2048).
constexpr std::int64_t kSizes[] = {0,    1,    2,    31,   33,   1023,  1024,  1025,
                                   2047, 2049, 4095, 4096, 4097, 12289, 70001, 300007};

std::vector<RungInfo> rungs() { return tests::rungs_of("pack", Backend::cuda); }

/// Lists that keep all of their elements.
Selection whole(Selection given) {
  given.mask.assign(given.mask.size(), true);
  return given;
}

struct Case {
  bool by_offsets = true;
  std::int64_t misaligned = 0;  ///< of bounds and offsets, in elements
  int size = 8;
  std::int64_t misaligned_bytes = 0;  ///< of the content and its output
};

std::ostream& operator<<(std::ostream& out, const Case& how) {
  return out << "by offsets " << how.by_offsets << ", misaligned " << how.misaligned << ", elements of " << how.size
             << " bytes, misaligned by " << how.misaligned_bytes;
}

/// Checks every rung, and the API's choice; CUB's rung refuses elements at odd addresses.
template <class T>
void check_rungs(const Selection& given, const Case& how) {
  const impl::select::ExpectedSelection expected = given.expected();
  const auto total = std::ssize(expected.positions);
  DeviceLists<T> lists(given, how.by_offsets, how.misaligned);
  DeviceColumn column(given.content(), how.size, how.misaligned_bytes);
  DeviceColumn other(given.content(), 4, 4);
  std::vector<std::string_view> ids{""};
  for (const RungInfo& rung : rungs()) ids.push_back(rung.id);
  for (const std::string_view id : ids) {
    const auto policy = gpu::Policy{}.with_rung(id);
    DeviceArray<std::int64_t> offsets(given.lists() + 1, how.misaligned % 2);
    column.clear(total);
    other.clear(total + 5);
    const PackColumn columns[] = {column.view(), other.view()};
    const Failure failure = failure_of([&] {
      const PackResult packed = pack(policy, lists.view(), offsets.data(), std::span<const PackColumn>(columns));
      EXPECT_EQ(packed.total, total) << id << ' ' << how;
      EXPECT_EQ(packed.lists, given.lists()) << id << ' ' << how;
      if (!id.empty()) {
        EXPECT_EQ(packed.rung, id);
      }
    });
    if (failure.code == Code::unsupported && id == "cuda.cub" && how.misaligned_bytes != 0) continue;
    EXPECT_EQ(failure, Failure{}) << id << ' ' << how;
    EXPECT_EQ(offsets.values(), expected.offsets) << id << ' ' << how;
    EXPECT_TRUE(offsets.intact()) << id << ' ' << how;
    EXPECT_EQ(column.complaint(expected.positions), "") << id << ' ' << how;
    EXPECT_EQ(other.complaint(expected.positions), "") << id << ' ' << how;

    // The same result in two steps, with offsets that begin at another value.
    DeviceArray<std::int64_t> again(given.lists() + 1);
    EXPECT_EQ(pack_offsets(policy, lists.view(), given.content(), again.data()).total, total) << id << ' ' << how;
    std::vector<std::int64_t> moved = again.values();
    EXPECT_EQ(moved, expected.offsets) << id << ' ' << how;
    for (std::int64_t& offset : moved) offset += 1'000'000;
    const DeviceArray<std::int64_t> elsewhere(moved, 0);
    column.clear(total);
    const PackColumn view = column.view();
    pack_content(policy, lists.view(), const_cast<DeviceArray<std::int64_t>&>(elsewhere).data(), std::span(&view, 1));
    EXPECT_EQ(column.complaint(expected.positions), "") << id << ' ' << how;
  }
}

template <class T>
class CudaPack : public GpuTest {};
using BoundTypes = testing::Types<std::int32_t, std::uint32_t, std::int64_t>;
TYPED_TEST_SUITE(CudaPack, BoundTypes);

TYPED_TEST(CudaPack, ListsInOrderMatchTheReference) {
  std::int64_t turn = 0;
  for (const Pattern pattern : kPatterns) {
    for (const std::int64_t n : kSizes) {
      ++turn;
      // Gaps before and after the lists. If lists are given by starts and stops, also in front of every list except the
      // first.
      const Selection given = whole(adjacent_lists(pattern, n, 0, turn % 4 == 0 ? turn % 77 : 0, turn % 2 * 5));
      SCOPED_TRACE(testing::Message() << pattern_name(pattern) << " n " << n);
      check_rungs<TypeParam>(given, {.by_offsets = turn % 2 == 0, .misaligned = turn % 7, .size = 1 << (turn % 5)});
      if (testing::Test::HasFailure()) return;
    }
  }
}

TYPED_TEST(CudaPack, ListsInAnyOrderMatchTheReference) {
  std::int64_t turn = 0;
  for (const Pattern pattern : kPatterns) {
    for (const std::int64_t n : {1, 9, 64, 1000, 5000, 70001}) {
      for (const bool nulls : {false, true}) {
        // Many lists that each contain everything would be too large.
        if (pattern == Pattern::giants && n > 5000) continue;
        const Selection given = whole(shuffled(adjacent_lists(pattern, n, 0, 3, 5), nulls));
        SCOPED_TRACE(testing::Message() << pattern_name(pattern) << " n " << n << " nulls " << nulls);
        check_rungs<TypeParam>(given, {.by_offsets = false, .misaligned = turn % 5, .size = 1 << (turn % 5)});
        ++turn;
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST_F(GpuTest, AMillionShortListsArePacked) {
  const Selection given = whole(adjacent_lists(Pattern::zero_to_4, 2'200'000, 0, 3, 5));
  ASSERT_GE(given.lists(), 1'000'000);
  check_rungs<std::int64_t>(given, {.by_offsets = false});
  check_rungs<std::int32_t>(whole(shuffled(given, true)), {.by_offsets = false, .size = 4});
}

TEST_F(GpuTest, EveryElementSizeAtEveryAddressIsPacked) {
  const Selection given = whole(shuffled(adjacent_lists(Pattern::zero_to_4, 3001, 0, 7, 9), false));
  for (const int size : {1, 2, 4, 8, 16}) {
    for (const std::int64_t misaligned : {0, 1, 2, 4, 6, 8, 16}) {
      check_rungs<std::int64_t>(given, {.by_offsets = false, .size = size, .misaligned_bytes = misaligned});
    }
  }
}

TEST_F(GpuTest, ManyEmptyListsInATileAreNoMatter) {
  for (const std::int64_t empties : {5'000, 70'000}) {
    Selection given;
    const auto add = [&](std::int64_t start, std::int64_t stop) {
      given.starts.push_back(start);
      given.stops.push_back(stop);
    };
    given.mask.assign(5000, true);
    add(40, 43);
    for (std::int64_t i = 0; i < empties; ++i) add(i % 5000, i % 5000);
    add(100, 700);
    for (std::int64_t i = 0; i < empties; ++i) add(7, 7);
    add(0, 3000);
    add(9, 10);
    for (std::int64_t i = 0; i < empties; ++i) add(9, 9);
    check_rungs<std::int32_t>(given, {.by_offsets = false});
  }
}

TEST_F(GpuTest, AFewLongListsAmongShortOnesArePacked) {
  for (const std::int64_t lists : {1'500, 9'000}) {
    for (const bool in_order : {true, false}) {
      Selection given;
      for (std::int64_t i = 0, at = 3; i < lists; ++i) {
        const std::int64_t length = i == 700 || i == 701 || i == lists - 1 ? 16'385 + i : i % 3;
        given.starts.push_back(at);
        given.stops.push_back(at += length);
      }
      given.mask.assign(static_cast<std::size_t>(given.stops.back()) + 2, true);
      if (!in_order) {
        std::swap(given.starts[5], given.starts[701]);
        std::swap(given.stops[5], given.stops[701]);
      }
      for (const int size : {1, 8, 16}) check_rungs<std::int64_t>(given, {.by_offsets = false, .size = size});
    }
  }
}

TEST_F(GpuTest, ListsOfOneSizeAreTheirContent) {
  for (const std::int64_t size : {0, 1, 3, 8, 300}) {
    const std::int64_t count = size == 0 ? 5 : 5'000 / size;
    std::vector<std::int64_t> expected{0};
    std::vector<std::int64_t> positions;
    for (std::int64_t i = 1; i <= count; ++i) expected.push_back(i * size);
    for (std::int64_t j = 0; j < count * size; ++j) positions.push_back(j);
    DeviceColumn column(count * size + 3, 8, 0);
    for (const RungInfo& rung : rungs()) {
      DeviceArray<std::int64_t> offsets(count + 1);
      column.clear(count * size);
      const auto policy = gpu::Policy{}.with_rung(rung.id);
      EXPECT_EQ(pack(policy, Lists::of_size(count, size), offsets.data(), column.view()).total, count * size);
      EXPECT_EQ(offsets.values(), expected) << rung.id << ' ' << size;
      EXPECT_EQ(column.complaint(positions), "") << rung.id << ' ' << size;
    }
  }
}

TEST_F(GpuTest, ListViewsArePacked) {
  const Selection given = whole(shuffled(adjacent_lists(Pattern::poisson, 20'000, 0), false));
  const auto expected = given.expected();
  std::vector<std::int32_t> starts;
  std::vector<std::int32_t> sizes;
  for (std::size_t i = 0; i < given.starts.size(); ++i) {
    sizes.push_back(static_cast<std::int32_t>(given.stops[i] - given.starts[i]));
    starts.push_back(sizes.back() == 0 ? -9 : static_cast<std::int32_t>(given.starts[i]));
  }
  const std::int64_t n = given.lists();
  DeviceColumn column(given.content(), 8, 0);
  const auto run = [&](const gpu::Policy& policy) {
    DeviceArray<std::int32_t> first(starts, 0);
    DeviceArray<std::int32_t> second(sizes, 1);
    DeviceArray<std::int64_t> offsets(n + 1);
    column.clear(std::ssize(expected.positions));
    pack(policy, ListViews::by_sizes(first.data(), second.data(), n), offsets.data(), column.view());
    return offsets.values();
  };
  for (const RungInfo& rung : rungs()) {
    EXPECT_EQ(run(gpu::Policy{}.with_rung(rung.id)), expected.offsets) << rung.id;
    EXPECT_EQ(column.complaint(expected.positions), "") << rung.id;
  }
  starts[600] = 0;
  sizes[600] = -1;
  for (const RungInfo& rung : rungs()) {
    EXPECT_EQ(failure_of([&] { run(gpu::Policy{}.with_rung(rung.id)); }), (Failure{Code::stop_before_start, 600}));
  }
  starts[300] = std::numeric_limits<std::int32_t>::max();
  sizes[300] = std::numeric_limits<std::int32_t>::max();
  for (const RungInfo& rung : rungs()) {
    EXPECT_EQ(failure_of([&] { run(gpu::Policy{}.with_rung(rung.id)); }), (Failure{Code::stop_past_end, 300}));
  }
}

// -------------------------------------------------------------------------------------------------------------- errors

void expect_failure(const std::vector<std::int64_t>& starts, const std::vector<std::int64_t>& stops,
                    std::int64_t content, const Failure& expected, const std::string& what) {
  const std::int64_t n = std::ssize(starts);
  DeviceArray<std::int64_t> first(starts, 1);
  DeviceArray<std::int64_t> second(stops, 0);
  const Lists lists = Lists::by_bounds(first.data(), second.data(), n);
  DeviceColumn column(content, 8, 0);
  std::vector<std::int64_t> lengths{0};
  for (std::size_t i = 0; i < starts.size(); ++i) {  // while lists are valid, the offsets are valid
    const std::int64_t length = stops[i] < starts[i] || stops[i] > content ? 0 : stops[i] - starts[i];
    lengths.push_back(lengths.back() + length);
  }
  DeviceArray<std::int64_t> given(lengths, 0);
  for (const RungInfo& rung : rungs()) {
    const auto policy = gpu::Policy{}.with_rung(rung.id);
    DeviceArray<std::int64_t> offsets(n + 1);
    column.clear(content);
    const PackColumn view = column.view();
    EXPECT_EQ(failure_of([&] { pack(policy, lists, offsets.data(), view); }), expected) << rung.id << ' ' << what;
    EXPECT_EQ(failure_of([&] { pack_offsets(policy, lists, content, offsets.data()); }), expected)
        << rung.id << ' ' << what;
    EXPECT_EQ(failure_of([&] { pack_content(policy, lists, given.data(), std::span(&view, 1)); }), expected)
        << rung.id << ' ' << what;
    EXPECT_TRUE(offsets.intact() && column.intact()) << rung.id << ' ' << what;
  }
}

TEST_F(GpuTest, TheFirstBadListOfAPackIsNamed) {
  for (const std::int64_t n : {3, 50, 100001}) {
    const Selection given = adjacent_lists(Pattern::fixed3, n, 0);
    for (const std::int64_t bad : {std::int64_t{0}, given.lists() / 2, given.lists() - 1}) {
      const auto at = static_cast<std::size_t>(bad);
      auto starts = given.starts;
      auto stops = given.stops;
      stops[at] = starts[at] - 1;
      stops.back() = starts.back() - 1;
      expect_failure(starts, stops, n, {Code::stop_before_start, bad}, "decreases");
      stops[at] = n + 1;
      expect_failure(starts, stops, n, {Code::stop_past_end, bad}, "past the end");
      stops[at] = std::numeric_limits<std::int64_t>::max();
      expect_failure(starts, stops, n, {Code::stop_past_end, bad}, "far past the end");
      starts[at] = -1;
      stops[at] = 0;
      expect_failure(starts, stops, n, {Code::negative_start, bad}, "negative");
      starts[at] = std::numeric_limits<std::int64_t>::min();
      stops[at] = std::numeric_limits<std::int64_t>::max();
      expect_failure(starts, stops, n, {Code::negative_start, bad}, "of all numbers");
    }
  }
}

TEST_F(GpuTest, PackedOffsetsThatLeaveInt64AreErrors) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> starts(9000, 0);
  std::vector<std::int64_t> stops(9000, 3);
  stops[4500] = kMost / 2;
  stops[7000] = kMost / 2;
  stops[7001] = kMost / 2;
  DeviceArray<std::int64_t> first(starts, 0);
  DeviceArray<std::int64_t> second(stops, 0);
  DeviceArray<std::int64_t> offsets(9001);
  for (const RungInfo& rung : rungs()) {
    const auto policy = gpu::Policy{}.with_rung(rung.id);
    const Lists lists = Lists::by_bounds(first.data(), second.data(), 9000);
    EXPECT_EQ(failure_of([&] { pack_offsets(policy, lists, kMost, offsets.data()); }), (Failure{Code::overflow, 7000}))
        << rung.id;
  }
}

TEST_F(GpuTest, PacksOfTooSmallCapacityAreNotOverrun) {
  for (const std::int64_t n : {4, 100, 100001}) {
    const Selection given = whole(shuffled(adjacent_lists(Pattern::poisson, n, 0), false));
    const auto total = std::ssize(given.expected().positions);
    if (total == 0) continue;
    DeviceLists<std::int64_t> lists(given, false, 0);
    DeviceColumn column(n, 8, 0);
    DeviceColumn other(n, 1, 0);
    for (const std::int64_t capacity : {total - 1, std::int64_t{0}}) {
      for (const RungInfo& rung : rungs()) {
        DeviceArray<std::int64_t> offsets(given.lists() + 1);
        column.clear(2 * total);
        other.clear(capacity);
        const auto policy = gpu::Policy{}.with_rung(rung.id);
        EXPECT_EQ(failure_of([&] { pack(policy, lists.view(), offsets.data(), column.view(), other.view()); }),
                  (Failure{Code::unequal_lengths, kNoIndex}))
            << rung.id;
        EXPECT_EQ(failure_of([&] { pack(policy, lists.view(), offsets.data(), other.view(), column.view()); }),
                  (Failure{Code::unequal_lengths, kNoIndex}))
            << rung.id;
        EXPECT_TRUE(column.intact() && other.intact() && offsets.intact()) << rung.id;
      }
    }
  }
}

TEST_F(GpuTest, OffsetsThatDoNotFitTheirListsAreErrors) {
  const Selection given = whole(adjacent_lists(Pattern::fixed3, 9000, 0));
  DeviceLists<std::int64_t> lists(given, false, 0);
  DeviceColumn column(9000, 8, 0);
  std::vector<std::int64_t> host = given.expected().offsets;
  for (const std::int64_t other : {host[1000] + 1, std::int64_t{-7}, std::numeric_limits<std::int64_t>::max(),
                                   std::numeric_limits<std::int64_t>::min()}) {
    auto wrong = host;
    wrong[1000] = other;
    DeviceArray<std::int64_t> offsets(wrong, 0);
    for (const RungInfo& rung : rungs()) {
      column.clear(9000);
      const PackColumn view = column.view();
      const auto policy = gpu::Policy{}.with_rung(rung.id);
      EXPECT_EQ(failure_of([&] { pack_content(policy, lists.view(), offsets.data(), std::span(&view, 1)); }),
                (Failure{Code::unequal_lengths, 999}))
          << rung.id;
      EXPECT_TRUE(column.intact()) << rung.id;
    }
  }
}

// ----------------------------------------------------------------------------------------------------- streams, memory

TEST_F(GpuTest, AGraphReplaysPacksWhoseStatusStaysOnTheDevice) {
  const Selection given = whole(shuffled(adjacent_lists(Pattern::poisson, 100'003, 0), true));
  const auto expected = given.expected();
  for (const RungInfo& rung : rungs()) {
    DeviceLists<std::int64_t> lists(given, false, 0);
    DeviceColumn column(given.content(), 8, 0);
    column.clear(2 * std::ssize(expected.positions));
    DeviceArray<std::int64_t> offsets(given.lists() + 1);
    DeviceArray<std::int64_t> alone(given.lists() + 1);
    DeviceArray<gpu::PackStatus> status(4);
    const tests::OwnStream stream;
    auto policy = gpu::Policy{}.with_stream(stream).with_rung(rung.id);
    const PackColumn view = column.view();
    const std::span<const PackColumn> columns(&view, 1);
    PackColumn to_come = view;
    to_come.data = to_come.out = nullptr;
    const auto bounds_to_come = Lists::by_bounds<std::int64_t>(nullptr, nullptr, given.lists());
    const auto size = gpu::pack_workspace(policy, bounds_to_come, std::span(&to_come, 1));
    EXPECT_EQ(size.scratch, gpu::pack_workspace(policy, lists.view(), columns).scratch);
    gpu::Workspace workspace(size, 0, stream);
    policy = policy.with_workspace(workspace);
    const tests::Replay replay(stream, [&] {
      EXPECT_EQ(failure_of([&] { pack(policy, lists.view(), offsets.data(), columns); }).code, Code::invalid_argument);
      pack_async(policy, lists.view(), offsets.data(), columns, status.data());
      pack_content_async(policy, lists.view(), offsets.data(), columns, status.data() + 1);
      pack_async(policy, lists.view(), alone.data(), {}, status.data() + 2);
      pack_offsets_async(policy, lists.view(), given.content(), alone.data(), status.data() + 3);
    });
    for (int run = 0; run < 4; ++run) {
      require(cudaMemsetAsync(workspace.scratch(), 0xB0 + run, static_cast<std::size_t>(size.scratch), stream));
      const std::int64_t bad = run == 2 ? -5 : given.stops[0];
      const std::int64_t start = run == 2 ? 7 : given.starts[0];
      if (given.valid[0]) {
        tests::copy_in(lists.stops(), &bad, sizeof bad);
        tests::copy_in(lists.starts(), &start, sizeof start);
      }
      replay.launch(offsets, alone, column, status);
      require(cudaStreamSynchronize(stream));
      const bool fails = run == 2 && given.valid[0];
      for (const gpu::PackStatus& reported : status.values()) {
        EXPECT_EQ(reported.code, fails ? Code::stop_before_start : Code::ok) << rung.id;
        EXPECT_EQ(reported.first_bad, fails ? 0 : kNoIndex) << rung.id;
        if (fails) continue;
        EXPECT_EQ(reported.total, std::ssize(expected.positions)) << rung.id;
      }
      if (fails) continue;
      EXPECT_EQ(offsets.values(), expected.offsets) << rung.id;
      EXPECT_EQ(alone.values(), expected.offsets) << rung.id;
      EXPECT_EQ(column.complaint(expected.positions), "") << rung.id;
    }
  }
}

TEST_F(GpuTest, OffsetsAloneAreOfTheContentThatIsSaid) {
  DeviceArray<std::int64_t> bounds(std::vector<std::int64_t>{0, 3, 7}, 0);
  DeviceArray<std::int64_t> offsets(3);
  DeviceArray<gpu::PackStatus> status(2);
  const Lists lists = Lists::by_offsets(bounds.data(), 2);
  for (const RungInfo& rung : rungs()) {
    const auto policy = gpu::Policy{}.with_rung(rung.id);
    pack_offsets_async(policy, lists, 6, offsets.data(), status.data());
    pack_async(policy, lists, offsets.data(), {}, status.data() + 1);
    EXPECT_EQ(status.values()[0].code, Code::stop_past_end) << rung.id;
    EXPECT_EQ(status.values()[0].first_bad, 1) << rung.id;
    EXPECT_EQ(status.values()[1].code, Code::ok) << rung.id;
    EXPECT_EQ(status.values()[1].total, 7) << rung.id;
    EXPECT_EQ(offsets.values(), (std::vector<std::int64_t>{0, 3, 7})) << rung.id;
    EXPECT_EQ(pack(policy, lists, offsets.data(), std::span<const PackColumn>()).total, 7) << rung.id;
  }
}

TEST_F(GpuTest, NoMemoryIsHeldAfterAnErrorOfAPack) {
  std::vector<std::int64_t> host(101, 5);
  host[50] = 3;
  DeviceArray<std::int64_t> bounds(host, 0);
  DeviceArray<std::int64_t> offsets(101);
  for (const RungInfo& rung : rungs()) {
    for (const int refused_from : {1, 2, 100}) {
      tests::CountingMemory memory(refused_from);
      const auto policy = gpu::Policy{}.with_rung(rung.id).with_memory(memory);
      const Code code =
          failure_of([&] { pack_offsets(policy, Lists::by_offsets(bounds.data(), 100), 10, offsets.data()); }).code;
      EXPECT_EQ(code, refused_from == 1 ? Code::device_memory : Code::stop_before_start) << rung.id;
      EXPECT_EQ(memory.held, 0) << rung.id;
    }
  }
}

TEST_F(GpuTest, AnErrorThatTheCallerHasNotAskedForIsNotThePacks) {
  std::vector<std::int64_t> host(5001);
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<std::int64_t>(i);
  DeviceArray<std::int64_t> bounds(host, 0);
  DeviceArray<std::int64_t> offsets(5001);
  DeviceColumn column(5000, 8, 0);
  for (const RungInfo& rung : rungs()) {
    column.clear(5000);
    const PackColumn view = column.view();
    tests::leave_stale_error();
    EXPECT_EQ(failure_of([&] {
                pack(gpu::Policy{}.with_rung(rung.id), Lists::by_offsets(bounds.data(), 5000), offsets.data(), view);
              }),
              Failure{})
        << rung.id;
    tests::expect_stale_error(rung);
  }
}

TEST_F(GpuTest, PacksSayWhatIsWrong) {
  std::vector<std::int64_t> host{0, 3, 5};
  DeviceArray<std::int64_t> bounds(host, 0);
  DeviceArray<std::int64_t> offsets(3);
  DeviceColumn column(5, 8, 0);
  column.clear(5);
  const auto code = [&](const gpu::Policy& policy, const std::int64_t* lists, std::int64_t* out,
                        const PackColumn& view) {
    return failure_of([&] { pack(policy, Lists::by_offsets(lists, 2), out, view); }).code;
  };
  const PackColumn view = column.view();
  PackColumn odd = view;
  odd.element_size = 3;
  PackColumn other = view;
  std::vector<double> elsewhere(5);
  other.out = elsewhere.data();
  EXPECT_EQ(code({}, bounds.data(), offsets.data(), view), Code::ok);
  EXPECT_EQ(code({}, host.data(), offsets.data(), view), Code::invalid_argument);
  EXPECT_EQ(code({}, bounds.data(), host.data(), view), Code::invalid_argument);
  EXPECT_EQ(code({}, bounds.data(), nullptr, view), Code::invalid_argument);
  EXPECT_EQ(code({}, bounds.data(), offsets.data(), odd), Code::invalid_argument);
  EXPECT_EQ(code({}, bounds.data(), offsets.data(), other), Code::invalid_argument);
  EXPECT_EQ(code(gpu::Policy{}.with_rung("cpu.serial"), bounds.data(), offsets.data(), view), Code::unsupported);
  EXPECT_EQ(code(gpu::Policy{}.with_rung("cuda.none"), bounds.data(), offsets.data(), view), Code::unknown_rung);
}

TEST_F(GpuTest, OneWorkspaceServesAPackItsStepsAndSmallerOnes) {
  // For lists of 45 elements, and of 11, blocks process 512 and 2048: each step has other requirements.
  for (const std::int64_t size : {45, 11}) {
    constexpr std::int64_t kLists = 1'000'000;
    const std::int64_t n = kLists * size;
    DeviceArray<std::int32_t> content(n);
    DeviceArray<std::int32_t> out(n);
    DeviceArray<std::int64_t> offsets(kLists + 1);
    const PackColumn column(content.data(), n, out.data(), n);
    const std::span<const PackColumn> columns(&column, 1);
    gpu::Workspace workspace(gpu::pack_workspace({}, Lists::of_size(kLists, size), columns));
    const auto policy = gpu::Policy{}.with_workspace(workspace);
    for (const std::int64_t lists : {kLists, kLists - 1}) {
      const auto given = Lists::of_size(lists, size);
      EXPECT_EQ(pack(policy, given, offsets.data(), columns).total, lists * size);
      EXPECT_EQ(pack_offsets(policy, given, n, offsets.data()).total, lists * size);
      EXPECT_EQ(pack_content(policy, given, offsets.data(), columns).total, lists * size);
    }
  }
}

}  // namespace
}  // namespace upsweep
