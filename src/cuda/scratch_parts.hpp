// SPDX-License-Identifier: Apache-2.0
// cuda/scratch_parts.hpp: divides a call's scratch memory into consecutive arrays.
#pragma once

#include <cstddef>
#include <cstdint>

namespace upsweep::gpu {

constexpr std::int64_t divided_up(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }

/// Arrays begin at multiples of 256 bytes. Without memory they are null, and bytes() returns the total size.
class ScratchParts {
 public:
  explicit ScratchParts(void* memory) : memory_(static_cast<std::byte*>(memory)) {}

  template <class T>
  T* take(std::int64_t count) {
    std::byte* const part = memory_ == nullptr ? nullptr : memory_ + bytes_;
    bytes_ += divided_up(count * std::int64_t{sizeof(T)}, 256) * 256;
    return reinterpret_cast<T*>(part);
  }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  std::byte* memory_;
  std::int64_t bytes_ = 0;
};

}  // namespace upsweep::gpu
