// SPDX-License-Identifier: Apache-2.0
// tests/cuda_large_lists_test.cpp: on a GPU: lists with more than 2^31 and 2^32 elements of content, masks, indices;
// 2^31 empty lists.
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "device_array.hpp"
#include "failure.hpp"
#include "upsweep/broadcast.hpp"
#include "upsweep/combinations.hpp"
#include "upsweep/pack.hpp"
#include "upsweep/reduce.hpp"
#include "upsweep/segmented_reduce.hpp"
#include "upsweep/segmented_scan.hpp"
#include "upsweep/select.hpp"

namespace upsweep {
namespace {

using tests::DeviceArray;
using tests::require;

constexpr std::int64_t kPast31 = (std::int64_t{1} << 31) + 12345;
constexpr std::int64_t kPast32 = (std::int64_t{1} << 32) + 12345;

using LargeGpuLists = tests::LargeGpuTest<20>;

/// n bytes: zeros, with ones at some positions.
class Bytes {
 public:
  explicit Bytes(std::int64_t n, const std::vector<std::int64_t>& ones = {}) : bytes_(n) {
    tests::fill(bytes_.data(), 0, static_cast<std::size_t>(n));
    for (const std::int64_t at : ones) tests::fill(bytes_.data() + at, 1, 1);
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
  tests::fill(offsets.data(), 0, static_cast<std::size_t>(kPast31 + 1) * sizeof(std::int32_t));
  DeviceArray<std::uint8_t> out(kPast31);
  const std::uint8_t three = 3;
  DeviceArray<std::uint8_t> nothing(1);
  segmented_reduce(gpu::Policy{}, lists_at(offsets, kPast31), static_cast<const std::uint8_t*>(nothing.data()), 0,
                   out.data(), three, add);
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

TEST_F(LargeGpuLists, ArePartitionedPastTheLimitsOf32Bits) {
  Bytes mask(kPast32, {0, kPast31, kPast32 - 1});
  Bytes content(kPast32, {kPast31, kPast31 + 1, kPast32 - 1});
  Bytes out(kPast32);
  const SelectColumn column(static_cast<const std::uint8_t*>(content.data()), kPast32, out.data(), kPast32);
  EXPECT_EQ(partition(gpu::Policy{}, Mask::bytes(mask.data(), kPast32), column), 3);
  EXPECT_EQ(out.at(0), 0);
  EXPECT_EQ(out.at(1), 1);
  EXPECT_EQ(out.at(2), 1);
  EXPECT_EQ(out.at(kPast31 + 2), 1);  // one of the kept ones was after it
  EXPECT_EQ(reduce(gpu::Policy{}, static_cast<const std::uint8_t*>(out.data()), kPast32, std::uint64_t{0}).value,
            std::uint64_t{3});
}

TEST_F(LargeGpuLists, AreTakenFromPastTheLimitsOf32Bits) {
  Bytes content(kPast32, {4, kPast31, kPast32 - 1});
  DeviceArray<std::int64_t> indices(std::vector<std::int64_t>{-1, 0, kPast31, -kPast32 + 4, kPast32 - 2}, 0);
  DeviceArray<std::uint8_t> out(5);
  const SelectColumn column(static_cast<const std::uint8_t*>(content.data()), kPast32, out.data(), 5);
  take(gpu::Policy{}, Indices(indices.data(), 5), column);
  EXPECT_EQ(out.values(), (std::vector<std::uint8_t>{1, 0, 1, 1, 0}));
}

TEST_F(LargeGpuLists, ABadIndexPastTheLimitOf32BitsIsNamed) {
  DeviceArray<std::int32_t> indices(kPast31);
  tests::fill(indices.data(), 0, static_cast<std::size_t>(kPast31) * sizeof(std::int32_t));
  Bytes content(3, {0});
  Bytes out(kPast31);
  DeviceArray<std::int64_t> offsets(3);
  DeviceArray<std::int64_t> ends(std::vector<std::int64_t>{0, 5, kPast31}, 0);
  const SelectColumn column(static_cast<const std::uint8_t*>(content.data()), 3, out.data(), kPast31);
  // The second list contains the last two elements.
  DeviceArray<std::int64_t> starts(std::vector<std::int64_t>{0, 1, 3}, 0);
  const auto call = [&] {
    return take(gpu::Policy{}, lists_at(starts, 2), 3, lists_at(ends, 2), Indices(indices.data(), kPast31),
                offsets.data(), std::span(&column, 1));
  };
  EXPECT_EQ(call(), kPast31);
  EXPECT_EQ(offsets.values(), (std::vector<std::int64_t>{0, 5, kPast31}));
  EXPECT_EQ(reduce(gpu::Policy{}, static_cast<const std::uint8_t*>(out.data()), kPast31, std::uint64_t{0}).value,
            std::uint64_t{5});
  const std::int32_t two = 2;
  tests::copy_in(indices.data() + kPast31 - 2, &two, sizeof two);
  EXPECT_EQ(tests::failure_of(call), (tests::Failure{Code::index_out_of_range, kPast31 - 2}));
}

TEST_F(LargeGpuLists, HalvesPastTheLimitsOf32BitsChangePlaces) {
  constexpr std::int64_t kLast = 5000;
  Bytes content(kPast32, {0, kPast32 - 1});
  Bytes packed(kPast32);
  DeviceArray<std::int64_t> starts(std::vector<std::int64_t>{kPast32 - kLast, 0}, 0);
  DeviceArray<std::int64_t> stops(std::vector<std::int64_t>{kPast32, kPast32 - kLast}, 0);
  DeviceArray<std::int64_t> offsets(3);
  const PackColumn column(content.data(), kPast32, packed.data(), kPast32);
  const auto lists = Lists::by_bounds(static_cast<const std::int64_t*>(starts.data()),
                                      static_cast<const std::int64_t*>(stops.data()), 2);
  EXPECT_EQ(pack(gpu::Policy{}, lists, offsets.data(), column).total, kPast32);
  EXPECT_EQ(offsets.values(), (std::vector<std::int64_t>{0, kLast, kPast32}));
  EXPECT_EQ(packed.at(kLast - 1), 1);
  EXPECT_EQ(packed.at(kLast), 1);
  EXPECT_EQ(reduce(gpu::Policy{}, static_cast<const std::uint8_t*>(packed.data()), kPast32, std::uint64_t{0}).value,
            std::uint64_t{2});
}

TEST_F(LargeGpuLists, PastTheLimitOf32BitsHaveAValueForEachElement) {
  DeviceArray<std::int64_t> offsets(std::vector<std::int64_t>{7, 12, 12, kPast31 + 7, kPast32 + 7}, 0);
  DeviceArray<std::uint8_t> values(std::vector<std::uint8_t>{1, 9, 0, 2}, 0);
  Bytes out(kPast32);
  EXPECT_EQ(broadcast(gpu::Policy{}, lists_at(offsets, 4), values.data(), 1, out.data(), kPast32), kPast32);
  EXPECT_EQ(reduce(gpu::Policy{}, static_cast<const std::uint8_t*>(out.data()), kPast32, std::uint64_t{0}).value,
            static_cast<std::uint64_t>(5 + 2 * (kPast32 - kPast31)));
  EXPECT_EQ(out.at(4), 1);
  EXPECT_EQ(out.at(5), 0);
  EXPECT_EQ(out.at(kPast31 - 1), 0);
  EXPECT_EQ(out.at(kPast31), 2);
  EXPECT_EQ(out.at(kPast32 - 1), 2);
}

using LargerGpuLists = tests::LargeGpuTest<90>;

std::int64_t value_at(DeviceArray<std::int64_t>& array, std::int64_t i) {
  std::int64_t value = 0;
  require(cudaMemcpy(&value, array.data() + i, sizeof value, cudaMemcpyDeviceToHost));
  return value;
}
std::int64_t sum_of(DeviceArray<std::int64_t>& array, std::int64_t n) {
  return reduce(gpu::Policy{}, static_cast<const std::int64_t*>(array.data()), n, std::int64_t{0}).value;
}

TEST_F(LargerGpuLists, PastTheLimitOf32BitsKnowTheirElements) {
  DeviceArray<std::int64_t> offsets(std::vector<std::int64_t>{-3, 2, 2, kPast31 - 3, kPast32 - 3}, 0);
  DeviceArray<std::int64_t> out(kPast32);
  const Lists lists = lists_at(offsets, 4);
  EXPECT_EQ(local_index(gpu::Policy{}, lists, out.data(), kPast32), kPast32);
  const auto up_to = [](std::int64_t n) { return n * (n - 1) / 2; };
  EXPECT_EQ(sum_of(out, kPast32), up_to(5) + up_to(kPast31 - 5) + up_to(kPast32 - kPast31));
  EXPECT_EQ(value_at(out, kPast31 - 1), kPast31 - 6);
  EXPECT_EQ(value_at(out, kPast31), 0);
  EXPECT_EQ(value_at(out, kPast32 - 1), kPast32 - kPast31 - 1);
  EXPECT_EQ(offsets_to_parents(gpu::Policy{}, lists, out.data(), kPast32), kPast32);
  EXPECT_EQ(sum_of(out, kPast32), 2 * (kPast31 - 5) + 3 * (kPast32 - kPast31));
  EXPECT_EQ(value_at(out, kPast31 - 1), 2);
  EXPECT_EQ(value_at(out, kPast31), 3);
}

TEST_F(LargerGpuLists, HaveMorePairsThan32BitsCount) {
  constexpr std::int64_t kLength = 92'800;
  constexpr std::int64_t kPairs = kLength * (kLength - 1) / 2;
  static_assert(kPairs > std::int64_t{1} << 32);
  DeviceArray<std::int32_t> offsets(std::vector<std::int32_t>{0, 1, kLength + 1, kLength + 3}, 0);
  DeviceArray<std::int64_t> left(kPairs + 1);
  DeviceArray<std::int64_t> right(kPairs + 1);
  std::int64_t* const out[] = {left.data(), right.data()};
  EXPECT_EQ(combinations(gpu::Policy{}, lists_at(offsets, 3), kLength + 3, 2, false, nullptr, out, kPairs + 1).total,
            kPairs + 1);
  // Every element is in kLength - 1 pairs; the two after them in one.
  EXPECT_EQ(sum_of(left, kPairs + 1) + sum_of(right, kPairs + 1),
            (kLength - 1) * (kLength * (kLength + 1) / 2) + 2 * kLength + 3);
  std::int64_t first = 0;  // of the pairs whose left element is number i
  for (std::int64_t i = 0; i + 1 < kLength; ++i) {
    if (i % 1000 == 0 || i + 3 > kLength) {
      EXPECT_EQ(value_at(left, first), i + 1);
      EXPECT_EQ(value_at(right, first), i + 2);
    }
    first += kLength - 1 - i;
  }
  EXPECT_EQ(first, kPairs);
  EXPECT_EQ(value_at(left, kPairs), kLength + 1);
  EXPECT_EQ(value_at(right, kPairs), kLength + 2);
}

}  // namespace
}  // namespace upsweep
