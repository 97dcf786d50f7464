// SPDX-License-Identifier: Apache-2.0
// scan/rungs.hpp: the rungs of the scan ladder, each explained in the file of its name; ladder.cpp lists them.
#pragma once

#include "upsweep/detail/scan_call.hpp"
#include "upsweep/error.hpp"
#include "upsweep/policy.hpp"

namespace upsweep::scan {

Status cpu_serial(const detail::ScanCall& call, const Policy& policy) noexcept;
Status cpu_threads(const detail::ScanCall& call, const Policy& policy) noexcept;
Status cpu_simd(const detail::ScanCall& call, const Policy& policy) noexcept;
Status cpu_simd_threads(const detail::ScanCall& call, const Policy& policy) noexcept;
Status cpu_chained(const detail::ScanCall& call, const Policy& policy) noexcept;
Status cpu_std_par(const detail::ScanCall& call, const Policy& policy) noexcept;

}  // namespace upsweep::scan
