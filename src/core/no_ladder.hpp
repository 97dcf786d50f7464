// SPDX-License-Identifier: Apache-2.0
// core/no_ladder.hpp: the rungs of queries, which are no ladder, and operations that have no rungs at all.
#pragma once

#include <string_view>

namespace upsweep {

/// What runs a query, by backend.
inline constexpr std::string_view kQueryRungs[] = {"cpu.blocks", "cuda.generated"};

/// Throws where a rung is asked for by name: unknown_rung, or unsupported for a rung of some ladder.
void require_no_rung(std::string_view rung);

}  // namespace upsweep
