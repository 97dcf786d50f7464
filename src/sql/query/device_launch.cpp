// SPDX-License-Identifier: Apache-2.0
// sql/query/device_launch.cpp: the widest blocks that shared memory allows; the number of blocks that the device runs
// at a time.
#include "sql/query/device_launch.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "cuda/scratch_parts.hpp"

namespace upsweep::query {
namespace {

constexpr std::int64_t kEasilyShared = gpu::tuning::kQuery.easily_shared;
constexpr std::int64_t kStaticShared = gpu::tuning::kQuery.static_shared;

/// Returns the bits in steps, so that chunks seldom need separate code.
int bits_for(std::int64_t rows) {
  return (static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows))) + 3) / 4 * 4;
}

}  // namespace

/// Selects the widest blocks in which all threads can have separate states. If there are none, warps have states.
SourceOptions LaunchChoice::with_copies(SourceOptions options, std::int64_t groups) const {
  options.copies = Copies::threads;
  const std::int64_t bytes =
      groups * plan_.kernels->fold(plan_, options)->source().own_words * kDeviceWord;  // bytes of a thread
  const std::int64_t most = limits_.shared_per_block - kStaticShared;
  const std::int64_t easily = std::min(kEasilyShared, most);
  for (const auto& [threads, shared] :
       {std::pair(kBlockThreads, easily), {128, easily}, {64, easily}, {64, most}, {32, most}}) {
    options.threads = threads;
    if (bytes * threads <= shared) return options;
  }
  options.copies = Copies::warps;
  options.threads = kBlockThreads;
  return options;
}

std::int64_t LaunchChoice::blocks_for(std::int64_t rows, int threads, int rows_per_thread,
                                      std::int64_t shared_bytes) const {
  const std::int64_t resident = std::clamp<std::int64_t>(
      limits_.shared_per_multiprocessor / (shared_bytes + kStaticShared), 1, std::max(kResidentThreads / threads, 1));
  const std::int64_t tile = std::int64_t{threads} * rows_per_thread;
  return std::min(gpu::divided_up(rows, tile), resident * limits_.multiprocessors);
}

/// Launches the number of blocks that the device can run at a time, or fewer if the memory limit does not allow their
/// states. There are no blocks if not even one fits.
FoldLaunch LaunchChoice::launch_of(const DeviceChunk& chunk, SourceOptions options, std::int64_t groups) const {
  FoldLaunch launch;
  launch.kernel = plan_.kernels->fold(plan_, options);
  const KernelSource& source = launch.kernel->source();
  const std::int64_t own_bytes = groups * source.own_words * kDeviceWord;
  const std::int64_t copies_of_block = options.copies == Copies::warps ? options.threads / 32 : 1;
  const std::int64_t merged_bytes = (kControlWords + groups * source.words) * kDeviceWord;
  const std::int64_t fit = (most_bytes_ / 2 - merged_bytes) / (own_bytes * copies_of_block);
  launch.shared_bytes = options.copies == Copies::threads ? own_bytes * options.threads : 0;
  launch.blocks = std::clamp<std::int64_t>(
      fit, 0, blocks_for(chunk.rows, options.threads, source.rows_per_thread, launch.shared_bytes));
  launch.copies = launch.blocks * copies_of_block;
  launch.options = std::move(options);
  return launch;
}

/// The copies of the kernels hold the sums of the rows that the grid assigns to each. The grid depends on the bytes of
/// a copy, and these depend on the number of rows that it may fold. A copy for more rows is never smaller, so the loop
/// ends.
FoldLaunch LaunchChoice::fold(const DeviceChunk& chunk, const std::vector<ColumnShape>& columns, Keying keying,
                              std::int64_t groups) const {
  SourceOptions options{.columns = columns, .keying = keying, .threads = kBlockThreads};
  // Most grids have at least one block per multiprocessor.
  options.copy_bits = bits_for(chunk.rows / limits_.multiprocessors + 8 * kBlockThreads);
  for (;;) {
    FoldLaunch launch = launch_of(chunk, keying == Keying::none ? options : with_copies(options, groups), groups);
    if (launch.blocks == 0) return launch;
    const std::int64_t tile = std::int64_t{launch.options.threads} * launch.kernel->source().rows_per_thread;
    const int bits = bits_for(gpu::divided_up(gpu::divided_up(chunk.rows, tile), launch.blocks) * tile);
    if (bits <= options.copy_bits) return launch;
    options.copy_bits = bits;
  }
}

}  // namespace upsweep::query
