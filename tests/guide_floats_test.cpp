// SPDX-License-Identifier: Apache-2.0
// tests/guide_floats_test.cpp: the examples of docs/guide/floats.md: the order of additions, the same bits on any
// threads, overflow.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "upsweep/reduce.hpp"
#include "upsweep/scan.hpp"

namespace {

TEST(GuideFloats, TheOrderOfAdditionsMatters) {
  // [guide: order]
  const float large = 16777216;  // 2^24: between it and 2^25 float32 has only even numbers
  EXPECT_EQ((large + 1) + 1, 16777216);
  EXPECT_EQ(large + (1 + 1), 16777218);
  // [guide: end]
}

TEST(GuideFloats, BlocksGoOnWhereTheLoopStops) {
  // [guide: ones]
  const std::vector<float> ones(1 << 25, 1.0F);

  float loop = 0;
  for (const float one : ones) loop += one;
  EXPECT_EQ(loop, 16777216);

  EXPECT_EQ(upsweep::reduce(upsweep::par, ones), 33554432);
  // [guide: end]
}

TEST(GuideFloats, BitsAreTheSameOnAnyThreads) {
  std::vector<float> numbers(3'000'001);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = 1 / static_cast<float>(i + 1);

  // [guide: bits]
  std::vector<float> on_one(numbers.size());
  upsweep::inclusive_scan(upsweep::seq, numbers, on_one);

  for (const int threads : {2, 3, 7}) {
    std::vector<float> on_several(numbers.size());
    upsweep::inclusive_scan(upsweep::par.with_threads(threads), numbers, on_several);
    EXPECT_EQ(std::memcmp(on_one.data(), on_several.data(), on_one.size() * sizeof(float)), 0);
  }
  // [guide: end]
}

TEST(GuideFloats, SumsOfIntegersWrapOrAreChecked) {
  // [guide: overflow]
  const std::vector<std::int32_t> numbers{2'000'000'000, 100'000'000, 100'000'000};
  std::vector<std::int32_t> sums(numbers.size());

  upsweep::inclusive_scan(upsweep::par, numbers, sums);  // modulo 2^32
  EXPECT_EQ(sums, (std::vector<std::int32_t>{2'000'000'000, 2'100'000'000, -2'094'967'296}));

  try {
    upsweep::inclusive_scan(upsweep::par.with_overflow(upsweep::Overflow::checked), numbers, sums);
    FAIL() << "no error";
  } catch (const upsweep::Error& error) {
    EXPECT_EQ(error.code(), upsweep::Code::overflow);
    EXPECT_EQ(error.index(), 2);  // the first output that does not fit; earlier outputs are correct
  }

  std::vector<std::int64_t> wider(numbers.size());
  upsweep::inclusive_scan(upsweep::par, numbers, wider);  // in the type of the output
  EXPECT_EQ(wider.back(), 2'200'000'000);
  // [guide: end]
}

TEST(GuideFloats, AReductionIsRightIfTheSumIs) {
  // [guide: there and back]
  const std::vector<std::int32_t> there_and_back{2'000'000'000, 2'000'000'000, -2'000'000'000};
  const auto checked = upsweep::par.with_overflow(upsweep::Overflow::checked);
  EXPECT_EQ(upsweep::reduce(checked, there_and_back), 2'000'000'000);

  std::vector<std::int32_t> sums(there_and_back.size());
  EXPECT_THROW(upsweep::inclusive_scan(checked, there_and_back, sums), upsweep::Error);
  // [guide: end]
}

}  // namespace
