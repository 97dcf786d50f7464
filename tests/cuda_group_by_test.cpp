// SPDX-License-Identifier: Apache-2.0
// tests/cuda_group_by_test.cpp: groups on a GPU are compared with the CPU's. Cases: every rung, types of keys and
// values, operators, patterns of keys, counts, bits of float sums from run to run, memory, capacity and errors.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <vector>

#include "core/visit.hpp"
#include "cuda/memory_pool.hpp"
#include "device_array.hpp"
#include "failure.hpp"
#include "group_keys.hpp"
#include "patterns.hpp"
#include "problems/keys/group_by/reference.hpp"
#include "rungs.hpp"
#include "upsweep/group_by.hpp"

namespace upsweep {
namespace {

using impl::group_by::ExpectedGroups;
using tests::code_of;
using tests::DeviceArray;
using tests::failure_of;
using tests::GpuTest;
using tests::Keys;
using tests::keys_of;

/// Sums of these values are exact in any order, and do not overflow.
template <class T>
std::vector<T> small_values(std::int64_t n) {
  std::vector<T> values(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i % 7);
  return values;
}

constexpr std::int64_t kSizes[] = {0, 1, 255, 257, 2047, 2049, 70'001, 300'007};

/// Checks every rung that supports the call, and the API's choice; with counts and without.
template <class Key, class In, class Out, class Op>
void check(const std::vector<Key>& keys, const std::vector<In>& values, std::type_identity<Out>, Op op) {
  const std::int64_t n = std::ssize(keys);
  const ExpectedGroups<Key> expected(keys.data(), n);
  const auto folds = impl::group_by::expected_folds<Out>(expected, values.data(), op);
  const std::int64_t groups = std::ssize(expected.keys);
  DeviceArray<Key> on_device(keys, 1);
  DeviceArray<In> content(values, 1);
  auto rungs = tests::rungs_of("group-by", Backend::cuda);
  rungs.insert(rungs.begin(), RungInfo{});  // the API's choice
  for (const RungInfo& rung : rungs) {
    SCOPED_TRACE(rung.id);
    for (const bool counted : {false, true}) {
      const std::int64_t capacity = groups + 3;
      DeviceArray<Key> out_keys(capacity, 1);
      DeviceArray<Out> out(capacity, 1);
      DeviceArray<std::int64_t> counts(capacity, 1);
      const tests::OwnStream stream;
      const gpu::Policy policy = gpu::Policy{}.with_rung(rung.id).with_stream(stream);
      Grouped result{};
      try {
        result = counted
                     ? group_by(policy, on_device.data(), content.data(), n, out_keys.data(), out.data(), counts.data(),
                                capacity, op)
                     : group_by(policy, on_device.data(), content.data(), n, out_keys.data(), out.data(), capacity, op);
      } catch (const Error& error) {  // the simple rungs support few types
        ASSERT_EQ(error.code(), Code::unsupported) << error.what();
        ASSERT_FALSE(rung.id.empty() || rung.id == "cuda.sort" || rung.id == "cuda.adaptive") << error.what();
        continue;
      }
      ASSERT_EQ(result.groups, groups);
      const auto counts_there = counts.values();
      ASSERT_EQ(first_wrong_group(expected, folds, out_keys.values().data(), out.values().data(),
                                  counted ? counts_there.data() : nullptr),
                kNoIndex);
      ASSERT_TRUE(out_keys.intact() && out.intact() && counts.intact());
    }
  }
}

using CudaGroupBy = GpuTest;

TEST_F(CudaGroupBy, EveryRungByKeysOfEveryPatternMatchesTheReference) {
  for (const Keys pattern : tests::kAllKeys) {
    for (const std::int64_t n : kSizes) {
      SCOPED_TRACE("pattern " + std::to_string(static_cast<int>(pattern)) + " n " + std::to_string(n));
      check(keys_of<std::int64_t>(pattern, n), small_values<double>(n), std::type_identity<double>{}, add);
      check(keys_of<std::uint64_t>(pattern, n), small_values<std::int64_t>(n), std::type_identity<std::int64_t>{}, add);
      check(keys_of<std::int32_t>(pattern, n), small_values<float>(n), std::type_identity<float>{}, add);
      check(keys_of<std::uint32_t>(pattern, n), small_values<std::int32_t>(n), std::type_identity<std::int32_t>{}, add);
      if (HasFailure()) return;
    }
  }
}

template <class T>
class CudaGroups : public GpuTest {};
TYPED_TEST_SUITE(CudaGroups, tests::ElementTypes);

TYPED_TEST(CudaGroups, OfValuesOfEveryTypeByEveryOperatorMatchTheReference) {
  using T = TypeParam;
  const auto keys = keys_of<std::int64_t>(Keys::hot, 70'001);
  const auto values = tests::make<T>(tests::Pattern::random, std::ssize(keys));
  for_each_operator<T>([&]<class Op>(Op op) {
    SCOPED_TRACE(Op::kName);
    auto own = values;
    if constexpr (std::is_floating_point_v<T> && std::is_same_v<Op, Mul>) {  // exact in any order
      for (T& value : own) value = static_cast<T>(value < 0 ? -1 : 1);
    }
    check(keys, own, std::type_identity<T>{}, op);
  });
  if constexpr (std::is_integral_v<T>) {
    using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    check(keys, values, std::type_identity<Wide>{}, add);
  }
}

TEST_F(CudaGroupBy, FloatSumsHaveTheSameBitsOnEveryRun) {
  const auto keys = keys_of<std::int64_t>(Keys::hot, 300'007);
  const std::int64_t n = std::ssize(keys);
  const auto values = tests::rounded<double>(n, 3);
  const ExpectedGroups<std::int64_t> expected(keys.data(), n);
  DeviceArray<std::int64_t> on_device(keys, 0);
  DeviceArray<double> content(values, 0);
  DeviceArray<std::int64_t> out_keys(n);
  DeviceArray<double> out(n);
  std::vector<double> first;
  for (int run = 0; run < 3; ++run) {
    const auto result = group_by(gpu::Policy{}, on_device.data(), content.data(), n, out_keys.data(), out.data(), n);
    ASSERT_EQ(result.groups, std::ssize(expected.keys));
    auto sums = out.values();
    sums.resize(static_cast<std::size_t>(result.groups));
    EXPECT_EQ(first_far_sum(expected, values.data(), out_keys.values().data(), sums.data(), nullptr), kNoIndex);
    if (run == 0) first = sums;
    EXPECT_EQ(first, sums);
  }
}

// Threads launch the same kernels with tables of different sizes.
TEST_F(CudaGroupBy, ThreadsGroupAtTheSameTime) {
  constexpr std::int64_t n = 70'001;
  std::atomic<int> wrong{0};
  const auto group_often = [&](std::int64_t groups, std::string_view rung) {
    std::vector<std::int64_t> keys(n);
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<std::int64_t>(i) % groups;
    const auto values = small_values<double>(n);
    const ExpectedGroups<std::int64_t> expected(keys.data(), n);
    const auto folds = impl::group_by::expected_folds<double>(expected, values.data(), add);
    DeviceArray<std::int64_t> on_device(keys, 0);
    DeviceArray<double> content(values, 0);
    DeviceArray<std::int64_t> out_keys(groups);
    DeviceArray<double> out(groups);
    const tests::OwnStream stream;
    const gpu::Policy policy = gpu::Policy{}.with_stream(stream).with_rung(rung);
    for (int run = 0; run < 500; ++run) {
      try {
        out.poison();
        const auto result =
            group_by(policy, on_device.data(), content.data(), n, out_keys.data(), out.data(), groups, add);
        const bool is_right = result.groups == groups && first_wrong_group(expected, folds, out_keys.values().data(),
                                                                           out.values().data(), nullptr) == kNoIndex;
        if (!is_right) ++wrong;
      } catch (const Error& error) {
        if (wrong++ == 0) ADD_FAILURE() << error.what();
      }
    }
  };
  std::vector<std::thread> threads;
  for (const std::int64_t groups : {3, 100, 900, 30'000}) {
    threads.emplace_back(group_often, groups, "");
    threads.emplace_back(group_often, groups, groups <= 100 ? "cuda.adaptive" : "cuda.partitioned");
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(CudaGroupBy, ThatHaveAnEmptySlotsKeyAreGroups) {
  constexpr std::uint64_t kNoKey = 0x9E37'79B9'7F4A'7C15;  // from problems/keys/group_by/device_table.cuh
  for (const std::int64_t n : {std::int64_t{7}, std::int64_t{70'001}}) {
    auto keys = keys_of<std::uint64_t>(Keys::few, n);
    check(std::vector<std::uint64_t>(keys.size(), kNoKey), small_values<double>(n), std::type_identity<double>{}, add);
    for (std::size_t i = 0; i < keys.size(); i += 3) keys[i] = kNoKey;
    check(keys, small_values<double>(n), std::type_identity<double>{}, add);
    for (std::size_t i = 1; i < keys.size(); i += 3) keys[i] = i;  // too many keys for tables of blocks
    check(keys, small_values<std::int64_t>(n), std::type_identity<std::int64_t>{}, add);
  }
}

/// The result of a checked call of the API.
template <class In>
void check_sums(const std::vector<std::int64_t>& keys, const std::vector<In>& values) {
  const std::int64_t n = std::ssize(keys);
  const ExpectedGroups<std::int64_t> expected(keys.data(), n);
  DeviceArray<std::int64_t> on_device(keys, 0);
  DeviceArray<In> content(values, 0);
  DeviceArray<std::int64_t> out_keys(n);
  DeviceArray<std::int64_t> out(n);
  const auto result = group_by(gpu::Policy{}.with_overflow(Overflow::checked), on_device.data(), content.data(), n,
                               out_keys.data(), out.data(), n);
  ASSERT_EQ(result.groups, std::ssize(expected.keys));
  ASSERT_EQ(first_wrong_group(expected, impl::group_by::expected_folds<std::int64_t>(expected, values.data(), add),
                              out_keys.values().data(), out.values().data(), nullptr),
            kNoIndex);
}

TEST_F(CudaGroupBy, CheckedSumsOfManyRowsAreThoseThatFit) {
  const std::int64_t n = 70'001;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const Keys pattern : {Keys::few, Keys::some, Keys::sorted, Keys::hot}) {
    const auto keys = keys_of<std::int64_t>(pattern, n);
    check_sums(keys, small_values<std::int64_t>(n));
    std::vector<std::int32_t> extremes(keys.size(), std::numeric_limits<std::int32_t>::min());
    check_sums(keys, extremes);
  }
  // All rows have one of two keys. The sums fit, but those of their first rows do not.
  std::vector<std::int64_t> keys(static_cast<std::size_t>(n));
  std::vector<std::int64_t> values(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    keys[i] = static_cast<std::int64_t>(i % 2) * 77;
    values[i] = i / 2 % 4 < 2 ? kMost : -kMost;
  }
  for (std::size_t i = keys.size() / 8 * 8; i < keys.size(); ++i) values[i] = 0;
  const ExpectedGroups<std::int64_t> expected(keys.data(), n);
  DeviceArray<std::int64_t> on_device(keys, 0);
  DeviceArray<std::int64_t> content(values, 0);
  DeviceArray<std::int64_t> out_keys(2);
  DeviceArray<std::int64_t> out(2);
  const auto policy = gpu::Policy{}.with_overflow(Overflow::checked);
  group_by(policy, on_device.data(), content.data(), n, out_keys.data(), out.data(), 2);
  EXPECT_EQ(out.values(), (std::vector<std::int64_t>{0, 0}));
  values[1] = 0;  // of key 77
  DeviceArray<std::int64_t> less(values, 0);
  group_by(policy, on_device.data(), less.data(), n, out_keys.data(), out.data(), 2);
  EXPECT_EQ(out.values(), (std::vector<std::int64_t>{0, -kMost}));
  values[3] = 0;
  values[5] = -2;
  DeviceArray<std::int64_t> too_little(values, 0);
  EXPECT_EQ(
      failure_of([&] { group_by(policy, on_device.data(), too_little.data(), n, out_keys.data(), out.data(), 2); }),
      (tests::Failure{Code::overflow, 1}));
}

TEST_F(CudaGroupBy, NameTheFirstGroupThatOverflows) {
  const std::vector<std::int64_t> keys{9, 2, -4, 2, -4, 9};
  const std::int32_t most = std::numeric_limits<std::int32_t>::max();
  DeviceArray<std::int64_t> on_device(keys, 0);
  DeviceArray<std::int64_t> out_keys(3);
  DeviceArray<std::int32_t> out(3);
  const auto policy = gpu::Policy{}.with_overflow(Overflow::checked);
  const auto failure = [&](const std::vector<std::int32_t>& values) {
    DeviceArray<std::int32_t> content(values, 0);
    return failure_of([&] { group_by(policy, on_device.data(), content.data(), 6, out_keys.data(), out.data(), 3); });
  };
  EXPECT_EQ(failure({most, 1, 1, 1, 1, 0}), tests::Failure{});
  EXPECT_EQ(failure({1, most, most, 1, 1, 1}), (tests::Failure{Code::overflow, 1})) << "key -4 sorts before key 2";
  EXPECT_EQ(failure({1, 1, most, 1, 1, 1}), (tests::Failure{Code::overflow, 2}));
  DeviceArray<std::int32_t> content({1, 1, most, 1, 1, 1}, 0);
  try {
    group_by(policy, on_device.data(), content.data(), 6, out_keys.data(), out.data(), 3);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("group 2, of key -4"), std::string::npos) << error.what();
  }
  EXPECT_EQ(code_of([&] {
              group_by(policy.with_rung("cuda.hash"), on_device.data(), content.data(), 6, out_keys.data(), out.data(),
                       3);
            }),
            Code::unsupported);
}

TEST_F(CudaGroupBy, WriteNothingWhereCapacityIsTooSmall) {
  const auto keys = keys_of<std::int32_t>(Keys::sorted, 5'000);
  DeviceArray<std::int32_t> on_device(keys, 0);
  DeviceArray<float> content(std::vector<float>(keys.size(), 1), 0);
  for (const RungInfo& rung : tests::rungs_of("group-by", Backend::cuda)) {
    SCOPED_TRACE(rung.id);
    DeviceArray<std::int32_t> out_keys(999);
    DeviceArray<float> out(999);
    EXPECT_EQ(code_of([&] {
                group_by(gpu::Policy{}.with_rung(rung.id), on_device.data(), content.data(), 5'000, out_keys.data(),
                         out.data(), 999);
              }),
              Code::unequal_lengths);
    EXPECT_TRUE(out_keys.intact() && out.intact());
  }
}

TEST_F(CudaGroupBy, MemoryIsThePoliciesAndIsGivenBack) {
  const auto keys = keys_of<std::int64_t>(Keys::few, 70'001);
  const std::int64_t n = std::ssize(keys);
  DeviceArray<std::int64_t> on_device(keys, 0);
  DeviceArray<double> content(small_values<double>(n), 0);
  DeviceArray<std::int64_t> out_keys(n);
  DeviceArray<double> out(n);
  for (const RungInfo& rung : tests::rungs_of("group-by", Backend::cuda)) {
    for (const int refused_from : {1, 2, 3, 4, 1000}) {
      SCOPED_TRACE(std::string(rung.id) + " " + std::to_string(refused_from));
      tests::CountingMemory memory(refused_from);
      const auto policy = gpu::Policy{}.with_rung(rung.id).with_memory(memory);
      const Code code =
          code_of([&] { group_by(policy, on_device.data(), content.data(), n, out_keys.data(), out.data(), n); });
      EXPECT_TRUE(code == Code::ok || code == Code::device_memory);
      EXPECT_TRUE(refused_from < 1000 || code == Code::ok);
      EXPECT_EQ(memory.held, 0);
    }
  }
}

TEST_F(CudaGroupBy, SaysHowMuchMemoryIsNeededBeforeAnythingIsWritten) {
  const std::int64_t n = 1 << 25;
  const std::int64_t groups = 1 << 20;
  std::vector<std::int32_t> keys(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) keys[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i % groups);
  DeviceArray<std::int32_t> on_device(keys, 0);
  DeviceArray<float> content(std::vector<float>(keys.size(), 1), 0);
  DeviceArray<std::int32_t> out_keys(groups);
  DeviceArray<float> out(groups);
  const auto keys_before = out_keys.values();
  const auto before = out.values();
  const auto group = [&] {
    group_by(gpu::Policy{}, on_device.data(), content.data(), n, out_keys.data(), out.data(), groups);
  };
  // 20 bytes per row are 680 MB; 300 MB are left, which is enough to determine the number of groups.
  tests::require(cudaMemPoolTrimTo(gpu::pool_of(0), 0));
  std::size_t free = 0;
  std::size_t total = 0;
  tests::require(cudaMemGetInfo(&free, &total));
  void* rest = nullptr;
  tests::require(cudaMalloc(&rest, free - (std::size_t{300} << 20)));
  try {
    group();
    ADD_FAILURE() << "there is enough memory";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::device_memory);
    EXPECT_NE(std::string(error.what()).find("group_by of 33554432 rows and about"), std::string::npos) << error.what();
  }
  tests::require(cudaFree(rest));
  EXPECT_EQ(out_keys.values(), keys_before);
  EXPECT_EQ(out.values(), before);
  EXPECT_EQ(code_of(group), Code::ok);
}

TEST_F(CudaGroupBy, OnASecondDeviceAreThoseOfTheFirst) {
  if (gpu::devices().size() < 2) GTEST_SKIP() << "needs two devices";
  for (const Keys pattern : {Keys::few, Keys::sorted, Keys::hot}) {
    const auto keys = keys_of<std::int64_t>(pattern, 300'007);
    const std::int64_t n = std::ssize(keys);
    const auto values = tests::rounded<double>(n, 3);
    std::vector<std::vector<double>> sums;
    for (const int device : {0, 1}) {
      tests::require(cudaSetDevice(device));
      const tests::OwnStream stream;
      DeviceArray<std::int64_t> on_device(keys, 0);
      DeviceArray<double> content(values, 0);
      DeviceArray<std::int64_t> out_keys(n);
      DeviceArray<double> out(n);
      tests::require(cudaSetDevice(0));
      const auto policy = gpu::Policy{}.with_device(device).with_stream(stream);
      const Grouped result = group_by(policy, on_device.data(), content.data(), n, out_keys.data(), out.data(), n);
      sums.push_back(out.values());
      sums.back().resize(static_cast<std::size_t>(result.groups));
    }
    EXPECT_EQ(sums[0], sums[1]);
  }
}

TEST_F(CudaGroupBy, WhatIsWrongIsReported) {
  const std::vector<std::int64_t> host{1, 2};
  DeviceArray<std::int64_t> on_device(host, 0);
  DeviceArray<std::int64_t> out_keys(2);
  DeviceArray<std::int64_t> out(2);
  const gpu::Policy policy;
  EXPECT_EQ(code_of([&] { group_by(policy, host.data(), on_device.data(), 2, out_keys.data(), out.data(), 2); }),
            Code::invalid_argument);
  EXPECT_EQ(
      code_of([&] { group_by(policy, on_device.data(), on_device.data(), 2, out_keys.data(), out_keys.data(), 2); }),
      Code::invalid_argument);
  EXPECT_EQ(code_of([&] {
              group_by(policy.with_rung("cuda.none"), on_device.data(), on_device.data(), 2, out_keys.data(),
                       out.data(), 2);
            }),
            Code::unknown_rung);
  DeviceArray<std::int16_t> small(std::vector<std::int16_t>{1, 2}, 0);
  DeviceArray<std::int16_t> small_out(2);
  EXPECT_EQ(code_of([&] { group_by(policy, small.data(), on_device.data(), 2, small_out.data(), out.data(), 2); }),
            Code::unsupported);
}

}  // namespace
}  // namespace upsweep
