// SPDX-License-Identifier: Apache-2.0
// cuda/thrust_scratch.hpp: the workspace as the allocator that Thrust asks for its temporary memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

namespace upsweep::gpu {

/// Thrust asks once per call, by type.
struct ThrustScratch {
  using value_type = char;
  char* memory;
  std::int64_t bytes;

  char* allocate(std::ptrdiff_t wanted) const {
    if (wanted > bytes) throw std::bad_alloc();
    return memory;
  }
  void deallocate(char*, std::size_t) const {}

  /// A tile of Thrust's scan has at least 1024 elements and 16 bytes of state; some more for alignment.
  static constexpr std::int64_t bytes_for(std::int64_t n) { return (1 << 16) + n / 1024 * 32; }
};

}  // namespace upsweep::gpu
