// SPDX-License-Identifier: Apache-2.0
// problems/dense/scan/cuda_elements.cuh: a scan call for the simple rungs on CUDA: typed, inclusive, for a few types.
#pragma once

#include "problems/dense/scan/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include <cstdint>
#include <type_traits>

#include "cuda/hillis_steele.cuh"
#include "cuda/in_order.cuh"
#include "cuda/scan_by_blocks.cuh"
#include "upsweep/detail/cuda_status.cuh"

namespace upsweep::impl::scan {

/// The elements of the inclusive scan that computes any scan. An initial value is combined into the first element, and
/// an exclusive scan of x is the inclusive scan of init, x0, x1, ….
template <class T, class Op>
struct Elements {
  const T* in;
  T init;
  bool has_init;
  bool exclusive;
  Op op;

  __device__ T operator()(std::int64_t i) const {
    if (exclusive) return i == 0 ? init : in[i - 1];
    return i == 0 && has_init ? op(init, in[0]) : in[i];
  }
};

/// Calls f(elements, out) for the operator and type of the call.
template <class F>
Status with_elements(const detail::ScanCall& call, F f) {
  return with_few_types(call.out_type, [&]<class T, class Op>(std::type_identity<T>, Op op) {
    const auto& carry = *static_cast<const ScanCarry<T>*>(call.carry);
    const Elements<T, Op> elements{static_cast<const T*>(call.in), carry.total, carry.any, call.exclusive, op};
    return f(elements, static_cast<T*>(call.out));
  });
}

inline gpu::Stream stream_of(const detail::ScanCall& call) { return call.launch->stream; }

/// Runs a call by one of the algorithms of cuda/.
template <class Way>
Status launch_by(const detail::ScanCall& call, const Policy&) noexcept {
  return with_elements(call, [&]<class T>(const auto& elements, T* out) {
    return gpu::status_of(
        Way::scan(elements, out, static_cast<T*>(call.launch->scratch), call.n, call.in == call.out, stream_of(call)));
  });
}
template <class Way>
gpu::WorkspaceSize scratch_of(const detail::ScanCall& call) noexcept {
  return {.scratch = Way::values(call.n) * call.out_size};
}

}  // namespace upsweep::impl::scan
#endif
