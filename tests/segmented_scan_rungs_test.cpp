// SPDX-License-Identifier: Apache-2.0
// tests/segmented_scan_rungs_test.cpp: every rung of the segmented-scan ladder is compared with the reference. Cases:
// operators, types, patterns of lists, bounds, nulls, in-place calls, overflow, threads, instruction sets, and what
// calls refuse.
#include "upsweep/segmented_scan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "climb/generated_lists.hpp"
#include "climb/list_reference.hpp"
#include "core/visit.hpp"
#include "patterns.hpp"
#include "rungs.hpp"
#include "upsweep/ladder.hpp"

namespace upsweep {
namespace {

using reference::expected_scan;
using tests::Guarded;
using tests::isas;
using Offsets = std::vector<std::int64_t>;

constexpr ListPattern kListPatternValues[] = {ListPattern::poisson,   ListPattern::fixed3,    ListPattern::fixed32,
                                              ListPattern::fixed1000, ListPattern::zero_to_4, ListPattern::empty,
                                              ListPattern::one,       ListPattern::giants,    ListPattern::pareto};
constexpr std::int64_t kSizes[] = {0, 1, 7, 8, 9, 17, 33, 100, 771, 4096, 4097, 20'001, 300'003};

Offsets offsets_of(ListPattern pattern, std::int64_t elements) {
  return elements == 0 ? Offsets{0} : generated_offsets(pattern, elements);
}

template <class T>
std::vector<T> values_of(std::int64_t n) {
  if constexpr (std::is_floating_point_v<T>) {
    auto values = tests::rounded<T>(n, 3);
    for (std::int64_t i = 3; i < n; i += 13) values[static_cast<std::size_t>(i)] = T{-0.0};
    return values;
  } else {
    return tests::make<T>(tests::Pattern::random, n);
  }
}

std::vector<Policy> policies() {
  std::vector<Policy> all{par, par.with_rung("cpu.serial"), par.with_rung("cpu.columns").with_threads(3)};
  for (const Isa isa : isas()) all.push_back(par.with_rung("cpu.columns").with_threads(1).with_isa(isa));
  return all;
}

template <class Out, class In, class Op>
void scan_by(const Policy& policy, const Lists& lists, const In* content, std::int64_t n, Out* out, Op op, Out init,
             bool exclusive, const Mask& valid = {}) {
  if (exclusive) {
    segmented_exclusive_scan(policy, lists, content, n, out, init, op, valid);
  } else {
    segmented_inclusive_scan(policy, lists, content, n, out, init, op, valid);
  }
}

/// Compares every rung with the reference, out of place and in place. Elements in no list must not change.
template <class Out, class In, class Op>
void check(const Offsets& offsets, const std::vector<In>& content, Op op, Out init) {
  const std::int64_t n = std::ssize(content);
  for (const bool exclusive : {false, true}) {
    std::vector<Out> expected(content.size());
    if (n > 0) std::memset(expected.data(), 0xA5, expected.size() * sizeof(Out));  // Guarded has the same poison
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
      const std::int64_t first = offsets[i];
      expected_scan(content.data() + first, 0, offsets[i + 1] - first, op, init, exclusive, expected.data() + first);
    }
    for (const Policy& policy : policies()) {
      const auto is_right = [&](const Out* found, const char* where) {
        if (n == 0 || std::memcmp(found, expected.data(), expected.size() * sizeof(Out)) == 0) return;
        for (std::size_t j = 0; j < expected.size(); ++j) {
          ASSERT_EQ(found[j], expected[j]) << where << ' ' << policy.rung << " threads " << policy.threads << " isa "
                                           << name(policy.isa) << " element " << j << (exclusive ? " exclusive" : "");
        }
        ADD_FAILURE() << where << ": other bits of equal values";
      };
      Guarded<Out> out(n, 1);
      scan_by(policy, Lists(offsets), content.data(), n, out.data(), op, init, exclusive);
      ASSERT_TRUE(out.intact());
      is_right(out.data(), "apart");
      if constexpr (std::is_same_v<In, Out>) {
        if (offsets.front() == 0 && offsets.back() == n) {
          auto both = content;
          scan_by(policy, Lists(offsets), both.data(), n, both.data(), op, init, exclusive);
          is_right(both.data(), "in place");
        }
      }
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

template <class T>
class SegmentedScans : public testing::Test {};
TYPED_TEST_SUITE(SegmentedScans, tests::ElementTypes);

TYPED_TEST(SegmentedScans, OfEveryPatternAndSizeMatchTheReference) {
  using T = TypeParam;
  for (const ListPattern pattern : kListPatternValues) {
    for (const std::int64_t n : kSizes) {
      if (n > 100'000 && (sizeof(T) < 8 || tests::kSanitized)) continue;
      SCOPED_TRACE(testing::Message() << pattern_name(pattern) << ", " << n << " elements");
      check<T>(offsets_of(pattern, n), values_of<T>(n), add, T{0});
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(SegmentedScans, ByEveryOperatorMatchTheReference) {
  using T = TypeParam;
  for_each_operator<T>([]<class Op>(Op op) {
    for (const ListPattern pattern : {ListPattern::poisson, ListPattern::pareto, ListPattern::one}) {
      for (const std::int64_t n : {100, 9001}) {
        SCOPED_TRACE(testing::Message() << Op::kName << ' ' << pattern_name(pattern) << ", " << n << " elements");
        auto offsets = offsets_of(pattern, n);
        check<T>(offsets, values_of<T>(n), op, detail::usual_init<T, Op>());
        for (auto& offset : offsets) offset += 5;  // some of the content is in no list
        check<T>(offsets, values_of<T>(n + 9), op, T{3});
      }
    }
  });
}

/// Sums without an initial value, of lists that contain only -0.0, except some elements. Sums of no elements are 0.0;
/// otherwise the bits must be those of adding only the elements.
template <class T, class In>
void check_sums_of_zeros() {
  Offsets offsets{0, 0};
  for (std::int64_t length = 0; length < 140; ++length) {
    for (const std::int64_t other : {length, std::int64_t{0}, std::int64_t{1}, length % 5}) {
      offsets.push_back(offsets.back() + other);
    }
  }
  for (const std::int64_t length : {4096, 4097, 9000, 0, 9001}) offsets.push_back(offsets.back() + length);
  // Small elements of a wider type become -0.0 when they are converted.
  const In negative_zero = sizeof(T) < sizeof(In) ? static_cast<In>(-1e-300) : In{-0.0};
  std::vector<In> content(static_cast<std::size_t>(offsets.back()), negative_zero);
  for (std::size_t i = 60; i < content.size(); i += 97) content[i] = In{0.0};
  std::vector<std::uint8_t> some(content.size());
  for (std::size_t i = 0; i < some.size(); ++i) some[i] = i % 3 == 0 || i % 700 > 400 ? 0 : 1;
  for (const Mask& valid : {Mask{}, Mask(some)}) {
    for (const bool exclusive : {false, true}) {
      std::vector<T> expected(content.size());
      for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
        std::optional<T> sum;
        for (auto j = static_cast<std::size_t>(offsets[i]); j < static_cast<std::size_t>(offsets[i + 1]); ++j) {
          const bool is_there = some[j] != 0 || !valid.is_given();
          const std::optional<T> before = sum;
          if (is_there) sum = sum ? *sum + static_cast<T>(content[j]) : static_cast<T>(content[j]);
          expected[j] = (exclusive ? before : sum).value_or(T{0});
        }
      }
      for (const Policy& policy : policies()) {
        const auto scan = [&](const auto* from, T* to) {
          const std::int64_t n = std::ssize(content);
          if (exclusive) {
            segmented_exclusive_scan(policy, Lists(offsets), from, n, to, add, valid);
          } else {
            segmented_inclusive_scan(policy, Lists(offsets), from, n, to, add, valid);
          }
        };
        std::vector<T> out(content.size(), T{9});
        scan(content.data(), out.data());
        for (std::size_t j = 0; j < out.size(); ++j) {
          ASSERT_TRUE(out[j] == 0 && std::signbit(out[j]) == std::signbit(expected[j]))
              << policy.rung << " isa " << name(policy.isa) << " element " << j << " exclusive " << exclusive
              << " with nulls " << valid.is_given() << ": " << out[j] << ", not " << expected[j];
        }
        if constexpr (std::is_same_v<T, In>) {
          std::vector<T> both = content;
          scan(both.data(), both.data());
          ASSERT_EQ(std::memcmp(both.data(), out.data(), out.size() * sizeof(T)), 0) << "in place";
        }
      }
    }
  }
}

TEST(SegmentedScans, SumsOfNegativeZerosAreNegativeAndOfNothingAreNot) {
  check_sums_of_zeros<double, double>();
  check_sums_of_zeros<float, float>();
  check_sums_of_zeros<double, float>();
  check_sums_of_zeros<float, double>();
  check_sums_of_zeros<long double, double>();
}

TYPED_TEST(SegmentedScans, ExclusiveOnesWithoutAnInitialValueBeginWithTheIdentity) {
  using T = TypeParam;
  const Offsets offsets = offsets_of(ListPattern::poisson, 3000);
  for_each_operator<T>([&]<class Op>(Op op) {
    const auto content = values_of<T>(3000);
    std::vector<T> expected(content.size());
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
      expected_scan(content.data() + offsets[i], 0, offsets[i + 1] - offsets[i], op, detail::usual_init<T, Op>(), true,
                    expected.data() + offsets[i]);
    }
    for (const Policy& policy : policies()) {
      std::vector<T> out(content.size(), T{77});
      segmented_exclusive_scan(policy, offsets, content, out, op);
      EXPECT_EQ(out, expected) << Op::kName << ' ' << policy.rung;
    }
  });
}

TEST(SegmentedScans, ChecksAreRefusedWhereThereAreNone) {
  const std::vector<int> content{1, 2};
  const Offsets offsets{0, 2};
  std::vector<int> out(2);
  const Policy checked = par.with_overflow(Overflow::checked);
  EXPECT_EQ(tests::code_of([&] { segmented_inclusive_scan(checked, offsets, content, out, mul); }), Code::unsupported);
  segmented_inclusive_scan(checked, offsets, content, out, upsweep::max);
  EXPECT_EQ(out[1], 2);
}

TYPED_TEST(SegmentedScans, IntoOtherTypesMatchTheReference) {
  using T = TypeParam;
  for_each_type([]<class Out>(std::type_identity<Out>) {
    if constexpr (!std::is_same_v<T, Out> && (std::is_integral_v<T> || std::is_floating_point_v<Out>)) {
      for (const ListPattern pattern : {ListPattern::poisson, ListPattern::fixed1000, ListPattern::giants}) {
        SCOPED_TRACE(testing::Message() << name(type_of<Out>()) << ' ' << pattern_name(pattern));
        check<Out>(offsets_of(pattern, 60'000), values_of<T>(60'000), add, Out{1});
      }
    }
  });
}

TYPED_TEST(SegmentedScans, SkipNullElementsAndNullLists) {
  using T = TypeParam;
  std::mt19937 random(23);
  for (const ListPattern pattern :
       {ListPattern::poisson, ListPattern::fixed32, ListPattern::giants, ListPattern::one}) {
    const std::int64_t n = 20'000;
    const auto offsets = offsets_of(pattern, n);
    std::vector<std::uint8_t> is_list(offsets.size() - 1);
    for (auto& one : is_list) one = random() % 4 != 0 ? 1 : 0;
    std::vector<std::uint8_t> bits(static_cast<std::size_t>(n / 8 + 2));
    for (auto& byte : bits) byte = static_cast<std::uint8_t>(random());
    const Mask valid = Mask::bits(bits.data(), n, 3);
    const auto content = values_of<T>(n);
    for (const bool exclusive : {false, true}) {
      std::vector<T> expected(content.size(), T{7});
      for (std::size_t i = 0; i < is_list.size(); ++i) {
        if (is_list[i] == 0 || offsets[i + 1] - offsets[i] > reference::kSerialElements) continue;
        T total{2};
        for (auto j = offsets[i]; j < offsets[i + 1]; ++j) {
          const T before = total;
          if (valid[j]) total = add(total, content[static_cast<std::size_t>(j)]);
          expected[static_cast<std::size_t>(j)] = exclusive ? before : total;
        }
      }
      for (const Policy& policy : policies()) {
        std::vector<T> out(content.size(), T{7});
        scan_by(policy, Lists(offsets).with_validity(is_list), content.data(), n, out.data(), add, T{2}, exclusive,
                valid);
        for (std::size_t i = 0; i < is_list.size(); ++i) {
          // Longer lists of floats are split: they are checked below, as integers.
          if (std::is_floating_point_v<T> && offsets[i + 1] - offsets[i] > reference::kSerialElements) continue;
          T total{2};
          for (auto j = static_cast<std::size_t>(offsets[i]); j < static_cast<std::size_t>(offsets[i + 1]); ++j) {
            const T before = total;
            if (valid[static_cast<std::int64_t>(j)]) total = add(total, content[j]);
            ASSERT_EQ(out[j], is_list[i] == 0 ? T{7} : exclusive ? before : total) << policy.rung << " element " << j;
          }
        }
      }
    }
  }
}

TEST(SegmentedScan, OperatorsOfOnesOwnNeedNotCommute) {
  const std::int64_t n = 30'000;
  std::vector<tests::AffineMap> content(static_cast<std::size_t>(n));
  std::mt19937 random(9);
  for (auto& map : content) map = {static_cast<std::uint32_t>(random() | 1U), static_cast<std::uint32_t>(random())};
  std::vector<std::uint8_t> is_valid(content.size());
  for (auto& one : is_valid) one = random() % 3 != 0 ? 1 : 0;
  const tests::AffineMap init{3, 4};
  for (const ListPattern pattern : {ListPattern::poisson, ListPattern::pareto, ListPattern::one}) {
    const auto offsets = offsets_of(pattern, n);
    for (const Policy& policy : policies()) {
      for (const bool with_nulls : {false, true}) {
        for (const bool exclusive : {false, true}) {
          auto both = content;
          scan_by(policy, Lists(offsets), both.data(), n, both.data(), tests::kCompose, init, exclusive,
                  with_nulls ? Mask(is_valid) : Mask());
          for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
            tests::AffineMap total = init;
            for (auto j = static_cast<std::size_t>(offsets[i]); j < static_cast<std::size_t>(offsets[i + 1]); ++j) {
              const auto before = total;
              if (!with_nulls || is_valid[j] != 0) total = tests::kCompose(total, content[j]);
              ASSERT_EQ(both[j], exclusive ? before : total) << policy.rung << " element " << j;
            }
          }
        }
      }
    }
  }
}

TEST(SegmentedScan, TakesOffsetsOfEveryTypeAndListsOfOneSize) {
  const auto offsets = offsets_of(ListPattern::poisson, 3000);
  const auto content = values_of<double>(3000);
  std::vector<double> expected(3000);
  segmented_inclusive_scan(par.with_rung("cpu.serial"), offsets, content, expected);
  std::vector<double> out(3000);
  segmented_inclusive_scan(par, std::vector<std::int32_t>(offsets.begin(), offsets.end()), content, out);
  EXPECT_EQ(out, expected);
  segmented_inclusive_scan(par, std::vector<std::uint32_t>(offsets.begin(), offsets.end()), content, out);
  EXPECT_EQ(out, expected);
  for (const std::int64_t size : {1, 3, 40, 1500}) {
    Offsets same;
    for (std::int64_t at = 0; at <= 3000; at += size) same.push_back(at);
    segmented_inclusive_scan(par, same, content, expected);
    segmented_inclusive_scan(par, Lists::of_size(std::ssize(same) - 1, size), content, out);
    EXPECT_EQ(out, expected) << size;
  }
}

TYPED_TEST(SegmentedScans, CheckedSumsNameTheFirstListThatDoesNotFit) {
  using T = TypeParam;
  if constexpr (std::is_integral_v<T>) {
    constexpr T kMost = std::numeric_limits<T>::max();
    for (const ListPattern pattern : {ListPattern::poisson, ListPattern::fixed1000, ListPattern::giants}) {
      const auto offsets = offsets_of(pattern, 20'000);
      std::vector<T> content(20'000, T{0});
      std::int64_t right = kNoIndex;
      for (const std::size_t at : {19'000U, 3'000U, 17U}) {
        content[at] = content[at + 1] = kMost;
        const auto list =
            std::upper_bound(offsets.begin(), offsets.end(), static_cast<std::int64_t>(at)) - offsets.begin() - 1;
        const bool are_together = offsets[static_cast<std::size_t>(list) + 1] > static_cast<std::int64_t>(at) + 1;
        const bool is_last = offsets[static_cast<std::size_t>(list) + 1] == static_cast<std::int64_t>(at) + 2;
        for (const bool exclusive : {false, true}) {
          const std::int64_t expected = are_together && !(exclusive && is_last) ? list : right;
          for (Policy policy : policies()) {
            policy = policy.with_overflow(Overflow::checked);
            auto both = content;
            std::int64_t found = kNoIndex;
            try {
              scan_by(policy, Lists(offsets), both.data(), 20'000, both.data(), add, T{0}, exclusive);
            } catch (const Error& error) {
              EXPECT_EQ(error.code(), Code::overflow) << error.what();
              found = error.index();
            }
            ASSERT_EQ(found, expected) << policy.rung << ' ' << pattern_name(pattern) << ' ' << exclusive;
          }
          if (!exclusive && expected != kNoIndex) right = expected;
        }
      }
    }
  }
}

TEST(SegmentedScan, NamesTheFirstBadList) {
  const auto good = offsets_of(ListPattern::zero_to_4, 50'000);
  const auto content = values_of<float>(50'000);
  for (const std::size_t at : {std::size_t{1}, std::size_t{256}, std::size_t{300}, good.size() - 2}) {
    for (const std::int64_t value : {std::int64_t{-7}, std::int64_t{60'000}}) {
      auto offsets = good;
      offsets[at] = value;
      for (const Policy& policy : policies()) {
        Guarded<float> out(50'000);
        try {
          segmented_inclusive_scan(policy, offsets, content, out.span());
          ADD_FAILURE() << "offset " << at << " was taken";
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), value < 0 ? Code::stop_before_start : Code::stop_past_end) << error.what();
          EXPECT_EQ(error.index(), static_cast<std::int64_t>(at) - 1) << error.what();
        }
        EXPECT_TRUE(out.intact());
      }
    }
  }
}

TEST(SegmentedScan, SaysWhatIsWrong) {
  const std::vector<int> offsets{0, 2, 3};
  std::vector<float> content{1, 2, 3};
  std::vector<float> out(3);
  const auto scanned = [&](const Lists& lists, const Policy& policy = par) {
    return tests::code_of([&] { segmented_inclusive_scan(policy, lists, content, out); });
  };
  EXPECT_EQ(scanned(offsets), Code::ok);
  EXPECT_EQ(out, (std::vector<float>{1, 3, 3}));
  EXPECT_EQ(scanned(Lists(std::vector<int>{0, 1}, std::vector<int>{2, 3})), Code::unsupported) << "they overlap";
  EXPECT_EQ(scanned(Lists::of_size(2, 2)), Code::unequal_lengths);
  EXPECT_EQ(scanned(Lists::of_size(std::numeric_limits<std::int64_t>::max(), 0)), Code::invalid_argument);
  EXPECT_EQ(scanned(offsets, par.with_rung("cpu.tbb")), Code::unsupported);
  EXPECT_EQ(tests::code_of([&] { segmented_inclusive_scan(par, offsets, content, std::vector<float>(2)); }),
            Code::unequal_lengths);
  EXPECT_EQ(tests::code_of([&] {
              segmented_inclusive_scan(par, Lists(std::vector<int>{0, 2}), content.data(), 2, content.data() + 1);
            }),
            Code::invalid_argument)
      << "it overlaps the content";
}

}  // namespace
}  // namespace upsweep
