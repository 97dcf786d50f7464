// SPDX-License-Identifier: Apache-2.0
// tests/cuda_segmented_reduce_test.cpp: every CUDA rung of segmented-reduce: patterns of lists, types, bounds,
// misalignments, operators, reducers, nulls, invalid lists, graphs, workspaces, and what calls refuse.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "climb/generated_lists.hpp"
#include "climb/list_reference.hpp"
#include "climb/reference.hpp"
#include "core/lists.hpp"
#include "core/visit.hpp"
#include "device_array.hpp"
#include "device_booleans.hpp"
#include "patterns.hpp"
#include "rungs.hpp"
#include "upsweep/segmented_reduce.hpp"

namespace upsweep {
namespace {

using reference::expected_fold;
using reference::expected_pick;
using tests::DeviceArray;
using tests::DeviceBooleans;
using tests::GpuTest;
using tests::require;

// --------------------------------------------------------------------------------------------------------------- given

/// Lists on the host, adjacent or not, and the length of their content.
struct Given {
  std::string what;
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> stops;
  std::int64_t content = 0;
  bool by_offsets = true;

  [[nodiscard]] std::int64_t count() const { return std::ssize(starts); }
};

/// Lists between offsets; `before` elements of the content precede them and `after` elements follow.
Given between(std::string what, const std::vector<std::int64_t>& offsets, std::int64_t before = 0,
              std::int64_t after = 0) {
  Given given;
  given.what = std::move(what);
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    given.starts.push_back(offsets[i] + before);
    given.stops.push_back(offsets[i + 1] + before);
  }
  given.content = offsets.back() + before + after;
  return given;
}

Given of_lengths(std::string what, const std::vector<std::int64_t>& lengths, std::int64_t before = 0,
                 std::int64_t after = 0) {
  std::vector<std::int64_t> offsets{0};
  for (const std::int64_t length : lengths) offsets.push_back(offsets.back() + length);
  return between(std::move(what), offsets, before, after);
}

Given of_pattern(ListPattern pattern, std::int64_t n, std::int64_t before = 0, std::int64_t after = 0) {
  return between(pattern_name(pattern) + " of " + std::to_string(n),
                 n == 0 ? std::vector<std::int64_t>{0} : generated_offsets(pattern, n), before, after);
}

constexpr ListPattern kPatterns[] = {ListPattern::poisson,   ListPattern::fixed3,    ListPattern::fixed32,
                                     ListPattern::fixed1000, ListPattern::zero_to_4, ListPattern::empty,
                                     ListPattern::one,       ListPattern::giants,    ListPattern::pareto};

Given of_equal(std::int64_t length, std::int64_t n) {
  return of_lengths("length " + std::to_string(length),
                    std::vector<std::int64_t>(static_cast<std::size_t>(n / length), length), 1, 2);
}

/// Lists that end at borders of tiles and work units, one element before and one after them.
Given at_borders(std::int64_t bytes, std::int64_t size, std::int64_t away) {
  std::vector<std::int64_t> lengths;
  for (int round = 0; round < 5; ++round) {
    lengths.push_back(bytes / size + away);
    for (int k = 0; k < round * 7; ++k) lengths.push_back(k % 3);
  }
  return of_lengths("borders of " + std::to_string(bytes) + " bytes, away " + std::to_string(away), lengths, 3, 1);
}

/// The same lists in another order; some occur twice and some not at all.
Given apart(Given given) {
  const Given old = given;
  std::mt19937_64 random(5);
  for (std::size_t i = 0; i < old.starts.size(); ++i) {
    const std::size_t from = random() % old.starts.size();
    given.starts[i] = old.starts[from];
    given.stops[i] = old.stops[from];
  }
  given.what += ", apart";
  given.by_offsets = false;
  return given;
}

/// Elements whose sums are exact in any order.
template <class T>
std::vector<T> exact_values(std::int64_t n) {
  return tests::make<T>(tests::Pattern::random, n, 7);
}

/// Elements whose products are exact in any order: floats are powers of two around 1.
template <class T>
std::vector<T> exact_factors(std::int64_t n) {
  if constexpr (std::is_integral_v<T>) return exact_values<T>(n);
  std::vector<T> values(static_cast<std::size_t>(n));
  std::mt19937 random(19);
  for (auto& value : values) {
    const unsigned bits = random() % 256;
    value = static_cast<T>(bits == 0 ? 2.0 : bits == 1 ? 0.5 : bits % 2 == 0 ? 1.0 : -1.0);
  }
  return values;
}

/// Elements that are often equal and often zero, of either sign. Some floats are NaN.
template <class T>
std::vector<T> few_values(std::int64_t n) {
  std::mt19937 random(17);
  std::vector<T> values(static_cast<std::size_t>(n));
  for (auto& value : values) value = static_cast<T>(static_cast<int>(random() % 5) - (std::is_signed_v<T> ? 1 : 0));
  if constexpr (std::is_floating_point_v<T>) {
    for (std::size_t i = 7; i < values.size(); i += 129) values[i] = std::numeric_limits<T>::quiet_NaN();
    for (std::size_t i = 8; i < values.size(); i += 3) values[i] = T{-0.0};
  }
  return values;
}

template <class T>
bool same_bits(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a && b != b) return true;  // which NaN is unspecified
  }
  // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): the bits are promised
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

// ------------------------------------------------------------------------------------------------------- on the device

/// Lists on the device, with bounds of a given type. Each array is at a distance from an aligned address.
template <class Bound>
class DeviceLists {
 public:
  DeviceLists(const Given& given, std::int64_t misaligned)
      : given_(given),
        starts_(bounds(given.starts, given.by_offsets, given), misaligned),
        stops_(given.by_offsets ? std::vector<Bound>() : bounds(given.stops, false, given), misaligned / 2) {}

  [[nodiscard]] Lists view() {
    return given_.by_offsets ? Lists::by_offsets(starts_.data(), given_.count())
                             : Lists::by_bounds(starts_.data(), stops_.data(), given_.count());
  }
  [[nodiscard]] bool intact() const { return starts_.intact() && stops_.intact(); }

 private:
  static std::vector<Bound> bounds(const std::vector<std::int64_t>& values, bool with_end, const Given& given) {
    std::vector<Bound> all(values.begin(), values.end());
    if (with_end) all.push_back(static_cast<Bound>(given.stops.empty() ? 0 : given.stops.back()));
    return all;
  }

  const Given& given_;
  DeviceArray<Bound> starts_;
  DeviceArray<Bound> stops_;
};

/// The top rung, and every rung by its name.
std::vector<std::string> rungs() {
  std::vector<std::string> ids{""};
  for (const auto& rung : tests::rungs_of("segmented-reduce", Backend::cuda)) ids.emplace_back(rung.id);
  return ids;
}

/// Runs every rung that supports the call, call(policy, out), and compares its results.
template <class Out, class Call>
void check_rungs(const Given& given, const std::vector<Out>& expected, std::int64_t misaligned, Call call) {
  int ran = 0;
  for (const std::string& rung : rungs()) {
    DeviceArray<Out> out(given.count(), misaligned);
    try {
      const ListsResult result = call(gpu::Policy{}.with_rung(rung), out.data());
      EXPECT_EQ(result.lists, given.count());
      EXPECT_TRUE(rung.empty() || result.rung == rung);
    } catch (const Error& error) {
      ASSERT_TRUE(!rung.empty() && error.code() == Code::unsupported)
          << rung << ' ' << given.what << ": " << error.what();
      continue;
    }
    ++ran;
    ASSERT_TRUE(out.intact()) << rung << ' ' << given.what;
    const std::vector<Out> found = out.values();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_TRUE(same_bits(found[i], expected[i]))
          << rung << ", " << given.what << ", misaligned " << misaligned << ": list " << i << " of " << given.count()
          << ", " << given.starts[i] << " … " << given.stops[i] << ": " << +found[i] << ", not " << +expected[i];
    }
  }
  EXPECT_GE(ran, 2) << given.what;
}

template <class Out, class In, class Op>
std::vector<Out> expected_folds(const Given& given, const std::vector<In>& content, Op op, Out init) {
  std::vector<Out> expected(given.starts.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    Out total = init;
    for (std::int64_t j = given.starts[i]; j < given.stops[i]; ++j) {
      total = op(total, static_cast<Out>(content[static_cast<std::size_t>(j)]));
    }
    expected[i] = total;
  }
  return expected;
}

template <class Bound = std::int64_t, class Out, class In, class Op>
void check_folds(const Given& given, const std::vector<In>& content, Op op, Out init, std::int64_t misaligned = 0) {
  DeviceLists<Bound> lists(given, misaligned);
  DeviceArray<In> in(content, misaligned);
  check_rungs(given, expected_folds(given, content, op, init), misaligned, [&](const gpu::Policy& policy, Out* out) {
    return segmented_reduce(policy, lists.view(), in.data(), std::ssize(content), out, init, op);
  });
  EXPECT_TRUE(lists.intact() && in.intact()) << given.what;
  if (content.empty()) return;
  const std::vector<In> left = in.values();
  EXPECT_EQ(std::memcmp(left.data(), content.data(), content.size() * sizeof(In)), 0);
}

/// The result of a reducer on the elements of a list that are not null.
template <class T>
std::int64_t expected(Reducer reducer, const T* x, std::int64_t first, std::int64_t last,
                      const std::vector<bool>& valid) {
  std::int64_t nonzero = 0;
  std::vector<T> there;
  std::vector<std::int64_t> position;
  for (std::int64_t j = first; j < last; ++j) {
    if (!valid.empty() && !valid[static_cast<std::size_t>(j)]) continue;
    nonzero += x[j] != T{0} ? 1 : 0;
    there.push_back(x[j]);
    position.push_back(j - first);
  }
  const std::int64_t count = std::ssize(there);
  if (reducer == Reducer::any) return nonzero > 0 ? 1 : 0;
  if (reducer == Reducer::all) return nonzero == count ? 1 : 0;
  if (reducer == Reducer::count) return count;
  if (reducer == Reducer::count_nonzero) return nonzero;
  const std::int64_t pick = reference::expected_pick(there.data(), 0, count, reducer == Reducer::argmax);
  return pick < 0 ? -1 : position[static_cast<std::size_t>(pick)];
}

template <class Bound = std::int64_t, class T, class Op>
void check_reducer(const Given& given, const std::vector<T>& content, Op op, std::int64_t misaligned = 0,
                   const std::vector<bool>& valid = {}, std::int64_t first_bit = -1) {
  constexpr bool kIsBoolean = Op::kReducer == Reducer::any || Op::kReducer == Reducer::all;
  using Out = std::conditional_t<kIsBoolean, std::uint8_t, std::int64_t>;
  std::vector<Out> right;
  for (std::size_t i = 0; i < given.starts.size(); ++i) {
    right.push_back(static_cast<Out>(expected(Op::kReducer, content.data(), given.starts[i], given.stops[i], valid)));
  }
  DeviceLists<Bound> lists(given, misaligned);
  DeviceArray<T> in(content, misaligned);
  DeviceBooleans mask(valid, first_bit, 1);
  SCOPED_TRACE(testing::Message() << name(Op::kReducer) << " of " << name(type_of<T>()));
  check_rungs(given, right, misaligned, [&](const gpu::Policy& policy, Out* out) {
    return segmented_reduce(policy, lists.view(), in.data(), std::ssize(content), out, op,
                            valid.empty() ? Mask{} : mask.view());
  });
}

template <class Bound = std::int64_t, class T>
void check_reducers(const Given& given, const std::vector<T>& content, std::int64_t misaligned = 0,
                    const std::vector<bool>& valid = {}, std::int64_t first_bit = -1) {
  check_reducer<Bound>(given, content, any, misaligned, valid, first_bit);
  check_reducer<Bound>(given, content, all, misaligned, valid, first_bit);
  check_reducer<Bound>(given, content, count, misaligned, valid, first_bit);
  check_reducer<Bound>(given, content, count_nonzero, misaligned, valid, first_bit);
  check_reducer<Bound>(given, content, argmin, misaligned, valid, first_bit);
  check_reducer<Bound>(given, content, argmax, misaligned, valid, first_bit);
}

// ----------------------------------------------------------------------------------------------------- folds, reducers

template <class T>
class CudaSegmentedReduce : public GpuTest {};
TYPED_TEST_SUITE(CudaSegmentedReduce, tests::ElementTypes);

TYPED_TEST(CudaSegmentedReduce, SumsOfEveryPatternMatchTheReference) {
  using T = TypeParam;
  for (const ListPattern pattern : kPatterns) {
    for (const std::int64_t n : {0, 1, 33, 771, 20'001, 400'003}) {
      const Given given = of_pattern(pattern, n, n % 3, n % 2);
      for (const std::int64_t misaligned : {std::int64_t{0}, 1 + n % 7}) {
        check_folds(given, exact_values<T>(given.content), add, T{0}, misaligned);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
  for (const std::int64_t length : {1, 2, 7, 8, 9, 16, 31, 64, 65, 300, 2047, 2049, 16'384, 16'385}) {
    const Given given = of_equal(length, 130'000);
    check_folds(given, exact_values<T>(given.content), add, T{3});
    if (testing::Test::HasFatalFailure()) return;
  }
}

TYPED_TEST(CudaSegmentedReduce, ListsMayEndOnEveryBorder) {
  using T = TypeParam;
  for (const std::int64_t bytes : {4096, 16'384, 23'552, 65'536, 262'144}) {
    for (const std::int64_t away : {-1, 0, 1}) {
      const Given given = at_borders(bytes, sizeof(T), away);
      check_folds(given, exact_values<T>(given.content), add, T{0}, away + 1);
      check_reducer(given, few_values<T>(given.content), argmax, away + 1);
      check_reducer(given, few_values<T>(given.content), count_nonzero, away + 1);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(CudaSegmentedReduce, EveryOperatorMatchesTheReference) {
  using T = TypeParam;
  for_each_operator<T>([]<class Op>(Op op) {
    for (const ListPattern pattern :
         {ListPattern::poisson, ListPattern::fixed32, ListPattern::pareto, ListPattern::one}) {
      for (const std::int64_t n : {100, 9001, 150'000}) {
        SCOPED_TRACE(testing::Message() << Op::kName << " of " << name(type_of<T>()));
        const Given given = of_pattern(pattern, n, 1);
        const auto content = std::is_same_v<Op, Mul>   ? exact_factors<T>(given.content)
                             : std::is_same_v<Op, Add> ? exact_values<T>(given.content)
                                                       : few_values<T>(given.content);
        check_folds(given, content, op, detail::usual_init<T, Op>(), n % 3);
        check_folds(apart(given), content, op, T{2});
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  });
}

TYPED_TEST(CudaSegmentedReduce, EveryReducerMatchesTheReference) {
  using T = TypeParam;
  for (const ListPattern pattern : kPatterns) {
    for (const std::int64_t n : {1, 257, 9001, 200'000}) {
      const Given given = of_pattern(pattern, n, 2);
      check_reducers(given, few_values<T>(given.content), n % 5);
      if (n < 200'000) check_reducers<std::int32_t>(apart(given), few_values<T>(given.content));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(CudaSegmentedReduce, SumsOfIntegersIn64BitsMatchTheReference) {
  using T = TypeParam;
  if constexpr (std::is_integral_v<T> && sizeof(T) < 8) {
    using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    for (const ListPattern pattern : kPatterns) {
      const Given given = of_pattern(pattern, 70'000, 3);
      check_folds<std::uint32_t>(given, exact_values<T>(given.content), add, Wide{5}, 1);
    }
  }
}

template <class Bound>
class CudaSegmentedReduceBounds : public GpuTest {};
using BoundTypes = testing::Types<std::int32_t, std::uint32_t, std::int64_t>;
TYPED_TEST_SUITE(CudaSegmentedReduceBounds, BoundTypes);

TYPED_TEST(CudaSegmentedReduceBounds, OfEveryTypeAndAlignmentAreRead) {
  using Bound = TypeParam;
  for (const ListPattern pattern : kPatterns) {
    for (const std::int64_t misaligned : {0, 1, 2, 3, 5}) {
      for (const std::int64_t n : {50, 120'000}) {
        const Given given = of_pattern(pattern, n, misaligned, 3);
        check_folds<Bound>(given, exact_values<float>(given.content), add, 0.0F, misaligned);
        check_folds<Bound>(given, exact_values<double>(given.content), add, 0.0, misaligned);
        check_reducer<Bound>(given, few_values<double>(given.content), argmin, misaligned);
        check_reducer<Bound>(given, few_values<std::uint8_t>(given.content), any, misaligned);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

// --------------------------------------------------------------------------------------------------------------- nulls

TEST_F(GpuTest, NullElementsAndNullListsAreSkipped) {
  std::mt19937 random(23);
  for (const ListPattern pattern :
       {ListPattern::poisson, ListPattern::fixed32, ListPattern::giants, ListPattern::one}) {
    for (const std::int64_t first_bit : {-1, 0, 5}) {
      Given given = of_pattern(pattern, 60'000, 1, 1);
      std::vector<bool> valid(static_cast<std::size_t>(given.content));
      for (auto&& one : valid) one = random() % 3 != 0;
      check_reducers(given, few_values<std::int16_t>(given.content), 0, valid, first_bit);
      check_reducers(apart(given), few_values<double>(given.content), 1, valid, first_bit);
      if (testing::Test::HasFatalFailure()) return;
      // Null lists: their bounds may have any value.
      std::vector<bool> is_list(given.starts.size());
      for (auto&& one : is_list) one = random() % 4 != 0;
      Given clean = apart(given);
      Given dirty = clean;
      for (std::size_t i = 0; i < is_list.size(); ++i) {
        if (is_list[i]) continue;
        dirty.starts[i] = 7;
        dirty.stops[i] = -9;
        clean.starts[i] = clean.stops[i] = 0;
      }
      const auto content = exact_values<std::int64_t>(given.content);
      DeviceLists<std::int64_t> lists(dirty, 0);
      DeviceArray<std::int64_t> in(content, 0);
      DeviceBooleans mask(is_list, first_bit, 1);
      check_rungs(clean, expected_folds(clean, content, add, std::int64_t{4}), 0,
                  [&](const gpu::Policy& policy, std::int64_t* out) {
                    return segmented_reduce(policy, lists.view().with_validity(mask.view()), in.data(),
                                            std::ssize(content), out, 4, add);
                  });
    }
  }
}

TEST_F(GpuTest, ListsOfOneSizeNeedNoBounds) {
  for (const std::int64_t size : {0, 1, 3, 8, 33, 1000, 40'000}) {
    const std::int64_t count = size > 100 ? 20 : 7000;
    const Given given = of_lengths("size " + std::to_string(size),
                                   std::vector<std::int64_t>(static_cast<std::size_t>(count), size), 0, 5);
    const auto content = exact_values<float>(given.content);
    DeviceArray<float> in(content, 1);
    check_rungs(given, expected_folds(given, content, add, 0.0F), 1, [&](const gpu::Policy& policy, float* out) {
      return segmented_reduce(policy, Lists::of_size(count, size), in.data(), std::ssize(content), out);
    });
  }
}

// -------------------------------------------------------------------------------------------------------------- floats

TEST_F(GpuTest, SumsOfFloatsAreCloseAndTheSameOnEveryRun) {
  for (const ListPattern pattern : kPatterns) {
    const Given given = of_pattern(pattern, 700'000);
    const auto content = tests::rounded<float>(given.content, 3);
    DeviceLists<std::int64_t> lists(given, 0);
    DeviceArray<float> in(content, 0);
    DeviceArray<float> elsewhere(content, 3);
    for (const auto& rung : tests::rungs_of("segmented-reduce", Backend::cuda)) {
      const auto run = [&](DeviceArray<float>& from) {
        DeviceArray<float> out(given.count());
        segmented_reduce(gpu::Policy{}.with_rung(rung.id), lists.view(), from.data(), given.content, out.data());
        return out.values();
      };
      const auto sums = run(in);
      for (std::size_t i = 0; i < sums.size(); ++i) {
        reference::SumReference right;
        for (std::int64_t j = given.starts[i]; j < given.stops[i]; ++j) {
          right.next(static_cast<long double>(content[static_cast<std::size_t>(j)]));
        }
        const std::int64_t length = given.stops[i] - given.starts[i];
        ASSERT_TRUE(
            reference::is_close(right, sums[i], rung.float_bound.factor(length, std::max<std::int64_t>(length, 1))))
            << rung.id << ' ' << given.what << ", list " << i;
      }
      if (rung.determinism == Determinism::no || sums.empty()) continue;
      for (int again = 0; again < 8; ++again) {
        const auto other = run(again % 2 == 0 ? in : elsewhere);
        ASSERT_EQ(std::memcmp(sums.data(), other.data(), sums.size() * sizeof(float)), 0)
            << rung.id << ' ' << given.what;
      }
    }
  }
}

// ----------------------------------------------------------------------------------------------------------- bad lists

/// Every rung finds the first invalid list, or that all lists are valid.
template <class Bound>
void check_bad(const Given& given) {
  std::int64_t bad = kNoIndex;
  Code code = Code::ok;
  for (std::int64_t i = 0; i < given.count() && bad == kNoIndex; ++i) {
    const auto at = static_cast<std::size_t>(i);
    code = check_list(given.starts[at], given.stops[at], given.content);
    if (code != Code::ok) bad = i;
  }
  const auto content = exact_values<float>(given.content);
  DeviceLists<Bound> lists(given, 1);
  DeviceArray<float> in(content, 1);
  for (const std::string& rung : rungs()) {
    DeviceArray<float> out(given.count(), 1);
    const auto policy = gpu::Policy{}.with_rung(rung);
    try {
      segmented_reduce(policy, lists.view(), in.data(), given.content, out.data());
      EXPECT_EQ(bad, kNoIndex) << rung << ' ' << given.what;
    } catch (const Error& error) {
      if (!rung.empty() && error.code() == Code::unsupported) continue;
      EXPECT_EQ(error.code(), code) << rung << ' ' << given.what << ": " << error.what();
      ASSERT_EQ(error.index(), bad) << rung << ' ' << given.what << ": " << error.what();
    }
    EXPECT_TRUE(out.intact() && in.intact()) << rung << ' ' << given.what;
    // The next call must succeed.
    DeviceArray<std::int64_t> offsets({0, 1, 3}, 0);
    DeviceArray<float> three({1, 2, 3}, 0);
    DeviceArray<float> two(2);
    segmented_reduce(policy, Lists::by_offsets(offsets.data(), 2), three.data(), 3, two.data());
    ASSERT_EQ(two.values(), (std::vector<float>{1, 5})) << rung << " after " << given.what;
  }
}

/// Lists between offsets that need not ascend.
Given offsets_as_they_are(std::string what, const std::vector<std::int64_t>& offsets, std::int64_t content) {
  Given given = between(std::move(what), offsets);
  given.content = content;
  return given;
}

TEST_F(GpuTest, TheFirstBadOffsetIsNamedByEveryRung) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  for (const ListPattern pattern :
       {ListPattern::zero_to_4, ListPattern::fixed1000, ListPattern::giants, ListPattern::one, ListPattern::empty}) {
    constexpr std::int64_t kContent = 300'000;
    const auto good = generated_offsets(pattern, kContent);
    const std::size_t last = good.size() - 1;
    for (const std::size_t at : {std::size_t{0}, std::size_t{1}, last / 3, last - 1, last}) {
      for (const std::int64_t value : {std::int64_t{-7}, std::int64_t{0}, kContent / 2, kContent + 1, 2 * kContent,
                                       std::int64_t{1} << 40, kMost, kLeast}) {
        auto offsets = good;
        offsets[at] = value;
        check_bad<std::int64_t>(offsets_as_they_are(
            pattern_name(pattern) + ", offset " + std::to_string(at) + " is " + std::to_string(value), offsets,
            kContent));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
    auto sawtooth = good;
    for (std::size_t i = 0; i < sawtooth.size(); ++i) sawtooth[i] = i % 2 == 0 ? 0 : kContent;
    sawtooth[0] = 1;
    if (sawtooth.size() > 2 && sawtooth.size() < 1000) {
      check_bad<std::int64_t>(offsets_as_they_are("a saw of " + pattern_name(pattern), sawtooth, kContent));
    }
    std::mt19937_64 random(3);
    auto noise = good;
    if (noise.size() > 1000) noise.resize(1000);
    for (auto& offset : noise) offset = static_cast<std::int64_t>(random() % kContent);
    check_bad<std::int64_t>(offsets_as_they_are("noise of " + pattern_name(pattern), noise, kContent));
    for (auto& offset : noise) offset = static_cast<std::int64_t>(random());
    check_bad<std::int64_t>(offsets_as_they_are("wide noise of " + pattern_name(pattern), noise, kContent));
  }
}

TEST_F(GpuTest, EmptyListsMayBeAnywhere) {
  for (const std::int64_t where : {std::int64_t{-5}, std::int64_t{1} << 40, std::int64_t{100}}) {
    check_bad<std::int64_t>(
        offsets_as_they_are("all at " + std::to_string(where), std::vector<std::int64_t>(5000, where), 100));
  }
}

TEST_F(GpuTest, TheFirstBadListIsNamedByEveryRung) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  const std::pair<std::int64_t, std::int64_t> bad_lists[] = {{5, 4},          {kMost, -5},  {1, kLeast},  {-1, 3},
                                                             {kLeast, kMost}, {8999, 9001}, {9000, kMost}};
  for (const auto& [start, stop] : bad_lists) {
    for (const std::size_t at : {0U, 255U, 2999U}) {
      Given given = apart(of_pattern(ListPattern::fixed3, 9000));
      given.starts[at] = start;
      given.stops[at] = stop;
      if (at + 2 < given.starts.size()) given.stops[at + 2] = kMost;
      check_bad<std::int64_t>(given);
    }
  }
}

// -------------------------------------------------------------------------------------------------- streams and memory

TEST_F(GpuTest, AGraphReplaysCallsWhoseStatusStaysOnTheDevice) {
  for (const ListPattern pattern : {ListPattern::poisson, ListPattern::one, ListPattern::giants}) {
    Given given = of_pattern(pattern, 300'007);
    const auto content = exact_values<double>(given.content);
    const auto right = expected_folds(given, content, add, 0.0);
    DeviceLists<std::int64_t> lists(given, 0);
    DeviceArray<double> in(content, 0);
    for (const auto& rung : tests::rungs_of("segmented-reduce", Backend::cuda)) {
      DeviceArray<double> out(given.count());
      DeviceArray<gpu::ListsStatus> status(1);
      const tests::OwnStream stream;
      auto policy = gpu::Policy{}.with_stream(stream).with_rung(rung.id);
      const Lists to_come = Lists::by_offsets<std::int64_t>(nullptr, given.count());
      gpu::Workspace workspace(gpu::segmented_reduce_workspace<double, double>(policy, to_come, given.content), 0,
                               stream);
      policy = policy.with_workspace(workspace);
      const tests::Replay replay(stream, [&] {
        EXPECT_EQ(tests::code_of([&] { segmented_reduce(policy, lists.view(), in.data(), given.content, out.data()); }),
                  Code::invalid_argument);  // it would have to wait
        segmented_reduce_async(policy, lists.view(), in.data(), given.content, out.data(), status.data());
      });
      auto* const offsets = const_cast<std::int64_t*>(static_cast<const std::int64_t*>(lists.view().starts));
      for (int run = 0; run < 5; ++run) {
        const bool bad = run % 3 == 1;
        const std::int64_t first = bad ? -3 : 0;
        require(cudaMemcpyAsync(offsets, &first, sizeof first, cudaMemcpyHostToDevice, stream));
        replay.launch(out, status);
        require(cudaStreamSynchronize(stream));
        const auto reported = status.values()[0];
        EXPECT_EQ(reported.code, bad ? Code::negative_start : Code::ok) << rung.id;
        EXPECT_EQ(reported.first_bad, bad ? 0 : kNoIndex) << rung.id << ' ' << given.what;
        if (bad) continue;
        EXPECT_EQ(out.values(), right) << rung.id << ' ' << given.what << " run " << run;
      }
      EXPECT_TRUE(out.intact());
    }
  }
}

/// The number of lists is in device memory, and changes from one replay to the next.
TEST_F(GpuTest, AsManyListsAsDeviceMemorySays) {
  for (const ListPattern pattern : {ListPattern::poisson, ListPattern::giants}) {
    const Given given = of_pattern(pattern, 300'007);
    const std::int64_t most = given.count();
    const auto content = exact_values<double>(given.content);
    const auto right = expected_folds(given, content, add, 0.0);
    DeviceLists<std::int64_t> lists(given, 0);
    DeviceArray<double> in(content, 0);
    DeviceArray<double> out(most);
    DeviceArray<std::int64_t> lengths(most);
    DeviceArray<std::int64_t> there(1);
    DeviceArray<gpu::ListsStatus> status(2);
    const gpu::Length count(there.data(), most);
    const tests::OwnStream stream;
    const auto policy = gpu::Policy{}.with_stream(stream);
    const tests::Replay replay(stream, [&] {
      EXPECT_EQ(segmented_reduce_async(policy, lists.view(), in.data(), given.content, out.data(), status.data(), add,
                                       {}, count),
                "cuda.lanes");
      segmented_reduce_async(policy, lists.view(), in.data(), given.content, lengths.data(), status.data() + 1,
                             upsweep::count, {}, count);
    });
    for (const std::int64_t n : {most, std::int64_t{0}, std::int64_t{1}, most / 2, most - 1, most + 3}) {
      require(cudaMemcpyAsync(there.data(), &n, sizeof n, cudaMemcpyHostToDevice, stream));
      replay.launch(out, lengths, status);
      require(cudaStreamSynchronize(stream));
      const std::int64_t folded = std::min(n, most);
      const auto results = out.values();
      const auto counts = lengths.values();
      EXPECT_EQ(status.values()[0].first_bad, kNoIndex);
      for (std::int64_t i = 0; i < most; ++i) {
        const auto k = static_cast<std::size_t>(i);
        ASSERT_EQ(results[k], i < folded ? right[k] : DeviceArray<double>::poisoned())
            << given.what << " list " << i << " of " << n;
        ASSERT_EQ(counts[k], i < folded ? given.stops[k] - given.starts[k] : DeviceArray<std::int64_t>::poisoned())
            << i;
      }
    }
    const auto code_of = [&](const gpu::Policy& where, const gpu::Length& length) {
      return tests::code_of([&] {
        segmented_reduce_async(where, lists.view(), in.data(), given.content, out.data(), status.data(), add, {},
                               length);
      });
    };
    EXPECT_EQ(code_of(policy.with_rung("cuda.pipeline"), count), Code::unsupported);
    EXPECT_EQ(code_of(policy, gpu::Length(there.data(), most + 1)), Code::invalid_argument);
    EXPECT_EQ(code_of(policy, gpu::Length(&most, most)), Code::invalid_argument);
    EXPECT_EQ(code_of(policy, gpu::Length(lengths.data(), most)), Code::ok);
    EXPECT_EQ(code_of(policy, gpu::Length(reinterpret_cast<const std::int64_t*>(out.data()), most)),
              Code::invalid_argument);
  }
}

TEST_F(GpuTest, OffsetsMayGoBackOverNullLists) {
  constexpr std::int64_t n = 3000;
  std::vector<std::int64_t> offsets;
  std::vector<std::uint8_t> valid;
  for (std::size_t list = 0; list < 9; ++list) {
    offsets.push_back(list % 2 == 0 ? 0 : n);
    valid.push_back(list % 2 == 0 ? 1 : 0);
  }
  offsets.push_back(n);
  DeviceArray<std::int64_t> bounds(offsets, 0);
  DeviceArray<std::uint8_t> mask(valid, 0);
  DeviceArray<std::int64_t> in(std::vector<std::int64_t>(n, 1), 0);
  DeviceArray<std::int64_t> out(9);
  const Lists lists = Lists::by_offsets(static_cast<const std::int64_t*>(bounds.data()), 9);
  segmented_reduce(gpu::Policy{}, lists.with_validity(Mask::bytes(mask.data(), 9)), in.data(), n, out.data());
  EXPECT_EQ(out.values(), (std::vector<std::int64_t>{n, 0, n, 0, n, 0, n, 0, n}));
}

TEST_F(GpuTest, AWorkspaceServesCallsOfOtherSizesAndReducers) {
  const Given large = of_pattern(ListPattern::giants, 900'000);
  DeviceLists<std::int64_t> most(large, 0);
  const auto content = few_values<float>(large.content);
  DeviceArray<float> in(content, 0);
  // The workspace is measured for results of 4 bytes, and used for results of 8.
  gpu::WorkspaceSize size = gpu::segmented_reduce_workspace<float, float>({}, most.view(), large.content);
  gpu::Workspace workspace(size);
  const auto policy = gpu::Policy{}.with_workspace(workspace);
  for (const ListPattern pattern : kPatterns) {
    for (const std::int64_t n : {900, 90'000, 300'000}) {
      tests::fill(workspace.scratch(), static_cast<int>(n % 251), static_cast<std::size_t>(size.scratch));
      const Given given = of_pattern(pattern, n);
      DeviceLists<std::int64_t> lists(given, 0);
      DeviceArray<std::int64_t> out(given.count());
      segmented_reduce(policy, lists.view(), in.data(), large.content, out.data(), argmax);
      const auto found = out.values();
      for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(found[i], reference::expected_pick(content.data(), given.starts[i], given.stops[i], true))
            << given.what << i;
      }
    }
  }
}

TEST_F(GpuTest, NoMemoryIsHeldAfterAnError) {
  Given given = of_pattern(ListPattern::fixed3, 30'000);
  given.starts[50] = given.stops[50] + 1;
  given.stops[49] = given.starts[50];
  DeviceLists<std::int64_t> lists(given, 0);
  DeviceArray<float> in(exact_values<float>(given.content), 0);
  DeviceArray<float> out(given.count());
  for (const std::string& rung : rungs()) {
    tests::CountingMemory enough(100);
    EXPECT_EQ(tests::code_of([&] {
                segmented_reduce(gpu::Policy{}.with_rung(rung).with_memory(enough), lists.view(), in.data(),
                                 given.content, out.data());
              }),
              Code::stop_before_start)
        << rung;
    EXPECT_EQ(enough.held, 0) << rung;
    tests::CountingMemory none(1);
    EXPECT_EQ(tests::code_of([&] {
                segmented_reduce(gpu::Policy{}.with_rung(rung).with_memory(none), lists.view(), in.data(),
                                 given.content, out.data());
              }),
              Code::device_memory)
        << rung;
    EXPECT_EQ(none.held, 0) << rung;
  }
}

TEST_F(GpuTest, AnErrorThatTheCallerHasNotAskedForIsNotTheCalls) {
  const Given given = of_pattern(ListPattern::fixed3, 3000);
  DeviceLists<std::int64_t> lists(given, 0);
  DeviceArray<float> in(exact_values<float>(given.content), 0);
  DeviceArray<float> out(given.count());
  for (const auto& rung : tests::rungs_of("segmented-reduce", Backend::cuda)) {
    tests::leave_stale_error();
    const Code code = tests::code_of([&] {
      segmented_reduce(gpu::Policy{}.with_rung(rung.id), lists.view(), in.data(), given.content, out.data());
    });
    tests::expect_stale_error(rung);
    EXPECT_EQ(code, Code::ok) << rung.id;
  }
}

// ----------------------------------------------------------------------------------------------- sums that are checked

/// The error of a call, and the list that it names; ok and kNoIndex if there is no error.
template <class Call>
std::pair<Code, std::int64_t> outcome_of(Call call) {
  try {
    call();
    return {Code::ok, kNoIndex};
  } catch (const Error& error) {
    return {error.code(), error.index()};
  }
}

/// As on the CPU: the sums, or the list whose sum does not fit.
template <class In, class Out>
void expect_checked_as_on_cpu(const std::vector<In>& content, const Given& given, Out init) {
  const std::int64_t n = std::ssize(content);
  const Lists on_host(given.starts, given.stops);
  std::vector<Out> expected(given.starts.size());
  const auto outcome = outcome_of(
      [&] { segmented_reduce(par.with_overflow(Overflow::checked), on_host, content, expected, init, add); });
  DeviceArray<std::int64_t> starts(given.starts, 0);
  DeviceArray<std::int64_t> stops(given.stops, 0);
  DeviceArray<In> in(content, 1);
  DeviceArray<Out> out(given.count(), 1);
  const auto policy = gpu::Policy{}.with_overflow(Overflow::checked);
  const auto result = outcome_of([&] {
    EXPECT_EQ(segmented_reduce(policy, Lists::by_bounds(starts.data(), stops.data(), given.count()), in.data(), n,
                               out.data(), init, add)
                  .rung,
              "cuda.lanes");
  });
  EXPECT_EQ(result, outcome) << given.what << " of " << name(type_of<In>()) << " into " << name(type_of<Out>());
  if (outcome.first == Code::ok) {
    EXPECT_EQ(out.values(), expected) << given.what;
  }
  EXPECT_TRUE(out.intact());
}

TYPED_TEST(CudaSegmentedReduce, CheckedSumsAreExactOrNameTheFirstListThatDoesNotFit) {
  using T = TypeParam;
  if constexpr (std::is_integral_v<T>) {
    using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    constexpr T kMost = std::numeric_limits<T>::max();
    constexpr T kLeast = std::numeric_limits<T>::min();
    const Given given = of_lengths("checked", {3, 0, 8, 9, 64, 65, 2048, 2049, 16384, 16385, 60'000, 5, 1}, 2, 3);
    std::vector<T> content(static_cast<std::size_t>(given.content), T{0});
    expect_checked_as_on_cpu<T, T>(content, given, T{1});
    for (std::size_t list = 0; list < given.starts.size(); ++list) {
      if (given.starts[list] == given.stops[list]) continue;
      const auto last = static_cast<std::size_t>(given.stops[list] - 1);
      content[last] = kMost;
      expect_checked_as_on_cpu<T, T>(content, given, T{0});
      expect_checked_as_on_cpu<T, T>(content, given, T{1});
      expect_checked_as_on_cpu<T, Wide>(content, given, Wide{1});
      expect_checked_as_on_cpu<T, Wide>(content, given, std::numeric_limits<Wide>::max());
      content[last] = kLeast;
      expect_checked_as_on_cpu<T, T>(content, given, kLeast);
      content[last] = T{0};
    }
    // Prefixes do not fit, but the sum does.
    const auto first = static_cast<std::size_t>(given.starts[4]);
    content[first] = content[first + 1] = kMost;
    if (std::is_signed_v<T>) content[first + 2] = content[first + 3] = kLeast;
    expect_checked_as_on_cpu<T, T>(content, given, T{2});
    // The error is the first invalid list or the first sum that does not fit, whichever is earlier.
    Given bad = given;
    bad.stops[2] = bad.starts[2] - 1;
    expect_checked_as_on_cpu<T, T>(content, bad, T{2});
    bad = given;
    bad.stops[7] = bad.starts[7] - 1;
    expect_checked_as_on_cpu<T, T>(content, bad, T{2});
  }
}

TEST_F(GpuTest, OnlySumsOfListsAreChecked) {
  const auto checked = gpu::Policy{}.with_overflow(Overflow::checked);
  DeviceArray<std::int32_t> in(std::vector<std::int32_t>(8, 1 << 30), 0);
  DeviceArray<std::int32_t> out(8);
  DeviceArray<gpu::ListsStatus> status(1);
  const Lists lists = Lists::of_size(2, 4);
  using tests::code_of;
  EXPECT_EQ(code_of([&] { inclusive_scan(checked, in.data(), 8, out.data()); }), Code::unsupported);
  EXPECT_EQ(code_of([&] { inclusive_scan(checked, in.data(), 8, out.data(), max); }), Code::ok);
  EXPECT_EQ(code_of([&] { segmented_reduce(checked, lists, in.data(), 8, out.data(), max); }), Code::ok);
  EXPECT_EQ(code_of([&] { segmented_reduce(checked, lists, in.data(), 8, out.data()); }), Code::overflow);
  EXPECT_EQ(code_of([&] { segmented_reduce(checked.with_rung("cuda.pipeline"), lists, in.data(), 8, out.data()); }),
            Code::unsupported);
  EXPECT_EQ(segmented_reduce_async(checked, lists, in.data(), 8, out.data(), status.data()), "cuda.lanes");
  require(cudaDeviceSynchronize());
  EXPECT_EQ(status.values()[0].code, Code::overflow);
  EXPECT_EQ(status.values()[0].first_bad, 0);
}

TEST_F(GpuTest, CallsSayWhatIsWrong) {
  const Given given = of_pattern(ListPattern::fixed3, 300);
  const std::vector<float> host(1000, 1);
  DeviceLists<std::int64_t> lists(given, 0);
  DeviceArray<float> in(exact_values<float>(given.content), 0);
  DeviceArray<float> out(given.count());
  const auto code = [&](const gpu::Policy& policy, const Lists& which, const float* content, std::int64_t n,
                        float* to) { return tests::code_of([&] { segmented_reduce(policy, which, content, n, to); }); };
  const Lists good = lists.view();
  EXPECT_EQ(code({}, good, in.data(), 300, out.data()), Code::ok);
  EXPECT_EQ(code({}, good, host.data(), 300, out.data()), Code::invalid_argument);
  EXPECT_EQ(code({}, good, in.data(), 300, const_cast<float*>(host.data())), Code::invalid_argument);
  EXPECT_EQ(code({}, Lists::by_offsets(given.starts.data(), 50), in.data(), 300, out.data()), Code::invalid_argument);
  EXPECT_EQ(code({}, good, in.data(), 300, in.data()), Code::invalid_argument) << "it overlaps the content";
  EXPECT_EQ(code({}, good, in.data(), -1, out.data()), Code::invalid_argument);
  EXPECT_EQ(code({}, Lists::of_size(200, 2), in.data(), 300, out.data()), Code::unequal_lengths);
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(code({}, Lists::of_size(kMost, 0), in.data(), 300, out.data()), Code::invalid_argument);
  EXPECT_EQ(
      tests::code_of([] { (void)gpu::segmented_reduce_workspace<float, float>({}, Lists::of_size(kMost, 0), 300); }),
      Code::invalid_argument);
  EXPECT_EQ(code({}, good.with_validity(Mask::bytes(host.data(), 3)), in.data(), 300, out.data()),
            Code::unequal_lengths);
  EXPECT_EQ(code(gpu::Policy{}.with_rung("cpu.serial"), good, in.data(), 300, out.data()), Code::unsupported);
  EXPECT_EQ(code(gpu::Policy{}.with_rung("cuda.quick"), good, in.data(), 300, out.data()), Code::unknown_rung);
  EXPECT_EQ(tests::code_of([&] {
              DeviceArray<double> wide(given.count());
              segmented_reduce(gpu::Policy{}, good, in.data(), 300, wide.data());
            }),
            Code::unsupported)
      << "float32 into float64";
  EXPECT_EQ(tests::code_of([&] {
              segmented_reduce_async(gpu::Policy{}, good, in.data(), 300, out.data(),
                                     static_cast<gpu::ListsStatus*>(nullptr));
            }),
            Code::invalid_argument);
  EXPECT_EQ(code({}, Lists::by_offsets<int>(nullptr, 0), in.data(), 300, out.data()), Code::ok) << "no lists";
}

}  // namespace
}  // namespace upsweep
