// SPDX-License-Identifier: Apache-2.0
// plan/argsort.hpp: the positions that sort lists.
#pragma once

#include <cstdint>

#include "plan/kernels.hpp"

namespace upsweep::plan::detail {

/// out[k] ← the position of the element that belongs to place k. Stable; NaN first. `scratch` is as long as `out`.
void argsort(const Kernels& kernels, ElementType type, const void* x, const std::int32_t* offsets, std::int64_t lists,
             bool ascending, std::int32_t* out, std::int32_t* scratch) noexcept;

}  // namespace upsweep::plan::detail
