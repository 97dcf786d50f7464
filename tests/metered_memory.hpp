// SPDX-License-Identifier: Apache-2.0
// tests/metered_memory.hpp: device memory that records how much was in use at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>

#include "upsweep/gpu.hpp"

namespace upsweep::tests {

class MeteredMemory final : public gpu::MemoryResource {
 public:
  /// `from`: where it is allocated; null: nowhere, for an emulated device.
  explicit MeteredMemory(gpu::MemoryResource* from) : from_(from) {}

  void* allocate(std::int64_t bytes, gpu::Stream stream) override {
    const std::lock_guard lock(mutex_);
    used_ += bytes;
    most_ = std::max(most_, used_);
    return from_ != nullptr ? from_->allocate(bytes, stream) : nullptr;
  }
  void deallocate(void* memory, std::int64_t bytes, gpu::Stream stream) noexcept override {
    const std::lock_guard lock(mutex_);
    used_ -= bytes;
    if (from_ != nullptr) from_->deallocate(memory, bytes, stream);
  }

  [[nodiscard]] std::int64_t used() const { return used_; }
  [[nodiscard]] std::int64_t most() const { return most_; }

 private:
  gpu::MemoryResource* from_;
  std::mutex mutex_;
  std::int64_t used_ = 0;
  std::int64_t most_ = 0;
};

}  // namespace upsweep::tests
