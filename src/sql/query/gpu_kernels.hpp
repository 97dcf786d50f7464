// SPDX-License-Identifier: Apache-2.0
// sql/query/gpu_kernels.hpp: a plan's kernels; each is written and compiled once, however often the query runs.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "cuda/program.hpp"
#include "sql/query/cuda_source.hpp"
#include "system/recent_values.hpp"

namespace upsweep::query {

/// A source, and its program on each device.
class GpuKernel {
 public:
  explicit GpuKernel(KernelSource source) : source_(std::move(source)) {}

  [[nodiscard]] const KernelSource& source() const { return source_; }
  /// Returns the program of gpu::program_of().
  [[nodiscard]] std::shared_ptr<const gpu::Program> program(int device, double& seconds) const {
    return programs_.get(device, [&] { return gpu::program_of(source_.text, device, seconds); });
  }

 private:
  static constexpr std::size_t kMostDevices = 16;

  KernelSource source_;
  mutable RecentValues<int, gpu::Program> programs_{kMostDevices};
};

/// The kernels of a plan, for use by several threads. Calls with equal options return the same object.
class GpuKernels {
 public:
  /// Returns the kernel of fold_source().
  std::shared_ptr<const GpuKernel> fold(const QueryPlan& plan, const SourceOptions& options);
  /// Returns the kernel of number_source(), whose text depends only on the columns, the keying and the threads.
  std::shared_ptr<const GpuKernel> number(const QueryPlan& plan, const SourceOptions& options);

 private:
  // Chunks differ in the rows per block, which are rounded in steps, and in the sizes of values, which only grow.
  static constexpr std::size_t kMost = 16;

  RecentValues<SourceOptions, GpuKernel> folds_{kMost};
  RecentValues<SourceOptions, GpuKernel> numbers_{kMost};
};

}  // namespace upsweep::query
