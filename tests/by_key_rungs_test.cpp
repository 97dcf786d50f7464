// SPDX-License-Identifier: Apache-2.0
// tests/by_key_rungs_test.cpp: every rung of the by-key ladder is compared with its reference. Cases: patterns of runs,
// types of keys and values, operators, in-place calls, overflow, capacity, misalignment, threads, and instruction sets.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/visit.hpp"
#include "failure.hpp"
#include "key_runs.hpp"
#include "list_lengths.hpp"
#include "patterns.hpp"
#include "problems/keys/by_key/reference.hpp"
#include "rungs.hpp"
#include "upsweep/by_key.hpp"

namespace upsweep {
namespace {

using tests::code_of;
using tests::failure_of;
using tests::Guarded;
using tests::kSanitized;
using tests::LengthPattern;

std::vector<Policy> policies() {
  std::vector<Policy> all{par, par.with_rung("cpu.serial")};
  for (const int threads : {1, 2, 3}) all.push_back(par.with_rung("cpu.runs").with_threads(threads));
  for (const Isa isa : tests::isas()) all.push_back(par.with_rung("cpu.runs").with_isa(isa));
  return all;
}

std::string describe(const Policy& policy) {
  return std::string(policy.rung) + " threads " + std::to_string(policy.threads) + " isa " +
         std::string(name(policy.isa));
}

template <class Key, class In, class Out, class Op>
void check_folds(const Policy& policy, const std::vector<Key>& keys, const std::vector<In>& values,
                 const std::vector<std::int64_t>& offsets, Op op, Out init) {
  const std::int64_t runs = std::ssize(offsets) - 1;
  Guarded<Key> out_keys(runs, 1);
  Guarded<Out> out(runs, 3);
  const auto result = reduce_by_key(policy, keys, values, out_keys.span(), out.span(), init, op);
  EXPECT_EQ(result.runs, runs);
  EXPECT_EQ(result.rung, policy.rung.empty() ? "cpu.runs" : policy.rung);
  EXPECT_EQ(impl::by_key::first_wrong_fold(offsets, keys.data(), values.data(), out_keys.data(), out.data(), op, init),
            kNoIndex);
  EXPECT_TRUE(out_keys.intact() && out.intact());
}

template <class Key, class In, class Out, class Op>
void check_scans(const Policy& policy, const std::vector<Key>& keys, const std::vector<In>& values,
                 const std::vector<std::int64_t>& offsets, Op op, Out init) {
  for (const bool exclusive : {false, true}) {
    const auto scan = [&](const auto& from, auto&& to) {
      if (exclusive) return exclusive_scan_by_key(policy, keys, from, to, init, op);
      return inclusive_scan_by_key(policy, keys, from, to, init, op);
    };
    Guarded<Out> out(std::ssize(keys), 1);
    EXPECT_EQ(scan(values, out.span()).lists, std::ssize(offsets) - 1);
    EXPECT_EQ(impl::by_key::first_wrong_scan(offsets, values.data(), out.data(), op, init, exclusive), kNoIndex)
        << exclusive;
    EXPECT_TRUE(out.intact());
    if constexpr (std::is_same_v<In, Out>) {
      auto both = values;
      EXPECT_EQ(scan(both, both).rung, policy.rung.empty() ? "cpu.runs" : policy.rung);
      EXPECT_EQ(impl::by_key::first_wrong_scan(offsets, values.data(), both.data(), op, init, exclusive), kNoIndex)
          << "in place " << exclusive;
    }
  }
}

/// Checks reductions and scans of every rung.
template <class Key, class In, class Out, class Op>
void check(const std::vector<Key>& keys, const std::vector<In>& values, Op op, Out init) {
  const auto offsets = impl::by_key::expected_offsets(keys.data(), std::ssize(keys));
  for (const Policy& policy : policies()) {
    SCOPED_TRACE(describe(policy));
    check_folds(policy, keys, values, offsets, op, init);
    check_scans(policy, keys, values, offsets, op, init);
  }
}

/// Floats are fractions: a different order of additions changes their sums.
template <class T>
std::vector<T> values_of(std::int64_t n) {
  if constexpr (std::is_floating_point_v<T>) return tests::rounded<T>(n, 3);
  if constexpr (std::is_integral_v<T>) return tests::make<T>(tests::Pattern::random, n);
}

std::vector<std::int64_t> sizes() {
  if (kSanitized) return {0, 1, 300, 20'000};
  return {0, 1, 2, 255, 256, 257, 4096, 4097, 120'000};
}

template <class T>
class ByKeyRungs : public testing::Test {};
TYPED_TEST_SUITE(ByKeyRungs, tests::ElementTypes);

TYPED_TEST(ByKeyRungs, OfKeysOfEveryTypeAndPatternMatchTheReference) {
  for (const LengthPattern pattern : tests::kLengthPatterns) {
    for (const std::int64_t elements : sizes()) {
      SCOPED_TRACE(std::string(tests::name(pattern)) + " " + std::to_string(elements));
      const auto keys = tests::keys_of<TypeParam>(tests::make_lengths(pattern, elements));
      check(keys, values_of<double>(std::ssize(keys)), add, 0.0);
      if (this->HasFailure()) return;
    }
  }
}

TYPED_TEST(ByKeyRungs, OfValuesOfEveryTypeByEveryOperatorMatchTheReference) {
  using T = TypeParam;
  const auto keys = tests::keys_of<std::int64_t>(tests::make_lengths(LengthPattern::around, 9'000));
  const auto values = values_of<T>(std::ssize(keys));
  for_each_operator<T>([&]<class Op>(Op op) {
    SCOPED_TRACE(Op::kName);
    check(keys, values, op, detail::usual_init<T, Op>());
    check(keys, values, op, T{3});
  });
  if constexpr (std::is_integral_v<T>) check(keys, values, add, std::int64_t{1});
}

TEST(ByKeyRungs, SumsOfNegativeZerosAreNegative) {
  // Runs of -0.0; some of them also contain one 0.0.
  std::vector<int> keys;
  std::vector<double> values;
  std::vector<double> sums;
  std::vector<double> before;
  for (int run = 0; run < 5000; ++run) {
    const int length = run == 2500 ? 10'000 : run % 23 + 1;
    bool is_negative = true;
    for (int i = 0; i < length; ++i) {
      keys.push_back(run);
      values.push_back(run % 11 == 0 && i == length / 2 ? 0.0 : -0.0);
      before.push_back(i == 0 || !is_negative ? 0.0 : -0.0);
      is_negative = is_negative && std::signbit(values.back());
    }
    sums.push_back(is_negative ? -0.0 : 0.0);
  }
  for (const Policy& policy : policies()) {
    SCOPED_TRACE(describe(policy));
    std::vector<int> out_keys(keys.size());
    std::vector<double> out(keys.size(), 9);
    ASSERT_EQ(reduce_by_key(policy, keys, values, out_keys, out).runs, 5000);
    for (std::size_t r = 0; r < sums.size(); ++r) {
      ASSERT_TRUE(out[r] == 0 && std::signbit(out[r]) == std::signbit(sums[r])) << r;
    }
    exclusive_scan_by_key(policy, keys, values, out);
    for (std::size_t j = 0; j < out.size(); ++j) {
      ASSERT_TRUE(out[j] == 0 && std::signbit(out[j]) == std::signbit(before[j])) << j;
    }
    inclusive_scan_by_key(policy, keys, values, out);
    for (std::size_t j = 0; j < out.size(); ++j) {
      const bool is_last = j + 1 == out.size() || keys[j + 1] != keys[j];
      const double expected = is_last ? sums[static_cast<std::size_t>(keys[j])] : before[j + 1];
      ASSERT_TRUE(out[j] == 0 && std::signbit(out[j]) == std::signbit(expected)) << j;
    }
  }
}

TEST(ByKeyRungs, ChecksAreRefusedWhereThereAreNone) {
  const std::vector<int> keys{1, 1};
  std::vector<int> out_keys(2);
  std::vector<int> out(2);
  const Policy checked = par.with_overflow(Overflow::checked);
  EXPECT_EQ(tests::code_of([&] { (void)reduce_by_key(checked, keys, keys, out_keys, out, mul); }), Code::unsupported);
  EXPECT_EQ(tests::code_of([&] { inclusive_scan_by_key(checked, keys, keys, out, mul); }), Code::unsupported);
}

/// A custom operator that does not commute.
struct After {
  Affine<std::uint32_t> operator()(const Affine<std::uint32_t>& f, const Affine<std::uint32_t>& g) const {
    return Compose{}(f, g);
  }
};

TEST(ByKeyRungs, OperatorsOfOnesOwnAreAppliedInOrder) {
  for (const LengthPattern pattern : {LengthPattern::poisson, LengthPattern::fixed1000, LengthPattern::one}) {
    SCOPED_TRACE(tests::name(pattern));
    const auto keys = tests::keys_of<std::int32_t>(tests::make_lengths(pattern, 20'000));
    std::vector<Affine<std::uint32_t>> values(keys.size());
    for (std::uint32_t i = 0; i < keys.size(); ++i) values[i] = {.a = 2 * i + 1, .b = i};
    check(keys, values, After{}, Affine<std::uint32_t>{.a = 3, .b = 5});
  }
}

TEST(ByKeyRungs, NameTheFirstRunThatOverflows) {
  const auto keys = tests::keys_of<std::int64_t>(tests::make_lengths(LengthPattern::poisson, 3'000));
  const auto offsets = impl::by_key::expected_offsets(keys.data(), std::ssize(keys));
  const std::int64_t runs = std::ssize(offsets) - 1;
  for (const std::int64_t run : {std::int64_t{0}, std::int64_t{255}, std::int64_t{256}, runs - 1}) {
    std::vector<std::int32_t> values(keys.size());
    for (const std::int64_t one : {run, runs - 1}) {
      values[static_cast<std::size_t>(offsets[static_cast<std::size_t>(one)])] =
          std::numeric_limits<std::int32_t>::max();
    }
    std::vector<std::int64_t> out_keys(static_cast<std::size_t>(runs));
    std::vector<std::int32_t> out(out_keys.size());
    std::vector<std::int32_t> scanned(keys.size());
    for (Policy policy : policies()) {
      SCOPED_TRACE(describe(policy) + " run " + std::to_string(run));
      policy = policy.with_overflow(Overflow::checked);
      const tests::Failure first{Code::overflow, run};
      EXPECT_EQ(failure_of([&] { reduce_by_key(policy, keys, values, out_keys, out, 1, add); }), first);
      EXPECT_EQ(failure_of([&] { inclusive_scan_by_key(policy, keys, values, scanned, 1, add); }), first);
      EXPECT_EQ(code_of([&] { reduce_by_key(policy, keys, values, out_keys, out, 0, add); }), Code::ok);
    }
  }
}

TEST(ByKeyRungs, WriteNothingBeyondTheCapacity) {
  const auto keys = tests::keys_of<std::int16_t>(tests::make_lengths(LengthPattern::fixed3, 3'000));
  const std::vector<float> values(keys.size(), 1);
  for (const Policy& policy : policies()) {
    for (const std::int64_t capacity : {0, 1, 255, 256, 999}) {
      SCOPED_TRACE(describe(policy) + " capacity " + std::to_string(capacity));
      Guarded<std::int16_t> few_keys(capacity, 1);
      Guarded<float> few(capacity, 1);
      Guarded<std::int16_t> out_keys(1000, 1);
      Guarded<float> out(1000, 1);
      EXPECT_EQ(code_of([&] { reduce_by_key(policy, keys, values, few_keys.span(), out.span()); }),
                Code::unequal_lengths);
      EXPECT_EQ(code_of([&] { reduce_by_key(policy, keys, values, out_keys.span(), few.span()); }),
                Code::unequal_lengths);
      EXPECT_TRUE(few_keys.intact() && few.intact());
      EXPECT_EQ(code_of([&] { reduce_by_key(policy, keys, values, out_keys.span(), out.span()); }), Code::ok);
    }
    try {
      std::vector<float> one(1);
      std::vector<std::int16_t> all(1000);
      reduce_by_key(policy, keys, values, all, one);
      ADD_FAILURE() << "a capacity of one was enough";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("the output of values is too small: needs 1000 elements, has 1"),
                std::string::npos)
          << error.what();
    }
  }
}

TEST(ByKeyApi, RunsTheTopRungOrTheOneThatIsNamed) {
  const std::vector<int> keys{1, 1, 2};
  const std::vector<double> values{1, 2, 3};
  std::vector<int> out_keys(2);
  std::vector<double> out(2);
  std::vector<double> scanned(3);
  for (const auto& rung : tests::cpu_rungs("by-key")) {
    EXPECT_EQ(reduce_by_key(par.with_rung(rung.id), keys, values, out_keys, out).rung, rung.id);
    EXPECT_EQ(out, (std::vector<double>{3, 3}));
    EXPECT_EQ(exclusive_scan_by_key(par.with_rung(rung.id), keys, values, scanned).rung, rung.id);
    EXPECT_EQ(scanned, (std::vector<double>{0, 1, 0}));
  }
  EXPECT_EQ(reduce_by_key(par, keys, values, out_keys, out).rung, "cpu.runs");
  EXPECT_EQ(inclusive_scan_by_key(par, keys, values, scanned).rung, "cpu.runs");
  const auto reduce_by = [&](const Policy& policy) {
    return code_of([&] { reduce_by_key(policy, keys, values, out_keys, out); });
  };
  EXPECT_EQ(reduce_by(par.with_rung("cpu.columns")), Code::unsupported) << "a rung of another ladder";
  EXPECT_EQ(reduce_by(par.with_rung("cuda.runs")), tests::code_of_gpu_rung());
  EXPECT_EQ(reduce_by(par.with_rung("cuda.cub")), tests::code_of_gpu_rung());
  EXPECT_EQ(reduce_by(par.with_threads(-1)), Code::invalid_argument);
}

TEST(ByKeyApi, SaysWhatIsWrong) {
  const std::vector<int> keys{1, 1, 2};
  std::vector<int> values{1, 2, 3, 4};
  const std::span<int> three(values.data(), 3);
  EXPECT_EQ(code_of([&] { inclusive_scan_by_key(par, keys, three, std::span<int>(values.data() + 1, 3)); }),
            Code::invalid_argument)
      << "the output overlaps the values";
  EXPECT_EQ(code_of([&] { inclusive_scan_by_key(par, keys, values, values); }), Code::unequal_lengths);
  std::vector<int> two(2);
  EXPECT_EQ(code_of([&] { exclusive_scan_by_key(par, keys, three, two); }), Code::unequal_lengths);
  EXPECT_EQ(code_of([&] { exclusive_scan_by_key(par, three, three, three); }), Code::invalid_argument)
      << "the output is the keys";
  EXPECT_EQ(code_of([&] { reduce_by_key(par, keys, three, two, two); }), Code::invalid_argument) << "outputs overlap";
}

TEST(ByKeyApi, OffsetsOfRunsDoNotTakeThePlaceOfKeys) {
  std::vector<std::int64_t> keys{1, 1, 2, 3};
  EXPECT_EQ(code_of([&] { (void)key_offsets(par, keys, keys); }), Code::invalid_argument);
  EXPECT_EQ(keys, (std::vector<std::int64_t>{1, 1, 2, 3}));
}

}  // namespace
}  // namespace upsweep
