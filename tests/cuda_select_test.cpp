// SPDX-License-Identifier: Apache-2.0
// tests/cuda_select_test.cpp: every CUDA rung of the select ladder: lists, masks, columns, errors, and what calls
// refuse.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device_array.hpp"
#include "device_selections.hpp"
#include "rungs.hpp"
#include "selections.hpp"
#include "upsweep/select.hpp"

namespace upsweep {
namespace {

using tests::adjacent_lists;
using tests::DeviceArray;
using tests::DeviceBooleans;
using tests::DeviceColumn;
using tests::DeviceLists;
using tests::Failure;
using tests::failure_of;
using tests::GpuTest;
using tests::kSelectionPatterns;
using tests::kSelectionShares;
using tests::kSelectionSizes;
using tests::make_mask;
using tests::require;
using tests::Selection;
using tests::shuffled;
std::vector<RungInfo> rungs() { return tests::rungs_of("select", Backend::cuda); }

struct Case {
  bool by_offsets = true;
  std::int64_t first_bit = -1;
  std::int64_t misaligned = 0;  ///< of bounds and outputs, in elements, and of the mask in bytes
  int size = 8;
  std::int64_t misaligned_bytes = 0;  ///< of the content and its output
};

std::ostream& operator<<(std::ostream& out, const Case& how) {
  return out << "by offsets " << how.by_offsets << ", first bit " << how.first_bit << ", misaligned " << how.misaligned
             << ", elements of " << how.size << " bytes, misaligned by " << how.misaligned_bytes;
}

/// Checks every rung, and the API's choice. Rungs may refuse lists that are not adjacent, or elements at odd addresses.
template <class T>
void check_rungs(const Selection& given, const Case& how) {
  const impl::select::ExpectedSelection expected = given.expected();
  const auto kept = std::ssize(expected.positions);
  DeviceLists<T> lists(given, how.by_offsets, how.misaligned);
  DeviceBooleans mask(given.mask, how.first_bit, how.misaligned);
  DeviceColumn column(given.content(), how.size, how.misaligned_bytes);
  DeviceColumn other(given.content(), 2, how.misaligned_bytes / 2 * 2);
  std::vector<std::string_view> ids{""};
  for (const RungInfo& rung : rungs()) ids.push_back(rung.id);
  for (const std::string_view id : ids) {
    DeviceArray<std::int64_t> offsets(given.lists() + 1, how.misaligned % 2);
    column.clear(kept);
    other.clear(kept + 3);
    const SelectColumn columns[] = {column.view(), other.view()};
    const Failure failure = failure_of([&] {
      const Selected selected =
          select(gpu::Policy{}.with_rung(id), lists.view(), mask.view(), offsets.data(), std::span(columns));
      EXPECT_EQ(selected.kept, kept) << id << ' ' << how;
      if (!id.empty()) {
        EXPECT_EQ(selected.rung, id);
      }
    });
    if (failure.code == Code::unsupported && id == "cuda.cub" &&
        (!how.by_offsets || !given.valid.empty() || how.misaligned_bytes != 0)) {
      continue;
    }
    EXPECT_EQ(failure, Failure{}) << id << ' ' << how;
    EXPECT_EQ(offsets.values(), expected.offsets) << id << ' ' << how;
    EXPECT_TRUE(offsets.intact() && mask.intact()) << id << ' ' << how;
    EXPECT_EQ(column.complaint(expected.positions), "") << id << ' ' << how;
    EXPECT_EQ(other.complaint(expected.positions), "") << id << ' ' << how;
  }
}

template <class T>
class CudaSelect : public GpuTest {};
using BoundTypes = testing::Types<std::int32_t, std::uint32_t, std::int64_t>;
TYPED_TEST_SUITE(CudaSelect, BoundTypes);

TYPED_TEST(CudaSelect, EveryPatternSizeAndShareMatchesTheReference) {
  std::int64_t turn = 0;
  for (const ListPattern pattern : kSelectionPatterns) {
    for (const std::int64_t n : kSelectionSizes) {
      for (const unsigned share : kSelectionShares) {
        if (++turn % 3 != static_cast<std::int64_t>(sizeof(TypeParam)) % 3 && n > 5000) continue;
        const Selection given = adjacent_lists(pattern, n, share, turn % 4 == 0 ? turn % 77 : 0, turn % 2 * 5);
        SCOPED_TRACE(testing::Message() << pattern_name(pattern) << " n " << n << " share " << share);
        check_rungs<TypeParam>(
            given, {.first_bit = turn % 5 == 0 ? turn % 41 : -1, .misaligned = turn % 7, .size = 1 << (turn % 5)});
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

TYPED_TEST(CudaSelect, ListsInAnyOrderMatchTheReference) {
  std::int64_t turn = 0;
  for (const ListPattern pattern : kSelectionPatterns) {
    for (const std::int64_t n : {1, 9, 64, 1000, 5000, 70001}) {
      for (const bool nulls : {false, true}) {
        // Many lists that each contain everything would be too large.
        if (pattern == ListPattern::giants && n > 5000) continue;
        const Selection given = shuffled(adjacent_lists(pattern, n, kSelectionShares[turn % 6], 3, 5), nulls);
        SCOPED_TRACE(testing::Message() << pattern_name(pattern) << " n " << n << " nulls " << nulls);
        check_rungs<TypeParam>(given, {.by_offsets = false,
                                       .first_bit = turn % 3 == 0 ? turn % 37 : -1,
                                       .misaligned = turn % 5,
                                       .size = 1 << (turn % 5)});
        ++turn;
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST_F(GpuTest, EveryElementSizeAtEveryAddressIsSelected) {
  for (const bool by_offsets : {true, false}) {
    Selection given = adjacent_lists(ListPattern::zero_to_4, 3001, 60, 7, 9);
    if (!by_offsets) given = shuffled(given, false);
    for (const int size : {1, 2, 4, 8, 16}) {
      for (const std::int64_t misaligned : {0, 1, 2, 4, 6, 8, 16}) {
        check_rungs<std::int64_t>(given, {.by_offsets = by_offsets, .size = size, .misaligned_bytes = misaligned});
      }
    }
    for (std::int64_t first_bit = -1; first_bit < 68; ++first_bit) {
      check_rungs<std::int32_t>(given,
                                {.by_offsets = by_offsets, .first_bit = first_bit, .misaligned = (first_bit + 5) % 19});
    }
  }
}

TEST_F(GpuTest, EveryElementAloneIsKept) {
  for (std::int64_t kept = 0; kept < 70; ++kept) {
    Selection given = adjacent_lists(ListPattern::zero_to_4, 70, 0);
    given.mask[static_cast<std::size_t>(kept)] = true;
    check_rungs<std::int64_t>(given, {.first_bit = kept % 2 == 0 ? kept : -1, .misaligned = kept % 3});
  }
}

TEST_F(GpuTest, ListsOfOneSizeAreSelectedFrom) {
  for (const std::int64_t size : {0, 1, 3, 8, 32, 300, 1000}) {
    const std::int64_t count = size == 0 ? 5 : 70'000 / size;
    const std::vector<bool> booleans = make_mask(count * size + 7, 50);
    DeviceBooleans mask(booleans);
    std::vector<std::int64_t> expected{0};
    for (std::int64_t i = 0; i < count; ++i) {
      const auto first = booleans.begin() + i * size;
      expected.push_back(expected.back() + std::count(first, first + size, true));
    }
    for (const RungInfo& rung : rungs()) {
      DeviceArray<std::int64_t> offsets(count + 1);
      const auto policy = gpu::Policy{}.with_rung(rung.id);
      EXPECT_EQ(select(policy, Lists::of_size(count, size), mask.view(), offsets.data()).kept, expected.back())
          << rung.id;
      EXPECT_EQ(offsets.values(), expected) << rung.id << ' ' << size;
      EXPECT_EQ(count_kept(policy, Lists::of_size(count, size), mask.view()).kept, expected.back()) << rung.id;
    }
  }
  DeviceBooleans one(make_mask(1, 100));
  EXPECT_EQ(count_kept(gpu::Policy{}, Lists::of_size(std::int64_t{1} << 48, 0), one.view()).kept, 0);
}

TEST_F(GpuTest, ArraysWithoutListsAreCompacted) {
  std::int64_t turn = 0;
  for (const std::int64_t n : kSelectionSizes) {
    for (const unsigned share : kSelectionShares) {
      const std::vector<bool> booleans = make_mask(n, share);
      std::vector<std::int64_t> positions;
      for (std::int64_t j = 0; j < n; ++j) {
        if (booleans[static_cast<std::size_t>(j)]) positions.push_back(j);
      }
      DeviceBooleans mask(booleans, turn % 3 == 0 ? turn % 67 : -1, turn % 17);
      DeviceColumn column(n, 1 << (turn % 5), 0);
      DeviceColumn other(n, 4, 4);
      ++turn;
      for (const RungInfo& rung : rungs()) {
        const auto policy = gpu::Policy{}.with_rung(rung.id);
        column.clear(turn % 2 == 0 ? n : std::ssize(positions));
        other.clear(std::ssize(positions));
        const Selected selected = select(policy, mask.view(), column.view(), other.view());
        EXPECT_EQ(selected.kept, std::ssize(positions)) << rung.id << ' ' << n << ' ' << share;
        EXPECT_EQ(selected.rung, rung.id);
        EXPECT_EQ(column.complaint(positions), "") << rung.id << ' ' << n << ' ' << share;
        EXPECT_EQ(other.complaint(positions), "") << rung.id << ' ' << n << ' ' << share;
        EXPECT_EQ(count_kept(policy, mask.view()).kept, std::ssize(positions)) << rung.id;
      }
    }
  }
}

// -------------------------------------------------------------------------------------------------------------- errors

/// Checks every rung, with columns and with only counting.
template <class T>
void expect_failure(const std::vector<T>& starts, const std::vector<T>& stops, std::int64_t content,
                    const Failure& expected, const std::string& what) {
  const bool by_offsets = stops.empty();
  const std::int64_t n = std::ssize(starts) - (by_offsets ? 1 : 0);
  DeviceArray<T> first(starts, 1);
  DeviceArray<T> second(stops, 0);
  const Lists lists =
      by_offsets ? Lists::by_offsets(first.data(), n) : Lists::by_bounds(first.data(), second.data(), n);
  DeviceBooleans mask(make_mask(content, 50));
  DeviceColumn column(content, 8, 0);
  for (const RungInfo& rung : rungs()) {
    const auto policy = gpu::Policy{}.with_rung(rung.id);
    DeviceArray<std::int64_t> offsets(n + 1);
    column.clear(content);
    const Failure failure = failure_of([&] { select(policy, lists, mask.view(), offsets.data(), column.view()); });
    if (failure.code == Code::unsupported && rung.id == "cuda.cub" && !by_offsets) continue;
    EXPECT_EQ(failure, expected) << rung.id << ' ' << what;
    EXPECT_EQ(failure_of([&] { (void)count_kept(policy, lists, mask.view()); }), expected) << rung.id << ' ' << what;
    EXPECT_TRUE(offsets.intact() && column.intact()) << rung.id << ' ' << what;
  }
}

TEST_F(GpuTest, TheFirstBadListOfASelectionIsNamed) {
  using Bounds = std::vector<std::int64_t>;
  for (const std::int64_t n : {3, 50, 100001}) {
    const Selection given = adjacent_lists(ListPattern::fixed3, n, 50);
    Bounds good{0};
    good.insert(good.end(), given.stops.begin(), given.stops.end());
    for (const std::int64_t bad : {std::int64_t{0}, given.lists() / 2, given.lists() - 1}) {
      const auto at = static_cast<std::size_t>(bad);
      Bounds offsets = good;
      offsets[at + 1] = offsets[at] - 1;
      expect_failure(offsets, {}, n, {Code::stop_before_start, bad}, "decreases");
      offsets = good;
      offsets[at + 1] = n + 1;
      expect_failure(offsets, {}, n, {Code::stop_past_end, bad}, "past the end");
      offsets = good;
      offsets[at + 1] = std::numeric_limits<std::int64_t>::max();
      offsets.back() = -1;  // the last list is also invalid
      const Code code = at + 1 == offsets.size() - 1 ? Code::stop_before_start : Code::stop_past_end;
      expect_failure(offsets, {}, n, {code, bad}, "two");
      offsets = good;
      offsets[0] = -5;
      expect_failure(offsets, {}, n, {Code::negative_start, 0}, "negative");
      Bounds starts(good.begin(), good.end() - 1);
      Bounds stops(good.begin() + 1, good.end());
      stops[at] = starts[at] - 1;
      stops.back() = starts.back() - 1;
      expect_failure(starts, stops, n, {Code::stop_before_start, bad}, "bounds");
      starts[at] = -1;
      stops[at] = 2;
      expect_failure(starts, stops, n, {Code::negative_start, bad}, "bounds");
      starts[at] = 0;
      stops[at] = std::numeric_limits<std::int64_t>::max();
      expect_failure(starts, stops, n, {Code::stop_past_end, bad}, "bounds");
    }
  }
  // Lengths modulo 2^64 are not negative, and their sum is 0.
  Bounds wraps(30, 10);
  wraps[9] = std::numeric_limits<std::int64_t>::min() + 9;
  wraps[10] = 8;
  expect_failure(wraps, {}, 64, {Code::stop_before_start, 8}, "wraps");
}

TEST_F(GpuTest, BoundsOfEmptyListsMayBeAnything) {
  DeviceBooleans mask(make_mask(10, 50));
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t bound :
       {std::int64_t{-5}, std::int64_t{0}, std::int64_t{10}, std::int64_t{11}, most, -most}) {
    DeviceArray<std::int64_t> offsets(std::vector<std::int64_t>(100, bound), 0);
    for (const RungInfo& rung : rungs()) {
      DeviceArray<std::int64_t> out(100);
      const auto policy = gpu::Policy{}.with_rung(rung.id);
      EXPECT_EQ(select(policy, Lists::by_offsets(offsets.data(), 99), mask.view(), out.data()).kept, 0) << rung.id;
      EXPECT_EQ(out.values(), std::vector<std::int64_t>(100, 0)) << rung.id << ' ' << bound;
    }
  }
}

TEST_F(GpuTest, SelectionsOfTooSmallCapacityAreNotOverrun) {
  for (const std::int64_t n : {4, 100, 100001}) {
    for (const bool by_offsets : {true, false}) {
      Selection given = adjacent_lists(ListPattern::poisson, n, 60);
      if (!by_offsets) given = shuffled(given, false);
      const auto kept = std::ssize(given.expected().positions);
      if (kept == 0) continue;
      DeviceLists<std::int64_t> lists(given, by_offsets, 0);
      DeviceBooleans mask(given.mask);
      DeviceColumn column(n, 8, 0);
      DeviceColumn other(n, 1, 0);
      for (const std::int64_t capacity : {kept - 1, std::int64_t{0}}) {
        for (const RungInfo& rung : rungs()) {
          if (rung.id == "cuda.cub" && !by_offsets) continue;
          const auto policy = gpu::Policy{}.with_rung(rung.id);
          DeviceArray<std::int64_t> out(given.lists() + 1);
          column.clear(2 * n);
          other.clear(capacity);
          const Failure too_small{Code::unequal_lengths, kNoIndex};
          EXPECT_EQ(
              failure_of([&] { select(policy, lists.view(), mask.view(), out.data(), column.view(), other.view()); }),
              too_small)
              << rung.id << ' ' << n;
          if (by_offsets) {
            EXPECT_EQ(failure_of([&] { select(policy, mask.view(), column.view(), other.view()); }), too_small)
                << rung.id;
          }
          EXPECT_TRUE(column.intact() && other.intact() && out.intact()) << rung.id;
        }
      }
    }
  }
}

// ----------------------------------------------------------------------------------------------------- streams, memory

TEST_F(GpuTest, AGraphReplaysSelectionsWhoseStatusStaysOnTheDevice) {
  for (const bool by_offsets : {true, false}) {
    Selection given = adjacent_lists(ListPattern::poisson, 100'003, 50);
    if (!by_offsets) given = shuffled(given, true);
    const auto full = given.expected();
    for (const RungInfo& rung : rungs()) {
      if (rung.id == "cuda.cub" && !by_offsets) continue;
      DeviceLists<std::int64_t> lists(given, by_offsets, 0);
      DeviceBooleans mask(given.mask);
      DeviceColumn column(given.content(), 8, 0);
      column.clear(2 * given.content());
      DeviceArray<std::int64_t> out(given.lists() + 1);
      DeviceArray<gpu::SelectStatus> status(1);
      const tests::OwnStream stream;
      auto policy = gpu::Policy{}.with_stream(stream).with_rung(rung.id);
      const SelectColumn view = column.view();
      const std::span<const SelectColumn> columns(&view, 1);
      const std::int64_t* const to_come = nullptr;
      const Lists lists_to_come =
          by_offsets ? Lists::by_offsets(to_come, given.lists()) : Lists::by_bounds(to_come, to_come, given.lists());
      const SelectColumn column_to_come(nullptr, view.length, nullptr, view.capacity, view.element_size);
      const auto size = gpu::select_workspace(policy, lists_to_come, Mask::bytes(nullptr, given.content()),
                                              std::span(&column_to_come, 1));
      EXPECT_EQ(size.scratch, gpu::select_workspace(policy, lists.view(), mask.view(), columns).scratch) << rung.id;
      gpu::Workspace workspace(size, 0, stream);
      policy = policy.with_workspace(workspace);
      const tests::Replay replay(stream, [&] {
        EXPECT_EQ(failure_of([&] { select(policy, lists.view(), mask.view(), out.data(), columns); }).code,
                  Code::invalid_argument);  // it would have to wait
        select_async(policy, lists.view(), mask.view(), out.data(), columns, status.data());
      });
      for (int run = 0; run < 4; ++run) {
        const bool none = run == 2;  // the mask may change between replays
        if (none) require(cudaMemsetAsync(mask.data(), 0, given.mask.size(), stream));
        if (run == 3) {
          const DeviceBooleans again(given.mask);
          tests::copy_in(mask.data(), const_cast<DeviceBooleans&>(again).data(), given.mask.size());
        }
        require(cudaMemsetAsync(workspace.scratch(), 0xB0 + run, static_cast<std::size_t>(size.scratch), stream));
        replay.launch(out, column, status);
        require(cudaStreamSynchronize(stream));
        const auto reported = status.values()[0];
        EXPECT_EQ(reported.code, Code::ok) << rung.id;
        EXPECT_EQ(reported.first_bad, kNoIndex) << rung.id;
        EXPECT_EQ(reported.kept, none ? 0 : std::ssize(full.positions)) << rung.id;
        EXPECT_EQ(out.values(), none ? std::vector<std::int64_t>(full.offsets.size(), 0) : full.offsets) << rung.id;
        EXPECT_EQ(column.complaint(none ? std::vector<std::int64_t>{} : full.positions), "") << rung.id;
      }
    }
  }
}

TEST_F(GpuTest, AStatusSaysWhatIsWrongWithASelection) {
  std::vector<std::int64_t> host(1001);
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<std::int64_t>(3 * i);
  host[500] = 1'000'000;
  DeviceArray<std::int64_t> offsets(host, 0);
  DeviceArray<std::int64_t> out(1001);
  DeviceArray<gpu::SelectStatus> status(1);
  DeviceBooleans mask(make_mask(3000, 50));
  DeviceColumn column(3000, 4, 0);
  column.clear(10);
  const SelectColumn view = column.view();
  for (const RungInfo& rung : rungs()) {
    const auto policy = gpu::Policy{}.with_rung(rung.id);
    select_async(policy, Lists::by_offsets(offsets.data(), 1000), mask.view(), out.data(), std::span(&view, 1),
                 status.data());
    EXPECT_EQ(status.values()[0].code, Code::stop_past_end) << rung.id;
    EXPECT_EQ(status.values()[0].first_bad, 499) << rung.id;
    select_async(policy, mask.view(), std::span(&view, 1), status.data());
    EXPECT_EQ(status.values()[0].code, Code::unequal_lengths) << rung.id;
    EXPECT_EQ(status.values()[0].first_bad, kNoIndex) << rung.id;
    EXPECT_TRUE(column.intact()) << rung.id;
  }
}

TEST_F(GpuTest, NoMemoryIsHeldAfterAnErrorOfASelection) {
  std::vector<std::int64_t> host(101, 5);
  host[50] = 3;
  DeviceArray<std::int64_t> offsets(host, 0);
  DeviceArray<std::int64_t> out(101);
  DeviceBooleans mask(make_mask(3000, 50));
  for (const RungInfo& rung : rungs()) {
    for (const int refused_from : {1, 2, 100}) {
      tests::CountingMemory memory(refused_from);
      const auto policy = gpu::Policy{}.with_rung(rung.id).with_memory(memory);
      const Code code =
          failure_of([&] { select(policy, Lists::by_offsets(offsets.data(), 100), mask.view(), out.data()); }).code;
      EXPECT_EQ(code, refused_from == 1 ? Code::device_memory : Code::stop_before_start) << rung.id;
      EXPECT_EQ(memory.held, 0) << rung.id;
    }
  }
}

TEST_F(GpuTest, AnErrorThatTheCallerHasNotAskedForIsNotTheSelections) {
  DeviceBooleans mask(make_mask(5000, 50));
  for (const RungInfo& rung : rungs()) {
    DeviceColumn column(5000, 8, 0);
    column.clear(5000);
    tests::leave_stale_error();
    EXPECT_EQ(failure_of([&] { select(gpu::Policy{}.with_rung(rung.id), mask.view(), column.view()); }), Failure{})
        << rung.id;
    tests::expect_stale_error(rung);
  }
}

TEST_F(GpuTest, SelectionsSayWhatIsWrong) {
  std::vector<std::uint8_t> host(100, 1);
  DeviceArray<std::uint8_t> mask(host, 0);
  DeviceArray<double> content(100);
  DeviceArray<double> out(100);
  std::vector<double> host_out(100);
  const auto code = [&](const gpu::Policy& policy, const void* booleans, std::int64_t length, double* to) {
    return failure_of(
               [&] { select(policy, Mask::bytes(booleans, length), SelectColumn(content.data(), 100, to, 100)); })
        .code;
  };
  EXPECT_EQ(code({}, mask.data(), 100, out.data()), Code::ok);
  EXPECT_EQ(code({}, host.data(), 100, out.data()), Code::invalid_argument);
  EXPECT_EQ(code({}, mask.data(), 100, host_out.data()), Code::invalid_argument);
  EXPECT_EQ(code({}, mask.data(), 100, content.data()), Code::invalid_argument);
  EXPECT_EQ(code({}, mask.data(), 99, out.data()), Code::unequal_lengths);
  EXPECT_EQ(code(gpu::Policy{}.with_rung("cpu.serial"), mask.data(), 100, out.data()), Code::unsupported);
  EXPECT_EQ(code(gpu::Policy{}.with_rung("cuda.none"), mask.data(), 100, out.data()), Code::unknown_rung);
}

}  // namespace
}  // namespace upsweep
