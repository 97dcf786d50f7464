// SPDX-License-Identifier: Apache-2.0
// problems/dense/scan/cuda_lookback.cu: one pass on any GPU: a tile walks back over totals until a tile has its prefix.
//
// Idea   Blocks take tiles in order, scan them and publish their totals. The prefix of a tile is added up from totals,
//        in a walk back from the neighboring tile. The walk ends at the first tile that has published its prefix. See
//        upsweep/detail/lookback_scan.cuh.
// Cost   n read, n written. Work 3n, depth n/(tile·blocks) and the walks.
// Needs  Any GPU. 8 to 32 bytes of workspace per 4 to 16 KB, zero before the first call.
// Limit  A block loads nothing while it waits for its prefix; other blocks of the same multiprocessor fill the gap.
//        cuda.lookahead keeps loading. Float sums may differ from run to run, because chance decides where a walk ends.
// From   D. Merrill, M. Garland, "Single-pass parallel prefix scan with decoupled look-back", NVR-2016-002.
#include "problems/dense/scan/cuda_compiled.cuh"

namespace upsweep::impl::scan {

#if UPSWEEP_HAS_CUDA
namespace {

Status launch(const detail::ScanCall& call, const Policy&) noexcept {
  if (call.device != nullptr) return call.device->lookback.run(call);
  return visit_type(call.in_type, [&]<class In>(std::type_identity<In>) { return lookback_from<In>(call); });
}

gpu::WorkspaceSize workspace(const detail::ScanCall& call) noexcept {
  if (call.device != nullptr) return call.device->lookback.workspace(call);
  return workspace_of_types(
      call, [&]<class Problem>(std::type_identity<Problem>) { return gpu::detail::lookback_bytes<Problem>(call.n); });
}

}  // namespace
#endif

extern const Rung cuda_lookback{.info = {.id = "cuda.lookback",
                                         .idea = "one pass: tiles walk back to the last prefix",
                                         .needs = "any GPU",
                                         .traffic = "n read, n written",
                                         .cost = "3n, n/(T·blocks)",
                                         .limit = "blocks load nothing while they wait; long walks",
                                         .determinism = Determinism::no},
                                .refusal = single_pass_refusal,
                                .run = launch,
                                .workspace = workspace};

}  // namespace upsweep::impl::scan
