// SPDX-License-Identifier: Apache-2.0
// tests/cuda_by_key_test.cpp: runs of equal keys on a GPU, and their reductions and scans, are compared with the CPU's.
// Cases: types, lengths of runs, borders of tiles, misalignment, NaN, memory and errors.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "device_array.hpp"
#include "key_runs.hpp"
#include "patterns.hpp"
#include "rungs.hpp"
#include "upsweep/by_key.hpp"

namespace upsweep {
namespace {

using tests::code_of;
using tests::DeviceArray;
using tests::GpuTest;
using tests::runs_of;

/// The number of keys that one block of the kernels processes.
constexpr std::int64_t kBlock = 32768;
constexpr std::int64_t kSizes[] = {0,          1,      31,         32,         33,      4095,           4097,
                                   kBlock - 1, kBlock, kBlock + 1, 2 * kBlock, 300'007, 5 * kBlock + 17};

/// Sums of these values are exact in any order and type.
template <class T>
std::vector<T> small_values(std::int64_t n) {
  std::vector<T> values(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i % 7);
  return values;
}

/// All operations by key, on the GPU and on the CPU.
template <class Key, class Value>
void expect_as_on_cpu(const std::vector<Key>& keys, std::int64_t misaligned) {
  const std::int64_t n = std::ssize(keys);
  const std::int64_t runs = count_key_runs(par, keys);
  const auto size = static_cast<std::size_t>(runs);
  const auto values = small_values<Value>(n);
  DeviceArray<Key> on_device(keys, misaligned);
  DeviceArray<Value> content(values, misaligned);
  ASSERT_EQ(count_key_runs(gpu::Policy{}, on_device.data(), n), runs);

  std::vector<std::int64_t> offsets(size + 1);
  key_offsets(par, keys, offsets);
  DeviceArray<std::int64_t> device_offsets(runs + 1, misaligned);
  const tests::OwnStream stream;  // the default stream does not wait for it
  ASSERT_EQ(key_offsets(gpu::Policy{}.with_stream(stream), on_device.data(), n, device_offsets.data(), runs + 1), runs);
  ASSERT_EQ(device_offsets.values(), offsets);
  ASSERT_TRUE(device_offsets.intact());

  std::vector<Key> out_keys(size);
  std::vector<Value> sums(size);
  reduce_by_key(par, keys, values, out_keys, sums, Value{3}, add);
  DeviceArray<Key> device_keys(runs, misaligned);
  DeviceArray<Value> device_sums(runs, misaligned);
  const auto reduced = reduce_by_key(gpu::Policy{}, on_device.data(), content.data(), n, device_keys.data(),
                                     device_sums.data(), runs, Value{3}, add);
  ASSERT_EQ(reduced.runs, runs);
  ASSERT_EQ(device_keys.values(), out_keys);
  ASSERT_EQ(device_sums.values(), sums);
  ASSERT_TRUE(device_keys.intact() && device_sums.intact());

  std::vector<Value> scanned(keys.size());
  inclusive_scan_by_key(par, keys, values, scanned);
  DeviceArray<Value> device_scanned(n, misaligned);
  inclusive_scan_by_key(gpu::Policy{}, on_device.data(), content.data(), n, device_scanned.data());
  ASSERT_EQ(device_scanned.values(), scanned);
  exclusive_scan_by_key(par, keys, values, scanned, Value{2}, max);
  exclusive_scan_by_key(gpu::Policy{}, on_device.data(), content.data(), n, device_scanned.data(), Value{2}, max);
  ASSERT_EQ(device_scanned.values(), scanned);
  ASSERT_TRUE(device_scanned.intact());
}

template <class T>
class CudaByKeys : public GpuTest {};
TYPED_TEST_SUITE(CudaByKeys, tests::ElementTypes);

TYPED_TEST(CudaByKeys, RunsAreTheCpus) {
  for (const std::int64_t n : kSizes) {
    for (const std::int64_t longest : {1, 3, 700, 100'000}) {
      SCOPED_TRACE(testing::Message() << n << " keys, runs of up to " << longest);
      expect_as_on_cpu<TypeParam, std::int64_t>(runs_of<TypeParam>(n, longest), n % 3);
      if (this->HasFatalFailure()) return;
    }
  }
}

using CudaByKey = GpuTest;

TEST_F(CudaByKey, RunsMayEndAnywhere) {
  for (const std::int64_t border : {std::int64_t{32}, std::int64_t{4096}, kBlock}) {
    for (const std::int64_t away : {-1, 0, 1}) {
      std::vector<std::int32_t> keys(static_cast<std::size_t>(2 * border + 5), 7);
      std::fill(keys.begin() + border + away, keys.end(), -7);
      SCOPED_TRACE(testing::Message() << "a run ends at " << border + away);
      expect_as_on_cpu<std::int32_t, float>(keys, 0);
    }
  }
}

TEST_F(CudaByKey, FloatsAreEqualAsNumbersAreAndNanIsOneKey) {
  const auto check = []<class T>(std::type_identity<T>) {
    const T nan = std::numeric_limits<T>::quiet_NaN();
    const std::vector<T> keys{T{-0.0}, T{0}, T{1}, nan, -nan, nan, T{1}, T{0}, T{-0.0}};
    DeviceArray<T> on_device(keys, 1);
    DeviceArray<std::int64_t> offsets(6);
    EXPECT_EQ(key_offsets(gpu::Policy{}, on_device.data(), 9, offsets.data(), 6), 5);
    EXPECT_EQ(offsets.values(), (std::vector<std::int64_t>{0, 2, 3, 6, 7, 9}));
  };
  check(std::type_identity<float>{});
  check(std::type_identity<double>{});
}

TEST_F(CudaByKey, KeysMayBeBool) {
  DeviceArray<bool> keys(4);
  tests::copy_in(keys.data(), "\1\1\0\1", 4);
  EXPECT_EQ(count_key_runs(gpu::Policy{}, keys.data(), 4), 3);
}

/// Runs every rung, with capacity for one run per key, which cuda.cub requires.
template <class Key, class Value>
void expect_of_every_rung(const std::vector<Key>& keys) {
  const std::int64_t n = std::ssize(keys);
  const auto values = small_values<Value>(n);
  std::vector<Key> out_keys(keys.size());
  std::vector<Value> sums(keys.size());
  std::vector<Value> inclusive(keys.size());
  std::vector<Value> exclusive(keys.size());
  const std::int64_t runs = reduce_by_key(par, keys, values, out_keys, sums).runs;
  out_keys.resize(static_cast<std::size_t>(runs));
  sums.resize(static_cast<std::size_t>(runs));
  inclusive_scan_by_key(par, keys, values, inclusive);
  exclusive_scan_by_key(par, keys, values, exclusive, Value{5}, add);
  DeviceArray<Key> on_device(keys, 1);
  DeviceArray<Value> content(values, 1);
  for (const RungInfo& rung : tests::rungs_of("by-key", Backend::cuda)) {
    SCOPED_TRACE(rung.id);
    const tests::OwnStream stream;
    const auto policy = gpu::Policy{}.with_rung(rung.id).with_stream(stream);
    DeviceArray<Key> device_keys(n, 1);
    DeviceArray<Value> device_out(n, 1);
    const auto reduced =
        reduce_by_key(policy, on_device.data(), content.data(), n, device_keys.data(), device_out.data(), n);
    EXPECT_EQ(reduced.rung, rung.id);
    ASSERT_EQ(reduced.runs, runs);
    auto found_keys = device_keys.values();
    auto found = device_out.values();
    found_keys.resize(out_keys.size());
    found.resize(sums.size());
    EXPECT_EQ(found_keys, out_keys);
    EXPECT_EQ(found, sums);
    const auto scanned = inclusive_scan_by_key(policy, on_device.data(), content.data(), n, device_out.data());
    EXPECT_EQ(scanned.rung, rung.id);
    EXPECT_EQ(scanned.lists, rung.id == "cuda.cub" ? kNoIndex : runs);
    EXPECT_EQ(device_out.values(), inclusive);
    exclusive_scan_by_key(policy, on_device.data(), content.data(), n, device_out.data(), Value{5}, add);
    EXPECT_EQ(device_out.values(), exclusive);
    EXPECT_TRUE(device_keys.intact() && device_out.intact());
  }
}

TEST_F(CudaByKey, EveryRungDoesWhatTheCpuDoes) {
  for (const std::int64_t n : {0, 1, 33, 4097, 300'007}) {
    for (const std::int64_t longest : {1, 3, 700, 100'000}) {
      SCOPED_TRACE(testing::Message() << n << " keys, runs of up to " << longest);
      expect_of_every_rung<std::int64_t, double>(runs_of<std::int64_t>(n, longest));
      expect_of_every_rung<std::uint32_t, std::int32_t>(runs_of<std::uint32_t>(n, longest));
      expect_of_every_rung<std::int32_t, float>(runs_of<std::int32_t>(n, longest));
      expect_of_every_rung<std::uint64_t, std::int64_t>(runs_of<std::uint64_t>(n, longest));
      if (HasFailure()) return;
    }
  }
}

TEST_F(CudaByKey, CubSaysWhatItDoesNotDo) {
  const auto by_cub = gpu::Policy{}.with_rung("cuda.cub");
  DeviceArray<std::int64_t> keys(std::vector<std::int64_t>{1, 1, 2}, 0);
  DeviceArray<std::int16_t> short_keys(std::vector<std::int16_t>{1, 1, 2}, 0);
  DeviceArray<int> values(std::vector<int>{1, 2, 3}, 0);
  DeviceArray<std::int64_t> out_keys(3);
  DeviceArray<std::int16_t> short_out(3);
  DeviceArray<int> out(3);
  const auto reduce_by = [&](const gpu::Policy& policy, std::int64_t capacity, auto op, int init) {
    return code_of(
        [&] { reduce_by_key(policy, keys.data(), values.data(), 3, out_keys.data(), out.data(), capacity, init, op); });
  };
  EXPECT_EQ(reduce_by(by_cub, 3, add, 0), Code::ok);
  EXPECT_EQ(reduce_by(by_cub, 2, add, 0), Code::unsupported) << "capacity";
  EXPECT_EQ(reduce_by(by_cub, 3, add, 1), Code::unsupported) << "init";
  EXPECT_EQ(reduce_by(by_cub, 3, max, 0), Code::unsupported) << "operator";
  EXPECT_EQ(reduce_by(by_cub.with_overflow(Overflow::checked), 3, add, 0), Code::unsupported) << "checked";
  EXPECT_EQ(
      code_of([&] { reduce_by_key(by_cub, short_keys.data(), values.data(), 3, short_out.data(), out.data(), 3); }),
      Code::unsupported)
      << "keys";
  const auto checked = gpu::Policy{}.with_overflow(Overflow::checked);
  EXPECT_EQ(code_of([&] { inclusive_scan_by_key(checked, keys.data(), values.data(), 3, out.data()); }),
            Code::unsupported);
}

TEST_F(CudaByKey, OutputsMayBeLongerAndScansBeInPlace) {
  const auto keys = runs_of<std::int16_t>(100'003, 50);
  const std::int64_t n = std::ssize(keys);
  const std::int64_t runs = count_key_runs(par, keys);
  const auto values = small_values<double>(n);
  DeviceArray<std::int16_t> on_device(keys, 1);
  DeviceArray<double> content(values, 1);
  DeviceArray<std::int16_t> out_keys(runs + 9);
  DeviceArray<double> sums(runs + 9);
  const std::vector<double> before = sums.values();
  EXPECT_EQ(
      reduce_by_key(gpu::Policy{}, on_device.data(), content.data(), n, out_keys.data(), sums.data(), runs + 9).runs,
      runs);
  std::vector<double> scanned(keys.size());
  inclusive_scan_by_key(par, keys, values, scanned);
  inclusive_scan_by_key(gpu::Policy{}, on_device.data(), content.data(), n, content.data());
  EXPECT_EQ(content.values(), scanned);
  const std::vector<double> after = sums.values();
  EXPECT_EQ(
      std::memcmp(&after[static_cast<std::size_t>(runs)], &before[static_cast<std::size_t>(runs)], 9 * sizeof(double)),
      0);
}

TEST_F(CudaByKey, MemoryIsThePoliciesAndIsGivenBack) {
  const auto keys = runs_of<std::int32_t>(200'003, 9);
  const std::int64_t n = std::ssize(keys);
  const std::int64_t runs = count_key_runs(par, keys);
  DeviceArray<std::int32_t> on_device(keys, 0);
  DeviceArray<float> content(small_values<float>(n), 0);
  DeviceArray<std::int32_t> out_keys(runs);
  DeviceArray<float> sums(runs);
  const auto reduce_with = [&](const gpu::Policy& policy) {
    return reduce_by_key(policy, on_device.data(), content.data(), n, out_keys.data(), sums.data(), runs);
  };
  const tests::OwnStream stream;
  for (int refused = 1; refused <= 5; ++refused) {
    tests::CountingMemory memory(refused);
    const auto policy = gpu::Policy{}.with_memory(memory).with_stream(stream);
    if (refused == 5) {  // bits, offsets, and the two parts of the reduction's workspace
      EXPECT_EQ(reduce_with(policy).runs, runs);
    } else {
      EXPECT_EQ(code_of([&] { reduce_with(policy); }), Code::device_memory) << "allocation " << refused;
    }
    EXPECT_EQ(memory.held, 0);
  }
  tests::CountingMemory two(3);  // bits and offsets: the reduction has its workspace
  const std::int64_t offset = 0;
  gpu::Workspace workspace(
      gpu::segmented_reduce_workspace<float, float>(gpu::Policy{}, Lists::by_offsets(&offset, runs), n), 0, stream);
  EXPECT_EQ(reduce_with(gpu::Policy{}.with_memory(two).with_stream(stream).with_workspace(workspace)).runs, runs);
}

TEST_F(CudaByKey, WhatIsWrongIsReported) {
  const std::vector<int> keys{1, 1, 2};
  DeviceArray<int> on_device(keys, 0);
  DeviceArray<float> values(std::vector<float>{1, 2, 3}, 0);
  DeviceArray<int> out_keys(3);
  DeviceArray<float> out(3);
  const gpu::Policy policy;
  const auto reduce_into = [&](int* keys_out, float* sums, std::int64_t capacity) {
    return code_of([&] { reduce_by_key(policy, on_device.data(), values.data(), 3, keys_out, sums, capacity); });
  };
  EXPECT_EQ(reduce_into(out_keys.data(), out.data(), 1), Code::unequal_lengths);
  EXPECT_EQ(reduce_into(out_keys.data(), out.data(), -1), Code::invalid_argument);
  EXPECT_EQ(reduce_into(nullptr, out.data(), 2), Code::invalid_argument);
  EXPECT_EQ(reduce_into(const_cast<int*>(on_device.data()), out.data(), 2), Code::invalid_argument);
  EXPECT_EQ(reduce_into(out_keys.data(), const_cast<float*>(values.data()), 2), Code::invalid_argument);
  std::vector<int> on_host(2);
  EXPECT_EQ(reduce_into(on_host.data(), out.data(), 2), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { count_key_runs(policy, keys.data(), 3); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { count_key_runs(policy, on_device.data(), -3); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { count_key_runs<int>(policy, nullptr, 3); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { count_key_runs(policy.with_device(99), on_device.data(), 3); }), Code::no_device);
  DeviceArray<std::int64_t> offsets(2);
  EXPECT_EQ(code_of([&] { key_offsets(policy, on_device.data(), 3, offsets.data(), 2); }), Code::unequal_lengths);
  const gpu::Policy named = policy.with_rung("cuda.runs");
  EXPECT_EQ(code_of([&] { key_offsets(named, on_device.data(), 3, offsets.data(), 2); }), Code::unsupported);
  EXPECT_EQ(code_of([&] { count_key_runs(named, on_device.data(), 3); }), Code::unsupported);
  EXPECT_TRUE(offsets.intact());
  EXPECT_EQ(code_of([&] {
              reduce_by_key(policy.with_rung("cuda.none"), on_device.data(), values.data(), 3, out_keys.data(),
                            out.data(), 3);
            }),
            Code::unknown_rung);

  DeviceArray<int> large(std::vector<int>{1, 2, std::numeric_limits<int>::max()}, 0);
  DeviceArray<int> sums(3);
  try {
    reduce_by_key(policy.with_overflow(Overflow::checked), on_device.data(), large.data(), 3, out_keys.data(),
                  sums.data(), 3, 1, add);
    ADD_FAILURE() << "the overflow of the second run's sum was not reported";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::overflow);
    EXPECT_EQ(error.index(), 1);
  }

  const tests::OwnStream stream;
  tests::require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  EXPECT_EQ(code_of([&] { count_key_runs(policy.with_stream(stream), on_device.data(), 3); }), Code::invalid_argument);
  cudaGraph_t graph = nullptr;
  tests::require(cudaStreamEndCapture(stream, &graph));
  tests::require(cudaGraphDestroy(graph));
}

TEST_F(CudaByKey, TheCallersErrorStaysTheCallers) {
  DeviceArray<int> keys(std::vector<int>{1, 1, 2}, 0);
  tests::leave_stale_error();
  EXPECT_EQ(count_key_runs(gpu::Policy{}, keys.data(), 3), 2);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
}

}  // namespace
}  // namespace upsweep
