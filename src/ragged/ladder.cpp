// SPDX-License-Identifier: Apache-2.0
// ragged/ladder.cpp: the rungs of the ragged ladder, in order, and which one the API runs.
#include "ragged/ladder.hpp"

#include <span>

#include "cuda/device_call.hpp"
#include "ragged/rungs.hpp"

namespace upsweep {
namespace {

using detail::RaggedCall;

const char* any_call(const RaggedCall&, const Policy&) noexcept { return nullptr; }

const char* chained_refusal(const RaggedCall&, const Policy& policy) noexcept { return isa_refusal(policy.isa); }

constexpr const char* kNotAdjacent = "stops are not the starts one place on";

bool is_adjacent(const RaggedCall& call) {
  const auto* starts = static_cast<const std::byte*>(call.starts);
  return call.n > 0 && call.stops == starts + size_of(call.type);
}

const char* adjacent_refusal(const RaggedCall& call, const Policy& policy) noexcept {
  return is_adjacent(call) ? isa_refusal(policy.isa) : kNotAdjacent;
}

// ---- On a GPU: whether it is there at all is asked before (backend_refusal).

const char* cuda_adjacent_refusal(const RaggedCall& call, const Policy&) noexcept {
  return is_adjacent(call) ? nullptr : kNotAdjacent;
}

const char* lookahead_refusal(const RaggedCall& call, const Policy&) noexcept {
  return gpu::has_lookahead(call.launch->device) ? nullptr : gpu::kNeedsLookahead;
}

constexpr Rung<RaggedCall> kLadder[] = {
    {{.id = "cpu.serial",
      .idea = "the reference kernel: check, subtract, add",
      .needs = "any CPU",
      .traffic = "2n read, n written"},
     &any_call,
     &ragged::cpu_serial},
    {{.id = "cpu.threads",
      .idea = "segments alone, a scan of their totals, broadcast back",
      .needs = "any CPU",
      .traffic = "3n read, 2n written"},
     &any_call,
     &ragged::cpu_threads},
    {{.id = "cpu.chained",
      .idea = "one pass: difference, checks and scan of blocks in cache",
      .needs = "any CPU",
      .traffic = "2n read, n written"},
     &chained_refusal,
     &ragged::cpu_chained},
    {{.id = "cpu.adjacent",
      .idea = "no scan: stops are the starts one place on",
      .needs = "stops == starts + 1",
      .traffic = "n read, n written"},
     &adjacent_refusal,
     &ragged::cpu_adjacent},
    {{.id = "cuda.one_thread",
      .idea = "the reference kernel, in one thread",
      .needs = "any GPU",
      .traffic = "2n read, n written",
      .backend = Backend::cuda},
     &any_call,
     ragged::cuda_one_thread},
    {{.id = "cuda.turn_taking",
      .idea = "a thread per list, one after the other",
      .needs = "any GPU",
      .traffic = "2n read, n written",
      .backend = Backend::cuda},
     &any_call,
     ragged::cuda_turn_taking},
    {{.id = "cuda.hillis_steele_global",
      .idea = "differences, then strides over the whole array",
      .needs = "any GPU; a second array of offsets",
      .traffic = "2n read, n written, n·log2 n both ways",
      .backend = Backend::cuda},
     &any_call,
     ragged::cuda_hillis_steele_global,
     ragged::cuda_hillis_steele_global_workspace},
    {{.id = "cuda.hillis_steele_blocks",
      .idea = "strides within blocks, totals scanned, added back",
      .needs = "any GPU",
      .traffic = "3n read, 2n written",
      .backend = Backend::cuda},
     &any_call,
     ragged::cuda_hillis_steele_blocks,
     ragged::cuda_hillis_steele_blocks_workspace},
    {{.id = "cuda.thrust",
      .idea = "differences, Thrust's scan, the last offset",
      .needs = "any GPU",
      .traffic = "3n read, 2n written",
      .kind = Kind::library,
      .backend = Backend::cuda},
     &any_call,
     ragged::cuda_thrust,
     ragged::cuda_thrust_workspace},
    {{.id = "cuda.cub",
      .idea = "one CUB scan over an iterator of differences",
      .needs = "any GPU",
      .traffic = "2n read, n written",
      .kind = Kind::library,
      .backend = Backend::cuda},
     &any_call,
     ragged::cuda_cub,
     ragged::cuda_cub_workspace},
    {{.id = "cuda.lookahead",
      .idea = "one pass: difference, checks and scan",
      .needs = "compute capability 9.0",
      .traffic = "2n read, n written",
      .backend = Backend::cuda},
     &lookahead_refusal,
     ragged::cuda_lookahead,
     ragged::cuda_lookahead_workspace},
    {{.id = "cuda.adjacent",
      .idea = "no scan: stops are the starts one place on",
      .needs = "any GPU; stops == starts + 1",
      .traffic = "n read, n written",
      .backend = Backend::cuda},
     &cuda_adjacent_refusal,
     ragged::cuda_adjacent,
     ragged::cuda_adjacent_workspace},
};

constexpr std::span<const Rung<RaggedCall>> kRungs = kLadder;
constexpr const Rung<RaggedCall>& kChained = kLadder[2];
constexpr const Rung<RaggedCall>& kAdjacent = kLadder[3];
static_assert(kChained.info.id == "cpu.chained" && kAdjacent.info.id == "cpu.adjacent");
constexpr const Rung<RaggedCall>& kCub = kLadder[9];
constexpr const Rung<RaggedCall>& kLookahead = kLadder[10];
constexpr const Rung<RaggedCall>& kCudaAdjacent = kLadder[11];
static_assert(kCub.info.id == "cuda.cub" && kLookahead.info.id == "cuda.lookahead" &&
              kCudaAdjacent.info.id == "cuda.adjacent");

/// The rung of a call on a GPU whose lists lie anywhere.
const Rung<RaggedCall>& scanning_rung(const RaggedCall& call) {
  return refusal_of(kLookahead, call, {}) == nullptr ? kLookahead : kCub;
}

}  // namespace

std::vector<RungInfo> ragged_ladder() { return infos(kRungs); }

const Rung<RaggedCall>& ragged_rung(const RaggedCall& call, const Policy& policy) {
  if (!policy.rung.empty()) return named_rung(kRungs, call, policy);
  if (call.launch != nullptr) return is_adjacent(call) ? kCudaAdjacent : scanning_rung(call);
  return adjacent_refusal(call, policy) == nullptr ? kAdjacent : kChained;
}

std::vector<const Rung<RaggedCall>*> ragged_rungs(const RaggedCall& call, std::string_view name) {
  if (name.empty()) return {&scanning_rung(call), &kCudaAdjacent};
  for (const auto& rung : kRungs) {
    if (rung.info.id == name) return {&rung};
  }
  return {&named_rung(kRungs, call, Policy{.rung = name})};  // throws
}

}  // namespace upsweep
