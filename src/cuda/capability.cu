// SPDX-License-Identifier: Apache-2.0
// cuda/capability.cu: whether the library's own kernels run look-ahead on a device.
#include "upsweep/detail/capability.cuh"

#include "cuda/device_call.hpp"

namespace upsweep::gpu {

const char* lookahead_refusal(int device) noexcept { return detail::lookahead_refusal<>(device); }

}  // namespace upsweep::gpu
