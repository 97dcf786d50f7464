// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_scan/rung.hpp: types and constants that the files of the rungs share.
#pragma once

#include <cstdint>

#include "core/ladder.hpp"
#include "cuda/compiled.hpp"
#include "cuda/list_facts.hpp"
#include "upsweep/detail/segmented_scan_call.hpp"

namespace upsweep::impl::segmented_scan {

/// The strategy with which kernels divide lists.
enum class Way : std::uint8_t { thread_per_list, block_per_list, tiles };

using Rung = upsweep::Rung<const detail::SegmentedScanCall>;

/// The ladder, starting with the naive loop.
std::vector<RungInfo> rungs();

/// Refusals of GPU rungs.
inline const char* compiled_only(const detail::SegmentedScanCall& call, const Policy&) noexcept {
  return call.op == Operator::custom ? "supports only compiled operators and types"
                                     : compiled_refusal(call.op, call.in_type, call.out_type);
}
inline const char* heads_only(const detail::SegmentedScanCall& call, const Policy& policy) noexcept {
  if (!gpu::fits_heads(call.n)) return "supports fewer than 2^37 elements";
  return compiled_only(call, policy);
}

inline constexpr const char* kOnePass = "content and bounds read, outputs written";

}  // namespace upsweep::impl::segmented_scan
