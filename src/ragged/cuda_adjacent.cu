// SPDX-License-Identifier: Apache-2.0
// ragged/cuda_adjacent.cu: lists that lie one behind the other need no scan: offsets are bounds less the first one.
//
// Idea   As cpu.adjacent: where stops[i] is starts[i+1], the lengths before list i add up to starts[i] - starts[0].
// Cost   One pass: 16 bytes per list of int64. Work 2n, depth 1. Checked all the same.
// Needs  Any GPU; stops.data() == starts.data() + 1.
// Limit  The memory, at two thirds of what cuda.lookahead moves.
#include "ragged/cuda_lists.cuh"
#include "ragged/rungs.hpp"
#include "upsweep/detail/device.cuh"

namespace upsweep::ragged {
namespace {

constexpr int kThreads = 512;
constexpr int kRows = 4;  // loads in flight per thread

/// A thread's part of a row: 16 bytes of bounds.
template <class T>
inline constexpr int kPart = 16 / int{sizeof(T)};
template <class T>
inline constexpr std::int64_t kTile = std::int64_t{kThreads} * kRows * kPart<T>;

template <class T>
__device__ void load_part(const T* bounds, bool whole, bool vectors, std::int64_t left, T (&part)[kPart<T>]) {
  if (whole && vectors) {
    const int4 words = __ldcs(reinterpret_cast<const int4*>(bounds));
    memcpy(part, &words, sizeof words);
    return;
  }
#pragma unroll
  for (int i = 0; i < kPart<T>; ++i) part[i] = i < left ? __ldcs(bounds + i) : T{};
}

template <int kCount>
__device__ void store_part(std::int64_t* offsets, bool whole, bool vectors, std::int64_t left,
                           const std::int64_t (&part)[kCount]) {
  if (whole && vectors) {
#pragma unroll
    for (int i = 0; i < kCount; i += 2) {
      longlong2 pair;
      memcpy(&pair, &part[i], sizeof pair);
      __stcs(reinterpret_cast<longlong2*>(offsets + i), pair);
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (i < left) offsets[i] = part[i];
  }
}

/// Offsets 0 … n of a tile per block. The last block to end says how it all ended.
template <class T>
__global__ void __launch_bounds__(kThreads)
    subtract_first(Lengths<T> lists, std::int64_t* offsets, std::int64_t n, std::int64_t lists_before, bool vectors,
                   gpu::detail::Control* control, gpu::OffsetsStatus* status) {
  constexpr int kCount = kPart<T>;
  const T* const bounds = lists.starts;
  // Modulo 2^64: what leaves int64 shows in the sign.
  const auto base = static_cast<std::uint64_t>(bounds[0]) - static_cast<std::uint64_t>(lists.before);
  const auto offset_of = [&](T bound) { return static_cast<std::int64_t>(static_cast<std::uint64_t>(bound) - base); };
  const std::int64_t tile = std::int64_t{blockIdx.x} * kTile<T>;
  T x[kRows][kCount];
  T after[kRows];  // the bound behind the part
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const std::int64_t first = tile + (std::int64_t{r} * kThreads + threadIdx.x) * kCount;
    load_part(bounds + first, first + kCount <= n + 1, vectors, n + 1 - first, x[r]);
    const bool is_edge = threadIdx.x % 32 == 31;  // all others ask their neighbour
    after[r] = is_edge && first + kCount <= n ? bounds[first + kCount] : T{};
    const T next = gpu::detail::shuffle_down(x[r][0], 1);
    if (!is_edge) after[r] = next;
  }
  std::int64_t bad = n;
#pragma unroll
  for (int r = kRows - 1; r >= 0; --r) {
    const std::int64_t first = tile + (std::int64_t{r} * kThreads + threadIdx.x) * kCount;
    std::int64_t part[kCount];
#pragma unroll
    for (int i = kCount - 1; i >= 0; --i) {
      const T stop = i + 1 < kCount ? x[r][i + 1 < kCount ? i + 1 : 0] : after[r];
      part[i] = offset_of(x[r][i]);
      const bool wrong = List<T>{x[r][i], stop}.length_or_bad(lists.strict) < 0 || offset_of(stop) < 0;
      if (wrong && first + i < n) bad = first + i;
    }
    store_part(offsets + first, first + kCount <= n + 1, vectors, n + 1 - first, part);
  }
  if (bad < n) atomicMax(&control->first_bad, ~static_cast<unsigned long long>(bad));
  const bool any_bad = __syncthreads_or(bad < n);
  if (threadIdx.x != 0) return;
  if (any_bad) __threadfence();  // what was found before the count; else there is nothing to wait for
  if (atomicAdd(&control->done, 1U) != gridDim.x - 1) return;
  __threadfence();
  const unsigned long long found = *const_cast<volatile unsigned long long*>(&control->first_bad);
  tell(lists, found != 0 ? static_cast<std::int64_t>(~found) : n, n, offset_of(bounds[n]), lists_before, status);
  control->first_bad = 0;
  control->done = 0;
}

}  // namespace

Status cuda_adjacent(detail::RaggedCall& call, const Policy&) noexcept {
  return visit_bounds(call.type, [&]<class T>(std::type_identity<T>) {
    const bool vectors = reinterpret_cast<std::uintptr_t>(call.starts) % 16 == 0 &&
                         reinterpret_cast<std::uintptr_t>(call.offsets) % 16 == 0;
    const auto blocks = static_cast<unsigned>((call.n + 1 + kTile<T> - 1) / kTile<T>);
    subtract_first<<<blocks, kThreads, 0, call.launch->stream>>>(
        lengths_of<T>(call), call.offsets, call.n, call.carry.lists, vectors,
        static_cast<gpu::detail::Control*>(call.launch->kept), call.status);
    return gpu::status_of(cudaGetLastError());
  });
}

gpu::WorkspaceSize cuda_adjacent_workspace(const detail::RaggedCall&) noexcept {
  return {.kept = sizeof(gpu::detail::Control)};
}

}  // namespace upsweep::ragged
