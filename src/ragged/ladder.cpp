// SPDX-License-Identifier: Apache-2.0
// ragged/ladder.cpp: the rungs of the ragged ladder, in order, and which one the API runs.
#include "ragged/ladder.hpp"

#include <span>

#include "ragged/rungs.hpp"

namespace upsweep {
namespace {

using detail::RaggedCall;

const char* any_call(const RaggedCall&, const Policy&) noexcept { return nullptr; }

const char* chained_refusal(const RaggedCall&, const Policy& policy) noexcept { return isa_refusal(policy.isa); }

const char* adjacent_refusal(const RaggedCall& call, const Policy& policy) noexcept {
  const auto* starts = static_cast<const std::byte*>(call.starts);
  if (call.n == 0 || call.stops != starts + size_of(call.type)) return "stops are not the starts one place on";
  return isa_refusal(policy.isa);
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
};

constexpr std::span<const Rung<RaggedCall>> kRungs = kLadder;
constexpr const Rung<RaggedCall>& kChained = kLadder[2];
constexpr const Rung<RaggedCall>& kAdjacent = kLadder[3];
static_assert(kChained.info.id == "cpu.chained" && kAdjacent.info.id == "cpu.adjacent");

}  // namespace

std::vector<RungInfo> ragged_ladder() { return infos(kRungs); }

const Rung<RaggedCall>& ragged_rung(const RaggedCall& call, const Policy& policy) {
  if (!policy.rung.empty()) return named_rung(kRungs, call, policy);
  return adjacent_refusal(call, policy) == nullptr ? kAdjacent : kChained;
}

}  // namespace upsweep
