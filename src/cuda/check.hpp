// SPDX-License-Identifier: Apache-2.0
// cuda/check.hpp: an error of the CUDA runtime as an Error.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "upsweep/detail/cuda_status.hpp"
#include "upsweep/error.hpp"

namespace upsweep::gpu {

/// Throws device_memory, no_device or device_failed, with the runtime's message after `what`.
inline void require(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  forget_last_error();  // reported here: the next call must not report it again
  throw Error(code_of(error), std::string(what) + ": " + cudaGetErrorString(error));
}

}  // namespace upsweep::gpu
