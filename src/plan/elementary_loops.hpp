// SPDX-License-Identifier: Apache-2.0
// plan/elementary_loops.hpp: the kernels of elementary functions: sin, exp, power and their kin.
#pragma once

#include "plan/kernels.hpp"

namespace upsweep::plan::detail {

/// Returns the kernel of an elementary function of float32 or float64; null if the operation is not one.
[[nodiscard]] ElementKernel elementary_loop(Op op, ElementType type, Isa isa) noexcept;

}  // namespace upsweep::plan::detail
