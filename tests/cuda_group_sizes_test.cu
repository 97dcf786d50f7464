// SPDX-License-Identifier: Apache-2.0
// tests/cuda_group_sizes_test.cu: groups on a GPU by their number: tables that are too small, three passes of the sort
// by partitions, more than 2^31 rows. Keys are made, and results are checked, on the device.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "device_array.hpp"
#include "problems/keys/group_by/device_numbers.cuh"
#include "upsweep/group_by.hpp"

namespace upsweep {
namespace {

using impl::group_by::own_index;
using tests::DeviceArray;
using tests::require;

/// Each of the first `groups` rows has a different key; later rows repeat these keys.
__device__ std::int32_t key_of(std::int64_t row, std::int64_t groups) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(row % groups) * 0x9E3779B1U);  // odd: no two are equal
}

__global__ void make_rows(std::int64_t n, std::int64_t groups, std::int32_t* keys, float* values) {
  const std::int64_t i = own_index();
  if (i >= n) return;
  keys[i] = key_of(i, groups);
  values[i] = 1;
}

__global__ void find_wrong(std::int64_t n, std::int64_t groups, const std::int32_t* keys, const float* sums,
                           const std::int64_t* counts, unsigned long long* lowest) {
  const std::int64_t g = own_index();
  if (g >= groups) return;
  const std::int64_t rows = n / groups + (g < n % groups ? 1 : 0);
  if (keys[g] == key_of(g, groups) && sums[g] == static_cast<float>(rows) && counts[g] == rows) return;
  atomicMin(lowest, static_cast<unsigned long long>(g));
}

/// Checks sums of ones, which floats store exactly.
void check(std::int64_t n, std::int64_t groups) {
  SCOPED_TRACE(std::to_string(n) + " rows of " + std::to_string(groups) + " groups");
  DeviceArray<std::int32_t> keys(n);
  DeviceArray<float> values(n);
  make_rows<<<impl::group_by::grid_of(n, {}).blocks, impl::group_by::kThreads>>>(n, groups, keys.data(), values.data());
  DeviceArray<std::int32_t> out_keys(groups);
  DeviceArray<float> sums(groups);
  DeviceArray<std::int64_t> counts(groups);
  const Grouped result =
      group_by(gpu::Policy{}, keys.data(), values.data(), n, out_keys.data(), sums.data(), counts.data(), groups, add);
  ASSERT_EQ(result.groups, groups);
  ASSERT_EQ(result.rung, "cuda.adaptive");
  DeviceArray<unsigned long long> lowest(std::vector<unsigned long long>{~0ULL}, 0);
  find_wrong<<<impl::group_by::grid_of(groups, {}).blocks, impl::group_by::kThreads>>>(
      n, groups, out_keys.data(), sums.data(), counts.data(), lowest.data());
  require(cudaGetLastError());
  EXPECT_EQ(lowest.values()[0], ~0ULL) << "the first wrong group";
}

using CudaGroupSizes = tests::GpuTest;
using LargeCudaGroups = tests::LargeGpuTest<30>;

TEST_F(CudaGroupSizes, ATableThatIsTooSmallIsMadeAnew) {
  constexpr std::int64_t kRows = 300'007;
  constexpr std::int64_t kGroups = 70'001;
  DeviceArray<std::int32_t> keys(kRows);
  DeviceArray<float> values(kRows);
  make_rows<<<impl::group_by::grid_of(kRows, {}).blocks, impl::group_by::kThreads>>>(kRows, kGroups, keys.data(),
                                                                                     values.data());
  const impl::group_by::Items<std::uint32_t> items{reinterpret_cast<const std::uint32_t*>(keys.data()), nullptr, kRows};
  impl::group_by::NumberedItems<std::uint32_t> numbered(gpu::Policy{}, items, 1, kRows);
  ASSERT_EQ(numbered.groups(), kGroups);
  DeviceArray<std::uint32_t> out_keys(kGroups);
  DeviceArray<std::int64_t> firsts(kGroups);
  numbered.write(out_keys.data(), firsts.data());
  std::vector<std::int64_t> ascending(kGroups);
  for (std::size_t i = 0; i < ascending.size(); ++i) ascending[i] = static_cast<std::int64_t>(i);
  EXPECT_EQ(firsts.values(), ascending);
}

TEST_F(CudaGroupSizes, TablesThatNoCacheHolds) { check((1 << 22) + 5, 1'000'000); }

TEST_F(LargeCudaGroups, SoManyThatTheirRowsAreSortedInThreePasses) { check((1 << 28) + 7, 100'000'000); }

TEST_F(LargeCudaGroups, OfMoreRowsThan31BitsCount) {
  check((std::int64_t{1} << 31) + 12345, 1000);
  check((std::int64_t{1} << 31) + 12345, 1'000'000);
}

TEST_F(LargeCudaGroups, LeaveTheMemoryThatIsKeptToWhoeverAsksForIt) {
  check((1 << 27) + 7, 10'000'000);
  std::size_t free = 0;
  std::size_t total = 0;
  require(cudaMemGetInfo(&free, &total));
  void* memory = nullptr;
  require(cudaMalloc(&memory, free + (std::size_t{512} << 20)));
  require(cudaFree(memory));
}

}  // namespace
}  // namespace upsweep
