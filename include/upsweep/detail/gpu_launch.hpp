// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/gpu_launch.hpp: the device, stream and memory that a rung on a GPU runs with.
#pragma once

#include <cstdint>

#include "upsweep/gpu.hpp"

namespace upsweep::gpu {

struct Launch {
  int device = 0;  ///< made current before the rung runs
  int multiprocessors = 0;
  Stream stream = nullptr;
  void* kept = nullptr;  ///< see WorkspaceSize
  void* scratch = nullptr;
  WorkspaceSize size = {};  ///< at least the size that the rung requested
};

}  // namespace upsweep::gpu
