// SPDX-License-Identifier: Apache-2.0
// tests/cuda_custom_test.cu: operators and element types of a user's own on a GPU, none of which commute.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "device_array.hpp"
#include "upsweep/ragged.hpp"
#include "upsweep/reduce.cuh"
#include "upsweep/scan.cuh"

namespace upsweep {
namespace {

using tests::DeviceArray;
using tests::GpuTest;

/// A string of bytes, as its ends: "first ⊕ last" keeps the first byte of the left and the rest of the right.
template <int kBytes>
struct Ends {
  unsigned char byte[kBytes];
  bool operator==(const Ends&) const = default;
};
struct KeepEnds {
  template <int kBytes>
  __host__ __device__ Ends<kBytes> operator()(const Ends<kBytes>& left, const Ends<kBytes>& right) const {
    Ends<kBytes> both = right;
    both.byte[0] = left.byte[0];
    both.byte[kBytes - 1] = static_cast<unsigned char>(left.byte[kBytes - 1] + right.byte[kBytes - 1]);
    return both;
  }
};

template <class T>
T random_value(std::mt19937_64& random) {
  unsigned char bytes[sizeof(T)];
  for (auto& byte : bytes) byte = static_cast<unsigned char>(random());
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

template <class T, class Op>
void check(Op op) {
  std::mt19937_64 random(17);
  for (const std::int64_t n : {1, 2, 33, 1000, 5000, 30011, 200003, 1500007}) {
    std::vector<T> in(static_cast<std::size_t>(n));
    for (auto& x : in) x = random_value<T>(random);
    const T init = random_value<T>(random);
    for (const std::int64_t misaligned : {0, 1, 3}) {
      DeviceArray<T> from(in, misaligned);
      DeviceArray<T> to(n, misaligned == 3 ? 2 : 0);
      for (const int how : {0, 1, 2, 3}) {
        const bool exclusive = how % 2 == 1;
        const auto policy = gpu::Policy{}.with_rung(how < 2 ? "cuda.lookahead" : "cuda.lookback");
        if (exclusive) {
          exclusive_scan(policy, from.data(), n, to.data(), init, op);
        } else {
          inclusive_scan(policy, from.data(), n, to.data(), op);
        }
        tests::require(cudaDeviceSynchronize());
        const auto result = to.values();
        T total = exclusive ? init : in[0];
        for (std::size_t i = 0; i < in.size(); ++i) {
          if (i > 0) total = op(total, in[exclusive ? i - 1 : i]);
          ASSERT_EQ(std::memcmp(&result[i], &total, sizeof(T)), 0)
              << sizeof(T) << " bytes, n " << n << " at " << i << " exclusive " << exclusive << " misaligned "
              << misaligned << " by " << policy.rung;
        }
        if (!exclusive) continue;
        total = op(total, in.back());
        const T folded = reduce(gpu::Policy{}, from.data(), n, init, op);
        EXPECT_EQ(std::memcmp(&folded, &total, sizeof(T)), 0) << sizeof(T) << " bytes, n " << n;
      }
      EXPECT_TRUE(to.intact());
    }
  }
}

TEST_F(GpuTest, CustomTypesOfEverySizeAreScannedInOrder) {
  check<Ends<2>>(KeepEnds{});
  check<Ends<3>>(KeepEnds{});
  check<Ends<4>>(KeepEnds{});
  check<Ends<7>>(KeepEnds{});
  check<Ends<12>>(KeepEnds{});
  check<Ends<16>>(KeepEnds{});
  check<Affine<std::uint32_t>>(compose);
  check<Affine<std::uint64_t>>(compose);
}

// ------------------------------------------------------------------------------------------- a device that was lost

__global__ void trap() { __trap(); }

/// After a fault in any kernel the device is lost to the process: every call says so, and none hangs or crashes.
void use_lost_device() {
  const std::int64_t n = 1000;
  DeviceArray<std::int64_t> in(n);
  DeviceArray<std::int64_t> out(n + 1);
  trap<<<1, 1>>>();
  (void)cudaDeviceSynchronize();
  int failed = 0;
  const auto fails = [&](auto call) {
    try {
      call();
    } catch (const Error& error) {
      if (error.code() == Code::device_failed && std::string(error.what()).size() > 10) ++failed;
    }
  };
  fails([&] { inclusive_scan(gpu::Policy{}, in.data(), n, out.data()); });
  fails([&] { reduce(gpu::Policy{}, in.data(), n, std::int64_t{0}); });
  fails([&] { compact_offsets(gpu::Policy{}, in.data(), in.data(), n, out.data()); });
  fails([&] { const gpu::Workspace workspace({.kept = 4096}); });
  std::_Exit(failed);
}

TEST_F(GpuTest, ALostDeviceIsAnErrorInEveryCall) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(use_lost_device(), testing::ExitedWithCode(4), "");
}

}  // namespace
}  // namespace upsweep
