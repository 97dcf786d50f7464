// SPDX-License-Identifier: Apache-2.0
// scan/cuda_lookahead.cuh: which types and operators cuda.lookahead is compiled for, and the functions of each type.
#pragma once

#include <cstdint>
#include <type_traits>

#include "upsweep/detail/device_scan.cuh"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep::scan {

/// Same type in and out; integers into the 64 bits of their sign, which is where sums of them are kept.
template <class In, class Out>
inline constexpr bool kLookaheadTypes =
    std::is_same_v<In, Out> || (std::is_integral_v<In> && std::is_integral_v<Out> && sizeof(In) < sizeof(Out) &&
                                sizeof(Out) == 8 && std::is_signed_v<In> == std::is_signed_v<Out>);

/// Runs a call whose elements are of type In. Compiled once per type, in cuda_lookahead_kernels.cu.
template <class In>
Status lookahead_from(const detail::ScanCall& call) noexcept;

}  // namespace upsweep::scan
