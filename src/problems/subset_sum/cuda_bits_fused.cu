// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/cuda_bits_fused.cu: two items per pass, all passes in one kernel; full words are not processed
// again.
//
// Idea   A pass adds two items: a word is the OR of the old bitmap at four shifts: by neither item, by the first, by
//        the second, by both. Items are in ascending order, so that the two items of a pass are nearly equal. Therefore
//        the shifts read three narrow bands. Reads of a band share L1, and two bands are still in L2. All blocks are
//        resident and wait for each other between passes. A bit is never cleared, so a tile of ones never changes. Once
//        the tile is all ones in both bitmaps, it is skipped.
// Cost   Per pair of items at most 2/8 byte per sum of device memory and 4/8 of L2. This applies only to sums
//        that can be reached by then, in tiles that are not full. Random items soon fill everything except
//        the ends of the bitmap.
// Needs  Any GPU, cooperative launches; a second bitmap and half a MB of scratch.
// Limit  If no tile fills up, loads in flight: 79 us per pass of 10^9 sums, for which the memory needs 58 us. If
//        nearly all tiles fill up, 3.6 us per pass: the device-wide barrier, and the ends of the bitmap. Three items
//        would have eight shifts, too many for L1: docs/tuning.md.
// From   Own, based on the bitset of cuda.bits. Ascending items and the range of reachable words are common in such
//        programs.
#include "problems/subset_sum/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "upsweep/detail/cuda_status.cuh"
#include "upsweep/detail/tuning/subset_sum.hpp"

namespace upsweep::impl::subset_sum {
namespace {

using Word = unsigned long long;

constexpr int kThreads = gpu::tuning::kBitsFused.threads;
constexpr int kWarps = kThreads / 32;
constexpr int kStepUnits = 32;  // a unit is 16 bytes; a warp's step has one per lane
// Number of adjacent tiles that a block processes, so that their reads of a band share L1.
constexpr int kGroup = gpu::tuning::kBitsFused.group;
constexpr int kMostPerPass = gpu::tuning::kBitsFused.items_per_pass;
// Maximum number of items of a launch: they are kernel parameters, of which there are 4 KB.
constexpr int kMostItems = 400;
// More threads than any device can run; each has a byte for the state of a tile.
constexpr std::int64_t kMostThreads = gpu::tuning::kBitsFused.most_threads;

// The states of a tile.
constexpr unsigned char kFull = 1;      // the last pass wrote only ones
constexpr unsigned char kBothFull = 2;  // both bitmaps have only ones there

// Words and units are counted from the 16-byte boundary at or before the caller's bitmap.
struct FusedCall {
  uint4* sums;   ///< the caller's bitmap, from that boundary
  uint4* other;  ///< the bitmap in scratch, with the same layout
  int origin;    ///< word where the caller's bitmap begins: 0 or 1
  int items;     ///< items of this launch; without items there is also one pass
  bool first;    ///< the first launch: only the sum 0 is reached
  bool last;
  bool into_sums;  ///< whether the first pass writes the caller's bitmap; later passes alternate
  std::int64_t target;
  std::int64_t greatest;   ///< largest sum before the first pass, up to the target
  std::int64_t last_word;  ///< last word of the bitmap
  uint4 last_mask;         ///< mask of its unit
  Word* arrived;           ///< number of block arrivals at barriers, in all launches
  Word barriers;           ///< number of barriers in earlier launches
  unsigned char* states;   ///< states of tiles, one per thread
  int steps;               ///< steps per tile
  std::int64_t item[kMostItems];
};
static_assert(sizeof(FusedCall) <= 4096);

struct Shift {
  const uint4* from;   ///< from[u] is the source of unit u if the shift were whole units
  std::int64_t units;  ///< whole units of the shift
  unsigned words;      ///< remaining whole words of 32 bits
  unsigned bits;       ///< remaining bits
};

/// A pass, described in shared memory for the block. A bitmap consists of whole units. The exception is a unit at
/// either end of the caller's bitmap, of which only one word belongs to it: those units are `edges`.
struct Pass {
  uint4* to;
  std::int64_t from_begin;  ///< first whole unit to read; outside the whole units there are sums only in edges
  std::int64_t from_end;
  std::int64_t edges[2];  ///< the edge units, or kNone
  uint4 edge_units[2];
  std::int64_t to_begin;  ///< first whole unit to write
  std::int64_t to_end;
  std::int64_t to_units;            ///< number of units to write, with edges
  Shift shifts[1 << kMostPerPass];  ///< the first is by 0, the last is the longest
};
constexpr std::int64_t kNone = INT64_MIN;

/// Returns unit `at` of the old bitmap, which is from[u].
template <bool kInside>
__device__ __forceinline__ uint4 old_unit(const Pass& pass, std::int64_t at, const uint4* from, std::int64_t u) {
  if (kInside || (at >= pass.from_begin && at < pass.from_end)) return from[u];
  if (at == pass.edges[0]) return pass.edge_units[0];
  if (at == pass.edges[1]) return pass.edge_units[1];
  return make_uint4(0, 0, 0, 0);
}

/// ORs into a unit the bits that a shift by kWords words and some bits brings to it, from the two units that contain
/// them.
template <int kWords>
__device__ __forceinline__ void add_words(uint4& sums, const uint4& low, const uint4& high, unsigned bits) {
  const unsigned words[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  constexpr int kFirst = 3 - kWords;
  sums.x |= __funnelshift_l(words[kFirst], words[kFirst + 1], bits);
  sums.y |= __funnelshift_l(words[kFirst + 1], words[kFirst + 2], bits);
  sums.z |= __funnelshift_l(words[kFirst + 2], words[kFirst + 3], bits);
  sums.w |= __funnelshift_l(words[kFirst + 3], words[kFirst + 4], bits);
}

__device__ __forceinline__ void add_shifted(uint4& sums, const uint4& low, const uint4& high, const Shift& shift) {
  // The branch is the same for all threads. It costs less than selecting five words of eight.
  switch (shift.words) {
    case 0:
      return add_words<0>(sums, low, high, shift.bits);
    case 1:
      return add_words<1>(sums, low, high, shift.bits);
    case 2:
      return add_words<2>(sums, low, high, shift.bits);
    default:
      return add_words<3>(sums, low, high, shift.bits);
  }
}

// [guide: unit]
template <int kShifts, bool kInside>
__device__ __forceinline__ uint4 new_unit(const Pass& pass, std::int64_t u) {
  uint4 low[kShifts];
  uint4 high[kShifts];
  // All units are loaded before the first is used.
  uint4 sums = old_unit<kInside>(pass, u, pass.shifts[0].from, u);
#pragma unroll
  for (int i = 1; i < kShifts; ++i) {
    const Shift& shift = pass.shifts[i];
    low[i] = old_unit<kInside>(pass, u - shift.units - 1, shift.from, u - 1);
    high[i] = old_unit<kInside>(pass, u - shift.units, shift.from, u);
  }
#pragma unroll
  for (int i = 1; i < kShifts; ++i) add_shifted(sums, low[i], high[i], pass.shifts[i]);
  return sums;
}
// [guide: end]

__device__ __forceinline__ bool is_ones(const uint4& unit) { return (unit.x & unit.y & unit.z & unit.w) == ~0U; }

/// Writes the words of a unit that belong to the bitmap. Returns whether all of them do, and are ones.
__device__ __forceinline__ bool store_unit(const FusedCall& call, const Pass& pass, std::int64_t u, uint4 unit) {
  if (u >= pass.to_units) return false;
  if (u == call.last_word / 2) {  // clears the bits past the target
    const uint4 mask = call.last_mask;
    unit = make_uint4(unit.x & mask.x, unit.y & mask.y, unit.z & mask.z, unit.w & mask.w);
  }
  if (u >= pass.to_begin && u < pass.to_end) {
    pass.to[u] = unit;
    return is_ones(unit);
  }
  auto* const halves = reinterpret_cast<uint2*>(pass.to + u);
  if (u < pass.to_begin) {
    halves[1] = make_uint2(unit.z, unit.w);
  } else {
    halves[0] = make_uint2(unit.x, unit.y);
  }
  return false;
}

/// Writes a step of a warp's tile. Returns whether all of it is ones now.
template <int kShifts>
__device__ __forceinline__ bool write_step(const FusedCall& call, const Pass& pass, std::int64_t first) {
  // All reads and writes are within the bitmap: no unit needs a check.
  const bool inside = first - pass.shifts[kShifts - 1].units - 1 >= pass.from_begin &&
                      first + kStepUnits <= min(pass.from_end, call.last_word / 2);
  const std::int64_t u = first + threadIdx.x % 32;
  bool ones = false;
  if (inside) {
    const uint4 unit = new_unit<kShifts, true>(pass, u);
    pass.to[u] = unit;
    ones = is_ones(unit);
  } else {
    ones = store_unit(call, pass, u, new_unit<kShifts, false>(pass, u));
  }
  return __all_sync(~0U, ones);
}

/// Processes the warp's tiles; each lane keeps the state of one tile.
template <int kItems>
__device__ __forceinline__ void run_pass(const FusedCall& call, const Pass& pass, int& state) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  // A warp has the same tiles in every pass, so no other warp needs their states.
  const std::int64_t stride = std::int64_t{gridDim.x} * kWarps;
  const std::int64_t worker = (std::int64_t{warp / kGroup} * gridDim.x + blockIdx.x) * kGroup + warp % kGroup;
  const std::int64_t tile_units = std::int64_t{call.steps} * kStepUnits;
  const bool is_there = (lane * stride + worker) * tile_units < pass.to_units;
  for (unsigned left = __ballot_sync(~0U, is_there && state != kBothFull); left != 0; left &= left - 1) {
    const int round = __ffs(static_cast<int>(left)) - 1;
    const std::int64_t first = (round * stride + worker) * tile_units;
    const bool was_full = __shfl_sync(~0U, state, round) == kFull;
    bool is_full = true;
    for (int step = 0; step < call.steps; ++step) {
      const std::int64_t u = first + step * kStepUnits;
      if (was_full) {
        pass.to[u + lane] = make_uint4(~0U, ~0U, ~0U, ~0U);
      } else {
        is_full = write_step<1 << kItems>(call, pass, u) && is_full;
      }
    }
    if (is_full && lane == round) state = was_full ? kBothFull : kFull;
  }
}

/// Returns the number of words of the sums 0 … `greatest`.
__device__ __forceinline__ std::int64_t words_up_to(std::int64_t greatest) { return greatest / 64 + 1; }

/// Describes pass p of `count` items, from sums up to `before` to sums up to `after`. Each of the first threads
/// describes a shift, and the next thread the other fields.
__device__ __forceinline__ void describe(const FusedCall& call, Pass& pass, int p, int count, std::int64_t before,
                                         std::int64_t after) {
  constexpr int kShifts = 1 << kMostPerPass;
  const int thread = static_cast<int>(threadIdx.x);
  const bool into_sums = call.into_sums == (p % 2 == 0);
  const uint4* const from = into_sums ? call.other : call.sums;
  if (thread < kShifts) {
    std::int64_t sum = 0;
    for (int i = 0; i < count; ++i) sum += (thread >> i & 1) != 0 ? call.item[p * kMostPerPass + i] : 0;
    pass.shifts[thread] = {from - sum / 128, sum / 128, static_cast<unsigned>(sum / 32 % 4),
                           static_cast<unsigned>(sum % 32)};
  } else if (thread == kShifts) {
    const bool is_last = call.last && (p + 1) * kMostPerPass >= call.items;
    const std::int64_t from_units = (call.origin + words_up_to(before) + 1) / 2;
    // The last pass also clears the words past its sums.
    const std::int64_t to_words = is_last ? call.last_word + 1 : call.origin + words_up_to(after);
    const std::int64_t whole = (call.last_word + 1) / 2;  // units of the caller's bitmap, from `origin` on
    pass.to = into_sums ? call.sums : call.other;
    pass.to_units = (to_words + 1) / 2;
    pass.to_begin = into_sums ? call.origin : 0;
    pass.to_end = into_sums ? min(pass.to_units, whole) : pass.to_units;
    pass.from_begin = into_sums ? 0 : call.origin;
    pass.from_end = into_sums ? from_units : min(from_units, whole);
    pass.edges[0] = kNone;
    pass.edges[1] = kNone;
    const auto* const halves = reinterpret_cast<const uint2*>(from);
    if (call.first && p == 0) {  // only the sum 0 is reached
      pass.from_end = pass.from_begin;
      pass.edges[0] = 0;
      pass.edge_units[0] = call.origin == 0 ? make_uint4(1, 0, 0, 0) : make_uint4(0, 0, 1, 0);
    } else if (!into_sums) {
      if (call.origin != 0) {
        pass.edges[0] = 0;
        pass.edge_units[0] = make_uint4(0, 0, halves[1].x, halves[1].y);
      }
      if (from_units > whole) {
        pass.edges[1] = whole;
        pass.edge_units[1] = make_uint4(halves[2 * whole].x, halves[2 * whole].y, 0, 0);
      }
    }
  }
}

/// Waits until every block has called it `count` times in all launches.
__device__ __forceinline__ void wait_for_blocks(Word* arrived, Word count) {
  __syncthreads();  // the block has written its tiles
  if (threadIdx.x == 0) {
    __threadfence();  // other blocks see the tiles before they see the arrival
    atomicAdd(arrived, 1ULL);
    while (*const_cast<volatile Word*>(arrived) < count * gridDim.x) {
    }
    __threadfence();  // other blocks' tiles are read only after their arrival, and not from an older line of L1
  }
  __syncthreads();  // extends this to the whole block
}

__global__ void __launch_bounds__(kThreads, gpu::tuning::kBitsFused.resident)
    fuse_items(const __grid_constant__ FusedCall call) {
  __shared__ Pass pass;
  unsigned char* const kept_state = call.states + std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  int state = *kept_state;
  std::int64_t greatest = call.greatest;
  for (int p = 0; p == 0 || p * kMostPerPass < call.items; ++p) {
    if (p > 0) wait_for_blocks(call.arrived, call.barriers + static_cast<Word>(p));
    const int count = min(kMostPerPass, call.items - p * kMostPerPass);
    const std::int64_t before = greatest;
    for (int i = 0; i < count; ++i) greatest += min(call.item[p * kMostPerPass + i], call.target - greatest);
    describe(call, pass, p, count, before, greatest);
    __syncthreads();  // the pass is described, and all threads have left the previous pass
    switch (count) {
      case 0:
        run_pass<0>(call, pass, state);
        break;
      case 1:
        run_pass<1>(call, pass, state);
        break;
      default:
        run_pass<2>(call, pass, state);
    }
  }
  *kept_state = static_cast<unsigned char>(state);
}

/// Returns the mask of the bits to keep in the bitmap's last unit, whose last word is the low or the high half.
uint4 last_mask_of(std::int64_t target, bool is_high) {
  const Word mask = ~Word{0} >> (63 - target % 64);
  const auto low = static_cast<unsigned>(mask);
  const auto high = static_cast<unsigned>(mask >> 32);
  return is_high ? make_uint4(~0U, ~0U, low, high) : make_uint4(low, high, 0, 0);
}

constexpr std::int64_t kCounterBytes = 256;

Status fuse(const detail::SubsetSumCall& call) {
  const std::vector<std::int64_t> items = ascending_items(call, call.target);
  int resident = 0;
  cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, fuse_items, kThreads, 0);
  if (error != cudaSuccess) return gpu::status_of(error);
  const std::int64_t words = detail::words_of(call.target);
  const std::int64_t steps = ((words + 2) / 2 + kStepUnits - 1) / kStepUnits;
  const std::int64_t blocks = std::min(
      {std::int64_t{resident} * call.launch->multiprocessors, (steps + kWarps - 1) / kWarps, kMostThreads / kThreads});
  auto* const scratch = static_cast<unsigned char*>(call.launch->scratch);

  FusedCall fused{};
  fused.origin = static_cast<int>(reinterpret_cast<std::uintptr_t>(call.sums) / sizeof(Word) % 2);
  fused.sums = reinterpret_cast<uint4*>(call.sums - fused.origin);
  fused.other = reinterpret_cast<uint4*>(scratch + kCounterBytes + kMostThreads);
  fused.target = call.target;
  fused.last_word = fused.origin + words - 1;
  fused.last_mask = last_mask_of(call.target, fused.last_word % 2 != 0);
  fused.arrived = reinterpret_cast<Word*>(scratch);
  fused.states = scratch + kCounterBytes;
  fused.steps = static_cast<int>((steps + blocks * kThreads - 1) / (blocks * kThreads));
  error = cudaMemsetAsync(scratch, 0, static_cast<std::size_t>(kCounterBytes + blocks * kThreads), call.launch->stream);

  cudaLaunchAttribute cooperative{};  // the launch fails unless all blocks are resident, as they must be to wait
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(kThreads);
  config.stream = call.launch->stream;
  config.attrs = &cooperative;
  config.numAttrs = 1;
  std::size_t done = 0;
  const auto passes_of = [](std::size_t count) { return (count + kMostPerPass - 1) / kMostPerPass; };
  do {
    const std::size_t left = items.size() - done;
    const std::size_t count = std::min<std::size_t>(left, kMostItems);
    fused.first = done == 0;
    fused.last = count == left;
    fused.into_sums = std::max<std::size_t>(passes_of(left), 1) % 2 == 1;
    fused.items = static_cast<int>(count);
    std::copy_n(items.data() + done, count, fused.item);
    if (error == cudaSuccess) error = cudaLaunchKernelEx(&config, fuse_items, fused);
    for (std::size_t i = 0; i < count; ++i) fused.greatest += std::min(fused.item[i], call.target - fused.greatest);
    fused.barriers += std::max<std::size_t>(passes_of(count), 1) - 1;
    done += count;
  } while (done < items.size());
  return gpu::status_of(error);
}

Status launch(detail::SubsetSumCall& call, const Policy&) noexcept {
  return with_memory_for("no memory left for a copy of the items", [&] { return fuse(call); });
}

gpu::WorkspaceSize workspace(const detail::SubsetSumCall& call) noexcept {
  const std::int64_t words = detail::words_of(call.target);
  return {.scratch = kCounterBytes + kMostThreads + (words + 3) / 2 * std::int64_t{sizeof(uint4)}};
}

}  // namespace
}  // namespace upsweep::impl::subset_sum
#endif

namespace upsweep::impl::subset_sum {

extern const Rung cuda_bits_fused{.info = {.id = "cuda.bits_fused",
                                           .idea = "two items per pass of one persistent kernel",
                                           .needs = "any GPU with cooperative launches",
                                           .traffic = "2 bits per sum and pass",
                                           .cost = "n·S/64, n/2",
                                           .limit = "the L2 cache"},
                                  .run = launch,
                                  .workspace = workspace};

}  // namespace upsweep::impl::subset_sum
