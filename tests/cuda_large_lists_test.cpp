// SPDX-License-Identifier: Apache-2.0
// tests/cuda_large_lists_test.cpp: on a GPU, lists of content past 2^31 and 2^32 elements, and 2^31 lists that are empty.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "device_array.hpp"
#include "upsweep/pack.hpp"
#include "upsweep/reduce.hpp"
#include "upsweep/segmented.hpp"
#include "upsweep/segmented_scan.hpp"
#include "upsweep/select.hpp"

namespace upsweep {
namespace {

using tests::DeviceArray;
using tests::require;

constexpr std::int64_t kPast31 = (std::int64_t{1} << 31) + 12345;
constexpr std::int64_t kPast32 = (std::int64_t{1} << 32) + 12345;

using LargeGpuLists = tests::LargeGpuTest<20>;

/// n bytes, zeros but for ones at some places.
class Bytes {
 public:
  explicit Bytes(std::int64_t n, const std::vector<std::int64_t>& ones = {}) : bytes_(n) {
    require(cudaMemset(bytes_.data(), 0, static_cast<std::size_t>(n)));
    for (const std::int64_t at : ones) require(cudaMemset(bytes_.data() + at, 1, 1));
  }
  [[nodiscard]] std::uint8_t* data() { return bytes_.data(); }
  [[nodiscard]] std::uint8_t at(std::int64_t i) {
    std::uint8_t byte = 0;
    require(cudaMemcpy(&byte, bytes_.data() + i, 1, cudaMemcpyDeviceToHost));
    return byte;
  }

 private:
  DeviceArray<std::uint8_t> bytes_;
};

template <class T>
Lists lists_at(DeviceArray<T>& offsets, std::int64_t count) {
  return Lists::by_offsets(static_cast<const T*>(offsets.data()), count);
}

TEST_F(LargeGpuLists, AreReducedPastTheLimitsOf32Bits) {
  Bytes content(kPast32, {4, kPast31, kPast32 - 3, kPast32 - 2});
  DeviceArray<std::int64_t> offsets(std::vector<std::int64_t>{0, 5, kPast31 + 1, kPast32}, 0);
  DeviceArray<std::int64_t> out(3);
  segmented_reduce(gpu::Policy{}, lists_at(offsets, 3), content.data(), kPast32, out.data(), count_nonzero);
  EXPECT_EQ(out.values(), (std::vector<std::int64_t>{1, 1, 2}));
  segmented_reduce(gpu::Policy{}, lists_at(offsets, 3), content.data(), kPast32, out.data(), argmax);
  EXPECT_EQ(out.values(), (std::vector<std::int64_t>{4, kPast31 - 5, kPast32 - kPast31 - 4}));
}

TEST_F(LargeGpuLists, OffsetsOf32BitsWithoutASignReachPastTheLimitOfSignedOnes) {
  const std::int64_t n = kPast31 + 9;
  Bytes content(n, {4, kPast31 - 1, n - 1});
  const auto at = [](std::int64_t offset) { return static_cast<std::uint32_t>(offset); };
  DeviceArray<std::uint32_t> offsets(std::vector<std::uint32_t>{0, 5, at(kPast31), at(n)}, 0);
  DeviceArray<std::int64_t> out(3);
  segmented_reduce(gpu::Policy{}, lists_at(offsets, 3), content.data(), n, out.data(), argmax);
  EXPECT_EQ(out.values(), (std::vector<std::int64_t>{4, kPast31 - 6, 8}));
}

TEST_F(LargeGpuLists, MoreThanTwoToThe31EmptyOnesAreReduced) {
  DeviceArray<std::int32_t> offsets(kPast31 + 1);
  require(cudaMemset(offsets.data(), 0, static_cast<std::size_t>(kPast31 + 1) * sizeof(std::int32_t)));
  DeviceArray<std::uint8_t> out(kPast31);
  const std::uint8_t three = 3;
  DeviceArray<std::uint8_t> nothing(1);
  segmented_reduce(gpu::Policy{}, lists_at(offsets, kPast31), static_cast<const std::uint8_t*>(nothing.data()), 0,
                   out.data(), add, three);
  EXPECT_EQ(reduce(gpu::Policy{}, static_cast<const std::uint8_t*>(out.data()), kPast31, std::uint64_t{0}).value,
            static_cast<std::uint64_t>(3 * kPast31));
}

TEST_F(LargeGpuLists, AreScannedPastTheLimitsOf32Bits) {
  Bytes content(kPast32, {1, kPast32 - 5});
  DeviceArray<std::int64_t> offsets(std::vector<std::int64_t>{0, 2, kPast32}, 0);
  segmented_inclusive_scan(gpu::Policy{}, lists_at(offsets, 2), content.data(), kPast32, content.data());
  EXPECT_EQ(reduce(gpu::Policy{}, static_cast<const std::uint8_t*>(content.data()), kPast32, std::uint64_t{0}).value,
            std::uint64_t{6});
  EXPECT_EQ(content.at(kPast32 - 1), 1);
}

TEST_F(LargeGpuLists, FewOfMoreThanTheLimitOf32BitsAreKept) {
  Bytes mask(kPast32, {0, kPast31, kPast32 - 1});
  Bytes content(kPast32, {0, kPast32 - 1});
  DeviceArray<std::int64_t> offsets(std::vector<std::int64_t>{0, kPast31, kPast31 + 1, kPast32}, 0);
  DeviceArray<std::int64_t> out_offsets(4);
  DeviceArray<std::uint8_t> out(3);
  const SelectColumn column(static_cast<const std::uint8_t*>(content.data()), kPast32, out.data(), 3);
  const Selected kept =
      select(gpu::Policy{}, lists_at(offsets, 3), Mask::bytes(mask.data(), kPast32), out_offsets.data(), column);
  EXPECT_EQ(kept.kept, 3);
  EXPECT_EQ(out_offsets.values(), (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(out.values(), (std::vector<std::uint8_t>{1, 0, 1}));
}

TEST_F(LargeGpuLists, HalvesPastTheLimitsOf32BitsChangePlaces) {
  constexpr std::int64_t kLast = 5000;
  Bytes content(kPast32, {0, kPast32 - 1});
  Bytes packed(kPast32);
  DeviceArray<std::int64_t> starts(std::vector<std::int64_t>{kPast32 - kLast, 0}, 0);
  DeviceArray<std::int64_t> stops(std::vector<std::int64_t>{kPast32, kPast32 - kLast}, 0);
  DeviceArray<std::int64_t> offsets(3);
  const PackColumn column{content.data(), kPast32, 1, packed.data(), kPast32};
  const auto lists = Lists::by_bounds(static_cast<const std::int64_t*>(starts.data()),
                                      static_cast<const std::int64_t*>(stops.data()), 2);
  EXPECT_EQ(pack(gpu::Policy{}, lists, offsets.data(), column).total, kPast32);
  EXPECT_EQ(offsets.values(), (std::vector<std::int64_t>{0, kLast, kPast32}));
  EXPECT_EQ(packed.at(kLast - 1), 1);
  EXPECT_EQ(packed.at(kLast), 1);
  EXPECT_EQ(reduce(gpu::Policy{}, static_cast<const std::uint8_t*>(packed.data()), kPast32, std::uint64_t{0}).value,
            std::uint64_t{2});
}

}  // namespace
}  // namespace upsweep
