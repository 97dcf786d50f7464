// SPDX-License-Identifier: Apache-2.0
// tests/cuda_nccl_test.cpp: shards on the ranks of an NCCL communicator: one thread for each GPU of this machine.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "device_array.hpp"
#include "upsweep/nccl.hpp"

namespace upsweep {
namespace {

using tests::DeviceArray;
using tests::require;

/// Executes `run` for each rank in a separate thread; returns the first error, or an empty string.
std::string on_ranks(const std::function<void(int rank, ncclComm_t comm, cudaStream_t stream)>& run) {
  const int count = static_cast<int>(gpu::devices().size());
  std::vector<ncclComm_t> comms(static_cast<std::size_t>(count));
  nccl::detail::require(ncclCommInitAll(comms.data(), count, nullptr), "making communicators");
  std::vector<std::string> errors(comms.size());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] {
      const auto own = static_cast<std::size_t>(rank);
      try {
        require(cudaSetDevice(rank));
        const tests::OwnStream stream;
        run(rank, comms[own], stream);
        require(cudaStreamSynchronize(stream));
      } catch (const std::exception& error) {
        errors[own] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (ncclComm_t comm : comms) (void)ncclCommDestroy(comm);
  const auto failed =
      std::find_if(errors.begin(), errors.end(), [](const std::string& error) { return !error.empty(); });
  return failed == errors.end() ? "" : *failed;
}

template <class T>
std::vector<T> random_values(std::int64_t n) {
  std::mt19937_64 random(3);
  std::vector<T> all(static_cast<std::size_t>(n));
  for (T& x : all) x = static_cast<T>(random() % 1001);
  return all;
}

/// The begin of each rank's elements. One rank is empty, unless there is only one device.
std::vector<std::int64_t> begins(std::int64_t n) {
  const auto count = static_cast<std::int64_t>(gpu::devices().size());
  std::vector<std::int64_t> all{0};
  for (std::int64_t rank = 1; rank < count; ++rank) all.push_back(n / 3 * (rank / 2));
  all.push_back(n);
  return all;
}

using CudaNccl = tests::GpuTest;

template <class T>
void check(std::int64_t n) {
  const std::vector<T> x = random_values<T>(n);
  std::vector<T> wanted(x.size());
  std::exclusive_scan(x.begin(), x.end(), wanted.begin(), T{5}, [](T a, T b) { return Add{}(a, b); });
  const T total = std::accumulate(x.begin(), x.end(), T{5}, [](T a, T b) { return Add{}(a, b); });
  const std::vector<std::int64_t> begin = begins(n);
  const std::string error = on_ranks([&](int rank, ncclComm_t comm, cudaStream_t stream) {
    const std::int64_t first = begin[static_cast<std::size_t>(rank)];
    const std::int64_t count = begin[static_cast<std::size_t>(rank) + 1] - first;
    DeviceArray<T> in(std::vector<T>(x.begin() + first, x.begin() + first + count), 1);
    DeviceArray<T> out(count);
    DeviceArray<T> sum(1);
    const auto policy = gpu::Policy{}.with_device(rank).with_stream(stream);
    for (int run = 0; run < 3; ++run) {
      out.poison();
      sum.poison();
      nccl::exclusive_scan(comm, policy, in.data(), count, out.data(), T{5});
      if (run == 0) {
        nccl::reduce_async(comm, policy, in.data(), count, sum.data(), T{5});
      } else {  // as the standard library does
        nccl::reduce_async(comm, policy, in.data(), count, sum.data(), T{5}, std::plus<>{});
      }
      require(cudaStreamSynchronize(stream));
      const std::vector<T> own = out.values();
      if (!std::equal(own.begin(), own.end(), wanted.begin() + first)) throw std::runtime_error("a scan is wrong");
      if (sum.values()[0] != total) throw std::runtime_error("a sum is wrong");
      if (!out.intact()) throw std::runtime_error("written past the end");
    }
  });
  EXPECT_EQ(error, "") << n << " elements";
}

TEST_F(CudaNccl, RanksScanAndReduceAsOneArray) {
  check<std::int32_t>(3);
  check<std::int32_t>(2'000'003);
  check<std::int64_t>(700'001);
  check<double>(1'000'000);  // whole numbers: no rounding
}

TEST_F(CudaNccl, AGraphReplaysCalls) {
  constexpr std::int64_t kEach = 300'000;
  const std::string error = on_ranks([&](int rank, ncclComm_t comm, cudaStream_t stream) {
    DeviceArray<std::int32_t> in(std::vector<std::int32_t>(kEach, 1), 0);
    DeviceArray<std::int32_t> out(kEach);
    const auto policy = gpu::Policy{}.with_device(rank).with_stream(stream);
    nccl::inclusive_scan(comm, policy, in.data(), kEach, out.data());  // connects the ranks
    require(cudaStreamSynchronize(stream));
    const tests::Replay replay(
        stream, [&] { nccl::inclusive_scan(comm, policy, in.data(), kEach, out.data()); },
        cudaStreamCaptureModeThreadLocal);
    for (int run = 0; run < 3; ++run) {
      replay.launch(out);
      require(cudaStreamSynchronize(stream));
      if (out.values().back() != (rank + 1) * kEach) throw std::runtime_error("a replay is wrong");
    }
  });
  EXPECT_EQ(error, "");
}

TEST_F(CudaNccl, WhatIsWrongIsSaidBeforeAnythingIsSent) {
  const std::string error = on_ranks([&](int rank, ncclComm_t comm, cudaStream_t stream) {
    std::vector<float> host(10);
    nccl::inclusive_scan(comm, gpu::Policy{}.with_device(rank).with_stream(stream), host.data(), 10, host.data());
  });
  EXPECT_NE(error.find("host memory"), std::string::npos) << error;
}

}  // namespace
}  // namespace upsweep
