// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/tuning/transfers.hpp: transfers of arrays in host memory through a GPU.
#pragma once

#include <cstdint>

namespace upsweep::gpu::tuning {

// These values depend on the link and the host, so no capability chooses them.

struct ChunksOrder {
  static constexpr bool kDeterminesFloatBits = true;
  std::int64_t reduce_bytes;   ///< of a block of a reduction: blocks are folded in order, whatever the chunks are
  std::int64_t scan_elements;  ///< chunks of a scan, except by look-ahead, are multiples of this number
};
// Derived: 8 MB take 0.15 ms at 55 GB/s, far longer than the start of their reduction.
constexpr ChunksOrder kChunksOrder{.reduce_bytes = std::int64_t{8} << 20, .scan_elements = std::int64_t{1} << 18};

struct ChunksTuning {
  int slots;                  ///< of a ring: one chunk is sent, one computed, one returned, one copied by the host
  std::int64_t chunk_bytes;   ///< maximum
  std::int64_t cached_bytes;  ///< minimum size of chunks that are copied to pinned memory through the caches
  int link_copies;            ///< of a chunk, to measure the link
};
constexpr ChunksTuning kChunks{
    .slots = 4,
    // Derived: 0.3 ms at 55 GB/s, far longer than the start of its copies and kernels.
    .chunk_bytes = std::int64_t{16} << 20,
    // 16 cores, 300 MB of L3, H200: reductions 42 to 53 GB/s, scans 26–27 to 28–31. Scans in chunks below 6 MB became
    // slower: 25 to 21.
    .cached_bytes = std::int64_t{8} << 20,
    .link_copies = 8};

struct StagingTuning {
  int slots;                  ///< of each array: one is computed while the next one is sent
  std::int64_t pinned_bytes;  ///< that a process keeps from call to call
};
constexpr StagingTuning kStaging{.slots = 2,
                                 // Not measured: a limit on what an idle process keeps.
                                 .pinned_bytes = std::int64_t{256} << 20};

/// Columns of a filtered sum that are sent in chunks.
struct SentTuning {
  int streams;
  int chunks;
};
constexpr SentTuning kSent{// Derived: they keep the copy engine busy.
                           .streams = 4,
                           // Derived: the kernels leave an eighth of the work after the last copy.
                           .chunks = 8};

}  // namespace upsweep::gpu::tuning
