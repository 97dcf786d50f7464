// SPDX-License-Identifier: Apache-2.0
// cuda/thrust.cuh: Thrust's algorithms in a call's stream, with its workspace for their temporary memory.
#pragma once

#include <thrust/execution_policy.h>

#include <cstddef>
#include <cstdint>
#include <new>

#include "upsweep/detail/cuda_status.cuh"
#include "upsweep/detail/gpu_launch.hpp"
#include "upsweep/error.hpp"

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

/// Calls run(policy), which calls an algorithm.
template <class Run>
Status run_thrust(const Launch& launch, Run run) noexcept try {
  ThrustScratch scratch{static_cast<char*>(launch.scratch), launch.size.scratch};
  forget_last_error();
  run(thrust::cuda::par_nosync(scratch).on(launch.stream));
  return {};  // a failed launch has thrown
} catch (const std::bad_alloc&) {
  return {Code::device_memory, kNoIndex, "Thrust needs more temporary memory than its workspace has"};
} catch (...) {
  return {Code::device_failed, kNoIndex, "Thrust failed"};
}

}  // namespace upsweep::gpu
