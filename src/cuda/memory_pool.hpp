// SPDX-License-Identifier: Apache-2.0
// cuda/memory_pool.hpp: the pool of a device's memory from which workspaces are allocated.
#pragma once

#include <cuda_runtime_api.h>

namespace upsweep::gpu {

/// Returns this device's pool, created by the first call and kept until the process ends. It is separate from the
/// default pool, which the application may tune. When a call waits, the default pool returns all free memory to the
/// driver. The next call would then take about 200 us longer.
cudaMemPool_t pool_of(int device);

}  // namespace upsweep::gpu
