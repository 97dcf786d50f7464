// SPDX-License-Identifier: Apache-2.0
// tests/large_lists_test.cpp: lists with more than 2^31 and 2^32 elements of content, and 10^9 empty lists, in 12 GB.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "rungs.hpp"
#include "sparse.hpp"
#include "upsweep/broadcast.hpp"
#include "upsweep/ladder.hpp"
#include "upsweep/pack.hpp"
#include "upsweep/segmented_reduce.hpp"
#include "upsweep/segmented_scan.hpp"
#include "upsweep/select.hpp"

namespace upsweep {
namespace {

using tests::Sparse;

constexpr std::int64_t kPast31 = (std::int64_t{1} << 31) + 12345;
constexpr std::int64_t kPast32 = (std::int64_t{1} << 32) + 12345;
constexpr std::int64_t kManyLists = 1'000'000'000;

std::uint8_t element(std::int64_t i) { return static_cast<std::uint8_t>(i * 7 + (i >> 13)); }

/// Returns the first byte that is not `value`, or -1.
std::int64_t first_other(const std::uint8_t* bytes, std::int64_t n, std::uint8_t value) {
  const auto* const found = std::find_if(bytes, bytes + n, [&](std::uint8_t byte) { return byte != value; });
  return found == bytes + n ? -1 : found - bytes;
}

TEST(LargeLists, TenToTheNineEmptyOnesAreReduced) {
  Sparse<std::int32_t> offsets(kManyLists + 1);  // all 0
  Sparse<std::uint8_t> out(kManyLists);
  const Lists lists = Lists::by_offsets(static_cast<const std::int32_t*>(offsets.data()), kManyLists);
  const std::uint8_t nothing = 0;
  for (const auto& rung : tests::cpu_rungs("segmented-reduce")) {
    if (rung.kind == Kind::library) continue;  // it is only compiled for wider elements
    std::memset(out.data(), 0xA5, static_cast<std::size_t>(kManyLists));
    segmented_reduce(par.with_rung(rung.id), lists, &nothing, 0, out.data(), 3, add);
    EXPECT_EQ(first_other(out.data(), kManyLists, 3), -1) << rung.id;
  }
}

TEST(LargeLists, TenToTheNineEmptyOnesArePackedAndSelectedFrom) {
  Sparse<std::int32_t> bounds(kManyLists + 1);  // all 0
  Sparse<std::int64_t> offsets(kManyLists + 1);
  const Lists lists = Lists::by_offsets(static_cast<const std::int32_t*>(bounds.data()), kManyLists);
  const auto are_zero = [&] {
    return std::all_of(offsets.data(), offsets.data() + kManyLists + 1,
                       [](std::int64_t offset) { return offset == 0; });
  };
  std::memset(offsets.data(), 0xA5, static_cast<std::size_t>(kManyLists + 1) * sizeof(std::int64_t));
  EXPECT_EQ(pack_offsets(par, lists, 0, offsets.data()).total, 0);
  EXPECT_TRUE(are_zero());
  std::memset(offsets.data(), 0xA5, static_cast<std::size_t>(kManyLists + 1) * sizeof(std::int64_t));
  EXPECT_EQ(select(par, lists, Mask::bytes(bounds.data(), 0), offsets.data(), {}).kept, 0);
  EXPECT_TRUE(are_zero());
}

TEST(LargeLists, ContentPastTheLimitsOf32BitsIsReduced) {
  constexpr std::int64_t kEach = 1000;
  const std::int64_t n = kPast32 / kEach * kEach;
  Sparse<std::uint8_t> content(n);
  for (std::int64_t i = 0; i < n; ++i) content[i] = element(i);
  std::vector<std::int64_t> offsets;
  for (std::int64_t i = 0; i <= n; i += kEach) offsets.push_back(i);
  std::vector<std::uint32_t> sums(offsets.size() - 1);
  for (const auto& rung : tests::cpu_rungs("segmented-reduce")) {
    if (rung.kind == Kind::library) continue;  // it is only compiled for wider elements
    segmented_reduce(par.with_rung(rung.id), Lists(offsets), content.data(), n, sums.data(), add);
    std::int64_t wrong = -1;
    for (std::int64_t list = 0; list < std::ssize(sums) && wrong < 0; ++list) {
      std::uint32_t sum = 0;
      for (std::int64_t j = list * kEach; j < (list + 1) * kEach; ++j) sum += content[j];
      if (sums[static_cast<std::size_t>(list)] != sum) wrong = list;
    }
    EXPECT_EQ(wrong, -1) << rung.id;
  }
}

TEST(LargeLists, OffsetsOfThirtyTwoBitsWithoutASignReachPastTheLimitOfSignedOnes) {
  const std::vector<std::uint32_t> offsets{0, 5, static_cast<std::uint32_t>(kPast31),
                                           static_cast<std::uint32_t>(kPast31 + 9)};
  const std::int64_t n = kPast31 + 9;
  Sparse<std::uint8_t> content(n);  // zeros
  content[4] = 1;
  content[kPast31 - 1] = 2;
  content[n - 1] = 3;
  std::vector<std::int64_t> sums(3);
  segmented_reduce(par, Lists(offsets), content.data(), n, sums.data(), add);
  EXPECT_EQ(sums, (std::vector<std::int64_t>{1, 2, 3}));
  segmented_reduce(par, Lists(offsets), content.data(), n, sums.data(), argmax);
  EXPECT_EQ(sums, (std::vector<std::int64_t>{4, kPast31 - 6, 8}));
}

TEST(LargeLists, OneListPastTheLimitsOf32BitsIsReducedAndScanned) {
  Sparse<std::uint8_t> content(kPast32);
  content[kPast32 - 2] = 7;
  const std::vector<std::int64_t> offsets{0, kPast32};
  std::vector<std::int64_t> out(1);
  segmented_reduce(par, Lists(offsets), content.data(), kPast32, out.data(), argmax);
  EXPECT_EQ(out[0], kPast32 - 2);
  segmented_reduce(par, Lists(offsets), content.data(), kPast32, out.data(), count);
  EXPECT_EQ(out[0], kPast32);
  segmented_inclusive_scan(par, Lists(offsets), content.data(), kPast32, content.data());
  EXPECT_EQ(first_other(content.data(), kPast32, 0), kPast32 - 2);
  EXPECT_EQ(content[kPast32 - 1], 7);
}

TEST(LargeLists, HalvesPastTheLimitsOf32BitsChangePlaces) {
  constexpr std::int64_t kHalf = 5'000;
  Sparse<std::uint8_t> content(kPast32);
  Sparse<std::uint8_t> packed(kPast32);
  for (std::int64_t i = 0; i < kPast32; ++i) content[i] = element(i);
  const std::vector<std::int64_t> starts{kPast32 - kHalf, 0};
  const std::vector<std::int64_t> stops{kPast32, kPast32 - kHalf};
  std::vector<std::int64_t> offsets(3);
  const PackColumn column(content.data(), kPast32, packed.data(), kPast32);
  EXPECT_EQ(pack(par, Lists(starts, stops), offsets, column).total, kPast32);
  EXPECT_EQ(offsets, (std::vector<std::int64_t>{0, kHalf, kPast32}));
  EXPECT_EQ(std::memcmp(packed.data(), content.data() + starts[0], kHalf), 0);
  EXPECT_EQ(std::memcmp(packed.data() + kHalf, content.data(), static_cast<std::size_t>(kPast32 - kHalf)), 0);
}

TEST(LargeLists, FewOfMoreThanTheLimitOf32BitsAreKept) {
  Sparse<std::uint8_t> mask(kPast32);
  Sparse<std::uint8_t> content(kPast32);
  const std::vector<std::int64_t> kept{0, kPast31, kPast32 - 1};
  for (const std::int64_t i : kept) {
    mask[i] = 1;
    content[i] = static_cast<std::uint8_t>(1 + i % 251);
  }
  const std::vector<std::int64_t> offsets{0, kPast31, kPast31 + 1, kPast32};
  std::vector<std::int64_t> out_offsets(4);
  std::vector<std::uint8_t> out(3);
  const SelectColumn column(content.data(), kPast32, out.data(), 3);
  EXPECT_EQ(select(par, Lists(offsets), Mask::bytes(mask.data(), kPast32), out_offsets, column).kept, 3);
  EXPECT_EQ(out_offsets, (std::vector<std::int64_t>{0, 1, 2, 3}));
  for (std::size_t k = 0; k < kept.size(); ++k) EXPECT_EQ(out[k], content[kept[k]]);
}

TEST(LargeLists, AValuePastTheLimitOf32BitsIsBroadcast) {
  Sparse<std::uint8_t> out(kPast32);
  const std::vector<std::uint8_t> values{9, 8};
  const std::vector<std::int64_t> offsets{0, kPast32 - 1, kPast32};
  EXPECT_EQ(broadcast(par, Lists(offsets), values.data(), 1, out.data(), kPast32), kPast32);
  EXPECT_EQ(first_other(out.data(), kPast32, 9), kPast32 - 1);
  EXPECT_EQ(out[kPast32 - 1], 8);
}

}  // namespace
}  // namespace upsweep
