// SPDX-License-Identifier: Apache-2.0
// scan/ladder.hpp: which rung runs a scan.
#pragma once

#include "core/ladder.hpp"
#include "upsweep/detail/scan_call.hpp"

namespace upsweep {

/// The rung that the policy names, or the top one that fits the call. Throws unknown_rung, unsupported.
const Rung<const detail::ScanCall>& scan_rung(const detail::ScanCall& call, const Policy& policy);

}  // namespace upsweep
