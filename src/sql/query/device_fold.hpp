// SPDX-License-Identifier: Apache-2.0
// sql/query/device_fold.hpp: folds a plan's aggregates over rows on a device, with kernels generated for the plan.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "scale/staging.hpp"
#include "sql/query/device_chunk.hpp"
#include "sql/query/device_launch.hpp"
#include "sql/query/gpu_kernels.hpp"
#include "sql/query/groups.hpp"
#include "sql/query/plan.hpp"

namespace upsweep::query {

class DeviceFold {
 public:
  /// Uses the arrays first_array, first_array + 1, … of `staging`, up to `most_bytes` for groups. The arguments must
  /// outlive this object.
  DeviceFold(const QueryPlan& plan, gpu::Staging& staging, int first_array, std::int64_t most_bytes);

  /// Folds a chunk whose columns are those of the plan. Returns nothing if the device cannot compute it; the CPU must
  /// then compute it. Throws Error unsupported (no NVRTC), device_memory, device_failed.
  std::optional<Groups> fold(const DeviceChunk& chunk);
  [[nodiscard]] double compile_seconds() const { return compile_seconds_; }

 private:
  enum class Array : std::uint8_t { merged, partials, ids, tags, keys, words, tables };
  struct Numbered {
    std::shared_ptr<const GpuKernel> kernel;
    std::int64_t groups = 0;
    std::vector<std::uint64_t> keys;
  };

  void widen_shapes(const DeviceChunk& chunk);
  [[nodiscard]] std::optional<std::int64_t> direct_groups(const DeviceChunk& chunk) const;
  std::optional<Numbered> number(const DeviceChunk& chunk);
  std::optional<Groups> fold(const DeviceChunk& chunk, const FoldLaunch& launch, std::int64_t groups,
                             const Numbered* numbered);
  Groups groups_of(const DeviceChunk& chunk, const KernelSource& source, const Numbered* numbered, std::int64_t groups,
                   const std::uint64_t* merged) const;
  std::vector<std::uint64_t> arguments(const DeviceChunk& chunk, const KernelSource& source, Keying keying);
  std::vector<std::uint64_t> passed(const KernelSource& source, std::vector<std::uint64_t> words);
  [[nodiscard]] std::vector<std::int64_t> slots(const DeviceChunk& chunk) const;
  void add_keys(const DeviceChunk& chunk, const Numbered* numbered, std::int64_t group, Groups& groups,
                std::vector<Int128>& key, std::vector<std::uint8_t>& nulls) const;
  template <class T>
  T* array(Array which, std::int64_t count) {
    return static_cast<T*>(
        staging_.array(first_array_ + static_cast<int>(which), count * static_cast<std::int64_t>(sizeof(T))));
  }

  const QueryPlan& plan_;
  gpu::Staging& staging_;
  const int first_array_;
  const std::int64_t most_bytes_;
  LaunchChoice launches_;
  std::vector<ColumnShape> columns_;  ///< shapes that cover all chunks so far
  double compile_seconds_ = 0;
};

}  // namespace upsweep::query
