// SPDX-License-Identifier: Apache-2.0
// scan/cub_kernels.cu: cuda.cub for elements of one type, UPSWEEP_ELEMENT: compiled once for each.
#include <cub/device/device_scan.cuh>
#include <cuda/std/functional>

#include <algorithm>

#include "core/visit.hpp"
#include "scan/cuda_cub.cuh"
#include "upsweep/detail/cuda_status.hpp"

namespace upsweep::scan {
namespace {

using T = UPSWEEP_ELEMENT;

template <class Op>
Status run(const detail::ScanCall& call, Op op) noexcept {
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

}  // namespace

template <>
Status cub_scan<T>(const detail::ScanCall& call) noexcept {
  return visit_operator<T>(call.op, [&]<class Op>(Op op) {
    if constexpr (std::is_same_v<Op, Add>) {
      return run(call, ::cuda::std::plus<>{});  // the one that CUB is tuned for
    } else {
      return run(call, op);
    }
  });
}

template <>
std::int64_t cub_bytes<T>(std::int64_t n) noexcept {
  // Tiles are as long as CUB's tuning for sums has them, or as its default for all other operators.
  std::size_t sums = 0;
  std::size_t others = 0;
  const T* in = nullptr;
  T* out = nullptr;
  gpu::forget_last_error();
  (void)cub::DeviceScan::InclusiveScan(nullptr, sums, in, out, ::cuda::std::plus<>{}, n);
  (void)cub::DeviceScan::InclusiveScan(nullptr, others, in, out, Min{}, n);
  return static_cast<std::int64_t>(std::max(sums, others));
}

}  // namespace upsweep::scan
