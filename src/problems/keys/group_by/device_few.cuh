// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/device_few.cuh: sums of few groups in one pass: each block has a table of keys in shared
// memory, and each warp has sums.
//
// The rows of a warp are added in order, then the sums of warps in order, then the sums of blocks. The rows of a block
// depend only on the number of rows. Therefore float sums have the same bits on every GPU that has enough shared
// memory.
//
// compute-sanitizer's racecheck correctly reports races, but only on two words. The first is `stops`, which is set
// once: a thread that reads `stops` too early reads it again at its next rows. The second is the number of a slot:
// readers wait until it is set.
#pragma once

#include <algorithm>
#include <cstddef>

#include "problems/keys/group_by/device_table.cuh"
#include "problems/keys/group_by/device_warp_sums.cuh"
#include "upsweep/detail/shared_memory.cuh"
#include "upsweep/detail/tuning/keys.hpp"

namespace upsweep::impl::group_by {

/// The size of a block's tables. If a block's rows have more than `most` keys, the groups are not few.
using gpu::tuning::FewSize;
constexpr auto& kFewSizes = gpu::tuning::kFewOrder.sizes;

/// A block's result for one key.
template <class Total>
struct Partial {
  unsigned long long key;
  unsigned long long first;
  std::int64_t rows;
  Total total;
};

/// Reasons why the sums are not correct.
struct FewFacts {
  std::uint32_t too_many;   ///< a block has more keys than its tables hold
  std::uint32_t too_large;  ///< the sum of n values of this size may not fit 64 bits
};

template <class Key, class In>
struct FewCall {
  const Key* keys;
  const In* values;
  std::int64_t n;
  std::int64_t block_rows;
  FewSize size;
  Secret by;
  SizeCheck check;
  bool counts;                       ///< rows are counted
  Partial<WarpTotal<In>>* partials;  ///< most + 1 for each block
  std::uint32_t* found;              ///< the number of partials of each block
  FewFacts* facts;
};

/// A block's tables in its shared memory. Keys are numbered in the order of arrival; the number `most` belongs to
/// kNoKey. SharedArrays is not used: with it nvcc 13.0 needs 53 registers for floats, without it 40.
template <class Total>
struct FewTables {
  unsigned long long* keys;
  Total* totals;          ///< of each warp
  std::uint32_t* firsts;  ///< by number, counted from the block's first row
  std::uint32_t* rows;
  std::uint32_t* votes;  ///< of each warp
  std::uint32_t* found;  ///< the number of keys
  std::uint32_t* stops;
  std::uint16_t* numbers;  ///< of slots, and of kNoKey

  static constexpr std::uint32_t kNone = ~0U;
  static constexpr std::uint16_t kNoNumber = 0xFFFF;

  static constexpr std::size_t bytes(const FewSize& size) {
    const auto each = static_cast<std::size_t>(size.most) + 1;
    const auto warps = static_cast<std::size_t>(size.warps);
    return static_cast<std::size_t>(size.slots) * 8 + each * warps * sizeof(Total) + each * 8 +
           warps * kLaneRows * static_cast<std::size_t>(size.vote_words) * 4 + 8 +
           (static_cast<std::size_t>(size.slots) + 1) * 2;
  }
  __device__ FewTables(std::byte* memory, const FewSize& size) {
    const int each = size.most + 1;
    keys = reinterpret_cast<unsigned long long*>(memory);
    totals = reinterpret_cast<Total*>(keys + size.slots);
    firsts = reinterpret_cast<std::uint32_t*>(totals + each * size.warps);
    rows = firsts + each;
    votes = rows + each;
    found = votes + size.warps * kLaneRows * size.vote_words;
    stops = found + 1;
    numbers = reinterpret_cast<std::uint16_t*>(stops + 1);
  }
  /// Clears the tables. All threads of the block must call; they then wait for each other.
  __device__ void clear(const FewSize& size) const {
    const auto each_of = [](auto* to, int count, auto value) {
      for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) to[i] = value;
    };
    each_of(keys, size.slots, kNoKey);
    each_of(numbers, size.slots, kNoNumber);
    each_of(totals, (size.most + 1) * size.warps, no_sum<Total>());
    each_of(firsts, size.most + 1, kNone);
    each_of(rows, size.most + 1, 0U);
    each_of(votes, size.warps * kLaneRows * size.vote_words, 0U);
    each_of(found, 2, 0U);
    if (threadIdx.x == 0) numbers[size.slots] = static_cast<std::uint16_t>(size.most);
    __syncthreads();  // all slots are empty before a row is folded
  }
};

/// Folds rows of a block on one warp.
template <class Key, class In>
class FewWarp {
 public:
  using Total = WarpTotal<In>;

  __device__ FewWarp(const FewCall<Key, In>& call, const FewTables<Total>& tables)
      : call_(call),
        tables_(tables),
        warp_(static_cast<int>(threadIdx.x / 32)),
        sums_(tables.totals + warp_ * (call.size.most + 1), tables.votes + warp_ * kLaneRows * call.size.vote_words,
              call.size.vote_words),
        shift_(65 - __ffs(call.size.slots)) {}

  /// Folds `row` and the rows 32, 64, … after it. The block has `count` rows.
  __device__ void fold(const Key* keys, const In* values, std::uint32_t row, std::uint32_t count) {
    unsigned long long key[kLaneRows];
    unsigned long long held[kLaneRows];
    LaneRow<In> rows[kLaneRows];
#pragma unroll
    for (int r = 0; r < kLaneRows; ++r) {
      const std::uint32_t at = row + static_cast<std::uint32_t>(r) * 32;
      rows[r].is_row = at < count;
      key[r] = rows[r].is_row ? static_cast<unsigned long long>(__ldcs(keys + at)) : kNoKey;
      rows[r].value = rows[r].is_row ? __ldcs(values + at) : In{};
    }
#pragma unroll
    for (int r = 0; r < kLaneRows; ++r) {
      rows[r].at = first_slot(key[r]);
      held[r] = rows[r].at < call_.size.slots ? volatile_at(tables_.keys, rows[r].at) : key[r];
    }
#pragma unroll
    for (int r = 0; r < kLaneRows; ++r) {
      if (held[r] != key[r]) rows[r].at = find(key[r], rows[r].at, held[r]);
      __syncwarp();  // lanes that had to search further reconverge with the others, which gives most of the speed
    }
#pragma unroll
    for (int r = 0; r < kLaneRows; ++r) {
      rows[r].at = number_of(rows[r].at);
      __syncwarp();
      if (rows[r].is_row) note(rows[r], row + static_cast<std::uint32_t>(r) * 32);
      __syncwarp();
    }
    sums_.add(rows);
  }

 private:
  template <class T>
  __device__ static T volatile_at(T* data, int i) {
    return *const_cast<volatile T*>(data + i);
  }
  /// Uses the first bits of a product with a secret. This is enough for tables of few keys.
  __device__ int first_slot(unsigned long long key) const {
    if (key == kNoKey) return call_.size.slots;
    return static_cast<int>((key ^ call_.by.a) * call_.by.b >> shift_);
  }
  /// Returns the slot of a key that is not in slot `at`, whose key is `held`. A new key takes an empty slot. If the
  /// table is full, any slot is returned.
  __device__ int find(unsigned long long key, int at, unsigned long long held) const {
    for (int probe = 0; probe < call_.size.slots; ++probe) {
      if (held == kNoKey) held = atomicCAS(&tables_.keys[at], kNoKey, key);
      if (held == kNoKey) number(at);
      if (held == kNoKey || held == key) return at;
      at = (at + 1) & (call_.size.slots - 1);
      held = volatile_at(tables_.keys, at);
      if (held == key) return at;
      if (probe % 16 == 15 && *const_cast<volatile std::uint32_t*>(tables_.stops) != 0) break;  // may be full
    }
    return call_.size.slots;
  }
  /// Too many is decided by the number of keys, not by a key's distance from its slot, which depends on a secret.
  __device__ void number(int slot) const {
    const auto most = static_cast<std::uint32_t>(call_.size.most);
    const std::uint32_t number = atomicAdd(tables_.found, 1U);
    if (number >= most) *const_cast<volatile std::uint32_t*>(tables_.stops) = 1;
    *const_cast<volatile std::uint16_t*>(&tables_.numbers[slot]) = static_cast<std::uint16_t>(::min(number, most));
  }
  /// Returns the slot's number; waits until the lane that took the slot has set it.
  __device__ int number_of(int slot) const {
    std::uint16_t number = volatile_at(tables_.numbers, slot);
    while (number == FewTables<Total>::kNoNumber) number = volatile_at(tables_.numbers, slot);
    return number;
  }
  __device__ void note(const LaneRow<In>& row, std::uint32_t first) const {
    if (first < volatile_at(tables_.firsts, row.at)) atomicMin(&tables_.firsts[row.at], first);
    if (call_.counts) atomicAdd(&tables_.rows[row.at], 1U);
    if (call_.check.is_large(row.value)) call_.facts->too_large = 1;
  }

  const FewCall<Key, In>& call_;
  FewTables<Total> tables_;
  int warp_;
  WarpSums<In> sums_;
  int shift_;
};

/// Returns the block's result for the key with this number.
template <class Key, class In>
__device__ Partial<WarpTotal<In>> partial_of(const FewCall<Key, In>& call, const FewTables<WarpTotal<In>>& tables,
                                             unsigned long long key, int number) {
  const int each = call.size.most + 1;
  auto total = tables.totals[number];
  for (int w = 1; w < call.size.warps; ++w) total += tables.totals[w * each + number];
  const auto begin = static_cast<unsigned long long>(std::int64_t{blockIdx.x} * call.block_rows);
  return {.key = key, .first = begin + tables.firsts[number], .rows = tables.rows[number], .total = total};
}

template <class Key, class In>
__global__ void __launch_bounds__(32 * kFewSizes[0].warps) fold_few(const __grid_constant__ FewCall<Key, In> call) {
  using Tables = FewTables<WarpTotal<In>>;
  extern __shared__ __align__(16) std::byte memory[];
  const Tables tables(memory, call.size);
  tables.clear(call.size);

  const std::int64_t begin = std::int64_t{blockIdx.x} * call.block_rows;
  const auto count = static_cast<std::uint32_t>(::min(call.n - begin, call.block_rows));
  FewWarp<Key, In> warp(call, tables);
  for (std::uint32_t at = threadIdx.x / 32 * 32 * kLaneRows; at < count; at += blockDim.x * kLaneRows) {
    if (__any_sync(~0U, *const_cast<volatile std::uint32_t*>(tables.stops) != 0)) break;
    warp.fold(call.keys + begin, call.values + begin, at + threadIdx.x % 32, count);
  }
  __syncthreads();  // all rows are folded before a total is read

  if (*tables.stops != 0) {
    if (threadIdx.x == 0) call.facts->too_many = 1;
    return;
  }
  const std::uint32_t found = *tables.found;
  const bool has_no_key = tables.firsts[call.size.most] != Tables::kNone;
  auto* const partials = call.partials + std::int64_t{blockIdx.x} * (call.size.most + 1);
  for (int s = static_cast<int>(threadIdx.x); s < call.size.slots; s += static_cast<int>(blockDim.x)) {
    if (tables.keys[s] == kNoKey) continue;
    partials[tables.numbers[s]] = partial_of(call, tables, tables.keys[s], tables.numbers[s]);
  }
  if (threadIdx.x != 0) return;
  if (has_no_key) partials[found] = partial_of(call, tables, kNoKey, call.size.most);
  call.found[blockIdx.x] = found + (has_no_key ? 1 : 0);
}

/// The partials as arrays, block by block.
template <class Key, class Total>
struct PackedPartials {
  Key* keys;
  unsigned long long* firsts;
  std::int64_t* rows;
  Total* totals;
};

/// Packs partials. A block's order does not matter, because it has each key once. `before` has the number of partials
/// before each block, and of all.
template <class Key, class Total>
__global__ void __launch_bounds__(kThreads) pack_partials(const Partial<Total>* partials, int each,
                                                          const std::uint32_t* before, PackedPartials<Key, Total> to) {
  const std::uint32_t begin = before[blockIdx.x];
  for (std::uint32_t i = begin + threadIdx.x; i < before[blockIdx.x + 1]; i += kThreads) {
    const Partial<Total> one = partials[std::int64_t{blockIdx.x} * each + (i - begin)];
    to.keys[i] = static_cast<Key>(one.key);
    to.firsts[i] = one.first;
    to.rows[i] = one.rows;
    to.totals[i] = one.total;
  }
}

/// One attempt: computes partial sums of the rows, in the order of their blocks.
template <class Key, class In>
class FewGroups {
 public:
  using Total = WarpTotal<In>;

  /// Returns whether the device has enough shared memory for a block's tables.
  static bool fits(int device, const FewSize& size) {
    int most = 0;
    gpu::require(gpu::detail::most_shared_memory(device, most), kWhat);
    return FewTables<Total>::bytes(size) <= static_cast<std::size_t>(most);
  }
  FewGroups(const gpu::Policy& policy, const Call& call, const FewSize& size) : policy_(policy), each_(size.most + 1) {
    FewCall<Key, In> few{.keys = static_cast<const Key*>(call.keys),
                         .values = static_cast<const In*>(call.in),
                         .n = call.n,
                         .block_rows = gpu::divided_up(call.n, most_blocks(call.n)),
                         .size = size,
                         .by = secret(),
                         .check = SizeCheck::of(call.checked, call.n),
                         .counts = call.out_counts != nullptr,
                         .partials = nullptr,
                         .found = nullptr,
                         .facts = nullptr};
    blocks_ = gpu::divided_up(call.n, few.block_rows);
    memory_.emplace(policy, [&](gpu::ScratchParts& parts) {
      few.partials = parts.take<Partial<Total>>(blocks_ * each_);
      few.found = parts.take<std::uint32_t>(blocks_ + 1);
      few.facts = parts.take<FewFacts>(1);
    });
    partials_ = few.partials;
    before_ = few.found;
    gpu::require(cudaMemsetAsync(few.facts, 0, sizeof *few.facts, policy.stream), kWhat);
    gpu::require(cudaMemsetAsync(before_ + blocks_, 0, sizeof *before_, policy.stream), kWhat);
    const gpu::detail::Grid grid{.blocks = static_cast<unsigned>(blocks_),
                                 .threads = static_cast<unsigned>(32 * size.warps),
                                 .stream = policy.stream,
                                 .shared_bytes = FewTables<Total>::bytes(size)};
    gpu::require(gpu::detail::launch_large<FewCall<Key, In>>(grid, policy.device, fold_few<Key, In>, few), kWhat);
    gpu::fetch(&facts_, few.facts, sizeof facts_, policy.stream);
  }

  [[nodiscard]] const FewFacts& facts() const { return facts_; }

  /// Returns the number of partials. Must be called only once. Waits.
  std::int64_t count() {
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
  /// Writes the partials to arrays of count() elements.
  void pack(const PackedPartials<Key, Total>& to) const {
    const gpu::detail::Grid grid{
        .blocks = static_cast<unsigned>(blocks_), .threads = kThreads, .stream = policy_.stream};
    gpu::require(gpu::detail::launch(grid, pack_partials<Key, Total>, partials_, each_, before_, to), kWhat);
  }

 private:
  static constexpr const char* kWhat = "sums of few groups";
  static constexpr std::int64_t kLeastRows = gpu::tuning::kFewOrder.least_rows;
  /// Rows of a block are counted in 32 bits.
  static constexpr std::int64_t kMostRows = std::int64_t{1} << 31;

  static std::int64_t most_blocks(std::int64_t n) {
    constexpr std::int64_t kBlocks = gpu::tuning::kFewOrder.blocks;
    return std::max(std::min(kBlocks, gpu::divided_up(n, kLeastRows)), gpu::divided_up(n, kMostRows));
  }

  gpu::Policy policy_;
  int each_;
  std::int64_t blocks_ = 0;
  std::uint32_t* before_ = nullptr;
  Partial<Total>* partials_ = nullptr;
  FewFacts facts_ = {};
  std::optional<DeviceParts> memory_;
};

}  // namespace upsweep::impl::group_by
