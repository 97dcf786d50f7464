// SPDX-License-Identifier: Apache-2.0
// tests/cuda_subset_sum_test.cpp: every CUDA rung of the subset sum ladder against a plain bitmap or brute force.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <string_view>
#include <vector>

#include "device_array.hpp"
#include "rungs.hpp"
#include "upsweep/subset_sum.hpp"

namespace upsweep {
namespace {

using tests::DeviceArray;
using tests::GpuTest;
using tests::require;

using Items = std::vector<std::int64_t>;
using Bitmap = std::vector<std::uint64_t>;

constexpr std::string_view kTwoList = "cuda.two_list";
constexpr int kSlicesItems = 20;  // that cuda.slices takes

// Around the ends of a word, of two (16 bytes) and of many.
constexpr std::int64_t kLimits[] = {0, 1, 2, 62, 63, 64, 65, 127, 128, 129, 191, 192, 4095, 4096, 4097};

/// Rungs that fill a bitmap.
std::vector<RungInfo> filling_rungs() {
  std::vector<RungInfo> rungs = tests::rungs_of(Problem::subset_sum, Backend::cuda);
  std::erase_if(rungs, [](const RungInfo& rung) { return rung.id == kTwoList; });
  return rungs;
}

template <class Call>
Code code_of(Call call) {
  try {
    call();
    return Code::ok;
  } catch (const Error& error) {
    return error.code();
  }
}

/// From the greatest word down, so that an item is never added to a sum that has it.
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

/// The document's instance: ten items up to 10^7, and a quarter of what they could be at most.
constexpr std::int64_t kDocumentLimit = 25000000;
Items document_items() {
  std::mt19937_64 random(12);
  return random_items(random, 10, 10000000);
}

/// Whether the rung takes so many items, and this device has the memory.
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

/// Every rung that takes it, with bitmaps that begin with 16 bytes and between them.
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
    check_all({3, 5}, limit);  // add up to less than most limits
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
  // Bitmaps that become full, that never do (even items) and that an odd item completes; more items than go with a launch.
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
  cudaStream_t stream = nullptr;
  require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (const auto& rung : filling_rungs()) {
    auto policy = gpu::Policy{}.with_stream(stream).with_rung(rung.id);
    gpu::Workspace workspace(gpu::reachable_sums_workspace(policy, std::ssize(items), limit), 0, stream);
    policy = policy.with_workspace(workspace);
    Items captured = items;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t replay = nullptr;
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    EXPECT_EQ(reachable_sums_async(policy, captured.data(), std::ssize(captured), limit, sums.data()), rung.id);
    require(cudaStreamEndCapture(stream, &graph));
    require(cudaGraphInstantiate(&replay, graph, 0));
    std::fill(captured.begin(), captured.end(), 1);  // nobody reads the host's array any more
    for (int run = 0; run < 20; ++run) {
      require(cudaMemsetAsync(sums.data(), run, expected.size() * sizeof(std::uint64_t), stream));
      require(cudaGraphLaunch(replay, stream));
      require(cudaStreamSynchronize(stream));
      ASSERT_TRUE(sums.values() == expected) << rung.id << " run " << run;
    }
    EXPECT_TRUE(sums.intact()) << rung.id;
    require(cudaGraphExecDestroy(replay));
    require(cudaGraphDestroy(graph));
  }
  require(cudaStreamDestroy(stream));
}

// ------------------------------------------------------------------------------------------------------ the decision

/// The instance as it is, not what is left of it when it is reduced.
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
  // Twice the same.
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
  items[3] = target + 5;                              // one that cannot be used, in the first half
  items[30] = 1;
  EXPECT_EQ(decide(items, 1).indices, Items{30});
}

// ------------------------------------------------------------------------------------------------------ what is refused

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
  EXPECT_EQ(code_of([&] { (void)find_subset(any.with_rung(kTwoList), Items(65, 2), 64, {.reduce = false}); }),
            Code::unsupported);
  require(cudaDeviceSynchronize());
  EXPECT_TRUE(sums.intact());
}

}  // namespace
}  // namespace upsweep
