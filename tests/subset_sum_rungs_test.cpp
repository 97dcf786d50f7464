// SPDX-License-Identifier: Apache-2.0
// tests/subset_sum_rungs_test.cpp: every rung of the subset sum ladder is compared with the sums of the power set and
// with the other rungs. The answers of find_subset, find_subsets and plan_subset are also checked.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "failure.hpp"
#include "patterns.hpp"
#include "problems/subset_sum/open_runs.hpp"
#include "problems/subset_sum/reference.hpp"
#include "problems/subset_sum/wavefront.hpp"
#include "problems/subset_sum/worker_group.hpp"
#include "rungs.hpp"
#include "upsweep/ladder.hpp"
#include "upsweep/machine.hpp"
#include "upsweep/subset_sum.hpp"

namespace upsweep {
namespace {

using Items = std::vector<std::int64_t>;
using Sums = std::vector<std::uint8_t>;
using impl::subset_sum::expected_sums;
using tests::isas;

std::int64_t total(const Items& items) { return std::accumulate(items.begin(), items.end(), std::int64_t{0}); }

Items random_items(std::mt19937_64& random, std::int64_t n, std::int64_t largest) {
  Items items(static_cast<std::size_t>(n));
  for (auto& item : items) item = 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(largest));
  return items;
}

/// The instance of "Notes on GPU Programming with Julia" (E. Aubanel 2021): ten integers up to 10^7 and S = 25,000,000.
Items document_items() {
  std::mt19937_64 random(12);
  return random_items(random, 10, 10000000);
}

template <class Call>
Code code_of(Call call, std::int64_t index = kNoIndex) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()), "");
    EXPECT_EQ(error.index(), index) << error.what();
    return error.code();
  }
  return Code::ok;
}

bool is_unsupported(const RungInfo& rung, const Items& items) {
  return rung.id == "cpu.enumerate" && items.size() > 20;
}

bool fills(const RungInfo& rung) { return rung.id != "cpu.meet_in_the_middle" && rung.id != "cpu.schroeppel_shamir"; }

// ------------------------------------------------------------------------------------------------------------- bitmaps

/// Checks the rung's bitmap of 0 … limit, with guards around it, poisoned before.
void check_fill(const Policy& policy, const Items& items, std::int64_t limit, const Sums& expected) {
  const std::int64_t words = limit / 64 + 1;
  tests::Guarded<std::uint64_t> sums(words, limit % 3);
  const auto rung = reachable_sums(policy, items.data(), std::ssize(items), limit, sums.data());
  EXPECT_TRUE(policy.rung.empty() || rung == policy.rung);
  EXPECT_EQ(impl::subset_sum::first_wrong(expected, sums.data()), -1)
      << rung << " limit " << limit << " by " << items.size() << " items, threads " << policy.threads << " isa "
      << name(policy.isa);
  EXPECT_TRUE(sums.intact()) << rung << " wrote past its bitmap";
}

void check_fills(const Items& items, std::int64_t limit) {
  const auto expected = expected_sums(items, limit);
  for (const auto& rung : tests::cpu_rungs("subset-sum")) {
    if (!fills(rung) || is_unsupported(rung, items)) continue;
    for (const int threads : {1, 3}) check_fill(par.with_rung(rung.id).with_threads(threads), items, limit, expected);
  }
  check_fill(par, items, limit, expected);
}

TEST(SubsetSumRungs, FillEveryWordBorder) {
  std::mt19937_64 random(1);
  for (const std::int64_t limit : {0, 1, 2, 62, 63, 64, 65, 127, 128, 129, 511, 512, 513, 1023, 4095, 4096, 4097}) {
    check_fills({}, limit);
    for (const std::int64_t item : {1, 2, 63, 64, 65, 127, 128, 512, 4096, 5000}) check_fills({item}, limit);
    check_fills({64, 64, 64, 64}, limit);
    check_fills({1, 1, 1, 1, 1, 1, 1}, limit);
    check_fills({limit + 1, limit + 64, 3}, limit);
    // Sums of these items would wrap (modulo 2^64) to small ones.
    const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
    check_fills({huge, huge, 4, huge - 1, 1000, 1000}, limit);
    check_fills(random_items(random, 15, limit + 2), limit);
  }
}

TEST(SubsetSumRungs, FillManyItemsInOnePass) {
  // Items much shorter than a work unit are added together in one pass; longer items one by one; and all cases in
  // between.
  std::mt19937_64 random(2);
  const std::int64_t limit = 1500007;
  const std::vector<int> thread_counts = tests::kSanitized ? std::vector{3} : std::vector{1, 2, 3, 5};
  for (const std::int64_t largest : {40, 700, 5000, 60000, 400000, 2000000}) {
    const Items items = random_items(random, 40, largest);
    const auto expected = expected_sums(items, limit);
    for (const Isa isa : isas()) {
      for (const int threads : thread_counts) {
        check_fill(par.with_rung("cpu.bits_simd").with_isa(isa).with_threads(threads), items, limit, expected);
      }
    }
  }
}

using Words = std::vector<std::uint64_t>;
using impl::subset_sum::Wavefront;

/// Shifts each word's bits up by the items, one after the other, in the words low … top - 1.
void add_slowly(Words& sums, const Wavefront::Pass& pass) {
  for (std::int64_t j = 0; j < pass.count; ++j) {
    const std::int64_t whole = pass.items[j] / 64;
    const std::int64_t shift = pass.items[j] % 64;
    for (std::int64_t w = pass.top - 1; w >= std::max(pass.low, whole); --w) {
      auto& word = sums[static_cast<std::size_t>(w)];
      word |= sums[static_cast<std::size_t>(w - whole)] << shift;
      if (shift > 0 && w > whole) word |= sums[static_cast<std::size_t>(w - whole - 1)] >> (64 - shift);
    }
  }
}

/// Few bits, so that a bit that is lost at the border of a work unit or block is not set again by another item. Some
/// ranges of tiles have every bit set, from the first or second word of a tile to the last word or the one before.
Words random_sums(std::mt19937_64& random, std::int64_t words, std::int64_t stretches) {
  Words sums(static_cast<std::size_t>(words));
  for (auto& word : sums) word = random() % 4 == 0 ? std::uint64_t{1} << (random() % 64) : 0;
  for (; stretches > 0; --stretches) {
    const auto tile = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(words / 1024));
    const std::int64_t first = tile * 1024 + static_cast<std::int64_t>(random() % 2);
    const std::int64_t last =
        (tile + 1 + static_cast<std::int64_t>(random() % 5)) * 1024 - static_cast<std::int64_t>(random() % 2);
    std::fill(sums.begin() + first, sums.begin() + std::min(last, words), ~std::uint64_t{0});
  }
  return sums;
}

/// Up to `most` passes whose begins and ends increase: some end at the border of a work unit, or slightly after it.
std::vector<Wavefront::Pass> passes_of(std::mt19937_64& random, const Wavefront& wavefront, const Items& items,
                                       std::int64_t low, std::int64_t words, std::int64_t most) {
  std::vector<Wavefront::Pass> passes;
  std::int64_t top = words - static_cast<std::int64_t>(random() % static_cast<std::uint64_t>((words - low) / 2));
  for (std::int64_t j = 0; j < std::ssize(items) && std::ssize(passes) < most; j += passes.back().count) {
    const std::int64_t* const next = items.data() + j;
    passes.push_back({next, wavefront.items_of_pass(next, std::ssize(items) - j, top - low), low, top});
    low = std::min(low + static_cast<std::int64_t>(random() % 25) * 8, top / 8 * 8);  // whole cache lines
    top = std::min(top + static_cast<std::int64_t>(random() % 8000), words);          // in the next work unit, or not
  }
  return passes;
}

/// Like Wavefront::run(), with one thread per work unit: all threads exist, however few cores there are. Returns the
/// number of work units.
int run_on_threads(Wavefront& wavefront, const std::vector<Wavefront::Pass>& passes, int most) {
  const int slices = wavefront.begin(passes, most);
  wavefront.reserve(slices);
  wavefront.share(slices);
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(slices));
  for (int id = 0; id < slices; ++id) threads.emplace_back([&, id] { wavefront.work(id); });
  for (auto& thread : threads) thread.join();
  wavefront.end();
  return slices;
}

/// Adds all items, in regions of up to `passes` passes, and compares with adding them one by one. Returns the number of
/// work units.
int check_passes(std::mt19937_64& random, Words sums, const Items& items, std::int64_t low, int threads,
                 std::int64_t passes, const std::string& what) {
  const auto words = std::ssize(sums);
  Words expected = sums;
  Wavefront wavefront(sums.data(), words, *std::max_element(items.begin(), items.end()), Isa::best, threads);
  int slices = 0;
  for (Items left = items; !left.empty();) {
    const auto region = passes_of(random, wavefront, left, low, words, passes);
    slices = std::max(slices, run_on_threads(wavefront, region, threads));
    std::int64_t done = 0;
    for (const auto& pass : region) {
      add_slowly(expected, pass);
      done += pass.count;
    }
    const auto wrong = std::mismatch(sums.begin(), sums.end(), expected.begin()).first - sums.begin();
    EXPECT_EQ(wrong, words) << what << ", threads " << threads << " slices " << slices << " low " << low
                            << " region of " << region.size() << " passes and " << done << " items";
    if (wrong != words) break;
    left.erase(left.begin(), left.begin() + done);
  }
  return slices;
}

TEST(SubsetSumRungs, PassesAreTheirItemsOneAfterTheOther) {
  // Work units of 4096 words or more, and blocks of 8192. Halos have one word to half of a work unit, and there are up
  // to four ranges of full tiles.
  std::mt19937_64 random(18);
  for (int i = 0; i < (tests::kSanitized ? 30 : 300); ++i) {
    const std::int64_t words = 20000 + static_cast<std::int64_t>(random() % 40000);
    const std::int64_t low = i % 3 == 0 ? 0 : static_cast<std::int64_t>(random() % 1000) * 8;
    const Items items = random_items(random, 40, std::int64_t{1} << (3 + random() % 17));
    check_passes(random, random_sums(random, words, i % 5), items, low, 1 + i % 9, 1 + i % 4, std::to_string(i));
    if (HasFailure()) return;
  }
}

TEST(SubsetSumRungs, PassesOfManyThreads) {
  // Far more threads than cores: every work unit has adjacent ones whose threads wait without a core.
  std::mt19937_64 random(24);
  int most = 0;
  for (const std::int64_t largest : {1, 63, 64, 700, 20000, 200000}) {
    const std::int64_t words = 2 * 64 * 4096 + static_cast<std::int64_t>(random() % 3000);
    for (const int threads : tests::kSanitized ? std::vector{9} : std::vector{9, 64}) {
      const Items items = random_items(random, 24, largest);
      const std::string what = "items up to " + std::to_string(largest);
      most = std::max(most, check_passes(random, random_sums(random, words, 0), items, 0, threads, 8, what));
    }
  }
  EXPECT_EQ(most, tests::kSanitized ? 9 : 64);
}

TEST(SubsetSumRungs, PassesOverManyFullTiles) {
  // Every other tile is full, or nearly all are: the threads share the remaining tiles, in runs of one tile or a few.
  std::mt19937_64 random(25);
  for (int i = 0; i < (tests::kSanitized ? 4 : 40); ++i) {
    const std::int64_t words = 100000 + static_cast<std::int64_t>(random() % 100000);
    Words sums = random_sums(random, words, i % 2 == 0 ? 300 : 0);
    for (std::int64_t w = 0; w < words; ++w) {
      if (i % 2 == 1 && w / 1024 % 2 == 0) sums[static_cast<std::size_t>(w)] = ~std::uint64_t{0};
    }
    const Items items = random_items(random, 20, std::int64_t{1} << (3 + random() % 18));
    check_passes(random, sums, items, 0, 2 + i % 8, 1 + i % 3, std::to_string(i));
    if (HasFailure()) return;
  }
}

TEST(SubsetSumRungs, PassesOfItemsLongerThanASlice) {
  // Items up to a bitmap's length: then there is one work unit. With items of a quarter of it, there are at most two,
  // and each copies half of a work unit.
  std::mt19937_64 random(26);
  for (const std::int64_t words : {20000, 40000, 70000}) {
    for (const std::int64_t part : {1, 2, 3, 4, 5, 9, 20}) {
      for (const std::int64_t more : {-64, -1, 0, 1, 64}) {
        const Items items{1 + words * 64 / part / 2, std::max<std::int64_t>(words * 64 / part + more - 65, 1)};
        const int slices = check_passes(random, random_sums(random, words, 1), items, 0, 9, 2, std::to_string(part));
        EXPECT_LE(slices, std::max<std::int64_t>(part, 1));
        if (HasFailure()) return;
      }
    }
  }
}

TEST(SubsetSumRungs, PassesGoTogetherWhereNothingFillsUp) {
  const std::int64_t words = 100000;
  Words sums(static_cast<std::size_t>(words));
  Wavefront wavefront(sums.data(), words, 1000, Isa::best, 2);
  const Items items{64, 640};
  const Wavefront::Pass pass{items.data(), 2, 0, words};
  const Wavefront::Pass low{items.data(), 2, 0, words / 2};
  EXPECT_TRUE(wavefront.goes_with({pass}, pass));
  EXPECT_FALSE(wavefront.goes_with(std::vector(16, pass), pass));
  EXPECT_FALSE(wavefront.goes_with({low}, pass)) << "the sums reach twice as high";
  EXPECT_FALSE(wavefront.goes_with({{items.data(), 2, 0, std::int64_t{1} << 40}}, pass)) << "seconds";
  std::fill_n(sums.begin(), 2048, ~std::uint64_t{0});
  wavefront.run({pass});  // finds that one tile is full
  EXPECT_FALSE(wavefront.goes_with({pass}, pass));
  wavefront.run({pass});  // no further tile is full
  EXPECT_TRUE(wavefront.goes_with({pass}, pass));
  EXPECT_FALSE(Wavefront(sums.data(), words, 1000, Isa::best, 1).goes_with({pass}, pass)) << "only one thread";
}

TEST(SubsetSumRungs, ThreadsShareTheWordsThatAreNotFull) {
  // The number of work units follows the number of open words, wherever these are. A pass finds out which tiles are
  // full.
  const std::int64_t words = 256 * 1024;
  const Items items{500};
  const Wavefront::Pass pass{items.data(), 1, 0, words};
  for (const std::int64_t open : {256, 64, 32, 4, 1}) {
    Words sums(static_cast<std::size_t>(words), ~std::uint64_t{0});
    for (std::int64_t w = 0; w < open * 1024; ++w) {
      sums[static_cast<std::size_t>((w / 2048 * (256 / open) * 2048 + w % 2048) % words)] = 0;
    }
    Wavefront wavefront(sums.data(), words, 1000, Isa::best, 64);
    EXPECT_EQ(wavefront.begin({pass}, 64), 64);
    wavefront.run({pass});
    EXPECT_EQ(wavefront.begin({pass}, 64), std::max<std::int64_t>(open / 4, 1)) << open << " tiles";
  }
}

TEST(SubsetSumRungs, OpenRunsAreTheTilesThatAreNotFull) {
  std::mt19937_64 random(27);
  for (int i = 0; i < 50; ++i) {
    const auto words = static_cast<std::int64_t>(random() % 40000);
    std::vector<std::uint8_t> is_full(static_cast<std::size_t>(words / impl::subset_sum::kTile + 1));
    impl::subset_sum::OpenRuns open(words);
    for (int step = 0; step < 4; ++step) {
      for (auto& full : is_full) full |= static_cast<std::uint8_t>(random() % 3 == 0 ? 1 : 0);
      open.remove([&](std::int64_t tile) { return is_full[static_cast<std::size_t>(tile)] != 0; });
      const auto is_open = [&](std::int64_t w) {
        return is_full[static_cast<std::size_t>(w / impl::subset_sum::kTile)] == 0;
      };
      const auto first = static_cast<std::int64_t>(random() % 20000);
      const auto last = std::min(words, first + static_cast<std::int64_t>(random() % 20000));
      std::int64_t next = last;  // all words from here on have been seen, if they are open
      std::int64_t count = 0;
      open.for_each_down(first, last, [&](std::int64_t begin, std::int64_t end) {
        ASSERT_TRUE(first <= begin && begin < end && end <= next);
        for (; next > end; --next) ASSERT_FALSE(is_open(next - 1)) << next - 1;
        ASSERT_EQ(open.end_below(next), end);
        for (; next > begin; --next) ASSERT_TRUE(is_open(next - 1)) << next - 1;
        count += end - begin;
      });
      for (; next > first; --next) ASSERT_FALSE(is_open(next - 1)) << next - 1;
      ASSERT_EQ(open.count(first, last), count);
    }
    open.remove([](std::int64_t) { return true; });
    EXPECT_EQ(open.end_below(words), 0);
    EXPECT_EQ(open.count(0, words), 0);
  }
}

TEST(SubsetSumRungs, AWorkerGroupIsTheThreadsThatJoinedInTime) {
  using impl::subset_sum::WorkerGroup;
  constexpr std::chrono::microseconds kForever{60'000'000};
  for (const int most : {1, 2, 9}) {
    WorkerGroup group(most, kForever);
    std::atomic<int> begun{0};
    std::vector<int> ids(static_cast<std::size_t>(most));
    std::vector<std::thread> threads;
    threads.reserve(ids.size());
    for (int& id : ids) {
      threads.emplace_back([&] {
        id = group.join([&](int size) { begun = size; });
        EXPECT_EQ(begun, most) << "no thread may begin before all have joined";
      });
    }
    for (auto& thread : threads) thread.join();
    std::sort(ids.begin(), ids.end());
    for (int id = 0; id < most; ++id) EXPECT_EQ(ids[static_cast<std::size_t>(id)], id);
    EXPECT_EQ(group.join([](int) { FAIL() << "the group has already begun"; }), WorkerGroup::kLate);
  }
  // If no other thread arrives, one thread begins by itself.
  WorkerGroup alone(64, std::chrono::microseconds{1000});
  int size = 0;
  EXPECT_EQ(alone.join([&](int come) { size = come; }), 0);
  EXPECT_EQ(size, 1);
  EXPECT_EQ(alone.join([](int) {}), WorkerGroup::kLate);
}

TEST(SubsetSumRungs, AnyNumberOfThreadsFillsAndFindsTheSame) {
  // Random items fill most of the bitmap. Even ones fill no tile, so several passes run together. The last case has
  // both kinds. Copies are kept on the way, with and without an early stop: passes that run together end where a copy
  // is due.
  std::mt19937_64 random(28);
  const std::int64_t largest = tests::kSanitized ? 20000 : 200000;
  for (const std::int64_t unit : {1, 2, 3}) {
    Items items = random_items(random, 200, largest / unit);
    for (auto& item : items) item *= unit;
    if (unit == 3) items[17] += 1;
    const std::int64_t limit = total(items) / 3;
    Words expected(static_cast<std::size_t>(limit / 64 + 1));
    (void)reachable_sums(seq.with_rung("cpu.bits"), items.data(), std::ssize(items), limit, expected.data());
    const std::int64_t target = items[17] + items[3] + items[5] + limit / unit / 2 * unit;
    SubsetSum first[2];
    for (const int threads : tests::kSanitized ? std::vector{1, 2, 64} : std::vector{1, 2, 3, 9, 64}) {
      const Policy policy = par.with_rung("cpu.bits_simd").with_threads(threads);
      Words sums(expected.size());
      (void)reachable_sums(policy, items.data(), std::ssize(items), limit, sums.data());
      EXPECT_TRUE(sums == expected) << threads << " threads, unit " << unit;
      for (const bool early_stop : {false, true}) {
        const SubsetSum answer = find_subset(policy, items, target, {.reduce = false, .early_stop = early_stop});
        SubsetSum& same = first[early_stop ? 1 : 0];
        if (threads == 1) same = answer;
        EXPECT_EQ(answer.sum, same.sum) << threads;
        EXPECT_EQ(answer.indices, same.indices) << threads << " threads, unit " << unit;
      }
    }
  }
}

TEST(SubsetSumRungs, FillRandomInstances) {
  std::mt19937_64 random(3);
  for (int i = 0; i < (tests::kSanitized ? 30 : 300); ++i) {
    const auto n = static_cast<std::int64_t>(random() % 17);
    const auto largest = 1 + static_cast<std::int64_t>(random() % (i % 2 == 0 ? 30 : 3000));
    check_fills(random_items(random, n, largest), static_cast<std::int64_t>(random() % 5000));
  }
}

TEST(SubsetSumRungs, EveryColumnOfTheDocumentsInstance) {
  // The bitmap of the first j items is column j of the document's table.
  if (tests::kSanitized) GTEST_SKIP() << "takes minutes under sanitizers, with the same accesses as other tests";
  const Items all = document_items();
  constexpr std::int64_t kLimit = 25000000;
  std::vector<std::uint64_t> table(kLimit / 64 + 1);
  std::vector<std::uint64_t> other(table.size());
  for (std::size_t j = 1; j <= all.size(); ++j) {
    const Items items(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(j));
    (void)reachable_sums(seq.with_rung("cpu.table"), items.data(), std::ssize(items), kLimit, table.data());
    std::set<std::int64_t> power_set{0};
    for (const std::int64_t item : items) {
      std::set<std::int64_t> with = power_set;
      for (const std::int64_t sum : power_set) with.insert(sum + item);
      power_set.swap(with);
    }
    std::int64_t bits = 0;
    for (const std::uint64_t word : table) bits += __builtin_popcountll(word);
    EXPECT_EQ(bits, std::count_if(power_set.begin(), power_set.end(), [&](std::int64_t s) { return s <= kLimit; }));
    for (const std::int64_t sum : power_set) {
      if (sum > kLimit) continue;
      EXPECT_EQ(table[static_cast<std::size_t>(sum / 64)] >> (sum % 64) & 1, 1U) << sum;
    }
    for (const auto& rung : tests::cpu_rungs("subset-sum")) {
      if (!fills(rung)) continue;
      std::fill(other.begin(), other.end(), ~std::uint64_t{0});
      (void)reachable_sums(par.with_rung(rung.id), items.data(), std::ssize(items), kLimit, other.data());
      EXPECT_EQ(other == table, true) << rung.id << " column " << j;
    }
  }
}

// ----------------------------------------------------------------------------------------------------------- decisions

/// Returns the nearest reachable sum in target - below … target + above, the lower one of two; -1 if there is none.
std::int64_t expected_nearest(const Sums& sums, std::int64_t target, std::int64_t below, std::int64_t above) {
  for (std::int64_t distance = 0; distance <= std::max(target, std::ssize(sums)); ++distance) {
    const auto has = [&](std::int64_t sum) {
      return sum >= 0 && sum < std::ssize(sums) && sums[static_cast<std::size_t>(sum)] != 0;
    };
    if (distance <= below && has(target - distance)) return target - distance;
    if (distance <= above && has(target + distance)) return target + distance;
  }
  return -1;
}

/// Checks the answer, and adds up its items again.
void check_answer(const SubsetSum& answer, const Items& items, std::int64_t expected, const std::string& what) {
  ASSERT_EQ(answer.reachable, expected >= 0) << what;
  if (expected < 0) {
    EXPECT_TRUE(answer.indices.empty()) << what;
    return;
  }
  ASSERT_EQ(answer.sum, expected) << what;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < answer.indices.size(); ++i) {
    ASSERT_TRUE(i == 0 || answer.indices[i - 1] < answer.indices[i]) << what << ": not ascending, or one twice";
    ASSERT_TRUE(answer.indices[i] >= 0 && answer.indices[i] < std::ssize(items)) << what;
    sum += items[static_cast<std::size_t>(answer.indices[i])];
  }
  EXPECT_EQ(sum, expected) << what;
}

struct Question {
  std::int64_t target;
  std::int64_t below;
  std::int64_t above;
};

/// Checks every rung, and the API's choice, with all options.
void check_decisions(const Items& items, const Question& question) {
  const auto sums = expected_sums(items, total(items));
  const std::int64_t expected = expected_nearest(sums, question.target, question.below, question.above);
  const bool exact = question.below == 0 && question.above == 0;
  std::vector<std::string> rungs{""};
  for (const auto& rung : tests::cpu_rungs("subset-sum")) {
    if (!is_unsupported(rung, items) && (exact || rung.id != "cpu.schroeppel_shamir")) rungs.emplace_back(rung.id);
  }
  for (const auto& rung : rungs) {
    for (int options = 0; options < 8; ++options) {
      SubsetSumOptions how{.witness = (options & 1) != 0, .below = question.below, .above = question.above};
      how.reduce = (options & 2) != 0;
      how.early_stop = (options & 4) != 0;
      const SubsetSum answer = find_subset(par.with_rung(rung).with_threads(2), items, question.target, how);
      const std::string what = rung + " chose " + std::string(answer.rung) + ", target " +
                               std::to_string(question.target) + " -" + std::to_string(question.below) + " +" +
                               std::to_string(question.above) + " options " + std::to_string(options) + " items " +
                               testing::PrintToString(items);
      ASSERT_TRUE(answer.rung == "none" || rung.empty() || answer.rung == rung) << what;
      if (how.witness) {
        check_answer(answer, items, expected, what);
      } else {
        ASSERT_EQ(answer.reachable, expected >= 0) << what;
        EXPECT_TRUE(answer.indices.empty()) << what;
        EXPECT_EQ(answer.sum, std::max<std::int64_t>(expected, 0)) << what;
      }
    }
  }
}

void check_decisions(const Items& items, std::int64_t target) { check_decisions(items, {target, 0, 0}); }

TEST(SubsetSum, EveryTargetOfSmallSets) {
  // As verified in "Notes on GPU Programming with Julia" (E. Aubanel 2021): every sum of the power set is reached, and
  // no other sum.
  std::mt19937_64 random(4);
  for (const Items& items : {Items{}, Items{5}, Items{2, 6, 8, 19}, Items{3, 3, 3, 3, 3}, Items{2, 4, 8, 6, 10},
                             Items{1, 2, 4, 8}, Items{7, 7, 14, 1}, random_items(random, 6, 9)}) {
    for (std::int64_t target = 0; target <= total(items) + 2; ++target) check_decisions(items, target);
  }
}

TEST(SubsetSum, TenItemsUpToAHundred) {
  std::mt19937_64 random(5);
  const Items items = random_items(random, 10, 100);
  const auto sums = expected_sums(items, total(items));
  for (std::int64_t target = 0; target <= total(items); ++target) {
    for (const auto& rung : tests::cpu_rungs("subset-sum")) {
      const SubsetSum answer = find_subset(par.with_rung(rung.id), items, target);
      check_answer(answer, items, sums[static_cast<std::size_t>(target)] != 0 ? target : -1, std::string(rung.id));
    }
  }
}

TEST(SubsetSum, RandomInstancesOfEveryKind) {
  std::mt19937_64 random(6);
  for (int i = 0; i < (tests::kSanitized ? 60 : 1500); ++i) {
    const auto n = static_cast<std::int64_t>(random() % 15);
    const std::int64_t kinds[] = {3, 20, 300, 5000};  // many equal, dense, in between, sparse
    Items items = random_items(random, n, kinds[random() % 4]);
    if (i % 7 == 0) {
      for (auto& item : items) item *= 6;  // a divisor
    }
    if (i % 11 == 0 && !items.empty()) items[0] = 100000;  // one huge item
    const auto target = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(total(items) + 3));
    check_decisions(items, target);
  }
}

TEST(SubsetSum, NearestSums) {
  std::mt19937_64 random(7);
  for (int i = 0; i < (tests::kSanitized ? 40 : 600); ++i) {
    Items items = random_items(random, static_cast<std::int64_t>(random() % 12), i % 2 == 0 ? 500 : 40);
    if (i % 5 == 0) {
      for (auto& item : items) item *= 10;
    }
    const auto target = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(total(items) + 200));
    const auto width = static_cast<std::int64_t>(random() % 60);
    check_decisions(items, {target, target, 0});                                    // the largest up to the target
    check_decisions(items, {target, std::min(target, width), width});               // within a tolerance
    check_decisions(items, {target, 0, std::numeric_limits<std::int64_t>::max()});  // the smallest from the target on
  }
}

TEST(SubsetSum, ManyItems) {
  // Instances too large to enumerate: bitmaps are compared with each other, dense and with many equal items.
  std::mt19937_64 random(8);
  for (const std::int64_t largest : tests::kSanitized ? std::vector{5, 60, 300} : std::vector{5, 1000, 20000}) {
    const Items items = random_items(random, 300, largest);
    for (const std::int64_t target : {total(items) / 3, total(items) / 2 + 1, total(items) - 1, total(items)}) {
      const auto sums = expected_sums(items, target);
      const std::int64_t expected = sums[static_cast<std::size_t>(target)] != 0 ? target : -1;
      for (const std::string rung : {"", "cpu.bits", "cpu.bits_simd", "cpu.threads"}) {
        check_answer(find_subset(par.with_rung(rung), items, target), items, expected, rung);
      }
    }
  }
}

TEST(SubsetSum, HugeItemsByLists) {
  // 30 items of 57 bits: rungs that list sums, and those that use remainders, agree, also on several threads.
  std::mt19937_64 random(9);
  for (int i = 0; i < (tests::kSanitized ? 1 : 10); ++i) {
    const Items items = random_items(random, 30, std::int64_t{1} << 57);
    std::int64_t target = 0;
    for (const std::int64_t item : items) target += random() % 2 == 0 ? item : 0;
    for (const std::string rung : {"", "cpu.meet_in_the_middle", "cpu.schroeppel_shamir"}) {
      for (const int threads : {1, 3}) {
        const Policy policy = par.with_rung(rung).with_threads(threads);
        check_answer(find_subset(policy, items, target), items, target, rung);
        EXPECT_FALSE(find_subset(policy, items, target + 1)) << rung;
        const SubsetSum again = find_subset(policy, items, target);
        EXPECT_EQ(again.indices, find_subset(policy.with_threads(2), items, target).indices) << rung;
      }
    }
  }
}

TEST(SubsetSum, ItemsOfADecisionThatComesLate) {
  // Multiples of six and a few other items, which must all be in the answer. Bitmaps are kept on the way, and the items
  // of the answer are found from one bitmap to the next.
  std::mt19937_64 random(19);
  const std::int64_t n = tests::kSanitized ? 200 : 700;
  for (int i = 0; i < (tests::kSanitized ? 3 : 12); ++i) {
    Items items = random_items(random, n, i % 2 == 0 ? 400 : 6000);
    for (auto& item : items) item *= 6;
    for (int other = 0; other < 2; ++other) items[random() % items.size()] += 1;
    const std::int64_t target = total(items) / (i % 3 + 2) / 6 * 6 + 2;
    for (const bool early_stop : {true, false}) {
      for (const std::int64_t below : {std::int64_t{0}, std::int64_t{3}}) {
        const SubsetSumOptions options{.below = below, .early_stop = early_stop};
        const SubsetSum answer = find_subset(par.with_rung("cpu.bits_simd"), items, target, options);
        check_answer(answer, items, target, "late");
        EXPECT_FALSE(find_subset(par.with_rung("cpu.bits_simd"), items, target + 1, {.early_stop = early_stop}));
      }
    }
  }
}

TEST(SubsetSum, WithoutEarlyStopAllOfTheWorkIsDone) {
  std::mt19937_64 random(20);
  const auto check = [](const std::string& rung, const Items& items) {
    double reported = 0;
    SubsetSumOptions options{.witness = false, .reduce = false};
    options.progress = [&](double done) {
      reported = done;
      return true;
    };
    EXPECT_TRUE(find_subset(seq.with_rung(rung), items, total(items) / 8, options));
    EXPECT_LT(reported, 0.5) << rung;
    options.early_stop = false;
    EXPECT_TRUE(find_subset(seq.with_rung(rung), items, total(items) / 8, options));
    EXPECT_GT(reported, 0.9) << rung;
  };
  check("cpu.schroeppel_shamir", random_items(random, 40, std::int64_t{1} << 16));
  check("cpu.bits_simd", random_items(random, 200, 1000));
}

TEST(SubsetSum, SameAnswerForAnyNumberOfThreads) {
  std::mt19937_64 random(14);
  for (int i = 0; i < (tests::kSanitized ? 20 : 300); ++i) {
    const auto n = 5 + static_cast<std::int64_t>(random() % 60);
    const Items items = random_items(random, n, std::int64_t{1} << (4 + random() % 18));
    const auto target = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(total(items)));
    for (const std::string rung : {"", "cpu.bits_simd"}) {
      const SubsetSum one = find_subset(seq.with_rung(rung), items, target);
      for (const int threads : {2, 5}) {
        const SubsetSum several = find_subset(par.with_rung(rung).with_threads(threads), items, target);
        EXPECT_EQ(several.indices, one.indices) << rung << " chose " << one.rung;
        EXPECT_EQ(several.rung, one.rung);
      }
    }
  }
}

TEST(SubsetSum, ManySolutionsAreFoundSoon) {
  // A complete search would take seconds to hours for each of them, or more memory than there is.
  std::mt19937_64 random(15);
  struct Instance {
    std::int64_t n;
    std::int64_t largest;
    std::int64_t share;  // the target is the sum of all items divided by this
  };
  for (const auto& [n, largest, share] : {Instance{60, std::int64_t{1} << 30, 3}, Instance{1000, 10000000, 5},
                                          Instance{100000, 1000000000, 7}, Instance{400, std::int64_t{1} << 34, 2}}) {
    const Items items = random_items(random, n, largest);
    const std::int64_t target = total(items) / share;
    check_answer(find_subset(par, items, target), items, target, std::to_string(n));
    EXPECT_TRUE(find_subset(par, items, target, {.witness = false}));
    check_answer(find_subset(par, items, target, {.below = target}), items, target, "closest " + std::to_string(n));
  }
}

TEST(SubsetSum, ToleranceFarBelowTheItemsUnit) {
  // All items are multiples of 10^8, so 750 GB of bitmap are not needed to decide that no sum is within 1.
  std::mt19937_64 random(16);
  Items items = random_items(random, 300, 20000);
  for (auto& item : items) item *= 100000000;
  const std::int64_t target = total(items) / 200000000 * 100000000;
  check_answer(find_subset(par, items, target + 1, {.below = 1, .above = 1}), items, target, "within 1");
  EXPECT_FALSE(find_subset(par, items, target + 3, {.below = 1, .above = 1}));
  check_answer(find_subset(par, items, std::numeric_limits<std::int64_t>::max(),
                           {.below = std::numeric_limits<std::int64_t>::max()}),
               items, total(items), "closest to more than all");
}

TEST(SubsetSum, ItemsThatAreMultiplesOfTheFirstModulus) {
  // By remainders, all sums except one would be in one class: 2^20 pairs at once instead of 2^10.
  Items items(40, 1031);
  for (std::size_t i = 0; i < items.size(); ++i) items[i] *= static_cast<std::int64_t>(1 + i * i * i * 7919);
  items[7] += 1;
  const std::int64_t target = items[0] + items[7] + items[21] + items[33];
  check_answer(find_subset(par.with_rung("cpu.schroeppel_shamir"), items, target, {.reduce = false}), items, target,
               "");
}

// ----------------------------------------------------------------------------------------------------------- solutions

TEST(SubsetSums, AreAllInOrder) {
  std::mt19937_64 random(10);
  for (int i = 0; i < 300; ++i) {
    const auto n = static_cast<std::int64_t>(random() % 11);
    Items items = random_items(random, n, i % 3 == 0 ? 4 : 30);
    if (i % 4 == 0) {
      for (auto& item : items) item *= 64;
    }
    const auto target = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(total(items) + 2));
    std::vector<Items> expected;
    for (std::uint32_t subset = 0; subset < 1U << n; ++subset) {
      Items positions;
      std::int64_t sum = 0;
      for (std::int64_t j = 0; j < n; ++j) {
        if ((subset >> j & 1) == 0) continue;
        positions.push_back(j);
        sum += items[static_cast<std::size_t>(j)];
      }
      if (sum == target) expected.push_back(positions);
    }
    std::sort(expected.begin(), expected.end());
    std::vector<Items> first_three = expected;
    first_three.resize(std::min<std::size_t>(3, expected.size()));
    for (const std::string rung : {"", "cpu.bits_simd", "cpu.meet_in_the_middle"}) {
      const Policy policy = par.with_rung(rung);
      EXPECT_EQ(find_subsets(policy, items, target, 1 << 20).found, expected) << rung << " target " << target;
      EXPECT_EQ(find_subsets(policy, items, target, 3).found, first_three) << rung << " target " << target;
    }
  }
}

TEST(SubsetSums, NoneIsFoundAsSoonAsByOneSearch) {
  // Enumerating 2^22 choices of half of the items would take a thousand times as long.
  std::mt19937_64 random(21);
  const Items items = random_items(random, 44, std::int64_t{1} << 57);
  const auto none = find_subsets(par, items, total(items) / 3, 2);
  EXPECT_TRUE(none.found.empty());
  std::int64_t some = 0;
  for (std::size_t i = 0; i < items.size(); i += 3) some += items[i];
  EXPECT_EQ(find_subset(par, items, some).indices, find_subsets(par.with_threads(1), items, some, 1).found.at(0));
}

TEST(SubsetSums, OfManyItems) {
  const Items ones(3000, 1);
  const auto first = find_subsets(par, ones, 2000, 3);
  ASSERT_EQ(first.found.size(), 3U);
  EXPECT_EQ(first.found[0].back(), 1999);
  EXPECT_EQ(first.found[1].back(), 2000);
  EXPECT_EQ(first.found[2].back(), 2001);
  EXPECT_TRUE(find_subsets(par, ones, 3001, 1).found.empty());
}

// ----------------------------------------------------------------------------------------------------------------- API

TEST(SubsetSumApi, ChoosesByCost) {
  EXPECT_EQ(find_subset(par, document_items(), 25000000, {.witness = false}).rung, "cpu.enumerate");
  std::mt19937_64 random(11);
  EXPECT_EQ(plan_subset(par, random_items(random, 1000, 1000), 100001).rung, "cpu.bits_simd");
  EXPECT_EQ(plan_subset(par, random_items(random, 50, std::int64_t{1} << 57), std::int64_t{1} << 58).rung,
            "cpu.schroeppel_shamir");
  const SubsetSumOptions closest{.below = std::int64_t{1} << 50};
  EXPECT_EQ(plan_subset(par, random_items(random, 30, std::int64_t{1} << 50), std::int64_t{1} << 50, closest).rung,
            "cpu.meet_in_the_middle");
  EXPECT_EQ(plan_subset(par, Items{3, 5}, 8).rung, "none");
}

TEST(SubsetSumApi, PlanTellsTheReductions) {
  const SubsetSumPlan plan = plan_subset(par, Items{30, 30, 30, 60, 90, 5000, 30}, 210);
  EXPECT_EQ(plan.divisor, 30);
  EXPECT_TRUE(plan.complement);  // 270 - 210 = 60
  EXPECT_EQ(plan.target, 2);
  EXPECT_FALSE(plan.steps.empty());
  EXPECT_FALSE(plan.ways.empty());
  for (const auto& way : plan.ways) EXPECT_TRUE(way.seconds > 0 && way.bytes > 0) << way.rung;
}

TEST(SubsetSumApi, PlanTellsWhatIsTriedFirst) {
  std::mt19937_64 random(22);
  const Items items = random_items(random, 1000, 10000000);
  const SubsetSumPlan plan = plan_subset(par, items, 1000000000);
  EXPECT_TRUE(plan.tries_likely);
  EXPECT_FALSE(plan_subset(par, items, 1000000000, {.early_stop = false}).tries_likely);
  EXPECT_FALSE(plan_subset(par.with_rung("cpu.bits_simd"), items, 1000000000).tries_likely);
  EXPECT_FALSE(plan_subset(par, document_items(), 25000000).tries_likely);
  // If the caller names a rung that is never chosen, its costs are still reported.
  const SubsetSumPlan named = plan_subset(par.with_rung("cpu.columns"), items, 100000);
  EXPECT_EQ(named.rung, "cpu.columns");
  EXPECT_EQ(named.ways.back().rung, "cpu.columns");
}

TEST(SubsetSumApi, PlanOfAListIsWhatItTakes) {
  std::mt19937_64 random(23);
  for (const auto& [n, largest] : {std::pair{40, 1000}, std::pair{30, 1000000000}, std::pair{300, 50}}) {
    const Items items = random_items(random, n, largest);
    const std::int64_t target = items[1] + items[2] + items[5];
    const SubsetSumPlan plan = plan_subsets(par, items, target);
    EXPECT_EQ(plan.ways.size(), 2U);
    EXPECT_EQ(find_subsets(par, items, target, 1).rung, plan.rung);
  }
  EXPECT_EQ(plan_subsets(par, Items{1, 2}, 3).rung, "none");
}

TEST(SubsetSumApi, SaysWhatIsWrong) {
  const auto solve = [](const Items& items, std::int64_t target) { (void)find_subset(par, items, target); };
  const auto most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(code_of([&] { solve({3, 0, 2}, 5); }, 1), Code::not_positive);
  EXPECT_EQ(code_of([&] { solve({3, 2, -7}, 5); }, 2), Code::not_positive);
  EXPECT_EQ(code_of([&] { solve({1}, -1); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { solve({most, 1, most}, most); }, 1), Code::overflow);
  EXPECT_EQ(code_of([&] { (void)find_subset(par, nullptr, 3, 5); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)find_subset(par, Items{1}, 1, {.below = -1}); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)find_subset(par.with_rung("cpu.quick"), Items{1, 2}, 1); }), Code::unknown_rung);
  EXPECT_EQ(code_of([&] { (void)find_subset(par.with_rung("cpu.quick"), Items{}, 0); }), Code::unknown_rung);
  EXPECT_EQ(code_of([&] { (void)find_subset(par.with_rung("cuda.bits"), Items{1, 2}, 1); }), tests::code_of_gpu_rung());
  EXPECT_EQ(code_of([&] { (void)find_subset(par.with_threads(-1), Items{1}, 1); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)find_subsets(par, Items{1}, 1, 0); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)find_subsets(par.with_rung("cpu.bits"), Items{1}, 1, 1); }), Code::unsupported);
  EXPECT_EQ(code_of([&] { (void)find_subsets(par, Items{1, 0}, 1, 1); }, 1), Code::not_positive);
  const Policy by_halves = par.with_rung("cpu.meet_in_the_middle");
  EXPECT_EQ(code_of([&] { (void)find_subsets(by_halves, Items(61, 3), 6, 1); }), Code::unsupported);
  std::uint64_t word = 0;
  EXPECT_EQ(code_of([&] { (void)reachable_sums(par, Items{1}.data(), 1, -1, &word); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)reachable_sums(par, Items{1}.data(), 1, 5, nullptr); }), Code::invalid_argument);
  const Items bad{4, -1};
  EXPECT_EQ(code_of([&] { (void)reachable_sums(par, bad.data(), 2, 5, &word); }, 1), Code::not_positive);
  const Policy by_lists = par.with_rung("cpu.schroeppel_shamir");
  EXPECT_EQ(code_of([&] { (void)reachable_sums(by_lists, Items{1}.data(), 1, 5, &word); }), Code::unsupported);
  EXPECT_EQ(code_of([&] { (void)find_subset(by_lists, Items{1, 5, 3}, 6, {.below = 6}); }), Code::unsupported);
}

TEST(SubsetSumApi, SaysWhatMemoryWouldBeNeeded) {
  // 400 items of 50 bits: neither lists nor a bitmap of 2^57 bits.
  std::mt19937_64 random(12);
  const Items items = random_items(random, 400, std::int64_t{1} << 50);
  const std::int64_t target = total(items) / 2;
  try {
    (void)find_subset(par, items, target);
    FAIL() << "the allocation succeeded";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::out_of_memory);
    EXPECT_NE(std::string(error.what()).find("PB"), std::string::npos) << error.what();
  }
  EXPECT_EQ(code_of([&] { (void)find_subset(par.with_rung("cpu.table"), items, target); }), Code::out_of_memory);
  EXPECT_EQ(code_of([&] { (void)find_subsets(par, items, target, 1); }), Code::out_of_memory);
  // Answers that need no search need no memory.
  EXPECT_EQ(find_subsets(par, items, total(items), 2).found.size(), 1U);
  EXPECT_EQ(find_subsets(par, items, 0, 2).found, std::vector<Items>{{}});
  EXPECT_TRUE(find_subsets(par, items, total(items) + 1, 2).found.empty());
  std::uint64_t word = 0;
  const Items few{1, 2};
  EXPECT_EQ(
      code_of([&] { (void)reachable_sums(par.with_rung("cpu.table"), few.data(), 2, std::int64_t{1} << 62, &word); }),
      Code::out_of_memory);
  EXPECT_TRUE(plan_subset(par, items, target).rung.empty());
}

TEST(SubsetSumApi, TellsItsProgressAndStops) {
  std::mt19937_64 random(13);
  const Items items = random_items(random, tests::kSanitized ? 40 : 200, 20000);
  const Items few = random_items(random, 36, std::int64_t{1} << 50);
  const auto run = [&](const Items& some, std::int64_t target, const Policy& policy, double stop_at) {
    double last = 0;
    SubsetSumOptions options{.early_stop = false};
    options.progress = [&](double done) {
      EXPECT_GE(done, last);
      EXPECT_LE(done, 1.0);
      last = done;
      return done < stop_at;
    };
    const Code code = code_of([&] { (void)find_subset(policy, some, target, options); });
    EXPECT_GT(last, 0) << policy.rung;
    return code;
  };
  for (const std::string rung : {"cpu.table", "cpu.columns", "cpu.threads", "cpu.bits", "cpu.bits_simd"}) {
    EXPECT_EQ(run(items, total(items) / 2, par.with_rung(rung), 2), Code::ok) << rung;
    EXPECT_EQ(run(items, total(items) / 2, par.with_rung(rung), 0.2), Code::interrupted) << rung;
  }
  for (const std::string rung : {"cpu.meet_in_the_middle", "cpu.schroeppel_shamir"}) {
    EXPECT_EQ(run(few, total(few) / 2, par.with_rung(rung), 2), Code::ok) << rung;
    EXPECT_EQ(run(few, total(few) / 2, par.with_rung(rung), 0.2), Code::interrupted) << rung;
  }
}

TEST(SubsetSumApi, ListsAtLeastOneSolutionBeforeItLooksAtItems) {
  const Items bad{-1};
  EXPECT_EQ(code_of([&] { (void)find_subsets(par, bad, 5, 0); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)find_subsets(par, bad, 5, 1); }, 0), Code::not_positive);
}

TEST(SubsetSumApi, PassesOnWhatItsProgressThrows) {
  std::mt19937_64 random(17);
  const Items items = random_items(random, 36, std::int64_t{1} << 40);
  const Items ones(60, 1);
  const detail::SearchProgress throws = [](double) -> bool { throw std::runtime_error("enough"); };
  for (const std::string rung : {"", "cpu.meet_in_the_middle", "cpu.schroeppel_shamir"}) {
    SubsetSumOptions options;
    options.progress = throws;
    EXPECT_THROW((void)find_subset(par.with_rung(rung), items, total(items) / 2 + 1, options), std::runtime_error);
  }
  EXPECT_THROW((void)find_subsets(par, ones, 30, 5, throws), std::runtime_error);
  // If there are very many solutions, the first are reported, and then the search stops.
  int reports = 0;
  const detail::SearchProgress stops = [&](double) { return ++reports < 20; };
  EXPECT_EQ(code_of([&] { (void)find_subsets(par, ones, 30, std::int64_t{1} << 40, stops); }), Code::interrupted);
}

}  // namespace
}  // namespace upsweep
