// SPDX-License-Identifier: Apache-2.0
// cuda/cub.cuh: converts operators to those of CUB.
#pragma once

#include <cuda/std/functional>

#include "upsweep/operators.hpp"

namespace upsweep::gpu {

/// Returns the operator for which CUB is tuned, if there is one.
inline ::cuda::std::plus<> tuned(Add) { return {}; }
template <class Op>
Op tuned(Op op) {
  return op;
}

}  // namespace upsweep::gpu
