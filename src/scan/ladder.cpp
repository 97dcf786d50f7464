// SPDX-License-Identifier: Apache-2.0
// scan/ladder.cpp: the rungs of the scan ladder, in order, and which one the API runs.
#include "core/ladder.hpp"

#include <span>

#include "cuda/compiled.hpp"
#include "cuda/device_call.hpp"
#include "scan/ladder.hpp"
#include "scan/rungs.hpp"

namespace upsweep {
namespace {

using detail::ScanCall;

const char* any_call(const ScanCall&, const Policy&) noexcept { return nullptr; }

const char* broadcast_refusal(const ScanCall& call, const Policy& policy) noexcept {
  const bool checked = policy.overflow == Overflow::checked && call.op == Operator::add && is_integer(call.out_type);
  if (checked && call.in == call.out)
    return "cannot check for overflow in place: the broadcast no longer sees the input";
  return nullptr;
}

const char* simd_refusal(const ScanCall& call, const Policy& policy) noexcept {
  if (call.custom != nullptr) return "a custom operator or type has no vector form";
  return isa_refusal(policy.isa);
}

const char* simd_broadcast_refusal(const ScanCall& call, const Policy& policy) noexcept {
  const char* reason = simd_refusal(call, policy);
  return reason != nullptr ? reason : broadcast_refusal(call, policy);
}

const char* chained_refusal(const ScanCall&, const Policy& policy) noexcept { return isa_refusal(policy.isa); }

const char* std_par_refusal(const ScanCall& call, const Policy& policy) noexcept {
  if (call.custom != nullptr) return "runs the compiled operators and types only";
  if (call.in_type != call.out_type) return "needs the same type in and out";
  if (call.out_size < 4) return "is compiled for 4- and 8-byte elements only";
  if (call.exclusive && call.in == call.out)
    return "cannot scan exclusively in place: it reads what it has overwritten";
  // libstdc++ starts every chunk of floats from T{}, which is neutral for sums alone.
  if (is_float(call.out_type) && call.op != Operator::add) return "the library scans floats rightly with add only";
  if (policy.overflow == Overflow::checked && call.op == Operator::add && is_integer(call.out_type)) {
    return "cannot check for overflow";
  }
  return nullptr;
}

// ---- On a GPU: whether it is there at all is asked before (backend_refusal).

const char* taught(const ScanCall& call, const Policy&) noexcept {
  return teaching_refusal(call.op, call.in_type, call.out_type);
}

const char* one_block_refusal(const ScanCall& call, const Policy& policy) noexcept {
  return call.n > 1024 ? "is one block: at most 1024 elements" : taught(call, policy);
}

const char* tiles_refusal(const ScanCall& call, const Policy& policy) noexcept {
  if (call.exclusive && call.in == call.out) {
    return "cannot scan exclusively in place: a block reads the element before its tile";
  }
  return taught(call, policy);
}

const char* cub_refusal(const ScanCall& call, const Policy&) noexcept {
  if (call.custom != nullptr) return "runs the compiled operators and types only";
  return call.in_type != call.out_type ? "needs the same type in and out" : nullptr;
}

const char* cub_newer_refusal([[maybe_unused]] const ScanCall& call, [[maybe_unused]] const Policy& policy) noexcept {
#if UPSWEEP_HAS_NEWER_CUB
  return taught(call, policy);
#else
  return "not built: needs nvidia-cuda-cccl from PyPI";
#endif
}

const char* single_pass_refusal(const ScanCall& call, const Policy&) noexcept {
  if (call.custom != nullptr) return call.device != nullptr ? nullptr : "takes a custom operator from scan.cuh only";
  return compiled_refusal(call.op, call.in_type, call.out_type);
}

const char* lookahead_refusal(const ScanCall& call, const Policy& policy) noexcept {
  const auto has = call.device != nullptr ? call.device->has_lookahead : gpu::has_lookahead;
  return has(call.launch->device) ? single_pass_refusal(call, policy) : gpu::kNeedsLookahead;
}

// The constants of float_bound: the additions on the longest path to an output, beyond log2 n, halved and rounded up.
// cpu.chained: 2048 vectors of a block one after the other, 4 levels within a vector, and a block total that is itself
// off by up to 516 (512 additions per accumulator, 2 to join them, 4 within a vector); totals add up compensated.
// Trees: log2 of a tile and of the number of tiles, and one to add a tile's prefix, on every level.
constexpr FloatBound kTreeBound{.serial = false, .constant = 4};
constexpr Rung<const ScanCall> kLadder[] = {
    {{.id = "cpu.serial",
      .idea = "one loop: each output is the last one plus the next element",
      .needs = "any CPU",
      .traffic = "n read, n written"},
     &any_call,
     &scan::cpu_serial},
    {{.id = "cpu.threads",
      .idea = "segments alone, a scan of their totals, broadcast back",
      .needs = "any CPU",
      .traffic = "2n read, 2n written"},
     &broadcast_refusal,
     &scan::cpu_threads},
    {{.id = "cpu.simd",
      .idea = "log-step scans of vectors with a running carry",
      .needs = "compiled operator; AVX2, AVX-512 or baseline",
      .traffic = "n read, n written"},
     &simd_refusal,
     &scan::cpu_simd},
    {{.id = "cpu.simd_threads",
      .idea = "segments of vectors: both at once",
      .needs = "compiled operator; AVX2, AVX-512 or baseline",
      .traffic = "2n read, 2n written"},
     &simd_broadcast_refusal,
     &scan::cpu_simd_threads},
    {{.id = "cpu.std_par",
      .idea = "std::inclusive_scan(par_unseq) on oneTBB",
      .needs = "compiled operator; same type in and out",
      .traffic = "2n read, n written",
      .kind = Kind::library,
      .determinism = Determinism::no},
     &std_par_refusal,
     &scan::cpu_std_par},
    {{.id = "cpu.chained",
      .idea = "one pass: blocks in cache, linked by their carries",
      .needs = "any CPU",
      .traffic = "n read, n written",
      .float_bound = {.serial = false, .constant = 1300}},
     &chained_refusal,
     &scan::cpu_chained},
    {{.id = "cuda.one_thread",
      .idea = "the loop, in one thread",
      .needs = "any GPU",
      .traffic = "n read, n written",
      .backend = Backend::cuda},
     &taught,
     scan::cuda_one_thread},
    {{.id = "cuda.turn_taking",
      .idea = "a thread per element, one after the other",
      .needs = "any GPU",
      .traffic = "n read, n written",
      .backend = Backend::cuda},
     &tiles_refusal,
     scan::cuda_turn_taking},
    {{.id = "cuda.hillis_steele",
      .idea = "one block: strides 1, 2, 4, … in shared memory",
      .needs = "any GPU; at most 1024 elements",
      .traffic = "n read, n written",
      .backend = Backend::cuda,
      .float_bound = kTreeBound},
     &one_block_refusal,
     scan::cuda_hillis_steele},
    {{.id = "cuda.hillis_steele_global",
      .idea = "strides over the whole array, a launch for each",
      .needs = "any GPU; a copy of the array",
      .traffic = "n·(1 + log2 n) read and written",
      .backend = Backend::cuda,
      .float_bound = kTreeBound},
     &taught,
     scan::cuda_hillis_steele_global,
     scan::cuda_hillis_steele_global_workspace},
    {{.id = "cuda.hillis_steele_blocks",
      .idea = "strides within blocks, totals scanned, added back",
      .needs = "any GPU",
      .traffic = "2n read, 2n written",
      .backend = Backend::cuda,
      .float_bound = kTreeBound},
     &tiles_refusal,
     scan::cuda_hillis_steele_blocks,
     scan::cuda_hillis_steele_blocks_workspace},
    {{.id = "cuda.blelloch",
      .idea = "up-sweep, down-sweep in blocks, totals added back",
      .needs = "any GPU",
      .traffic = "2n read, 2n written",
      .backend = Backend::cuda,
      .float_bound = kTreeBound},
     &tiles_refusal,
     scan::cuda_blelloch,
     scan::cuda_blelloch_workspace},
    {{.id = "cuda.shuffle",
      .idea = "warps in registers, then blocks, totals added back",
      .needs = "any GPU",
      .traffic = "2n read, 2n written",
      .backend = Backend::cuda,
      .float_bound = kTreeBound},
     &tiles_refusal,
     scan::cuda_shuffle,
     scan::cuda_shuffle_workspace},
    {{.id = "cuda.thrust",
      .idea = "thrust::inclusive_scan",
      .needs = "any GPU",
      .traffic = "n read, n written",
      .kind = Kind::library,
      .backend = Backend::cuda,
      .determinism = Determinism::no},
     &taught,
     scan::cuda_thrust,
     scan::cuda_thrust_workspace},
    {{.id = "cuda.cub",
      .idea = "cub::DeviceScan",
      .needs = "any GPU",
      .traffic = "n read, n written",
      .kind = Kind::library,
      .backend = Backend::cuda,
      .determinism = Determinism::no},
     &cub_refusal,
     scan::cuda_cub,
     scan::cuda_cub_workspace},
    {{.id = "cuda.cub_newer",
      .idea = "cub::DeviceScan of a newer CUB than the toolkit's",
      .needs = "any GPU; nvidia-cuda-cccl from PyPI",
      .traffic = "n read, n written",
      .kind = Kind::library,
      .backend = Backend::cuda,
      .determinism = Determinism::no},
     &cub_newer_refusal,
     scan::cuda_cub_newer,
     scan::cuda_cub_newer_workspace},
    {{.id = "cuda.lookback",
      .idea = "one pass: tiles walk back to the last known prefix",
      .needs = "any GPU",
      .traffic = "n read, n written",
      .backend = Backend::cuda,
      .determinism = Determinism::no},
     &single_pass_refusal,
     scan::cuda_lookback,
     scan::cuda_lookback_workspace},
    {{.id = "cuda.lookahead",
      .idea = "one pass: every block folds all totals before it",
      .needs = "compute capability 9.0",
      .traffic = "n read, n written",
      .backend = Backend::cuda},
     &lookahead_refusal,
     scan::cuda_lookahead,
     scan::cuda_lookahead_workspace},
};

constexpr std::span<const Rung<const ScanCall>> kRungs = kLadder;
constexpr const Rung<const ScanCall>& kSerial = kLadder[0];
constexpr const Rung<const ScanCall>& kSimd = kLadder[2];
constexpr const Rung<const ScanCall>& kChained = kLadder[5];
static_assert(kSerial.info.id == detail::kInlineRung && kSimd.info.id == "cpu.simd" &&
              kChained.info.id == "cpu.chained");
constexpr const Rung<const ScanCall>& kLookback = kLadder[16];
constexpr const Rung<const ScanCall>& kLookahead = kLadder[17];
static_assert(kLookback.info.id == "cuda.lookback" && kLookahead.info.id == "cuda.lookahead");

// Waking threads takes some 10 us, in which one core scans 256 KB in its own cache.
constexpr std::int64_t kChainedBytes = std::int64_t{1} << 20;

}  // namespace

std::vector<RungInfo> scan_ladder() { return infos(kRungs); }

const Rung<const ScanCall>& scan_rung(const ScanCall& call, const Policy& policy) {
  if (!policy.rung.empty()) return named_rung(kRungs, call, policy);
  if (call.launch != nullptr) {
    const auto& rung = refusal_of(kLookahead, call, policy) == nullptr ? kLookahead : kLookback;
    if (const char* reason = refusal_of(rung, call, policy)) throw Error(Code::unsupported, reason);
    return rung;
  }
  // By length and type only: the choice must not depend on the machine, or the bits of a float scan would.
  if (call.n * call.out_size >= kChainedBytes) return kChained;
  return call.custom != nullptr ? kSerial : kSimd;
}

}  // namespace upsweep
