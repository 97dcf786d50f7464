// SPDX-License-Identifier: Apache-2.0
// tests/cuda_subset_sum_test.cpp: every CUDA rung of the subset sum ladder is compared with a plain bitmap or brute
// force. The answers of find_subset and plan_subset on a GPU are also checked.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "device_array.hpp"
#include "rungs.hpp"
#include "upsweep/subset_sum.hpp"

namespace upsweep {
namespace {

using tests::code_of;
using tests::DeviceArray;
using tests::GpuTest;
using tests::require;

using Items = std::vector<std::int64_t>;
using Bitmap = std::vector<std::uint64_t>;

constexpr std::string_view kTwoList = "cuda.two_list";
constexpr int kSlicesItems = 20;  // the number of items that cuda.slices supports

// Limits around the ends of one word, of two words (16 bytes) and of many.
constexpr std::int64_t kLimits[] = {0, 1, 2, 62, 63, 64, 65, 127, 128, 129, 191, 192, 4095, 4096, 4097};

/// Rungs that fill a bitmap.
std::vector<RungInfo> filling_rungs() {
  std::vector<RungInfo> rungs = tests::rungs_of("subset-sum", Backend::cuda);
  std::erase_if(rungs, [](const RungInfo& rung) { return rung.id == kTwoList; });
  return rungs;
}

/// Computes the bitmap from the last word down, so that no item is added to a sum that already contains it.
Bitmap reference(const Items& items, std::int64_t limit) {
  Bitmap sums(static_cast<std::size_t>(detail::words_of(limit)));
  sums[0] = 1;
  for (const std::int64_t item : items) {
    if (item > limit) continue;
    const auto words = static_cast<std::size_t>(item / 64);
    const auto bits = static_cast<unsigned>(item % 64);
    for (std::size_t w = sums.size() - 1; w + 1 > words; --w) {
      std::uint64_t shifted = sums[w - words] << bits;
      if (bits != 0 && w > words) shifted |= sums[w - words - 1] >> (64 - bits);
      sums[w] |= shifted;
    }
  }
  if (limit % 64 != 63) sums.back() &= (std::uint64_t{1} << (limit % 64 + 1)) - 1;
  return sums;
}

Items random_items(std::mt19937_64& random, std::int64_t n, std::int64_t most) {
  std::uniform_int_distribution<std::int64_t> draw(1, most);
  Items items(static_cast<std::size_t>(n));
  for (std::int64_t& item : items) item = draw(random);
  return items;
}

/// The instance of "Notes on GPU Programming with Julia" (E. Aubanel 2021): ten items up to 10^7, and a quarter of
/// their maximum sum. Other tests and the benchmark use the same items.
constexpr std::int64_t kDocumentLimit = 25000000;
Items document_items() {
  std::mt19937_64 random(12);
  Items items(10);
  for (std::int64_t& item : items) item = 1 + static_cast<std::int64_t>(random() % 10000000);
  return items;
}

/// Whether the rung supports n items, and this device has enough memory.
bool takes(const RungInfo& rung, std::int64_t n, std::int64_t limit) {
  if (rung.id == "cuda.slices" && n > kSlicesItems) return false;
  const auto policy = gpu::Policy{}.with_rung(rung.id);
  return gpu::reachable_sums_workspace(policy, n, limit).scratch < gpu::devices().front().memory_bytes / 2;
}

void check(const gpu::Policy& policy, const Items& items, std::int64_t limit, const Bitmap& expected,
           std::int64_t misaligned) {
  DeviceArray<std::uint64_t> sums(std::ssize(expected), misaligned);
  EXPECT_EQ(reachable_sums_async(policy, items.data(), std::ssize(items), limit, sums.data()), policy.rung);
  require(cudaDeviceSynchronize());
  EXPECT_TRUE(sums.values() == expected) << policy.rung << " n " << items.size() << " limit " << limit << " misaligned "
                                         << misaligned;
  EXPECT_TRUE(sums.intact()) << policy.rung << " n " << items.size() << " limit " << limit;
}

/// Checks every rung that supports the items. The bitmaps have 16 more bytes in front and between them.
void check_all(const Items& items, std::int64_t limit) {
  const Bitmap expected = reference(items, limit);
  for (const auto& rung : filling_rungs()) {
    if (!takes(rung, std::ssize(items), limit)) continue;
    for (const std::int64_t misaligned : {0, 1}) {
      check(gpu::Policy{}.with_rung(rung.id), items, limit, expected, misaligned);
    }
  }
}

class CudaSubsetSum : public GpuTest {};

TEST_F(CudaSubsetSum, EveryRungFillsWhatTheReferenceDoes) {
  ASSERT_EQ(filling_rungs().size(), 6U);
  for (const std::int64_t limit : kLimits) {
    check_all({}, limit);
    check_all({1}, limit);
    check_all({limit + 1}, limit);
    if (limit > 0) check_all({limit}, limit);
    check_all({limit + 1, 1, limit + 100, 1, 2}, limit);
    check_all(Items(9, 64), limit);
    check_all({64, 128, 192, 256, 512}, limit);
    check_all({63, 65, 31, 33, 127}, limit);
    check_all({1, 2, 4, 8, 16, 32, 64, 128, 256, 512}, limit);
    check_all(Items(20, 1), limit);
    check_all({3, 5}, limit);  // their sum is below most limits
  }
  check_all({INT64_MAX / 2, INT64_MAX / 2, 7}, 100);
}

TEST_F(CudaSubsetSum, RandomInstancesMatchTheReference) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 80; ++i) {
    const auto n = static_cast<std::int64_t>(random() % 24);
    const auto limit = static_cast<std::int64_t>(random() % (i % 5 == 0 ? 300000 : 5000));
    check_all(random_items(random, n, 1 + static_cast<std::int64_t>(random() % static_cast<unsigned>(limit + 10))),
              limit);
  }
}

TEST_F(CudaSubsetSum, ManyItemsFillEveryTile) {
  // Bitmaps that become full, that never become full (even items), and that an odd item completes. There are more items
  // than one launch processes.
  std::mt19937_64 random(2);
  check_all(random_items(random, 500, 2000), 300001);
  check_all(random_items(random, 900, 400), 100000);
  check_all(random_items(random, 1500, 500), 255999);
  check_all(Items(700, 64), 40000);
  Items even = random_items(random, 300, 10000);
  for (std::int64_t& item : even) item *= 2;
  check_all(even, 1000001);
  even.push_back(7);
  check_all(even, 1000000);
}

TEST_F(CudaSubsetSum, EveryColumnOfTheDocumentsTable) {
  const Items all = document_items();
  for (int k = 0; k <= 10; ++k) check_all({all.begin(), all.begin() + k}, kDocumentLimit);
}

TEST_F(CudaSubsetSum, AnyNumberOfSumsPerThread) {
  std::mt19937_64 random(7);
  for (const std::int64_t limit : {0, 1, 63, 64, 1023, 1024, 1025, 2047, 2048, 16383, 16384, 16385, 70001, 300000}) {
    for (const Items& items : {Items{}, Items{limit + 1}, Items{1}, random_items(random, 12, 1 + limit / 3)}) {
      const Bitmap expected = reference(items, limit);
      for (const int per_thread : {1, 2, 3, 4, 8, 16, 1024}) {
        DeviceArray<std::uint64_t> sums(std::ssize(expected), per_thread % 2);
        detail::SubsetSumCall call = detail::fill_call(items.data(), std::ssize(items), limit, sums.data());
        call.per_thread = per_thread;
        (void)detail::run_reachable_sums(gpu::Policy{}.with_rung("cuda.agglomerated"), call);
        require(cudaDeviceSynchronize());
        EXPECT_TRUE(sums.values() == expected) << per_thread << " per thread, limit " << limit << " n " << items.size();
        EXPECT_TRUE(sums.intact()) << per_thread << " per thread, limit " << limit;
      }
    }
  }
}

TEST_F(CudaSubsetSum, LimitsBeyond32Bits) {
  const std::int64_t two_to_32 = std::int64_t{1} << 32;
  check_all({two_to_32 / 2 + 7, two_to_32 - 3, 1000}, two_to_32 + 65);
}

TEST_F(CudaSubsetSum, OneWorkspaceServesCallsOfAnySize) {
  std::mt19937_64 random(3);
  const std::int64_t most = 200000;
  for (const auto& rung : filling_rungs()) {
    auto policy = gpu::Policy{}.with_rung(rung.id);
    gpu::Workspace workspace(gpu::reachable_sums_workspace(policy, 20, most));
    policy = policy.with_workspace(workspace);
    for (const std::int64_t limit : {most, std::int64_t{0}, std::int64_t{70}, most - 1, std::int64_t{3000}}) {
      for (const std::int64_t n : {20, 0, 3}) {
        const Items items = random_items(random, n, 1 + limit / 4);
        check(policy, items, limit, reference(items, limit), n % 2);
      }
    }
  }
}

TEST_F(CudaSubsetSum, AGraphReplaysWithItsOwnItems) {
  const std::int64_t limit = 1000000;
  std::mt19937_64 random(4);
  Items items = random_items(random, 17, 100000);
  const Bitmap expected = reference(items, limit);
  DeviceArray<std::uint64_t> sums(std::ssize(expected), 1);
  const tests::OwnStream stream;
  for (const auto& rung : filling_rungs()) {
    auto policy = gpu::Policy{}.with_stream(stream).with_rung(rung.id);
    gpu::Workspace workspace(gpu::reachable_sums_workspace(policy, std::ssize(items), limit), 0, stream);
    policy = policy.with_workspace(workspace);
    Items captured = items;
    const tests::Replay replay(stream, [&] {
      EXPECT_EQ(reachable_sums_async(policy, captured.data(), std::ssize(captured), limit, sums.data()), rung.id);
    });
    std::fill(captured.begin(), captured.end(), 1);  // the host array is not read any more
    for (int run = 0; run < 20; ++run) {
      replay.launch(sums);
      require(cudaStreamSynchronize(stream));
      ASSERT_TRUE(sums.values() == expected) << rung.id << " run " << run;
    }
    EXPECT_TRUE(sums.intact()) << rung.id;
  }
}

// ------------------------------------------------------------------------------------------------------ the decision

/// Decides the instance as given, without reducing it first.
SubsetSum decide(const Items& items, std::int64_t target) {
  const SubsetSumOptions as_it_is{.reduce = false};
  const auto policy = gpu::Policy{}.with_rung(kTwoList);
  const SubsetSum found = find_subset(policy, items, target, as_it_is);
  if (!found.reachable) return found;
  EXPECT_EQ(found.sum, target);
  EXPECT_TRUE(std::is_sorted(found.indices.begin(), found.indices.end()));
  EXPECT_TRUE(std::adjacent_find(found.indices.begin(), found.indices.end()) == found.indices.end());
  std::int64_t sum = 0;
  for (const std::int64_t index : found.indices) sum += items.at(static_cast<std::size_t>(index));
  EXPECT_EQ(sum, target) << "n " << items.size();
  // A second call returns the same items.
  EXPECT_EQ(find_subset(policy, items, target, as_it_is).indices, found.indices);
  return found;
}

bool brute_force(const Items& items, std::int64_t target) {
  std::vector<std::int64_t> sums = {0};
  for (const std::int64_t item : items) {
    const std::size_t before = sums.size();
    for (std::size_t i = 0; i < before; ++i) {
      if (item <= target - sums[i]) sums.push_back(sums[i] + item);
    }
  }
  return std::find(sums.begin(), sums.end(), target) != sums.end();
}

TEST_F(CudaSubsetSum, TwoListsDecideAsBruteForceDoes) {
  EXPECT_TRUE(decide({}, 0).reachable);
  EXPECT_FALSE(decide({}, 5).reachable);
  EXPECT_FALSE(decide({7}, 5).reachable);
  EXPECT_TRUE(decide({3, 5}, 8).reachable);
  std::mt19937_64 random(5);
  for (std::int64_t n = 0; n <= 24; ++n) {
    for (const std::int64_t most : {std::int64_t{60}, std::int64_t{100000}, std::int64_t{1} << 50}) {
      const Items items = random_items(random, n, most);
      const std::int64_t total = std::accumulate(items.begin(), items.end(), std::int64_t{0});
      std::int64_t some = 0;
      for (const std::int64_t item : items) some += random() % 2 == 0 ? item : 0;
      for (const std::int64_t target : {some, some + 1, total, total + 1, total / 3}) {
        EXPECT_EQ(decide(items, target).reachable, brute_force(items, target)) << "n " << n << " target " << target;
      }
    }
  }
}

TEST_F(CudaSubsetSum, TwoListsFindSomeOfFortyItems) {
  std::mt19937_64 random(6);
  Items items = random_items(random, 40, std::int64_t{1} << 50);
  for (std::int64_t& item : items) item *= 2;
  std::int64_t target = 0;
  for (const std::int64_t item : items) target += random() % 2 == 0 ? item : 0;
  EXPECT_TRUE(decide(items, target).reachable);
  EXPECT_FALSE(decide(items, target + 1).reachable);  // odd
  items[3] = target + 5;                              // an item that cannot be used, in the first half
  items[30] = 1;
  EXPECT_EQ(decide(items, 1).indices, Items{30});
}

// ------------------------------------------------------------------------------------------- whole instances on a GPU

std::int64_t total(const Items& items) { return std::accumulate(items.begin(), items.end(), std::int64_t{0}); }

/// Makes items by one of several methods, as real instances differ.
Items items_of_kind(std::mt19937_64& random, int i) {
  constexpr std::int64_t kMost[] = {3, 20, 300, 5000};  // many equal, dense, in between, sparse
  Items items = random_items(random, static_cast<std::int64_t>(random() % 15), kMost[random() % 4]);
  if (i % 7 == 0) {
    for (std::int64_t& item : items) item *= 6;  // a common divisor
  }
  if (i % 11 == 0 && !items.empty()) items[0] = 100000;  // one huge item
  return items;
}

struct Question {
  std::int64_t target = 0;
  std::int64_t below = 0;
  std::int64_t above = 0;

  [[nodiscard]] bool exact() const { return below == 0 && above == 0; }
};

/// Returns the nearest acceptable sum, or the lower one of two; -1: none.
std::int64_t expected_nearest(const Bitmap& sums, std::int64_t greatest, const Question& question) {
  const auto has = [&](std::int64_t sum) {
    return sum >= 0 && sum <= greatest && (sums[static_cast<std::size_t>(sum / 64)] >> (sum % 64) & 1) != 0;
  };
  for (std::int64_t distance = 0; distance <= std::max(question.target, greatest); ++distance) {
    if (distance <= question.below && has(question.target - distance)) return question.target - distance;
    if (distance <= question.above && has(question.target + distance)) return question.target + distance;
  }
  return -1;
}

/// Checks the answer, and adds up its items again.
void check_answer(const SubsetSum& answer, const Items& items, std::int64_t expected, bool witness,
                  const std::string& what) {
  ASSERT_EQ(answer.reachable, expected >= 0) << what;
  EXPECT_EQ(answer.sum, std::max<std::int64_t>(expected, 0)) << what;
  if (!answer.reachable || !witness) {
    EXPECT_TRUE(answer.indices.empty()) << what;
    return;
  }
  std::int64_t sum = 0;
  std::int64_t before = -1;
  for (const std::int64_t index : answer.indices) {
    ASSERT_TRUE(before < index && index < std::ssize(items)) << what << ": not ascending, or no item";
    sum += items[static_cast<std::size_t>(index)];
    before = index;
  }
  EXPECT_EQ(sum, expected) << what;
}

/// Checks every rung that can decide the question, and the API's choice, with all options, against the plan.
void check_decisions(const Items& items, const Question& question) {
  const std::int64_t expected = expected_nearest(reference(items, total(items)), total(items), question);
  std::vector<std::string> rungs{""};
  for (const auto& rung : tests::rungs_of("subset-sum", Backend::cuda)) {
    if (question.exact() || rung.id != kTwoList) rungs.emplace_back(rung.id);
  }
  for (const auto& rung : rungs) {
    for (int options = 0; options < 8; ++options) {
      SubsetSumOptions how{.witness = (options & 1) != 0, .below = question.below, .above = question.above};
      how.reduce = (options & 2) != 0;
      how.early_stop = (options & 4) != 0;
      const auto policy = gpu::Policy{}.with_rung(rung);
      const SubsetSumPlan plan = plan_subset(policy, items, question.target, how);
      const SubsetSum answer = find_subset(policy, items, question.target, how);
      const std::string what = rung + " ran " + std::string(answer.rung) + ", target " +
                               std::to_string(question.target) + " -" + std::to_string(question.below) + " +" +
                               std::to_string(question.above) + " options " + std::to_string(options) + " items " +
                               testing::PrintToString(items);
      // With few items the whole search runs at once: likely solutions are not tried first.
      ASSERT_EQ(answer.rung, plan.rung) << what;
      ASSERT_FALSE(plan.tries_likely) << what;
      ASSERT_TRUE(answer.rung == "none" || (rung.empty() ? answer.rung.starts_with("cuda.") : answer.rung == rung))
          << what;
      check_answer(answer, items, expected, how.witness, what);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST_F(CudaSubsetSum, EveryTargetOfSmallSets) {
  for (const Items& items : {Items{}, Items{5}, Items{2, 6, 8, 19}, Items{3, 3, 3, 3, 3}, Items{7, 7, 14, 1}}) {
    for (std::int64_t target = 0; target <= total(items) + 2; ++target) check_decisions(items, {target});
  }
}

TEST_F(CudaSubsetSum, RandomInstancesOfEveryKind) {
  std::mt19937_64 random(8);
  for (int i = 0; i < 200 && !HasFatalFailure(); ++i) {
    const Items items = items_of_kind(random, i);
    std::int64_t some = 0;
    for (const std::int64_t item : items) some += random() % 2 == 0 ? item : 0;
    check_decisions(items, {some});
    check_decisions(items, {static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(total(items) + 3))});
  }
}

TEST_F(CudaSubsetSum, NearestSums) {
  std::mt19937_64 random(9);
  for (int i = 0; i < 100 && !HasFatalFailure(); ++i) {
    const Items items = items_of_kind(random, i);
    const auto target = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(total(items) + 200));
    const auto width = static_cast<std::int64_t>(random() % 60);
    check_decisions(items, {target, target, 0});                       // the largest up to the target
    check_decisions(items, {target, std::min(target, width), width});  // within a tolerance
    check_decisions(items, {target, 0, INT64_MAX});                    // the smallest from the target on
  }
  check_decisions({4, 8, 100}, {6, 2, 2});  // 4 and 8 have the same distance
  check_decisions({8, 100}, {6, 2, 2});
  check_decisions({40, 80, 1000}, {60, 20, 20});
}

/// Multiples of six, and two items that are larger by one. Sums only have residues 0, 1 and 2; residue 2 needs both
/// items. These sums are reached late.
Items items_with_late_sums(std::mt19937_64& random, std::int64_t n, std::int64_t most) {
  Items items = random_items(random, n, most / 6);
  for (std::int64_t& item : items) item *= 6;
  items[random() % (items.size() / 2)] += 1;
  items[items.size() / 2 + random() % (items.size() / 2)] += 1;
  return items;
}

TEST_F(CudaSubsetSum, ItemsFromBitmapsOfTheGpu) {
  struct Size {
    std::int64_t n;
    std::int64_t most;
  };
  std::mt19937_64 random(10);
  for (const auto& [n, most] : {Size{200, 5000}, Size{300, 20000}, Size{21, 300000}}) {
    for (const bool is_late : {false, true}) {
      const Items items = is_late ? items_with_late_sums(random, n, most) : random_items(random, n, most);
      for (const std::int64_t share : {2, 3, 7}) {
        const std::int64_t multiple = total(items) / share / 6 * 6;
        for (const std::int64_t target : {multiple + 2, multiple + 3}) {
          const bool expected = find_subset(par, items, target, {.witness = false}).reachable;
          EXPECT_FALSE(is_late && target % 6 == 3 && expected);
          for (const std::string rung :
               {"", "cuda.array_ops", "cuda.column", "cuda.agglomerated", "cuda.bits", "cuda.bits_fused"}) {
            for (const bool early_stop : {true, false}) {
              const SubsetSumOptions options{.early_stop = early_stop};
              const std::string what = rung + ", n " + std::to_string(n) + " target " + std::to_string(target) +
                                       (is_late ? ", late" : "") + (early_stop ? ", early stop" : "");
              const SubsetSum answer = find_subset(gpu::Policy{}.with_rung(rung), items, target, options);
              check_answer(answer, items, expected ? target : -1, true, what);
              EXPECT_EQ(answer.rung, rung.empty() ? "cuda.bits_fused" : rung) << what;
            }
          }
        }
      }
    }
  }
}

TEST_F(CudaSubsetSum, ItemsOfTheNearestSum) {
  // Multiples of 1000, and one item that is too large to be useful. The nearest sum is hundreds of sums away.
  std::mt19937_64 random(11);
  Items items = random_items(random, 200, 50);
  for (std::int64_t& item : items) item *= 1000;
  items[100] = total(items) - 1;
  const std::int64_t target = 2000000;
  const auto check_near = [&](const Question& question, std::int64_t expected) {
    for (const std::string rung : {"", "cuda.column", "cuda.bits", "cuda.bits_fused"}) {
      for (const bool reduce : {true, false}) {
        const SubsetSumOptions options{
            .below = question.below, .above = question.above, .reduce = reduce, .early_stop = false};
        const SubsetSum answer = find_subset(gpu::Policy{}.with_rung(rung), items, question.target, options);
        check_answer(answer, items, expected, true, rung + " target " + std::to_string(question.target));
      }
    }
  };
  check_near({target + 400, 2000, 2000}, target);
  check_near({target + 500, 500, 500}, target);
  check_near({target + 501, 500, 500}, target + 1000);
  check_near({target + 400, 399, 599}, -1);
  check_near({target + 999, target + 999, 0}, target);
  check_near({target + 1, 0, INT64_MAX}, target + 1000);
}

TEST_F(CudaSubsetSum, ThePlanNamesWhatIsUsed) {
  const auto expect_plan = [](const Items& items, std::int64_t target, std::string_view rung,
                              const SubsetSumOptions& options = {}) {
    const SubsetSumPlan plan = plan_subset(gpu::Policy{}, items, target, options);
    EXPECT_EQ(plan.rung, rung);
    bool is_there = rung == "none";
    for (const SubsetSumWay& way : plan.ways) {
      EXPECT_TRUE(way.rung.starts_with("cuda.") && way.seconds > 0 && way.bytes > 0) << way.rung;
      if (way.rung == rung) is_there = way.reason.empty();
    }
    EXPECT_TRUE(is_there) << rung;
    const SubsetSum answer = find_subset(gpu::Policy{}, items, target, options);
    EXPECT_TRUE(plan.tries_likely || answer.rung == rung) << answer.rung;
    return plan;
  };
  std::mt19937_64 random(12);
  const Items few = random_items(random, 20, 100000);
  const Items many = random_items(random, 150, 10000);
  const Items large = random_items(random, 40, std::int64_t{1} << 50);
  EXPECT_FALSE(expect_plan(document_items(), kDocumentLimit, "cuda.slices", {.witness = false}).tries_likely);
  EXPECT_FALSE(expect_plan(document_items(), kDocumentLimit, "cuda.slices").tries_likely);
  EXPECT_FALSE(expect_plan(few, total(few) / 2, "cuda.slices").tries_likely);
  EXPECT_FALSE(expect_plan(many, total(many) / 2 + 1, "cuda.bits_fused").tries_likely);
  EXPECT_FALSE(expect_plan(many, total(many) / 3, "cuda.bits_fused", {.below = 5, .above = 5}).tries_likely);
  expect_plan(large, total(large) / 2, "cuda.two_list", {.early_stop = false});
  EXPECT_EQ(expect_plan(few, 0, "none").ways.size(), 0U);
  expect_plan({}, 5, "none");
  expect_plan(few, total(few), "none");
  expect_plan(few, total(few) + 1, "none");
  expect_plan({6, 12, 600}, 7, "none");
  // If the caller names a rung, the plan has this rung, and likely solutions are not tried before it.
  for (const auto& rung : tests::rungs_of("subset-sum", Backend::cuda)) {
    const SubsetSumPlan plan = plan_subset(gpu::Policy{}.with_rung(rung.id), few, total(few) / 2);
    EXPECT_EQ(plan.rung, rung.id);
    EXPECT_FALSE(plan.tries_likely);
    EXPECT_EQ(plan_subset(gpu::Policy{}.with_rung(rung.id), few, 0).rung, "none");
  }
}

TEST_F(CudaSubsetSum, LikelySolutionsAreTriedFirst) {
  // Nearly 10^10 sums: a search over all of the items would take a second.
  std::mt19937_64 random(13);
  const Items items = random_items(random, 2000, 20000000);
  const std::int64_t target = total(items) / 3;
  EXPECT_TRUE(plan_subset(gpu::Policy{}, items, target).tries_likely);
  EXPECT_FALSE(plan_subset(gpu::Policy{}, items, target, {.early_stop = false}).tries_likely);
  EXPECT_FALSE(plan_subset(gpu::Policy{}, items, target, {.reduce = false}).tries_likely);
  EXPECT_FALSE(plan_subset(gpu::Policy{}.with_rung("cuda.bits_fused"), items, target).tries_likely);
  check_answer(find_subset(gpu::Policy{}, items, target), items, target, true, "likely");
  check_answer(find_subset(gpu::Policy{}, items, target, {.witness = false}), items, target, false, "likely");
}

TEST_F(CudaSubsetSum, OnAStreamAndWithMemoryOfTheCallers) {
  std::mt19937_64 random(14);
  const Items items = random_items(random, 100, 5000);
  const std::int64_t target = total(items) / 2;
  const tests::OwnStream stream;
  for (const std::string_view rung : {"", "cuda.column", "cuda.bits"}) {
    tests::CountingMemory memory(INT32_MAX);
    const auto policy = gpu::Policy{}.with_stream(stream).with_memory(memory).with_rung(rung);
    check_answer(find_subset(policy, items, target, {.early_stop = false}), items, target, true, "on a stream");
    EXPECT_EQ(memory.held, 0);
    tests::CountingMemory none(1);
    EXPECT_EQ(code_of([&] { (void)find_subset(policy.with_memory(none), items, target, {.early_stop = false}); }),
              Code::device_memory);
    EXPECT_EQ(none.held, 0);
  }
}

// ------------------------------------------------------------------------------------------------- the caller's errors

TEST_F(CudaSubsetSum, AnErrorThatTheCallerHasNotAskedForIsNotTheRungs) {
  std::mt19937_64 random(16);
  const Items few = random_items(random, 12, 3000);  // some of them are larger than the limit
  const std::int64_t limit = 2000;
  const Items many = random_items(random, 30, 100000);  // more than two_list starts with
  for (const auto& rung : tests::rungs_of("subset-sum", Backend::cuda)) {
    tests::leave_stale_error();
    if (rung.id == kTwoList) {
      EXPECT_TRUE(decide(many, total(many) - many[3] - many[20]).reachable);
    } else {
      check(gpu::Policy{}.with_rung(rung.id), few, limit, reference(few, limit), 0);
    }
    tests::expect_stale_error(rung);
  }
}

// ----------------------------------------------------------------------------------------------------- what is refused

TEST_F(CudaSubsetSum, SaysWhatIsWrong) {
  const Items items = {3, 5, 8};
  DeviceArray<std::uint64_t> sums(2);
  Bitmap on_host(2);
  const gpu::Policy any;
  const auto fill = [&](const gpu::Policy& policy, const Items& some, std::uint64_t* to) {
    return code_of([&] { (void)reachable_sums_async(policy, some.data(), std::ssize(some), 100, to); });
  };
  EXPECT_EQ(fill(any, items, sums.data()), Code::ok);
  EXPECT_EQ(fill(any, items, on_host.data()), Code::invalid_argument);
  EXPECT_EQ(fill(any, items, nullptr), Code::invalid_argument);
  EXPECT_EQ(fill(any, {3, 0}, sums.data()), Code::not_positive);
  EXPECT_EQ(fill(any.with_rung("cuda.none"), items, sums.data()), Code::unknown_rung);
  EXPECT_EQ(fill(any.with_rung("cpu.bits"), items, sums.data()), Code::unsupported);
  EXPECT_EQ(fill(any.with_rung(kTwoList), items, sums.data()), Code::unsupported);
  EXPECT_EQ(fill(any.with_rung("cuda.slices"), Items(kSlicesItems + 1, 2), sums.data()), Code::unsupported);
  EXPECT_EQ(code_of([&] { (void)reachable_sums_async(any, items.data(), -1, 100, sums.data()); }),
            Code::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)reachable_sums_async(any, items.data(), 3, -1, sums.data()); }),
            Code::invalid_argument);
  const auto find = [](const gpu::Policy& policy, const Items& some, std::int64_t target,
                       const SubsetSumOptions& options) {
    const Code planned = code_of([&] { (void)plan_subset(policy, some, target, options); });
    EXPECT_EQ(code_of([&] { (void)find_subset(policy, some, target, options); }), planned);
    return planned;
  };
  const SubsetSumOptions as_it_is{.reduce = false};
  EXPECT_EQ(find(any.with_rung(kTwoList), Items(65, 2), 64, as_it_is), Code::unsupported);
  EXPECT_EQ(find(any.with_rung(kTwoList), items, 7, {.below = 2}), Code::unsupported);
  EXPECT_EQ(find(any.with_rung("cuda.slices"), Items(kSlicesItems + 1, 2), 6, as_it_is), Code::unsupported);
  EXPECT_EQ(find(any.with_rung("cpu.bits"), items, 8, {}), Code::unsupported);
  EXPECT_EQ(find(any.with_rung("cuda.none"), items, 8, {}), Code::unknown_rung);
  EXPECT_EQ(find(any.with_rung("cuda.none"), {}, 0, {}), Code::unknown_rung);
  EXPECT_EQ(find(any, {3, 0}, 8, {}), Code::not_positive);
  EXPECT_EQ(find(any, items, -1, {}), Code::invalid_argument);
  EXPECT_EQ(find(any, {INT64_MAX, 1}, INT64_MAX, {}), Code::overflow);
  EXPECT_EQ(find(any.with_device(99), items, 8, {}), Code::no_device);
  require(cudaDeviceSynchronize());
  EXPECT_TRUE(sums.intact());
}

TEST_F(CudaSubsetSum, SaysWhatMemoryWouldBeNeeded) {
  // 300 items of 50 bits: neither lists nor bitmaps fit.
  std::mt19937_64 random(15);
  const Items items = random_items(random, 300, std::int64_t{1} << 50);
  const std::int64_t target = total(items) / 2;
  EXPECT_TRUE(plan_subset(gpu::Policy{}, items, target).rung.empty());
  EXPECT_EQ(code_of([&] { (void)find_subset(gpu::Policy{}, items, target); }), Code::out_of_memory);
  for (const auto& rung : filling_rungs()) {
    if (rung.id == "cuda.slices") continue;
    const auto policy = gpu::Policy{}.with_rung(rung.id);
    EXPECT_EQ(code_of([&] { (void)find_subset(policy, items, target, {.witness = false}); }), Code::device_memory)
        << rung.id;
  }
  // Answers that need no search need no memory.
  EXPECT_EQ(find_subset(gpu::Policy{}, items, total(items)).indices.size(), items.size());
  EXPECT_EQ(find_subset(gpu::Policy{}, items, total(items) + 1).rung, "none");
}

}  // namespace
}  // namespace upsweep
