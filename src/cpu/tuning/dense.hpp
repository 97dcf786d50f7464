// SPDX-License-Identifier: Apache-2.0
// cpu/tuning/dense.hpp: scan, reduce, select, take, filtered sums. Nothing here determines the bits of floats.
#pragma once

#include <cstddef>
#include <cstdint>

namespace upsweep::cpu::tuning {

struct DenseTuning {
  std::int64_t scan_threads_bytes;    ///< minimum size for which a scan uses several threads
  std::int64_t reduce_threads_bytes;  ///< minimum size for which a reduction uses several threads
  std::int64_t select_serial;         ///< elements and lists together, below which select runs the loop
  std::int64_t select_lists;          ///< lists whose offsets are ranked at a time
  std::int64_t take_indices;          ///< that are checked and gathered at a time
  std::size_t saved_bytes;            ///< of the input of a scan in place, kept at a time
  std::int64_t few_totals_bytes;      ///< maximum size of totals of blocks that need no separate pages
};
constexpr DenseTuning kDense{
    // 40 us of one core that works in its private cache, 256 KB in 10: about the time to wake a second thread.
    .scan_threads_bytes = std::int64_t{1} << 20,
    .reduce_threads_bytes = std::int64_t{1} << 20,
    // Below that the loop takes the same time as the preparation of the marks.
    .select_serial = 64,
    // Derived: 64 KB of offsets.
    .select_lists = 8192,
    // Derived: 8 KB, which stay in L1.
    .take_indices = 1024,
    // Derived: a quarter of L1.
    .saved_bytes = 8192,
    // Derived: 64 slots of small carries, of 32 blocks. A request for pages takes longer than the scan of these.
    .few_totals_bytes = 4096};

/// Filtered sums. They are exact.
struct FilteredSumTuning {
  std::int64_t serial_rows;  ///< below which the loop runs
  std::int64_t block_rows;
  std::int64_t row_bytes;        ///< cost of a row when the number of threads is chosen
  std::int64_t keys_block_rows;  ///< rows whose keys are compared before the payload of the previous block is added
  std::int64_t many_kept;        ///< if at least one of this number of rows is kept, the payload is read in order
  std::int64_t keys_ahead;       ///< keys that are prefetched
};
constexpr FilteredSumTuning kFilteredSum{
    // Below two vectors of keys the loop takes the same time as the choice of vectors.
    .serial_rows = 32,
    // If few rows are kept, the beginning of a block costs a twentieth of it. 32 cores of a Xeon, 2·10^5 rows. Bytes of
    // a row and rows of a block: 8 and 2^14 33 to 47 us, 12 and 2^14 27, 12 and 2^13 27, 20 and 2^13 20 to 22. At
    // 6·10^6 rows of which few are kept: 8 and 2^14 75, 12 and 2^14 53, 12 and 2^13 132, 20 and 2^13 122.
    .block_rows = std::int64_t{1} << 14,
    .row_bytes = 12,
    // Not measured: the payload of 4,096 rows has enough time to arrive.
    .keys_block_rows = 4096,
    // One core of a Xeon at 2.5 GHz: at this threshold, two thirds of the cache lines of the payload are read, one by
    // one. Z = 1000 runs at 0.65 of the read rate with a threshold of one row in twelve, and at 0.72 with one row in
    // five. But with one row in five, Z = 1500 is slower.
    .many_kept = 8,
    // The same core, Z = 30: 0.97 of the read rate, 0.89 without. The hardware prefetches keys, but stops at pages and
    // for lines of the payload.
    .keys_ahead = 512};

}  // namespace upsweep::cpu::tuning
