// SPDX-License-Identifier: Apache-2.0
// scan/ladder.cpp: the rungs of the scan ladder, in order, and which one the API runs.
#include "core/ladder.hpp"

#include <span>

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

// The constants of float_bound: the additions on the longest path to an output, beyond log2 n, halved and rounded up.
// cpu.chained: 2048 vectors of a block one after the other, 4 levels within a vector, and a block total that is itself
// off by up to 516 (512 additions per accumulator, 2 to join them, 4 within a vector); totals add up compensated.
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
};

constexpr std::span<const Rung<const ScanCall>> kRungs = kLadder;
constexpr const Rung<const ScanCall>& kSerial = kLadder[0];
constexpr const Rung<const ScanCall>& kSimd = kLadder[2];
constexpr const Rung<const ScanCall>& kChained = kLadder[5];
static_assert(kSerial.info.id == detail::kInlineRung && kSimd.info.id == "cpu.simd" &&
              kChained.info.id == "cpu.chained");

// Waking threads takes some 10 us, in which one core scans 256 KB in its own cache.
constexpr std::int64_t kChainedBytes = std::int64_t{1} << 20;

}  // namespace

std::vector<RungInfo> scan_ladder() { return infos(kRungs); }

const Rung<const ScanCall>& scan_rung(const ScanCall& call, const Policy& policy) {
  if (!policy.rung.empty()) return named_rung(kRungs, call, policy);
  // By length and type only: the choice must not depend on the machine, or the bits of a float scan would.
  if (call.n * call.out_size >= kChainedBytes) return kChained;
  return call.custom != nullptr ? kSerial : kSimd;
}

}  // namespace upsweep
