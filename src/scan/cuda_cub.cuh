// SPDX-License-Identifier: Apache-2.0
// scan/cuda_cub.cuh: the functions of cuda.cub for each type.
#pragma once

#include <cstdint>

#include "upsweep/detail/scan_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep::scan {

/// Runs a call on elements and results of type T. Compiled once per type, in cub_kernels.cu.
template <class T>
Status cub_scan(const detail::ScanCall& call) noexcept;

/// Bytes of temporary memory for n elements of type T, with any operator.
template <class T>
std::int64_t cub_bytes(std::int64_t n) noexcept;

}  // namespace upsweep::scan
