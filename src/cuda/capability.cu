// SPDX-License-Identifier: Apache-2.0
// cuda/capability.cu: which devices the library's own kernels were compiled for.
#include "upsweep/detail/capability.cuh"

#include "cuda/device_call.hpp"

namespace upsweep::gpu {

bool has_lookahead(int capability) noexcept { return detail::has_lookahead(capability); }

}  // namespace upsweep::gpu
