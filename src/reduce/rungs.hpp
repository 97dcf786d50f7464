// SPDX-License-Identifier: Apache-2.0
// reduce/rungs.hpp: the rungs of the reduce ladder, each explained in the file of its name; ladder.cpp lists them.
#pragma once

#include "upsweep/detail/scan_call.hpp"
#include "upsweep/error.hpp"
#include "upsweep/policy.hpp"

namespace upsweep::reduce {

Status cpu_serial(const detail::ReduceCall& call, const Policy& policy) noexcept;
Status cpu_threads(const detail::ReduceCall& call, const Policy& policy) noexcept;
Status cpu_simd(const detail::ReduceCall& call, const Policy& policy) noexcept;
Status cpu_simd_threads(const detail::ReduceCall& call, const Policy& policy) noexcept;
Status cpu_std_par(const detail::ReduceCall& call, const Policy& policy) noexcept;

}  // namespace upsweep::reduce
