// SPDX-License-Identifier: Apache-2.0
// bench/gpu_ladder.hpp: climbs the CUDA rungs of a ladder: verified on the host, timed by events on the device.
#pragma once

#include <vector>

#include "ladder_bench.hpp"

namespace upsweep::bench {

/// A group per type and size. Throws Error not_built, no_device, and unsupported for input from files.
std::vector<Group> climb_on_gpu(const LadderRequest& request, const Progress& progress);

/// The same of the aggregate ladder, on a GPU that is there: columns on it, in pinned memory, or sent there each time.
std::vector<Group> climb_aggregate_on_gpu(const LadderRequest& request, const Progress& progress);

/// The same of the subset-sum ladder.
std::vector<Group> climb_subset_sum_on_gpu(const LadderRequest& request, const Progress& progress);

}  // namespace upsweep::bench
