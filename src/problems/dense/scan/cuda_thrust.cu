// SPDX-License-Identifier: Apache-2.0
// problems/dense/scan/cuda_thrust.cu: thrust::inclusive_scan, the algorithm that a C++ programmer tries first.
//
// Idea   Two lines that call a library.
// Cost   The cost of CUB's scan, which Thrust runs. In this rung, Thrust's temporary memory is in the workspace.
// Needs  Any GPU.
// Limit  As cuda.cub. By default Thrust allocates memory in every call and waits for the device.
// From   Thrust 3 (CUDA toolkit). "Evaluation task for Awkward Array GSoC project" (P. Das 2020) and "Parallel Prefix
//        Scan" compare with it.
#include "problems/dense/scan/cuda_elements.cuh"

#if UPSWEEP_HAS_CUDA
#include <thrust/functional.h>
#include <thrust/scan.h>

#include "cuda/thrust.cuh"
#endif

namespace upsweep::impl::scan {

#if UPSWEEP_HAS_CUDA
namespace {

Status launch(const detail::ScanCall& call, const Policy&) noexcept {
  return with_elements(call, [&]<class T, class Op>(const Elements<T, Op>& elements, T* out) {
    // The addition that the library is tuned for.
    const std::conditional_t<std::is_same_v<Op, Add>, thrust::plus<T>, Op> op{};
    const auto* in = elements.in;
    return gpu::run_thrust(*call.launch, [&](const auto& policy) {
      if (elements.exclusive) {
        thrust::exclusive_scan(policy, in, in + call.n, out, elements.init, op);
      } else if (elements.has_init) {
        thrust::inclusive_scan(policy, in, in + call.n, out, elements.init, op);
      } else {
        thrust::inclusive_scan(policy, in, in + call.n, out, op);
      }
    });
  });
}

gpu::WorkspaceSize workspace(const detail::ScanCall& call) noexcept {
  return {.scratch = gpu::ThrustScratch::bytes_for(call.n)};
}

}  // namespace
#endif

extern const Rung cuda_thrust{.info = {.id = "cuda.thrust",
                                       .idea = "thrust::inclusive_scan",
                                       .needs = "any GPU",
                                       .traffic = "n read, n written",
                                       .cost = "library",
                                       .limit = "blocks load nothing while they wait",
                                       .kind = Kind::library,
                                       .determinism = Determinism::no},
                              .refusal = taught,
                              .run = launch,
                              .workspace = workspace};

}  // namespace upsweep::impl::scan
