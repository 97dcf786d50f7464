// SPDX-License-Identifier: Apache-2.0
// tests/cuda_large_test.cu: lengths above 2^31 and 2^32 with every CUDA rung that has no limit, checked on the device.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "device_array.hpp"
#include "rungs.hpp"
#include "upsweep/list_shards.hpp"
#include "upsweep/offsets.hpp"
#include "upsweep/reduce.hpp"
#include "upsweep/scan.hpp"
#include "upsweep/shards.hpp"

namespace upsweep {
namespace {

using tests::require;

using LargeGpu = tests::LargeGpuTest<60>;

/// n elements without guards; every byte is 1.
template <class T>
class Ones {
 public:
  explicit Ones(std::int64_t n) : bytes_(static_cast<std::size_t>(n) * sizeof(T)) {
    require(cudaMalloc(&memory_, bytes_));
    fill(1);
  }
  ~Ones() { (void)cudaFree(memory_); }
  Ones(const Ones&) = delete;
  Ones& operator=(const Ones&) = delete;
  void fill(int byte) { tests::fill(memory_, byte, bytes_); }
  [[nodiscard]] T* data() const { return static_cast<T*>(memory_); }

 private:
  std::size_t bytes_;
  void* memory_ = nullptr;
};

constexpr std::uint32_t kOnes = 0x01010101;  // an int32 of such bytes

/// The remaining rungs. The others take minutes, use one block, or need adjacent lists.
std::vector<std::string> long_rungs(std::string_view problem) {
  const std::set<std::string_view> others{"cuda.one_thread", "cuda.turn_taking", "cuda.hillis_steele", "cuda.adjacent"};
  std::vector<std::string> ids;
  for (const auto& rung : tests::rungs_of(problem, Backend::cuda)) {
    if (others.count(rung.id) == 0) ids.emplace_back(rung.id);
  }
  return ids;
}

template <class T>
__global__ void find_wrong(const T* data, std::int64_t n, std::uint64_t first, std::uint64_t step,
                           unsigned long long* lowest) {
  const std::int64_t stride = std::int64_t{blockDim.x} * gridDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
    const auto expected =
        static_cast<T>(static_cast<std::make_unsigned_t<T>>(first + static_cast<std::uint64_t>(i) * step));
    if (data[i] != expected) atomicMin(lowest, static_cast<unsigned long long>(i));
  }
}

/// Returns the first index at which data is not first, first + step, …, modulo the type's range; -1 if there is none.
template <class T>
std::int64_t first_off(const T* data, std::int64_t n, std::uint64_t first, std::uint64_t step) {
  tests::DeviceArray<unsigned long long> lowest(1);
  tests::fill(lowest.data(), 0xFF, 8);
  find_wrong<<<1024, 256>>>(data, n, first, step, lowest.data());
  require(cudaGetLastError());
  return static_cast<std::int64_t>(lowest.values()[0]);
}

TEST_F(LargeGpu, EveryRungWithoutALimitSumsPast32Bits) {
  const std::int64_t n = (std::int64_t{1} << 32) + 12345;
  const Ones<std::int32_t> array(n);
  for (const auto& rung : long_rungs("scan")) {
    tests::fill(array.data(), 1, static_cast<std::size_t>(n) * 4);
    try {
      inclusive_scan(gpu::Policy{}.with_rung(rung), array.data(), n, array.data());
    } catch (const Error& error) {
      EXPECT_EQ(rung, "cuda.cub_newer") << error.what();  // need not be built
      continue;
    }
    EXPECT_EQ(first_off(array.data(), n, kOnes, kOnes), -1) << rung;
  }
}

TEST_F(LargeGpu, SinglePassesScanBytesPast33BitsExclusivelyInPlace) {
  const std::int64_t n = (std::int64_t{1} << 33) + 77;
  Ones<std::int8_t> array(n + 1);  // at a misaligned address, by one element
  for (const char* rung : {"cuda.lookback", "cuda.lookahead"}) {
    array.fill(1);
    exclusive_scan(gpu::Policy{}.with_rung(rung), array.data() + 1, n, array.data() + 1, std::int8_t{5});
    EXPECT_EQ(first_off(array.data() + 1, n, 5, 1), -1) << rung;
  }
}

/// Runs on two GPUs if there are two, otherwise on one GPU that is two members.
TEST_F(LargeGpu, ShardsOfMoreThan31Bits) {
  const gpu::Group group({0, gpu::devices().size() > 1 ? 1 : 0});
  std::vector<std::unique_ptr<Ones<std::int8_t>>> arrays;
  std::vector<gpu::Shard<std::int8_t>> shards;
  for (const int member : {0, 1}) {
    require(cudaSetDevice(group.policy(member).device));
    const std::int64_t n = (std::int64_t{1} << 31) + 77 + member;
    arrays.push_back(std::make_unique<Ones<std::int8_t>>(n));
    shards.push_back({arrays.back()->data(), n, arrays.back()->data()});
    require(cudaDeviceSynchronize());
  }
  require(cudaSetDevice(0));
  tests::DeviceArray<std::int64_t> total(1);
  reduce_async(group, shards, total.data(), std::int64_t{3});
  exclusive_scan(group, shards, std::int8_t{5});
  group.wait();
  EXPECT_EQ(total.values()[0], 3 + shards[0].n + shards[1].n);
  std::uint64_t first = 5;
  for (const int member : {0, 1}) {
    const auto& shard = shards[static_cast<std::size_t>(member)];
    require(cudaSetDevice(group.policy(member).device));
    EXPECT_EQ(first_off(shard.out, shard.n, first, 1), -1) << "shard " << member;
    first += static_cast<std::uint64_t>(shard.n);
  }
  require(cudaSetDevice(0));
}

/// One list of more than 2^32 elements over two shards, and offsets of more than 2^31 lists in each.
TEST_F(LargeGpu, ListsInShardsPast31Bits) {
  const gpu::Group group({0, gpu::devices().size() > 1 ? 1 : 0});
  const std::int64_t n = (std::int64_t{1} << 31) + 77;
  std::vector<std::unique_ptr<Ones<std::int8_t>>> contents;
  std::vector<std::unique_ptr<Ones<std::int32_t>>> bounds;
  std::vector<std::unique_ptr<Ones<std::int64_t>>> offsets;
  std::vector<std::unique_ptr<tests::DeviceArray<std::int64_t>>> ends;
  std::vector<gpu::OffsetsShard<std::int32_t>> offsets_shards;
  std::vector<gpu::ListsShard<std::int8_t, std::int64_t>> lists_shards;
  tests::DeviceArray<std::int64_t> sum(1);
  for (const int member : {0, 1}) {
    require(cudaSetDevice(group.policy(member).device));
    contents.push_back(std::make_unique<Ones<std::int8_t>>(n));
    for (const int byte : {0, 1}) {
      bounds.push_back(std::make_unique<Ones<std::int32_t>>(n));
      bounds.back()->fill(byte);
    }
    offsets.push_back(std::make_unique<Ones<std::int64_t>>(n + 1));
    offsets_shards.push_back({bounds[bounds.size() - 2]->data(), bounds.back()->data(), n, offsets.back()->data()});
    const std::vector<std::int64_t> own =
        member == 0 ? std::vector<std::int64_t>{5, 2 * n - 7} : std::vector{2 * n - 7};
    ends.push_back(std::make_unique<tests::DeviceArray<std::int64_t>>(own, 0));
    lists_shards.push_back(
        {Lists::by_offsets(ends.back()->data(), std::ssize(own) - 1), contents.back()->data(), n, sum.data()});
    require(cudaDeviceSynchronize());
  }
  require(cudaSetDevice(0));
  EXPECT_EQ(upsweep::offsets(group, offsets_shards).total, 2 * n * kOnes);
  std::uint64_t first = 0;
  for (const int member : {0, 1}) {
    require(cudaSetDevice(group.policy(member).device));
    EXPECT_EQ(first_off(offsets[static_cast<std::size_t>(member)]->data(), n + 1, first, kOnes), -1) << member;
    first += static_cast<std::uint64_t>(n) * kOnes;
  }
  require(cudaSetDevice(0));
  EXPECT_EQ(segmented_reduce(group, lists_shards).lists, 1);
  EXPECT_EQ(sum.values()[0], 2 * n - 12);
}

TEST_F(LargeGpu, ReductionsGoPast32Bits) {
  const std::int64_t n = (std::int64_t{1} << 32) + 3;
  const Ones<std::int32_t> array(n);
  const auto expected = static_cast<std::int32_t>(kOnes * static_cast<std::uint32_t>(n));
  for (const auto& rung : long_rungs("reduce")) {
    EXPECT_EQ(reduce(gpu::Policy{}.with_rung(rung), array.data(), n, std::int32_t{0}), expected) << rung;
  }
  EXPECT_EQ(reduce(gpu::Policy{}, array.data(), n, std::int64_t{0}), n * kOnes);
}

TEST_F(LargeGpu, OffsetsOfMoreThan31BitsOfLists) {
  const std::int64_t n = (std::int64_t{1} << 31) + 77;
  Ones<std::int32_t> starts(n);
  const Ones<std::int32_t> stops(n);
  Ones<std::int64_t> offsets(n + 1);
  starts.fill(0);
  for (const auto& rung : long_rungs("offsets")) {
    offsets.fill(0xA5);
    const auto policy = gpu::Policy{}.with_rung(rung);
    EXPECT_EQ(upsweep::offsets(policy, starts.data(), stops.data(), n, offsets.data()).total, n * kOnes) << rung;
    EXPECT_EQ(first_off(offsets.data(), n + 1, 0, kOnes), -1) << rung;
    const std::int64_t bad = (std::int64_t{1} << 31) + 5;
    tests::fill(stops.data() + bad, 0xFF, 4);
    try {
      upsweep::offsets(policy, starts.data(), stops.data(), n, offsets.data());
      ADD_FAILURE() << rung << " did not report the invalid list";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::stop_before_start) << rung;
      EXPECT_EQ(error.index(), bad) << rung;
    }
    tests::fill(stops.data() + bad, 1, 4);
  }
}

TEST_F(LargeGpu, AdjacentListsPast31Bits) {
  const std::int64_t n = (std::int64_t{1} << 31) + 77;
  Ones<std::int64_t> bounds(n + 1);
  const Ones<std::int64_t> offsets(n + 1);
  bounds.fill(0);
  const std::int64_t place = n - 3;
  // The last four bounds: one list of kOnes·2^32 + kOnes elements, and three empty lists.
  tests::fill(bounds.data() + place, 1, 32);
  const std::int64_t total = (std::int64_t{kOnes} << 32) | kOnes;
  const auto result = upsweep::offsets(gpu::Policy{}, bounds.data(), bounds.data() + 1, n, offsets.data());
  EXPECT_EQ(result.rung, "cuda.adjacent");
  EXPECT_EQ(result.total, total);
  EXPECT_EQ(first_off(offsets.data(), place, 0, 0), -1);
  EXPECT_EQ(first_off(offsets.data() + place, 4, static_cast<std::uint64_t>(total), 0), -1);
}

}  // namespace
}  // namespace upsweep
