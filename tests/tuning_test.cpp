// SPDX-License-Identifier: Apache-2.0
// tests/tuning_test.cpp: the entry of a tuning table that is chosen for a compute capability, and values that determine
// bits.
#include <gtest/gtest.h>

#include "cpu/tuning/blocks.hpp"
#include "cpu/tuning/keys.hpp"
#include "upsweep/detail/tuning/capability.hpp"
#include "upsweep/detail/tuning/filtered_sum.hpp"
#include "upsweep/detail/tuning/keys.hpp"
#include "upsweep/detail/tuning/lists.hpp"
#include "upsweep/detail/tuning/pack.hpp"
#include "upsweep/detail/tuning/query.hpp"
#include "upsweep/detail/tuning/reduce.hpp"
#include "upsweep/detail/tuning/scan.hpp"
#include "upsweep/detail/tuning/segmented_reduce.hpp"
#include "upsweep/detail/tuning/segmented_scan.hpp"
#include "upsweep/detail/tuning/segmented_sort.hpp"
#include "upsweep/detail/tuning/select.hpp"
#include "upsweep/detail/tuning/shards.hpp"
#include "upsweep/detail/tuning/subset_sum.hpp"
#include "upsweep/detail/tuning/teaching.hpp"
#include "upsweep/detail/tuning/transfers.hpp"

namespace upsweep::gpu::tuning {
namespace {

struct Values {
  int threads;
};
constexpr From<Values> kTable[] = {{80, {256}}, {90, {512}}, {120, {128}}};

TEST(Tuning, TheLastEntryThatIsNotAboveTheCapabilityIsChosen) {
  EXPECT_EQ(tuning_for(80, kTable).threads, 256);
  EXPECT_EQ(tuning_for(89, kTable).threads, 256);
  EXPECT_EQ(tuning_for(90, kTable).threads, 512);
  EXPECT_EQ(tuning_for(100, kTable).threads, 512);
  EXPECT_EQ(tuning_for(120, kTable).threads, 128);
  EXPECT_EQ(tuning_for(121, kTable).threads, 128);
}

TEST(Tuning, BelowTheFirstEntryItIsTheFirst) { EXPECT_EQ(tuning_for(75, kTable).threads, 256); }

TEST(Tuning, EntriesOutOfOrderAreSeen) {
  constexpr From<Values> kSwapped[] = {{90, {512}}, {80, {256}}};
  constexpr From<Values> kTwice[] = {{90, {512}}, {90, {256}}};
  EXPECT_TRUE(ascends(kTable));
  EXPECT_FALSE(ascends(kSwapped));
  EXPECT_FALSE(ascends(kTwice));
}

/// A static_assert checks whether From<Values> can be an entry; this is its condition.
template <class T>
constexpr bool kIsMarked = requires { T::kDeterminesFloatBits; };

TEST(Tuning, OrdersAreMarkedAndTuningsAreNot) {
  EXPECT_TRUE((kIsMarked<LookaheadOrder> && kIsMarked<SmallScanOrder> && kIsMarked<ReduceOrder>));
  EXPECT_TRUE((kIsMarked<LanesOrder> && kIsMarked<PipelineOrder> && kIsMarked<SharesOrder>));
  EXPECT_TRUE((kIsMarked<ListTilesOrder> && kIsMarked<ListLookaheadOrder> && kIsMarked<ShardsOrder>));
  EXPECT_TRUE(
      (kIsMarked<FewOrder> && kIsMarked<PartitionsOrder> && kIsMarked<ChunksOrder> && kIsMarked<TeachingOrder>));
  EXPECT_FALSE((kIsMarked<LookaheadTuning> || kIsMarked<ReduceTuning> || kIsMarked<LanesTuning>));
}

// Results of floats had these bits in earlier releases: a change of a value must be listed in CHANGELOG.md.
TEST(Tuning, OrdersAreAsReleased) {
  EXPECT_EQ(kReduceOrder.threads, 256);
  EXPECT_EQ(kReduceOrder.blocks, 1056);
  EXPECT_EQ(kReduceOrder.rows, 4);
  EXPECT_EQ(kLookaheadOrder.warps, 10);
  EXPECT_EQ(kLookaheadOrder.loads, 5);
  EXPECT_EQ(kLookaheadOrder.wide_loads, 3);
  EXPECT_EQ(kLookaheadOrder.shared_bytes, 232'448);
  EXPECT_EQ(kLookaheadOrder.group_tiles, 128);
  EXPECT_EQ(kSmallScanOrder.least_threads, 256);
  EXPECT_EQ(kSmallScanOrder.threads, 512);
  EXPECT_EQ(kSmallScanOrder.rows, 4);
  EXPECT_EQ(kLanesOrder.lane_list, 8);
  EXPECT_EQ(kLanesOrder.group_list, 64);
  EXPECT_EQ(kLanesOrder.warp_list, 2048);
  EXPECT_EQ(kLanesOrder.list_tile, 16384);
  EXPECT_EQ(kPipelineOrder.consumers, 11);
  EXPECT_EQ(kPipelineOrder.stage_bytes, 26'624);
  EXPECT_EQ(kFewOrder.blocks, 132);
  EXPECT_EQ(kFewOrder.least_rows, 8192);
  EXPECT_EQ(kFewOrder.lane_rows, 4);
  EXPECT_EQ(kPartitionsOrder.most_local, 10);
  EXPECT_EQ(kPartitionsOrder.tile_rows, 32'768);
  EXPECT_EQ(kChunksOrder.reduce_bytes, 8'388'608);
  EXPECT_EQ(cpu::tuning::kBlocksOrder.block_bytes, 131'072);
  EXPECT_EQ(cpu::tuning::kBlocksOrder.long_block, 262'144);
  EXPECT_EQ(cpu::tuning::kBlocksOrder.reduce_block, 65'536);
  EXPECT_EQ(cpu::tuning::kBlocksOrder.list_block, 4096);
  EXPECT_EQ(cpu::tuning::kBlocksOrder.accumulators, 4);
  EXPECT_EQ(cpu::tuning::kGroupsOrder.batch, 65'536);
}

}  // namespace
}  // namespace upsweep::gpu::tuning
