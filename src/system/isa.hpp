// SPDX-License-Identifier: Apache-2.0
// system/isa.hpp: the instruction sets that this CPU supports and the library has kernels for.
#pragma once

#include "upsweep/policy.hpp"

namespace upsweep {

/// Returns the widest instruction set that this CPU supports and upsweep has kernels for.
[[nodiscard]] Isa best_isa() noexcept;
/// Returns whether this CPU supports the instruction set.
[[nodiscard]] bool has_isa(Isa isa) noexcept;

}  // namespace upsweep
