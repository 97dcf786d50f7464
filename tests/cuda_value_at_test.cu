// SPDX-License-Identifier: Apache-2.0
// tests/cuda_value_at_test.cu: scans and reductions on a GPU that begin with a value in device memory.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "device_array.hpp"
#include "failure.hpp"
#include "upsweep/reduce.cuh"
#include "upsweep/scan.cuh"

namespace upsweep {
namespace {

using gpu::Policy;
using gpu::ValueAt;
using tests::DeviceArray;
using tests::expect_error;
using tests::require;

using CudaValueAt = tests::GpuTest;

/// First f, then g: it does not commute. Not the library's, which knows Compose.
struct Then {
  __host__ __device__ Affine<std::uint32_t> operator()(Affine<std::uint32_t> f, Affine<std::uint32_t> g) const {
    return Compose{}(f, g);
  }
};

template <class T>
std::vector<T> random_values(std::int64_t n) {
  std::mt19937_64 random(5);
  std::vector<T> all;
  for (std::int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_arithmetic_v<T>) {
      all.push_back(static_cast<T>(random() % 100));
    } else {
      all.push_back({static_cast<std::uint32_t>(random()) | 1U, static_cast<std::uint32_t>(random())});
    }
  }
  return all;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// One block, a cluster, tiles.
constexpr std::int64_t kLengths[] = {1, 1000, 100'003, 4'000'007};

template <class T, class Op>
void check_scans(Op op, T init, const Policy& policy) {
  for (const std::int64_t n : kLengths) {
    const std::vector<T> x = random_values<T>(n);
    std::vector<T> inclusive;
    std::vector<T> exclusive;
    T total = init;
    for (const T& each : x) {
      exclusive.push_back(total);
      total = static_cast<T>(op(total, each));
      inclusive.push_back(total);
    }
    DeviceArray<T> start(1, 1);
    require(cudaMemcpy(start.data(), &init, sizeof(T), cudaMemcpyHostToDevice));
    DeviceArray<T> in(x, 1);
    DeviceArray<T> out(n);
    inclusive_scan(policy, in.data(), n, out.data(), op, ValueAt(start.data()));
    EXPECT_TRUE(same_bits(out.values(), inclusive)) << n;
    exclusive_scan(policy, in.data(), n, out.data(), ValueAt(start.data()), op);
    EXPECT_TRUE(same_bits(out.values(), exclusive)) << n;
    exclusive_scan(policy, in.data(), n, in.data(), ValueAt(start.data()), op);
    EXPECT_TRUE(same_bits(in.values(), exclusive)) << n;
  }
}

void check_types(const Policy& policy) {
  check_scans<std::int32_t>(add, 12345, policy);
  check_scans<std::int64_t>(max, 50, policy);
  check_scans<double>(add, 0.5, policy);
  check_scans<Affine<std::uint32_t>>(Then{}, {3, 4}, policy);
}

TEST_F(CudaValueAt, ScansBeginWithIt) { check_types({}); }
TEST_F(CudaValueAt, LookBackToo) { check_types(Policy{}.with_rung("cuda.lookback")); }

template <class T, class Op>
void check_reductions(Op op, T init) {
  for (const std::int64_t n : {std::int64_t{0}, kLengths[0], kLengths[1], kLengths[3]}) {
    const std::vector<T> x = random_values<T>(n);
    T total = init;
    for (const T& each : x) total = static_cast<T>(op(total, each));
    DeviceArray<T> in(x, 1);
    DeviceArray<T> out(1);
    require(cudaMemcpy(out.data(), &init, sizeof(T), cudaMemcpyHostToDevice));
    reduce_async(Policy{}, in.data(), n, out.data(), ValueAt(out.data()), op);
    EXPECT_TRUE(same_bits(out.values(), {total})) << n;
  }
}

TEST_F(CudaValueAt, ReductionsBeginWithTheirOwnResult) {
  check_reductions<std::int32_t>(add, 12345);
  check_reductions<double>(min, 7.0);
  check_reductions<Affine<std::uint32_t>>(Then{}, {3, 4});
}

/// What the header says: the last output of a chunk is what the next one begins with, and a scan into `out + 1` ends with the total.
TEST_F(CudaValueAt, AGraphScansChunkAfterChunk) {
  constexpr std::int64_t kChunk = 700'001;
  constexpr int kChunks = 4;
  const std::vector<std::int64_t> x = random_values<std::int64_t>(kChunk * kChunks);
  DeviceArray<std::int64_t> in(x, 0);
  DeviceArray<std::int64_t> out(kChunk * kChunks + 1);
  const tests::OwnStream stream;
  const auto policy = Policy{}.with_stream(stream);
  const tests::Replay replay(stream, [&] {
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      const std::int64_t at = kChunk * chunk;
      inclusive_scan(policy, in.data() + at, kChunk, out.data() + at + 1, add, ValueAt(out.data() + at));
    }
  });
  for (const std::int64_t start : {0, 1000}) {
    require(cudaMemcpy(out.data(), &start, sizeof start, cudaMemcpyHostToDevice));
    replay.launch();
    require(cudaStreamSynchronize(stream));
    std::vector<std::int64_t> wanted{start};
    for (const std::int64_t each : x) wanted.push_back(wanted.back() + each);
    EXPECT_EQ(out.values(), wanted);
  }
  EXPECT_TRUE(out.intact());
}

TEST_F(CudaValueAt, WhatIsRefused) {
  DeviceArray<std::int32_t> x(100);
  DeviceArray<std::int32_t> y(100);
  std::int32_t host = 0;
  const std::int32_t* const nothing = nullptr;
  expect_error(Code::invalid_argument, "initial value",
               [&] { exclusive_scan(Policy{}, x.data(), 100, y.data(), ValueAt(nothing)); });
  expect_error(Code::invalid_argument, "initial value is host memory",
               [&] { exclusive_scan(Policy{}, x.data(), 100, y.data(), ValueAt(&host)); });
  expect_error(Code::invalid_argument, "initial value is host memory",
               [&] { reduce_async(Policy{}, x.data(), 100, y.data(), ValueAt(&host)); });
  for (const int at : {0, 50, 99}) {
    expect_error(Code::invalid_argument, "lies in the output",
                 [&] { exclusive_scan(Policy{}, x.data(), 100, y.data(), ValueAt(y.data() + at)); });
  }
  exclusive_scan(Policy{}, x.data(), 99, y.data(), ValueAt(y.data() + 99));
  for (const char* rung : {"cuda.cub", "cuda.shuffle"}) {
    expect_error(Code::unsupported, std::string(rung) + " begins with a value of the host's",
                 [&] { exclusive_scan(Policy{}.with_rung(rung), x.data(), 100, y.data(), ValueAt(x.data())); });
    expect_error(Code::unsupported, std::string(rung) + " begins with a value of the host's",
                 [&] { reduce_async(Policy{}.with_rung(rung), x.data(), 100, y.data(), ValueAt(x.data())); });
  }
}

}  // namespace
}  // namespace upsweep
