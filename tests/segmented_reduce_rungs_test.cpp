// SPDX-License-Identifier: Apache-2.0
// tests/segmented_reduce_rungs_test.cpp: every CPU rung of segmented-reduce is compared with the reference. Cases:
// operators, reducers, types, patterns of lists, bounds, nulls, overflow, threads, instruction sets, and what calls
// refuse.
#include "upsweep/segmented_reduce.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "climb/generated_lists.hpp"
#include "climb/list_reference.hpp"
#include "core/visit.hpp"
#include "cpu/list_values.hpp"
#include "patterns.hpp"
#include "rungs.hpp"
#include "upsweep/ladder.hpp"

namespace upsweep {
namespace {

using reference::expected_fold;
using reference::expected_pick;
using reference::kSerialElements;
static_assert(kSerialElements == cpu::kListBlock);
using tests::Guarded;
using tests::isas;

constexpr ListPattern kListPatternValues[] = {ListPattern::poisson,   ListPattern::fixed3,    ListPattern::fixed32,
                                              ListPattern::fixed1000, ListPattern::zero_to_4, ListPattern::empty,
                                              ListPattern::one,       ListPattern::giants,    ListPattern::pareto};

// Sizes around 8 and 16 lists and elements, a batch of 256 lists, a block of 4096 elements, several of them, and
// several workers.
constexpr std::int64_t kSizes[] = {0,  1,   7,   8,    9,    15,   16,   17,    31,     32,
                                   33, 100, 771, 4095, 4096, 4097, 8192, 20001, 131073, 1000003};

struct ListsCase {
  std::vector<std::int64_t> starts = {};
  std::vector<std::int64_t> stops = {};

  [[nodiscard]] Lists lists() const { return {starts, stops}; }
};

std::vector<std::int64_t> offsets_of(ListPattern pattern, std::int64_t elements) {
  return elements == 0 ? std::vector<std::int64_t>{0} : generated_offsets(pattern, elements);
}

/// The lists in another order, with gaps between them and some of them twice; bounds of empty lists have any value.
ListsCase apart(const std::vector<std::int64_t>& offsets) {
  ListsCase lists;
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    lists.starts.push_back(offsets[i] == offsets[i + 1] ? 1'000'000'000'000 : offsets[i]);
    lists.stops.push_back(offsets[i] == offsets[i + 1] ? 1'000'000'000'000 : offsets[i + 1]);
  }
  std::mt19937_64 random(5);
  for (std::size_t i = 0; i < lists.starts.size(); ++i) {
    const std::size_t other = random() % lists.starts.size();
    if (i % 7 == 0) {
      lists.starts[i] = lists.starts[other];
      lists.stops[i] = lists.stops[other];
    } else {
      std::swap(lists.starts[i], lists.starts[other]);
      std::swap(lists.stops[i], lists.stops[other]);
    }
  }
  return lists;
}

template <class T>
std::vector<T> values_of(std::int64_t n, bool with_nan = false) {
  if constexpr (std::is_floating_point_v<T>) {
    auto values = tests::rounded<T>(n, 3);
    for (std::int64_t i = 5; with_nan && i < n; i += 11)
      values[static_cast<std::size_t>(i)] = std::numeric_limits<T>::quiet_NaN();
    for (std::int64_t i = 3; i < n; i += 13) values[static_cast<std::size_t>(i)] = T{-0.0};
    return values;
  } else {
    return tests::make<T>(tests::Pattern::random, n);
  }
}

template <class T>
bool same_bits(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a && b != b) return true;  // which NaN is unspecified
  }
  // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): the bits are promised
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

/// The rungs that support every call; the library's rungs are checked separately.
std::vector<std::string> steps() {
  std::vector<std::string> ids{""};
  for (const auto& rung : tests::cpu_rungs("segmented-reduce")) {
    if (rung.kind == Kind::step) ids.emplace_back(rung.id);
  }
  return ids;
}

std::vector<Policy> policies(const std::string& rung) {
  std::vector<Policy> all;
  for (const int threads : {1, 3}) all.push_back(par.with_rung(rung).with_threads(threads));
  if (rung != "cpu.columns") return all;
  for (const Isa isa : isas()) all.push_back(par.with_rung(rung).with_threads(2).with_isa(isa));
  return all;
}

std::string text_of(const Policy& policy) {
  return std::string(policy.rung) + " threads " + std::to_string(policy.threads) + " isa " +
         std::string(name(policy.isa));
}

bool takes(const std::string& rung, const Lists& lists) { return rung != "cpu.shares" || lists.are_adjacent(); }

/// Compares every rung with the reference, on these lists with an operator.
template <class Out, class In, class Op>
void check_folds(const Lists& lists, const std::vector<std::int64_t>& starts, const std::vector<std::int64_t>& stops,
                 const std::vector<In>& content, Op op, Out init) {
  std::vector<Out> expected(starts.size());
  for (std::size_t i = 0; i < starts.size(); ++i) {
    expected[i] = starts[i] == stops[i] ? init : expected_fold(content.data(), starts[i], stops[i], op, init);
  }
  for (const std::string& rung : steps()) {
    if (!takes(rung, lists)) continue;
    for (const Policy& policy : policies(rung)) {
      Guarded<Out> out(lists.count, 1);
      const auto result = segmented_reduce(policy, lists, content.data(), std::ssize(content), out.data(), init, op);
      EXPECT_EQ(result.lists, lists.count);
      ASSERT_TRUE(out.intact()) << text_of(policy);
      if (expected.empty()) continue;
      if (std::memcmp(out.data(), expected.data(), expected.size() * sizeof(Out)) == 0) continue;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_TRUE(same_bits(out.span()[i], expected[i]))
            << text_of(policy) << ", list " << i << " of " << lists.count << ", " << starts[i] << " … " << stops[i]
            << ": " << +out.span()[i] << ", not " << +expected[i];
      }
    }
  }
}

template <class Out, class In, class Op>
void check_adjacent(const std::vector<std::int64_t>& offsets, const std::vector<In>& content, Op op, Out init) {
  const std::vector<std::int64_t> starts(offsets.begin(), offsets.end() - 1);
  const std::vector<std::int64_t> stops(offsets.begin() + 1, offsets.end());
  check_folds(Lists(offsets), starts, stops, content, op, init);
}

// --------------------------------------------------------------------------------------------------------------- folds

template <class T>
class SegmentedFolds : public testing::Test {};
TYPED_TEST_SUITE(SegmentedFolds, tests::ElementTypes);

TYPED_TEST(SegmentedFolds, OfEveryPatternAndSizeMatchTheReference) {
  using T = TypeParam;
  for (const ListPattern pattern : kListPatternValues) {
    for (const std::int64_t n : kSizes) {
      if (n > 200'000 && (sizeof(T) != 8 || tests::kSanitized)) continue;
      SCOPED_TRACE(testing::Message() << pattern_name(pattern) << ", " << n << " elements");
      const auto offsets = offsets_of(pattern, n);
      check_adjacent<T>(offsets, values_of<T>(n), add, T{0});
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(SegmentedFolds, ByEveryOperatorMatchTheReference) {
  using T = TypeParam;
  for_each_operator<T>([]<class Op>(Op op) {
    for (const ListPattern pattern : {ListPattern::poisson, ListPattern::pareto, ListPattern::one}) {
      for (const std::int64_t n : {100, 9001}) {
        SCOPED_TRACE(testing::Message() << Op::kName << ' ' << pattern_name(pattern) << ", " << n << " elements");
        check_adjacent<T>(offsets_of(pattern, n), values_of<T>(n, true), op, detail::usual_init<T, Op>());
        const auto lists = apart(offsets_of(pattern, n));
        check_folds<T>(lists.lists(), lists.starts, lists.stops, values_of<T>(n, true), op, T{5});
      }
    }
  });
}

TYPED_TEST(SegmentedFolds, IntoOtherTypesMatchTheReference) {
  using T = TypeParam;
  for_each_type([]<class Out>(std::type_identity<Out>) {
    if constexpr (!std::is_same_v<T, Out> && (std::is_integral_v<T> || std::is_floating_point_v<Out>)) {
      for (const ListPattern pattern : {ListPattern::poisson, ListPattern::fixed1000, ListPattern::giants}) {
        SCOPED_TRACE(testing::Message() << name(type_of<Out>()) << ' ' << pattern_name(pattern));
        const std::int64_t n = 40'000;
        // Floats are integers whose sum is exact in any order: the reference also converts them one by one.
        check_adjacent<Out>(offsets_of(pattern, n), values_of<T>(n), add, Out{0});
        const auto lists = apart(offsets_of(pattern, 3000));
        check_folds<Out>(lists.lists(), lists.starts, lists.stops, values_of<T>(3000), add, Out{1});
      }
    }
  });
}

TYPED_TEST(SegmentedFolds, OfEveryLengthMatchTheReference) {
  // Each length by itself, and among others: lists that are grouped by eight, a single long list, and one at the
  // content's end.
  using T = TypeParam;
  for (const std::int64_t length : {1, 2, 7, 8, 9, 16, 31, 32, 33, 63, 64, 65, 100, 4095, 4096, 4097, 4104, 12288}) {
    for (const std::int64_t others : {0, 1, 7, 8, 15, 16, 300}) {
      std::vector<std::int64_t> offsets{0};
      for (std::int64_t i = 0; i < others; ++i) offsets.push_back(offsets.back() + i % 4);
      offsets.push_back(offsets.back() + length);
      for (std::int64_t i = 0; i < others; ++i) offsets.push_back(offsets.back() + i % 3);
      SCOPED_TRACE(testing::Message() << "length " << length << " among " << 2 * others);
      check_adjacent<T>(offsets, values_of<T>(offsets.back()), add, T{0});
    }
  }
}

TYPED_TEST(SegmentedFolds, OfLikeLengthsMatchTheReference) {
  // Neither whole groups nor whole batches of groups; one list has a different length.
  using T = TypeParam;
  for (const std::int64_t length : {33, 60, 500, 4000}) {
    for (const std::int64_t count : {1, 7, 8, 17, 255, 300}) {
      if (count * length > 200'000) continue;
      for (const std::int64_t odd : {std::int64_t{0}, 1 - length, length}) {
        std::vector<std::int64_t> offsets{0};
        for (std::int64_t i = 0; i < count; ++i) {
          offsets.push_back(offsets.back() + length + i % 4 + (i == count / 2 ? odd : 0));
        }
        SCOPED_TRACE(testing::Message() << count << " of length " << length << ", one longer by " << odd);
        check_adjacent<T>(offsets, values_of<T>(offsets.back()), add, T{0});
        const auto lists = apart(offsets);
        check_folds<T>(lists.lists(), lists.starts, lists.stops, values_of<T>(offsets.back()), add, T{1});
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

/// Enough lists for 8 MB of results of 4 bytes, most of them short.
std::vector<std::int64_t> many_offsets() {
  std::vector<std::int64_t> offsets{0};
  for (std::int64_t i = 0; i < 2'100'003; ++i) offsets.push_back(offsets.back() + i % 3 + (i % 5003 == 0 ? 50 : 0));
  return offsets;
}

TEST(SegmentedReduce, ResultsThatAreTooManyForTheCachesMatchTheReference) {
  if (tests::kSanitized) GTEST_SKIP() << "takes too long";
  const auto offsets = many_offsets();
  check_adjacent<float>(offsets, values_of<float>(offsets.back()), add, 0.0F);
  check_adjacent<std::int16_t>(offsets, values_of<std::int8_t>(offsets.back()), add, std::int16_t{0});
}

/// Sums without an initial value, of lists that contain only -0.0, except some elements. The bits must be those of
/// adding only the elements.
template <class T, class In>
void check_sums_of_zeros(const Lists& lists, const std::vector<std::int64_t>& starts,
                         const std::vector<std::int64_t>& stops, const std::vector<In>& content, const Mask& valid) {
  std::vector<T> expected(starts.size(), T{0});
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (lists.valid.is_given() && !lists.valid[static_cast<std::int64_t>(i)]) continue;
    std::vector<In> elements;
    for (std::int64_t j = starts[i]; j < stops[i]; ++j) {
      if (!valid.is_given() || valid[j]) elements.push_back(content[static_cast<std::size_t>(j)]);
    }
    if (elements.empty()) continue;
    expected[i] = static_cast<T>(elements[0]);
    for (std::size_t j = 1; j < elements.size(); ++j) expected[i] += static_cast<T>(elements[j]);
  }
  for (const auto& rung : tests::cpu_rungs("segmented-reduce")) {
    const std::string id(rung.id);  // must outlive the policies
    if (!takes(id, lists)) continue;
    const bool has_nulls = valid.is_given() || lists.valid.is_given();
    if (rung.kind == Kind::library && (has_nulls || !std::is_same_v<T, In>)) continue;
    for (const Policy& policy : policies(id)) {
      std::vector<T> out(starts.size(), T{9});
      segmented_reduce(policy, lists, content.data(), std::ssize(content), out.data(), add, valid);
      for (std::size_t i = 0; i < out.size(); ++i) {
        ASSERT_TRUE(out[i] == 0 && std::signbit(out[i]) == std::signbit(expected[i]))  // a long double has padding
            << text_of(policy) << ", list " << i << ", " << starts[i] << " … " << stops[i] << ": " << out[i];
      }
    }
  }
}

template <class T, class In>
void check_sums_of_zeros() {
  // Each length, by itself and next to empty lists, and one list of several blocks; some elements are 0.0.
  std::vector<std::int64_t> offsets{0, 0};
  for (std::int64_t length = 0; length < 140; ++length) {
    for (const std::int64_t other : {length, std::int64_t{0}, std::int64_t{1}, length % 5}) {
      offsets.push_back(offsets.back() + other);
    }
  }
  for (const std::int64_t length : {4096, 4097, 9000, 9001, 0}) offsets.push_back(offsets.back() + length);
  std::vector<In> content(static_cast<std::size_t>(offsets.back()), In{-0.0});
  for (std::size_t i = 60; i < content.size(); i += 97) content[i] = In{0.0};
  content.back() = In{-0.0};
  std::vector<std::uint8_t> some(content.size());
  for (std::size_t i = 0; i < some.size(); ++i) some[i] = i % 3 == 0 || i % 700 > 400 ? 0 : 1;
  std::vector<std::uint8_t> there(offsets.size() - 1);
  for (std::size_t i = 0; i < there.size(); ++i) there[i] = i % 7 == 0 ? 0 : 1;
  const std::vector<std::int64_t> starts(offsets.begin(), offsets.end() - 1);
  const std::vector<std::int64_t> stops(offsets.begin() + 1, offsets.end());
  for (const Mask& valid : {Mask{}, Mask(some)}) {
    SCOPED_TRACE(valid.is_given() ? "with nulls" : "without nulls");
    check_sums_of_zeros<T>(Lists(offsets), starts, stops, content, valid);
    Lists with_nulls(offsets);
    with_nulls.valid = Mask(there);
    check_sums_of_zeros<T>(with_nulls, starts, stops, content, valid);
    const auto lists = apart(offsets);
    check_sums_of_zeros<T>(lists.lists(), lists.starts, lists.stops, content, valid);
  }
}

TEST(SegmentedReduce, SumsOfNegativeZerosAreNegativeAndOfNothingAreNot) {
  check_sums_of_zeros<double, double>();
  check_sums_of_zeros<float, float>();
  check_sums_of_zeros<double, float>();
  check_sums_of_zeros<long double, double>();
}

TEST(SegmentedReduce, ChecksAreRefusedWhereThereAreNone) {
  const std::vector<int> content{1, 2};
  const std::vector<int> offsets{0, 2};
  std::vector<int> out(1);
  const Policy checked = par.with_overflow(Overflow::checked);
  EXPECT_EQ(tests::code_of([&] { segmented_reduce(checked, offsets, content, out, mul); }), Code::unsupported);
  EXPECT_EQ(
      tests::code_of([&] { segmented_reduce(checked, offsets, content, out, 0, [](int a, int b) { return a + b; }); }),
      Code::unsupported);
  segmented_reduce(checked, offsets, content, out, upsweep::max);
  EXPECT_EQ(out[0], 2);
  std::vector<std::int64_t> counts(1);
  segmented_reduce(checked, offsets, content, counts, upsweep::count);
  EXPECT_EQ(counts[0], 2);
}

TEST(SegmentedReduce, AnInitialValueTakesPart) {
  const std::vector<double> content{-0.0, -0.0};
  const std::vector<int> offsets{0, 0, 1, 2};
  std::vector<double> out(3, 9);
  segmented_reduce(par, offsets, content.data(), 2, out.data(), 0.0, add);
  for (const double value : out) EXPECT_TRUE(same_bits(value, 0.0));
  segmented_reduce(par, offsets, content.data(), 2, out.data(), -0.0, add);
  for (const double value : out) EXPECT_TRUE(same_bits(value, -0.0));
  segmented_reduce(par, offsets, content, out, upsweep::min);
  EXPECT_EQ(out[0], std::numeric_limits<double>::infinity());
  std::vector<int> greatest(3);
  segmented_reduce(par, offsets, std::vector<int>{-7, -9}, greatest, upsweep::max);
  EXPECT_EQ(greatest, (std::vector<int>{std::numeric_limits<int>::lowest(), -7, -9}));
}

TEST(SegmentedReduce, OperatorsOfOnesOwnNeedNotCommute) {
  const std::int64_t n = 30'000;
  std::vector<tests::AffineMap> content(static_cast<std::size_t>(n));
  std::mt19937 random(9);
  for (auto& map : content) map = {static_cast<std::uint32_t>(random() | 1U), static_cast<std::uint32_t>(random())};
  const tests::AffineMap init{3, 4};
  std::vector<std::uint8_t> is_valid(content.size());
  for (auto& one : is_valid) one = random() % 3 != 0 ? 1 : 0;
  for (const ListPattern pattern : {ListPattern::poisson, ListPattern::pareto, ListPattern::one}) {
    const auto offsets = offsets_of(pattern, n);
    for (const std::string& rung : steps()) {
      for (const bool with_nulls : {false, true}) {
        std::vector<tests::AffineMap> out(offsets.size() - 1);
        segmented_reduce(par.with_rung(rung).with_threads(3), offsets, content.data(), n, out.data(), init,
                         tests::kCompose, with_nulls ? Mask(is_valid) : Mask());
        for (std::size_t i = 0; i < out.size(); ++i) {
          tests::AffineMap total = init;
          for (auto j = static_cast<std::size_t>(offsets[i]); j < static_cast<std::size_t>(offsets[i + 1]); ++j) {
            if (!with_nulls || is_valid[j] != 0) total = tests::kCompose(total, content[j]);
          }
          ASSERT_EQ(out[i], total) << rung << " list " << i << ' ' << pattern_name(pattern);
        }
      }
    }
  }
}

// -------------------------------------------------------------------------------------------------------------- bounds

template <class Bound>
void check_bounds() {
  constexpr std::int64_t kBefore = 11;  // elements of the content before all lists
  for (const ListPattern pattern : {ListPattern::poisson, ListPattern::empty, ListPattern::giants}) {
    auto offsets = offsets_of(pattern, 5000);
    for (auto& offset : offsets) offset += kBefore;
    const auto content = values_of<double>(offsets.back() + 3);
    const std::vector<Bound> bounds(offsets.begin(), offsets.end());
    const std::vector<std::int64_t> starts(offsets.begin(), offsets.end() - 1);
    const std::vector<std::int64_t> stops(offsets.begin() + 1, offsets.end());
    check_folds<double>(Lists(bounds), starts, stops, content, add, 0.0);
    const std::vector<Bound> from(starts.begin(), starts.end());
    const std::vector<Bound> to(stops.begin(), stops.end());
    check_folds<double>(Lists(from, to), starts, stops, content, add, 0.0);
  }
}

TEST(SegmentedReduce, TakesBoundsOfEveryType) {
  check_bounds<std::int32_t>();
  check_bounds<std::uint32_t>();
  check_bounds<std::int64_t>();
}

TEST(SegmentedReduce, TakesListsOfOneSize) {
  for (const std::int64_t size : {0, 1, 3, 8, 32, 33, 1000, 5000}) {
    const std::int64_t count = size > 100 ? 20 : 700;
    std::vector<std::int64_t> starts;
    std::vector<std::int64_t> stops;
    for (std::int64_t i = 0; i < count; ++i) {
      starts.push_back(i * size);
      stops.push_back((i + 1) * size);
    }
    check_folds<float>(Lists::of_size(count, size), starts, stops, values_of<float>(count * size + 5), add, 0.0F);
  }
}

// ------------------------------------------------------------------------------------------------------------ reducers

/// The expected result of a reducer on the elements of a list that are not null.
template <class T>
std::int64_t expected(Reducer reducer, const T* x, std::int64_t first, std::int64_t last, const Mask& valid) {
  std::int64_t count = 0;
  std::int64_t nonzero = 0;
  std::vector<T> there;
  std::vector<std::int64_t> position;
  for (std::int64_t j = first; j < last; ++j) {
    if (valid.is_given() && !valid[j]) continue;
    ++count;
    nonzero += x[j] != T{0} ? 1 : 0;
    there.push_back(x[j]);
    position.push_back(j - first);
  }
  switch (reducer) {
    case Reducer::any:
      return nonzero > 0 ? 1 : 0;
    case Reducer::all:
      return nonzero == count ? 1 : 0;
    case Reducer::count:
      return count;
    case Reducer::count_nonzero:
      return nonzero;
    default: {
      const auto pick = expected_pick(there.data(), 0, count, reducer == Reducer::argmax);
      return pick < 0 ? -1 : position[static_cast<std::size_t>(pick)];
    }
  }
}

template <class T, class Op>
void check_reducer(const Lists& lists, const std::vector<std::int64_t>& starts, const std::vector<std::int64_t>& stops,
                   const std::vector<T>& content, Op op, const Mask& valid = {}) {
  using Out = std::conditional_t<Op::kReducer == Reducer::any || Op::kReducer == Reducer::all, bool, std::int64_t>;
  std::vector<std::int64_t> right(starts.size());
  for (std::size_t i = 0; i < right.size(); ++i) {
    right[i] = starts[i] == stops[i] ? expected<T>(Op::kReducer, nullptr, 0, 0, {})
                                     : expected(Op::kReducer, content.data(), starts[i], stops[i], valid);
  }
  for (const std::string& rung : steps()) {
    if (!takes(rung, lists)) continue;
    for (const Policy& policy : policies(rung)) {
      Guarded<Out> out(lists.count);
      segmented_reduce(policy, lists, content.data(), std::ssize(content), out.data(), op, valid);
      ASSERT_TRUE(out.intact());
      if (std::ranges::equal(out.span(), right)) continue;
      for (std::size_t i = 0; i < right.size(); ++i) {
        ASSERT_EQ(static_cast<std::int64_t>(out.span()[i]), right[i])
            << name(Op::kReducer) << ' ' << text_of(policy) << ", list " << i << ", " << starts[i] << " … " << stops[i];
      }
    }
  }
}

template <class T>
void check_reducers(const Lists& lists, const std::vector<std::int64_t>& starts, const std::vector<std::int64_t>& stops,
                    const std::vector<T>& content, const Mask& valid = {}) {
  check_reducer(lists, starts, stops, content, any, valid);
  check_reducer(lists, starts, stops, content, all, valid);
  check_reducer(lists, starts, stops, content, count, valid);
  check_reducer(lists, starts, stops, content, count_nonzero, valid);
  check_reducer(lists, starts, stops, content, argmin, valid);
  check_reducer(lists, starts, stops, content, argmax, valid);
}

/// Elements that are often equal and often zero.
template <class T>
std::vector<T> few_values(std::int64_t n) {
  std::mt19937 random(17);
  std::vector<T> values(static_cast<std::size_t>(n));
  for (auto& value : values) value = static_cast<T>(random() % 4);
  if constexpr (std::is_floating_point_v<T>) {
    for (std::size_t i = 7; i < values.size(); i += 29) values[i] = std::numeric_limits<T>::quiet_NaN();
    for (std::size_t i = 8; i < values.size(); i += 31) values[i] = T{-0.0};
  }
  return values;
}

template <class T>
class SegmentedReducers : public testing::Test {};
TYPED_TEST_SUITE(SegmentedReducers, tests::ElementTypes);

TYPED_TEST(SegmentedReducers, MatchTheReference) {
  using T = TypeParam;
  for (const ListPattern pattern : kListPatternValues) {
    for (const std::int64_t n : {0, 1, 50, 257, 9001, 30'000}) {
      if (n > 10'000 && tests::kSanitized) continue;
      SCOPED_TRACE(testing::Message() << pattern_name(pattern) << ", " << n << " elements");
      const auto offsets = offsets_of(pattern, n);
      const std::vector<std::int64_t> starts(offsets.begin(), offsets.end() - 1);
      const std::vector<std::int64_t> stops(offsets.begin() + 1, offsets.end());
      const auto content = few_values<T>(n);
      check_reducers(Lists(offsets), starts, stops, content);
      const auto lists = apart(offsets);
      check_reducers(lists.lists(), lists.starts, lists.stops, content);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(SegmentedReducers, AllOfOnesAreTrueAndNoneOfZeros) {
  using T = TypeParam;
  for (const std::int64_t length : {1, 8, 56, 57, 58, 64, 113, 114, 115, 200, 4096, 5000}) {
    for (const std::int64_t odd : {std::int64_t{0}, length / 2, length - 1}) {
      std::vector<std::int64_t> offsets{0, 3, 3, 3 + length, 3 + length, 3 + length + 2};
      const std::vector<std::int64_t> starts(offsets.begin(), offsets.end() - 1);
      const std::vector<std::int64_t> stops(offsets.begin() + 1, offsets.end());
      std::vector<T> content(static_cast<std::size_t>(offsets.back()), T{1});
      check_reducer(Lists(offsets), starts, stops, content, all);
      content[static_cast<std::size_t>(3 + odd)] = T{0};
      check_reducer(Lists(offsets), starts, stops, content, all);
      std::fill(content.begin(), content.end(), T{0});
      check_reducer(Lists(offsets), starts, stops, content, any);
      content[static_cast<std::size_t>(3 + odd)] = T{1};
      check_reducers(Lists(offsets), starts, stops, content);
    }
  }
}

TEST(SegmentedReduce, ReducersOfListsOfFewElementsMatchTheReference) {
  // Around eight elements per list, and 57 per eight lists.
  std::mt19937 random(21);
  for (const std::int64_t least : {0, 1, 4, 6, 7, 8, 9}) {
    for (const unsigned span : {1U, 2U, 4U}) {
      std::vector<std::int64_t> offsets{3};
      for (int i = 0; i < 301; ++i)
        offsets.push_back(offsets.back() + least + static_cast<std::int64_t>(random() % span));
      const std::vector<std::int64_t> starts(offsets.begin(), offsets.end() - 1);
      const std::vector<std::int64_t> stops(offsets.begin() + 1, offsets.end());
      SCOPED_TRACE(testing::Message() << "lengths from " << least << ", " << span << " of them");
      check_reducers(Lists(offsets), starts, stops, few_values<std::uint8_t>(offsets.back()));
      check_reducers(Lists(offsets), starts, stops, few_values<double>(offsets.back()));
    }
  }
}

TEST(SegmentedReduce, ReducersOfTooManyListsForTheCachesMatchTheReference) {
  if (tests::kSanitized) GTEST_SKIP() << "takes too long";
  const auto offsets = many_offsets();
  const std::vector<std::int64_t> starts(offsets.begin(), offsets.end() - 1);
  const std::vector<std::int64_t> stops(offsets.begin() + 1, offsets.end());
  const auto content = few_values<std::uint8_t>(offsets.back());
  check_reducer(Lists(offsets), starts, stops, content, count_nonzero);
  check_reducer(Lists(offsets), starts, stops, content, argmax);
}

/// An element whose alignment is larger than that of the allocator's memory.
struct alignas(64) Wide {
  double values[8];
};

TEST(SegmentedReduce, ElementsMayBeAlignedTo64Bytes) {
  const auto sum = [](const Wide& a, const Wide& b) {
    Wide c{};
    for (std::size_t k = 0; k < 8; ++k) c.values[k] = a.values[k] + b.values[k];
    return c;
  };
  const std::vector<Wide> content(20'000, Wide{{1, 2, 3, 4, 5, 6, 7, 8}});
  std::vector<Wide> out(2);
  segmented_reduce(par.with_threads(3), std::vector<int>{0, 7, 20'000}, content, out, Wide{}, sum);
  EXPECT_EQ(out[0].values[7], 56);
  EXPECT_EQ(out[1].values[0], 19'993);
}

TEST(SegmentedReduce, TakesInitAndNullsOfArrays) {
  const std::vector<int> offsets{0, 2, 2, 3};
  const std::vector<float> content{1, 2, 3};
  const std::vector<std::uint8_t> valid{1, 0, 1};
  std::vector<float> out(3);
  segmented_reduce(par, offsets, content, out, add, Mask(valid));
  EXPECT_EQ(out, (std::vector<float>{1, 0, 3}));
  segmented_reduce(par, offsets, content, out, 2.5F, upsweep::max);
  EXPECT_EQ(out, (std::vector<float>{2.5F, 2.5F, 3}));
  segmented_reduce(par, offsets, content, out, 1.0F, add, Mask(valid));
  EXPECT_EQ(out, (std::vector<float>{2, 1, 4}));
  std::vector<std::int64_t> last(3);
  segmented_reduce(par, offsets, content, last, argmax, Mask(valid));
  EXPECT_EQ(last, (std::vector<std::int64_t>{0, -1, 0}));
}

// --------------------------------------------------------------------------------------------------------------- nulls

TEST(SegmentedReduce, SkipsNullElementsAndNullLists) {
  std::mt19937 random(23);
  for (const ListPattern pattern :
       {ListPattern::poisson, ListPattern::fixed32, ListPattern::giants, ListPattern::one}) {
    const std::int64_t n = 30'000;
    const auto offsets = offsets_of(pattern, n);
    const std::int64_t count = std::ssize(offsets) - 1;
    std::vector<std::uint8_t> bits(static_cast<std::size_t>(n / 8 + 2));
    for (auto& byte : bits) byte = static_cast<std::uint8_t>(random());
    std::vector<std::uint8_t> is_list(static_cast<std::size_t>(count));
    for (auto& one : is_list) one = random() % 4 != 0 ? 1 : 0;
    // Bounds of null lists have any value, even invalid ones.
    ListsCase lists;
    for (std::size_t i = 0; i < is_list.size(); ++i) {
      lists.starts.push_back(is_list[i] != 0 ? offsets[i] : 77);
      lists.stops.push_back(is_list[i] != 0 ? offsets[i + 1] : -5);
    }
    std::vector<std::int64_t> stops = lists.stops;
    for (std::size_t i = 0; i < stops.size(); ++i) stops[i] = is_list[i] != 0 ? stops[i] : lists.starts[i];
    const Lists given = lists.lists().with_validity(is_list);
    for (const Mask& valid : {Mask(), Mask::bits(bits.data(), n, 5)}) {
      check_reducers(given, lists.starts, stops, few_values<std::int16_t>(n), valid);
      check_reducers(given, lists.starts, stops, few_values<double>(n), valid);
      const auto content = values_of<std::int64_t>(n);
      for (const std::string& rung : steps()) {
        if (!takes(rung, given)) continue;
        std::vector<std::int64_t> sums(is_list.size());
        segmented_reduce(par.with_rung(rung).with_threads(2), given, content.data(), n, sums.data(), 3, add, valid);
        for (std::size_t i = 0; i < sums.size(); ++i) {
          std::int64_t sum = 3;
          for (std::int64_t j = lists.starts[i]; j < stops[i]; ++j) {
            if (!valid.is_given() || valid[j]) sum = add(sum, content[static_cast<std::size_t>(j)]);
          }
          ASSERT_EQ(sums[i], sum) << rung << " list " << i;
        }
      }
    }
  }
}

// ------------------------------------------------------------------------------------------------------------ overflow

/// Returns the first list whose sum does not fit, using 128 bits, or kNoIndex.
template <class Out, class In>
std::int64_t first_overflow(const std::vector<std::int64_t>& offsets, const std::vector<In>& content) {
  __extension__ using Exact = __int128;
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    Exact sum = 0;
    for (auto j = static_cast<std::size_t>(offsets[i]); j < static_cast<std::size_t>(offsets[i + 1]); ++j) {
      sum += content[j];
    }
    if (sum < std::numeric_limits<Out>::min() || sum > std::numeric_limits<Out>::max()) {
      return static_cast<std::int64_t>(i);
    }
  }
  return kNoIndex;
}

template <class Out, class In>
void check_overflow(const std::vector<std::int64_t>& offsets, const std::vector<In>& content) {
  const std::int64_t right = first_overflow<Out>(offsets, content);
  for (const std::string& rung : steps()) {
    for (const int threads : {1, 3}) {
      const Policy policy = par.with_rung(rung).with_threads(threads).with_overflow(Overflow::checked);
      std::vector<Out> out(offsets.size() - 1);
      std::int64_t found = kNoIndex;
      try {
        segmented_reduce(policy, offsets, content, out);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::overflow) << error.what();
        found = error.index();
      }
      ASSERT_EQ(found, right) << rung << " threads " << threads;
      if (right != kNoIndex) continue;
      for (std::size_t i = 0; i < out.size(); ++i) {
        ASSERT_EQ(out[i], expected_fold(content.data(), offsets[i], offsets[i + 1], add, Out{0})) << rung;
      }
    }
  }
}

TYPED_TEST(SegmentedReducers, CheckedSumsNameTheFirstListThatDoesNotFit) {
  using T = TypeParam;
  if constexpr (std::is_integral_v<T>) {
    for_each_type([]<class Out>(std::type_identity<Out>) {
      if constexpr (std::is_integral_v<Out>) {
        for (const ListPattern pattern : {ListPattern::poisson, ListPattern::fixed1000, ListPattern::giants}) {
          SCOPED_TRACE(testing::Message() << name(type_of<Out>()) << ' ' << pattern_name(pattern));
          const auto offsets = offsets_of(pattern, 12'000);
          std::vector<T> content(12'000, T{0});
          check_overflow<Out>(offsets, content);
          for (const std::size_t at : {11'000U, 5'000U, 17U}) {  // the last one first: the first is always reported
            content[at] = std::numeric_limits<T>::max();
            if (at + 1 < content.size()) content[at + 1] = std::numeric_limits<T>::max();
            check_overflow<Out>(offsets, content);
          }
          // Intermediate sums do not fit, but final sums do.
          if constexpr (std::is_signed_v<T>) {
            for (std::size_t i = 0; i + 3 < content.size(); i += 4) {
              content[i] = content[i + 1] = std::numeric_limits<T>::max();
              content[i + 2] = content[i + 3] = -std::numeric_limits<T>::max();
            }
            check_overflow<Out>(std::vector<std::int64_t>{0, 4, 4, 12, 12'000 - 4}, content);
          }
        }
      }
    });
  }
}

// -------------------------------------------------------------------------------------------------------------- errors

struct BadList {
  Code code;
  std::int64_t start;
  std::int64_t stop;
};

TEST(SegmentedReduce, NamesTheFirstBadList) {
  constexpr std::int64_t kContent = 9000;
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  const BadList bad_lists[] = {{Code::stop_before_start, 5, 4},           {Code::stop_before_start, kMost, -5},
                               {Code::stop_before_start, 1, kLeast},      {Code::negative_start, -1, 3},
                               {Code::negative_start, kLeast, kMost},     {Code::stop_past_end, 8999, 9001},
                               {Code::stop_past_end, 9000, kMost},        {Code::stop_before_start, kMost, kLeast},
                               {Code::negative_start, kLeast, kLeast + 1}};
  const auto content = values_of<double>(kContent);
  const auto offsets = offsets_of(ListPattern::poisson, kContent);
  const auto count = static_cast<std::size_t>(std::ssize(offsets) - 1);
  for (const BadList& bad : bad_lists) {
    for (const std::size_t at : {std::size_t{0}, std::size_t{255}, std::size_t{256}, count / 2, count - 1}) {
      std::vector<std::int64_t> starts(offsets.begin(), offsets.end() - 1);
      std::vector<std::int64_t> stops(offsets.begin() + 1, offsets.end());
      starts[at] = bad.start;
      stops[at] = bad.stop;
      if (at + 2 < count) stops[at + 2] = kMost;  // another error after it
      for (const std::string& rung : steps()) {
        if (rung == "cpu.shares") continue;
        for (const int threads : {1, 3}) {
          Guarded<double> out(std::ssize(starts));
          try {
            segmented_reduce(par.with_rung(rung).with_threads(threads), Lists(starts, stops), content, out.span());
            ADD_FAILURE() << rung << ": list " << at << " was taken";
          } catch (const Error& error) {
            EXPECT_EQ(error.code(), bad.code) << error.what();
            EXPECT_EQ(error.index(), static_cast<std::int64_t>(at)) << rung << ' ' << error.what();
          }
          EXPECT_TRUE(out.intact());
        }
      }
    }
  }
}

TEST(SegmentedReduce, NamesTheFirstOffsetThatDecreases) {
  const auto good = offsets_of(ListPattern::zero_to_4, 100'000);
  const auto content = values_of<float>(100'000);
  for (const std::size_t at : {std::size_t{0}, std::size_t{300}, good.size() - 2}) {
    for (const std::int64_t value : {std::int64_t{-7}, std::int64_t{200'000}}) {
      auto offsets = good;
      offsets[at] = value;
      const bool is_past = value > 0;
      const std::int64_t index = at == 0 ? 0 : static_cast<std::int64_t>(at) - 1;
      const Code code = at == 0 ? (is_past ? Code::stop_before_start : Code::negative_start)
                                : (is_past ? Code::stop_past_end : Code::stop_before_start);
      for (const auto& rung : tests::cpu_rungs("segmented-reduce")) {
        std::vector<float> out(offsets.size() - 1);
        try {
          segmented_reduce(par.with_rung(rung.id).with_threads(3), offsets, content, out);
          ADD_FAILURE() << rung.id << ": offset " << at << " was taken";
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), code) << rung.id << ' ' << error.what();
          EXPECT_EQ(error.index(), index) << rung.id << ' ' << error.what();
        }
      }
    }
  }
}

TEST(SegmentedReduce, SaysWhatIsWrong) {
  const std::vector<int> offsets{0, 2, 3};
  const std::vector<float> content{1, 2, 3};
  std::vector<float> out(2);
  const auto reduced = [&](const Lists& lists, const Policy& policy = par) {
    return tests::code_of([&] { segmented_reduce(policy, lists, content, out); });
  };
  EXPECT_EQ(reduced(offsets), Code::ok);
  EXPECT_EQ(out, (std::vector<float>{3, 3}));
  EXPECT_EQ(reduced(std::vector<int>{0, 1}), Code::unequal_lengths) << "out has another length";
  EXPECT_EQ(tests::code_of([] { (void)Lists(std::vector<int>{}); }), Code::unequal_lengths);
  EXPECT_EQ(tests::code_of([] { (void)Lists(std::vector<int>{1}, std::vector<int>{}); }), Code::unequal_lengths);
  EXPECT_EQ(reduced(Lists::of_size(2, 2)), Code::unequal_lengths) << "the content is too short";
  EXPECT_EQ(reduced(Lists::of_size(2, -1)), Code::invalid_argument);
  EXPECT_EQ(reduced(Lists::of_size(2, std::numeric_limits<std::int64_t>::max())), Code::overflow);
  EXPECT_EQ(reduced(Lists::by_offsets<int>(nullptr, 2)), Code::invalid_argument);
  EXPECT_EQ(reduced(Lists(offsets).with_validity(std::vector<std::uint8_t>(3))), Code::unequal_lengths);
  EXPECT_EQ(reduced(offsets, par.with_threads(-1)), Code::invalid_argument);
  EXPECT_EQ(reduced(offsets, par.with_rung("cpu.quick")), Code::unknown_rung);
  EXPECT_EQ(reduced(Lists(std::vector<int>{0, 2}, std::vector<int>{2, 3}), par.with_rung("cpu.shares")),
            Code::unsupported);
  const auto masked = [&](const Mask& valid) {
    return tests::code_of([&] { segmented_reduce(par, offsets, content.data(), 3, out.data(), 0, add, valid); });
  };
  EXPECT_EQ(masked(std::vector<std::uint8_t>(2)), Code::unequal_lengths);
  EXPECT_EQ(masked(std::vector<std::uint8_t>()), Code::unequal_lengths) << "an empty mask is still a mask";
  EXPECT_EQ(masked(Mask::bytes(out.data(), 3)), Code::invalid_argument) << "out overlaps it";
  EXPECT_EQ(masked(Mask::bits(nullptr, 3)), Code::invalid_argument);
  EXPECT_EQ(tests::code_of([&] {
              segmented_reduce(par, Lists(offsets), content.data(), 3, const_cast<float*>(content.data()) + 1);
            }),
            Code::invalid_argument)
      << "out overlaps the content";
  EXPECT_EQ(
      tests::code_of([&] { segmented_reduce(par, Lists::by_offsets<int>(nullptr, 0), content.data(), 3, out.data()); }),
      Code::ok)
      << "no lists";
}

TEST(SegmentedReduce, TheLibraryGivesTheSameOfIntegers) {
  const auto offsets = offsets_of(ListPattern::giants, 50'000);
  const auto content = values_of<std::int64_t>(50'000);
  std::vector<std::int64_t> out(offsets.size() - 1);
  segmented_reduce(par.with_rung("cpu.tbb"), offsets, content, out);
  for (std::size_t i = 0; i < out.size(); ++i) {
    ASSERT_EQ(out[i], expected_fold(content.data(), offsets[i], offsets[i + 1], add, std::int64_t{0}));
  }
  EXPECT_EQ(tests::code_of([&] { segmented_reduce(par.with_rung("cpu.tbb"), offsets, content, out, argmax); }),
            Code::unsupported);
}

TEST(SegmentedReduce, BooleansAreBytes) {
  const std::array<bool, 5> content{true, false, false, true, true};
  const std::vector<int> offsets{0, 2, 2, 5};
  std::array<bool, 3> out{};
  segmented_reduce(par, offsets, content, out, any);
  EXPECT_EQ(out, (std::array<bool, 3>{true, false, true}));
  segmented_reduce(par, offsets, content, out, all);
  EXPECT_EQ(out, (std::array<bool, 3>{false, true, false}));
  std::array<std::int64_t, 3> sums{};
  segmented_reduce(par, offsets, content, sums, add);
  EXPECT_EQ(sums, (std::array<std::int64_t, 3>{1, 0, 2}));
}

}  // namespace
}  // namespace upsweep
