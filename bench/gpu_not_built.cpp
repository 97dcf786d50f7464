// SPDX-License-Identifier: Apache-2.0
// bench/gpu_not_built.cpp: what stands in for the benchmarks on a GPU in a build without CUDA.
#include "gpu_ladder.hpp"
#include "gpu_link.hpp"
#include "upsweep/error.hpp"

namespace upsweep::bench {

std::vector<Group> climb_on_gpu(const LadderRequest&, const Progress&) {
  throw Error(Code::not_built, "this build of upsweep has no CUDA");
}

LinkTimes measure_link(int) { throw Error(Code::not_built, "this build of upsweep has no CUDA"); }

}  // namespace upsweep::bench
