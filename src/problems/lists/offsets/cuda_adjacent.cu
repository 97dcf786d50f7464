// SPDX-License-Identifier: Apache-2.0
// problems/lists/offsets/cuda_adjacent.cu: adjacent lists need no scan: offsets are the bounds minus the first bound.
//
// Idea   cpu.adjacent on a GPU: if stops[i] is starts[i+1], the lengths before list i add up to starts[i] - starts[0].
// Cost   One pass: 16 bytes per list of int64. Work 2n, depth 1. Lists are also checked.
// Needs  Any GPU; stops.data() == starts.data() + 1.
// Limit  Memory bandwidth, at two thirds of the traffic of cuda.lookahead.
// From   Awkward Array's awkward_ListOffsetArray_compact_offsets, which subtracts the first offset.
#include "problems/lists/offsets/cuda_lists.cuh"

#if UPSWEEP_HAS_CUDA
#include "upsweep/detail/device.cuh"
#include "upsweep/detail/tuning/lists.hpp"
#endif

namespace upsweep::impl::offsets {

namespace {

#if UPSWEEP_HAS_CUDA
constexpr int kThreads = gpu::tuning::kAdjacent.threads;

/// Number of bounds per thread: 16 bytes of them.
template <class T>
inline constexpr int kThreadBounds = 16 / int{sizeof(T)};

/// Writes offsets 0 … n. Reports the first bad list.
template <class T>
__global__ void __launch_bounds__(kThreads) subtract_first(Lengths<T> lists, std::int64_t* offsets, std::int64_t most,
                                                           bool vectors, unsigned long long* first_bad) {
  const std::int64_t n = lists.count(most);
  constexpr int kCount = kThreadBounds<T>;
  const T* const bounds = lists.starts;
  // Modulo 2^64: an int64 overflow shows in the sign.
  const auto base = static_cast<std::uint64_t>(bounds[0]) - static_cast<std::uint64_t>(lists.before());
  const auto offset_of = [&](T bound) { return static_cast<std::int64_t>(static_cast<std::uint64_t>(bound) - base); };
  const std::int64_t first = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) * kCount;
  const std::int64_t left = n + 1 - first;
  const bool whole = vectors && left >= kCount;

  // ---- The thread's bounds, and the one after them: the first bound of the next thread.
  T x[kCount + 1];
  if (whole) {
    const int4 words = *reinterpret_cast<const int4*>(bounds + first);
    memcpy(x, &words, sizeof words);
  } else {
#pragma unroll
    for (int i = 0; i < kCount; ++i) x[i] = i < left ? bounds[first + i] : T{};
  }
  x[kCount] = gpu::detail::shuffle_down(x[0], 1);
  if (threadIdx.x % 32 == 31 && left > kCount) x[kCount] = bounds[first + kCount];

  // [guide: differences]
  // ---- The thread's offsets, and its first bad list, if any.
  std::int64_t own[kCount];
  std::int64_t bad = n;
#pragma unroll
  for (int i = kCount - 1; i >= 0; --i) {
    own[i] = offset_of(x[i]);
    const bool wrong = List<T>{x[i], x[i + 1]}.length_or_bad(lists.strict) < 0 || offset_of(x[i + 1]) < 0;
    if (wrong && first + i < n) bad = first + i;
  }
  if (bad < n) atomicMax(first_bad, ~static_cast<unsigned long long>(bad));
  // [guide: end]
  if (whole) {
#pragma unroll
    for (int i = 0; i < kCount; i += 2) {
      longlong2 pair;
      memcpy(&pair, &own[i], sizeof pair);
      *reinterpret_cast<longlong2*>(offsets + first + i) = pair;
    }
  } else {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if (i < left) offsets[first + i] = own[i];
    }
  }
}

/// Writes the outcome. This is a separate kernel: counting finished blocks, so that the last block does it, takes a
/// quarter more time.
template <class T>
__global__ void tell_first_bad(Lengths<T> lists, const std::int64_t* offsets, std::int64_t most,
                               std::int64_t lists_before, unsigned long long* first_bad, gpu::OffsetsStatus* status) {
  const std::int64_t n = lists.count(most);
  report(lists, *first_bad != 0 ? static_cast<std::int64_t>(~*first_bad) : n, n, offsets[n], lists_before, status);
  *first_bad = 0;
}

Status launch(detail::OffsetsCall& call, const Policy&) noexcept {
  return visit_list_bound(call.type, [&]<class T>(std::type_identity<T>) {
    const bool vectors = reinterpret_cast<std::uintptr_t>(call.starts) % 16 == 0 &&
                         reinterpret_cast<std::uintptr_t>(call.offsets) % 16 == 0;
    constexpr std::int64_t kTile = kThreads * kThreadBounds<T>;
    const auto blocks = static_cast<unsigned>((call.n + 1 + kTile - 1) / kTile);
    const auto stream = call.launch->stream;
    const auto lists = lengths_of<T>(call);
    auto* first_bad = &static_cast<gpu::detail::Control*>(call.launch->kept)->first_bad;
    const cudaError_t error = gpu::detail::launch({.blocks = blocks, .threads = kThreads, .stream = stream},
                                                  subtract_first<T>, lists, call.offsets, call.n, vectors, first_bad);
    if (error != cudaSuccess) return gpu::status_of(error);
    return gpu::status_of(gpu::detail::launch({.blocks = 1, .threads = 1, .stream = stream}, tell_first_bad<T>, lists,
                                              call.offsets, call.n, call.carry.lists, first_bad, call.status));
  });
}

gpu::WorkspaceSize workspace(const detail::OffsetsCall&) noexcept { return {.kept = sizeof(gpu::detail::Control)}; }
#endif

const char* adjacent_refusal(const detail::OffsetsCall& call, const Policy&) noexcept {
  return is_adjacent(call) ? nullptr : kNotAdjacent;
}

}  // namespace

extern const Rung cuda_adjacent{.info = {.id = "cuda.adjacent",
                                         .idea = "no scan: stops are the starts shifted by one",
                                         .needs = "any GPU; stops == starts + 1",
                                         .traffic = "n read, n written",
                                         .cost = "2n, 1",
                                         .limit = "memory bandwidth; needs `stops == starts + 1`"},
                                .refusal = adjacent_refusal,
                                .run = launch,
                                .workspace = workspace};

}  // namespace upsweep::impl::offsets
