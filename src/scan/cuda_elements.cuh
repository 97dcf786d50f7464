// SPDX-License-Identifier: Apache-2.0
// scan/cuda_elements.cuh: a scan call as the simple rungs on CUDA get it: typed, inclusive, for a few types.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cuda/compiled.hpp"
#include "cuda/scan_by_blocks.cuh"
#include "upsweep/detail/cuda_status.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep::scan {

/// The elements to be scanned inclusively, whatever was asked for: an initial value is combined into the first, and an
/// exclusive scan of x is the inclusive scan of init, x0, x1, ….
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

/// f(elements, out) for the operator and type of the call.
template <class F>
Status with_elements(const detail::ScanCall& call, F f) {
  return with_few_types(call.out_type, [&]<class T, class Op>(std::type_identity<T>, Op op) {
    const auto& carry = *static_cast<const ScanCarry<T>*>(call.carry);
    const Elements<T, Op> elements{static_cast<const T*>(call.in), carry.total, carry.any, call.exclusive, op};
    return f(elements, static_cast<T*>(call.out));
  });
}

inline gpu::Stream stream_of(const detail::ScanCall& call) { return call.launch->stream; }

/// Runs a scan by blocks, whose tiles Tiles scans.
template <class Tiles>
Status launch_tiles(const detail::ScanCall& call, const Policy&) noexcept {
  return with_elements(call, [&]<class T>(const auto& elements, T* out) {
    return gpu::status_of(
        gpu::scan_by_blocks(Tiles{}, elements, out, static_cast<T*>(call.launch->scratch), call.n, stream_of(call)));
  });
}
template <class Tiles>
gpu::WorkspaceSize tiles_workspace(const detail::ScanCall& call) noexcept {
  return {.scratch = gpu::totals_above(call.n, Tiles::kTile) * call.out_size};
}

}  // namespace upsweep::scan
