// SPDX-License-Identifier: Apache-2.0
// scale/shards/steps.cuh: the steps of a shard's scan with the library's operators.
#pragma once

#include "cuda/compiled.hpp"
#include "upsweep/detail/shard_scan.cuh"

namespace upsweep::shards {

/// Runs a step of a call whose elements have type In. It is compiled once per type, in scan_kernels.cu.
template <class In>
Status step_from(const detail::ScanCall& call, const detail::ShardStep& step) noexcept;

}  // namespace upsweep::shards
