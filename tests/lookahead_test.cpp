// SPDX-License-Identifier: Apache-2.0
// tests/lookahead_test.cpp: the look-ahead schedule over the test's own blocks, whose workers are delayed at critical
// moments.
#include "cpu/lookahead.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "workers.hpp"

namespace {

using upsweep::kNoIndex;
using upsweep::cpu::Range;

/// Running sums of int64 in blocks of four, in two sub-blocks. `while_folding(block, call)` runs in the middle of the
/// fold of a sub-block; `call` counts the folds of that block's first sub-block from 1.
struct Sums {
  using Carry = std::int64_t;
  using Hook = std::function<void(std::int64_t block, int call)>;
  static constexpr std::int64_t kBlock = 4;

  Sums(const std::vector<std::int64_t>& x, std::vector<std::int64_t>& y)
      : in(x.data()), out(y.data()), folds((x.size() + kBlock - 1) / kBlock) {}

  static void clear(Carry& carry) { carry = 0; }
  void merge(Carry& left, const Carry& right) const { left += right + (rounds ? (left ^ right) % 3 : 0); }
  void reduce(Range range, Carry& carry) const {
    carry = in[range.first];
    if (while_folding && range.first % kBlock == 0) {
      const std::int64_t block = range.first / kBlock;
      while_folding(block, ++folds[static_cast<std::size_t>(block)]);
    }
    for (std::int64_t i = 1; i < range.count; ++i) carry += in[range.first + i];
  }
  std::int64_t scan(Range range, Carry& carry, Range = {0, 0}) const {
    for (std::int64_t i = range.first; i < range.first + range.count; ++i) out[i] = carry += in[i];
    return first_bad >= range.first && first_bad < range.first + range.count ? first_bad : kNoIndex;
  }
  std::int64_t scan_and_fold(Range range, Carry& carry, Range, Range folded, Carry& total) const {
    const std::int64_t bad = scan(range, carry);
    Carry part = 0;
    reduce(folded, part);
    merge(total, part);
    return bad;
  }
  static constexpr std::int64_t block() { return kBlock; }
  static constexpr std::int64_t sub_block() { return kBlock / 2; }
  static constexpr std::int64_t first_sub_block() { return kBlock / 2; }
  static constexpr std::int64_t carry_bytes() { return sizeof(Carry); }
  [[nodiscard]] bool in_place() const { return in == out; }
  static constexpr bool exact() { return false; }
  [[nodiscard]] bool prefers_scan(const Carry&, const Carry& total) const { return total == preferred; }

  const std::int64_t* in;
  std::int64_t* out;
  Hook while_folding;
  std::int64_t preferred = -1;  // the total of blocks that pass on the carry of their scan
  bool rounds = false;          // as with floats, merging gives other bits than scanning
  std::int64_t first_bad = kNoIndex;
  mutable std::vector<std::atomic<int>> folds;
};

std::vector<std::int64_t> numbers(std::int64_t n) {
  std::vector<std::int64_t> x(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = 1 + i * i % 97;
  return x;
}

std::vector<std::int64_t> running_sums(const std::vector<std::int64_t>& x, std::int64_t before) {
  std::vector<std::int64_t> y(x.size());
  std::inclusive_scan(x.begin(), x.end(), y.begin(), std::plus<>{}, before);
  return y;
}

/// Like scan_lookahead(), on `threads` threads that all exist, however few cores there are.
std::int64_t scan_on_threads(const Sums& sums, std::int64_t n, int threads, std::int64_t& carry) {
  upsweep::cpu::Lookahead<Sums> schedule(sums, n, carry);
  upsweep::cpu::LowestIndex first_bad;
  std::vector<std::thread> workers;
  workers.reserve(static_cast<std::size_t>(threads));
  for (int i = 0; i < threads; ++i) workers.emplace_back([&] { first_bad.add(schedule.work()); });
  for (auto& worker : workers) worker.join();
  carry = schedule.end();
  return first_bad.get();
}

void sleep_for(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

/// Checks the sums of n elements on this number of threads, `in_place` or not, with a worker delayed by `hook`.
void expect_sums(std::int64_t n, int threads, bool in_place, const Sums::Hook& hook) {
  const std::vector<std::int64_t> x = numbers(n);
  std::vector<std::int64_t> in = x;
  std::vector<std::int64_t> out(in_place ? 0 : x.size());
  Sums sums(in, in_place ? in : out);
  sums.while_folding = hook;
  std::int64_t carry = 1000;
  const auto scan = hook ? scan_on_threads : upsweep::cpu::scan_lookahead<Sums>;
  EXPECT_EQ(scan(sums, n, threads, carry), kNoIndex);
  const std::vector<std::int64_t> expected = running_sums(x, 1000);
  EXPECT_EQ(in_place ? in : out, expected) << n << " elements, " << threads << " threads";
  EXPECT_EQ(carry, expected.empty() ? 1000 : expected.back());
}

TEST(Lookahead, EveryLengthOnEveryNumberOfThreads) {
  for (const bool in_place : {false, true}) {
    for (const std::int64_t n : {0, 1, 3, 4, 5, 31, 32, 33, 63, 64, 65, 255, 256, 1000, 1021, 4096}) {
      for (const int threads : {1, 2, 3, 4, 7, 64}) expect_sums(n, threads, in_place, nullptr);
    }
  }
}

TEST(Lookahead, ABlockWhoseOwnerIsHeldUpIsFoldedByOthers) {
  for (const bool in_place : {false, true}) {
    std::atomic<int> helped{0};
    expect_sums(400, 2, in_place, [&](std::int64_t block, int call) {
      if (block != 20) return;
      if (call > 1) ++helped;
      for (int waited = 0; call == 1 && helped == 0 && waited < 600000; ++waited) sleep_for(1);
    });
    EXPECT_GT(helped.load(), 0) << "in place " << in_place;
  }
}

TEST(Lookahead, SeveralHeldUpAtOnce) {
  for (const bool in_place : {false, true}) {
    expect_sums(2000, 4, in_place, [](std::int64_t block, int call) {
      if (call == 1 && block % 50 == 7) sleep_for(5);
    });
  }
}

TEST(Lookahead, ABlockIsNotOverwrittenWhileAHelperFoldsIt) {
  // The owner resumes, publishes and would scan the block in place, while the helper is folding it.
  expect_sums(400, 2, true, [](std::int64_t block, int call) {
    if (block == 20) sleep_for(call == 1 ? 100 : 300);
  });
}

TEST(Lookahead, AHelperThatIsHeldUpDoesNotHoldUpOthers) {
  for (const bool in_place : {false, true}) {
    expect_sums(400, 3, in_place, [](std::int64_t block, int call) {
      if (block == 20 && call <= 2) sleep_for(call == 1 ? 300 : 200);
    });
  }
}

TEST(Lookahead, TheCarryOfAScanWhereItIsPreferred) {
  // Every block's total is preferred: all carries are passed from scan to scan.
  const std::vector<std::int64_t> in(1000, 5);
  for (const int threads : {1, 2, 4}) {
    std::vector<std::int64_t> out(in.size());
    Sums sums(in, out);
    sums.preferred = 20;
    std::int64_t carry = 0;
    EXPECT_EQ(upsweep::cpu::scan_lookahead(sums, std::ssize(in), threads, carry), kNoIndex);
    EXPECT_EQ(out, running_sums(in, 0));
    EXPECT_EQ(carry, 5000);
  }
}

TEST(Lookahead, TheFirstBadIndexOfAllWorkers) {
  const std::vector<std::int64_t> in = numbers(1000);
  for (const std::int64_t bad : {0, 3, 500, 999}) {
    std::vector<std::int64_t> out(in.size());
    Sums sums(in, out);
    sums.first_bad = bad;
    std::int64_t carry = 0;
    EXPECT_EQ(upsweep::cpu::scan_lookahead(sums, std::ssize(in), 3, carry), bad);
  }
}

TEST(BlockWorkers, AreAsManyAsTestsCountOn) {
  using upsweep::cpu::kBlockBytes;
  for (const int workers : {2, 3, 8}) {
    const auto workers_for = [&](std::int64_t n) {
      return upsweep::cpu::block_workers(upsweep::cpu::ceil_div(n, kBlockBytes / 4), 64);
    };
    const std::int64_t n = upsweep::tests::elements_for(workers, 4);
    EXPECT_EQ(workers_for(n), workers);
    EXPECT_EQ(workers_for(n - kBlockBytes / 4), workers - 1);
  }
}

TEST(BlockTotals, OfEverySize) {
  for (const std::int64_t slots : {3, 3000}) {
    for (const std::int64_t bytes : {1, 8, 12, 24, 48, 60, 200}) {
      upsweep::cpu::BlockTotals totals(slots, bytes);
      for (const std::int64_t b : {std::int64_t{0}, std::int64_t{1}, slots - 1}) {
        const std::string total(static_cast<std::size_t>(bytes), static_cast<char>('a' + b % 26));
        std::string read(total.size() + 1, '-');
        EXPECT_FALSE(totals.read(b, read.data()));
        totals.publish(b, total.data());
        totals.publish(b, total.data());
        ASSERT_TRUE(totals.read(b, read.data()));
        EXPECT_EQ(read, total + '-') << "of " << bytes << " bytes, not past its end";
        EXPECT_FALSE(totals.begin_help(b, true));
        EXPECT_TRUE(totals.is_left(b));
      }
    }
  }
}

TEST(BlockTotals, OneHelpsUnlessAnotherInsists) {
  upsweep::cpu::BlockTotals totals(2, 8);
  const std::int64_t total = 7;
  ASSERT_TRUE(totals.begin_help(1, false));
  EXPECT_FALSE(totals.begin_help(1, false));
  ASSERT_TRUE(totals.begin_help(1, true));
  totals.publish(1, &total);
  totals.end_help(1);
  EXPECT_FALSE(totals.is_left(1));
  totals.end_help(1);
  EXPECT_TRUE(totals.is_left(1));
}

TEST(Lookahead, OneThreadLeavesTheBitsOfSeveral) {
  for (std::int64_t n = 0; n < 40; ++n) {
    const std::vector<std::int64_t> x = numbers(n);
    std::vector<std::int64_t> alone(x.size());
    std::vector<std::int64_t> company(x.size());
    Sums one(x, alone);
    Sums several(x, company);
    one.rounds = several.rounds = true;
    std::int64_t of_second_block = 0;
    for (std::size_t at = 4; n > 8 && at < 8; at += 2) one.merge(of_second_block, x[at] + x[at + 1]);
    for (const std::int64_t preferred : {std::int64_t{-1}, of_second_block}) {
      one.preferred = several.preferred = preferred;
      std::int64_t carry = 1000;
      EXPECT_EQ(upsweep::cpu::fold_and_scan_in_order(one, n, carry), kNoIndex);
      upsweep::cpu::Lookahead<Sums> schedule(several, n, 1000);
      EXPECT_EQ(schedule.work(), kNoIndex);
      EXPECT_EQ(alone, company) << n;
      EXPECT_EQ(carry, schedule.end()) << n;
    }
  }
}

}  // namespace
