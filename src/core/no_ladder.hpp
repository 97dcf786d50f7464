// SPDX-License-Identifier: Apache-2.0
// core/no_ladder.hpp: the rungs of queries, which are not a ladder, and operations that have no rungs at all.
#pragma once

#include <string_view>

namespace upsweep {

/// The rungs that run a query, one per backend.
inline constexpr std::string_view kQueryRungs[] = {"cpu.blocks", "cuda.generated"};

/// Throws if a rung is named: unknown_rung, or unsupported for a rung of any ladder.
void require_no_rung(std::string_view rung);

}  // namespace upsweep
