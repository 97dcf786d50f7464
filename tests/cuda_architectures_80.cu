// SPDX-License-Identifier: Apache-2.0
// tests/cuda_architectures_80.cu: the file that is compiled only for compute capability 8.0.
#include "cuda_architectures.cuh"

namespace upsweep::tests {

static_assert(gpu::tuning::kCapability == 80, "a file has the tuning of the GPUs that it is compiled for");

std::string scan_compiled_for_80(std::string& rung) { return scan_here(rung); }

}  // namespace upsweep::tests
