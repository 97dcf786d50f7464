// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/pipeline_shape.cuh: the constants of cuda.pipeline, and the data of a call.
#pragma once

#include "problems/lists/segmented_reduce/cuda_lists.cuh"
#if UPSWEEP_HAS_CUDA
#include "upsweep/detail/tuning/segmented_reduce.hpp"
#endif

#if UPSWEEP_HAS_CUDA
namespace upsweep::impl::segmented_reduce {

inline constexpr int kConsumers = gpu::tuning::kPipelineOrder.consumers;  ///< warps
inline constexpr int kSearch = kConsumers;
inline constexpr int kLoader = kConsumers + 1;
inline constexpr int kPublisher = kConsumers + 2;
inline constexpr int kPipelineThreads = (kConsumers + 3) * 32;
inline constexpr int kConsumerThreads = kConsumers * 32;
inline constexpr int kBlocks = gpu::tuning::kPipeline.blocks;  ///< per multiprocessor
inline constexpr int kStages = gpu::tuning::kPipeline.stages;
inline constexpr int kStageBytes = gpu::tuning::kPipelineOrder.stage_bytes;
inline constexpr int kHeadBytes = gpu::tuning::kPipeline.head_bytes;
inline constexpr int kPipelineShared = kHeadBytes + kStages * kStageBytes;
/// A share is about a thousandth of the work: a power of two of bytes between these limits. In the last eighth of the
/// work, shares are a quarter of that, so that blocks finish at about the same time.
inline constexpr int kMostShareBits = gpu::tuning::kPipelineOrder.most_share_bits;
inline constexpr int kLeastShareBits = gpu::tuning::kPipelineOrder.least_share_bits;
/// A list of at most this number of bytes is in one share.
inline constexpr std::int64_t kSnapBytes = gpu::tuning::kPipelineOrder.snap_bytes;
/// Tiles begin at multiples of a group of lists (`unit`), a power of two. A group has at most this number of lists.
/// It has fewer lists if they would not fit a quarter of a stage, and twice this number if lists are tiny.
inline constexpr int kMostUnit = gpu::tuning::kPipelineOrder.most_unit;
inline constexpr std::int64_t kTinyBytes = gpu::tuning::kPipelineOrder.tiny_bytes;
/// Maximum number of groups of a share: in the largest share, with the smallest lists (bounds of four bytes, results of
/// one).
inline constexpr int kMostUnits = 224;
static_assert(((1 << kMostShareBits) + kSnapBytes) / (2 * kMostUnit * 5) + 2 <= kMostUnits);
static_assert(((1 << kMostShareBits) + kSnapBytes) / (kMostUnit * (kTinyBytes + 2)) + 2 <= kMostUnits);
/// A bulk copy is a tenth faster if source and destination are at the same offset within a line of this size.
inline constexpr std::uint32_t kLineBytes = 128;
/// Maximum number of bytes that alignment adds to a tile's offsets and content.
inline constexpr std::int64_t kStageSlack = 2 * kLineBytes + 64;
static_assert(kHeadBytes % kLineBytes == 0 && kStageBytes % kLineBytes == 0);

/// Returns the maximum number of shares of up to `bytes` bytes of work.
constexpr std::int64_t most_shares(std::int64_t bytes) { return 4096 + (bytes >> kMostShareBits) * 11 / 8; }

/// The blocks' counters. They are zero when a call begins and when it has ended.
struct Control {
  unsigned ticket;
  alignas(128) unsigned done;
  alignas(128) unsigned long long bad;  ///< the complement of the first bad list
};

/// Partial folds of lists that extend over several shares, one for each of their shares.
struct Partials {
  int* missing;       ///< by the share in which the list begins: number of missing partial folds; zero between calls
  std::int64_t* end;  ///< by the same share, two each: the share in which the list ends, and the list
  char* goes_on;      ///< by share, 16 bytes each: the fold of a list that continues in the next share
  char* ends;         ///< by share: the fold of the list that ends there
};

/// The arguments of one call.
struct ListsCall {
  GivenLists lists;
  Control* control;
  Partials partials;
  std::int64_t shares;  ///< maximum number
  int result_bytes;
};

}  // namespace upsweep::impl::segmented_reduce
#endif
