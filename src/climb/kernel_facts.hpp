// SPDX-License-Identifier: Apache-2.0
// climb/kernel_facts.hpp: which kernels a run launches: their blocks, registers, shared memory and occupancy.
#pragma once

#include <functional>
#include <vector>

#include "upsweep/climb.hpp"
#include "upsweep/gpu.hpp"

namespace upsweep::gpu {

/// Captures a run on the stream into a CUDA graph, which is not launched, and asks the runtime about each of its
/// kernels. Returns nothing if the run cannot be captured.
std::vector<Kernel> kernels_of(Stream stream, const std::function<void()>& run);

}  // namespace upsweep::gpu
