// SPDX-License-Identifier: Apache-2.0
// sql/query/device_launch.hpp: decides how a chunk is folded on a device: which threads have states, how many blocks
// run.
#pragma once

#include <cstdint>
#include <memory>

#include "cuda/program.hpp"
#include "sql/query/cuda_source.hpp"
#include "sql/query/device_chunk.hpp"
#include "sql/query/gpu_kernels.hpp"
#include "sql/query/plan.hpp"
#include "upsweep/detail/tuning/query.hpp"

namespace upsweep::query {

/// Precedes the merged states.
struct DeviceControl {
  std::int32_t trouble = 0;
  std::int32_t is_full = 0;
  std::uint32_t found = 0;
  std::uint32_t unused = 0;
};
inline constexpr std::int64_t kDeviceWord = 8;
inline constexpr std::int64_t kControlWords = sizeof(DeviceControl) / kDeviceWord;
inline constexpr int kBlockThreads = gpu::tuning::kQuery.threads;

/// The kernels that fold a chunk, and their launch configuration.
struct FoldLaunch {
  SourceOptions options;  ///< options of the kernels
  std::shared_ptr<const GpuKernel> kernel;
  std::int64_t shared_bytes = 0;
  std::int64_t blocks = 0;  ///< 0: the memory cannot hold their states
  std::int64_t copies = 0;  ///< copies of all groups' states
};

class LaunchChoice {
 public:
  /// `most_bytes`: device memory for groups. The plan must outlive this object.
  LaunchChoice(const QueryPlan& plan, const gpu::LaunchLimits& limits, std::int64_t most_bytes)
      : plan_(plan), limits_(limits), most_bytes_(most_bytes) {}

  /// With Keying::none and one group, every thread has a copy in registers. For other groups, every thread has a copy
  /// in shared memory if they fit. Otherwise every warp has one.
  [[nodiscard]] FoldLaunch fold(const DeviceChunk& chunk, const std::vector<ColumnShape>& columns, Keying keying,
                                std::int64_t groups) const;
  [[nodiscard]] std::int64_t blocks_for(std::int64_t rows, int threads, int rows_per_thread,
                                        std::int64_t shared_bytes) const;

 private:
  [[nodiscard]] SourceOptions with_copies(SourceOptions options, std::int64_t groups) const;
  [[nodiscard]] FoldLaunch launch_of(const DeviceChunk& chunk, SourceOptions options, std::int64_t groups) const;

  const QueryPlan& plan_;
  gpu::LaunchLimits limits_;
  std::int64_t most_bytes_;
};

}  // namespace upsweep::query
