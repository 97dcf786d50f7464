// SPDX-License-Identifier: Apache-2.0
// reduce/ladder.cpp: the rungs of the reduce ladder, in order, and which one the API runs.
#include "reduce/ladder.hpp"

#include <span>

#include "cuda/compiled.hpp"
#include "reduce/rungs.hpp"

namespace upsweep {
namespace {

using detail::ReduceCall;

const char* any_call(const ReduceCall&, const Policy&) noexcept { return nullptr; }

const char* simd_refusal(const ReduceCall& call, const Policy& policy) noexcept {
  if (call.custom != nullptr) return "a custom operator or type has no vector form";
  return isa_refusal(policy.isa);
}

const char* std_par_refusal(const ReduceCall& call, const Policy& policy) noexcept {
  if (call.custom != nullptr) return "runs the compiled operators and types only";
  if (call.in_type != call.out_type) return "needs the same type in and out";
  if (call.out_size < 4) return "is compiled for 4- and 8-byte elements only";
  if (policy.overflow == Overflow::checked && call.op == Operator::add && is_integer(call.out_type)) {
    return "cannot check for overflow";
  }
  return nullptr;
}

// ---- On a GPU: whether it is there at all is asked before (backend_refusal).

const char* taught(const ReduceCall& call, const Policy&) noexcept {
  return teaching_refusal(call.op, call.in_type, call.out_type);
}

const char* cub_refusal(const ReduceCall& call, const Policy&) noexcept {
  return call.custom != nullptr ? "runs the compiled operators and types only"
                                : compiled_refusal(call.op, call.in_type, call.out_type);
}

const char* one_kernel_refusal(const ReduceCall& call, const Policy&) noexcept {
  if (call.custom == nullptr) return compiled_refusal(call.op, call.in_type, call.out_type);
  return call.device != nullptr ? nullptr : "takes a custom operator from reduce.cuh only";
}

// The constants of float_bound: the additions on the longest path within a block, beyond log2 n, halved and rounded up;
// block totals add up compensated. Plain blocks: 2^16. SIMD blocks: 2^16 / 32 per float64 accumulator lane, 2 to join
// the accumulators, 3 or 4 within a vector.
constexpr FloatBound kPlainBound{.serial = false, .constant = 1 << 15};
constexpr FloatBound kSimdBound{.serial = false, .constant = 1030};

constexpr Rung<const ReduceCall> kLadder[] = {
    {{.id = "cpu.serial",
      .idea = "one loop with one running value",
      .needs = "any CPU",
      .traffic = "n read",
      .float_bound = kPlainBound},
     &any_call,
     &reduction::cpu_serial},
    {{.id = "cpu.threads",
      .idea = "threads fold blocks, the totals are folded in order",
      .needs = "any CPU",
      .traffic = "n read",
      .float_bound = kPlainBound},
     &any_call,
     &reduction::cpu_threads},
    {{.id = "cpu.simd",
      .idea = "four vector accumulators on one thread",
      .needs = "compiled operator; AVX2, AVX-512 or baseline",
      .traffic = "n read",
      .float_bound = kSimdBound},
     &simd_refusal,
     &reduction::cpu_simd},
    {{.id = "cpu.std_par",
      .idea = "std::reduce(par_unseq) on oneTBB",
      .needs = "compiled operator; same type in and out",
      .traffic = "n read",
      .kind = Kind::library,
      .determinism = Determinism::no},
     &std_par_refusal,
     &reduction::cpu_std_par},
    {{.id = "cpu.simd_threads",
      .idea = "vector folds of blocks on every core",
      .needs = "compiled operator; AVX2, AVX-512 or baseline",
      .traffic = "n read",
      .float_bound = kSimdBound},
     &simd_refusal,
     &reduction::cpu_simd_threads},
    {{.id = "cuda.shuffle",
      .idea = "warps by shuffles, blocks, then a launch for totals",
      .needs = "any GPU",
      .traffic = "n read",
      .backend = Backend::cuda},
     &taught,
     reduction::cuda_shuffle,
     reduction::cuda_shuffle_workspace},
    {{.id = "cuda.cub",
      .idea = "cub::DeviceReduce",
      .needs = "any GPU",
      .traffic = "n read",
      .kind = Kind::library,
      .backend = Backend::cuda,
      .determinism = Determinism::no},
     &cub_refusal,
     reduction::cuda_cub,
     reduction::cuda_cub_workspace},
    {{.id = "cuda.one_kernel",
      .idea = "long parts per warp; the last block folds the totals",
      .needs = "any GPU",
      .traffic = "n read",
      .backend = Backend::cuda},
     &one_kernel_refusal,
     reduction::cuda_one_kernel,
     reduction::cuda_one_kernel_workspace},
};

constexpr std::span<const Rung<const ReduceCall>> kRungs = kLadder;
constexpr const Rung<const ReduceCall>& kSerial = kLadder[0];
constexpr const Rung<const ReduceCall>& kThreads = kLadder[1];
constexpr const Rung<const ReduceCall>& kSimd = kLadder[2];
constexpr const Rung<const ReduceCall>& kSimdThreads = kLadder[4];
static_assert(kSerial.info.id == detail::kInlineRung && kThreads.info.id == "cpu.threads" &&
              kSimd.info.id == "cpu.simd" && kSimdThreads.info.id == "cpu.simd_threads");

constexpr const Rung<const ReduceCall>& kOneKernel = kLadder[7];
static_assert(kOneKernel.info.id == "cuda.one_kernel");

// Waking threads takes some 10 us, in which one core reads 256 KB from its own cache.
constexpr std::int64_t kThreadsBytes = std::int64_t{1} << 20;

}  // namespace

std::vector<RungInfo> reduce_ladder() { return infos(kRungs); }

const Rung<const ReduceCall>& reduce_rung(const ReduceCall& call, const Policy& policy) {
  if (!policy.rung.empty()) return named_rung(kRungs, call, policy);
  if (call.launch != nullptr) {
    if (const char* reason = refusal_of(kOneKernel, call, policy)) throw Error(Code::unsupported, reason);
    return kOneKernel;
  }
  const bool large = call.n * call.in_size >= kThreadsBytes;
  if (call.custom != nullptr) return large ? kThreads : kSerial;
  return large ? kSimdThreads : kSimd;
}

}  // namespace upsweep
