// SPDX-License-Identifier: Apache-2.0
// cuda/check.hpp: converts an error of the CUDA runtime to an Error, and releases handles of the runtime.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "upsweep/detail/cuda_status.cuh"
#include "upsweep/error.hpp"

namespace upsweep::gpu {

/// Throws device_memory, no_device or device_failed, with the runtime's message after `what`.
inline void require(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  forget_last_error();  // reported here: the next call must not report it again
  throw Error(code_of(error), std::string(what) + ": " + cudaGetErrorString(error));
}

/// A handle of the CUDA runtime that is released at the end of this object's lifetime.
template <class Handle, auto kGiveBack>
class Owned {
 public:
  Owned() = default;
  ~Owned() {
    if (handle_ != nullptr) (void)kGiveBack(handle_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  [[nodiscard]] Handle get() const { return handle_; }

 protected:
  Handle handle_ = nullptr;
};

}  // namespace upsweep::gpu
