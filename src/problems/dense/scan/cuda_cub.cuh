// SPDX-License-Identifier: Apache-2.0
// problems/dense/scan/cuda_cub.cuh: cub::DeviceScan as its rungs call it.
#pragma once

#include <cub/device/device_scan.cuh>

#include "cuda/cub.cuh"
#include "upsweep/detail/cuda_status.cuh"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep::impl::scan {

/// Internal to each file, because one program contains two versions of CUB.
template <class T, class Op>
static Status run_cub(const detail::ScanCall& call, Op op) noexcept {
  const auto& carry = *static_cast<const ScanCarry<T>*>(call.carry);
  const auto* in = static_cast<const T*>(call.in);
  auto* out = static_cast<T*>(call.out);
  void* memory = call.launch->scratch;
  auto bytes = static_cast<std::size_t>(call.launch->size.scratch);
  const gpu::Stream stream = call.launch->stream;
  gpu::forget_last_error();
  if (call.exclusive) {
    return gpu::status_of(cub::DeviceScan::ExclusiveScan(memory, bytes, in, out, op, carry.total, call.n, stream));
  }
  if (carry.any) {
    return gpu::status_of(cub::DeviceScan::InclusiveScanInit(memory, bytes, in, out, op, carry.total, call.n, stream));
  }
  return gpu::status_of(cub::DeviceScan::InclusiveScan(memory, bytes, in, out, op, call.n, stream));
}

/// Returns the size of its temporary memory in bytes.
template <class T, class Op>
static std::int64_t cub_bytes(std::int64_t n, Op op) noexcept {
  std::size_t bytes = 0;
  gpu::forget_last_error();
  (void)cub::DeviceScan::InclusiveScan(nullptr, bytes, static_cast<const T*>(nullptr), static_cast<T*>(nullptr), op, n);
  return static_cast<std::int64_t>(bytes);
}

}  // namespace upsweep::impl::scan
