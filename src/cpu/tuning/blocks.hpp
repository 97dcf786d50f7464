// SPDX-License-Identifier: Apache-2.0
// cpu/tuning/blocks.hpp: lengths of blocks. Nearly every file includes it, so other constants are in other headers.
#pragma once

#include <cstdint>

namespace upsweep::cpu::tuning {

/// Lengths that determine the order in which floats are folded. So they depend on neither the threads nor the CPU.
struct BlocksOrder {
  static constexpr bool kDeterminesFloatBits = true;
  std::int64_t block_bytes;      ///< of a block's input or output, whichever is larger
  std::int64_t long_block;       ///< elements per block of the three-phase scan, of which a thread takes several
  std::int64_t reduce_block;     ///< elements per block of a reduction
  std::int64_t list_block;       ///< elements; longer lists are folded block by block
  int accumulators;              ///< vectors that a fold of a block adds to in turn
  std::int64_t converted_bytes;  ///< of elements of another type, which are converted and folded at a time
};
constexpr BlocksOrder kBlocksOrder{
    // A block is read twice. Its data must still be in the core's private cache at the second read. Xeon with 1 MB per
    // core: 64 to 256 KB run at the same speed, 512 KB are 5 to 15 % slower.
    .block_bytes = 128 * 1024,
    // 1 or 2 MB. A block exceeds a core's private cache, as in "Parallel Prefix Scan", where each thread has one range.
    // A block is small enough that 2^20 elements already keep four threads busy.
    .long_block = std::int64_t{1} << 18,
    // Derived: a thread is busy for about 10 us, a hundred times the time to begin the next block.
    .reduce_block = std::int64_t{1} << 16,
    // Derived: 10 us of a thread if elements are added one by one, a tenth of that next to seven other lists.
    .list_block = 4096,
    // Derived: four hide the latency of a float addition (4 cycles, two additions per cycle).
    .accumulators = 4,
    // Derived: converted elements stay in L1.
    .converted_bytes = 8192};

struct BlocksTuning {
  std::int64_t sub_blocks;          ///< per block; while one is scanned the next one is fetched
  std::int64_t non_temporal_bytes;  ///< minimum size of outputs that are stored past the caches
};
constexpr BlocksTuning kBlocks{
    // With 16 to 32 KB ahead, one thread is as fast as a copy. Xeon: 1.00 of its time, with 8 KB 1.08; EPYC: with 4 KB
    // 1.4. On all 16 cores 8 to 32 KB are equally fast.
    .sub_blocks = 4,
    // Derived: half of a small last-level cache. Larger outputs would not stay there, and a store that allocates reads
    // the line first.
    .non_temporal_bytes = std::int64_t{8} << 20};

}  // namespace upsweep::cpu::tuning
