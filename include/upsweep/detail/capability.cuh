// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/capability.cuh: what code nvcc compiled here for a device, as some kernels are empty in older code.
#pragma once

#include <initializer_list>

namespace upsweep::gpu::detail {

/// Compute capability, times ten, that this translation unit's code on such a device was compiled for; 0: it has none.
constexpr int code_for(int capability) {
  int best = 0;
  for (const int architecture : {__CUDA_ARCH_LIST__}) {
    if (architecture <= capability * 10 && architecture > best) best = architecture;
  }
  return best / 10;
}

/// Bulk copies and clusters came with 9.0.
constexpr bool has_lookahead(int capability) noexcept { return code_for(capability) >= 90; }

}  // namespace upsweep::gpu::detail
