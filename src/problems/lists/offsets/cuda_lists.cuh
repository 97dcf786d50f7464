// SPDX-License-Identifier: Apache-2.0
// problems/lists/offsets/cuda_lists.cuh: the input of the CUDA rungs (lengths to scan), and the outcome of a call.
#pragma once

#include "problems/lists/offsets/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include <cstdint>

#include "core/list_length.hpp"
#include "core/visit.hpp"
#include "cuda/hillis_steele.cuh"
#include "cuda/in_order.cuh"
#include "cuda/scan_by_blocks.cuh"
#include "cuda/work_path.cuh"
#include "upsweep/detail/cuda_status.cuh"
#include "upsweep/detail/device.cuh"
#include "upsweep/detail/kernel_launch.cuh"

namespace upsweep::impl::offsets {

/// The input of the inclusive scan that writes offsets[1 … n]: the lists' lengths, where the first includes the offset
/// before all lists.
template <class T>
struct Lengths {
  const T* starts;
  const T* stops;
  std::int64_t before_all;
  const std::int64_t* before_at;  ///< address of that offset if it is in device memory
  const std::int64_t* n_at;       ///< address of the number of lists if it is in device memory
  bool strict;
  Extend op;

  __device__ std::int64_t length(std::int64_t i) const { return List<T>{starts[i], stops[i]}.length_or_bad(strict); }
  __device__ std::int64_t operator()(std::int64_t i) const {
    const std::int64_t own = length(i);
    return i == 0 ? op(before(), own) : own;
  }
  /// Returns the number of lists, at most `most`.
  __device__ std::int64_t count(std::int64_t most) const { return gpu::detail::length_at(n_at, most); }
  /// Returns the first offset.
  __device__ std::int64_t before() const { return before_at != nullptr ? *before_at : before_all; }
};

template <class T>
Lengths<T> lengths_of(const detail::OffsetsCall& call) {
  return {static_cast<const T*>(call.starts),
          static_cast<const T*>(call.stops),
          call.carry.total,
          call.before_at,
          call.n_at,
          call.strict,
          {}};
}

/// Writes the outcome. One thread calls this once it has the first bad list of the call, or n.
template <class T>
__device__ void report(const Lengths<T>& lists, std::int64_t bad, std::int64_t n, std::int64_t total,
                       std::int64_t lists_before, gpu::OffsetsStatus* status) {
  if (bad == n) {
    *status = {kNoIndex, total, Code::ok};
    return;
  }
  const Code code = List<T>{lists.starts[bad], lists.stops[bad]}.check(lists.strict);
  // If the list is valid, its offset overflows.
  *status = {lists_before + bad, 0, code == Code::ok ? Code::overflow : code};
}

/// Writes the first offset and the outcome. From a bad list on, all offsets are negative.
template <class T>
__global__ void finish_offsets(Lengths<T> lists, std::int64_t* offsets, std::int64_t most, std::int64_t lists_before,
                               gpu::OffsetsStatus* status) {
  const std::int64_t n = lists.count(most);
  offsets[0] = lists.before();
  const std::int64_t first =
      gpu::first_where(offsets[n] >= 0 ? n : 0, n, [&](std::int64_t list) { return offsets[list + 1] < 0; });
  report(lists, first, n, offsets[n], lists_before, status);
}

/// Runs a rung: scan(lengths, offsets + 1) enqueues the inclusive scan of the lengths in the call's stream and returns
/// a Status.
template <class Scan>
Status with_lengths(const detail::OffsetsCall& call, Scan scan) {
  return visit_list_bound(call.type, [&]<class T>(std::type_identity<T>) -> Status {
    const auto lengths = lengths_of<T>(call);
    if (call.n > 0) {
      if (const Status status = scan(lengths, call.offsets + 1); !status.ok()) return status;
    }
    return gpu::status_of(gpu::detail::launch({.blocks = 1, .threads = 1, .stream = call.launch->stream},
                                              finish_offsets<T>, lengths, call.offsets, call.n, call.carry.lists,
                                              call.status));
  });
}

/// Runs a call with one of the scan strategies of cuda/.
template <class Way>
Status launch_by(detail::OffsetsCall& call, const Policy&) noexcept {
  return with_lengths(call, [&](const auto& lengths, std::int64_t* out) {
    return gpu::status_of(
        Way::scan(lengths, out, static_cast<std::int64_t*>(call.launch->scratch), call.n, false, call.launch->stream));
  });
}
template <class Way>
gpu::WorkspaceSize scratch_of(const detail::OffsetsCall& call) noexcept {
  return {.scratch = Way::values(call.n) * std::int64_t{sizeof(std::int64_t)}};
}

}  // namespace upsweep::impl::offsets
#endif
