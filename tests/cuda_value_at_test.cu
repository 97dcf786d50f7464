// SPDX-License-Identifier: Apache-2.0
// tests/cuda_value_at_test.cu: scans and reductions on a GPU whose initial value or length is in device memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "device_array.hpp"
#include "failure.hpp"
#include "upsweep/reduce.cuh"
#include "upsweep/scan.cuh"

namespace upsweep {
namespace {

using gpu::Length;
using gpu::Policy;
using gpu::ValueAt;
using tests::DeviceArray;
using tests::expect_error;
using tests::require;

using CudaValueAt = tests::GpuTest;

/// First f, then g: it does not commute. A separate type, because the library has a compiled operator for Compose.
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
    tests::copy_in(start.data(), &init, sizeof(T));
    DeviceArray<T> in(x, 1);
    DeviceArray<T> out(n);
    inclusive_scan(policy, in.data(), n, out.data(), ValueAt(start.data()), op);
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
    tests::copy_in(out.data(), &init, sizeof(T));
    reduce_async(Policy{}, in.data(), n, out.data(), ValueAt(out.data()), op);
    EXPECT_TRUE(same_bits(out.values(), {total})) << n;
  }
}

TEST_F(CudaValueAt, ReductionsBeginWithTheirOwnResult) {
  check_reductions<std::int32_t>(add, 12345);
  check_reductions<double>(min, 7.0);
  check_reductions<Affine<std::uint32_t>>(Then{}, {3, 4});
}

/// As the header says, the last output of a chunk is the initial value of the next one. A scan into `out + 1` ends with
/// the total.
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
      inclusive_scan(policy, in.data() + at, kChunk, out.data() + at + 1, ValueAt(out.data() + at), add);
    }
  });
  for (const std::int64_t start : {0, 1000}) {
    struct {
      DeviceArray<std::int64_t>& out;
      std::int64_t start;
      void poison() {
        out.poison();
        tests::copy_in(out.data(), &start, sizeof start);
      }
    } after_start{out, start};
    replay.launch(after_start);
    require(cudaStreamSynchronize(stream));
    std::vector<std::int64_t> wanted{start};
    for (const std::int64_t each : x) wanted.push_back(wanted.back() + each);
    EXPECT_EQ(out.values(), wanted);
  }
  EXPECT_TRUE(out.intact());
}

template <class T>
void set(DeviceArray<T>& to, const T& value) {
  tests::copy_in(to.data(), &value, sizeof value);
}

/// The length that device memory contains, and the number of elements that the call must then process.
struct Given {
  std::int64_t length;
  std::int64_t elements;
};
std::vector<Given> lengths_up_to(std::int64_t most) {
  return {{0, 0}, {1, 1}, {most / 3, most / 3}, {most - 1, most - 1}, {most, most}, {most + 5, most}, {-1, 0}};
}

/// The outputs up to the length must equal, bit by bit, those of a scan of all elements; later outputs must not change.
template <class T, class Op>
void check_lengths(Op op, T init, const Policy& policy) {
  for (const std::int64_t most : kLengths) {
    const std::vector<T> x = random_values<T>(most);
    DeviceArray<T> in(x, 1);
    DeviceArray<T> all(most);
    DeviceArray<T> start(std::vector<T>{init}, 0);
    DeviceArray<std::int64_t> length(1);
    for (const bool exclusive : {false, true}) {
      const auto scan = [&](Length n, T* out) {
        if (exclusive) return exclusive_scan(policy, in.data(), n, out, ValueAt(start.data()), op);
        return inclusive_scan(policy, in.data(), n, out, op);
      };
      scan(most, all.data());
      for (const Given& given : lengths_up_to(most)) {
        set(length, given.length);
        DeviceArray<T> out(most);
        std::vector<T> wanted = out.values();
        const std::vector<T> whole = all.values();
        std::copy_n(whole.begin(), given.elements, wanted.begin());
        EXPECT_EQ(scan({length.data(), most}, out.data()).count, most);
        EXPECT_TRUE(same_bits(out.values(), wanted)) << given.length << " of " << most;
        EXPECT_TRUE(out.intact());
      }
    }
  }
}

void check_lengths_of_types(const Policy& policy) {
  check_lengths<std::int32_t>(add, 12345, policy);
  check_lengths<std::uint64_t>(max, 50, policy);
  check_lengths<Affine<std::uint32_t>>(Then{}, {3, 4}, policy);
}

TEST_F(CudaValueAt, ScansHaveALengthThatIsThere) {
  check_lengths_of_types({});
  check_lengths<double>(add, 0.1, {});
}
TEST_F(CudaValueAt, LookBackHasOneToo) { check_lengths_of_types(Policy{}.with_rung("cuda.lookback")); }

template <class T, class Op>
void check_reduced_lengths(Op op, T init) {
  for (const std::int64_t most : {std::int64_t{0}, kLengths[0], kLengths[1], kLengths[2], kLengths[3]}) {
    DeviceArray<T> in(random_values<T>(most), 1);
    DeviceArray<T> wanted(1);
    DeviceArray<T> out(1);
    DeviceArray<std::int64_t> length(1);
    for (const Given& given : lengths_up_to(most)) {
      set(length, given.length);
      tests::fill(wanted.data(), 0x3C, sizeof(T));
      out.poison();
      const std::int64_t n = std::clamp<std::int64_t>(given.length, 0, most);
      reduce_async(Policy{}, in.data(), n, wanted.data(), init, op);
      reduce_async(Policy{}, in.data(), {length.data(), most}, out.data(), init, op);
      EXPECT_TRUE(same_bits(out.values(), wanted.values())) << given.length << " of " << most;
      set(out, init);
      reduce_async(Policy{}, in.data(), {length.data(), most}, out.data(), ValueAt(out.data()), op);
      EXPECT_TRUE(same_bits(out.values(), wanted.values())) << given.length << " of " << most;
    }
  }
}

TEST_F(CudaValueAt, ReductionsHaveTheBitsOfTheirLength) {
  check_reduced_lengths<std::int32_t>(add, 12345);
  check_reduced_lengths<double>(add, 0.1);
  check_reduced_lengths<Affine<std::uint32_t>>(Then{}, {3, 4});
}

/// One workspace and one graph for arrays of any length up to a maximum. Each replay uses the workspace as the previous
/// one left it.
void check_replays(std::string_view rung) {
  constexpr std::int64_t kMost = 4'000'007;
  const std::vector<std::int64_t> x = random_values<std::int64_t>(kMost);
  std::vector<std::int64_t> sums;
  std::int64_t sum = 0;
  for (const std::int64_t each : x) sums.push_back(sum += each);
  DeviceArray<std::int64_t> in(x, 0);
  DeviceArray<std::int64_t> out(kMost);
  DeviceArray<std::int64_t> total(1);
  DeviceArray<std::int64_t> length(1);
  const tests::OwnStream stream;
  gpu::Workspace of_scan(gpu::scan_workspace<std::int64_t, std::int64_t>(Policy{}.with_rung(rung), kMost), 0, stream);
  gpu::Workspace of_reduction(gpu::reduce_workspace<std::int64_t, std::int64_t>(Policy{}, kMost), 0, stream);
  const auto policy = Policy{}.with_stream(stream);
  const tests::Replay replay(stream, [&] {
    inclusive_scan(policy.with_rung(rung).with_workspace(of_scan), in.data(), {length.data(), kMost}, out.data());
    reduce_async(policy.with_workspace(of_reduction), in.data(), {length.data(), kMost}, total.data(), 0);
  });
  for (const std::int64_t n : {kMost, std::int64_t{1}, std::int64_t{0}, std::int64_t{2'000'000}, kMost - 1}) {
    set(length, n);
    replay.launch(out, total);
    require(cudaStreamSynchronize(stream));
    std::vector<std::int64_t> wanted(sums.begin(), sums.begin() + n);
    wanted.resize(static_cast<std::size_t>(kMost), DeviceArray<std::int64_t>::poisoned());
    EXPECT_EQ(out.values(), wanted) << n;
    EXPECT_EQ(total.values()[0], n > 0 ? sums[static_cast<std::size_t>(n - 1)] : 0) << n;
  }
}

TEST_F(CudaValueAt, AGraphTakesTheLengthOfEachReplay) {
  check_replays({});
  check_replays("cuda.lookback");
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
    expect_error(Code::invalid_argument, "overlaps the output",
                 [&] { exclusive_scan(Policy{}, x.data(), 100, y.data(), ValueAt(y.data() + at)); });
  }
  exclusive_scan(Policy{}, x.data(), 99, y.data(), ValueAt(y.data() + 99));
  for (const char* rung : {"cuda.cub", "cuda.shuffle"}) {
    expect_error(Code::unsupported, std::string(rung) + " needs the initial value in host memory",
                 [&] { exclusive_scan(Policy{}.with_rung(rung), x.data(), 100, y.data(), ValueAt(x.data())); });
    expect_error(Code::unsupported, std::string(rung) + " needs the initial value in host memory",
                 [&] { reduce_async(Policy{}.with_rung(rung), x.data(), 100, y.data(), ValueAt(x.data())); });
  }
  DeviceArray<std::int64_t> length(1);
  DeviceArray<std::int64_t> z(100);
  const std::int64_t of_host = 5;
  const std::int64_t* const none = nullptr;
  expect_error(Code::invalid_argument, "length", [&] { inclusive_scan(Policy{}, x.data(), {none, 100}, y.data()); });
  expect_error(Code::invalid_argument, "length is host memory",
               [&] { inclusive_scan(Policy{}, x.data(), {&of_host, 100}, y.data()); });
  expect_error(Code::invalid_argument, "length is host memory",
               [&] { reduce_async(Policy{}, x.data(), {&of_host, 100}, y.data(), 0); });
  for (const int at : {0, 50, 99}) {
    expect_error(Code::invalid_argument, "the length overlaps the output",
                 [&] { inclusive_scan(Policy{}, x.data(), {z.data() + at, 100}, z.data()); });
  }
  expect_error(Code::invalid_argument, "the length is inside the result",
               [&] { reduce_async(Policy{}, z.data(), {length.data(), 100}, length.data(), 0); });
  for (const char* rung : {"cuda.cub", "cuda.shuffle"}) {
    expect_error(Code::unsupported, std::string(rung) + " needs the length in host memory",
                 [&] { inclusive_scan(Policy{}.with_rung(rung), x.data(), {length.data(), 100}, y.data()); });
    expect_error(Code::unsupported, std::string(rung) + " needs the length in host memory",
                 [&] { reduce_async(Policy{}.with_rung(rung), x.data(), {length.data(), 100}, y.data(), 0); });
  }
}

}  // namespace
}  // namespace upsweep
