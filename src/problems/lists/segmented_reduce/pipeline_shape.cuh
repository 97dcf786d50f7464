// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/pipeline_shape.cuh: the constants of cuda.pipeline, and one call of it.
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
/// A share is a thousandth of the work or so, a power of two of bytes between these; in the last eighth a quarter of it, so
/// that blocks end together.
inline constexpr int kMostShareBits = gpu::tuning::kPipelineOrder.most_share_bits;
inline constexpr int kLeastShareBits = gpu::tuning::kPipelineOrder.least_share_bits;
/// Lists of up to so many bytes lie in one share.
inline constexpr std::int64_t kSnapBytes = gpu::tuning::kPipelineOrder.snap_bytes;
/// Tiles begin at multiples of a power of two of lists, a unit: at most so many, less where these do not fit a quarter of a
/// stage, and twice as many where they are tiny.
inline constexpr int kMostUnit = gpu::tuning::kPipelineOrder.most_unit;
inline constexpr std::int64_t kTinyBytes = gpu::tuning::kPipelineOrder.tiny_bytes;
/// Of the least lists, of bounds of four bytes and results of one, in the largest share.
inline constexpr int kMostUnits = 224;
static_assert(((1 << kMostShareBits) + kSnapBytes) / (2 * kMostUnit * 5) + 2 <= kMostUnits);
static_assert(((1 << kMostShareBits) + kSnapBytes) / (kMostUnit * (kTinyBytes + 2)) + 2 <= kMostUnits);
/// A bulk copy is a tenth faster where source and destination are the same place of a line.
inline constexpr std::uint32_t kLineBytes = 128;
/// What alignment may add to a tile's offsets and content.
inline constexpr std::int64_t kStageSlack = 2 * kLineBytes + 64;
static_assert(kHeadBytes % kLineBytes == 0 && kStageBytes % kLineBytes == 0);

/// The most shares of up to so many bytes of work.
constexpr std::int64_t most_shares(std::int64_t bytes) { return 4096 + (bytes >> kMostShareBits) * 11 / 8; }

/// What blocks count in; zero when a call begins, and when it has ended.
struct Control {
  unsigned ticket;
  alignas(128) unsigned done;
  alignas(128) unsigned long long bad;  ///< the complement of the first bad list
};

/// Lists that lie in several shares: a partial fold for each of their shares.
struct Partials {
  int* missing;       ///< by the share that the list begins in: partial folds yet to come; zero between calls
  std::int64_t* end;  ///< by the same, two each: the share that it ends in, and the list
  char* goes_on;      ///< by share, 16 bytes each: of a list that goes on in the next share
  char* ends;         ///< by the share: of the list that ends there
};

/// One call.
struct ListsCall {
  GivenLists lists;
  Control* control;
  Partials partials;
  std::int64_t shares;  ///< at most
  int result_bytes;
};

}  // namespace upsweep::impl::segmented_reduce
#endif
