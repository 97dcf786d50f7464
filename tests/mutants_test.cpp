// SPDX-License-Identifier: Apache-2.0
// tests/mutants_test.cpp: tests of the tests: scans, sums, offsets, filtered sums and subset sums that are wrong on
// purpose. The same checks that test the rungs must detect them, and must accept correct ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "climb/generated_lists.hpp"
#include "climb/list_reference.hpp"
#include "climb/reference.hpp"
#include "list_lengths.hpp"
#include "lists.hpp"
#include "patterns.hpp"
#include "problems/dense/partition/reference.hpp"
#include "problems/dense/take/reference.hpp"
#include "problems/keys/by_key/reference.hpp"
#include "problems/keys/group_by/reference.hpp"
#include "problems/lists/broadcast/reference.hpp"
#include "problems/lists/combinations/reference.hpp"
#include "problems/lists/offsets/reference.hpp"
#include "problems/lists/pack/reference.hpp"
#include "problems/lists/segmented_sort/reference.hpp"
#include "problems/subset_sum/reference.hpp"
#include "rows.hpp"
#include "selections.hpp"

namespace upsweep {
namespace {

using tests::Bounds;
using tests::Failure;
using tests::Guarded;
using tests::ListPattern;
using tests::Pattern;

constexpr std::int64_t kTile = 4096;
constexpr std::int64_t kLength = 5 * kTile + 77;

// --------------------------------------------------------------------------------------------------------------- scans

template <class T>
using Scan = std::function<void(const T* in, T* out, std::int64_t n, bool exclusive)>;

/// The loop that every mutant is made from.
template <class T>
void right_scan(const T* in, T* out, std::int64_t n, bool exclusive, T init = T{}) {
  T total = init;
  for (std::int64_t i = 0; i < n; ++i) {
    const T next = add(total, in[i]);
    out[i] = exclusive ? total : next;
    total = next;
  }
}

/// Whether the checks of the rung tests detect an error in a scan of this length and pattern.
template <class T>
bool caught(const Scan<T>& scan, std::int64_t n, Pattern pattern, bool exclusive) {
  const auto in = tests::make<T>(pattern, n, 2);
  Guarded<T> out(n, n % 3);
  scan(in.data(), out.data(), n, exclusive);
  const auto reference =
      exclusive ? reference::ExactReference<T, Add>(add, T{}) : reference::ExactReference<T, Add>(add);
  return reference::first_wrong(reference, in.data(), out.data(), n, exclusive) != kNoIndex || !out.intact();
}

template <class T>
class ScanMutants : public testing::Test {
 protected:
  static void expect_caught(const char* what, const Scan<T>& scan, std::int64_t n = kLength) {
    // Random elements must suffice: with equal elements, narrow sums repeat from tile to tile.
    for (const bool exclusive : {false, true}) {
      EXPECT_TRUE(caught<T>(scan, n, Pattern::random, exclusive)) << what << " exclusive " << exclusive;
    }
  }
};
using Types = testing::Types<std::int8_t, std::int32_t, std::uint64_t, float, double>;
TYPED_TEST_SUITE(ScanMutants, Types);

TYPED_TEST(ScanMutants, TheRightScanPasses) {
  const Scan<TypeParam> scan = [](const auto* in, auto* out, std::int64_t n, bool exclusive) {
    right_scan(in, out, n, exclusive);
  };
  for (const std::int64_t n : {std::int64_t{0}, std::int64_t{1}, std::int64_t{65}, kLength}) {
    for (const Pattern pattern : tests::kPatterns) {
      EXPECT_FALSE(caught<TypeParam>(scan, n, pattern, false));
      EXPECT_FALSE(caught<TypeParam>(scan, n, pattern, true));
    }
  }
}

TYPED_TEST(ScanMutants, WrongPlacesAreCaught) {
  using T = TypeParam;
  this->expect_caught("untouched output", [](const T*, T*, std::int64_t, bool) {});
  this->expect_caught("one place early", [](const T* in, T* out, std::int64_t n, bool exclusive) {
    right_scan(in, out, n, exclusive);
    std::rotate(out, out + 1, out + n);
  });
  this->expect_caught("one place late", [](const T* in, T* out, std::int64_t n, bool exclusive) {
    right_scan(in, out, n, exclusive);
    std::rotate(out, out + n - 1, out + n);
  });
  this->expect_caught("exclusive and inclusive the wrong way round",
                      [](const T* in, T* out, std::int64_t n, bool exclusive) { right_scan(in, out, n, !exclusive); });
  this->expect_caught("the last element left out", [](const T* in, T* out, std::int64_t n, bool exclusive) {
    right_scan(in, out, n - 1, exclusive);
  });
  this->expect_caught("the first element left out", [](const T* in, T* out, std::int64_t n, bool exclusive) {
    const T first = out[0];
    right_scan(in, out, n, exclusive);
    out[0] = first;
  });
  for (std::int64_t tile = 0; tile * kTile < kLength; ++tile) {
    this->expect_caught("a tile left out", [tile](const T* in, T* out, std::int64_t n, bool exclusive) {
      const std::int64_t first = tile * kTile;
      const std::vector<T> before(out + first, out + std::min(n, first + kTile));
      right_scan(in, out, n, exclusive);
      std::copy(before.begin(), before.end(), out + first);
    });
  }
}

TYPED_TEST(ScanMutants, WrongValuesAreCaught) {
  using T = TypeParam;
  this->expect_caught("the last value wrong", [](const T* in, T* out, std::int64_t n, bool exclusive) {
    right_scan(in, out, n, exclusive);
    out[n - 1] = add(out[n - 1], T{1});
  });
  this->expect_caught("one value in the middle wrong", [](const T* in, T* out, std::int64_t n, bool exclusive) {
    right_scan(in, out, n, exclusive);
    out[n / 2] = add(out[n / 2], T{1});
  });
  this->expect_caught("carries lost at tiles", [](const T* in, T* out, std::int64_t n, bool exclusive) {
    for (std::int64_t i = 0; i < n; i += kTile) right_scan(in + i, out + i, std::min(kTile, n - i), exclusive);
  });
  this->expect_caught("one carry lost", [](const T* in, T* out, std::int64_t n, bool exclusive) {
    right_scan(in, out, kTile, exclusive);
    right_scan(in + kTile, out + kTile, n - kTile, exclusive);
  });
  this->expect_caught("a carry one tile late", [](const T* in, T* out, std::int64_t n, bool exclusive) {
    T before{};
    T last{};
    for (std::int64_t i = 0; i < n; i += kTile) {
      const std::int64_t count = std::min(kTile, n - i);
      right_scan(in + i, out + i, count, exclusive, before);
      before = last;
      for (std::int64_t k = 0; k < i + count; ++k) last = k == 0 ? in[0] : add(last, in[k]);
    }
  });
  this->expect_caught("a wrong start", [](const T* in, T* out, std::int64_t n, bool exclusive) {
    right_scan(in, out, n, exclusive, T{1});
  });
  this->expect_caught("every lane scanned on its own", [](const T* in, T* out, std::int64_t n, bool exclusive) {
    for (std::int64_t i = 0; i < n; i += 4) right_scan(in + i, out + i, std::min<std::int64_t>(4, n - i), exclusive);
  });
}

TYPED_TEST(ScanMutants, StoresBesideTheOutputAreCaught) {
  using T = TypeParam;
  for (const std::int64_t n : {std::int64_t{1}, std::int64_t{17}, std::int64_t{64}, kLength}) {
    this->expect_caught(
        "one element before",
        [](const T* in, T* out, std::int64_t count, bool exclusive) {
          right_scan(in, out, count, exclusive);
          out[-1] = T{1};
        },
        n);
    this->expect_caught(
        "one element past the end",
        [](const T* in, T* out, std::int64_t count, bool exclusive) {
          right_scan(in, out, count, exclusive);
          out[count] = T{1};
        },
        n);
    this->expect_caught(
        "one byte past the end",
        [](const T* in, T* out, std::int64_t count, bool exclusive) {
          right_scan(in, out, count, exclusive);
          *reinterpret_cast<unsigned char*>(out + count) ^= 1U;
        },
        n);
    this->expect_caught(
        "a vector's length past the end",
        [](const T* in, T* out, std::int64_t count, bool exclusive) {
          right_scan(in, out, count, exclusive);
          reinterpret_cast<unsigned char*>(out + count)[63] = 0;
        },
        n);
  }
}

TEST(ScanMutants, AnOperatorTheWrongWayRoundIsCaught) {
  // Matrices of two by two: f then g is not g then f.
  std::mt19937 random(1);
  std::vector<tests::AffineMap> in(100);
  for (auto& f : in) f = {static_cast<std::uint32_t>(random()), static_cast<std::uint32_t>(random())};
  std::vector<tests::AffineMap> out(in);
  const auto first_wrong = [&] {
    return reference::first_wrong(
        reference::ExactReference<tests::AffineMap, decltype(tests::kCompose)>(tests::kCompose), in.data(), out.data(),
        std::ssize(in), false);
  };
  for (std::size_t i = 1; i < in.size(); ++i) out[i] = tests::kCompose(out[i - 1], in[i]);
  EXPECT_EQ(first_wrong(), kNoIndex);
  for (std::size_t i = 1; i < in.size(); ++i) out[i] = tests::kCompose(in[i], out[i - 1]);
  EXPECT_EQ(first_wrong(), 1);
}

TEST(ScanMutants, AnExclusiveScanThatBeginsWithAnotherValueIsCaught) {
  const std::vector<int> in{3, 5, 7};
  const auto begun_with = [&](int first) {
    return reference::first_wrong(reference::ExactReference<int, Mul>(mul, 1), in.data(),
                                  std::vector<int>{first, 3 * first, 15 * first}.data(), 3, true);
  };
  EXPECT_EQ(begun_with(1), kNoIndex);
  EXPECT_EQ(begun_with(0), 0) << "0, whatever the operator";
  EXPECT_EQ(begun_with(77), 0) << "the previous contents of memory";
}

TEST(ScanMutants, AMaximumThatLosesANaNIsCaught) {
  std::vector<float> in(1000, 1.0F);
  in[500] = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> out(in.size());
  const auto first_wrong = [&] {
    return reference::first_wrong(reference::ExactReference<float, Max>(max), in.data(), out.data(), std::ssize(in),
                                  false);
  };
  float total = in[0];
  for (std::size_t i = 0; i < in.size(); ++i) out[i] = total = max(total, in[i]);
  EXPECT_EQ(first_wrong(), kNoIndex);
  total = in[0];
  for (std::size_t i = 0; i < in.size(); ++i) out[i] = total = std::fmax(total, in[i]);
  EXPECT_EQ(first_wrong(), 500);
}

// --------------------------------------------------------------------------------------------------------- float sums

constexpr FloatBound kSerialBound{};
constexpr FloatBound kTreeBound{.serial = false, .constant = 1300};

std::vector<double> rounded(std::int64_t n) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> magnitude(-1.0, 1.0);
  std::vector<double> values(static_cast<std::size_t>(n));
  for (auto& x : values) x = magnitude(random);
  return values;
}

std::int64_t first_beyond(const std::vector<double>& in, const std::vector<double>& out, const FloatBound& bound) {
  return reference::first_beyond(reference::SumReference(), in.data(), out.data(), std::ssize(in), false, bound);
}

TEST(FloatMutants, SumsInDoublePass) {
  const auto in = rounded(100000);
  std::vector<double> out(in.size());
  right_scan(in.data(), out.data(), std::ssize(in), false);
  EXPECT_EQ(first_beyond(in, out, kSerialBound), kNoIndex);
  EXPECT_EQ(first_beyond(in, out, kTreeBound), kNoIndex);
}

TEST(FloatMutants, SumsInFloatAreCaught) {
  const auto in = rounded(100000);
  std::vector<double> out(in.size());
  float total = 0;
  for (std::size_t i = 0; i < in.size(); ++i) out[i] = static_cast<double>(total += static_cast<float>(in[i]));
  EXPECT_NE(first_beyond(in, out, kSerialBound), kNoIndex);
  EXPECT_NE(first_beyond(in, out, kTreeBound), kNoIndex);
}

TEST(FloatMutants, OneElementLeftOutIsCaughtWhereverItIs) {
  const auto in = rounded(100000);
  for (const std::size_t lost : {std::size_t{0}, std::size_t{50000}, in.size() - 1}) {
    std::vector<double> out(in.size());
    double total = 0;
    for (std::size_t i = 0; i < in.size(); ++i) out[i] = total += i == lost ? 0.0 : in[i];
    EXPECT_NE(first_beyond(in, out, kSerialBound), kNoIndex) << lost;
    EXPECT_NE(first_beyond(in, out, kTreeBound), kNoIndex) << lost;
  }
}

TEST(FloatMutants, NaNAndInfinityAreNotWithinAnyBound) {
  const auto in = rounded(1000);
  for (const double odd : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    std::vector<double> out(in.size());
    right_scan(in.data(), out.data(), std::ssize(in), false);
    out[700] = odd;
    EXPECT_EQ(first_beyond(in, out, kTreeBound), 700);
  }
}

TEST(FloatMutants, TheReferenceIsBetterThanWhatItJudges) {
  // A plain sum of any precision would lose the 1 next to 1e30, and the small remainder.
  reference::SumReference sum;
  for (const long double x : {1e30L, 1.0L, -1e30L, 1e-3L}) sum.next(x);
  EXPECT_EQ(sum.value(), 1.001L);
  EXPECT_EQ(sum.magnitude(), 2e30L + 1.001L);
}

// ---------------------------------------------------------------------------------------------------------- reductions

TEST(ReduceMutants, LostAndDoubledElementsAreCaught) {
  for (const Pattern pattern : {Pattern::random, Pattern::equal}) {
    const auto in = tests::make<std::int32_t>(pattern, kLength, 4);
    const auto n = std::ssize(in);
    reference::ExactReference<std::int32_t, Add> reference(add, 5);
    for (const std::int32_t x : in) reference.next(x);
    const auto sum = [&](std::int64_t first, std::int64_t last, std::int32_t init) {
      for (std::int64_t i = first; i < last; ++i) init = add(init, in[static_cast<std::size_t>(i)]);
      return init;
    };
    const auto wrong = [&](std::int32_t value) { return !reference::same_value(value, reference.total()); };
    EXPECT_FALSE(wrong(sum(0, n, 5)));
    EXPECT_TRUE(wrong(sum(0, n, 0))) << "without its initial value";
    EXPECT_TRUE(wrong(sum(0, n, 10))) << "its initial value for each of two threads";
    EXPECT_TRUE(wrong(sum(1, n, 5)));
    EXPECT_TRUE(wrong(sum(0, n - 1, 5)));
    EXPECT_TRUE(wrong(sum(0, n / kTile * kTile, 5))) << "without the last tile";
    EXPECT_TRUE(wrong(sum(0, kTile, sum(0, n, 5)))) << "a tile twice";
  }
}

// ------------------------------------------------------------------------------------------------------ ragged offsets

using Offsets = std::function<Failure(const Bounds<std::int64_t>&, std::int64_t* offsets)>;

Failure right_offsets(const Bounds<std::int64_t>& lists, std::int64_t* offsets) {
  offsets[0] = 0;
  for (std::int64_t i = 0; i < std::ssize(lists.starts); ++i) {
    const std::int64_t start = lists.starts[static_cast<std::size_t>(i)];
    const std::int64_t stop = lists.stops[static_cast<std::size_t>(i)];
    std::int64_t length = 0;
    if (stop < start) return {Code::stop_before_start, i};
    if (__builtin_sub_overflow(stop, start, &length)) return {Code::overflow, i};
    if (__builtin_add_overflow(offsets[i], length, &offsets[i + 1])) return {Code::overflow, i};
  }
  return {};
}

bool caught(const Offsets& run, const Bounds<std::int64_t>& lists) {
  const auto n = std::ssize(lists.starts);
  const auto expected = tests::expected_offsets(lists.starts.data(), lists.stops.data(), n);
  Guarded<std::int64_t> offsets(n + 1, n % 5);
  const Failure outcome = run(lists, offsets.data());
  const bool complained = !tests::complaint(expected, outcome, offsets.data()).empty();
  if (expected.outcome.code == Code::ok && outcome.code == Code::ok) {
    // Two checks, which must agree.
    const auto wrong = impl::offsets::first_wrong(lists.starts.data(), lists.stops.data(), n, offsets.data());
    EXPECT_EQ(complained, wrong != kNoIndex);
  }
  return complained || !offsets.intact();
}

Bounds<std::int64_t> random_lists() { return tests::make_lists<std::int64_t>(ListPattern::random, kLength, 5); }

/// Lists of which two are invalid, for the same reason.
Bounds<std::int64_t> bad_lists(std::int64_t first, std::int64_t second) {
  auto lists = random_lists();
  for (const std::int64_t at : {first, second}) {
    lists.starts[static_cast<std::size_t>(at)] = 8;
    lists.stops[static_cast<std::size_t>(at)] = 7;
  }
  return lists;
}

Bounds<std::int64_t> overflowing_lists() {
  auto lists = random_lists();
  lists.starts[kTile] = 0;
  lists.stops[kTile] = std::numeric_limits<std::int64_t>::max();
  return lists;
}

TEST(OffsetsMutants, TheRightOffsetsPass) {
  for (const ListPattern pattern : tests::kListPatterns) {
    for (const std::int64_t n : {std::int64_t{0}, std::int64_t{1}, kLength}) {
      EXPECT_FALSE(caught(right_offsets, tests::make_lists<std::int64_t>(pattern, n)));
    }
  }
  EXPECT_FALSE(caught(right_offsets, bad_lists(0, kLength - 1)));
  EXPECT_FALSE(caught(right_offsets, bad_lists(kLength - 1, 3 * kTile)));
  EXPECT_FALSE(caught(right_offsets, overflowing_lists()));
}

TEST(OffsetsMutants, WrongOffsetsAreCaught) {
  const auto lists = random_lists();
  const auto expect_caught = [&](const char* what, const std::function<void(std::int64_t*, std::int64_t)>& spoil) {
    EXPECT_TRUE(caught(
        [&](const Bounds<std::int64_t>& all, std::int64_t* offsets) {
          const Failure outcome = right_offsets(all, offsets);
          spoil(offsets, std::ssize(all.starts));
          return outcome;
        },
        lists))
        << what;
  };
  expect_caught("one place early", [](auto* offsets, auto n) { std::rotate(offsets, offsets + 1, offsets + n + 1); });
  expect_caught("one place late", [](auto* offsets, auto n) { std::rotate(offsets, offsets + n, offsets + n + 1); });
  expect_caught("no zero in front", [](auto* offsets, auto) { offsets[0] = -1; });
  expect_caught("the last offset wrong", [](auto* offsets, auto n) { ++offsets[n]; });
  expect_caught("the last offset missing", [](auto* offsets, auto n) { offsets[n] = offsets[n + 1]; });
  expect_caught("an offset in the middle wrong", [](auto* offsets, auto n) { --offsets[n / 2]; });
  expect_caught("a tile left out", [](auto* offsets, auto) { std::fill_n(offsets + kTile, kTile, 0); });
  expect_caught("a carry lost at a tile", [](auto* offsets, auto n) {
    const std::int64_t carry = offsets[kTile];
    for (std::int64_t i = kTile + 1; i <= n; ++i) offsets[i] -= carry;
  });
  expect_caught("one offset too many", [](auto* offsets, auto n) { offsets[n + 1] = offsets[n]; });
  expect_caught("one offset in front", [](auto* offsets, auto) { offsets[-1] = 0; });
  EXPECT_TRUE(caught([](const Bounds<std::int64_t>&, std::int64_t*) { return Failure{}; }, lists)) << "untouched";
}

TEST(OffsetsMutants, OffsetsIn32BitsAreCaught) {
  const std::vector<std::int64_t> starts(1000, 0);
  const Bounds<std::int64_t> lists{starts, std::vector<std::int64_t>(1000, 1 << 30)};
  EXPECT_FALSE(caught(right_offsets, lists));
  EXPECT_TRUE(caught(
      [](const Bounds<std::int64_t>& all, std::int64_t* offsets) {
        const Failure outcome = right_offsets(all, offsets);
        for (std::int64_t i = 0; i <= std::ssize(all.starts); ++i) offsets[i] = static_cast<std::int32_t>(offsets[i]);
        return outcome;
      },
      lists));
}

TEST(OffsetsMutants, WrongErrorsAreCaught) {
  const auto expect_caught = [](const char* what, const std::function<Failure(Failure)>& spoil) {
    for (const auto& lists : {bad_lists(kTile, 3 * kTile), bad_lists(1, 2), overflowing_lists()}) {
      EXPECT_TRUE(caught(
          [&](const Bounds<std::int64_t>& all, std::int64_t* offsets) { return spoil(right_offsets(all, offsets)); },
          lists))
          << what;
    }
  };
  expect_caught("the list after", [](Failure outcome) { return Failure{outcome.code, outcome.index + 1}; });
  expect_caught("the list before", [](Failure outcome) { return Failure{outcome.code, outcome.index - 1}; });
  expect_caught("no index", [](Failure outcome) { return Failure{outcome.code, kNoIndex}; });
  expect_caught("nothing noticed", [](Failure) { return Failure{}; });
  expect_caught("another error", [](Failure outcome) {
    return Failure{outcome.code == Code::overflow ? Code::stop_before_start : Code::overflow, outcome.index};
  });
}

TEST(OffsetsMutants, TheLastBadListForTheFirstIsCaught) {
  const auto last_bad = [](const Bounds<std::int64_t>& lists, std::int64_t* offsets) {
    Failure outcome = right_offsets(lists, offsets);
    for (std::int64_t i = 0; i < std::ssize(lists.starts); ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (lists.stops[at] < lists.starts[at]) outcome.index = i;
    }
    return outcome;
  };
  EXPECT_FALSE(caught(last_bad, bad_lists(kTile, kTile))) << "a single invalid list is the first and the last";
  EXPECT_TRUE(caught(last_bad, bad_lists(kTile, kTile + 1)));
  EXPECT_TRUE(caught(last_bad, bad_lists(4 * kTile, 2)));
}

TEST(OffsetsMutants, WrongOffsetsBeforeAnErrorAreCaught) {
  for (const std::int64_t spoiled : {std::int64_t{0}, std::int64_t{1}, kTile - 1, kTile}) {
    EXPECT_TRUE(caught(
        [&](const Bounds<std::int64_t>& lists, std::int64_t* offsets) {
          const Failure outcome = right_offsets(lists, offsets);
          ++offsets[spoiled];
          return outcome;
        },
        bad_lists(kTile, 3 * kTile)))
        << spoiled;
  }
  // Offsets after the invalid list are unspecified.
  EXPECT_FALSE(caught(
      [&](const Bounds<std::int64_t>& lists, std::int64_t* offsets) {
        const Failure outcome = right_offsets(lists, offsets);
        std::fill(offsets + kTile + 1, offsets + kLength + 1, -1);
        return outcome;
      },
      bad_lists(kTile, 3 * kTile)));
}

TEST(OffsetsMutants, AnOverflowThatWrapsAroundIsCaught) {
  const auto wrapping = [](const Bounds<std::int64_t>& lists, std::int64_t* offsets) {
    offsets[0] = 0;
    for (std::int64_t i = 0; i < std::ssize(lists.starts); ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (lists.stops[at] < lists.starts[at]) return Failure{Code::stop_before_start, i};
      offsets[i + 1] = static_cast<std::int64_t>(static_cast<std::uint64_t>(offsets[i]) +
                                                 static_cast<std::uint64_t>(lists.stops[at]) -
                                                 static_cast<std::uint64_t>(lists.starts[at]));
    }
    return Failure{};
  };
  EXPECT_FALSE(caught(wrapping, random_lists()));
  EXPECT_TRUE(caught(wrapping, overflowing_lists()));
  EXPECT_TRUE(caught(wrapping, {{-5}, {std::numeric_limits<std::int64_t>::max()}}));
}

// ------------------------------------------------------------------------------------------------------- filtered sums

using tests::RowPattern;
using tests::Rows;
using Select = std::function<std::int64_t(const Rows& rows, std::uint32_t limit)>;

/// The loop that every mutant is made from, over rows first … last-1.
std::int64_t right_select(const Rows& rows, std::uint32_t limit, std::int64_t first, std::int64_t last) {
  std::uint64_t sum = 0;
  for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
    if (rows.key[i] < limit) {
      sum += static_cast<std::uint64_t>(rows.quantity[i]) * static_cast<std::uint64_t>(rows.price[i]);
    }
  }
  return static_cast<std::int64_t>(sum);
}

/// A mutant that reads the correct rows, but sums `term` of each row.
Select select_of(const std::function<std::uint64_t(const Rows&, std::size_t, std::uint32_t)>& term) {
  return [term](const Rows& rows, std::uint32_t limit) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < rows.key.size(); ++i) sum += term(rows, i, limit);
    return static_cast<std::int64_t>(sum);
  };
}

/// Whether the checks of the rung tests detect an error with n rows.
bool caught(const Select& select, std::int64_t n) {
  bool objects = false;
  for (const RowPattern pattern : tests::kRowPatterns) {
    const Rows rows = tests::make_rows(pattern, n, 2);
    for (const std::uint32_t limit : tests::kLimits) objects |= select(rows, limit) != rows.sum(limit);
  }
  return objects;
}

TEST(FilteredSumMutants, TheRightSumPasses) {
  for (const std::int64_t n : {std::int64_t{0}, std::int64_t{1}, std::int64_t{65}, kLength}) {
    EXPECT_FALSE(
        caught([](const Rows& rows, std::uint32_t limit) { return right_select(rows, limit, 0, rows.count()); }, n));
  }
}

TEST(FilteredSumMutants, RowsThatAreLeftOutAreCaught) {
  const auto without = [](std::int64_t first, std::int64_t last) -> Select {
    return [first, last](const Rows& rows, std::uint32_t limit) {
      const auto all = static_cast<std::uint64_t>(right_select(rows, limit, 0, rows.count()));
      return static_cast<std::int64_t>(all - static_cast<std::uint64_t>(right_select(rows, limit, first, last)));
    };
  };
  EXPECT_TRUE(caught(without(0, kLength), kLength)) << "nothing is summed";
  for (const std::int64_t row : {std::int64_t{0}, kTile - 1, kTile, kLength / 2, kLength - 1}) {
    EXPECT_TRUE(caught(without(row, row + 1), kLength)) << "row " << row;
  }
  for (std::int64_t tile = 0; tile * kTile < kLength; ++tile) {
    EXPECT_TRUE(caught(without(tile * kTile, std::min(kLength, (tile + 1) * kTile)), kLength)) << "tile " << tile;
  }
  EXPECT_TRUE(caught(without(kLength / 16 * 16, kLength), kLength)) << "the elements after whole vectors";
}

TEST(FilteredSumMutants, WrongTermsAreCaught) {
  const auto product = [](const Rows& rows, std::size_t i) {
    return static_cast<std::uint64_t>(rows.quantity[i]) * static_cast<std::uint64_t>(rows.price[i]);
  };
  const auto expect_caught = [](const char* what, const Select& select) {
    EXPECT_TRUE(caught(select, kLength)) << what;
  };
  expect_caught("the predicate is not asked",
                select_of([&](const Rows& rows, std::size_t i, std::uint32_t) { return product(rows, i); }));
  expect_caught("<= for <", select_of([&](const Rows& rows, std::size_t i, std::uint32_t limit) {
                  return rows.key[i] <= limit ? product(rows, i) : 0;
                }));
  expect_caught("keys compared with signs", select_of([&](const Rows& rows, std::size_t i, std::uint32_t limit) {
                  const bool below = static_cast<std::int32_t>(rows.key[i]) < static_cast<std::int32_t>(limit);
                  return below ? product(rows, i) : 0;
                }));
  expect_caught("quantities in 32 bits", select_of([&](const Rows& rows, std::size_t i, std::uint32_t limit) {
                  const auto narrow = static_cast<std::uint64_t>(static_cast<std::int32_t>(rows.quantity[i]));
                  return rows.key[i] < limit ? narrow * static_cast<std::uint64_t>(rows.price[i]) : 0;
                }));
  expect_caught("prices in 32 bits", select_of([&](const Rows& rows, std::size_t i, std::uint32_t limit) {
                  const auto narrow = static_cast<std::uint64_t>(static_cast<std::uint32_t>(rows.price[i]));
                  return rows.key[i] < limit ? narrow * static_cast<std::uint64_t>(rows.quantity[i]) : 0;
                }));
  expect_caught("the price of the next row", select_of([&](const Rows& rows, std::size_t i, std::uint32_t limit) {
                  const std::size_t next = (i + 1) % rows.key.size();
                  return rows.key[i] < limit ? static_cast<std::uint64_t>(rows.quantity[i]) *
                                                   static_cast<std::uint64_t>(rows.price[next])
                                             : 0;
                }));
  expect_caught("the key of the row before", select_of([&](const Rows& rows, std::size_t i, std::uint32_t limit) {
                  return rows.key[i == 0 ? 0 : i - 1] < limit ? product(rows, i) : 0;
                }));
  expect_caught("a row counted twice", select_of([&](const Rows& rows, std::size_t i, std::uint32_t limit) {
                  return rows.key[i] < limit ? product(rows, i) * (i == kTile ? 2 : 1) : 0;
                }));
}

TEST(FilteredSumMutants, OneRowTooManyIsCaught) {
  EXPECT_TRUE(caught(
      [](const Rows& rows, std::uint32_t limit) {
        // The columns are followed by poison, which small limits never keep and the largest limit always keeps.
        const auto sum = static_cast<std::uint64_t>(right_select(rows, limit, 0, rows.count()));
        const std::uint64_t poison = 0xA5A5A5A5A5A5A5A5U;
        return static_cast<std::int64_t>(0xA5A5A5A5U < limit ? sum + poison * poison : sum);
      },
      kLength));
}

// --------------------------------------------------------------------------------------------------------- subset sums

using Items = std::vector<std::int64_t>;
using Fill = std::function<void(const Items& items, std::int64_t limit, std::uint64_t* sums)>;
/// Computes word w of the bitmap with an item from the bitmap without it.
using ShiftAndOr =
    std::function<std::uint64_t(const std::vector<std::uint64_t>& old, std::int64_t w, std::int64_t item)>;

std::uint64_t word_at(const std::vector<std::uint64_t>& words, std::int64_t w) {
  return w >= 0 && w < std::ssize(words) ? words[static_cast<std::size_t>(w)] : 0;
}

/// The old word, and the bits that the item moves there from two lower words.
std::uint64_t right_word(const std::vector<std::uint64_t>& old, std::int64_t w, std::int64_t item) {
  const std::int64_t source = w - item / 64;
  const auto shift = static_cast<unsigned>(item % 64);
  return word_at(old, w) | word_at(old, source) << shift | word_at(old, source - 1) >> 1 >> (63 - shift);
}

void keep_up_to(std::int64_t limit, std::uint64_t* sums) {
  if (limit % 64 != 63) sums[limit / 64] &= (std::uint64_t{1} << (limit % 64 + 1)) - 1;
}

/// The loop that every mutant is made from: a shift and an OR per item, from one bitmap into the next.
Fill fill_by(const ShiftAndOr& word, std::uint64_t start = 1) {
  return [word, start](const Items& items, std::int64_t limit, std::uint64_t* sums) {
    std::vector<std::uint64_t> old(static_cast<std::size_t>(limit / 64 + 1));
    old[0] = start;
    std::vector<std::uint64_t> next = old;
    for (const std::int64_t item : items) {
      for (std::int64_t w = 0; w < std::ssize(old); ++w) next[static_cast<std::size_t>(w)] = word(old, w, item);
      old = next;
    }
    std::copy(old.begin(), old.end(), sums);
    keep_up_to(limit, sums);
  };
}
void right_fill(const Items& items, std::int64_t limit, std::uint64_t* sums) {
  fill_by(right_word)(items, limit, sums);
}

/// A mutant that changes the correct bitmap, and one that fills the bitmap of other items.
template <class Spoil>
Fill spoiled(Spoil spoil) {
  return [spoil](const Items& items, std::int64_t limit, std::uint64_t* sums) {
    right_fill(items, limit, sums);
    spoil(sums, limit / 64 + 1, limit);
  };
}
template <class Change>
Fill of_other_items(Change change) {
  return [change](Items items, std::int64_t limit, std::uint64_t* sums) {
    if (!items.empty()) change(items);
    right_fill(items, limit, sums);
  };
}

/// Whether the checks of the rung tests detect an error.
bool caught(const Fill& fill) {
  bool objects = false;
  std::mt19937_64 random(1);
  for (const std::int64_t limit : {0, 1, 2, 62, 63, 64, 65, 127, 128, 129, 511, 512, 513, 4095, 4096, 4097}) {
    std::vector<Items> instances{{}, {64, 64, 64, 64}, {1, 1, 1, 1, 1, 1, 1}, {limit + 1, limit + 64, 3}};
    for (const std::int64_t item : {1, 2, 63, 64, 65, 127, 128, 512, 4096, 5000}) instances.push_back({item});
    Items some(15);
    for (auto& item : some) item = 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit + 2));
    instances.push_back(some);
    for (const Items& items : instances) {
      Guarded<std::uint64_t> sums(limit / 64 + 1, limit % 3);
      fill(items, limit, sums.data());
      const auto expected = impl::subset_sum::expected_sums(items, limit);
      objects |= impl::subset_sum::first_wrong(expected, sums.data()) != -1 || !sums.intact();
    }
  }
  return objects;
}

TEST(SubsetSumMutants, TheRightBitmapPasses) { EXPECT_FALSE(caught(right_fill)); }

TEST(SubsetSumMutants, WrongShiftsAreCaught) {
  const auto expect_caught = [](const char* what, const ShiftAndOr& word) {
    EXPECT_TRUE(caught(fill_by(word))) << what;
  };
  expect_caught("no item is added", [](const auto& old, auto w, auto) { return word_at(old, w); });
  expect_caught("sums without the item are lost",
                [](const auto& old, auto w, auto item) { return right_word(old, w, item) & ~word_at(old, w); });
  expect_caught("nothing crosses a word", [](const auto& old, auto w, auto item) {
    return word_at(old, w) | word_at(old, w - item / 64) << (item % 64);
  });
  expect_caught("only what crosses a word", [](const auto& old, auto w, auto item) {
    return word_at(old, w) | word_at(old, w - item / 64 - 1) >> 1 >> (63 - item % 64);
  });
  expect_caught("a shift by 64 is none", [](const auto& old, auto w, auto item) {
    const std::int64_t source = w - item / 64;
    return word_at(old, w) | word_at(old, source) << (item % 64) | word_at(old, source - 1) >> ((64 - item % 64) % 64);
  });
  expect_caught("items of whole words are not moved",
                [](const auto& old, auto w, auto item) { return right_word(old, w, item % 64); });
  expect_caught("one too far", [](const auto& old, auto w, auto item) { return right_word(old, w, item + 1); });
  expect_caught("one too near", [](const auto& old, auto w, auto item) { return right_word(old, w, item - 1); });
  expect_caught("a word too far", [](const auto& old, auto w, auto item) { return right_word(old, w, item + 64); });
  expect_caught("the first word is skipped",
                [](const auto& old, auto w, auto item) { return w == 0 ? word_at(old, w) : right_word(old, w, item); });
  expect_caught("the last word is skipped", [](const auto& old, auto w, auto item) {
    return w == std::ssize(old) - 1 ? word_at(old, w) : right_word(old, w, item);
  });
  expect_caught("a tile of words is skipped", [](const auto& old, auto w, auto item) {
    return w / 8 == 3 ? word_at(old, w) : right_word(old, w, item);
  });
  expect_caught("an item as large as the limit is left out", [](const auto& old, auto w, auto item) {
    return item / 64 == std::ssize(old) - 1 ? word_at(old, w) : right_word(old, w, item);
  });
}

TEST(SubsetSumMutants, WrongSetsOfItemsAreCaught) {
  const auto expect_caught = [](const char* what, const Fill& fill) { EXPECT_TRUE(caught(fill)) << what; };
  expect_caught("the first item left out", of_other_items([](Items& items) { items.erase(items.begin()); }));
  expect_caught("the last item left out", of_other_items([](Items& items) { items.pop_back(); }));
  expect_caught("an item twice", of_other_items([](Items& items) { items.push_back(items.back()); }));
  expect_caught("equal items once", of_other_items([](Items& items) {
                  std::sort(items.begin(), items.end());
                  items.erase(std::unique(items.begin(), items.end()), items.end());
                }));
  expect_caught("every item as often as one likes", [](const Items& items, std::int64_t limit, std::uint64_t* sums) {
    std::fill_n(sums, limit / 64 + 1, 0);
    sums[0] = 1;
    for (const std::int64_t item : items) {  // in place, from the smallest sum up
      for (std::int64_t sum = item; sum <= limit; ++sum) {
        sums[sum / 64] |= (sums[(sum - item) / 64] >> ((sum - item) % 64) & 1) << (sum % 64);
      }
    }
  });
  expect_caught("without the sum 0", fill_by(right_word, 0));
  expect_caught("with a sum 1", fill_by(right_word, 3));
}

TEST(SubsetSumMutants, WrongWordsAreCaught) {
  const auto expect_caught = [](const char* what, const Fill& fill) { EXPECT_TRUE(caught(fill)) << what; };
  expect_caught("untouched", [](const Items&, std::int64_t, std::uint64_t*) {});
  expect_caught("all zeros", spoiled([](auto* sums, auto words, auto) { std::fill_n(sums, words, 0); }));
  expect_caught("all ones", spoiled([](auto* sums, auto words, auto limit) {
                  std::fill_n(sums, words, ~std::uint64_t{0});
                  keep_up_to(limit, sums);
                }));
  expect_caught("the limit itself is not there",
                spoiled([](auto* sums, auto, auto limit) { sums[limit / 64] &= ~(std::uint64_t{1} << (limit % 64)); }));
  expect_caught("a sum past the limit", spoiled([](auto* sums, auto, auto limit) {
                  if (limit % 64 != 63) sums[limit / 64] |= std::uint64_t{1} << (limit % 64 + 1);
                }));
  expect_caught("ones past the limit", spoiled([](auto* sums, auto, auto limit) {
                  if (limit % 64 != 63) sums[limit / 64] |= ~std::uint64_t{0} << (limit % 64 + 1);
                }));
  expect_caught("one bit in the middle", spoiled([](auto* sums, auto words, auto limit) {
                  sums[words / 2] ^= std::uint64_t{1} << (limit / 2 % 64);
                  keep_up_to(limit, sums);
                }));
  expect_caught("halves of words the wrong way round", spoiled([](auto* sums, auto words, auto) {
                  for (std::int64_t w = 0; w < words; ++w) sums[w] = sums[w] << 32 | sums[w] >> 32;
                }));
  expect_caught("a word past the end", spoiled([](auto* sums, auto words, auto) { sums[words] = 0; }));
  expect_caught("a byte past the end",
                spoiled([](auto* sums, auto words, auto) { *reinterpret_cast<unsigned char*>(sums + words) ^= 1U; }));
  expect_caught("a word in front", spoiled([](auto* sums, auto, auto) { sums[-1] = 1; }));
}

// ------------------------------------------------------------------------------------------------ segmented_reduce

using ListOffsets = std::vector<std::int64_t>;
/// Writes the sum of every list to sums.
using SumLists = std::function<void(const ListOffsets&, const std::vector<float>&, float* sums)>;

/// Computes sum(content, offsets, list) of each list.
SumLists sums_of(const std::function<float(const std::vector<float>&, const ListOffsets&, std::size_t list)>& sum) {
  return [sum](const ListOffsets& offsets, const std::vector<float>& content, float* sums) {
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) sums[i] = sum(content, offsets, i);
  };
}

float sum_between(const std::vector<float>& content, std::int64_t first, std::int64_t last) {
  return reference::expected_fold(content.data(), first, last, add, 0.0F);
}

/// Whether the checks of the rung tests detect an error: patterns, sizes, and bits of sums that round.
bool caught(const SumLists& sum) {
  bool objects = false;
  for (const auto pattern :
       {upsweep::ListPattern::poisson, upsweep::ListPattern::zero_to_4, upsweep::ListPattern::pareto,
        upsweep::ListPattern::giants, upsweep::ListPattern::fixed1000, upsweep::ListPattern::one}) {
    for (const std::int64_t n : {1, 9, 33, 771, 4097, 20001}) {
      const ListOffsets offsets = generated_offsets(pattern, n);
      const auto content = tests::rounded<float>(n, 3);
      Guarded<float> sums(std::ssize(offsets) - 1);
      sum(offsets, content, sums.data());
      for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
        const float right = sum_between(content, offsets[i], offsets[i + 1]);
        // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): the bits are promised
        objects |= std::memcmp(&right, &sums.span()[i], sizeof right) != 0;
      }
      objects |= !sums.intact();
    }
  }
  return objects;
}

TEST(SegmentedReduceMutants, TheRightSumsPass) {
  EXPECT_FALSE(caught(sums_of(
      [](const auto& x, const ListOffsets& offsets, auto i) { return sum_between(x, offsets[i], offsets[i + 1]); })));
}

TEST(SegmentedReduceMutants, WrongElementsAreCaught) {
  const auto expect_caught = [](const char* what, const auto& sum) { EXPECT_TRUE(caught(sums_of(sum))) << what; };
  expect_caught("the last element left out", [](const auto& x, const ListOffsets& offsets, auto i) {
    return sum_between(x, offsets[i], std::max(offsets[i], offsets[i + 1] - 1));
  });
  expect_caught("the first element left out", [](const auto& x, const ListOffsets& offsets, auto i) {
    return sum_between(x, std::min(offsets[i] + 1, offsets[i + 1]), offsets[i + 1]);
  });
  expect_caught("the next list's first element too", [](const auto& x, const ListOffsets& offsets, auto i) {
    return sum_between(x, offsets[i], std::min(offsets[i + 1] + 1, offsets.back()));
  });
  expect_caught("the ninth element left out", [](const auto& x, const ListOffsets& offsets, auto i) {
    const std::int64_t first = offsets[i];
    const std::int64_t last = offsets[i + 1];
    return last - first < 9 ? sum_between(x, first, last)
                            : sum_between(x, first, first + 8) + sum_between(x, first + 9, last);
  });
  expect_caught("the list before it", [](const auto& x, const ListOffsets& offsets, auto i) {
    return i == 0 ? 0.0F : sum_between(x, offsets[i - 1], offsets[i]);
  });
  expect_caught("an empty list has the sum before it", [](const auto& x, const ListOffsets& offsets, auto i) {
    while (i > 0 && offsets[i] == offsets[i + 1]) --i;
    return sum_between(x, offsets[i], offsets[i + 1]);
  });
}

TEST(SegmentedReduceMutants, WrongOrdersAreCaught) {
  const auto expect_caught = [](const char* what, const auto& sum) { EXPECT_TRUE(caught(sums_of(sum))) << what; };
  expect_caught("backwards", [](const auto& x, const ListOffsets& offsets, auto i) {
    float sum = 0;
    for (std::int64_t j = offsets[i + 1]; j-- > offsets[i];) sum += x[static_cast<std::size_t>(j)];
    return sum;
  });
  expect_caught("in double precision", [](const auto& x, const ListOffsets& offsets, auto i) {
    double sum = 0;
    for (std::int64_t j = offsets[i]; j < offsets[i + 1]; ++j) sum += x[static_cast<std::size_t>(j)];
    return static_cast<float>(sum);
  });
  expect_caught("long lists never cut", [](const auto& x, const ListOffsets& offsets, auto i) {
    float sum = 0;
    for (std::int64_t j = offsets[i]; j < offsets[i + 1]; ++j) sum += x[static_cast<std::size_t>(j)];
    return sum;
  });
  expect_caught("cut by positions in the content", [](const auto& x, const ListOffsets& offsets, auto i) {
    constexpr std::int64_t kBlock = reference::kSerialElements;
    float sum = 0;
    for (std::int64_t j = offsets[i]; j < offsets[i + 1];) {
      const std::int64_t end = std::min(offsets[i + 1], (j / kBlock + 1) * kBlock);
      sum += sum_between(x, j, end);
      j = end;
    }
    return sum;
  });
}

TEST(SegmentedReduceMutants, WritesOutsideAreCaught) {
  const auto right = sums_of(
      [](const auto& x, const ListOffsets& offsets, auto i) { return sum_between(x, offsets[i], offsets[i + 1]); });
  EXPECT_TRUE(caught([](const ListOffsets&, const std::vector<float>&, float*) {})) << "nothing is written";
  EXPECT_TRUE(caught([&](const ListOffsets& offsets, const std::vector<float>& x, float* sums) {
    right(offsets, x, sums);
    sums[offsets.size() - 1] = 0;
  })) << "a sum past the end";
}

// ---------------------------------------------------------------------------------------------------------- selections

using ListSelect = std::function<std::int64_t(const Lists& lists, const Mask& mask, std::int64_t* out_offsets,
                                              std::span<const SelectColumn> columns)>;

void copy_element(const SelectColumn& column, std::int64_t from, std::int64_t to) {
  std::memcpy(static_cast<std::byte*>(column.out) + to * column.element_size,
              static_cast<const std::byte*>(column.data) + from * column.element_size,
              static_cast<std::size_t>(column.element_size));
}

/// The loop that every mutant is made from, over int64 bounds; keeps(j) represents the mask.
template <class Keeps>
std::int64_t select_by(const Lists& lists, std::int64_t* out_offsets, std::span<const SelectColumn> columns,
                       std::int64_t capacity, Keeps keeps) {
  const auto* const starts = static_cast<const std::int64_t*>(lists.starts);
  const auto* const stops = static_cast<const std::int64_t*>(lists.stops);
  std::int64_t kept = 0;
  out_offsets[0] = 0;
  for (std::int64_t i = 0; i < lists.count; ++i) {
    const bool is_null = lists.valid.is_given() && !lists.valid[i];
    for (std::int64_t j = starts[i]; !is_null && j < stops[i]; ++j) {
      if (!keeps(j) || kept == capacity) continue;
      for (const SelectColumn& column : columns) copy_element(column, j, kept);
      ++kept;
    }
    out_offsets[i + 1] = kept;
  }
  return kept;
}

std::int64_t right_selection(const Lists& lists, const Mask& mask, std::int64_t* out_offsets,
                             std::span<const SelectColumn> columns) {
  return select_by(lists, out_offsets, columns, columns[0].capacity, [&](std::int64_t j) { return mask[j]; });
}

/// Whether the checks of the rung tests detect an error, on some of their lists and masks.
bool objects_to(const ListSelect& select) {
  for (const upsweep::ListPattern pattern : {upsweep::ListPattern::poisson, upsweep::ListPattern::fixed32}) {
    for (const std::int64_t n : {0, 1, 64, 1000}) {
      for (const unsigned share : {50U, 100U}) {
        const tests::Selection adjacent = tests::adjacent_lists(pattern, n, share, 3, 2);
        const tests::Selection nulls = tests::shuffled(adjacent, true);
        for (const std::int64_t first_bit : {-1, 5}) {
          if (!tests::complaint<std::int64_t, double>(adjacent, true, first_bit, 1, select).empty()) return true;
          if (!tests::complaint<std::int64_t, double>(nulls, false, first_bit, 1, select).empty()) return true;
        }
      }
    }
  }
  return false;
}

TEST(SelectMutants, TheRightSelectionPasses) { EXPECT_FALSE(objects_to(right_selection)); }

TEST(SelectMutants, WrongSelectionsAreCaught) {
  /// Makes a correct selection, then changes it.
  const auto spoiled = [](auto spoil) {
    return [spoil](const Lists& lists, const Mask& mask, std::int64_t* offsets, std::span<const SelectColumn> columns) {
      const std::int64_t kept = right_selection(lists, mask, offsets, columns);
      if (kept > 1) spoil(lists.count, kept, offsets, columns);
      return kept;
    };
  };
  const auto bytes_of = [](const SelectColumn& column) { return static_cast<std::byte*>(column.out); };
  EXPECT_TRUE(objects_to([](const Lists&, const Mask&, std::int64_t*, auto) { return 0; })) << "nothing done";
  EXPECT_TRUE(objects_to([](const Lists& lists, const Mask& mask, std::int64_t* offsets, auto columns) {
    return select_by(lists, offsets, columns, columns[0].capacity, [&](std::int64_t j) { return !mask[j]; });
  })) << "the elements that the mask drops are kept";
  EXPECT_TRUE(objects_to([](const Lists& lists, const Mask& mask, std::int64_t* offsets, auto columns) {
    Mask from_start = mask;
    from_start.first_bit = 0;
    return right_selection(lists, from_start, offsets, columns);
  })) << "the first bit of a bitmap is ignored";
  EXPECT_TRUE(objects_to([](const Lists& lists, const Mask& mask, std::int64_t* offsets, auto columns) {
    return select_by(lists, offsets, columns, columns[0].capacity,
                     [&](std::int64_t j) { return mask.is_bitmap ? mask[j] : mask.data[j] == 1; });
  })) << "bytes other than 1 are false";
  EXPECT_TRUE(objects_to([](const Lists& lists, const Mask& mask, std::int64_t* offsets, auto columns) {
    return right_selection(lists.with_validity({}), mask, offsets, columns);
  })) << "null lists are kept";
  EXPECT_TRUE(objects_to([](const Lists& lists, const Mask& mask, std::int64_t* offsets, auto columns) {
    return right_selection(lists, mask, offsets, columns.subspan(0, 1));
  })) << "one column is left out";
  EXPECT_TRUE(objects_to(spoiled([](std::int64_t n, std::int64_t, std::int64_t* offsets, auto) { ++offsets[n]; })))
      << "the last offset";
  EXPECT_TRUE(objects_to(spoiled([](std::int64_t n, std::int64_t, std::int64_t* offsets, auto) {
    offsets[n + 1] = 0;
  }))) << "an offset too many";
  EXPECT_TRUE(objects_to(spoiled([&](std::int64_t, std::int64_t kept, std::int64_t*, auto columns) {
    bytes_of(columns[0])[(kept - 1) * 8] ^= std::byte{1};
  }))) << "the last element";
  EXPECT_TRUE(objects_to(spoiled([&](std::int64_t, std::int64_t kept, std::int64_t*, auto columns) {
    bytes_of(columns[0])[kept * 8] = std::byte{0};
  }))) << "a byte past the end";
  EXPECT_TRUE(objects_to(spoiled([&](std::int64_t, std::int64_t, std::int64_t*, auto columns) {
    std::swap_ranges(bytes_of(columns[1]), bytes_of(columns[1]) + 2, bytes_of(columns[1]) + 2);
  }))) << "two elements are exchanged";
}

// --------------------------------------------------------------------------------------------------- partitions, takes

TEST(PartitionMutants, WrongOrdersAreCaught) {
  const std::vector<std::uint8_t> mask{0, 1, 4, 0, 1};
  const std::vector<std::int64_t> content{5, 6, 7, 8, 9};
  const auto wrong = [&](const std::vector<std::int64_t>& out) {
    return impl::partition::first_wrong(mask.data(), 5, content.data(), out.data());
  };
  EXPECT_EQ(wrong({6, 7, 9, 5, 8}), kNoIndex);
  EXPECT_EQ(wrong({6, 7, 9, 8, 5}), 3) << "the dropped elements in reverse order, as by CUB";
  EXPECT_EQ(wrong({5, 8, 6, 7, 9}), 0) << "the dropped elements first";
  EXPECT_EQ(wrong({6, 9, 5, 7, 8}), 1) << "bytes other than 1 are false";
  EXPECT_EQ(wrong({6, 7, 9, 6, 5}), 3) << "the dropped elements begin one position late";
  EXPECT_EQ(wrong({6, 7, 9, 5, 0}), 4) << "the last one is not moved";
  EXPECT_EQ(impl::partition::expected_partition({false, true, true, false, true}),
            (std::vector<std::int64_t>{1, 2, 4, 0, 3}));
}

TEST(TakeMutants, WrongPlacesAreCaught) {
  const std::vector<std::int64_t> offsets{0, 2, 5};
  const std::vector<std::int64_t> index_offsets{0, 2, 4};
  const std::vector<std::int32_t> indices{-1, 0, 2, -3};
  const std::vector<std::int64_t> content{5, 6, 7, 8, 9};
  const auto wrong = [&](const std::vector<std::int64_t>& out) {
    return impl::take::first_wrong(offsets.data(), index_offsets.data(), 2, indices.data(), content.data(), out.data());
  };
  EXPECT_EQ(wrong({6, 5, 9, 7}), kNoIndex);
  EXPECT_EQ(wrong({9, 5, 9, 7}), 0) << "negative indices count from the end of the content";
  EXPECT_EQ(wrong({6, 5, 7, 7}), 2) << "indices count from the beginning of the content";
  EXPECT_EQ(wrong({6, 5, 9, 8}), 3) << "a negative index is off by one";
  EXPECT_EQ(wrong({5, 6, 9, 7}), 0) << "two elements are exchanged";
}

// -------------------------------------------------------------------------------------------------------- packed lists

struct PackInput {
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> stops;
  std::vector<std::uint32_t> content;
};
using Pack = std::function<void(const PackInput& in, std::int64_t* offsets, std::uint32_t* out)>;
/// The position from which element j of list i is copied.
using PackSource = std::function<std::int64_t(const PackInput& in, std::size_t i, std::int64_t j)>;

std::int64_t right_source(const PackInput& in, std::size_t i, std::int64_t j) { return in.starts[i] + j; }

/// The loop that every mutant is made from.
Pack pack_by(const PackSource& source) {
  return [source](const PackInput& in, std::int64_t* offsets, std::uint32_t* out) {
    std::int64_t at = 0;
    offsets[0] = 0;
    for (std::size_t i = 0; i < in.starts.size(); ++i) {
      for (std::int64_t j = 0; j < in.stops[i] - in.starts[i]; ++j) {
        out[at++] = in.content[static_cast<std::size_t>(source(in, i, j)) % in.content.size()];
      }
      offsets[i + 1] = at;
    }
  };
}

template <class Spoil>
Pack spoiled_pack(Spoil spoil) {
  return [spoil](const PackInput& in, std::int64_t* offsets, std::uint32_t* out) {
    pack_by(right_source)(in, offsets, out);
    spoil(in, offsets, out);
  };
}

/// Whether the checks of the rung tests detect an error, on lists in any order with gaps.
bool caught(const Pack& pack) {
  PackInput in;
  std::int64_t at = 3;
  for (const std::int64_t length : tests::make_lengths(tests::LengthPattern::around, kLength)) {
    in.starts.push_back(at);
    in.stops.push_back(at + length);
    at += length + 1;
  }
  std::reverse(in.starts.begin(), in.starts.end());
  std::reverse(in.stops.begin(), in.stops.end());
  for (std::int64_t i = 0; i < at; ++i) in.content.push_back(static_cast<std::uint32_t>(i * 2654435761));
  std::int64_t total = 0;
  for (std::size_t i = 0; i < in.starts.size(); ++i) total += in.stops[i] - in.starts[i];
  const auto n = std::ssize(in.starts);
  Guarded<std::int64_t> offsets(n + 1);
  Guarded<std::uint32_t> out(total, 1);
  pack(in, offsets.data(), out.data());
  return impl::pack::first_wrong_offset(in.starts.data(), in.stops.data(), n, offsets.data()) != kNoIndex ||
         impl::pack::first_wrong_element(in.starts.data(), in.stops.data(), n, in.content.data(), out.data()) !=
             kNoIndex ||
         !offsets.intact() || !out.intact();
}

TEST(PackMutants, TheRightPackPasses) { EXPECT_FALSE(caught(pack_by(right_source))); }

TEST(PackMutants, WrongElementsAreCaught) {
  const auto expect_caught = [](const char* what, const Pack& pack) { EXPECT_TRUE(caught(pack)) << what; };
  expect_caught("one place late", pack_by([](const auto& in, auto i, auto j) { return in.starts[i] + j + 1; }));
  expect_caught("backwards", pack_by([](const auto& in, auto i, auto j) { return in.stops[i] - 1 - j; }));
  expect_caught("content in order", pack_by([](const auto& in, auto, auto j) { return in.starts.back() + j; }));
  expect_caught("whole vectors only", pack_by([](const auto& in, auto i, auto j) {
                  return in.starts[i] + (j < (in.stops[i] - in.starts[i]) / 16 * 16 || j == 0 ? j : 0);
                }));
  expect_caught("the last list is left out", pack_by([](const auto& in, auto i, auto j) {
                  return i + 1 == in.starts.size() ? 0 : in.starts[i] + j;
                }));
  expect_caught("a list's last vector runs into the next", spoiled_pack([](const auto& in, auto* offsets, auto* out) {
                  out[offsets[7]] = in.content[static_cast<std::size_t>(in.stops[6])];
                }));
}

TEST(PackMutants, WrongOffsetsAndStoresAreCaught) {
  const auto expect_caught = [](const char* what, const Pack& pack) { EXPECT_TRUE(caught(pack)) << what; };
  expect_caught("offsets from 1 on", spoiled_pack([](const auto&, auto* offsets, auto*) { ++offsets[0]; }));
  expect_caught("the last offset is not written",
                spoiled_pack([](const auto& in, auto* offsets, auto*) { offsets[in.starts.size()] = 0; }));
  expect_caught("an element past the end",
                spoiled_pack([](const auto& in, auto* offsets, auto* out) { out[offsets[in.starts.size()]] = 0; }));
  expect_caught("an element in front", spoiled_pack([](const auto&, auto*, auto* out) { out[-1] = 0; }));
}

// ----------------------------------------------------------------------------------------------------- sorts per list

TEST(SortMutants, WrongOrdersAreCaught) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> list{5, 0.0, kNan, -0.0, 3, 5, -kNan, -1};
  const std::vector<std::int64_t> right{7, 1, 3, 4, 0, 5, 2, 6};
  const auto caught = [&](std::vector<std::int64_t> order, bool descending = false, bool nan_first = false) {
    std::vector<double> sorted;
    sorted.reserve(order.size());
    for (const std::int64_t at : order) sorted.push_back(list[static_cast<std::size_t>(at)]);
    const auto n = std::ssize(list);
    const auto by_elements =
        impl::segmented_sort::first_wrong<double>(list.data(), n, descending, nan_first, sorted.data(), nullptr);
    const auto by_positions =
        impl::segmented_sort::first_wrong<double>(list.data(), n, descending, nan_first, nullptr, order.data());
    return std::pair(by_elements != kNoIndex, by_positions != kNoIndex);
  };
  constexpr std::pair kBoth(true, true);
  EXPECT_EQ(caught(right), std::pair(false, false));
  EXPECT_EQ(caught({0, 5, 4, 1, 3, 7, 2, 6}, true), std::pair(false, false));
  EXPECT_EQ(caught({2, 6, 7, 1, 3, 4, 0, 5}, false, true), std::pair(false, false));
  EXPECT_EQ(caught({2, 6, 0, 5, 4, 1, 3, 7}, true, true), std::pair(false, false));
  EXPECT_EQ(caught({0, 1, 2, 3, 4, 5, 6, 7}), kBoth) << "as it came";
  EXPECT_EQ(caught({7, 3, 1, 4, 0, 5, 2, 6}), kBoth) << "-0.0 before the 0.0 that came first";
  EXPECT_EQ(caught({7, 1, 3, 4, 0, 5, 6, 2}), kBoth) << "NaN at the other end";
  EXPECT_EQ(caught({2, 6, 7, 1, 3, 4, 0, 5}), kBoth) << "NaN first";
  EXPECT_EQ(caught({0, 5, 4, 1, 3, 7, 2, 6}), kBoth) << "descending";
  EXPECT_EQ(caught({6, 2, 5, 0, 4, 3, 1, 7}, true), kBoth) << "the ascending order reversed";
  EXPECT_EQ(caught({7, 1, 3, 4, 0, 0, 2, 6}), std::pair(false, true)) << "equal bits, another position";
  EXPECT_EQ(caught({7, 1, 1, 4, 0, 5, 2, 6}), kBoth) << "one twice";
}

// ----------------------------------------------------------------------------------------------------------- positions

TEST(BroadcastMutants, WrongElementsAreCaught) {
  const std::vector<std::int64_t> offsets{4, 6, 6, 9};
  const std::vector<std::int64_t> values{7, 8, 9};
  const auto wrong = [&](const std::vector<std::int64_t>& out, auto expected) {
    return impl::broadcast::first_wrong(offsets.data(), 3, out.data(), expected);
  };
  EXPECT_EQ(wrong({0, 1, 0, 1, 2}, impl::broadcast::LocalIndex{}), kNoIndex);
  EXPECT_EQ(wrong({0, 1, 2, 3, 4}, impl::broadcast::LocalIndex{}), 2) << "positions in the content";
  EXPECT_EQ(wrong({0, 1, 0, 1, 0}, impl::broadcast::LocalIndex{}), 4) << "the positions of a split list begin again";
  EXPECT_EQ(wrong({0, 0, 2, 2, 2}, impl::broadcast::Parent{}), kNoIndex);
  EXPECT_EQ(wrong({0, 0, 1, 1, 1}, impl::broadcast::Parent{}), 2) << "empty lists have no number";
  EXPECT_EQ(wrong({7, 7, 9, 9, 9}, impl::broadcast::ValueOf<std::int64_t>{values.data()}), kNoIndex);
  EXPECT_EQ(wrong({7, 8, 9, 9, 9}, impl::broadcast::ValueOf<std::int64_t>{values.data()}), 1)
      << "a list's last element is counted in the next list";
}

// -------------------------------------------------------------------------------------------------------------- by key

TEST(ByKeyMutants, WrongRunsAreCaught) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> keys{2, 2, 3, nan, nan, 2};
  const std::vector<int> values{1, 2, 4, 8, 16, 32};
  const auto offsets = impl::by_key::expected_offsets(keys.data(), 6);
  EXPECT_EQ(offsets, (std::vector<std::int64_t>{0, 2, 3, 5, 6})) << "NaN is one key, and a key may occur again";
  const auto wrong_fold = [&](const std::vector<double>& out_keys, const std::vector<int>& out) {
    return impl::by_key::first_wrong_fold(offsets, keys.data(), values.data(), out_keys.data(), out.data(), add, 0);
  };
  EXPECT_EQ(wrong_fold({2, 3, nan, 2}, {3, 4, 24, 32}), kNoIndex);
  EXPECT_EQ(wrong_fold({2, 3, nan, 2}, {35, 4, 24, 32}), 0) << "all runs of a key are added";
  EXPECT_EQ(wrong_fold({2, 3, nan, 2}, {3, 7, 24, 32}), 1) << "a run continues the previous one";
  EXPECT_EQ(wrong_fold({2, 3, 2, 2}, {3, 4, 24, 32}), 2) << "the next run's key";
  EXPECT_EQ(wrong_fold({2, 3, nan, 2}, {3, 4, 24, 0}), 3) << "the last run is left out";
  const auto wrong_scan = [&](const std::vector<int>& out, bool exclusive) {
    return impl::by_key::first_wrong_scan(offsets, values.data(), out.data(), add, 0, exclusive);
  };
  EXPECT_EQ(wrong_scan({1, 3, 4, 8, 24, 32}, false), kNoIndex);
  EXPECT_EQ(wrong_scan({0, 1, 0, 0, 8, 0}, true), kNoIndex);
  EXPECT_EQ(wrong_scan({1, 3, 7, 8, 24, 32}, false), 2) << "a run continues the previous one";
  EXPECT_EQ(wrong_scan({0, 1, 0, 0, 8, 24}, true), 5) << "the same, exclusive";
}

// --------------------------------------------------------------------------------------------------------------- group

TEST(GroupByMutants, WrongGroupsAreCaught) {
  const std::vector<std::int64_t> keys{7, 2, 7, 5, 2, 7};
  const std::vector<int> values{1, 2, 4, 8, 16, 32};
  const impl::group_by::ExpectedGroups<std::int64_t> groups(keys.data(), 6);
  EXPECT_EQ(groups.keys, (std::vector<std::int64_t>{7, 2, 5}));
  const auto folds = impl::group_by::expected_folds<int>(groups, values.data(), add);
  using Counts = std::vector<std::int64_t>;
  const auto wrong = [&](const std::vector<std::int64_t>& out_keys, const std::vector<int>& out, const Counts& counts) {
    return impl::group_by::first_wrong_group(groups, folds, out_keys.data(), out.data(), counts.data());
  };
  EXPECT_EQ(wrong({7, 2, 5}, {37, 18, 8}, {3, 2, 1}), kNoIndex);
  EXPECT_EQ(wrong({2, 5, 7}, {18, 8, 37}, {2, 1, 3}), 0) << "in the order of the keys";
  EXPECT_EQ(wrong({7, 2, 5}, {1, 2, 8}, {1, 1, 1}), 0) << "runs, and not groups";
  EXPECT_EQ(wrong({7, 2, 5}, {37, 2, 8}, {3, 2, 1}), 1) << "a row is left out";
  EXPECT_EQ(wrong({7, 2, 5}, {37, 18, 8}, {3, 2, 0}), 2) << "a row is not counted";
  EXPECT_EQ(wrong({7, 2, 2}, {37, 18, 8}, {3, 2, 1}), 2) << "another key with the same slot";
}

TEST(GroupByMutants, SumsOfFloatsThatAreFarOffAreCaught) {
  const std::vector<std::int64_t> keys{1, 2, 1};
  const std::vector<double> values{0.5, 2, 0.25};
  const impl::group_by::ExpectedGroups<std::int64_t> groups(keys.data(), 3);
  const auto far = [&](const std::vector<double>& out) {
    return impl::group_by::first_far_sum(groups, values.data(), groups.keys.data(), out.data(), nullptr);
  };
  EXPECT_EQ(far({0.75, 2}), kNoIndex);
  EXPECT_EQ(far({0.75 + 1e-16, 2}), kNoIndex);
  EXPECT_EQ(far({0.5, 2}), 0);
  EXPECT_EQ(far({0.75, std::numeric_limits<double>::quiet_NaN()}), 1) << "not a number";
}

// -------------------------------------------------------------------------------------------------------- combinations

using Tuples = std::vector<std::vector<std::int64_t>>;

Tuples expected_tuples(impl::combinations::ExpectedTuples::Kind kind, std::vector<std::int64_t> starts,
                       std::vector<std::int64_t> stops) {
  impl::combinations::ExpectedTuples expected(kind, std::ssize(starts));
  Tuples tuples;
  if (!expected.first(std::move(starts), std::move(stops))) return tuples;
  do {
    tuples.push_back(expected.tuple());
  } while (expected.next());
  return tuples;
}

TEST(CombinationMutants, WrongTuplesAreCaught) {
  using Kind = impl::combinations::ExpectedTuples::Kind;
  const Tuples pairs{{5, 6}, {5, 7}, {5, 8}, {6, 7}, {6, 8}, {7, 8}};
  const auto expected = expected_tuples(Kind::without_replacement, {5, 5}, {9, 9});
  EXPECT_EQ(expected, pairs);
  EXPECT_NE(expected, (Tuples{{5, 6}, {5, 7}, {6, 7}, {5, 8}, {6, 8}, {7, 8}})) << "the first position runs fastest";
  EXPECT_NE(expected, (Tuples{{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}})) << "positions in the list";
  EXPECT_NE(expected, (Tuples{{5, 6}, {5, 7}, {5, 8}, {6, 7}, {6, 8}})) << "without the last";
  EXPECT_EQ(expected_tuples(Kind::with_replacement, {0, 0, 0}, {2, 2, 2}),
            (Tuples{{0, 0, 0}, {0, 0, 1}, {0, 1, 1}, {1, 1, 1}}));
  EXPECT_EQ(expected_tuples(Kind::cartesian, {0, 7}, {2, 9}), (Tuples{{0, 7}, {0, 8}, {1, 7}, {1, 8}}));
  EXPECT_TRUE(expected_tuples(Kind::cartesian, {0, 7, 3}, {2, 9, 3}).empty());
  EXPECT_TRUE(expected_tuples(Kind::without_replacement, {0, 0, 0}, {2, 2, 2}).empty());
}

}  // namespace
}  // namespace upsweep
