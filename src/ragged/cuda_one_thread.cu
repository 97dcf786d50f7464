// SPDX-License-Identifier: Apache-2.0
// ragged/cuda_one_thread.cu: the reference kernel as it stands, on one thread of a GPU.
//
// Idea   cpu.serial in a kernel of one thread.
// Cost   24 bytes per list of int64. Work 2n, depth n.
// Needs  Any GPU.
// Limit  The latency of memory and of one addition: a ten-thousandth of the device. cuda.turn_taking has many threads
//        and is no faster; cuda.hillis_steele_global is.
// From   Awkward Array's own CUDA kernel of compact_offsets, where both reports begin.
#include "cuda/in_order.cuh"
#include "ragged/cuda_lists.cuh"
#include "ragged/rungs.hpp"

namespace upsweep::ragged {

Status cuda_one_thread(detail::RaggedCall& call, const Policy&) noexcept {
  return with_lengths(call, [&](const auto& lengths, std::int64_t* out) {
    return gpu::status_of(gpu::scan_by_one_thread(lengths, out, call.n, call.launch->stream));
  });
}

}  // namespace upsweep::ragged
