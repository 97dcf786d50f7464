// SPDX-License-Identifier: Apache-2.0
// scale/shards/one_thread.cuh: launches one-thread kernels, which compare the members' results, in a member's stream.
#pragma once

#include "cuda/check.hpp"
#include "upsweep/detail/kernel_launch.cuh"
#include "upsweep/gpu.hpp"

namespace upsweep::shards {

template <class... Parameters, class... Arguments>
void launch_one(void (*kernel)(Parameters...), gpu::Stream stream, Arguments... arguments) {
  gpu::require(gpu::detail::launch({.blocks = 1, .threads = 1, .stream = stream}, kernel, arguments...),
               "launching a kernel");
}

}  // namespace upsweep::shards
