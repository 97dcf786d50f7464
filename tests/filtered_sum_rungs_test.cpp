// SPDX-License-Identifier: Apache-2.0
// tests/filtered_sum_rungs_test.cpp: every rung of the ladder is compared with the reference: sizes, patterns, limits,
// misalignment, threads, instruction sets, single rows, and what calls refuse.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "failure.hpp"
#include "patterns.hpp"
#include "rows.hpp"
#include "rungs.hpp"
#include "upsweep/filtered_sum.hpp"
#include "upsweep/ladder.hpp"
#include "upsweep/machine.hpp"
#include "workers.hpp"

namespace upsweep {
namespace {

using tests::Guarded;
using tests::isas;
using tests::make_rows;
using tests::RowPattern;
using tests::Rows;

/// Returns the number of rows at which `threads` threads are used, considering only the keys.
constexpr std::int64_t rows_for(int threads) { return tests::elements_for(threads, sizeof(std::uint32_t)) + 1; }

// Sizes around a vector (8 rows, 16 keys), four vectors, and a block (4096). Also around the last of five work units
// (2^14) of two threads, and several work units on three threads.
constexpr std::int64_t kSizes[] = {0,    1,    2,    7,     8,     9,     15,    16,    17,         31,
                                   32,   63,   64,   65,    127,   129,   4095,  4096,  4097,       4160,
                                   8191, 8192, 8193, 12289, 65537, 81919, 81920, 81921, rows_for(3)};

template <class Call>
Code code_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()), "");
    EXPECT_EQ(error.index(), kNoIndex) << error.what();
    return error.code();
  }
  return Code::ok;
}

/// The rows at a distance from a 64-byte boundary, with poison around them: a rung that reads the poison gets a
/// different sum.
class Placed {
 public:
  Placed(const Rows& rows, std::int64_t misaligned)
      : count_(rows.count()), key_(count_, misaligned), quantity_(count_, misaligned), price_(count_, misaligned / 2) {
    std::copy(rows.key.begin(), rows.key.end(), key_.data());
    std::copy(rows.quantity.begin(), rows.quantity.end(), quantity_.data());
    std::copy(rows.price.begin(), rows.price.end(), price_.data());
  }
  [[nodiscard]] FilteredSum sum(const Policy& policy, std::uint32_t limit) {
    return filtered_sum(policy, key_.data(), quantity_.data(), price_.data(), count_, limit);
  }
  [[nodiscard]] bool intact() const { return key_.intact() && quantity_.intact() && price_.intact(); }

 private:
  std::int64_t count_;
  Guarded<std::uint32_t> key_;
  Guarded<std::int64_t> quantity_;
  Guarded<std::int64_t> price_;
};

void check_rungs(const Policy& policy, Placed& placed, std::uint32_t limit, std::int64_t expected) {
  for (const auto& rung : tests::cpu_rungs("filtered-sum")) {
    const FilteredSum found = placed.sum(policy.with_rung(rung.id), limit);
    EXPECT_EQ(found.rung, rung.id);
    EXPECT_EQ(found.sum, expected) << rung.id << " limit " << limit << " threads " << policy.threads << " isa "
                                   << name(policy.isa);
  }
  EXPECT_EQ(placed.sum(policy, limit), expected) << "the rung that the API chooses";
}

TEST(FilteredSumRungs, EverySizePatternAndLimitMatchesTheReference) {
  for (const RowPattern pattern : tests::kRowPatterns) {
    for (const std::int64_t n : kSizes) {
      const Rows rows = make_rows(pattern, n, static_cast<unsigned>(n));
      Placed placed(rows, n % 5);
      for (const std::uint32_t limit : tests::kLimits) {
        SCOPED_TRACE(testing::Message() << tests::name(pattern) << " n " << n);
        check_rungs(par.with_threads(3), placed, limit, rows.sum(limit));
      }
      EXPECT_TRUE(placed.intact()) << "an input was written";
    }
  }
}

TEST(FilteredSumRungs, EveryInstructionSetThreadCountAndAlignmentMatchesTheReference) {
  for (const RowPattern pattern : tests::kRowPatterns) {
    for (const std::int64_t n : std::initializer_list<std::int64_t>{0, 1, 100, 4200, rows_for(4)}) {
      const Rows rows = make_rows(pattern, n, 7);
      for (const std::int64_t misaligned : {0, 1, 3}) {
        Placed placed(rows, misaligned);
        for (const Isa isa : isas()) {
          for (const int threads : {1, 2, 3, 4}) {
            for (const std::uint32_t limit : {30U, 2000U, 0xFFFFFFFFU}) {
              SCOPED_TRACE(testing::Message() << tests::name(pattern) << " n " << n << " misaligned " << misaligned);
              check_rungs(par.with_isa(isa).with_threads(threads), placed, limit, rows.sum(limit));
            }
          }
        }
      }
    }
  }
}

TEST(FilteredSumRungs, EveryRowAloneCounts) {
  // At the border of a lane, vector, block or work unit, no row is left out, and none is counted twice.
  for (const std::int64_t n : {259, 4175}) {
    std::vector<std::uint32_t> key(static_cast<std::size_t>(n), 30);
    std::vector<std::int64_t> quantity(key.size());
    std::vector<std::int64_t> price(key.size());
    for (std::size_t i = 0; i < key.size(); ++i) {
      quantity[i] = static_cast<std::int64_t>(i) + 3;
      price[i] = -static_cast<std::int64_t>(i * i) - 1;
    }
    for (const Isa isa : isas()) {
      for (std::size_t i = 0; i < key.size(); ++i) {
        key[i] = 29;
        for (const auto& rung : tests::cpu_rungs("filtered-sum")) {
          const Policy policy = seq.with_rung(rung.id).with_isa(isa);
          ASSERT_EQ(filtered_sum(policy, key, quantity, price, 30), quantity[i] * price[i]) << rung.id << " row " << i;
          ASSERT_EQ(filtered_sum(policy, key, quantity, price, 29), 0) << rung.id << " row " << i;
        }
        key[i] = 30;
      }
    }
  }
}

TEST(FilteredSumRungs, EveryShareOfRowsIsCounted) {
  // Shares from one row in 4096 to all: rows are collected first, or read in order, and the limit between both methods.
  for (const std::int64_t n : {4096, 4097, 100003}) {
    Rows rows = make_rows(RowPattern::lineitem, n, 3);
    Placed placed(rows, 1);
    for (std::uint32_t limit = 1; limit <= 10001; limit += 1 + limit / 8) {
      for (const Isa isa : isas()) check_rungs(par.with_isa(isa).with_threads(2), placed, limit, rows.sum(limit));
    }
  }
  // A block whose rows are kept only at its end, and too many of them, after a block without kept rows.
  std::vector<std::uint32_t> key(3 * 4096, 9);
  const std::vector<std::int64_t> quantity(key.size(), 3);
  const std::vector<std::int64_t> price(key.size(), 5);
  for (std::size_t kept = 500; kept < 530; ++kept) {
    std::fill(key.begin() + 4096, key.end(), 9U);
    std::fill(key.begin() + 2 * 4096 - static_cast<std::ptrdiff_t>(kept), key.begin() + 2 * 4096, 0U);
    for (const auto& rung : tests::cpu_rungs("filtered-sum")) {
      EXPECT_EQ(filtered_sum(seq.with_rung(rung.id), key, quantity, price, 1), static_cast<std::int64_t>(15 * kept));
    }
  }
}

TEST(FilteredSumRungs, SumsWrapAround) {
  const std::vector<std::uint32_t> key(1000, 0);
  const std::vector<std::int64_t> quantity(1000, std::numeric_limits<std::int64_t>::max());
  const std::vector<std::int64_t> price(1000, std::numeric_limits<std::int64_t>::min());
  for (const auto& rung : tests::cpu_rungs("filtered-sum")) {
    // (2^63 - 1)(-2^63) = 2^63 modulo 2^64, an even number of times.
    EXPECT_EQ(filtered_sum(par.with_rung(rung.id), key, quantity, price, 1), 0) << rung.id;
    EXPECT_EQ(filtered_sum(par.with_rung(rung.id), key.data(), quantity.data(), price.data(), 999, 1),
              std::numeric_limits<std::int64_t>::min())
        << rung.id;
  }
}

TEST(FilteredSumRungs, SumsOfPartsAddUp) {
  const Rows rows = make_rows(RowPattern::extremes, 100003, 9);
  for (const auto& rung : tests::cpu_rungs("filtered-sum")) {
    std::uint64_t sum = 0;
    for (std::int64_t first = 0; first < rows.count(); first += 33333) {
      const std::int64_t count = std::min<std::int64_t>(33333, rows.count() - first);
      sum += static_cast<std::uint64_t>(filtered_sum(par.with_rung(rung.id), rows.key.data() + first,
                                                     rows.quantity.data() + first, rows.price.data() + first, count,
                                                     0x80000001U)
                                            .sum);
    }
    EXPECT_EQ(static_cast<std::int64_t>(sum), rows.sum(0x80000001U)) << rung.id;
  }
}

// ---------------------------------------------------------------------------------------------------------------- API

TEST(FilteredSumApi, PicksByLengthOnly) {
  for (const std::int64_t n : {0, 1, 31, 32, 1000, 300000}) {
    const Rows rows = make_rows(RowPattern::lineitem, n);
    const auto one = filtered_sum(seq, rows.key, rows.quantity, rows.price, 30);
    EXPECT_EQ(one.rung, n < 32 ? "cpu.serial" : "cpu.predicate_first");
    for (const int threads : {0, 2, 100}) {
      EXPECT_EQ(filtered_sum(par.with_threads(threads), rows.key, rows.quantity, rows.price, 30).rung, one.rung);
    }
  }
}

TEST(FilteredSumApi, SaysWhatIsWrong) {
  const Rows rows = make_rows(RowPattern::lineitem, 100);
  const auto* key = rows.key.data();
  const auto* quantity = rows.quantity.data();
  const auto* price = rows.price.data();
  const auto call = [&](const Policy& policy) { (void)filtered_sum(policy, rows.key, rows.quantity, rows.price, 30); };
  EXPECT_EQ(code_of([&] { (void)filtered_sum(par, key, quantity, price, -1, 30); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)filtered_sum(par, nullptr, quantity, price, 5, 30); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)filtered_sum(par, key, nullptr, price, 5, 30); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)filtered_sum(par, key, quantity, nullptr, 5, 30); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)filtered_sum(par, rows.key, rows.quantity, std::span(price, 99), 30); }),
            Code::unequal_lengths);
  EXPECT_EQ(code_of([&] { (void)filtered_sum(par, rows.key, std::span(quantity, 99), rows.price, 30); }),
            Code::unequal_lengths);
  EXPECT_EQ(code_of([&] { call(par.with_threads(-1)); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { call(par.with_rung("cpu.quick")); }), Code::unknown_rung);
  EXPECT_EQ(code_of([&] { call(par.with_rung("cpu.simd")); }), Code::unsupported) << "a rung of another ladder";
  EXPECT_EQ(code_of([&] { call(par.with_rung("cuda.fused")); }), tests::code_of_gpu_rung())
      << "the columns are in host memory";
  EXPECT_EQ(code_of([&] { call(par.with_overflow(Overflow::checked)); }), Code::unsupported);
  EXPECT_EQ(filtered_sum(par, nullptr, nullptr, nullptr, 0, 30), 0);
  for (const auto& rung : tests::cpu_rungs("filtered-sum")) {
    EXPECT_EQ(filtered_sum(par.with_rung(rung.id), nullptr, nullptr, nullptr, 0, 30), 0) << rung.id;
  }
}

}  // namespace
}  // namespace upsweep
