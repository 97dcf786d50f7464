// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_scan/scan_lists.hpp: scans all lists of a call, by plain loops or in SIMD lanes, on any
// number of workers.
#pragma once

#include "cpu/list_kernels.hpp"
#include "upsweep/detail/segmented_scan_call.hpp"
#include "upsweep/error.hpp"
#include "upsweep/policy.hpp"

namespace upsweep::impl::segmented_scan {

/// Scans the lists with the kernels. Lists of more than a block's elements are set aside; then all workers fold and
/// scan their blocks. If several lists are bad, the first one is reported.
Status scan_lists(const detail::SegmentedScanCall& call, const Policy& policy, const cpu::ListKernels& kernels,
                  int workers) noexcept;

}  // namespace upsweep::impl::segmented_scan
