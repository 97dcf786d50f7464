// SPDX-License-Identifier: Apache-2.0
// cuda/memory_pool.hpp: the pool of a device's memory that workspaces come from.
#pragma once

#include <cuda_runtime_api.h>

namespace upsweep::gpu {

/// This device's pool, made by the first call and there until the process ends. A pool of our own: the default one is the
/// application's to tune, and gives all it has back to the driver when a call waits, which costs the next call some 200 us.
cudaMemPool_t pool_of(int device);

}  // namespace upsweep::gpu
