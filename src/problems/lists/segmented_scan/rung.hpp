// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_scan/rung.hpp: what the files of the rungs declare their rows with.
#pragma once

#include <cstdint>

#include "core/ladder.hpp"
#include "cuda/compiled.hpp"
#include "cuda/list_facts.hpp"
#include "upsweep/detail/segmented_scan_call.hpp"

namespace upsweep::impl::segmented_scan {

/// How kernels share out lists.
enum class Way : std::uint8_t { thread_per_list, block_per_list, tiles };

using Rung = upsweep::Rung<const detail::SegmentedScanCall>;

/// The ladder, from the naive loop up.
std::vector<RungInfo> rungs();

/// Of rungs on a GPU.
inline const char* compiled_only(const detail::SegmentedScanCall& call, const Policy&) noexcept {
  return call.op == Operator::custom ? "runs the compiled operators and types only"
                                     : compiled_refusal(call.op, call.in_type, call.out_type);
}
inline const char* heads_only(const detail::SegmentedScanCall& call, const Policy& policy) noexcept {
  if (!gpu::fits_heads(call.n)) return "takes fewer than 2^37 elements";
  return compiled_only(call, policy);
}

inline constexpr const char* kOnePass = "content and bounds read, as much content written";

}  // namespace upsweep::impl::segmented_scan
