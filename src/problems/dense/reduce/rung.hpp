// SPDX-License-Identifier: Apache-2.0
// problems/dense/reduce/rung.hpp: what the rungs' files need to declare their rows of the ladder.
#pragma once

#include "core/ladder.hpp"
#include "cpu/refusals.hpp"
#include "cuda/compiled.hpp"
#include "upsweep/detail/scan_call.hpp"

namespace upsweep::impl::reduce {

using Rung = upsweep::Rung<const detail::ReduceCall>;

/// Returns the ladder, from the naive loop up.
std::vector<RungInfo> rungs();

// The constants of float_bound: the additions on the longest path within a block, beyond log2 n, halved and rounded up.
// Block totals are added with compensation. Plain blocks: 2^16. SIMD blocks: 2^16 / 32 per float64 accumulator lane, 2
// to join the accumulators, 3 or 4 within a vector.
inline constexpr FloatBound kPlainBound{.serial = false, .constant = 1 << 15};
inline constexpr FloatBound kSimdBound{.serial = false, .constant = 1030};

}  // namespace upsweep::impl::reduce
