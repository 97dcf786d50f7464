// SPDX-License-Identifier: Apache-2.0
// tests/cuda_architectures_90.cu: the file that is compiled only for compute capability 9.0.
#include "cuda_architectures.cuh"

namespace upsweep::tests {

static_assert(gpu::tuning::kCapability == 90, "a file has the tuning of the GPUs that it is compiled for");

std::string scan_compiled_for_90(std::string& rung) { return scan_here(rung); }

}  // namespace upsweep::tests
