// SPDX-License-Identifier: Apache-2.0
// cuda/list_path.cuh: writes a value for each element of adjacent lists, by equal work units of the merge path.
//
// The path consists of the elements of a list, then the list's end, then the next list. A block processes a work unit
// of the path. Therefore neither a long list nor many empty lists unbalance the blocks. Every list ends in exactly one
// work unit, which checks the list in the same pass. A search beforehand finds where each work unit begins. If lists
// are not sorted, some work units end before they begin, and these write nothing. The work units still lead from the
// first list to the last, so each list ends in a work unit, and the first bad list is found. If there are too many
// elements for their outputs, the path contains only lists, and checks them.
//
// Offsets   a type with count, and with device functions: operator()(i), where list i begins, for list `count` the end;
//           is_bad(i, begin, end) of list i; wrong(i), the code of a bad list; kTooFar, the code of more elements than
//           int64 can count; elements(total), the value to report for `total` elements.
// Sink      a type with Item, kWidth (elements that are stored together), kUnit, and with device functions: skew(e),
//           the distance of element e from where a store may begin; value(list, element, begin of its list); and
//           store(e, items, from, to), for the elements e + from … e + to - 1. Lists are numbered, and elements are
//           counted, from the first list's first.
#pragma once

#if UPSWEEP_HAS_CUDA
#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/moved_lists.cuh"
#include "cuda/work_path.cuh"
#include "upsweep/detail/device.cuh"
#include "upsweep/detail/kernel_launch.cuh"
#include "upsweep/detail/tuning/lists.hpp"
#include "upsweep/error.hpp"

namespace upsweep::gpu {

inline constexpr int kPathThreads = tuning::kPath.threads;

/// The number of elements of all lists, from their first and last offset.
struct PathElements {
  std::int64_t count;  ///< if they fit the output, otherwise 0
  Code code;           ///< the reason for 0, even if no list is bad; otherwise ok
  std::int64_t total;
};
template <class Offsets>
__device__ __forceinline__ PathElements path_elements(const Offsets& offsets, std::int64_t capacity) {
  const std::int64_t begin = offsets(0);
  const std::int64_t end = offsets(offsets.count);
  const std::int64_t total = apart(end, begin);
  if (end < begin || total < 0) return {0, Offsets::kTooFar, 0};
  if (total > capacity) return {0, Code::unequal_lengths, total};
  return {total, Code::ok, total};
}

/// Returns the lists that end before place `at` of the path. For any offsets, the rest of `at` is from 0 to `elements`.
template <class Offsets>
__device__ __forceinline__ std::int64_t lists_before(const Offsets& offsets, std::int64_t elements, std::int64_t at) {
  const std::int64_t origin = offsets(0);
  const std::int64_t least = at > elements ? at - elements : 0;
  const std::int64_t most = at < offsets.count ? at : offsets.count;
  return first_where(least, most, [&](std::int64_t list) {  // ends later
    return !PathCost{}.is_before(apart(offsets(list + 1), origin), list + 1, at);
  });
}

/// unit_lists[p] ← the lists that end before work unit p. No list is marked bad yet.
template <int kThreads, class Offsets>
__global__ void __launch_bounds__(kThreads)
    find_units(const __grid_constant__ Offsets offsets, std::int64_t capacity, std::int64_t unit,
               std::int64_t* unit_lists, unsigned long long* not_bad) {
  const std::int64_t which = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (which == 0) *not_bad = 0;
  const std::int64_t elements = path_elements(offsets, capacity).count;
  const std::int64_t length = offsets.count + elements;
  if ((which - 1) * unit >= length) return;  // past the end of the last unit
  unit_lists[which] = lists_before(offsets, elements, ::min(which * unit, length));
}

/// Finds the lists of the elements of a work unit: bits mark where lists begin, and each bit has its list.
template <int kUnit>
struct UnitHeads {
  static constexpr int kWords = kUnit / 32;
  static_assert(kWords % 32 == 0 && kWords <= kPathThreads,
                "a warp looks at 32 words at once, each is cleared by a thread");
  static_assert(kUnit <= 65536, "places and lists of a work unit are of 16 bits");

  std::int64_t begin;  ///< of the list that contains the work unit's first element
  std::uint32_t bits[kWords];
  std::uint16_t before[kWords];  ///< the last bit before each word
  std::uint16_t lists[kUnit];    ///< numbers from the work unit's first list on

  __device__ void clear(std::int64_t first_element) {
    if (threadIdx.x < kWords) bits[threadIdx.x] = 0;
    if (threadIdx.x != 0) return;
    begin = first_element;  // both are initialized even if lists are not sorted and none sets them
    lists[0] = 0;
  }
  __device__ void mark(int at, std::uint16_t list) {
    atomicOr(&bits[at / 32], 1U << (at % 32));
    lists[at] = list;
  }
  /// Only one warp may call it.
  __device__ void find_heads_before() {
    const int lane = static_cast<int>(threadIdx.x);
    int carry = 0;
#pragma unroll
    for (int base = 0; base < kWords; base += 32) {
      const std::uint32_t word = bits[base + lane];
      int last = word == 0 ? 0 : (base + lane) * 32 + 31 - __clz(static_cast<int>(word));
#pragma unroll
      for (int step = 1; step < 32; step *= 2) last = ::max(last, __shfl_up_sync(detail::kAllLanes, last, step));
      const int left = __shfl_up_sync(detail::kAllLanes, last, 1);
      before[base + lane] = static_cast<std::uint16_t>(lane == 0 ? carry : ::max(carry, left));
      carry = ::max(carry, __shfl_sync(detail::kAllLanes, last, 31));
    }
  }
  /// Returns the last bit at a place or before it.
  [[nodiscard]] __device__ __forceinline__ int head_of(int at) const {
    const std::uint32_t word = bits[at / 32] & (0xFFFFFFFFU >> (31 - at % 32));
    return word == 0 ? before[at / 32] : at / 32 * 32 + 31 - __clz(static_cast<int>(word));
  }
  [[nodiscard]] __device__ __forceinline__ bool is_head(int at) const {
    return ((bits[at / 32] >> (at % 32)) & 1) != 0;
  }
};

template <class Offsets, class Sink>
__global__ void __launch_bounds__(kPathThreads)
    write_path(const __grid_constant__ Offsets offsets, const __grid_constant__ Sink sink, std::int64_t capacity,
               const std::int64_t* unit_lists, unsigned long long* not_bad) {
  constexpr int kUnit = Sink::kUnit;
  constexpr int kWidth = Sink::kWidth;
  __shared__ UnitHeads<kUnit> heads;
  const std::int64_t at = std::int64_t{blockIdx.x} * kUnit;
  const std::int64_t length = offsets.count + path_elements(offsets, capacity).count;
  if (at >= length) return;
  const std::int64_t first = unit_lists[blockIdx.x];
  const std::int64_t last = unit_lists[blockIdx.x + 1];
  const std::int64_t begin = at - first;
  const std::int64_t end = ::min(at + kUnit, length) - last;
  const bool goes_on = first <= last && begin <= end;  // then there are at most kUnit lists and kUnit elements
  const std::int64_t origin = offsets(0);

  // ---- The work unit's lists: those that end in it are checked, those with elements in it set a bit.
  heads.clear(begin);
  __syncthreads();
  constexpr int kListsAtOnce = tuning::kPath.list_loads;  // of a thread: their loads do not wait for each other
  const std::int64_t past = ::min(last + 1, offsets.count);
  for (std::int64_t base = first + threadIdx.x; base < past; base += kListsAtOnce * kPathThreads) {
    std::int64_t from[kListsAtOnce];
    std::int64_t to[kListsAtOnce];
#pragma unroll
    for (int k = 0; k < kListsAtOnce; ++k) {
      const std::int64_t list = ::min(base + k * kPathThreads, past - 1);
      from[k] = offsets(list);
      to[k] = offsets(list + 1);
    }
#pragma unroll
    for (int k = 0; k < kListsAtOnce; ++k) {
      const std::int64_t list = base + k * kPathThreads;
      if (list < last && offsets.is_bad(list, from[k], to[k])) {
        atomicMax(not_bad, ~static_cast<unsigned long long>(list));
      }
      const std::int64_t own = apart(from[k], origin);
      const std::int64_t next = apart(to[k], origin);
      if (!goes_on || list >= past || next <= own || next <= begin || own >= end) continue;
      const bool is_first = own <= begin;
      heads.mark(is_first ? 0 : static_cast<int>(own - begin), static_cast<std::uint16_t>(list - first));
      // After the mark: if this was first, nvcc 13.0 computed the address of `heads` only under this condition.
      if (is_first) heads.begin = own;
    }
  }
  if (!goes_on || begin == end) return;
  __syncthreads();  // all bits are set
  if (threadIdx.x < 32) heads.find_heads_before();
  __syncthreads();

  // ---- Its elements.
  constexpr int kPerThread = kUnit / kWidth / kPathThreads;
  constexpr int kAtOnce = kPerThread < tuning::kPath.element_loads ? kPerThread : tuning::kPath.element_loads;
  const int count = static_cast<int>(end - begin);
  const int skew = sink.skew(begin);
  for (int group = 0; group * kWidth - skew < count; group += kAtOnce * kPathThreads) {
    typename Sink::Item items[kAtOnce][kWidth];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int place = (group + k * kPathThreads + static_cast<int>(threadIdx.x)) * kWidth - skew;
      if (place >= count) continue;
      int head = heads.head_of(::max(place, 0));
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        const int element = place + j;
        if (element < 0 || element >= count) continue;
        if (kWidth > 1 && heads.is_head(element)) head = element;
        items[k][j] = sink.value(first + heads.lists[head], begin + element, head == 0 ? heads.begin : begin + head);
      }
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int place = (group + k * kPathThreads + static_cast<int>(threadIdx.x)) * kWidth - skew;
      if (place >= count) continue;
      sink.store(begin + place, items[k], ::max(-place, 0), ::min(kWidth, count - place));
    }
  }
}

/// Writes *status of a call, by one thread after the pass.
template <class Offsets, class Status>
__global__ void conclude_path(const __grid_constant__ Offsets offsets, std::int64_t capacity,
                              const unsigned long long* not_bad, Status* status) {
  if (*not_bad != 0) {
    const auto bad = static_cast<std::int64_t>(~*not_bad);
    *status = {bad, 0, offsets.wrong(bad)};
    return;
  }
  const PathElements elements = path_elements(offsets, capacity);
  *status = {kNoIndex, offsets.elements(elements.total), elements.code};
}

/// Scratch memory of a path with at most most_units work units.
struct PathScratch {
  PathScratch(std::int64_t most_units, ScratchParts& parts)
      : not_bad(parts.take<unsigned long long>(1)), unit_lists(parts.take<std::int64_t>(most_units + 1)) {}

  unsigned long long* not_bad;
  std::int64_t* unit_lists;
};

/// Returns the number of work units of `unit` length. The claimed number of lists and elements may exceed any memory,
/// so it is limited.
constexpr std::int64_t units_of(std::int64_t lists, std::int64_t capacity, std::int64_t unit) {
  const std::int64_t units = lists / unit + capacity / unit + 2;
  return units < kMostBlocks ? units : kMostBlocks;
}

/// Writes the sink's elements. The first bad list is stored in scratch.not_bad.
template <class Offsets, class Sink>
cudaError_t launch_path(const Offsets& offsets, const Sink& sink, std::int64_t capacity, const PathScratch& scratch,
                        Stream stream) {
  constexpr int kFindThreads = tuning::kPath.find_threads;
  const std::int64_t units = units_of(offsets.count, capacity, Sink::kUnit);
  const auto find_blocks = static_cast<unsigned>(divided_up(units + 1, kFindThreads));
  const cudaError_t error = detail::launch({.blocks = find_blocks, .threads = kFindThreads, .stream = stream},
                                           find_units<kFindThreads, Offsets>, offsets, capacity,
                                           std::int64_t{Sink::kUnit}, scratch.unit_lists, scratch.not_bad);
  if (error != cudaSuccess) return error;
  return detail::launch({.blocks = static_cast<unsigned>(units), .threads = kPathThreads, .stream = stream},
                        write_path<Offsets, Sink>, offsets, sink, capacity, scratch.unit_lists, scratch.not_bad);
}

/// Writes the sink's elements and *status.
template <class Offsets, class Sink, class Status>
cudaError_t launch_checked_path(const Offsets& offsets, const Sink& sink, std::int64_t capacity,
                                const PathScratch& scratch, Status* status, Stream stream) {
  const cudaError_t error = launch_path(offsets, sink, capacity, scratch, stream);
  if (error != cudaSuccess) return error;
  return detail::launch({.blocks = 1, .threads = 1, .stream = stream}, conclude_path<Offsets, Status>, offsets,
                        capacity, scratch.not_bad, status);
}

/// A sink for elements of an array; it stores 16 bytes at a time where the address is a multiple of 16 bytes.
template <class E, int kTogether>
struct ArraySink {
  using Item = E;
  static constexpr int kWidth = kTogether;
  static constexpr int kUnit = sizeof(E) <= 2   ? tuning::kPath.elements_of_1
                               : sizeof(E) == 4 ? tuning::kPath.elements_of_4
                                                : tuning::kPath.elements_of_8;
  struct alignas(kWidth == 1 ? alignof(E) : kWidth * sizeof(E)) Together {
    E items[kWidth];
  };

  E* out;

  [[nodiscard]] __device__ __forceinline__ int skew(std::int64_t e) const {
    return static_cast<int>((reinterpret_cast<std::uintptr_t>(out + e) / sizeof(E)) % kWidth);
  }
  __device__ __forceinline__ void store(std::int64_t e, const E (&items)[kWidth], int from, int to) const {
    if (from == 0 && to == kWidth) {
      Together together;
#pragma unroll
      for (int j = 0; j < kWidth; ++j) together.items[j] = items[j];
      *reinterpret_cast<Together*>(out + e) = together;
      return;
    }
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      if (j >= from && j < to) out[e + j] = items[j];
    }
  }
};

}  // namespace upsweep::gpu
#endif
