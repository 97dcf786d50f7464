// SPDX-License-Identifier: Apache-2.0
// scale/shards/scan_kernels.cu: the steps of a shard's scan for one element type, UPSWEEP_ELEMENT. Compiled once per
// type.
#include "scale/shards/steps.cuh"

namespace upsweep::shards {

template <>
Status step_from<UPSWEEP_ELEMENT>(const detail::ScanCall& call, const detail::ShardStep& step) noexcept {
  return with_operator<UPSWEEP_ELEMENT>(call, [&]<class Out, class Op>(std::type_identity<Out>, Op op) {
    return gpu::detail::run_shard<UPSWEEP_ELEMENT, Out, Op, true>(call, op, step);
  });
}

}  // namespace upsweep::shards
