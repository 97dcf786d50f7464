// SPDX-License-Identifier: Apache-2.0
// problems/dense/scan/rung.hpp: what the rungs' files need to declare their rows of the ladder.
#pragma once

#include "core/ladder.hpp"
#include "cpu/refusals.hpp"
#include "cuda/compiled.hpp"
#include "cuda/device_call.hpp"
#include "upsweep/detail/scan_call.hpp"

namespace upsweep::impl::scan {

using Rung = upsweep::Rung<const detail::ScanCall>;

/// Returns the ladder, from the naive loop up.
std::vector<RungInfo> rungs();

// The constants of float_bound: the additions on the longest path to an output, beyond log2 n, halved and rounded up.
// For trees: log2 of a tile and of the number of tiles, and one to add a tile's prefix, on every level.
inline constexpr FloatBound kTreeBound{.serial = false, .constant = 4};

inline const char* broadcast_refusal(const detail::ScanCall& call, const Policy& policy) noexcept {
  if (cpu::is_checked(call, policy) && call.in == call.out)
    return "cannot check for overflow in place: the broadcast no longer sees the input";
  return nullptr;
}

// ---- On a GPU. refusal_of has already checked that there is one.

inline const char* taught(const detail::ScanCall& call, const Policy&) noexcept {
  return teaching_refusal(call.op, call.in_type, call.out_type);
}

inline const char* tiles_refusal(const detail::ScanCall& call, const Policy& policy) noexcept {
  if (call.exclusive && call.in == call.out) {
    return "cannot scan exclusively in place: a block reads the element before its tile";
  }
  return taught(call, policy);
}

/// Returns the row of a rung whose blocks scan their tiles separately; totals are added back.
constexpr Rung tiles_rung(std::string_view id, std::string_view idea, std::string_view cost, std::string_view limit,
                          decltype(Rung::run) run, decltype(Rung::workspace) workspace) {
  return {.info = {.id = id,
                   .idea = idea,
                   .needs = "any GPU",
                   .traffic = "2n read, 2n written",
                   .cost = cost,
                   .limit = limit,
                   .float_bound = kTreeBound},
          .refusal = tiles_refusal,
          .run = run,
          .workspace = workspace};
}

inline const char* single_pass_refusal(const detail::ScanCall& call, const Policy&) noexcept {
  if (call.op != Operator::custom) return compiled_refusal(call.op, call.in_type, call.out_type);
  return call.device != nullptr ? nullptr : "takes custom operators only from scan.cuh";
}

}  // namespace upsweep::impl::scan
