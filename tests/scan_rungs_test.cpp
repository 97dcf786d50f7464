// SPDX-License-Identifier: Apache-2.0
// tests/scan_rungs_test.cpp: every rung of the scan ladder is compared with the reference. Cases: types, operators,
// sizes, patterns, alignment, in-place calls, inclusive and exclusive, threads and instruction sets.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "climb/reference.hpp"
#include "cpu/block_scans.hpp"
#include "cpu/overflow.hpp"
#include "patterns.hpp"
#include "rungs.hpp"
#include "upsweep/dynamic.hpp"
#include "upsweep/ladder.hpp"
#include "upsweep/machine.hpp"
#include "upsweep/reduce.hpp"
#include "upsweep/scan.hpp"
#include "workers.hpp"

namespace upsweep {
namespace {

using tests::AffineMap;
using tests::Guarded;
using tests::isas;
using tests::kCompose;
using tests::kSanitized;
using tests::Pattern;

/// Returns an odd number of elements that this number of workers shares in blocks; in long blocks, at least two share
/// it.
template <class T>
constexpr std::int64_t shared_by(int workers) {
  return std::max(tests::elements_for(workers, sizeof(T)), cpu::kLongBlock) + 1;
}

// Sizes around a vector (16 int32), a page (1024), a block (32768 int32), and several blocks on three threads.
template <class T>
constexpr std::int64_t kSizes[] = {0,    1,    2,    15,   16,   17,    63,    64,    65,
                                   1023, 1024, 1025, 4095, 4097, 32767, 32768, 32769, shared_by<T>(3)};

/// Runs `scan()`; returns false if the rung reports that it does not support it.
template <class Scan>
bool supported(Scan scan) {
  try {
    scan();
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::unsupported) << error.what();
    return false;
  }
}

template <class T>
class ScanRungs : public testing::Test {};
TYPED_TEST_SUITE(ScanRungs, tests::ElementTypes);

template <class T, class Op>
void check(const Policy& policy, const std::vector<T>& in, Op op, bool exclusive, std::int64_t misaligned) {
  const auto n = std::ssize(in);
  const T init = T{5};
  Guarded<T> out(n, misaligned);
  const auto run = [&] {
    const ScanResult result = exclusive ? exclusive_scan(policy, in.data(), n, out.data(), init, op)
                                        : inclusive_scan(policy, in.data(), n, out.data(), op);
    EXPECT_EQ(result.rung, policy.rung);
    EXPECT_EQ(result.count, n);
  };
  if (!supported(run)) return;
  const auto reference = exclusive ? reference::ExactReference<T, Op>(op, init) : reference::ExactReference<T, Op>(op);
  EXPECT_EQ(reference::first_wrong(reference, in.data(), out.data(), n, exclusive), kNoIndex)
      << policy.rung << " n " << n << " exclusive " << exclusive << " misaligned " << misaligned;
  EXPECT_TRUE(out.intact()) << policy.rung << " n " << n;
}

TYPED_TEST(ScanRungs, AddMatchesTheReferenceAtEverySizeAndPattern) {
  for (const auto& rung : tests::cpu_rungs("scan")) {
    for (const Pattern pattern : tests::kPatterns) {
      if (kSanitized && pattern != Pattern::random) continue;
      for (const std::int64_t n : kSizes<TypeParam>) {
        const auto in = tests::make<TypeParam>(pattern, n);
        for (const bool exclusive : {false, true}) {
          check(par.with_rung(rung.id).with_threads(3), in, add, exclusive, n % 3);
        }
      }
    }
  }
}

TYPED_TEST(ScanRungs, EveryOperatorIsWhatItsDescriptorSays) {
  const auto values = tests::make<TypeParam>(Pattern::random, 300, 5);
  for_each_operator<TypeParam>([&]<class Op>(Op op) {
    const auto identity = Op::template identity<TypeParam>();
    EXPECT_EQ(parse_operator(Op::kName), Op::kOperator);
    EXPECT_EQ((operator_of<Op, TypeParam>()), Op::kOperator);
    for (std::size_t i = 2; i < values.size(); ++i) {
      const TypeParam a = values[i - 2];
      const TypeParam b = values[i - 1];
      const TypeParam c = values[i];
      EXPECT_TRUE(reference::same_value(op(identity, a), a) && reference::same_value(op(a, identity), a)) << Op::kName;
      EXPECT_TRUE(reference::same_value(op(a, b), op(b, a))) << Op::kName;
      EXPECT_TRUE(reference::same_value(op(op(a, b), c), op(a, op(b, c)))) << Op::kName;
      EXPECT_TRUE(!Op::kSelects || op(a, b) == a || op(a, b) == b) << Op::kName;
      if constexpr (std::is_same_v<TypeParam, std::int64_t> && Op::kKeepsScale) {
        EXPECT_EQ(op(a / 256 * 100, b / 256 * 100), op(a / 256, b / 256) * 100) << Op::kName;
      }
    }
  });
}

TYPED_TEST(ScanRungs, EveryOperatorMatchesTheReference) {
  const auto check_all = [](const Policy& policy, const std::vector<TypeParam>& in, bool exclusive) {
    for_each_operator<TypeParam>([&]<class Op>(Op op) {
      if constexpr (tests::is_exact<TypeParam, Op>) check(policy, in, op, exclusive, 1);
    });
    if constexpr (std::is_integral_v<TypeParam>) {
      check(policy, in, std::plus<>{}, exclusive, 1);
    }
  };
  for (const auto& rung : tests::cpu_rungs("scan")) {
    for (const Isa isa : isas()) {
      for (const std::int64_t n : std::initializer_list<std::int64_t>{0, 1, 100, 5000, shared_by<TypeParam>(2)}) {
        if (kSanitized && n == 5000) continue;
        const auto in = tests::make<TypeParam>(Pattern::random, n, 7);
        for (const bool exclusive : {false, true}) {
          check_all(par.with_rung(rung.id).with_isa(isa).with_threads(2), in, exclusive);
        }
      }
    }
  }
}

TYPED_TEST(ScanRungs, ProductsOfSignsAreExactInFloats) {
  if constexpr (std::is_floating_point_v<TypeParam>) {
    for (const auto& rung : tests::cpu_rungs("scan")) {
      auto in = tests::make<TypeParam>(Pattern::extremes, 70001);
      for (auto& x : in) x = x < 0 ? TypeParam{-1} : TypeParam{1};
      check(par.with_rung(rung.id), in, mul, false, 0);
      check(par.with_rung(rung.id), in, mul, true, 0);
    }
  }
}

TYPED_TEST(ScanRungs, WorksInPlace) {
  for (const auto& rung : tests::cpu_rungs("scan")) {
    for (const bool exclusive : {false, true}) {
      for (const std::int64_t n : std::initializer_list<std::int64_t>{1, 17, 1024, 40000, shared_by<TypeParam>(2)}) {
        const auto in = tests::make<TypeParam>(Pattern::random, n, 3);
        Guarded<TypeParam> data(n, 1);
        std::copy(in.begin(), in.end(), data.data());
        const Policy policy = par.with_rung(rung.id).with_threads(2);
        const bool ran = supported([&] {
          if (exclusive) {
            exclusive_scan(policy, data.data(), n, data.data(), TypeParam{2}, add);
          } else {
            inclusive_scan(policy, data.data(), n, data.data(), add);
          }
        });
        if (!ran) continue;
        const auto reference = exclusive ? reference::ExactReference<TypeParam, Add>(add, TypeParam{2})
                                         : reference::ExactReference<TypeParam, Add>(add);
        EXPECT_EQ(reference::first_wrong(reference, in.data(), data.data(), n, exclusive), kNoIndex)
            << rung.id << " n " << n;
        EXPECT_TRUE(data.intact());
      }
    }
  }
}

TYPED_TEST(ScanRungs, StorePastTheCachesAtAnyAddressWhereOutputIsLarge) {
  const std::int64_t n = (std::int64_t{8} << 20) / std::int64_t{sizeof(TypeParam)} + 5;  // non-temporal from 8 MB on
  const std::int64_t lanes = 64 / std::int64_t{sizeof(TypeParam)};
  const auto in = tests::make<TypeParam>(Pattern::random, n, 5);
  for (const Isa isa : isas()) {
    const Policy policy = par.with_rung("cpu.lookahead").with_threads(2).with_isa(isa);
    for (const bool exclusive : {false, true}) {
      for (const std::int64_t misaligned : {std::int64_t{1}, std::int64_t{0}, lanes / 2 + 1, lanes - 1}) {
        if (kSanitized && misaligned != 1) continue;
        check(policy, in, add, exclusive, misaligned);
        Guarded<TypeParam> data(n, misaligned);
        std::copy(in.begin(), in.end(), data.data());
        if (exclusive) {
          exclusive_scan(policy, data.data(), n, data.data(), TypeParam{2});
        } else {
          inclusive_scan(policy, data.data(), n, data.data());
        }
        const auto reference = exclusive ? reference::ExactReference<TypeParam, Add>(add, TypeParam{2})
                                         : reference::ExactReference<TypeParam, Add>(add);
        EXPECT_EQ(reference::first_wrong(reference, in.data(), data.data(), n, exclusive), kNoIndex)
            << "in place, " << name(isa) << " exclusive " << exclusive << " misaligned " << misaligned;
        EXPECT_TRUE(data.intact()) << "in place, " << name(isa) << " misaligned " << misaligned;
      }
    }
  }
}

TYPED_TEST(ScanRungs, FloatsStayWithinTheStatedBound) {
  if constexpr (std::is_floating_point_v<TypeParam>) {
    for (const auto& rung : tests::cpu_rungs("scan")) {
      for (const std::int64_t n : {3, 1000, 600000}) {
        const auto in = tests::rounded<TypeParam>(n, 11);
        std::vector<TypeParam> out(in.size());
        inclusive_scan(par.with_rung(rung.id), in, out, add);
        EXPECT_EQ(reference::first_beyond(reference::SumReference(), in.data(), out.data(), n, false, rung.float_bound),
                  kNoIndex)
            << rung.id << " n " << n;
        exclusive_scan(par.with_rung(rung.id), in, out, TypeParam{1});
        EXPECT_EQ(reference::first_beyond(reference::SumReference(1), in.data(), out.data(), n, true, rung.float_bound),
                  kNoIndex)
            << rung.id << " n " << n;
      }
    }
  }
}

TYPED_TEST(ScanRungs, SameBitsForAnyThreadsAlignmentAndInstructionSet) {
  if constexpr (std::is_floating_point_v<TypeParam>) {
    const std::int64_t n = 1200007;
    const auto in = tests::rounded<TypeParam>(n, 11);
    for (const auto& rung : tests::cpu_rungs("scan")) {
      if (rung.determinism != Determinism::always) continue;
      std::vector<TypeParam> first(in.size());
      inclusive_scan(seq.with_rung(rung.id), in, first);
      for (const Isa isa : isas()) {
        for (const int threads : {1, 2, 3, 7}) {
          Guarded<TypeParam> out(n, threads % 4);
          Guarded<TypeParam> moved(n, 3 - threads % 4);
          std::copy(in.begin(), in.end(), moved.data());
          inclusive_scan(par.with_rung(rung.id).with_threads(threads).with_isa(isa), moved.data(), n, out.data());
          EXPECT_EQ(std::memcmp(first.data(), out.data(), first.size() * sizeof(TypeParam)), 0)
              << rung.id << " threads " << threads << " isa " << name(isa);
        }
      }
    }
  }
}

TYPED_TEST(ScanRungs, ConvertsNarrowerInput) {
  using Out = std::conditional_t<std::is_floating_point_v<TypeParam>, double,
                                 std::conditional_t<std::is_signed_v<TypeParam>, std::int64_t, std::uint64_t>>;
  for (const auto& rung : tests::cpu_rungs("scan")) {
    for (const std::int64_t n : {1, 1000, 100003, 700001}) {
      const auto in = tests::make<TypeParam>(Pattern::random, n, 5);
      Guarded<Out> out(n, 1);
      const Policy policy = par.with_rung(rung.id).with_threads(2);
      if (!supported([&] { inclusive_scan(policy, in.data(), n, out.data()); })) continue;
      EXPECT_EQ(reference::first_wrong(reference::ExactReference<Out, Add>(add), in.data(), out.data(), n, false),
                kNoIndex)
          << rung.id << " n " << n;
    }
  }
}

TYPED_TEST(ScanRungs, CheckedReportsTheFirstOutputThatDoesNotFit) {
  if constexpr (std::is_integral_v<TypeParam>) {
    using Limits = std::numeric_limits<TypeParam>;
    for (const auto& rung : tests::cpu_rungs("scan")) {
      const Policy policy = par.with_rung(rung.id).with_threads(2).with_overflow(Overflow::checked);
      for (const std::int64_t n : std::initializer_list<std::int64_t>{1, 100, 40000, shared_by<TypeParam>(2)}) {
        for (const std::int64_t at : {std::int64_t{0}, n / 2, n - 1}) {
          // The maximum from the start. One more at `at` is too much, and later values may also be.
          std::vector<TypeParam> in(static_cast<std::size_t>(n), TypeParam{0});
          const TypeParam init = Limits::max();
          in[static_cast<std::size_t>(at)] = TypeParam{1};
          if (at + 1 < n) in[static_cast<std::size_t>(at + 1)] = Limits::max();
          std::vector<TypeParam> out(in.size(), TypeParam{9});
          const auto index_of = [&](auto scan) {
            try {
              scan();
            } catch (const Error& error) {
              EXPECT_TRUE(error.code() == Code::overflow || error.code() == Code::unsupported) << error.what();
              return error.code() == Code::overflow ? error.index() : -2;
            }
            return kNoIndex;
          };
          const std::int64_t inclusive = index_of([&] { inclusive_scan(policy, in, out, init, add); });
          if (inclusive == -2) continue;
          EXPECT_EQ(inclusive, at) << rung.id << " n " << n;
          for (std::int64_t i = 0; i < at; ++i) ASSERT_EQ(out[static_cast<std::size_t>(i)], init) << rung.id;
          const std::int64_t exclusive = index_of([&] { exclusive_scan(policy, in, out, init); });
          EXPECT_EQ(exclusive, at + 1 < n ? at + 1 : kNoIndex) << rung.id << " n " << n;
        }
      }
    }
  }
}

TYPED_TEST(ScanRungs, CheckedAgreesWithTheExactSumOnRandomInput) {
  if constexpr (std::is_integral_v<TypeParam>) {
    for (const unsigned seed : {1U, 2U, 3U, 4U, 5U}) {
      // Values of about a hundredth of the range: the walk leaves the range somewhere, or stays in it.
      auto in = tests::make<TypeParam>(Pattern::random, 3000, seed);
      for (auto& x : in) x = static_cast<TypeParam>(x / 101);
      cpu::Int128 sum = 0;
      std::int64_t expected = kNoIndex;
      for (std::int64_t i = 0; i < std::ssize(in) && expected == kNoIndex; ++i) {
        sum += in[static_cast<std::size_t>(i)];
        if (sum > std::numeric_limits<TypeParam>::max() || sum < std::numeric_limits<TypeParam>::min()) expected = i;
      }
      std::vector<TypeParam> out(in.size());
      for (const auto& rung : tests::cpu_rungs("scan")) {
        std::int64_t found = kNoIndex;
        try {
          inclusive_scan(par.with_rung(rung.id).with_overflow(Overflow::checked), in, out);
        } catch (const Error& error) {
          if (error.code() == Code::unsupported) continue;
          found = error.index();
        }
        EXPECT_EQ(found, expected) << rung.id << " seed " << seed;
      }
    }
  }
}

TYPED_TEST(ScanRungs, CarriesOfPartsMakeTheWhole) {
  const std::int64_t n = 700001;
  const auto in = tests::make<TypeParam>(Pattern::random, n, 9);
  for (const auto& rung : tests::cpu_rungs("scan")) {
    const Policy policy = par.with_rung(rung.id);
    std::vector<TypeParam> whole(in.size());
    std::vector<TypeParam> parts(in.size());
    if (!supported([&] { inclusive_scan(policy, in, whole); })) continue;
    auto carry = empty_carry<TypeParam>();
    for (std::int64_t first = 0; first < n; first += 1 << 18) {
      const std::int64_t count = std::min<std::int64_t>(1 << 18, n - first);
      inclusive_scan(policy, in.data() + first, count, parts.data() + first, add, carry);
    }
    EXPECT_EQ(whole, parts) << rung.id;
    EXPECT_EQ(detail::value_of(carry), whole.back()) << rung.id;
  }
}

TEST(ScanRungs, AWrappingScanLeavesNothingThatStopsACheckedOne) {
  const std::vector<std::int32_t> in(1 << 20, 4096);
  const std::vector<std::int32_t> zeros(4);
  for (const auto& rung : tests::cpu_rungs("scan")) {
    for (const int threads : {1, 2, 4}) {
      std::vector<std::int32_t> out(in.size());
      auto carry = empty_carry<std::int32_t>();
      const Policy policy = par.with_rung(rung.id).with_threads(threads);
      inclusive_scan(policy, in.data(), std::ssize(in), out.data(), add, carry);
      EXPECT_EQ(carry.wraps, 0) << rung.id << ", " << threads;
      inclusive_scan(par.with_overflow(Overflow::checked), zeros.data(), 4, out.data(), add, carry);
      EXPECT_EQ(out[3], 0) << rung.id << ", " << threads;  // 2^32, wrapped to 0
    }
  }
}

TEST(ScanRungs, ATotalPastAnExclusiveScanIsCountedWithItsSign) {
  constexpr auto kLeast = std::numeric_limits<std::int32_t>::min();
  constexpr auto kMost = std::numeric_limits<std::int32_t>::max();
  for (const auto& [in, wraps] : {std::pair{std::vector{kMost, 1}, 1}, {std::vector{kLeast, -1}, -1}}) {
    std::vector<std::int32_t> out(2);
    auto carry = carry_of<std::int32_t>(0);
    exclusive_scan(par.with_overflow(Overflow::checked), in.data(), 2, out.data(), add, carry);
    EXPECT_EQ(carry.wraps, wraps);
    const std::int32_t back = -5 * wraps;
    reduce_into(par.with_overflow(Overflow::checked), &back, 1, add, carry);
    EXPECT_EQ(carry.wraps, 0);
    EXPECT_EQ(carry.total, in[0] - 4 * wraps);
  }
}

/// Aligned like vectors of the largest width.
struct alignas(64) Wide {
  std::int64_t value;
};

TEST(ScanRungs, CustomTypesMayBeAlignedToACacheLine) {
  const std::vector<Wide> in(100000, Wide{3});
  const auto plus = [](const Wide& a, const Wide& b) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&a) % 64, 0U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&b) % 64, 0U);
    return Wide{a.value + b.value};
  };
  for (const auto& rung : tests::cpu_rungs("scan")) {
    std::vector<Wide> out(in.size());
    if (!supported([&] { inclusive_scan(par.with_rung(rung.id).with_threads(3), in, out, plus); })) continue;
    EXPECT_EQ(out.back().value, 300000) << rung.id;
  }
}

TEST(ScanRungsDeathTest, AnOperatorThatThrowsEndsTheProgramAtEveryLength) {
  if (tests::kSanitized) GTEST_SKIP() << "skipped: sanitizers end the process differently";
  const auto throws = [](int, int) { return std::stoi("no number"); };
  for (const std::size_t n : {std::size_t{2}, std::size_t{1000}}) {
    std::vector<int> x(n);
    EXPECT_DEATH(
        {
          try {
            inclusive_scan(seq, x, x, throws);
          } catch (...) {
            std::exit(0);
          }
        },
        "");
  }
}

TEST(ScanRungs, CustomOperatorsNeedNotCommute) {
  for (const std::int64_t n : kSizes<AffineMap>) {
    std::vector<AffineMap> in(static_cast<std::size_t>(n));
    std::mt19937 random(1);
    for (auto& f : in) f = {static_cast<std::uint32_t>(random()), static_cast<std::uint32_t>(random())};
    for (const auto& rung : tests::cpu_rungs("scan")) {
      for (const bool exclusive : {false, true}) {
        std::vector<AffineMap> out(in.size(), AffineMap{77, 77});
        const Policy policy = par.with_rung(rung.id).with_threads(3);
        const AffineMap init{3, 1};
        const bool ran = supported([&] {
          if (exclusive) {
            exclusive_scan(policy, in, out, init, kCompose);
          } else {
            inclusive_scan(policy, in, out, kCompose);
          }
        });
        if (!ran) continue;
        AffineMap total = init;
        for (std::size_t i = 0; i < in.size(); ++i) {
          const AffineMap before = total;
          total = i == 0 && !exclusive ? in[0] : kCompose(total, in[i]);
          ASSERT_EQ(out[i], exclusive ? before : total) << rung.id << " n " << n << " at " << i;
        }
      }
    }
  }
}

TEST(ScanRungs, LambdasSeeTheirCaptures) {
  const std::vector<std::int64_t> in{5, 3, 8, 1};
  std::vector<std::int64_t> out(4);
  const std::int64_t modulus = 7;
  inclusive_scan(par, in, out, [&](std::int64_t a, std::int64_t b) { return (a + b) % modulus; });
  EXPECT_EQ(out, (std::vector<std::int64_t>{5, 1, 2, 3}));
}

TEST(ScanRungs, MinAndMaxPropagateNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto& rung : tests::cpu_rungs("scan")) {
    for (const std::int64_t at : {0, 5, 20000}) {
      std::vector<float> in(40000, 1.0F);
      in[static_cast<std::size_t>(at)] = nan;
      std::vector<float> out(in.size());
      if (!supported([&] { inclusive_scan(par.with_rung(rung.id), in, out, max); })) continue;
      for (std::int64_t i = 0; i < std::ssize(in); ++i) {
        ASSERT_EQ(std::isnan(out[static_cast<std::size_t>(i)]), i >= at) << rung.id << " at " << i;
      }
      inclusive_scan(par.with_rung(rung.id), in, out, min);
      ASSERT_TRUE(std::isnan(out.back()) && (at == 0 || out[0] == 1.0F)) << rung.id;
    }
  }
}

TEST(ScanRungs, InfinitiesAndSignedZerosComeThrough) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const auto& rung : tests::cpu_rungs("scan")) {
    std::vector<float> in(70000, 1.0F);
    in[40000] = infinity;
    std::vector<float> out(in.size());
    inclusive_scan(par.with_rung(rung.id), in, out);
    EXPECT_EQ(out[39999], 40000.0F) << rung.id;
    EXPECT_EQ(out[40000], infinity) << rung.id;
    EXPECT_EQ(out.back(), infinity) << rung.id;
    for (const std::size_t n : {std::size_t{1}, std::size_t{100}, std::size_t{70001}}) {
      const std::vector<float> zeros(n, -0.0F);
      std::vector<float> sums(n, 9);
      inclusive_scan(par.with_rung(rung.id), zeros, sums);
      for (const float sum : sums) ASSERT_TRUE(sum == 0 && std::signbit(sum)) << rung.id << " of " << n;
      exclusive_scan(par.with_rung(rung.id), zeros, sums, -0.0F);
      for (const float sum : sums) ASSERT_TRUE(sum == 0 && std::signbit(sum)) << rung.id << " of " << n;
      exclusive_scan(par.with_rung(rung.id), zeros, sums, 0.0F);
      for (const float sum : sums) ASSERT_TRUE(sum == 0 && !std::signbit(sum)) << rung.id << " of " << n;
    }
  }
}

/// Calls with run-time types have no initial value if none is given. The first output is then the fold of no elements,
/// and later ones fold the elements before. Scans by the templates of scan.hpp always have an initial value.
TYPED_TEST(ScanRungs, ExclusiveOnesWithoutAnInitialValueBeginWithTheIdentity) {
  for (const auto& rung : tests::cpu_rungs("scan")) {
    for_each_operator<TypeParam>([&]<class Op>(Op op) {
      if constexpr (!tests::is_exact<TypeParam, Op>) return;
      for (const std::int64_t n : std::initializer_list<std::int64_t>{0, 1, 2, 65, 5000, shared_by<TypeParam>(2)}) {
        if (kSanitized && n == 5000) continue;
        const auto in = tests::make<TypeParam>(Pattern::random, n, 4);
        const TypeParam first = Op::kOperator == Operator::add ? TypeParam{0} : Op::template identity<TypeParam>();
        for (const std::int64_t cut : {n, n / 3}) {  // in one call, and in two that pass on the carry
          Guarded<TypeParam> out(n, 1);
          auto carry = dynamic::Carry(type_of<TypeParam>());
          const auto scan = [&](std::int64_t from, std::int64_t count) {
            dynamic::scan(par.with_rung(rung.id).with_threads(2), {Op::kOperator, true},
                          {in.data() + from, count, type_of<TypeParam>()},
                          {out.data() + from, count, type_of<TypeParam>()}, carry);
          };
          const bool ran = supported([&] {
            scan(0, cut);
            EXPECT_EQ(carry.any(), cut > 0);
            scan(cut, n - cut);
          });
          if (!ran) continue;
          const auto reference = reference::ExactReference<TypeParam, Op>(op, first);
          EXPECT_EQ(reference::first_wrong(reference, in.data(), out.data(), n, true), kNoIndex)
              << rung.id << ' ' << Op::kName << " n " << n << " cut at " << cut;
          EXPECT_TRUE(out.intact());
        }
      }
    });
    if constexpr (std::is_floating_point_v<TypeParam>) {
      const std::vector<TypeParam> zeros(70001, TypeParam{-0.0});
      std::vector<TypeParam> out(zeros.size(), 9);
      auto carry = dynamic::Carry(type_of<TypeParam>());
      dynamic::scan(par.with_rung(rung.id), {Operator::add, true}, {zeros.data(), 70001, type_of<TypeParam>()},
                    {out.data(), 70001, type_of<TypeParam>()}, carry);
      EXPECT_TRUE(out[0] == 0 && !std::signbit(out[0])) << rung.id;
      for (std::size_t i = 1; i < out.size(); ++i) ASSERT_TRUE(out[i] == 0 && std::signbit(out[i])) << rung.id;
    }
  }
}

TEST(ScanApi, ChecksAreRefusedWhereThereAreNone) {
  std::vector<int> in(1000, 1);
  std::vector<int> out(1000);
  const Policy checked = par.with_overflow(Overflow::checked);
  EXPECT_EQ(tests::code_of([&] { inclusive_scan(checked, in, out, mul); }), Code::unsupported);
  EXPECT_EQ(tests::code_of([&] { inclusive_scan(checked, in, out, [](int a, int b) { return a + b; }); }),
            Code::unsupported);
  inclusive_scan(checked, in, out, upsweep::max);
  EXPECT_EQ(out.back(), 1);
}

/// Sums and products that stay in range in the loop's order, but leave it in other orders: in a vector, and from block
/// to block.
template <class T>
std::vector<std::vector<T>> ranges_nearly_left(bool products) {
  const T large =
      products ? std::ldexp(T{1}, std::numeric_limits<T>::max_exponent * 3 / 4) : std::numeric_limits<T>::max() / 8 * 7;
  const T back = products ? 1 / large : -large;
  const T rest = products ? T{1} : T{0};
  std::vector<std::vector<T>> all;
  for (const std::int64_t n : {300, 300001}) {
    for (const std::int64_t at : {2, 13, 29, 250}) {
      std::vector<T> in(static_cast<std::size_t>(n), rest);
      in[0] = back;
      in[static_cast<std::size_t>(at)] = large;
      in[static_cast<std::size_t>(at + 1)] = large;
      in[static_cast<std::size_t>(at + 2)] = back;
      in[static_cast<std::size_t>(n - 4)] = large;
      in[static_cast<std::size_t>(n - 3)] = back;
      in[static_cast<std::size_t>(n - 2)] = back;
      in[static_cast<std::size_t>(n - 1)] = large;
      all.push_back(in);
    }
  }
  std::vector<T> blocks(300001, rest);  // a block has 2^17 bytes
  constexpr auto kBlock = static_cast<std::size_t>((1 << 17) / sizeof(T));
  blocks[5] = back;
  for (std::size_t b = 1; b + 1 < blocks.size() / kBlock; ++b) {
    blocks[b * kBlock + 77] = b % 2 == 1 ? large : back;
    blocks[b * kBlock + 1077] = b % 2 == 1 ? large : back;
  }
  all.push_back(blocks);
  return all;
}

template <class T, class Op>
void check_as_the_loop(const std::vector<T>& in, Op op, const RungInfo& rung, bool exclusive) {
  const auto n = std::ssize(in);
  const T init = operator_of<Op, T>() == Operator::add ? T{0} : T{1};
  const auto scanned = [&](const Policy& policy) {
    std::vector<T> out = in;  // in place
    auto carry = carry_of(init);
    if (exclusive) {
      exclusive_scan(policy, out.data(), n, out.data(), op, carry);
    } else {
      inclusive_scan(policy, out.data(), n, out.data(), op, carry);
    }
    out.push_back(detail::value_of(carry));
    return out;
  };
  const std::vector<T> loop = scanned(seq.with_rung("cpu.serial"));
  const std::vector<T> first = scanned(seq.with_rung(rung.id));
  for (std::size_t i = 0; i < loop.size(); ++i) {
    ASSERT_TRUE(std::isfinite(loop[i]));
    ASSERT_EQ(first[i], loop[i]) << rung.id << " at " << i << " of " << n << " exclusive " << exclusive;
  }
  for (const Isa isa : isas()) {
    ASSERT_EQ(scanned(par.with_rung(rung.id).with_isa(isa).with_threads(3)), first) << rung.id << " " << name(isa);
  }
}

TEST(ScanApi, ACheckedScanGoesOnWherePiecesLeaveTheTypeAndPrefixesDoNot) {
  // All prefixes are in -100 … 100; the elements in the middle by themselves add up to 200.
  std::vector<std::int8_t> in(std::size_t{1} << 20, 0);
  in[0] = -100;
  std::fill_n(in.begin() + (1 << 17) + 33000, 200, std::int8_t{1});
  std::vector<std::int8_t> out(in.size());
  const std::vector<std::int8_t> more(10, 1);
  for (const auto& rung : tests::cpu_rungs("scan")) {
    if (rung.id == "cpu.std_par") continue;
    for (const int threads : {1, 2, 3}) {
      const Policy policy = par.with_rung(rung.id).with_threads(threads).with_overflow(Overflow::checked);
      auto carry = empty_carry<std::int8_t>();
      inclusive_scan(policy, in.data(), std::ssize(in), out.data(), add, carry);
      EXPECT_EQ(out.back(), 100) << rung.id;
      EXPECT_EQ(tests::code_of([&] { inclusive_scan(policy, more.data(), 10, out.data(), add, carry); }), Code::ok)
          << rung.id << " on " << threads;
      EXPECT_EQ(out[9], 110);
    }
  }
}

TYPED_TEST(ScanRungs, FloatsStayInRangeWhereTheLoopDoes) {
  if constexpr (std::is_floating_point_v<TypeParam>) {
    for (const auto& rung : tests::cpu_rungs("scan")) {
      if (rung.id != "cpu.simd" && rung.id != "cpu.chained" && rung.id != "cpu.lookahead") continue;
      for (const bool exclusive : {false, true}) {
        for (const auto& in : ranges_nearly_left<TypeParam>(false)) check_as_the_loop(in, add, rung, exclusive);
        for (const auto& in : ranges_nearly_left<TypeParam>(true)) check_as_the_loop(in, mul, rung, exclusive);
      }
    }
  }
}

TYPED_TEST(ScanRungs, FloatsOfSegmentsMayLeaveTheRangeAsDocumented) {
  if constexpr (std::is_floating_point_v<TypeParam>) {
    const TypeParam most = std::numeric_limits<TypeParam>::max();
    std::vector<TypeParam> in(600000, TypeParam{0});
    in[0] = -most;
    in[300000] = most;  // a long block has 2^18 elements
    in[300001] = most;
    for (const char* rung : {"cpu.threads", "cpu.simd_threads"}) {
      std::vector<TypeParam> out(in.size());
      inclusive_scan(par.with_rung(rung), in, out);
      EXPECT_FALSE(std::isfinite(out.back())) << rung << ": then say so in scan.hpp";
    }
  }
}

TEST(ScanApi, PicksByLengthAndTypeOnly) {
  for (const std::int64_t n : {10, 1000, 100000, 1000000}) {
    const std::vector<float> in(static_cast<std::size_t>(n), 1.0F);
    std::vector<float> out(in.size());
    const auto one = inclusive_scan(seq, in, out);
    const auto many = inclusive_scan(par.with_threads(8), in, out);
    EXPECT_EQ(one.rung, many.rung);
  }
}

TEST(ScanApi, SaysWhatIsWrong) {
  std::vector<int> in(100, 1);
  std::vector<int> out(99);
  const auto code_of = [](auto call) {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()), "");
      return error.code();
    }
    return Code::ok;
  };
  EXPECT_EQ(code_of([&] { inclusive_scan(par, in, out); }), Code::unequal_lengths);
  EXPECT_EQ(code_of([&] { inclusive_scan(par, in.data(), 99, in.data() + 1); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { inclusive_scan(par, in.data(), 10, in.data() + 1); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { inclusive_scan(par, in.data(), -1, out.data()); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { inclusive_scan(par, static_cast<int*>(nullptr), 5, out.data()); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { inclusive_scan(par.with_threads(-2), in, in); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { inclusive_scan(par.with_rung("cpu.quick"), in, in); }), Code::unknown_rung);
  const auto plus = [](int a, int b) { return a + b; };
  EXPECT_EQ(code_of([&] { inclusive_scan(par.with_rung("cpu.simd"), in, in, plus); }), Code::unsupported);
  EXPECT_EQ(code_of([&] { inclusive_scan(par, static_cast<int*>(nullptr), 0, static_cast<int*>(nullptr)); }), Code::ok);
}

// Like views made by std::views::drop_while: begin() finds the first element, and is not const.
struct ViewToFind {
  std::span<int> all;
  int* begin() { return all.data(); }
  int* end() { return all.data() + all.size(); }
};

TEST(ScanCalls, OutputsMayBeViewsWithoutAConstBegin) {
  const std::vector<int> in{1, 2, 3};
  std::vector<int> out(3);
  inclusive_scan(par, in, ViewToFind{out});
  EXPECT_EQ(out, (std::vector<int>{1, 3, 6}));
}

}  // namespace
}  // namespace upsweep
