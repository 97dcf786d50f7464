// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/tuning/query.hpp: queries on a GPU, whose kernels are generated at run time. Their sums are exact.
#pragma once

#include <cstdint>

namespace upsweep::gpu::tuning {

/// One set of values for all GPUs: a launch asks the device for its multiprocessors and shared memory.
struct QueryTuning {
  // ---- Kernels.
  int threads;                 ///< per block; fewer if threads have large states
  int resident_threads;        ///< per multiprocessor that kernels are compiled for
  int merge_warps;             ///< of a block that merges states
  std::int64_t easily_shared;  ///< shared memory in bytes of a block, up to which a wider block is preferred
  std::int64_t static_shared;  ///< bytes of a block in addition to the requested ones
  std::int64_t most_direct;    ///< maximum combinations of dictionary entries used as group numbers; more are numbered
  std::int64_t most_numbered;  ///< maximum number of groups of a chunk; the CPU makes more groups
  // ---- Rows on the device.
  std::int64_t most_chunk_rows;  ///< of a table that stays on the device, at a time
  std::int64_t unknown_rows;     ///< used instead if the table's length is not known before it is read
  int staged_batches;            ///< of a column that are gathered in pinned memory while others are copied
  int chunk_batches;             ///< maximum per chunk of a table in host memory
  int most_workers;              ///< that have a chunk on the device each
  std::int64_t fold_bytes;       ///< additional bytes of a worker on the device
};
constexpr QueryTuning kQuery{
    // H200: 0.99 of the read rate with all rows, eight rows per thread in flight and 1,024 threads per multiprocessor:
    // 64 registers each.
    .threads = 256,
    .resident_threads = 1024,
    // H200: the merge takes 3 us of the 24 at Z = 30.
    .merge_warps = 4,
    // Derived: three such blocks fit a multiprocessor of 227 KB.
    .easily_shared = 72 << 10,
    .static_shared = 1 << 10,
    // Derived: more combinations of entries are rare.
    .most_direct = 4096,
    .most_numbered = std::int64_t{1} << 20,
    // Derived: 512 MB of 64-bit values.
    .most_chunk_rows = std::int64_t{1} << 26,
    .unknown_rows = std::int64_t{1} << 22,
    // 16 cores and an H200: 1 MB of 64-bit values, whose copy takes 20 us, five times the start of a copy. 39–42 GB/s;
    // half of it 35, twice 33–37, four times 33.
    .staged_batches = 2,
    // Derived: at most 4 million rows, 32 MB of 64-bit values.
    .chunk_batches = 64,
    // The same machine, batched copies: sixteen threads 44.9 GB/s, twelve 38.9, eight 31.7.
    .most_workers = 16,
    // The memory that a million groups need.
    .fold_bytes = std::int64_t{1} << 30};

}  // namespace upsweep::gpu::tuning
