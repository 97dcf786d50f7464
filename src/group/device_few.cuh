// SPDX-License-Identifier: Apache-2.0
// group/device_few.cuh: sums of few groups in one reading: a table of keys for each block in shared memory, and sums for each warp.
//
// No sum is changed by atomics: lanes that have the same key add one after the other, a warp's rows in their order, and then warps
// and blocks in theirs. So sums of floats have the same bits whenever the same blocks take the same rows.
#pragma once

#include <algorithm>
#include <cstddef>

#include "group/device_table.cuh"

namespace upsweep::grouping {

/// How large a block's tables are. More keys than `most` in a block's rows are not few.
struct FewSize {
  int slots;  ///< a power of two
  int warps;
  std::uint32_t most;
};
/// Small tables leave room for more blocks; large ones take more keys.
inline constexpr FewSize kFewSizes[] = {{.slots = 512, .warps = 8, .most = 320}, {.slots = 2048, .warps = 4, .most = 1280}};

/// What sums of values are added up in: integers in 64 bits, where they wrap around as their sum does.
template <class In>
using FewTotal = std::conditional_t<std::is_floating_point_v<In>, In, std::uint64_t>;

/// A block's rows of one key.
template <class Total>
struct Partial {
  unsigned long long key;
  unsigned long long first;  ///< or kNoRow: there is none
  std::int64_t rows;
  Total total;
};

/// What keeps the sums from being right.
struct FewFacts {
  std::uint32_t too_many;   ///< a block has more keys than it has room for
  std::uint32_t too_large;  ///< so many values of this size may not fit 64 bits
};

template <class Key, class In>
struct FewCall {
  const Key* keys;
  const In* values;
  std::int64_t n;
  std::int64_t block_rows;
  FewSize size;
  Secret by;
  std::uint64_t least_large;  ///< magnitudes from here on are too large; 0: none is
  Partial<FewTotal<In>>* partials;  ///< of each block one more than slots: the last is of kNoKey
  FewFacts* facts;
};

/// A block's tables in its shared memory.
template <class Total>
struct FewTables {
  unsigned long long* keys;
  Total* totals;  ///< of each warp
  std::uint32_t* firsts;  ///< counted from the block's first row
  std::uint32_t* rows;
  std::uint32_t* found;  ///< how many keys there are
  std::uint32_t* stops;

  static constexpr std::uint32_t kNone = ~0U;

  static constexpr std::size_t bytes(const FewSize& size) {
    const auto each = static_cast<std::size_t>(size.slots) + 1;
    return each * (8 + 8 + sizeof(Total) * static_cast<std::size_t>(size.warps)) + 8;
  }
  __device__ FewTables(std::byte* memory, const FewSize& size) {
    const int each = size.slots + 1;
    keys = reinterpret_cast<unsigned long long*>(memory);
    totals = reinterpret_cast<Total*>(keys + each);
    firsts = reinterpret_cast<std::uint32_t*>(totals + each * size.warps);
    rows = firsts + each;
    found = rows + each;
    stops = found + 1;
  }
};

template <class Total>
__device__ Total no_total() {
  if constexpr (std::is_floating_point_v<Total>) return static_cast<Total>(-0.0);
  return 0;
}

/// What a warp does with rows of its block.
template <class Key, class In>
class FewWarp {
 public:
  using Total = FewTotal<In>;

  __device__ FewWarp(const FewCall<Key, In>& call, const FewTables<Total>& tables)
      : call_(call),
        tables_(tables),
        totals_(tables.totals + static_cast<int>(threadIdx.x / 32) * (call.size.slots + 1)),
        lane_(threadIdx.x % 32) {}

  /// A row for each of the lanes `active`, this one among them; `row` counts from the block's first.
  // [guide: lanes]
  __device__ void fold(std::uint32_t active, std::uint32_t row, unsigned long long key, In value) {
    const int at = find(key);
    const std::uint32_t same = __match_any_sync(active, at);
    const int before = __popc(same & ((1U << lane_) - 1));
    if (before == 0) {
      if (row < *const_cast<volatile std::uint32_t*>(&tables_.firsts[at])) atomicMin(&tables_.firsts[at], row);
      atomicAdd(&tables_.rows[at], static_cast<std::uint32_t>(__popc(same)));
    }
    note_size(value);
    const auto x = static_cast<Total>(value);
    if (same == ~0U) return add_all(at, x);  // then it is for all lanes
    for (int turn = 0; __any_sync(active, before >= turn); ++turn) {
      if (before == turn) totals_[at] += x;
      __syncwarp(active);  // who comes next sees this sum
    }
  }
  // [guide: end]

 private:
  /// The slot of a key, which takes an empty one if it has none; any slot where there are too many keys.
  __device__ int find(unsigned long long key) const {
    const int slots = call_.size.slots;
    if (key == kNoKey) return slots;
    int at = static_cast<int>(device_hash(call_.by, key) >> 32) & (slots - 1);
    for (int probe = 0; probe < slots; ++probe, at = (at + 1) & (slots - 1)) {
      unsigned long long held = *const_cast<volatile unsigned long long*>(&tables_.keys[at]);
      if (held == key) return at;
      if (held != kNoKey) continue;
      held = atomicCAS(&tables_.keys[at], kNoKey, key);
      if (held == kNoKey) note_key();
      if (held == kNoKey || held == key) return at;
    }
    return 0;
  }
  /// By the number of keys, and not by how far one is from its place, so that what a secret hash is does not decide.
  __device__ void note_key() const {
    if (atomicAdd(tables_.found, 1U) >= call_.size.most) *const_cast<volatile std::uint32_t*>(tables_.stops) = 1;
  }
  __device__ void note_size(In value) const {
    if constexpr (std::is_integral_v<In> && sizeof(In) == 8) {
      std::uint64_t magnitude = static_cast<std::uint64_t>(value);
      if constexpr (std::is_signed_v<In>) magnitude = value < 0 ? ~magnitude : magnitude;
      if (call_.least_large > 0 && magnitude >= call_.least_large) call_.facts->too_large = 1;
    }
  }
  __device__ void add_all(int at, Total x) {
    for (int step = 16; step > 0; step /= 2) x += __shfl_down_sync(~0U, x, step);
    if (lane_ == 0) totals_[at] += x;
    __syncwarp();
  }

  const FewCall<Key, In>& call_;
  FewTables<Total> tables_;
  Total* totals_;
  std::uint32_t lane_;
};

template <class Key, class In>
__global__ void fold_few(const __grid_constant__ FewCall<Key, In> call) {
  using Total = FewTotal<In>;
  extern __shared__ std::byte memory[];
  const FewTables<Total> tables(memory, call.size);
  const int each = call.size.slots + 1;
  const auto thread = static_cast<int>(threadIdx.x);
  const auto threads = static_cast<int>(blockDim.x);
  for (int s = thread; s < each; s += threads) {
    tables.keys[s] = kNoKey;
    tables.firsts[s] = FewTables<Total>::kNone;
    tables.rows[s] = 0;
  }
  for (int s = thread; s < each * call.size.warps; s += threads) tables.totals[s] = no_total<Total>();
  if (thread == 0) *tables.found = *tables.stops = 0;
  __syncthreads();  // all slots are empty before a row is folded

  constexpr int kRows = 4;  // of a lane, loaded at once
  const std::int64_t begin = std::int64_t{blockIdx.x} * call.block_rows;
  const auto count = static_cast<std::uint32_t>(::min(call.n - begin, call.block_rows));
  const Key* const keys = call.keys + begin;
  const In* const values = call.values + begin;
  FewWarp<Key, In> warp(call, tables);
  const std::uint32_t lane = threadIdx.x % 32;
  for (std::uint32_t at = threadIdx.x / 32 * 32 * kRows; at < count; at += blockDim.x * kRows) {
    if (__any_sync(~0U, *const_cast<volatile std::uint32_t*>(tables.stops) != 0)) break;
    Key key[kRows];
    In value[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const std::uint32_t row = at + static_cast<std::uint32_t>(r) * 32 + lane;
      if (row >= count) continue;
      key[r] = keys[row];
      value[r] = values[row];
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const std::uint32_t row = at + static_cast<std::uint32_t>(r) * 32 + lane;
      const std::uint32_t active = __ballot_sync(~0U, row < count);
      if (row < count) warp.fold(active, row, key[r], value[r]);
      __syncwarp();
    }
  }
  __syncthreads();  // all rows are folded before a total is read

  if (thread == 0 && *tables.stops != 0) call.facts->too_many = 1;
  auto* const partials = call.partials + std::int64_t{blockIdx.x} * each;
  for (int s = thread; s < each; s += threads) {
    Total total = tables.totals[s];
    for (int w = 1; w < call.size.warps; ++w) total += tables.totals[w * each + s];
    const bool is_group = tables.firsts[s] != FewTables<Total>::kNone;
    partials[s] = {.key = s < call.size.slots ? tables.keys[s] : kNoKey,
                   .first = is_group ? static_cast<unsigned long long>(begin) + tables.firsts[s] : kNoRow,
                   .rows = tables.rows[s],
                   .total = total};
  }
}

/// Partials without empty slots, block by block, in arrays.
template <class Key, class Total>
struct PackedPartials {
  Key* keys;
  unsigned long long* firsts;
  std::int64_t* rows;
  Total* totals;
  std::uint32_t* before;  ///< how many there are before each block, and all
};

template <class Total>
__global__ void __launch_bounds__(kThreads)
    count_partials(const Partial<Total>* partials, int each, std::uint32_t* counts) {
  __shared__ std::uint32_t count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  for (int s = static_cast<int>(threadIdx.x); s < each; s += kThreads) {
    if (partials[std::int64_t{blockIdx.x} * each + s].first != kNoRow) atomicAdd(&count, 1U);
  }
  __syncthreads();
  if (threadIdx.x == 0) counts[blockIdx.x] = count;
}

/// In any order within a block, as it has each key once.
template <class Key, class Total>
__global__ void __launch_bounds__(kThreads)
    pack_partials(const Partial<Total>* partials, int each, PackedPartials<Key, Total> to) {
  __shared__ std::uint32_t next;
  if (threadIdx.x == 0) next = to.before[blockIdx.x];
  __syncthreads();
  for (int s = static_cast<int>(threadIdx.x); s < each; s += kThreads) {
    const Partial<Total> one = partials[std::int64_t{blockIdx.x} * each + s];
    if (one.first == kNoRow) continue;
    const std::uint32_t at = atomicAdd(&next, 1U);
    to.keys[at] = static_cast<Key>(one.key);
    to.firsts[at] = one.first;
    to.rows[at] = one.rows;
    to.totals[at] = one.total;
  }
}

/// One attempt: partial sums of the rows, in the order of the blocks that have them.
template <class Key, class In>
class FewGroups {
 public:
  using Total = FewTotal<In>;

  FewGroups(const gpu::Policy& policy, const Call& call, int multiprocessors, const FewSize& size)
      : policy_(policy), each_(size.slots + 1), blocks_(blocks(call.n, multiprocessors, size)) {
    FewCall<Key, In> few{.keys = static_cast<const Key*>(call.keys),
                         .values = static_cast<const In*>(call.in),
                         .n = call.n,
                         .block_rows = gpu::divided_up(call.n, blocks_),
                         .size = size,
                         .by = secret(),
                         .least_large = call.checked ? least_large(call.n) : 0,
                         .partials = nullptr,
                         .facts = nullptr};
    blocks_ = gpu::divided_up(call.n, few.block_rows);
    memory_.emplace(policy, [&](gpu::ScratchParts& parts) {
      few.partials = parts.take<Partial<Total>>(blocks_ * each_);
      few.facts = parts.take<FewFacts>(1);
      before_ = parts.take<std::uint32_t>(blocks_ + 1);
    });
    partials_ = few.partials;
    gpu::require(cudaMemsetAsync(few.facts, 0, sizeof *few.facts, policy.stream), kWhat);
    const gpu::detail::Grid grid{.blocks = static_cast<unsigned>(blocks_),
                                 .threads = static_cast<unsigned>(32 * size.warps),
                                 .stream = policy.stream,
                                 .shared_bytes = FewTables<Total>::bytes(size)};
    gpu::require(gpu::detail::launch(grid, fold_few<Key, In>, few), kWhat);
    gpu::fetch(&facts_, few.facts, sizeof facts_, policy.stream);
  }

  [[nodiscard]] const FewFacts& facts() const { return facts_; }

  /// How many partials there are. Waits.
  std::int64_t count() {
    const gpu::detail::Grid grid{
        .blocks = static_cast<unsigned>(blocks_), .threads = kThreads, .stream = policy_.stream};
    gpu::require(gpu::detail::launch(grid, count_partials<Total>, partials_, each_, before_), kWhat);
    run_cub(
        policy_,
        [&](void* memory, std::size_t& bytes) {
          return cub::DeviceScan::ExclusiveSum(memory, bytes, before_, before_, blocks_ + 1, policy_.stream);
        },
        kWhat);
    std::uint32_t count = 0;
    gpu::fetch(&count, before_ + blocks_, sizeof count, policy_.stream);
    return count;
  }
  /// Into arrays of count() elements.
  void pack(PackedPartials<Key, Total> to) const {
    to.before = before_;
    const gpu::detail::Grid grid{
        .blocks = static_cast<unsigned>(blocks_), .threads = kThreads, .stream = policy_.stream};
    gpu::require(gpu::detail::launch(grid, pack_partials<Key, Total>, partials_, each_, to), kWhat);
  }

 private:
  static constexpr const char* kWhat = "sums of few groups";
  /// So that a block's tables cost less than its rows.
  static constexpr std::int64_t kLeastRows = 4096;

  /// As many as are resident at once, of equal shares.
  static std::int64_t blocks(std::int64_t n, int multiprocessors, const FewSize& size) {
    const auto shared = FewTables<Total>::bytes(size);
    gpu::require(cudaFuncSetAttribute(fold_few<Key, In>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      static_cast<int>(shared)),
                 kWhat);
    int resident = 0;
    gpu::require(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, fold_few<Key, In>, 32 * size.warps, shared), kWhat);
    const std::int64_t most = std::max<std::int64_t>(1, std::int64_t{resident} * multiprocessors);
    // Rows of a block are counted in 32 bits.
    return std::clamp(n / kLeastRows, std::max<std::int64_t>(1, n >> 31), std::max(most, n >> 31));
  }
  /// n values that are smaller fit 64 bits.
  static std::uint64_t least_large(std::int64_t n) {
    std::uint64_t least = std::uint64_t{1} << 63;
    for (std::int64_t rows = 1; rows < n; rows *= 2) least /= 2;
    return least;
  }

  gpu::Policy policy_;
  int each_;
  std::int64_t blocks_;
  std::uint32_t* before_ = nullptr;
  Partial<Total>* partials_ = nullptr;
  FewFacts facts_ = {};
  std::optional<DeviceParts> memory_;
};

}  // namespace upsweep::grouping
