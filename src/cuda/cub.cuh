// SPDX-License-Identifier: Apache-2.0
// cuda/cub.cuh: operators as CUB knows them.
#pragma once

#include <cuda/std/functional>

#include "upsweep/operators.hpp"

namespace upsweep::gpu {

/// The operator that CUB is tuned for, where there is one.
inline ::cuda::std::plus<> tuned(Add) { return {}; }
template <class Op>
Op tuned(Op op) {
  return op;
}

}  // namespace upsweep::gpu
