// SPDX-License-Identifier: Apache-2.0
// problems/dense/reduce/cuda_one_kernel.cu: one kernel at the rate of reading: warps fold long work units.
//
// Idea   A warp reads a work unit, a contiguous range of the array, with 64 bytes per lane in flight. Each lane keeps
//        one value, and shuffles are used only once, at the end. Blocks write their totals, and the last block to end
//        folds all totals in order. See upsweep/detail/device_reduce.cuh.
// Cost   n read. Work n, depth n/(32·8448) + log2 n.
// Needs  Any GPU. A few hundred bytes of workspace, zero before the first call, and scratch for 1056 totals.
// Limit  The read rate of the memory.
// From   The last-block reduction of the CUDA samples (threadFenceReduction).
#include "problems/dense/reduce/cuda_compiled.cuh"

namespace upsweep::impl::reduce {

namespace {

#if UPSWEEP_HAS_CUDA
Status launch(const detail::ReduceCall& call, const Policy&) noexcept {
  if (call.device != nullptr) return call.device->run(call);
  return visit_type(call.in_type, [&]<class In>(std::type_identity<In>) { return one_kernel_from<In>(call); });
}

gpu::WorkspaceSize workspace(const detail::ReduceCall& call) noexcept {
  if (call.device != nullptr) return call.device->workspace(call);
  return visit_type(call.in_type, [&]<class In>(std::type_identity<In>) {
    // The output is at most 8 bytes, and the size does not depend on the operator.
    return gpu::detail::reduce_bytes<gpu::detail::ReduceProblem<In, std::int64_t, Add, true>>(call.n);
  });
}
#endif

const char* one_kernel_refusal(const detail::ReduceCall& call, const Policy&) noexcept {
  if (call.op != Operator::custom) return compiled_refusal(call.op, call.in_type, call.out_type);
  return call.device != nullptr ? nullptr : "takes a custom operator from reduce.cuh only";
}

}  // namespace

extern const Rung cuda_one_kernel{.info = {.id = "cuda.one_kernel",
                                           .idea = "a long work unit per warp; the last block folds the totals",
                                           .needs = "any GPU",
                                           .traffic = "n read",
                                           .cost = "n, n/(32·8448)",
                                           .limit = "the memory"},
                                  .refusal = one_kernel_refusal,
                                  .run = launch,
                                  .workspace = workspace};

}  // namespace upsweep::impl::reduce
