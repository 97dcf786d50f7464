// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/device.cuh: the parts of every single-pass kernel: folds of warps, tagged words, the workspace.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "upsweep/operators.hpp"

namespace upsweep::gpu::detail {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#error "upsweep's kernels are for compute capability 8.0 and up: choose other CUDA architectures"
#endif

inline constexpr unsigned kAllLanes = ~0U;

/// The largest element on a GPU, in bytes. Published values are stored as at most eight tagged words.
inline constexpr int kMaxElementBytes = 32;
/// The alignment of elements in shared memory: the maximum that an element can need.
inline constexpr int kElementAlignment = kMaxElementBytes;

// ----------------------------------------------------------------------------------------------------- folds of warps

template <class T>
inline constexpr int kWordsOf = (int{sizeof(T)} + 3) / 4;

/// Moves any trivially copyable value from another lane, word by word. `move` names the lane.
template <class T, class Move>
__device__ __forceinline__ T move_words(const T& value, Move move) {
  std::uint32_t words[kWordsOf<T>] = {};
  memcpy(words, &value, sizeof(T));
#pragma unroll
  for (int w = 0; w < kWordsOf<T>; ++w) words[w] = move(words[w]);
  T moved;
  memcpy(&moved, words, sizeof(T));
  return moved;
}

template <class T>
__device__ __forceinline__ T shuffle_up(const T& value, int lanes) {
  return move_words(value, [&](std::uint32_t word) { return __shfl_up_sync(kAllLanes, word, lanes); });
}
template <class T>
__device__ __forceinline__ T shuffle_down(const T& value, int lanes) {
  return move_words(value, [&](std::uint32_t word) { return __shfl_down_sync(kAllLanes, word, lanes); });
}
template <class T>
__device__ __forceinline__ T shuffle(const T& value, int lane) {
  return move_words(value, [&](std::uint32_t word) { return __shfl_sync(kAllLanes, word, lane); });
}

/// Inclusive scan over the first kLanes lanes of a warp (Hillis and Steele, in log2 kLanes steps).
template <int kLanes = 32, class T, class Op>
__device__ __forceinline__ T scan_lanes(const Op& op, T value, int lane) {
#pragma unroll
  for (int step = 1; step < kLanes; step *= 2) {
    const T left = shuffle_up(value, step);
    if (lane >= step) value = op(left, value);
  }
  return value;
}

/// Lane 0 ← lanes 0 … count-1 folded in order.
template <class T, class Op>
__device__ __forceinline__ T fold_lanes(const Op& op, T value, int lane, int count = 32) {
  if constexpr (std::is_same_v<Op, Add> && std::is_integral_v<T> && sizeof(T) == 4) {
    return static_cast<T>(__reduce_add_sync(kAllLanes, lane < count ? static_cast<unsigned>(value) : 0U));
  } else {
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const T right = shuffle_down(value, step);
      if (lane + step < count) value = op(value, right);
    }
    return value;
  }
}

// ---------------------------------------------------------------------------------------------------- folds of threads
// An operator may have a better algorithm than element by element, as members fold() and scan_exclusive().

template <class T, class Op, int kCount>
__device__ __forceinline__ T fold_items(const Op& op, const T (&items)[kCount]) {
  if constexpr (requires { op.fold(items); }) {
    return op.fold(items);
  } else {
    T total = items[0];
#pragma unroll
    for (int i = 1; i < kCount; ++i) total = op(total, items[i]);
    return total;
  }
}

/// Replaces every item by the fold of what precedes it. Returns the fold of `before` and all items.
template <class T, class Op, int kCount>
__device__ __forceinline__ T scan_items_exclusive(const Op& op, T before, T (&items)[kCount]) {
  if constexpr (requires { op.scan_exclusive(before, items); }) {
    return op.scan_exclusive(before, items);
  } else {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const T after = op(before, items[i]);
      items[i] = before;
      before = after;
    }
    return before;
  }
}

// ------------------------------------------------------------------------------------------ workspace and tagged words
// Values that blocks publish are split into words of 32 bits. Each word is stored with a tag of 32 bits in one 8-byte
// access. A word is published if its tag is that of the launch; a value is published when all its words are. So the
// workspace needs no initialization, and no fence is needed between value and flag. Data that an earlier launch left,
// of any type, is not mistaken for a value.

/// The beginning of a workspace. All zero before the first launch.
struct Control {
  alignas(128) unsigned ticket;
  alignas(128) unsigned done;
  alignas(128) unsigned epoch;
  alignas(128) unsigned long long first_bad;  ///< complement of the index: 0 means none
};

struct Workspace {
  Control* control;
  unsigned long long* words;
  std::int64_t word_count;
};

inline Workspace workspace_at(void* memory, std::int64_t bytes) {
  auto* control = static_cast<Control*>(memory);
  return {control, reinterpret_cast<unsigned long long*>(control + 1), (bytes - std::int64_t{sizeof(Control)}) / 8};
}

/// Words of a published value: a power of two, so that 16-byte accesses hold whole words of one value.
template <class T>
inline constexpr int kTaggedWords = [] {
  static_assert(sizeof(T) <= kMaxElementBytes);
  int words = 1;
  while (words < kWordsOf<T>) words *= 2;
  return words;
}();

/// The tag of this launch. It is never 0, which a fresh workspace contains. Bit 31 is free for the kernel's own use.
__device__ __forceinline__ unsigned tag_of(const Workspace& workspace) {
  return (*const_cast<const volatile unsigned*>(&workspace.control->epoch) + 1) & 0x7fffffffU;
}

/// Prepares the workspace for the next launch. One thread calls it, when no block of the launch takes another ticket
/// or reads another word.
__device__ __forceinline__ void begin_anew(const Workspace& workspace, unsigned tag) {
  workspace.control->ticket = 0;
  if (tag == 0x7ffffffeU) {  // tags restart: words of the earlier launch that had the same tag must be erased
    for (std::int64_t i = 0; i < workspace.word_count; ++i) workspace.words[i] = 0;
    tag = 0;
  }
  workspace.control->epoch = tag;
}

/// Counts the blocks that are done. The last one prepares the next launch. One thread of every block calls it, when
/// the block takes no more tickets and reads no more words.
__device__ __forceinline__ void leave(const Workspace& workspace, unsigned tag) {
  __threadfence();
  if (atomicAdd(&workspace.control->done, 1U) != gridDim.x - 1) return;
  workspace.control->done = 0;
  begin_anew(workspace, tag);
}

template <class T>
__device__ __forceinline__ void put_tagged(unsigned long long* words, std::int64_t index, const T& value,
                                           unsigned tag) {
  std::uint32_t parts[kTaggedWords<T>] = {};
  memcpy(parts, &value, sizeof(T));
  const unsigned long long high = static_cast<unsigned long long>(tag) << 32;
  unsigned long long* to = words + index * kTaggedWords<T>;
  if constexpr (kTaggedWords<T> == 1) {
    asm volatile("st.relaxed.gpu.global.u64 [%0],%1;" ::"l"(to), "l"(high | parts[0]) : "memory");
  } else {
#pragma unroll
    for (int w = 0; w < kTaggedWords<T>; w += 2) {
      asm volatile("st.relaxed.gpu.global.v2.u64 [%0],{%1,%2};" ::"l"(to + w), "l"(high | parts[w]),
                   "l"(high | parts[w + 1])
                   : "memory");
    }
  }
}

/// Published values as 16-byte accesses load them: one value, or two values of one word each.
template <class T>
struct Tagged {
  static constexpr int kValues = kTaggedWords<T> == 1 ? 2 : 1;
  static constexpr int kLoads = kTaggedWords<T> <= 2 ? 1 : kTaggedWords<T> / 2;
  unsigned long long words[2 * kLoads];

  /// Loads values index·kValues … of `words`.
  __device__ __forceinline__ void load(const unsigned long long* from, std::int64_t index) {
    from += index * 2 * kLoads;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      asm volatile("ld.relaxed.gpu.global.v2.u64 {%0,%1},[%2];"
                   : "=l"(words[2 * i]), "=l"(words[2 * i + 1])
                   : "l"(from + 2 * i)
                   : "memory");
    }
  }
  /// Whether the first `count` values are published.
  __device__ __forceinline__ bool is_there(unsigned tag, std::int64_t count) const {
    bool there = true;
#pragma unroll
    for (int w = 0; w < 2 * kLoads; ++w) {
      const int value = kValues == 2 ? w : 0;
      there = there && (count <= value || static_cast<unsigned>(words[w] >> 32) == tag);
    }
    return there;
  }
  __device__ __forceinline__ T value(int which) const {
    std::uint32_t parts[kTaggedWords<T>];
#pragma unroll
    for (int w = 0; w < kTaggedWords<T>; ++w) parts[w] = static_cast<std::uint32_t>(words[kValues == 2 ? which : w]);
    T out;
    memcpy(&out, parts, sizeof(T));
    return out;
  }
};

// ------------------------------------------------------------------------------------------------- what kernels scan

/// The number of elements: `most`, or the length stored at `at`, clamped to 0 … `most`.
__device__ __forceinline__ std::int64_t length_at(const std::int64_t* at, std::int64_t most) {
  if (at == nullptr) return most;
  const std::int64_t n = *at < 0 ? 0 : *at;
  return n < most ? n : most;
}

/// The arguments of one scan for every kernel. Problem defines the scan: In and T (computed and written), Op and
/// kInputs.
template <class Problem>
struct DeviceScan {
  const typename Problem::In* in[Problem::kInputs];
  typename Problem::T* out;
  std::int64_t n;
  Workspace workspace;
  typename Problem::T init;
  const typename Problem::T* init_at = nullptr;  ///< the initial value in device memory; null: `init` is used
  const std::int64_t* n_at = nullptr;            ///< the length in device memory, at most n; null: n
  bool has_init;
  bool exclusive;
  Problem problem;

  [[nodiscard]] __device__ __forceinline__ std::int64_t length() const { return length_at(n_at, n); }

  __device__ __forceinline__ typename Problem::T initial() const { return init_at != nullptr ? *init_at : init; }
};

}  // namespace upsweep::gpu::detail
