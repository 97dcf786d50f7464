// SPDX-License-Identifier: Apache-2.0
// problems/dense/reduce/cuda_cub.cu: cub::DeviceReduce, a CUDA programmer's first choice.
//
// Idea   Blocks fold tiles with vector loads and write one total each. A second kernel folds the totals.
// Cost   n read.
// Needs  Any GPU. Temporary memory of the size that CUB requests.
// Limit  A second kernel; the memory.
// From   CUB 3 of the CUDA toolkit.
#include "problems/dense/reduce/cuda_compiled.cuh"

namespace upsweep::impl::reduce {

namespace {

#if UPSWEEP_HAS_CUDA
Status launch(const detail::ReduceCall& call, const Policy&) noexcept {
  return visit_type(call.in_type, [&]<class In>(std::type_identity<In>) { return cub_from<In>(call); });
}

gpu::WorkspaceSize workspace(const detail::ReduceCall& call) noexcept {
  return visit_type(call.in_type, [&]<class In>(std::type_identity<In>) -> gpu::WorkspaceSize {
    return {.scratch = cub_bytes_from<In>(call)};
  });
}
#endif

const char* cub_refusal(const detail::ReduceCall& call, const Policy&) noexcept {
  return call.op == Operator::custom ? "runs the compiled operators and types only"
                                     : compiled_refusal(call.op, call.in_type, call.out_type);
}

}  // namespace

extern const Rung cuda_cub{.info = {.id = "cuda.cub",
                                    .idea = "cub::DeviceReduce",
                                    .needs = "any GPU",
                                    .traffic = "n read",
                                    .cost = "library",
                                    .limit = "a second launch",
                                    .kind = Kind::library,
                                    .determinism = Determinism::no},
                           .refusal = cub_refusal,
                           .run = launch,
                           .workspace = workspace};

}  // namespace upsweep::impl::reduce
