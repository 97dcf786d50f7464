// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/tile_pipeline.cuh: a scan in one memory pass on Hopper: persistent blocks, bulk copies, look-ahead.
//
// One block per multiprocessor takes tiles by ticket. A tile stays in one stage of shared memory from load to store.
// Every warp has one job:
//   loader      waits for a free stage, takes a ticket, starts the bulk copy of the tile into the stage
//   reduce      fold the tile; the last of them to finish publishes the tile's aggregate (never a prefix)
//   look-ahead  folds the aggregates of all earlier tiles itself, so no block waits for another block's prefix
//   scan        tile prefix ⊕ warp's ⊕ lane's, then element by element, back into the stage
//   store       bulk copy out; the stage is free once it has been read
// A tile waits only for lower tickets, and each ticket is held by a running block. So there is no deadlock, whatever
// other work runs on the device. Aggregates are folded in a fixed order, so floats have the same bits on every run,
// whatever the alignment.
// Aggregates have the launch's tag, which is kept in the workspace. So no kernel or memset initializes anything, and a
// graph can replay the launch.
//
// An array in shards, one on each of several devices, is read twice. A first launch publishes the aggregates of a
// shard's tiles. A second launch finds all of them there, so its look-ahead waits for nothing. In between, the shards'
// groups of tiles are folded in the order of the shards (shard_scan.cuh).
//
// A Problem defines the scan. The concept TileProblem in tile_problem.cuh lists its requirements.
//
// compute-sanitizer's racecheck reports exactly three pairs here. It follows neither __syncwarp with one lane's release
// for the warp, nor the counter of reduce warps. All three are ordered:
//   warp_total   reduce() writes, __syncwarp, lane 0 adds to `arrived` (release) … the last warp's lane 0 adds to it
//                (acquire), __syncwarp, publish() reads
//   warp_before  publish() writes, __syncwarp, lane 0 arrives at prefix_known (release) … scan() waits for it (acquire)
//   lane_before  reduce() writes, then as warp_total to publish(), and then as warp_before
#pragma once

#include <cstdint>
#include <type_traits>

#include "upsweep/detail/bulk_copy.cuh"
#include "upsweep/detail/device.cuh"
#include "upsweep/detail/tile_problem.cuh"
#include "upsweep/detail/tuning/scan.hpp"

namespace upsweep::gpu::detail {

// ----------------------------------------------------------------------------------------------------------- the shape

inline constexpr int kSharedBytes = tuning::kLookaheadOrder.shared_bytes;
inline constexpr int kMaxStages = tuning::kLookahead.max_stages;
inline constexpr int kMinStages = tuning::kLookaheadOrder.min_stages;

constexpr int common_divisor(int a, int b) { return b == 0 ? a : common_divisor(b, a % b); }

/// A block whose tiles are scanned by kWarps_ warps, at most Problem::kWarps.
template <class Problem, int kWarps_>
struct ShapeOf {
  static_assert(TileProblem<Problem>, "see tile_problem.cuh");
  using In = typename Problem::In;
  using T = typename Problem::T;
  using Carry = typename CarryOf<Problem>::type;
  // A lane owns kUnits consecutive 16-byte units. The number holds whole elements. It is odd if possible, so that
  // 128-bit accesses of a warp use every bank equally.
  static constexpr int kUnits = Problem::kUnits;
  static constexpr int kWarps = kWarps_;
  static constexpr int kLaneElements = kUnits * 16 / int{sizeof(In)};
  static_assert(kLaneElements * int{sizeof(In)} == kUnits * 16);
  static constexpr int kTile = kWarps * 32 * kLaneElements;
  static constexpr int kInBytes = kTile * int{sizeof(In)};
  static constexpr int kOutBytes = kTile * int{sizeof(T)};
  static constexpr int kThreads = (2 * kWarps + 3) * 32;
  // Results replace the elements. If both have the same size, they do so lane by lane. Otherwise they are stored over
  // all inputs, if those are large enough. A stage has one more unit, as arrays may start between units.
  static constexpr bool kInPlace = sizeof(In) == sizeof(T);
  static constexpr bool kOverAll = !kInPlace && Problem::kInputs * sizeof(In) >= sizeof(T);
  static constexpr int kInStage = kInBytes + 128;
  static constexpr int kOutStage = kInPlace || kOverAll ? 0 : kOutBytes + 128;
  static constexpr int kHeadBytes = Problem::kHasHeads ? kTile / 8 : 0;  // at the end of a stage
  static_assert(kHeadBytes % 16 == 0);
  static constexpr int kStage = (Problem::kInputs * kInStage + kOutStage + kHeadBytes + 127) / 128 * 128;
  static constexpr int kLaneBytes = kWarps * 32 * int{sizeof(Carry)};

  struct Head {
    Barrier taken[kMaxStages];         ///< the tile's number is known
    Barrier full[kMaxStages];          ///< its elements are loaded
    Barrier prefix_known[kMaxStages];  ///< the prefixes of the tile and of each of its warps are known
    Barrier scanned[kMaxStages];       ///< the results are in the stage
    Barrier empty[kMaxStages];         ///< the results have been read
    Carry prefix[kMaxStages];
    Carry warp_total[kMaxStages][kWarps];
    Carry warp_before[kMaxStages][kWarps];
    bool has_prefix[kMaxStages];
    std::int64_t tile[kMaxStages];
    int arrived[kMaxStages];
    unsigned tag;
  };
  static constexpr int kHead = (int{sizeof(Head)} + 127) / 128 * 128;
  static constexpr int kFit = (kSharedBytes - kHead) / (kStage + kLaneBytes);
  static constexpr int kStages = kFit < kMaxStages ? kFit : kMaxStages;
  static constexpr int kShared = kHead + kStages * (kStage + kLaneBytes);
};

/// Returns the maximum number of warps, up to kWarps, whose tiles leave shared memory for kMinStages.
template <class Problem, int kWarps>
constexpr int warps_that_fit() {
  if constexpr (ShapeOf<Problem, kWarps>::kStages >= kMinStages) {
    return kWarps;
  } else {
    static_assert(kWarps > 1, "a tile of one warp does not fit shared memory three times");
    return warps_that_fit<Problem, kWarps - 1>();
  }
}

template <class Problem>
using Shape = ShapeOf<Problem, warps_that_fit<Problem, Problem::kWarps>()>;

/// If the order changes the result, rows of tiles are folded in groups of kGroupTiles tiles, and groups in order. Then
/// shards that consist of whole groups can fold all groups at the same time, with the same bits as one device.
inline constexpr int kGroupTiles = tuning::kLookaheadOrder.group_tiles;
template <class Problem>
inline constexpr bool kFoldsGroups = !Problem::kHasHeads && !std::is_integral_v<typename CarryOf<Problem>::type>;
/// Tiles of a row. A lane has the tiles of one access to memory.
template <class Carry>
inline constexpr int kRowTiles = 32 * Tagged<Carry>::kValues;
template <class Carry>
inline constexpr int kGroupRows = kGroupTiles / kRowTiles<Carry>;

template <class Problem>
__host__ __device__ constexpr std::int64_t tiles_of(std::int64_t n) {
  return (n + Shape<Problem>::kTile - 1) / Shape<Problem>::kTile;
}

// ------------------------------------------------------------------------------------------------------- lanes' chunks

/// Loads the 4·kUnits words that begin `bytes` bytes past a 16-byte boundary, for any `bytes` below 16.
template <int kUnits>
__device__ __forceinline__ void load_words(const uint4* units, int bytes, std::uint32_t (&words)[4 * kUnits]) {
  if (bytes == 0) {
#pragma unroll
    for (int u = 0; u < kUnits; ++u) {
      const uint4 v = units[u];
      words[4 * u] = v.x, words[4 * u + 1] = v.y, words[4 * u + 2] = v.z, words[4 * u + 3] = v.w;
    }
    return;
  }
  std::uint32_t wide[4 * kUnits + 4];
#pragma unroll
  for (int u = 0; u <= kUnits; ++u) {
    const uint4 v = units[u];
    wide[4 * u] = v.x, wide[4 * u + 1] = v.y, wide[4 * u + 2] = v.z, wide[4 * u + 3] = v.w;
  }
  const bool by_two = (bytes & 8) != 0;
  const bool by_one = (bytes & 4) != 0;
#pragma unroll
  for (int i = 0; i < 4 * kUnits + 2; ++i) wide[i] = by_two ? wide[i + 2] : wide[i];
#pragma unroll
  for (int i = 0; i < 4 * kUnits + 1; ++i) wide[i] = by_one ? wide[i + 1] : wide[i];
#pragma unroll
  for (int i = 0; i < 4 * kUnits; ++i) words[i] = __funnelshift_r(wide[i], wide[i + 1], 8 * (bytes & 3));
}

/// Stores a lane's results to shared memory at any address that is aligned for their type.
template <class T, int kCount>
__device__ __forceinline__ void store_chunk(char* to, const T (&values)[kCount]) {
  constexpr int kBytes = kCount * int{sizeof(T)};
  const std::uint32_t address = shared_address(to);
  if constexpr (kBytes % 16 == 0) {
    if (address % 16 == 0) {
      uint4 units[kBytes / 16];
      memcpy(units, values, kBytes);
#pragma unroll
      for (int u = 0; u < kBytes / 16; ++u) reinterpret_cast<uint4*>(to)[u] = units[u];
      return;
    }
  }
  if constexpr (kBytes % 4 == 0) {
    if (alignof(T) % 4 == 0 || address % 4 == 0) {
      std::uint32_t words[kBytes / 4];
      memcpy(words, values, kBytes);
#pragma unroll
      for (int w = 0; w < kBytes / 4; ++w) reinterpret_cast<std::uint32_t*>(to)[w] = words[w];
      return;
    }
  }
  if constexpr (alignof(T) % 4 != 0) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) memcpy(to + i * int{sizeof(T)}, &values[i], sizeof(T));
  }
}

/// Leaves as leave() does, but keeps the tag, because the next launch continues with what this one has published.
__device__ __forceinline__ void leave_with_tag(const Workspace& workspace) {
  __threadfence();
  if (atomicAdd(&workspace.control->done, 1U) != gridDim.x - 1) return;
  workspace.control->done = 0;
  workspace.control->ticket = 0;
}

// ---------------------------------------------------------------------------------------------------------- the kernel

template <class Problem>
class Pipeline {
 public:
  using S = Shape<Problem>;
  using In = typename Problem::In;
  using T = typename Problem::T;
  using Carry = typename S::Carry;

  __device__ __forceinline__ Pipeline(const DeviceScan<Problem>& call, char* shared)
      : call_(call),
        op_(call.problem.op),
        join_{call.problem.op},
        n_(length_of(call)),
        tiles_(tiles_of<Problem>(n_)),
        head_(*reinterpret_cast<typename S::Head*>(shared)),
        stages_(shared + S::kHead),
        lane_before_(reinterpret_cast<Carry*>(stages_ + S::kStages * S::kStage)),
        warp_(static_cast<int>(threadIdx.x) / 32),
        lane_(static_cast<int>(threadIdx.x) % 32) {}

  __device__ __forceinline__ void run() {
    begin();
    if constexpr (Problem::kShardPhase == ShardPhase::totals) return publish_all();
    if (warp_ < S::kWarps) {
      scan(warp_);
    } else if (warp_ < 2 * S::kWarps) {
      reduce(warp_ - S::kWarps);
    } else if (warp_ == kLoader) {
      load();
    } else if (warp_ == kLookAhead) {
      look_ahead();
    } else {
      store();
    }
  }

 private:
  static constexpr int kLoader = 2 * S::kWarps;
  static constexpr int kLookAhead = kLoader + 1;
  static constexpr int kInputs = Problem::kInputs;
  static constexpr int kCount = S::kLaneElements;

  // ---- Every role walks the stages in the same order.
  __device__ __forceinline__ void next() {
    if (++stage_ == S::kStages) {
      stage_ = 0;
      parity_ ^= 1;
    }
  }
  __device__ __forceinline__ char* input(int array) const { return stages_ + stage_ * S::kStage + array * S::kInStage; }
  __device__ __forceinline__ char* output() const { return S::kInPlace || S::kOverAll ? input(0) : input(kInputs); }
  __device__ __forceinline__ char* heads() const { return stages_ + (stage_ + 1) * S::kStage - S::kHeadBytes; }
  __device__ __forceinline__ int count_of(std::int64_t tile) const {
    const std::int64_t left = n_ - tile * S::kTile;
    return left < S::kTile ? static_cast<int>(left) : S::kTile;
  }
  /// Bytes past a 16-byte boundary. Tiles are whole units long, so this number is the same for every tile of an array.
  __device__ static __forceinline__ int bytes_past_unit(const void* p) {
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(p) % 16);
  }

  // ------------------------------------------------------------------------------------------------ load
  // The first tile's number and copy are under way before the block's barrier.
  __device__ __forceinline__ void begin() {
    if (warp_ == kLoader) {
      if (lane_ == 0) {
        for (int s = 0; s < S::kStages; ++s) {
          head_.taken[s].init(1);
          head_.full[s].init(1);
          head_.prefix_known[s].init(2);  // the reduce warps and the look-ahead warp
          head_.scanned[s].init(S::kWarps);
          head_.empty[s].init(1);
          head_.arrived[s] = 0;
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        fence_before_bulk();  // the barriers before the bulk copies that signal them
      }
      __syncwarp();
      take_tile();
    }
    if (threadIdx.x == 0) head_.tag = tag_of(call_.workspace);
    __syncthreads();
    tag_ = head_.tag;
  }

  /// Loads the next tile into the current stage. Returns false if there is none. The stage then has a tile number past
  /// the last, which ends every role.
  __device__ __forceinline__ bool take_tile() {
    std::int64_t tile = 0;
    if (lane_ == 0) {
      tile = atomicAdd(&call_.workspace.control->ticket, 1U);
      head_.tile[stage_] = tile;
      head_.taken[stage_].arrive();
    }
    tile = __shfl_sync(kAllLanes, tile, 0);
    if (tile < tiles_) {
      copy_in(tile);
      return true;
    }
    if (lane_ == 0) head_.full[stage_].arrive();
    return false;
  }

  /// Copies whole units in bulk, also those that extend into the neighboring tiles. At the two ends of the array, a
  /// unit that would extend past the array is copied byte by byte.
  __device__ __forceinline__ void copy_in(std::int64_t tile) {
    const char* from[kInputs];
    char* to[kInputs];
    std::uint32_t bytes[kInputs];
    std::uint32_t expected = S::kHeadBytes;
#pragma unroll
    for (int k = 0; k < kInputs; ++k) {
      const char* array = reinterpret_cast<const char*>(call_.in[k]);
      const char* array_end = reinterpret_cast<const char*>(call_.in[k] + n_);
      const char* first = reinterpret_cast<const char*>(call_.in[k] + tile * S::kTile);
      const char* last = first + count_of(tile) * int{sizeof(In)};
      char* const place = input(k) + bytes_past_unit(first);  // the destination of `first`
      const char* begin = first - bytes_past_unit(first);
      const char* end = last + (16 - bytes_past_unit(last)) % 16;
      if (begin < array) begin += 16;
      if (end > array_end) end -= 16;
      const char* head_end = begin < last ? begin : last;
      const char* tail_begin = end > head_end ? end : head_end;
      if (lane_ < 16 && first + lane_ < head_end) place[lane_] = first[lane_];
      const char* tail = tail_begin + (lane_ - 16);
      if (lane_ >= 16 && tail < last) place[tail - first] = *tail;
      from[k] = begin;
      to[k] = place + (begin - first);
      bytes[k] = end > begin ? static_cast<std::uint32_t>(end - begin) : 0;
      expected += bytes[k];
      if constexpr (Problem::kFillsTail) {
        // A custom operator gets only valid elements, also past the end, where its results are not used.
        const In value = *reinterpret_cast<const In*>(first);
        for (int i = count_of(tile) + lane_; i < S::kTile; i += 32) {
          memcpy(place + i * int{sizeof(In)}, &value, sizeof(In));
        }
      }
    }
    __syncwarp();  // the bytes above before the arrival below
    if (lane_ != 0) return;
    head_.full[stage_].arrive_expecting(expected);
#pragma unroll
    for (int k = 0; k < kInputs; ++k) {
      if (bytes[k] > 0) bulk_load(to[k], from[k], bytes[k], head_.full[stage_]);
    }
    if constexpr (Problem::kHasHeads) {
      bulk_load(heads(), call_.problem.heads + tile * (S::kTile / 32), S::kHeadBytes, head_.full[stage_]);
    }
  }

  __device__ __forceinline__ void load() {
    if (head_.tile[0] >= tiles_) return;
    int oldest = 0;
    std::uint32_t oldest_parity = 0;
    next();
    for (int k = 1;; ++k, next()) {
      if (k >= S::kStages) head_.empty[stage_].wait(parity_ ^ 1);
      if (k >= Problem::kLoadsInFlight) {
        head_.full[oldest].wait(oldest_parity);
        if (++oldest == S::kStages) {
          oldest = 0;
          oldest_parity ^= 1;
        }
      }
      if (!take_tile()) return;  // taken as late as possible: a ticket held back delays every later tile
    }
  }

  /// In a shard's first phase, the length excludes a partial last tile.
  __device__ static __forceinline__ std::int64_t length_of(const DeviceScan<Problem>& call) {
    const std::int64_t n = call.length();
    return Problem::kShardPhase == ShardPhase::totals ? n / S::kTile * S::kTile : n;
  }

  // ------------------------------------------------------------------------------- first phase of a shard
  /// Only loader and reduce warps work. A stage is free once its aggregate is published.
  __device__ __forceinline__ void publish_all() {
    if (warp_ >= S::kWarps && warp_ < 2 * S::kWarps) reduce(warp_ - S::kWarps);
    if (warp_ == kLoader) load();
    __syncthreads();
    if (threadIdx.x == 0) leave_with_tag(call_.workspace);
  }

  // ---------------------------------------------------------------------------------------------- reduce
  /// Loads the lane's elements, converted for the fold.
  __device__ __forceinline__ void chunk(int worker, T (&items)[kCount]) const {
    In x[kInputs][kCount];
#pragma unroll
    for (int k = 0; k < kInputs; ++k) {
      std::uint32_t words[4 * S::kUnits];
      const auto* units = reinterpret_cast<const uint4*>(input(k)) + (worker * 32 + lane_) * S::kUnits;
      load_words<S::kUnits>(units, bytes_past_unit(call_.in[k]), words);
      memcpy(x[k], words, sizeof words);
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if constexpr (kInputs == 1) {
        items[i] = static_cast<T>(x[0][i]);
      } else {
        items[i] = call_.problem.item(x[0][i], x[1][i]);
      }
    }
  }

  /// The heads among the lane's elements, one bit each.
  __device__ __forceinline__ HeadBits<kCount> chunk_heads(int worker) const {
    const int at = (worker * 32 + lane_) * kCount;
    const auto* const words = reinterpret_cast<const std::uint32_t*>(heads()) + at / 32;
    HeadBits<kCount> bits;
#pragma unroll
    for (int w = 0; w < HeadBits<kCount>::kWords; ++w) {
      // The last word of the last lane has no next word, and needs none.
      const bool has_next = at % 32 + kCount > 32 * (w + 1);
      bits.words[w] = __funnelshift_r(words[w], has_next ? words[w + 1] : 0, at % 32);
    }
    if constexpr (kCount % 32 != 0) bits.words[kCount / 32] &= (1U << (kCount % 32)) - 1;
    return bits;
  }
  __device__ __forceinline__ Carry fold_chunk(int worker, const T (&items)[kCount]) const {
    if constexpr (Problem::kHasHeads) {
      return call_.problem.fold(items, chunk_heads(worker));
    } else {
      return fold_items(op_, items);
    }
  }

  __device__ __forceinline__ void reduce(int worker) {
    for (;; next()) {
      head_.full[stage_].wait(parity_);
      const std::int64_t tile = head_.tile[stage_];
      if (tile >= tiles_) return;
      T items[kCount];
      chunk(worker, items);
      const Carry inclusive = scan_lanes(join_, fold_chunk(worker, items), lane_);
      lane_before_[(stage_ * S::kWarps + worker) * 32 + lane_] = shuffle_up(inclusive, 1);  // lane 0 does not use it
      if (lane_ == 31) head_.warp_total[stage_][worker] = inclusive;
      __syncwarp();
      int arrived = 0;
      if (lane_ == 0) {
        // Acquire and release: the last warp to arrive sees the totals of all others.
        asm volatile("atom.acq_rel.cta.shared.add.s32 %0,[%1],1;"
                     : "=r"(arrived)
                     : "r"(shared_address(&head_.arrived[stage_]))
                     : "memory");
      }
      if (__shfl_sync(kAllLanes, arrived, 0) == S::kWarps - 1) publish(tile);
    }
  }

  __device__ __forceinline__ void publish(std::int64_t tile) {
    __syncwarp();  // every lane sees what lane 0 has acquired
    const Carry mine = head_.warp_total[stage_][lane_ < S::kWarps ? lane_ : 0];
    const Carry inclusive = scan_lanes<S::kWarps>(join_, mine, lane_);
    if constexpr (Problem::kShardPhase != ShardPhase::scan) {
      if (lane_ == S::kWarps - 1) put_tagged(call_.workspace.words, tile, inclusive, tag_);
    }
    if constexpr (Problem::kShardPhase == ShardPhase::totals) {
      if (lane_ == 0) {
        head_.arrived[stage_] = 0;
        head_.empty[stage_].arrive();
      }
      return;
    }
    const Carry before = shuffle_up(inclusive, 1);
    if (lane_ < S::kWarps) head_.warp_before[stage_][lane_] = before;
    if (lane_ == 0) head_.arrived[stage_] = 0;
    __syncwarp();
    if (lane_ == 0) head_.prefix_known[stage_].arrive();
  }

  // ------------------------------------------------------------------------------------------ look ahead
  // Aggregates are folded in rows of 32 lanes. Whole rows are folded first, into the state that later tiles continue
  // from, then the row that contains the tile. If the operator commutes, whole rows are kept lane by lane. So only one
  // tree of shuffles is between the last aggregate and the prefix. Otherwise every row is folded in order. Either way
  // the order of a fold depends only on the tile's number.
  __device__ __forceinline__ void look_ahead() {
    using Slot = Tagged<Carry>;
    constexpr int kRow = kRowTiles<Carry>;
    constexpr int kRows =  // one poll covers the number of tiles that registers hold
        (Slot::kLoads <= 2 ? tuning::kLookahead.poll_tiles : tuning::kLookahead.wide_poll_tiles) / kRow;
    std::int64_t rows = 0;  // whole rows that are folded
    RowsFolded folded_rows;
    if constexpr (Problem::kShardPhase != ShardPhase::whole) {
      if (call_.problem.before != nullptr) {
        folded_rows.lanes_before = call_.problem.before->count;
        if (lane_ < folded_rows.lanes_before) folded_rows.before = call_.problem.before->lanes[lane_];
      }
    }
    bool any_tile = false;
    for (;; next()) {
      head_.taken[stage_].wait(parity_);
      const std::int64_t tile = head_.tile[stage_];
      if (tile >= tiles_) break;
      any_tile = true;
      const std::int64_t whole = tile / kRow;
      Carry own_row{};
      for (bool done = tile == rows * kRow; !done;) {
        Slot slots[kRows];
        const std::int64_t wanted =
            tile - rows * kRow - lane_ * Slot::kValues;  // of the lane's values; may be negative
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          if (wanted > r * kRow) slots[r].load(call_.workspace.words, (rows + r) * 32 + lane_);
        }
        bool in_order = true;
        int folded = 0;
        Carry values[kRows];  // of the whole rows, if their order matters
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          const bool there = __all_sync(kAllLanes, slots[r].is_there(tag_, wanted - r * kRow));
          in_order = in_order && there && !done;
          if (!in_order) {
            values[r] = values[0];
            continue;
          }
          Carry value = slots[r].value(0);
          if (Slot::kValues == 2 && wanted - r * kRow > 1) value = join_(value, slots[r].value(1));
          if (rows + r == whole) {
            own_row = value;
            values[r] = values[0];
            done = true;
            continue;
          }
          if constexpr (Problem::kCommutes) {
            append_row(folded_rows, rows + r, value);
          } else {
            values[r] = value;
          }
          ++folded;
          done = tile == (rows + r + 1) * kRow;
        }
        if constexpr (!Problem::kCommutes) {  // no heads
          if (folded > 0) append_rows(folded_rows, rows, values, folded);
        }
        rows += folded;
      }
      finish_prefix(tile, static_cast<int>((tile - whole * kRow + Slot::kValues - 1) / Slot::kValues),
                    whole > 0 ? 32 : folded_rows.lanes_before, all_rows(folded_rows, whole), own_row);
      if constexpr (Problem::kShardPhase == ShardPhase::scan) {
        // An earlier launch published them, so by now they are only in memory, and later tiles would wait for that.
#pragma unroll
        for (int r = 0; r < kRows; ++r) ask_for(((rows + r) * 32 + lane_) * 2 * Slot::kLoads);
      }
    }
    // The block's last aggregate is published before the block leaves. Otherwise, once tags restart, a late store of it
    // could be mistaken for another launch's. Reduce warps publish tiles in order, so it is sufficient to wait for the
    // last one.
    const int last = stage_ == 0 ? S::kStages - 1 : stage_ - 1;
    if (any_tile) head_.prefix_known[last].wait(stage_ == 0 ? parity_ ^ 1 : parity_);
    if (lane_ == 0) leave(call_.workspace, tag_);
  }

  /// Prefetches a word of the workspace into L2.
  __device__ __forceinline__ void ask_for(std::int64_t word) const {
    if (word < call_.workspace.word_count) {
      asm volatile("prefetch.global.L2 [%0];" ::"l"(call_.workspace.words + word));
    }
  }

  /// Folds of whole rows. If the operator commutes, each lane has its own; otherwise lane 0 has the fold of all lanes.
  struct RowsFolded {
    Carry before{};        ///< what precedes the first row, and all whole groups; all rows if there are no groups
    Carry group{};         ///< the rows of the partial group
    int lanes_before = 0;  ///< lanes that had a value before the first row
  };
  __device__ __forceinline__ void append_row(RowsFolded& all, std::int64_t row, const Carry& value) const {
    if constexpr (Problem::kHasHeads) {
      all.before = call_.problem.join_rows(all.before, row > 0, value, lane_, 32);
    } else if constexpr (!kFoldsGroups<Problem>) {
      all.before = row > 0 || lane_ < all.lanes_before ? join_(all.before, value) : value;
    } else {
      constexpr int kRows = kGroupRows<Carry>;
      const auto in_group = static_cast<int>(row % kRows);
      all.group = in_group > 0 ? join_(all.group, value) : value;
      if (in_group < kRows - 1) return;
      all.before = row >= kRows || lane_ < all.lanes_before ? join_(all.before, all.group) : all.group;
    }
  }
  /// Returns the fold of the first `rows` rows, which are all that were appended.
  __device__ __forceinline__ Carry all_rows(const RowsFolded& all, std::int64_t rows) const {
    if constexpr (kFoldsGroups<Problem>) {
      constexpr int kRows = kGroupRows<Carry>;
      const bool has_before = rows >= kRows || lane_ < all.lanes_before;
      if (rows % kRows > 0) return has_before ? join_(all.before, all.group) : all.group;
    }
    return all.before;
  }

  /// Appends the first `count` rows of 32 lanes, starting at `row`. The other rows contain valid values. All are folded
  /// at the same time, because a tree of shuffles takes little longer for six rows than for one.
  template <int kRows>
  __device__ __forceinline__ void append_rows(RowsFolded& all, std::int64_t row, Carry (&rows)[kRows],
                                              int count) const {
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const Carry right = shuffle_down(rows[r], step);
        if (lane_ + step < 32) rows[r] = join_(rows[r], right);
      }
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (r >= count) break;
      append_row(all, row + r, rows[r]);
    }
  }

  /// Joins the rows before, of which the first `lanes_before` lanes have a value, and the first `lanes` lanes of the
  /// tile's own row.
  __device__ __forceinline__ void finish_prefix(std::int64_t tile, int lanes, int lanes_before, const Carry& before,
                                                Carry total) {
    const bool any = lanes_before > 0;
    T init = call_.init;  // an init in memory is loaded while the warp folds
    if (lane_ == 0 && call_.init_at != nullptr) init = *call_.init_at;
    if constexpr (Problem::kHasHeads) {
      total = call_.problem.fold_row(call_.problem.join_rows(before, any, total, lane_, lanes));
    } else if constexpr (Problem::kCommutes) {
      if (lane_ < lanes_before) total = lane_ < lanes ? join_(before, total) : before;
      total = fold_lanes(join_, total, lane_, lanes_before > lanes ? lanes_before : lanes);
    } else {
      total = fold_lanes(join_, total, lane_, lanes);
      if (any && lane_ == 0) total = lanes > 0 ? join_(before, total) : before;
    }
    if (lane_ == 0) {
      const bool has_tiles_before = tile > 0 || any;
      if constexpr (!Problem::kHasHeads) {  // with heads, init follows each head
        if (call_.has_init) total = has_tiles_before ? join_(init, total) : init;
      }
      head_.prefix[stage_] = total;
      head_.has_prefix[stage_] = call_.has_init || has_tiles_before;
      head_.prefix_known[stage_].arrive();
    }
    __syncwarp();
  }

  // ------------------------------------------------------------------------------------------------ scan
  __device__ __forceinline__ void scan(int worker) {
    // If a lane's output does not begin at the same place as its input, the lane writes into its neighbors' chunks.
    const bool shifted =
        S::kOverAll || (S::kInPlace && (bytes_past_unit(call_.in[0]) != 0 || bytes_past_unit(call_.out) != 0));
    for (;; next()) {
      head_.full[stage_].wait(parity_);
      const std::int64_t tile = head_.tile[stage_];
      if (tile >= tiles_) return;
      head_.prefix_known[stage_].wait(parity_);
      bool any = head_.has_prefix[stage_];
      Carry before = head_.prefix[stage_];
      include(before, any, head_.warp_before[stage_][worker], worker > 0);
      include(before, any, lane_before_[(stage_ * S::kWarps + worker) * 32 + lane_], lane_ > 0);
      T items[kCount];
      chunk(worker, items);
      scan_chunk(tile, worker, any, before, items);
      if (shifted) asm volatile("bar.sync 1,%0;" ::"n"(S::kWarps * 32) : "memory");  // all have read before any writes
      store_chunk(output() + bytes_past_unit(call_.out) + (worker * 32 + lane_) * (kCount * int{sizeof(T)}), items);
      fence_before_bulk();
      __syncwarp();
      if (lane_ == 0) head_.scanned[stage_].arrive();
    }
  }

  /// Replaces the lane's elements by their results.
  __device__ __forceinline__ void scan_chunk(std::int64_t tile, int worker, bool any, const Carry& before,
                                             T (&items)[kCount]) const {
    if constexpr (Problem::kHasHeads) {
      call_.problem.scan(before, items, chunk_heads(worker), call_.exclusive);
    } else {
      T total = before;
      if (call_.exclusive) {
        total = scan_items_exclusive(op_, total, items);
        if constexpr (Problem::kEndsWithTotal) write_total(tile, worker, items, total);
      } else {
        total = any ? op_(total, items[0]) : items[0];
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
          if (i > 0) total = op_(total, items[i]);
          items[i] = total;
        }
      }
    }
  }

  /// Writes the total of all elements, on the lane that has the last element.
  __device__ __forceinline__ void write_total(std::int64_t tile, int worker, const T (&before)[kCount],
                                              const T& after) const {
    const std::int64_t count = n_ - tile * S::kTile - (worker * 32 + lane_) * kCount;
    if (count < 1 || count > kCount) return;
    T total = after;
#pragma unroll
    for (int i = 1; i < kCount; ++i) {
      if (count == i) total = before[i];
    }
    call_.out[n_] = total;
  }

  /// total ← total ⊕ right, if `wanted`.
  __device__ __forceinline__ void include(Carry& total, bool& any, const Carry& right, bool wanted) const {
    if (!wanted) return;
    total = any ? join_(total, right) : right;
    any = true;
  }

  // ----------------------------------------------------------------------------------------------- store
  __device__ __forceinline__ void store() {
    constexpr int kInFlight = Problem::kStoresInFlight;
    int freed = 0;
    for (int k = 0;; ++k, next()) {
      head_.full[stage_].wait(parity_);
      const std::int64_t tile = head_.tile[stage_];
      if (tile >= tiles_) break;
      head_.scanned[stage_].wait(parity_);
      copy_out(tile);
      if (k < kInFlight) continue;
      if (lane_ == 0) {
        bulk_wait_read<kInFlight>();
        head_.empty[freed].arrive();
      }
      if (++freed == S::kStages) freed = 0;
    }
    if (lane_ == 0) bulk_wait_read<0>();
  }

  /// Copies whole units in bulk. The units that a tile shares with its neighbors are copied byte by byte.
  __device__ __forceinline__ void copy_out(std::int64_t tile) {
    char* first = reinterpret_cast<char*>(call_.out + tile * S::kTile);
    char* last = first + count_of(tile) * int{sizeof(T)};
    const char* place = output() + bytes_past_unit(first);
    if constexpr (Problem::kHasHeads) {
      if (tile == 0) {
        first += call_.problem.unwritten * int{sizeof(T)};
        place += call_.problem.unwritten * int{sizeof(T)};
      }
    }
    char* begin = first + (16 - bytes_past_unit(first)) % 16;
    char* end = last - bytes_past_unit(last);
    char* head_end = begin < last ? begin : last;
    char* tail = (end > head_end ? end : head_end) + (lane_ - 16);
    if (lane_ < 16 && first + lane_ < head_end) first[lane_] = place[lane_];
    if (lane_ >= 16 && tail < last) *tail = place[tail - first];
    __syncwarp();  // the bytes are read before the stage is released
    if (lane_ != 0) return;
    if (end > begin) bulk_store(begin, place + (begin - first), static_cast<std::uint32_t>(end - begin));
    bulk_commit();
  }

  const DeviceScan<Problem>& call_;
  const typename Problem::Op op_;
  const typename CarryOf<Problem>::Join join_;
  const std::int64_t n_;
  const std::int64_t tiles_;
  typename S::Head& head_;
  char* const stages_;
  Carry* const lane_before_;
  const int warp_;
  const int lane_;
  unsigned tag_ = 0;
  int stage_ = 0;
  std::uint32_t parity_ = 0;
};

// Kernels and functions that launch them are static. Two files of a program may be compiled for different
// architectures. The linker would then keep one kernel for both files, perhaps the one without a body.
template <class Problem>
static __global__ void __launch_bounds__(Shape<Problem>::kThreads, 1)
    tile_pipeline(const __grid_constant__ DeviceScan<Problem> call) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) char shared[];
  Pipeline<Problem>(call, shared).run();
#else
  __trap();  // unreachable because of lookahead_refusal()
#endif
}

}  // namespace upsweep::gpu::detail
