// SPDX-License-Identifier: Apache-2.0
// tests/cuda_mpi_test.cpp: the calls of mpi.hpp on ranks whose shards are in a GPU's memory, or some of them in host
// memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "device_array.hpp"
#include "upsweep/mpi.hpp"
#include "world.hpp"

namespace upsweep {
namespace {

using tests::DeviceArray;
using tests::require;

/// Ranks use the GPUs in turn.
class CudaMpi : public testing::Test {
 protected:
  void SetUp() override {
    const std::size_t devices = gpu::devices().size();
    if (devices == 0) GTEST_SKIP() << "skipped: no device";
    device_ = World().rank % static_cast<int>(devices);
    require(cudaSetDevice(device_));
  }
  [[nodiscard]] gpu::Policy policy() const { return gpu::Policy{}.with_device(device_); }

 private:
  int device_ = 0;
};

template <class T>
std::vector<T> numbers(std::int64_t n) {
  std::mt19937_64 random(3);
  std::vector<T> all(static_cast<std::size_t>(n));
  std::generate(all.begin(), all.end(), [&] { return static_cast<T>(random() % 1000); });
  return all;
}

/// Returns the begin of each rank's shard, and the end of the last. Lengths are unequal; the second shard is empty.
std::vector<std::int64_t> borders(std::int64_t n) {
  const auto ranks = static_cast<std::int64_t>(World().size);
  std::vector<std::int64_t> cuts;
  for (std::int64_t r = 0; r <= ranks; ++r) cuts.push_back(n * r * r / (ranks * ranks));
  if (ranks > 2) cuts[2] = cuts[1];
  return cuts;
}

/// Returns this rank's shard of an array that all ranks have.
template <class T>
std::vector<T> mine(const std::vector<T>& all) {
  const std::vector<std::int64_t> cuts = borders(std::ssize(all));
  const auto rank = static_cast<std::size_t>(World().rank);
  return {all.begin() + cuts[rank], all.begin() + cuts[rank + 1]};
}

/// Short scans of one block, and scans of many tiles on each rank.
constexpr std::int64_t kLengths[] = {0, 1, 5000, 6'000'000};

/// Runs `run(policy, in, n, out)` with arrays in the policy's kind of memory; returns the outputs.
template <class T, class Out, class Run>
std::vector<Out> on_gpu(const gpu::Policy& policy, const std::vector<T>& in, const Run& run) {
  DeviceArray<T> there(in, 1);
  DeviceArray<Out> out(std::ssize(in));
  run(policy, there.data(), std::ssize(in), out.data());
  require(cudaDeviceSynchronize());
  EXPECT_TRUE(out.intact());
  return out.values();
}
template <class T, class Out, class Run>
std::vector<Out> on_cpu(const std::vector<T>& in, const Run& run) {
  std::vector<Out> out(in.size());
  run(seq, in.data(), std::ssize(in), out.data());
  return out;
}

TEST_F(CudaMpi, ScansGoOnFromRankToRank) {
  for (const std::int64_t n : kLengths) {
    const auto all = numbers<std::int32_t>(n);
    const auto share = mine(all);
    std::vector<std::int64_t> sums(all.size());
    std::inclusive_scan(all.begin(), all.end(), sums.begin(), std::plus<>(), std::int64_t{7});
    std::vector<std::int32_t> greatest(all.size());
    std::exclusive_scan(all.begin(), all.end(), greatest.begin(), 400, [](auto a, auto b) { return std::max(a, b); });
    const auto add_up = [](const auto& policy, const auto* in, std::int64_t count, std::int64_t* out) {
      mpi::inclusive_scan(MPI_COMM_WORLD, policy, in, count, out, 7, add);
    };
    const auto find_greatest = [](const auto& policy, const auto* in, std::int64_t count, std::int32_t* out) {
      mpi::exclusive_scan(MPI_COMM_WORLD, policy, in, count, out, 400, max);
    };
    EXPECT_EQ((on_gpu<std::int32_t, std::int64_t>(policy(), share, add_up)), mine(sums)) << n;
    EXPECT_EQ((on_gpu<std::int32_t, std::int32_t>(policy(), share, find_greatest)), mine(greatest)) << n;
    // Every other rank computes on its CPU.
    const bool is_on_gpu = World().rank % 2 == 0;
    const auto mixed = is_on_gpu ? on_gpu<std::int32_t, std::int64_t>(policy(), share, add_up)
                                 : on_cpu<std::int32_t, std::int64_t>(share, add_up);
    EXPECT_EQ(mixed, mine(sums)) << n;
  }
}

TEST_F(CudaMpi, EveryRankHasTheReduction) {
  for (const std::int64_t n : kLengths) {
    const auto all = numbers<double>(n);  // whole numbers, so that sums are exact
    DeviceArray<double> share(mine(all), 0);
    const std::int64_t count = std::ssize(mine(all));
    EXPECT_EQ(mpi::reduce(MPI_COMM_WORLD, policy(), share.data(), count, 0.5).value,
              std::accumulate(all.begin(), all.end(), 0.5))
        << n;
    EXPECT_EQ(mpi::reduce(MPI_COMM_WORLD, policy(), share.data(), count, 2000.0, min).value,
              std::accumulate(all.begin(), all.end(), 2000.0, [](double a, double b) { return std::min(a, b); }))
        << n;
  }
}

TEST_F(CudaMpi, OffsetsGoOnAndABadListIsNamedByItsGlobalNumber) {
  constexpr std::int64_t kLists = 3'000'000;
  const std::vector<std::int64_t> starts = numbers<std::int64_t>(kLists);
  std::vector<std::int64_t> stops = starts;
  std::vector<std::int64_t> wanted{0};
  for (std::size_t i = 0; i < stops.size(); ++i) {
    stops[i] += static_cast<std::int64_t>(i % 5);
    wanted.push_back(wanted.back() + static_cast<std::int64_t>(i % 5));
  }
  const auto offsets = [&](const std::vector<std::int64_t>& ends) {
    DeviceArray<std::int64_t> from(mine(starts), 0);
    DeviceArray<std::int64_t> to(mine(ends), 0);
    const std::int64_t n = std::ssize(mine(ends));
    DeviceArray<std::int64_t> out(n + 1);
    const auto result = mpi::offsets(MPI_COMM_WORLD, policy(), from.data(), to.data(), n, out.data());
    EXPECT_EQ(result.total, wanted.back());
    return out.values();
  };
  const std::vector<std::int64_t> found = offsets(stops);
  const std::int64_t first = borders(kLists)[static_cast<std::size_t>(World().rank)];
  ASSERT_TRUE(std::equal(found.begin(), found.end(), wanted.begin() + first));
  const std::int64_t bad = kLists - 1;  // on the last rank
  stops[static_cast<std::size_t>(bad)] = -1;
  try {
    (void)offsets(stops);
    FAIL() << "a list that stops before its start was not reported";
  } catch (const Error& error) {
    EXPECT_EQ(error.index(), bad);
    EXPECT_NE(std::string(error.what()).find(std::to_string(bad)), std::string::npos) << error.what();
  }
}

TEST_F(CudaMpi, FilteredSumsAreAddedUp) {
  constexpr std::int64_t kRows = 2'000'000;
  const auto key = numbers<std::uint32_t>(kRows);
  const auto quantity = numbers<std::int64_t>(kRows);
  DeviceArray<std::uint32_t> keys(mine(key), 0);
  DeviceArray<std::int64_t> quantities(mine(quantity), 0);
  std::int64_t wanted = 0;
  for (std::size_t i = 0; i < key.size(); ++i) {
    if (key[i] < 300) wanted += quantity[i] * quantity[i];
  }
  const FilteredSum sum = mpi::filtered_sum(MPI_COMM_WORLD, policy(), keys.data(), quantities.data(), quantities.data(),
                                            std::ssize(mine(key)), 300);
  EXPECT_EQ(sum.sum, wanted);
}

TEST_F(CudaMpi, MemoryOfTheHostIsRefusedOnEveryRank) {
  const auto all = numbers<std::int32_t>(1000);
  DeviceArray<std::int32_t> share(all, 0);
  const bool is_last = World().rank + 1 == World().size;
  try {
    (void)mpi::reduce(MPI_COMM_WORLD, policy(), is_last ? all.data() : share.data(), 1000, 0);
    FAIL() << "host memory was not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid_argument);
    EXPECT_NE(std::string(error.what()).find("host memory"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace upsweep
