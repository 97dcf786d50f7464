// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/cuda_status.cuh: converts an error of the CUDA runtime to a Status.
#pragma once

#include <cuda_runtime_api.h>

#include "upsweep/error.hpp"

namespace upsweep::gpu {

inline Code code_of(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return Code::ok;
    case cudaErrorMemoryAllocation:
      return Code::device_memory;
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorInvalidDevice:
      return Code::no_device;
    default:
      return Code::device_failed;
  }
}

/// Clears the last error of the CUDA runtime. Call it after an error that is handled here, and before a call of CUB or
/// Thrust. They query the last error, and would report an error that the caller left as their own. They do so even in
/// calls that only query the required memory.
inline void forget_last_error() { (void)cudaGetLastError(); }

/// Converts an error for rungs. The runtime's messages are static strings.
inline Status status_of(cudaError_t error) {
  if (error == cudaSuccess) return {};
  forget_last_error();  // reported here: the next call must not report it again
  return {code_of(error), kNoIndex, cudaGetErrorString(error)};
}

}  // namespace upsweep::gpu
