// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/cuda_status.cuh: an error of the CUDA runtime as a Status.
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

/// After an error that is handled here, and before a call of CUB or Thrust: they ask the runtime for its last error, and would report one that the caller
/// has left as their own, even where they are only asked how much memory they need.
inline void forget_last_error() { (void)cudaGetLastError(); }

/// For rungs. The runtime's messages are static strings.
inline Status status_of(cudaError_t error) {
  if (error == cudaSuccess) return {};
  forget_last_error();  // reported here: the next call must not report it again
  return {code_of(error), kNoIndex, cudaGetErrorString(error)};
}

}  // namespace upsweep::gpu
