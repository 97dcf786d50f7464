// SPDX-License-Identifier: Apache-2.0
// segmented/lanes_kernels.cu: cuda.lanes for elements kept as one type, UPSWEEP_ELEMENT: compiled once for each.
#include "segmented/cuda_lanes.cuh"

namespace upsweep::segmented {

template <>
Status lanes_on<UPSWEEP_ELEMENT>(const detail::SegmentedCall& call) noexcept {
  return with_status(call, [&] {
    cudaError_t error = cudaErrorNotSupported;
    (void)with_reducer<UPSWEEP_ELEMENT>(call, [&]<class R>(const R& reducer) -> Status {
      static_assert(kSlotBytes<typename R::Value> <= kCompiledSlotBytes);
      error = launch_lanes(call, reducer);
      return {};
    });
    return error;
  });
}

}  // namespace upsweep::segmented
