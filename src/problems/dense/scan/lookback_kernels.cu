// SPDX-License-Identifier: Apache-2.0
// problems/dense/scan/lookback_kernels.cu: cuda.lookback for one element type, UPSWEEP_ELEMENT; compiled per type.
#include "problems/dense/scan/cuda_compiled.cuh"

namespace upsweep::impl::scan {

template <>
Status lookback_from<UPSWEEP_ELEMENT>(const detail::ScanCall& call) noexcept {
  return with_operator<UPSWEEP_ELEMENT>(call, [&]<class Out, class Op>(std::type_identity<Out>, Op op) {
    return gpu::detail::run_lookback<UPSWEEP_ELEMENT, Out, Op, true>(call, op);
  });
}

}  // namespace upsweep::impl::scan
