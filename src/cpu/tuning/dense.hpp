// SPDX-License-Identifier: Apache-2.0
// cpu/tuning/dense.hpp: scan, reduce, select, take, filtered sums. Nothing here determines the bits of floats.
#pragma once

#include <cstddef>
#include <cstdint>

namespace upsweep::cpu::tuning {

struct DenseTuning {
  std::int64_t scan_threads_bytes;    ///< from which on a scan uses several threads
  std::int64_t reduce_threads_bytes;  ///< the same of a reduction
  std::int64_t select_serial;         ///< elements and lists together, below which select runs the loop
  std::int64_t select_lists;          ///< lists whose offsets are ranked at a time
  std::int64_t take_indices;          ///< that are checked at a time, and gathered
  std::size_t saved_bytes;            ///< of the input of a scan in place, kept at a time
  std::int64_t few_totals_bytes;      ///< of totals of blocks that need no pages of their own
};
constexpr DenseTuning kDense{
    // 40 us of one core that works in its own cache, 256 KB in 10: about what waking a second thread takes.
    .scan_threads_bytes = std::int64_t{1} << 20,
    .reduce_threads_bytes = std::int64_t{1} << 20,
    // Below that the loop is as fast as setting up the marks.
    .select_serial = 64,
    // Derived: 64 KB of offsets.
    .select_lists = 8192,
    // Derived: 8 KB, which stay in L1.
    .take_indices = 1024,
    // Derived: a quarter of L1.
    .saved_bytes = 8192,
    // Derived: 64 slots of small carries, of 32 blocks. Asking for pages takes longer than scanning so few.
    .few_totals_bytes = 4096};

/// Filtered sums. They are exact.
struct FilteredSumTuning {
  std::int64_t serial_rows;  ///< below which the loop runs
  std::int64_t block_rows;
  std::int64_t row_bytes;        ///< that a row counts for, where threads are chosen
  std::int64_t keys_block_rows;  ///< whose keys are compared before the payload of the block before is added up
  std::int64_t many_kept;        ///< where one row of so many is kept, the payload is read in order
  std::int64_t keys_ahead;       ///< that are fetched
};
constexpr FilteredSumTuning kFilteredSum{
    // Below two vectors of keys the loop is as fast as finding out which vectors there are.
    .serial_rows = 32,
    // Enough that to begin one costs a twentieth of it where few rows are kept. 32 cores of a Xeon, 2·10^5 rows, bytes
    // of a row and rows of a block: 8 and 2^14 33 to 47 us, 12 and 2^14 27, 12 and 2^13 27, 20 and 2^13 20 to 22. At
    // 6·10^6 rows of which few are kept: 8 and 2^14 75, 12 and 2^14 53, 12 and 2^13 132, 20 and 2^13 122.
    .block_rows = std::int64_t{1} << 14,
    .row_bytes = 12,
    // Not measured: the payload of 4,096 rows has the time to arrive.
    .keys_block_rows = 4096,
    // One core of a Xeon at 2.5 GHz: then two thirds of the cache lines of the payload are touched, one by one. From a
    // row in twelve on 0.65 of the read rate at Z = 1000, in five 0.72, but Z = 1500 gets slower.
    .many_kept = 8,
    // The same core, Z = 30: 0.97 of the read rate, 0.89 without. The hardware fetches keys ahead, but stops at pages
    // and for lines of the payload.
    .keys_ahead = 512};

}  // namespace upsweep::cpu::tuning
