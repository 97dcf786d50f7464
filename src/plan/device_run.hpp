// SPDX-License-Identifier: Apache-2.0
// plan/device_run.hpp: runs a plan on a GPU, and keeps what the next run of the plan needs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "cuda/program.hpp"
#include "plan/cuda_source.hpp"
#include "upsweep/gpu.hpp"
#include "upsweep/plan.hpp"

namespace upsweep::plan::detail {

/// The state of a plan on a device, from earlier runs.
struct DevicePlan {
  std::shared_ptr<const gpu::Program> program;
  std::vector<std::int64_t> lengths;  ///< of domains, the largest ones of some blocks; empty: not known
  std::vector<std::int64_t> large;    ///< of domains, the largest ones of single events that needed much; or empty
  std::vector<double> totals;         ///< of counters: elements for each event
};

/// The CUDA code of a plan, and what earlier runs found out. Thread-safe.
class DevicePlans {
 public:
  explicit DevicePlans(const Compiled& code);

  const CudaCode cuda;
  /// Returns the state for a device; compiles the code if that is needed.
  [[nodiscard]] DevicePlan get(int device);
  void keep(int device, DevicePlan plan);

 private:
  std::mutex mutex_;
  std::map<int, DevicePlan> plans_;
};

/// Memory of a device, freed in the order of the stream.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(const gpu::Policy& policy, std::int64_t bytes);
  ~DeviceMemory() { free(); }
  DeviceMemory(DeviceMemory&& other) noexcept { *this = std::move(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }

 private:
  void free() noexcept;

  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
  int device_ = 0;
  gpu::Stream stream_ = nullptr;
  gpu::MemoryResource* resource_ = nullptr;
};

class DeviceRun {
 public:
  explicit DeviceRun(std::shared_ptr<const Compiled> plan) : code(std::move(plan)) {}

  std::shared_ptr<const Compiled> code;
  std::optional<Failure> failure;
  std::vector<std::int64_t> sizes;  ///< of outputs: elements
  std::vector<DeviceMemory> outputs;
  std::vector<std::vector<std::byte>> bins;  ///< of histograms

  /// Throws Error.
  void execute(const gpu::Policy& policy, std::span<const Column> columns, std::span<const Scalar> parameters,
               std::int64_t events, const Limits& limits);
  void copy(int output, void* to) const;

 private:
  int device_ = 0;
  gpu::Stream stream_ = nullptr;
};

}  // namespace upsweep::plan::detail
