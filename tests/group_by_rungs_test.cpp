// SPDX-License-Identifier: Apache-2.0
// tests/group_by_rungs_test.cpp: every rung of the group-by ladder is compared with its reference. Cases: patterns and
// types of keys, types of values, operators, counts, threads and the bits of float sums, overflow, capacity, and what
// is refused.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <map>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/visit.hpp"
#include "failure.hpp"
#include "group_keys.hpp"
#include "patterns.hpp"
#include "problems/keys/group_by/reference.hpp"
#include "rungs.hpp"
#include "upsweep/group_by.hpp"

namespace upsweep {
namespace {

using impl::group_by::ExpectedGroups;
using tests::code_of;
using tests::failure_of;
using tests::Guarded;
using tests::Keys;
using tests::keys_of;
using tests::kSanitized;

/// Every rung with these numbers of threads, and the API's choice.
std::vector<Policy> policies(const std::vector<int>& counts) {
  std::vector<Policy> all{par};
  for (const RungInfo& rung : tests::cpu_rungs("group-by")) {
    for (const int threads : counts) {
      if (threads > counts[0] && rung.threads == Threads::one) continue;
      all.push_back(par.with_rung(rung.id).with_threads(threads));
    }
  }
  return all;
}

/// With several numbers of threads, on which sums of floats must not depend.
std::vector<Policy> policies() { return policies(kSanitized ? std::vector{1, 3} : std::vector{1, 2, 3, 7}); }

std::string describe(const Policy& policy) {
  return std::string(policy.rung) + " threads " + std::to_string(policy.threads);
}

/// Whether the rung adds a group's floats in the order of the rows.
bool is_in_order(std::string_view rung) {
  return rung == "cpu.serial" || rung == "cpu.partitioned" || rung == "cpu.sorted";
}

/// The result of a call with some policy, between guards.
template <class Key, class Out>
struct Outputs {
  explicit Outputs(std::int64_t capacity) : keys(capacity, 1), folds(capacity, 3), counts(capacity, 1) {}

  Guarded<Key> keys;
  Guarded<Out> folds;
  Guarded<std::int64_t> counts;
  [[nodiscard]] bool intact() const { return keys.intact() && folds.intact() && counts.intact(); }
};

template <class Key, class In, class Out, class Op>
void check(const std::vector<Key>& keys, const std::vector<In>& values, std::type_identity<Out>, Op op,
           const std::vector<Policy>& on = policies()) {
  const ExpectedGroups<Key> expected(keys.data(), std::ssize(keys));
  const auto folds = impl::group_by::expected_folds<Out>(expected, values.data(), op);
  const std::int64_t groups = std::ssize(expected.keys);
  const bool rounds = std::is_floating_point_v<Out> && std::is_same_v<Op, Add>;
  std::map<std::string_view, std::vector<Out>> bits;  // per rung; the same with any number of threads
  for (const Policy& policy : on) {
    // Short inputs are processed by one thread, and sorting takes the longest time.
    if (policy.threads > 3 && (std::ssize(keys) <= 1025 || (policy.threads == 7 && policy.rung == "cpu.sorted")))
      continue;
    SCOPED_TRACE(describe(policy));
    Outputs<Key, Out> with(groups);
    Outputs<Key, Out> without(groups);
    Grouped result{};
    try {
      result = group_by(policy, keys, values, with.keys.span(), with.folds.span(), with.counts.span(), op);
      EXPECT_EQ(group_by(policy, keys, values, without.keys.span(), without.folds.span(), op).groups, groups);
    } catch (const Error& error) {  // the range of keys is too large
      EXPECT_TRUE(error.code() == Code::unsupported && policy.rung == "cpu.direct") << error.what();
      continue;
    }
    EXPECT_EQ(result.groups, groups);
    EXPECT_EQ(result.rung, policy.rung.empty() ? "cpu.adaptive" : policy.rung);
    EXPECT_TRUE(with.intact() && without.intact());
    const auto all = with.folds.span();
    if (!rounds || is_in_order(result.rung)) {
      EXPECT_EQ(first_wrong_group(expected, folds, with.keys.data(), with.folds.data(), with.counts.data()), kNoIndex);
    } else if constexpr (std::is_floating_point_v<Out>) {
      EXPECT_EQ(first_far_sum(expected, values.data(), with.keys.data(), with.folds.data(), with.counts.data()),
                kNoIndex);
    }
    const auto [first, is_new] = bits.try_emplace(result.rung, all.begin(), all.end());
    const std::vector<Out> uncounted(without.folds.span().begin(), without.folds.span().end());
    EXPECT_TRUE(std::equal(all.begin(), all.end(), first->second.begin(), impl::group_by::same_bits<Out>));
    EXPECT_TRUE(std::equal(all.begin(), all.end(), uncounted.begin(), impl::group_by::same_bits<Out>))
        << "without counts";
    EXPECT_TRUE(std::equal(expected.keys.begin(), expected.keys.end(), without.keys.data())) << "without counts";
  }
}

/// Floats are fractions: a different order of additions changes their sums.
template <class T>
std::vector<T> values_of(std::int64_t n) {
  if constexpr (std::is_floating_point_v<T>) return tests::rounded<T>(n, 3);
  if constexpr (std::is_integral_v<T>) return tests::make<T>(tests::Pattern::random, n);
}

/// Sizes around blocks and work units.
std::vector<std::int64_t> sizes() {
  if (kSanitized) return {0, 1, 1025, 66'000};
  return {0, 1, 1023, 1024, 1025, 65'535, 65'536, 65'537, 300'007};
}

template <class T>
class GroupByRungs : public testing::Test {};
TYPED_TEST_SUITE(GroupByRungs, tests::ElementTypes);

TYPED_TEST(GroupByRungs, ByKeysOfEveryTypeAndPatternMatchTheReference) {
  if constexpr (std::is_integral_v<TypeParam>) {
    for (const Keys pattern : tests::kAllKeys) {
      for (const std::int64_t n : sizes()) {
        if (n > 70'000 && pattern != Keys::random && pattern != Keys::hot && pattern != Keys::dense) continue;
        if (n % 65'536 != 1 && !std::is_same_v<TypeParam, std::int64_t>) continue;  // key types share their code
        SCOPED_TRACE("pattern " + std::to_string(static_cast<int>(pattern)) + " n " + std::to_string(n));
        check(keys_of<TypeParam>(pattern, n), values_of<double>(n), std::type_identity<double>{}, add,
              std::is_same_v<TypeParam, std::int64_t> ? policies() : policies({3}));
        if (this->HasFailure()) return;
      }
    }
  }
}

TYPED_TEST(GroupByRungs, OfValuesOfEveryTypeByEveryOperatorMatchTheReference) {
  using T = TypeParam;
  for (const Keys pattern : {Keys::hot, Keys::dense}) {
    const std::int64_t n = kSanitized ? 5'000 : 66'000;
    const auto keys = keys_of<std::int32_t>(pattern, n);
    for_each_operator<T>([&]<class Op>(Op op) {
      SCOPED_TRACE(Op::kName);
      auto values = values_of<T>(n);
      if constexpr (std::is_floating_point_v<T> && std::is_same_v<Op, Mul>) {  // exact in any order
        for (T& value : values) value = static_cast<T>(value < 0 ? -1 : 1);
      }
      check(keys, values, std::type_identity<T>{}, op, std::is_integral_v<T> ? policies({3}) : policies());
    });
    if constexpr (std::is_integral_v<T>) {
      using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
      check(keys, values_of<T>(n), std::type_identity<Wide>{}, add, policies({3}));
    }
    if (this->HasFailure()) return;
  }
}

TEST(GroupByRungs, NanAndZerosAreAsTheOperatorsHaveThem) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> values(70'000, 1.0);
  for (std::size_t i = 0; i < values.size(); i += 7) values[i] = i % 3 == 0 ? nan : i % 2 == 0 ? 0.0 : -0.0;
  const auto keys = keys_of<std::int64_t>(Keys::more, std::ssize(values));
  check(keys, values, std::type_identity<double>{}, min);
  check(keys, values, std::type_identity<double>{}, max);
  std::vector<double> zeros(values.size(), -0.0);
  check(keys, zeros, std::type_identity<double>{}, add);
}

/// Groups rows with `groups` different keys. There is not enough memory for one entry per row.
void group_in_little_memory(std::int64_t rows, std::int64_t groups, rlim_t memory) {
  std::vector<std::uint32_t> keys(static_cast<std::size_t>(rows));
  for (std::int64_t i = 0; i < rows; ++i) keys[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(i % groups);
  const std::vector<std::int8_t> values(keys.size(), 1);
  std::vector<std::uint32_t> out_keys(static_cast<std::size_t>(groups));
  std::vector<std::int64_t> sums(out_keys.size());
  std::vector<std::int64_t> counts(out_keys.size());
  const auto group = [&](std::int64_t count) {
    const auto some = static_cast<std::size_t>(count);
    group_by(par.with_threads(2).with_overflow(Overflow::checked), std::span(keys).first(some),
             std::span(values).first(some), out_keys, sums, counts, add);
  };
  group(1 << 20);  // threads and their arenas now exist
  std::ifstream statm("/proc/self/statm");
  rlim_t pages = 0;
  ASSERT_TRUE(statm >> pages);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  const rlimit limit{pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + memory, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  const Code code = code_of([&] { group(rows); });
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  ASSERT_EQ(code, Code::ok);
  for (std::int64_t g = 0; g < groups; ++g) {
    const auto at = static_cast<std::size_t>(g);
    ASSERT_EQ(out_keys[at], static_cast<std::uint32_t>(g));
    ASSERT_EQ(sums[at], (rows - g + groups - 1) / groups);
    ASSERT_EQ(counts[at], sums[at]);
  }
}

TEST(GroupByRungs, MemoryFollowsGroupsAndNotRows) {
  if (kSanitized) GTEST_SKIP() << "skipped: sanitizers use additional memory";
  // An entry is a key, a row, a checked total of 16 bytes and a count: 30 bytes. For 2^26 rows they would be 2 GB.
  constexpr std::int64_t kRows = std::int64_t{1} << 26;
  group_in_little_memory(kRows, 2, rlim_t{1} << 28);
  group_in_little_memory(kRows, 4000, rlim_t{1} << 29);     // totals of work units
  group_in_little_memory(kRows, 100'000, rlim_t{1} << 30);  // rows that become entries
}

/// Rows for which several merges are needed, and their groups, computed with an array of all keys.
template <class T>
struct Merged {
  explicit Merged(std::int64_t rows) : keys(static_cast<std::size_t>(rows)), values(keys.size()) {
    std::mt19937_64 random(11);
    const std::int64_t few = rows / 4 * 3;
    const std::int64_t many = rows / 16 * 15;
    std::vector<std::size_t> number(static_cast<std::size_t>(300'000 + rows - many), keys.size());
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::uint64_t r = random();
      std::int64_t key = i % 6000;                                 // totals of work units
      if (i >= few) key = static_cast<std::int64_t>(r % 300'000);  // rows
      if (i >= many && r % 2 == 0)
        key = 300'000 + static_cast<std::int64_t>(r % static_cast<std::uint64_t>(rows - many));
      const auto at = static_cast<std::size_t>(i);
      keys[at] = static_cast<std::uint32_t>(key);
      values[at] = static_cast<T>(static_cast<double>(r >> 40) / 3);
      std::size_t& group = number[static_cast<std::size_t>(key)];
      if (group == keys.size()) {
        group = out_keys.size();
        out_keys.push_back(keys[at]);
        out.push_back(values[at]);
        counts.push_back(1);
      } else {
        out[group] += values[at];
        ++counts[group];
      }
    }
  }

  std::vector<std::uint32_t> keys;
  std::vector<T> values;
  std::vector<std::uint32_t> out_keys;
  std::vector<T> out;  ///< sums in the order of the rows
  std::vector<std::int64_t> counts;
};

TEST(GroupByRungs, SeveralMergesComeToWhatOneDoes) {
  const std::int64_t rows = kSanitized ? 8'000'000 : std::int64_t{1} << 26;
  const auto check_rows = [&](const auto& merged, const Policy& policy) {
    auto keys = std::vector<std::uint32_t>(merged.out_keys.size());
    auto out = std::remove_cvref_t<decltype(merged.out)>(keys.size());
    auto counts = std::vector<std::int64_t>(keys.size());
    SCOPED_TRACE(describe(policy));
    EXPECT_EQ(group_by(policy, merged.keys, merged.values, keys, out, counts).groups, std::ssize(keys));
    EXPECT_TRUE(keys == merged.out_keys);
    EXPECT_TRUE(out == merged.out);
    EXPECT_TRUE(counts == merged.counts);
  };
  const Merged<float> floats(rows);
  for (const int threads : {1, 3}) check_rows(floats, par.with_rung("cpu.partitioned").with_threads(threads));
  const Merged<std::int64_t> integers(rows);
  for (const int threads : {1, 3}) check_rows(integers, par.with_threads(threads).with_overflow(Overflow::checked));
}

TEST(GroupByRungs, NameTheFirstGroupThatOverflowsAfterSeveralMerges) {
  Merged<std::int64_t> rows(kSanitized ? 8'000'000 : std::int64_t{1} << 26);
  std::vector<std::uint32_t> keys(rows.out_keys.size());
  std::vector<std::int64_t> out(keys.size());
  const std::size_t groups = keys.size();
  // A group of the last merge, and of earlier merges.
  for (const std::size_t bad : {groups - 2, std::size_t{200'000}, std::size_t{17}}) {
    // The group's first row, and the last row of all, have its key.
    const auto first = std::find(rows.keys.begin(), rows.keys.end(), rows.out_keys[bad]);
    rows.values[static_cast<std::size_t>(first - rows.keys.begin())] = std::numeric_limits<std::int64_t>::max();
    const std::uint32_t last = std::exchange(rows.keys.back(), rows.out_keys[bad]);
    rows.values.back() = 1;
    for (const int threads : {1, 3}) {
      const tests::Failure expected{Code::overflow, static_cast<std::int64_t>(bad)};
      const Policy policy = par.with_threads(threads).with_overflow(Overflow::checked);
      EXPECT_EQ(failure_of([&] { group_by(policy, rows.keys, rows.values, keys, out); }), expected);
    }
    rows.keys.back() = last;
  }
}

TEST(GroupByRungs, ChecksAreRefusedWhereThereAreNone) {
  const std::vector<int> keys{1, 1};
  std::vector<int> out_keys(2);
  std::vector<int> out(2);
  const Policy checked = par.with_overflow(Overflow::checked);
  EXPECT_EQ(code_of([&] { group_by(checked, keys, keys, out_keys, out, mul); }), Code::unsupported);
  EXPECT_EQ(code_of([&] { group_by(checked, keys, keys, out_keys, out, upsweep::max); }), Code::ok);
}

TEST(GroupByRungs, NameTheFirstGroupThatOverflows) {
  const std::int64_t n = kSanitized ? 67'000 : 140'000;
  const auto keys = keys_of<std::int64_t>(Keys::hot, n);
  const ExpectedGroups<std::int64_t> expected(keys.data(), n);
  const std::int64_t groups = std::ssize(expected.keys);
  for (const std::int64_t bad : {std::int64_t{0}, std::int64_t{1}, groups / 2, groups - 1}) {
    std::vector<std::int32_t> values(keys.size(), 0);
    for (const std::int64_t one : {bad, groups - 1}) {
      const auto first = std::find(expected.number.begin(), expected.number.end(), static_cast<std::uint32_t>(one));
      values[static_cast<std::size_t>(first - expected.number.begin())] = std::numeric_limits<std::int32_t>::min();
    }
    std::vector<std::int64_t> out_keys(expected.keys.size());
    std::vector<std::int32_t> out(expected.keys.size());
    std::vector<std::int64_t> wide(expected.keys.size());
    for (Policy policy : policies()) {
      SCOPED_TRACE(describe(policy) + " group " + std::to_string(bad));
      policy = policy.with_overflow(Overflow::checked);
      EXPECT_EQ(code_of([&] { group_by(policy, keys, values, out_keys, out); }), Code::ok) << "it just fits";
      // Each of the two groups gets one more row, so that its sum does not fit.
      auto more_keys = keys;
      auto more_values = values;
      for (const std::int64_t one : {bad, groups - 1}) {
        more_keys.push_back(expected.keys[static_cast<std::size_t>(one)]);
        more_values.push_back(-1);
      }
      const tests::Failure first{Code::overflow, bad};
      EXPECT_EQ(failure_of([&] { group_by(policy, more_keys, more_values, out_keys, out); }), first);
      EXPECT_EQ(code_of([&] { group_by(policy, more_keys, more_values, out_keys, wide); }), Code::ok);
      EXPECT_EQ(code_of([&] { group_by(policy.with_overflow(Overflow::wrap), more_keys, more_values, out_keys, out); }),
                Code::ok);
      more_keys.push_back(expected.keys[static_cast<std::size_t>(bad)]);
      more_values.push_back(1);
      if (bad == groups - 1) more_values.back() = 2;
      EXPECT_EQ(failure_of([&] { group_by(policy, more_keys, more_values, out_keys, out); }),
                (bad == groups - 1 ? tests::Failure{} : tests::Failure{Code::overflow, groups - 1}))
          << "a sum whose final value fits";
    }
  }
}

TEST(GroupByRungs, SaysWhichKeyOverflows) {
  const std::vector<std::int16_t> keys{5, -7, -7};
  const std::vector<std::int8_t> values{1, 100, 28};
  std::vector<std::int16_t> out_keys(2);
  std::vector<std::int8_t> out(2);
  try {
    group_by(par.with_overflow(Overflow::checked), keys, values, out_keys, out);
    ADD_FAILURE() << "128 is an int8";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("the sum of group 1, of key -7, does not fit int8"), std::string::npos)
        << error.what();
  }
}

TEST(GroupByRungs, WriteNothingWhereCapacityIsTooSmall) {
  const std::int64_t n = 70'000;
  const auto keys = keys_of<std::int32_t>(Keys::sorted, n);
  const std::vector<float> values(keys.size(), 1);
  const std::int64_t groups = n / 5;
  const std::vector<std::int32_t> poison(static_cast<std::size_t>(groups), -1);
  for (const Policy& policy : policies()) {
    for (const std::int64_t capacity : {std::int64_t{0}, std::int64_t{1}, groups - 1}) {
      SCOPED_TRACE(describe(policy) + " capacity " + std::to_string(capacity));
      Guarded<std::int32_t> few_keys(capacity, 1);
      Guarded<float> few(capacity, 1);
      Guarded<std::int64_t> few_counts(capacity, 1);
      std::vector<std::int32_t> out_keys = poison;
      std::vector<float> out(poison.size(), 7);
      std::vector<std::int64_t> counts(poison.size(), 7);
      const auto is_refused = [&](auto&& to_keys, auto&& to, auto&& to_counts) {
        EXPECT_EQ(code_of([&] { group_by(policy, keys, values, to_keys, to, to_counts); }), Code::unequal_lengths);
      };
      is_refused(few_keys.span(), out, counts);
      is_refused(out_keys, few.span(), counts);
      is_refused(out_keys, out, few_counts.span());
      EXPECT_TRUE(few_keys.intact() && few.intact() && few_counts.intact());
      EXPECT_EQ(out_keys, poison);
      EXPECT_EQ(out, std::vector<float>(poison.size(), 7));
    }
  }
  std::vector<std::int32_t> all(poison.size());
  std::vector<float> one(1);
  try {
    group_by(par, keys, values, all, one);
    ADD_FAILURE() << "a capacity of one was enough";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("the output of values is too small: needs 14000 elements, has 1"),
              std::string::npos)
        << error.what();
  }
}

TEST(GroupByApi, RunsTheTopRungOrTheOneThatIsNamed) {
  const std::vector<int> keys{4, 2, 4};
  const std::vector<double> values{1, 2, 3};
  std::vector<int> out_keys(2);
  std::vector<double> out(2);
  std::vector<std::int64_t> counts(2);
  for (const auto& rung : tests::cpu_rungs("group-by")) {
    EXPECT_EQ(group_by(par.with_rung(rung.id), keys, values, out_keys, out, counts).rung, rung.id);
    EXPECT_EQ(out_keys, (std::vector<int>{4, 2}));
    EXPECT_EQ(out, (std::vector<double>{4, 2}));
    EXPECT_EQ(counts, (std::vector<std::int64_t>{2, 1}));
  }
  EXPECT_EQ(group_by(par, keys, values, out_keys, out, max).rung, "cpu.adaptive");
  EXPECT_EQ(out, (std::vector<double>{3, 2}));
  const auto group = [&](const Policy& policy) {
    return code_of([&] { group_by(policy, keys, values, out_keys, out); });
  };
  EXPECT_EQ(group(par.with_rung("cpu.runs")), Code::unsupported) << "a rung of another ladder";
  EXPECT_EQ(group(par.with_rung("cuda.sort")), tests::code_of_gpu_rung());
  EXPECT_EQ(group(par.with_rung("cuda.hash")), tests::code_of_gpu_rung());
  EXPECT_EQ(group(par.with_threads(-1)), Code::invalid_argument);
}

TEST(GroupByApi, PointersAndLengthsGiveWhatArraysDo) {
  const std::vector<std::int32_t> keys{7, 2, 7, 5, 2, 7};
  const std::vector<std::int64_t> values{1, 2, 3, 4, 5, 6};
  std::vector<std::int32_t> out_keys(3);
  std::vector<std::int64_t> out(3);
  std::vector<std::int64_t> counts(3);
  EXPECT_EQ(group_by(par, keys.data(), values.data(), 6, out_keys.data(), out.data(), 3, max).groups, 3);
  EXPECT_EQ(out_keys, (std::vector<std::int32_t>{7, 2, 5}));
  EXPECT_EQ(out, (std::vector<std::int64_t>{6, 5, 4}));
  EXPECT_EQ(group_by(par, keys.data(), values.data(), 6, out_keys.data(), out.data(), counts.data(), 3).groups, 3);
  EXPECT_EQ(out, (std::vector<std::int64_t>{10, 7, 4}));
  EXPECT_EQ(counts, (std::vector<std::int64_t>{3, 2, 1}));
  EXPECT_EQ(code_of([&] { group_by(par, keys.data(), values.data(), 6, out_keys.data(), out.data(), 2); }),
            Code::unequal_lengths);
}

TEST(GroupByApi, SaysWhatIsWrong) {
  std::vector<int> keys{1, 1, 2};
  const std::vector<int> values{1, 2, 3};
  std::vector<int> two(2);
  std::vector<int> other(2);
  EXPECT_EQ(code_of([&] { group_by(par, keys, values, two, two); }), Code::invalid_argument) << "outputs overlap";
  EXPECT_EQ(code_of([&] { group_by(par, keys, values, keys, two); }), Code::invalid_argument)
      << "the output is the keys";
  EXPECT_EQ(code_of([&] { group_by(par, two, values, other, two); }), Code::unequal_lengths);
  const std::vector<std::int64_t> far{0, std::int64_t{1} << 40};
  std::vector<std::int64_t> out_keys(2);
  try {
    group_by(par.with_rung("cpu.direct"), far, two, out_keys, other);
    ADD_FAILURE() << "keys are far apart";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::unsupported);
    EXPECT_NE(std::string(error.what()).find("more than four times"), std::string::npos) << error.what();
  }
}

TEST(GroupBy, KeysOfFloatsAndStringsAndSeveralKeys) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> floats{1.5, -0.0, 0.0, nan, -nan, 1.5};
  const std::vector<std::string> words{"a", "b", "b", "c", "c", "b"};
  const std::vector<int> numbers{1, 1, 1, 2, 2, 1};
  const std::vector<int> values{1, 2, 3, 4, 5, 6};
  std::vector<std::int64_t> sums(6);
  std::vector<std::int64_t> counts(6);
  std::vector<double> out_floats(6);
  std::vector<std::string> out_words(6);
  std::vector<int> out_numbers(6);
  EXPECT_EQ(group_by(par, floats, values, out_floats, sums).groups, 3);
  EXPECT_EQ(out_floats[0], 1.5);
  EXPECT_FALSE(std::signbit(out_floats[1]));
  EXPECT_TRUE(std::isnan(out_floats[2]));
  EXPECT_EQ((std::vector(sums.begin(), sums.begin() + 3)), (std::vector<std::int64_t>{7, 5, 9}));
  std::vector<int> greatest(6);
  EXPECT_EQ(group_by(par, words, values, out_words, greatest, max).groups, 3);
  EXPECT_EQ((std::vector(out_words.begin(), out_words.begin() + 3)), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ((std::vector(greatest.begin(), greatest.begin() + 3)), (std::vector<int>{1, 6, 5}));
  const std::vector<std::string_view> views(words.begin(), words.end());
  const Grouped all = group_by(par, std::tie(views, numbers, floats), values,
                               std::tie(out_words, out_numbers, out_floats), sums, counts);
  EXPECT_EQ(all.groups, 4);
  EXPECT_EQ(out_words[3], "b");
  EXPECT_EQ(out_numbers[2], 2);
  EXPECT_EQ((std::vector(sums.begin(), sums.begin() + 4)), (std::vector<std::int64_t>{1, 5, 9, 6}));
  EXPECT_EQ((std::vector(counts.begin(), counts.begin() + 4)), (std::vector<std::int64_t>{1, 2, 2, 1}));
  std::vector<double> one(1);
  EXPECT_EQ(code_of([&] { group_by(par, floats, values, one, sums); }), Code::unequal_lengths);
  const std::vector<int> few{1, 2};
  EXPECT_EQ(code_of([&] { group_by(par, std::tie(floats, few), values, std::tie(out_floats, out_numbers), sums); }),
            Code::unequal_lengths);
  EXPECT_EQ(code_of([&] { group_by(par, words, few, out_words, sums); }), Code::unequal_lengths);
  const std::vector<double> none;
  EXPECT_EQ(group_by(par, none, std::vector<int>(), out_floats, sums).groups, 0);
}

}  // namespace
}  // namespace upsweep
