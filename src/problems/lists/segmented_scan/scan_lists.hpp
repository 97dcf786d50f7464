// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_scan/scan_lists.hpp: scans of all lists of a call, by plain loops or side by side, on any number of workers.
#pragma once

#include "cpu/list_kernels.hpp"
#include "upsweep/detail/segmented_scan_call.hpp"
#include "upsweep/error.hpp"
#include "upsweep/policy.hpp"

namespace upsweep::impl::segmented_scan {

/// Scans the lists by the kernels. Those of more than a block's elements are set aside, and their blocks are then folded and
/// scanned by all workers. Of what is bad the first list is reported.
Status scan_lists(const detail::SegmentedScanCall& call, const Policy& policy, const cpu::ListKernels& kernels,
                  int workers) noexcept;

}  // namespace upsweep::impl::segmented_scan
