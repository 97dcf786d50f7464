// SPDX-License-Identifier: Apache-2.0
// tests/cuda_offsets_test.cpp: every CUDA rung of the ladder: offsets, the first invalid list, and what calls refuse.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "device_array.hpp"
#include "golden.hpp"
#include "lists.hpp"
#include "rungs.hpp"
#include "upsweep/offsets.hpp"

namespace upsweep {
namespace {

using tests::Bounds;
using tests::DeviceArray;
using tests::Failure;
using tests::failure_of;
using tests::GpuTest;
using tests::ListPattern;
using tests::require;

// Sizes around a warp, a block (1024), a cluster (32768 lists), and whole numbers of tiles: 40 of 1920 lists (int64),
// 20 of 3072.
constexpr std::int64_t kSizes[] = {0,     1,     2,     31,    33,    1023,  1024,  1025,   32767, 32768,
                                   32769, 76799, 76800, 76801, 61439, 61440, 61441, 100003, 700001};

std::vector<RungInfo> rungs() { return tests::rungs_of("offsets", Backend::cuda); }

/// Slow rungs do not run on the long arrays.
bool is_slow(const RungInfo& rung) { return rung.id == "cuda.one_thread" || rung.id == "cuda.turn_taking"; }

template <class T>
class CudaOffsets : public GpuTest {};
using Types = testing::Types<std::int32_t, std::uint32_t, std::int64_t>;
TYPED_TEST_SUITE(CudaOffsets, Types);

struct Case {
  bool strict = false;
  std::int64_t before = 0;
  std::int64_t misaligned = 0;
};

/// Runs a rung on lists and compares with the reference: outcome, specified offsets, guards, carry.
template <class T>
void check(const gpu::Policy& policy, const Bounds<T>& lists, const Case& how) {
  const auto n = std::ssize(lists.starts);
  const auto expected = tests::expected_offsets(lists.starts.data(), lists.stops.data(), n, how.strict, how.before);
  DeviceArray<T> starts(lists.starts, how.misaligned);
  DeviceArray<T> stops(lists.stops, how.misaligned / 2);
  DeviceArray<std::int64_t> offsets(n + 1, how.misaligned % 2);
  OffsetsCarry carry{.total = how.before};
  const Failure found = failure_of([&] {
    const auto result = upsweep::offsets(policy, starts.data(), stops.data(), n, offsets.data(), how.strict, carry);
    EXPECT_EQ(result.rung, policy.rung.empty() ? result.rung : policy.rung);
    EXPECT_EQ(result.lists, n);
    EXPECT_EQ(result.total, expected.offsets.back());
    EXPECT_EQ(carry.lists, n);
  });
  EXPECT_EQ(tests::complaint(expected, found, offsets.values().data()), "")
      << policy.rung << " n " << n << " strict " << how.strict << " before " << how.before << " misaligned "
      << how.misaligned;
  EXPECT_TRUE(starts.intact() && stops.intact() && offsets.intact()) << policy.rung << " n " << n;
}

TYPED_TEST(CudaOffsets, OffsetsMatchTheReferenceAtEverySizeAndPattern) {
  for (const auto& rung : rungs()) {
    if (rung.id == "cuda.adjacent") continue;
    for (const ListPattern pattern : tests::kListPatterns) {
      for (const std::int64_t n : kSizes) {
        if (n > 4000 && is_slow(rung)) continue;
        // 2^40 elements per list: some millions of such lists overflow int64.
        const auto lists = tests::make_lists<TypeParam>(pattern, n);
        for (const std::int64_t misaligned : {std::int64_t{0}, 1 + n % 3}) {
          check(gpu::Policy{}.with_rung(rung.id), lists, {.before = n % 5, .misaligned = misaligned});
        }
      }
    }
  }
}

TYPED_TEST(CudaOffsets, EveryRungPassesAwkwardsCases) {
  std::string reason;
  const auto cases = tests::golden_cases(reason);
  if (!reason.empty()) GTEST_SKIP() << reason;
  ASSERT_GE(cases.size(), 40U);
  for (const auto& [lists, expected] : cases) {
    const auto bounds = tests::as<TypeParam>(lists);
    DeviceArray<TypeParam> starts(bounds.starts, 0);
    DeviceArray<TypeParam> stops(bounds.stops, 0);
    for (const auto& rung : rungs()) {
      if (rung.id == "cuda.adjacent") continue;
      const auto n = std::ssize(bounds.starts);
      DeviceArray<std::int64_t> offsets(n + 1);
      const Failure found = failure_of(
          [&] { upsweep::offsets(gpu::Policy{}.with_rung(rung.id), starts.data(), stops.data(), n, offsets.data()); });
      EXPECT_EQ(tests::complaint(expected, found, offsets.values().data()), "") << rung.id;
      EXPECT_TRUE(offsets.intact()) << rung.id;
    }
  }
}

TYPED_TEST(CudaOffsets, TheFirstBadListIsNamed) {
  for (const auto& rung : rungs()) {
    if (rung.id == "cuda.adjacent") continue;
    const auto policy = gpu::Policy{}.with_rung(rung.id);
    for (const std::int64_t n : {1, 40, 2500, 40000, 200003}) {
      if (n > 4000 && is_slow(rung)) continue;
      for (const std::int64_t bad : {std::int64_t{0}, n / 3, n - 1}) {
        auto lists = tests::make_lists<TypeParam>(ListPattern::packed, n);
        const auto at = static_cast<std::size_t>(bad);
        lists.starts[at] = 9;
        lists.stops[at] = 7;
        if (n > 3) lists.stops[static_cast<std::size_t>(n - 2)] = 0;  // another error, usually after the first
        check(policy, lists, {});
        if constexpr (std::is_signed_v<TypeParam>) {
          lists = tests::make_lists<TypeParam>(ListPattern::packed, n);
          lists.starts[at] = -4;
          lists.stops[at] = 7;
          check(policy, lists, {});
          check(policy, lists, {.strict = true});
        }
      }
    }
  }
}

TYPED_TEST(CudaOffsets, OffsetsThatLeaveInt64AreErrors) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const auto& rung : rungs()) {
    if (rung.id == "cuda.adjacent") continue;
    const auto policy = gpu::Policy{}.with_rung(rung.id);
    for (const std::int64_t n : {5, 3000, 100003}) {
      if (n > 4000 && is_slow(rung)) continue;
      const auto lists = tests::make_lists<TypeParam>(ListPattern::packed, n);
      check(policy, lists, {.before = kMost - 2});
      check(policy, lists, {.before = kMost - 2 * n});
      if constexpr (sizeof(TypeParam) == 8) {
        auto huge = lists;
        for (const std::int64_t i : {n / 2, n / 2 + 1}) {  // the second one does not fit
          huge.starts[static_cast<std::size_t>(i)] = 1;
          huge.stops[static_cast<std::size_t>(i)] = kMost;
        }
        check(policy, huge, {});
        huge.starts[static_cast<std::size_t>(n / 3)] = -kMost;  // a difference that is not valid
        huge.stops[static_cast<std::size_t>(n / 3)] = kMost;
        check(policy, huge, {});
      }
    }
  }
}

TYPED_TEST(CudaOffsets, AdjacentListsAreReadOnceAndChecked) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 2, 7, 500, 4095, 4096, 8191, 100003, 700001}) {
    for (const std::int64_t misaligned : {0, 1, 2, 3}) {
      for (const int flaw : {0, 1, 2, 3}) {
        std::vector<T> bounds(static_cast<std::size_t>(n + 1));
        for (std::size_t i = 0; i < bounds.size(); ++i) bounds[i] = static_cast<T>(3 * i + 5);
        std::int64_t before = 11;
        const auto middle = static_cast<std::size_t>(n / 2);
        if (flaw == 1) bounds[middle + 1] = 0;
        if (flaw == 2 && std::is_signed_v<T>) bounds[0] = static_cast<T>(-7);
        if (flaw == 3) before = std::numeric_limits<std::int64_t>::max() - 2 * n;
        const auto expected = tests::expected_offsets(bounds.data(), bounds.data() + 1, n, flaw == 2, before);
        DeviceArray<T> array(bounds, misaligned);
        DeviceArray<std::int64_t> offsets(n + 1, misaligned / 2);
        OffsetsCarry carry{.total = before};
        const Failure found = failure_of([&] {
          const auto result =
              upsweep::offsets(gpu::Policy{}, array.data(), array.data() + 1, n, offsets.data(), flaw == 2, carry);
          EXPECT_EQ(result.rung, "cuda.adjacent");
          EXPECT_EQ(result.total, expected.offsets.back());
        });
        EXPECT_EQ(tests::complaint(expected, found, offsets.values().data()), "")
            << n << " misaligned " << misaligned << " flaw " << flaw;
        EXPECT_TRUE(array.intact() && offsets.intact()) << n;
      }
    }
  }
}

TEST_F(GpuTest, PartsOfASequenceCarryOn) {
  const auto lists = tests::make_lists<std::int32_t>(ListPattern::random, 30000);
  const auto expected = tests::expected_offsets(lists.starts.data(), lists.stops.data(), 30000);
  DeviceArray<std::int32_t> starts(lists.starts, 0);
  DeviceArray<std::int32_t> stops(lists.stops, 0);
  DeviceArray<std::int64_t> offsets(30001);
  OffsetsCarry carry;
  for (const std::int64_t first : {0, 10000, 20000}) {
    upsweep::offsets(gpu::Policy{}, starts.data() + first, stops.data() + first, 10000, offsets.data() + first, false,
                     carry);
  }
  EXPECT_EQ(offsets.values(), expected.offsets);
  const std::int32_t wrong = std::numeric_limits<std::int32_t>::max();
  tests::copy_in(starts.data() + 10, &wrong, sizeof wrong);
  const Failure found = failure_of(
      [&] { upsweep::offsets(gpu::Policy{}, starts.data(), stops.data(), 100, offsets.data(), false, carry); });
  EXPECT_EQ(found.code, Code::stop_before_start);
  EXPECT_EQ(found.index, 30010);
}

TEST_F(GpuTest, AGraphReplaysOffsetsWhoseStatusStaysOnTheDevice) {
  const std::int64_t n = 300007;
  auto lists = tests::make_lists<std::int64_t>(ListPattern::random, n);
  const auto expected = tests::expected_offsets(lists.starts.data(), lists.stops.data(), n);
  DeviceArray<std::int64_t> starts(lists.starts, 0);
  DeviceArray<std::int64_t> stops(lists.stops, 0);
  DeviceArray<std::int64_t> offsets(n + 1);
  DeviceArray<gpu::OffsetsStatus> status(1);
  const tests::OwnStream stream;
  auto policy = gpu::Policy{}.with_stream(stream);
  gpu::Workspace workspace(gpu::offsets_workspace<std::int64_t>(policy, n), 0, stream);
  policy = policy.with_workspace(workspace);
  const tests::Replay replay(stream, [&] {
    EXPECT_EQ(failure_of([&] { upsweep::offsets(policy, starts.data(), stops.data(), n, offsets.data()); }).code,
              Code::invalid_argument);  // it would have to wait
    offsets_async(policy, starts.data(), stops.data(), n, offsets.data(), status.data());
  });
  for (int run = 0; run < 20; ++run) {
    const bool bad = run % 3 == 1;
    const std::int64_t stop = bad ? std::numeric_limits<std::int64_t>::min() : lists.stops[777];
    require(cudaMemcpyAsync(stops.data() + 777, &stop, sizeof stop, cudaMemcpyHostToDevice, stream));
    replay.launch(offsets, status);
    require(cudaStreamSynchronize(stream));
    const auto reported = status.values()[0];
    EXPECT_EQ(reported.code, bad ? Code::stop_before_start : Code::ok);
    EXPECT_EQ(reported.first_bad, bad ? 777 : kNoIndex);
    if (bad) continue;
    EXPECT_EQ(reported.total, expected.offsets.back());
    EXPECT_EQ(offsets.values(), expected.offsets);
  }
}

/// The number of lists is in device memory, and changes from one replay to the next.
template <class T>
void check_counts_on_device(bool are_adjacent) {
  constexpr std::int64_t kMost = 300'007;
  const auto lists = tests::make_lists<T>(are_adjacent ? ListPattern::packed : ListPattern::random, kMost);
  const auto expected = tests::expected_offsets(lists.starts.data(), lists.stops.data(), kMost);
  std::vector<T> bounds = lists.starts;
  bounds.push_back(lists.stops.back());
  DeviceArray<T> starts(bounds, 0);
  DeviceArray<T> others(lists.stops, 0);
  const T* const stops = are_adjacent ? starts.data() + 1 : others.data();
  DeviceArray<std::int64_t> offsets(kMost + 1);
  DeviceArray<std::int64_t> count(1);
  DeviceArray<gpu::OffsetsStatus> status(1);
  const tests::OwnStream stream;
  auto policy = gpu::Policy{}.with_stream(stream);
  gpu::Workspace workspace(gpu::offsets_workspace<T>(policy, kMost), 0, stream);
  policy = policy.with_workspace(workspace);
  const tests::Replay replay(stream, [&] {
    EXPECT_EQ(
        offsets_async(policy, starts.data(), stops, gpu::Length(count.data(), kMost), offsets.data(), status.data()),
        are_adjacent ? "cuda.adjacent" : "cuda.lookahead");
  });
  for (const std::int64_t n : {kMost, std::int64_t{0}, std::int64_t{1}, kMost - 1, std::int64_t{100'000}, kMost + 5}) {
    require(cudaMemcpyAsync(count.data(), &n, sizeof n, cudaMemcpyHostToDevice, stream));
    replay.launch(offsets, status);
    require(cudaStreamSynchronize(stream));
    const std::int64_t lists_there = std::min(n, kMost);
    const auto reported = status.values()[0];
    ASSERT_EQ(reported.first_bad, kNoIndex) << n;
    const auto all = offsets.values();
    ASSERT_EQ(reported.total, expected.offsets[static_cast<std::size_t>(lists_there)]) << n;
    ASSERT_TRUE(std::equal(all.begin(), all.begin() + lists_there + 1, expected.offsets.begin())) << n;
    const auto untouched = [](std::int64_t x) { return x == DeviceArray<std::int64_t>::poisoned(); };
    ASSERT_TRUE(std::all_of(all.begin() + lists_there + 1, all.end(), untouched)) << n;
  }
}

TEST_F(GpuTest, OffsetsOfAsManyListsAsDeviceMemorySays) {
  check_counts_on_device<std::int64_t>(false);
  check_counts_on_device<std::uint32_t>(false);
  check_counts_on_device<std::int32_t>(true);
}

TEST_F(GpuTest, OnlySomeRungsTakeACountInDeviceMemory) {
  DeviceArray<std::int64_t> bounds(std::vector<std::int64_t>{0, 1, 2, 3}, 0);
  DeviceArray<std::int64_t> offsets(4);
  DeviceArray<std::int64_t> count(std::vector<std::int64_t>{3}, 0);
  DeviceArray<gpu::OffsetsStatus> status(1);
  const auto run = [&](const gpu::Policy& policy, const std::int64_t* at) {
    return failure_of([&] {
      offsets_async(policy, bounds.data(), bounds.data() + 1, gpu::Length(at, 3), offsets.data(), status.data());
    });
  };
  EXPECT_EQ(run(gpu::Policy{}.with_rung("cuda.cub"), count.data()).code, Code::unsupported);
  const std::int64_t host = 3;
  EXPECT_EQ(run(gpu::Policy{}, &host).code, Code::invalid_argument);
  EXPECT_EQ(run(gpu::Policy{}, offsets.data() + 2).code, Code::invalid_argument);
}

TEST_F(GpuTest, OffsetsAreRightAThousandTimesOnAPoisonedWorkspaceBesideOtherWork) {
  const std::int64_t n = 600011;
  const auto lists = tests::make_lists<std::int64_t>(ListPattern::random, n);
  const auto expected = tests::expected_offsets(lists.starts.data(), lists.stops.data(), n);
  DeviceArray<std::int64_t> starts(lists.starts, 0);
  DeviceArray<std::int64_t> stops(lists.stops, 0);
  DeviceArray<std::int64_t> offsets(n + 1);
  DeviceArray<std::byte> elsewhere(32 << 20);
  const tests::OwnStream other;
  const auto size = gpu::offsets_workspace<std::int64_t>({}, n);
  gpu::Workspace workspace(size);
  const auto policy = gpu::Policy{}.with_workspace(workspace);
  for (int run = 0; run < 1000; ++run) {
    require(cudaMemsetAsync(elsewhere.data(), run, 32 << 20, other));
    tests::fill(workspace.scratch(), run, static_cast<std::size_t>(size.scratch));
    tests::fill(offsets.data(), run, static_cast<std::size_t>(n + 1) * 8);
    const auto result = upsweep::offsets(policy, starts.data(), stops.data(), n, offsets.data());
    ASSERT_EQ(result.total, expected.offsets.back()) << run;
    if (run % 20 == 0) {
      ASSERT_EQ(offsets.values(), expected.offsets) << run;
    }
  }
}

TEST_F(GpuTest, NoMemoryIsHeldAfterAnError) {
  const std::int64_t n = 100003;
  auto lists = tests::make_lists<std::int64_t>(ListPattern::random, n);
  lists.stops[777] = lists.starts[777] - 1;
  DeviceArray<std::int64_t> starts(lists.starts, 0);
  DeviceArray<std::int64_t> stops(lists.stops, 0);
  DeviceArray<std::int64_t> offsets(n + 1);
  for (const auto& rung : rungs()) {
    if (rung.id == "cuda.adjacent" || is_slow(rung)) continue;
    const auto run = [&](tests::CountingMemory& memory) {
      const auto policy = gpu::Policy{}.with_rung(rung.id).with_memory(memory);
      const Code code =
          failure_of([&] { upsweep::offsets(policy, starts.data(), stops.data(), n, offsets.data()); }).code;
      EXPECT_EQ(memory.held, 0) << rung.id;
      return code;
    };
    tests::CountingMemory enough(100);
    EXPECT_EQ(run(enough), Code::stop_before_start) << rung.id;
    for (const int refused_from : {1, 2}) {
      tests::CountingMemory scarce(refused_from);
      const Code code = run(scarce);
      EXPECT_TRUE(code == Code::device_memory || (refused_from > 1 && code == Code::stop_before_start)) << rung.id;
    }
  }
}

TEST_F(GpuTest, AnErrorThatTheCallerHasNotAskedForIsNotTheOffsets) {
  // Adjacent lists, which every rung supports. The first begins at 0, so the bounds are the offsets.
  const std::int64_t n = 5000;
  std::vector<std::int64_t> expected(static_cast<std::size_t>(n + 1));
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<std::int64_t>(3 * i);
  DeviceArray<std::int64_t> bounds(expected, 0);
  for (const auto& rung : rungs()) {
    const auto policy = gpu::Policy{}.with_rung(rung.id);
    DeviceArray<std::int64_t> offsets(n + 1);
    tests::leave_stale_error();
    const Failure found =
        failure_of([&] { upsweep::offsets(policy, bounds.data(), bounds.data() + 1, n, offsets.data()); });
    tests::expect_stale_error(rung);
    EXPECT_EQ(found.code, Code::ok) << rung.id;
    EXPECT_EQ(offsets.values(), expected) << rung.id;
  }
}

TEST_F(GpuTest, OffsetsSayWhatIsWrong) {
  std::vector<std::int64_t> host(100, 1);
  DeviceArray<std::int64_t> bounds(host, 0);
  DeviceArray<std::int64_t> offsets(101);
  const auto code = [&](const gpu::Policy& policy, const std::int64_t* starts, std::int64_t* out) {
    return failure_of([&] { upsweep::offsets(policy, starts, bounds.data(), 100, out); }).code;
  };
  EXPECT_EQ(code({}, host.data(), offsets.data()), Code::invalid_argument);
  EXPECT_EQ(code({}, bounds.data(), host.data()), Code::invalid_argument);
  EXPECT_EQ(code({}, bounds.data(), nullptr), Code::invalid_argument);
  EXPECT_EQ(code({}, bounds.data(), bounds.data()), Code::invalid_argument);
  EXPECT_EQ(code(gpu::Policy{}.with_rung("cuda.adjacent"), bounds.data(), offsets.data()), Code::unsupported);
  EXPECT_EQ(code(gpu::Policy{}.with_rung("cpu.serial"), bounds.data(), offsets.data()), Code::unsupported);
  EXPECT_EQ(code(gpu::Policy{}.with_rung("cuda.none"), bounds.data(), offsets.data()), Code::unknown_rung);
  try {
    const std::int64_t early = 0;
    tests::copy_in(bounds.data() + 42, &early, sizeof early);
    DeviceArray<std::int64_t> ones(host, 0);
    upsweep::offsets(gpu::Policy{}, ones.data(), bounds.data(), 100, offsets.data());
    FAIL() << "a list that stops before its start was not reported";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "list 42 is invalid: stop (0) < start (1)");
  }
}

}  // namespace
}  // namespace upsweep
