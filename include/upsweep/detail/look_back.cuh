// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/look_back.cuh: decoupled look-back: what tiles publish, and the fold of everything before a tile.
//
// A tile publishes its aggregate as a tagged word (device.cuh) as soon as it is computed, and later its prefix with
// kPrefixTag. A tile that needs the fold of all preceding tiles walks back over these words. Running blocks must take
// tiles in order; then no block waits for a block that is not running.
// From  D. Merrill, M. Garland, "Single-pass parallel prefix scan with decoupled look-back", 2016.
#pragma once

#include <cstdint>

#include "upsweep/detail/device.cuh"

namespace upsweep::gpu::detail {

/// A bit in the tag of a value that is the inclusive prefix of its tile, not the tile's aggregate.
inline constexpr unsigned kPrefixTag = 0x80000000U;

enum class Published : std::uint8_t { nothing, aggregate, prefix };

/// Reads the state that tile `index` has published so far.
template <class T>
__device__ __forceinline__ Published get_published(const unsigned long long* words, std::int64_t index, unsigned tag,
                                                   T& value) {
  std::uint32_t parts[kTaggedWords<T>];
  unsigned tags[kTaggedWords<T>];
  const unsigned long long* from = words + index * kTaggedWords<T>;
#pragma unroll
  for (int w = 0; w < kTaggedWords<T>; ++w) {
    unsigned long long word = 0;
    asm volatile("ld.relaxed.gpu.global.u64 %0,[%1];" : "=l"(word) : "l"(from + w) : "memory");
    parts[w] = static_cast<std::uint32_t>(word);
    tags[w] = static_cast<unsigned>(word >> 32);
  }
#pragma unroll
  for (int w = 1; w < kTaggedWords<T>; ++w) {
    if (tags[w] != tags[0]) return Published::nothing;  // the aggregate is being replaced by the prefix
  }
  memcpy(&value, parts, sizeof(T));
  if (tags[0] == tag) return Published::aggregate;
  return tags[0] == (tag | kPrefixTag) ? Published::prefix : Published::nothing;
}

/// Waits for the window of 32 * kAtOnce tiles that ends with `last`, in the order of lanes, back to its last prefix.
/// `own` is the fold of the lane's tiles, starting at the last prefix among them. Returns the lanes that have a prefix.
template <int kAtOnce, class T, class Op>
__device__ __forceinline__ unsigned wait_for_window(const Op& op, const Workspace& workspace, std::int64_t last,
                                                    unsigned tag, int lane, T& own) {
  if constexpr (kAtOnce == 1) {  // each lane waits for its own tile
    const std::int64_t index = last - 31 + lane;
    Published state = Published::nothing;
    while (index >= 0 && state == Published::nothing) state = get_published(workspace.words, index, tag, own);
    __syncwarp();
    return __ballot_sync(kAllLanes, state == Published::prefix);
  } else {
    const std::int64_t first = last - 32 * kAtOnce + 1 + lane * kAtOnce;
    for (;;) {
      T values[kAtOnce];
      Published states[kAtOnce];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        values[k] = T{};
        states[k] = Published::aggregate;
        if (first + k >= 0) states[k] = get_published(workspace.words, first + k, tag, values[k]);
      }
      bool has_prefix = false;
      bool misses = false;
#pragma unroll
      for (int k = kAtOnce - 1; k >= 0; --k) {
        if (has_prefix) continue;
        misses = misses || states[k] == Published::nothing;
        has_prefix = states[k] == Published::prefix;
        own = k == kAtOnce - 1 ? values[k] : op(values[k], own);
      }
      const unsigned prefixes = __ballot_sync(kAllLanes, has_prefix && !misses);
      unsigned missing = __ballot_sync(kAllLanes, misses);
      // A tile before the newest prefix may still be missing.
      if (prefixes != 0) missing &= 0xFFFFFFFEU << (31 - __clz(static_cast<int>(prefixes)));
      if (missing == 0) return prefixes;
    }
  }
}

/// Returns the fold of everything before `tile`, which is not 0, on every lane of the calling warp. It walks back
/// over 32 * kAtOnce tiles at a time, to a tile that has published its prefix. Tile 0 always publishes its prefix, so
/// the walk ends there.
template <class T, int kAtOnce = 1, class Op>
__device__ __forceinline__ T look_back(const Op& op, const Workspace& workspace, std::int64_t tile, unsigned tag,
                                       int lane) {
  T prefix{};
  bool any = false;
  for (std::int64_t last = tile - 1;; last -= 32 * kAtOnce) {
    T own{};
    const unsigned prefixes = wait_for_window<kAtOnce>(op, workspace, last, tag, lane, own);
    const int first = prefixes != 0 ? 31 - __clz(static_cast<int>(prefixes)) : 0;
    const T window = shuffle(fold_lanes(op, shuffle(own, (first + lane) % 32), lane, 32 - first), 0);
    prefix = any ? op(window, prefix) : window;
    any = true;
    if (prefixes != 0) return prefix;
  }
}

}  // namespace upsweep::gpu::detail
