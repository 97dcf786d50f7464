// SPDX-License-Identifier: Apache-2.0
// tests/cuda_negative_zero_test.cpp: sums of -0.0 on a GPU: a sum of only -0.0 is -0.0, a sum of nothing is 0.0, for
// every operation and rung.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "device_array.hpp"
#include "rungs.hpp"
#include "upsweep/by_key.hpp"
#include "upsweep/error.hpp"
#include "upsweep/group_by.hpp"
#include "upsweep/reduce.hpp"
#include "upsweep/scan.hpp"
#include "upsweep/segmented_reduce.hpp"
#include "upsweep/segmented_scan.hpp"

namespace upsweep {
namespace {

using tests::DeviceArray;

template <class T>
class CudaNegativeZero : public tests::GpuTest {
 protected:
  /// Runs call(policy) with every rung of the problem that supports it, and with the API's choice; `check` checks the
  /// outputs.
  template <class Call, class Check>
  void by_all_rungs(const std::string& problem, Call call, Check check) {
    auto rungs = tests::rungs_of(problem, Backend::cuda);
    rungs.insert(rungs.begin(), RungInfo{});
    for (const RungInfo& rung : rungs) {
      SCOPED_TRACE(problem + " by " + std::string(rung.id));
      const Code code = tests::code_of([&] { call(gpu::Policy{}.with_rung(rung.id)); });
      if (code == Code::unsupported && !rung.id.empty()) continue;
      ASSERT_EQ(code, Code::ok);
      tests::require(cudaDeviceSynchronize());
      check();
    }
  }
};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(CudaNegativeZero, Floats);

template <class T>
bool is_negative_zero(T x) {
  return x == 0 && std::signbit(x);
}

template <class T>
std::vector<T> zeros(std::int64_t n) {
  return std::vector<T>(static_cast<std::size_t>(n), static_cast<T>(-0.0));
}

constexpr std::int64_t kSizes[] = {1, 2, 33, 4097, 70'001, 1'000'003};

TYPED_TEST(CudaNegativeZero, OfArrays) {
  using T = TypeParam;
  for (const std::int64_t n : kSizes) {
    DeviceArray<T> in(zeros<T>(n), 1);
    DeviceArray<T> out(n);
    this->by_all_rungs(
        "scan",
        [&](const gpu::Policy& policy) {
          out.poison();
          inclusive_scan(policy, in.data(), n, out.data());
        },
        [&] {
          for (const T x : out.values()) ASSERT_TRUE(is_negative_zero(x)) << n;
        });
    T sum = 1;
    const auto reduce_to_sum = [&](T init) {
      return [&, init](const gpu::Policy& policy) { sum = reduce(policy, in.data(), n, init).value; };
    };
    this->by_all_rungs("reduce", reduce_to_sum(static_cast<T>(-0.0)), [&] { EXPECT_TRUE(is_negative_zero(sum)) << n; });
    this->by_all_rungs(
        "reduce",
        [&](const gpu::Policy& policy) {
          sum = reduce(policy, std::span<const T>(in.data(), static_cast<std::size_t>(n))).value;
        },
        [&] { EXPECT_TRUE(is_negative_zero(sum)) << n; });
    this->by_all_rungs("reduce", reduce_to_sum(T{0}), [&] { EXPECT_TRUE(sum == 0 && !std::signbit(sum)) << n; });
  }
}

TYPED_TEST(CudaNegativeZero, OfNoElementsIsZero) {
  using T = TypeParam;
  const T sum = reduce(gpu::Policy{}, std::span<const T>());
  EXPECT_TRUE(sum == 0 && !std::signbit(sum));
}

/// Lists of all lengths, including empty and long ones.
std::vector<std::int64_t> list_offsets() {
  std::vector<std::int64_t> offsets{0, 0};
  for (std::int64_t length = 0; length < 140; ++length) {
    for (const std::int64_t other : {length, std::int64_t{0}, std::int64_t{1}, length % 5}) {
      offsets.push_back(offsets.back() + other);
    }
  }
  for (const std::int64_t length : {4096, 4097, 9001, 300'000, 0}) offsets.push_back(offsets.back() + length);
  return offsets;
}

TYPED_TEST(CudaNegativeZero, OfLists) {
  using T = TypeParam;
  const std::vector<std::int64_t> offsets = list_offsets();
  const std::int64_t count = std::ssize(offsets) - 1;
  const std::int64_t n = offsets.back();
  DeviceArray<T> in(zeros<T>(n), 1);
  DeviceArray<std::int64_t> bounds(offsets, 0);
  DeviceArray<T> sums(count);
  DeviceArray<T> out(n);
  const Lists lists = Lists::by_offsets(static_cast<const std::int64_t*>(bounds.data()), count);
  const auto are_sums_right = [&] {
    const auto found = sums.values();
    for (std::size_t i = 0; i < found.size(); ++i) {
      const bool is_empty = offsets[i] == offsets[i + 1];
      ASSERT_TRUE(found[i] == 0 && std::signbit(found[i]) != is_empty)
          << "list " << i << " of " << offsets[i + 1] - offsets[i];
    }
  };
  this->by_all_rungs(
      "segmented-reduce",
      [&](const gpu::Policy& policy) {
        sums.poison();
        segmented_reduce(policy, lists, in.data(), n, sums.data());
      },
      are_sums_right);
  this->by_all_rungs(
      "segmented-reduce",
      [&](const gpu::Policy& policy) {
        sums.poison();
        segmented_reduce(policy, lists, in.data(), n, sums.data(), T{0}, add);
      },
      [&] {
        for (const T x : sums.values()) ASSERT_TRUE(x == 0 && !std::signbit(x));
      });
  this->by_all_rungs(
      "segmented-scan",
      [&](const gpu::Policy& policy) {
        out.poison();
        segmented_inclusive_scan(policy, lists, in.data(), n, out.data());
      },
      [&] {
        for (const T x : out.values()) ASSERT_TRUE(is_negative_zero(x));
      });
  this->by_all_rungs(
      "segmented-scan",
      [&](const gpu::Policy& policy) {
        out.poison();
        segmented_exclusive_scan(policy, lists, in.data(), n, out.data());
      },
      [&] {
        const auto found = out.values();
        for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
          for (std::int64_t j = offsets[i]; j < offsets[i + 1]; ++j) {
            const T x = found[static_cast<std::size_t>(j)];
            ASSERT_TRUE(x == 0 && std::signbit(x) == (j > offsets[i])) << "list " << i << " at " << j - offsets[i];
          }
        }
      });
}

TYPED_TEST(CudaNegativeZero, OfKeys) {
  using T = TypeParam;
  constexpr std::int64_t n = 100'003;
  std::vector<std::int64_t> keys(n);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<std::int64_t>(i / 300);
  const std::int64_t runs = keys.back() + 1;
  DeviceArray<std::int64_t> on_device(keys, 0);
  DeviceArray<T> in(zeros<T>(n), 1);
  DeviceArray<std::int64_t> out_keys(n);
  DeviceArray<T> out(n);
  const auto first_are_negative = [&](std::int64_t count) {
    return [&, count] {
      const auto found = out.values();
      for (std::int64_t i = 0; i < count; ++i) ASSERT_TRUE(is_negative_zero(found[static_cast<std::size_t>(i)])) << i;
    };
  };
  this->by_all_rungs(
      "by-key",
      [&](const gpu::Policy& policy) {
        out.poison();
        reduce_by_key(policy, on_device.data(), in.data(), n, out_keys.data(), out.data(), n);
      },
      first_are_negative(runs));
  this->by_all_rungs(
      "by-key",
      [&](const gpu::Policy& policy) {
        out.poison();
        inclusive_scan_by_key(policy, on_device.data(), in.data(), n, out.data());
      },
      first_are_negative(n));
  this->by_all_rungs(
      "group-by",
      [&](const gpu::Policy& policy) {
        out.poison();
        group_by(policy, on_device.data(), in.data(), n, out_keys.data(), out.data(), n, add);
      },
      first_are_negative(runs));
}

}  // namespace
}  // namespace upsweep
