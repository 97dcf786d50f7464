// SPDX-License-Identifier: Apache-2.0
// cuda/marks.cuh: the mask as bits with ranks on a GPU; cpu/marks.hpp is the version for the CPU.
//
// A word is 32 bits of the mask, a block 1024 words. `before` is the number of set bits in the words before a word, in
// its block. `base` is the number of set bits before a block. A rank is the number of set bits before a position: three
// loads and a popcount.
// Words begin where the mask's memory has whole vectors, so position j is bit j + skew.
#pragma once

#if UPSWEEP_HAS_CUDA
#include "cuda/moved_lists.cuh"
#include "cuda/work_path.cuh"
#include "upsweep/detail/tuning/select.hpp"

namespace upsweep::gpu {

inline constexpr int kMarkThreads = tuning::kMarks.threads;
inline constexpr int kMarkRows = tuning::kMarks.rows;
inline constexpr std::int64_t kMarkBlockWords = kMarkThreads * kMarkRows;
inline constexpr std::int64_t kMarkBlockBits = 32 * kMarkBlockWords;
inline constexpr std::int64_t kMostMarkSkew = 31;

/// Returns the number of blocks for a mask of `length` booleans, for any beginning of its memory; at least one.
constexpr std::int64_t mark_blocks(std::int64_t length) {
  return (length + kMostMarkSkew + kMarkBlockBits - 1) / kMarkBlockBits;
}

struct DeviceMarks {
  std::uint32_t* bits;
  std::uint16_t* before;
  std::int64_t* base;  ///< of each block, and the total
  std::int64_t blocks;
  std::int64_t skew;

  [[nodiscard]] __device__ __forceinline__ std::int64_t total() const { return base[blocks]; }
  [[nodiscard]] __device__ __forceinline__ std::int64_t rank_of_word(std::int64_t word) const {
    const std::int64_t block = base[word / kMarkBlockWords];
    return word % kMarkBlockWords == 0 ? block : block + before[word];  // `before` has no entry past the last block
  }
  /// Returns the rank of a position in the mask, or of its end.
  [[nodiscard]] __device__ __forceinline__ std::int64_t rank(std::int64_t position) const {
    const std::int64_t bit = position + skew;
    const unsigned inside = static_cast<unsigned>(bit % 32);
    const std::int64_t words = rank_of_word(bit / 32);
    return inside == 0 ? words : words + __popc(bits[bit / 32] & ((1U << inside) - 1));
  }
  /// Returns the position of the set bit with `rank` set bits before it.
  [[nodiscard]] __device__ std::int64_t position(std::int64_t rank) const {
    const std::int64_t block = last_where(0, blocks - 1, [&](std::int64_t b) { return base[b] <= rank; });
    const auto in_block = static_cast<unsigned>(rank - base[block]);
    const std::int64_t words = block * kMarkBlockWords;
    std::int64_t word = 0;
    for (std::int64_t step = kMarkBlockWords / 2; step > 0; step /= 2) {
      if (before[words + word + step] <= in_block) word += step;
    }
    unsigned left = in_block - before[words + word];
    std::uint32_t mask = bits[words + word];
    int bit = 0;
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
      const auto low = static_cast<unsigned>(__popc(mask & ((1U << step) - 1)));
      if (low <= left) {
        left -= low;
        mask >>= step;
        bit += step;
      }
    }
    return (words + word) * 32 + bit - skew;
  }
};

/// Returns the marks of a mask of that length in scratch memory.
inline DeviceMarks marks_in(ScratchParts& parts, const Mask& mask) {
  const std::int64_t blocks = mark_blocks(mask.length);
  // For a bitmap in bits, from a boundary of 4 bytes on; otherwise in bytes, from a boundary of 16 bytes on.
  const std::uintptr_t first = mask.is_bitmap
                                   ? reinterpret_cast<std::uintptr_t>(mask.data + mask.first_bit / 8) % 4 * 8 +
                                         static_cast<std::uintptr_t>(mask.first_bit % 8)
                                   : reinterpret_cast<std::uintptr_t>(mask.data) % 16;
  auto* const bits = parts.take<std::uint32_t>(blocks * kMarkBlockWords);
  auto* const before = parts.take<std::uint16_t>(blocks * kMarkBlockWords);
  return {bits, before, parts.take<std::int64_t>(blocks + 1), blocks, static_cast<std::int64_t>(first)};
}

/// The range of bits that are used, as positions in the marks.
struct MarkedBits {
  std::int64_t first;
  std::int64_t stop;
};

/// Returns a bit for each of four bytes that is not 0.
__device__ __forceinline__ std::uint32_t nonzero_bytes(std::uint32_t word) {
  const std::uint32_t ones = (((word & 0x7F7F7F7FU) + 0x7F7F7F7FU) | word) >> 7 & 0x01010101U;
  return ones * 0x01020408U >> 24 & 0xFU;
}
__device__ __forceinline__ std::uint32_t nonzero_bytes(const uint4& v) {
  return nonzero_bytes(v.x) | nonzero_bytes(v.y) << 4 | nonzero_bytes(v.z) << 8 | nonzero_bytes(v.w) << 12;
}

/// A mask's memory as words of 32 booleans.
struct MaskWords {
  const std::uint8_t* from;  ///< where bit 0 is stored
  bool is_bitmap;

  MaskWords(const Mask& mask, std::int64_t skew)
      : from(mask.is_bitmap ? mask.data + mask.first_bit / 8 - skew / 8 : mask.data - skew),
        is_bitmap(mask.is_bitmap) {}

  /// Returns a word that is completely within the mask. The template argument selects the kind of mask.
  template <bool kIsBitmap>
  __device__ __forceinline__ std::uint32_t whole(std::int64_t word) const {
    if constexpr (kIsBitmap) {
      return reinterpret_cast<const std::uint32_t*>(from)[word];
    } else {
      const uint4* const vectors = reinterpret_cast<const uint4*>(from) + word * 2;
      const uint4 low = vectors[0];
      const uint4 high = vectors[1];
      return nonzero_bytes(low) | nonzero_bytes(high) << 16;
    }
  }
  /// Returns a word of which some bits may be outside the range.
  __device__ std::uint32_t clipped(std::int64_t word, const MarkedBits& range) const {
    std::uint32_t bits = 0;
    const std::int64_t stop = ::min(word * 32 + 32, range.stop);
    for (std::int64_t bit = ::max(word * 32, range.first); bit < stop; ++bit) {
      const bool is_set = is_bitmap ? (from[bit / 8] >> (bit % 8) & 1) != 0 : from[bit] != 0;
      bits |= static_cast<std::uint32_t>(is_set) << (bit % 32);
    }
    return bits;
  }
};

/// Computes bits and counts of a block; its total goes to base. Booleans that belong to no list count as false and are
/// not read. `lists` must be adjacent; has_lists: whether there are any.
template <bool kIsBitmap>
__global__ void __launch_bounds__(kMarkThreads) mark_mask(MaskWords mask, std::int64_t length, bool has_lists,
                                                          MovedLists lists, DeviceMarks marks, Outcome* outcome) {
  __shared__ int warps[kMarkThreads / 32];
  const Extent covered = has_lists ? lists.covered() : Extent{0, length};
  const MarkedBits range{marks.skew + covered.start, marks.skew + covered.start + covered.length};
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int warp = static_cast<int>(threadIdx.x / 32);
  const std::int64_t first_word = std::int64_t{blockIdx.x} * kMarkBlockWords + warp * (kMarkRows * 32) + lane;
  const std::int64_t block_bit = std::int64_t{blockIdx.x} * kMarkBlockBits;

  std::uint32_t words[kMarkRows];
  if (block_bit >= range.first && block_bit + kMarkBlockBits <= range.stop) {
#pragma unroll
    for (int row = 0; row < kMarkRows; ++row) words[row] = mask.whole<kIsBitmap>(first_word + row * 32);
  } else {
#pragma unroll
    for (int row = 0; row < kMarkRows; ++row) {
      const std::int64_t word = first_word + row * 32;
      const bool is_whole = word * 32 >= range.first && word * 32 + 32 <= range.stop;
      words[row] = is_whole ? mask.whole<kIsBitmap>(word) : mask.clipped(word, range);
    }
  }

  int before[kMarkRows];
  int carry = 0;
#pragma unroll
  for (int row = 0; row < kMarkRows; ++row) {
    const int own = __popc(words[row]);
    const int inclusive = detail::scan_lanes(Add{}, own, lane);
    before[row] = carry + inclusive - own;
    carry += __shfl_sync(detail::kAllLanes, inclusive, 31);
  }
  if (lane == 0) warps[warp] = carry;
  __syncthreads();
  int earlier = 0;
  for (int w = 0; w < warp; ++w) earlier += warps[w];
#pragma unroll
  for (int row = 0; row < kMarkRows; ++row) {
    marks.bits[first_word + row * 32] = words[row];
    marks.before[first_word + row * 32] = static_cast<std::uint16_t>(earlier + before[row]);
  }
  if (threadIdx.x == kMarkThreads - 1) marks.base[blockIdx.x] = earlier + carry;
  if (blockIdx.x == 0 && threadIdx.x == 0) *outcome = {0, 0};
}

/// Launches the kernels for the marks of a mask: of all booleans or, with adjacent lists, of those in the lists.
inline cudaError_t launch_marks(const Mask& mask, const Lists* adjacent, const DeviceMarks& marks, Outcome* outcome,
                                Stream stream) {
  const detail::Grid grid{.blocks = static_cast<unsigned>(marks.blocks), .threads = kMarkThreads, .stream = stream};
  const MaskWords words(mask, marks.skew);
  const bool has_lists = adjacent != nullptr;
  const MovedLists lists(has_lists ? *adjacent : Lists{}, mask.length);
  const cudaError_t error =
      mask.is_bitmap ? detail::launch(grid, mark_mask<true>, words, mask.length, has_lists, lists, marks, outcome)
                     : detail::launch(grid, mark_mask<false>, words, mask.length, has_lists, lists, marks, outcome);
  if (error != cudaSuccess) return error;
  return launch_scan_totals(marks.base, marks.blocks, stream);
}

/// to[i] ← staged[i] for i < count, by a block of kThreads: the stores of a warp fill a line.
template <int kThreads, class E>
__device__ __forceinline__ void store_run(const E* staged, int count, E* to) {
  constexpr auto kLine = static_cast<int>(128 / sizeof(E));
  const auto skew = static_cast<int>(reinterpret_cast<std::uintptr_t>(to) / sizeof(E) % kLine);
  for (int i = static_cast<int>(threadIdx.x) - skew; i < count; i += kThreads) {
    if (i >= 0) to[i] = staged[i];
  }
}

}  // namespace upsweep::gpu
#endif
