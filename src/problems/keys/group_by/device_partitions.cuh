// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/device_partitions.cuh: sums many groups by partitions. A partition has a few hundred groups.
// A sort has made their rows adjacent, so that a warp has sums for all of its groups in shared memory.
//
// A partition's rows are divided into tiles of equal length, one for each block. Tiles of one partition are added in
// order.
#pragma once

#include <cub/device/device_scan.cuh>

#include <algorithm>
#include <cstddef>

#include "cuda/work_path.cuh"
#include "problems/keys/group_by/device_numbers.cuh"
#include "problems/keys/group_by/device_warp_sums.cuh"
#include "upsweep/detail/shared_memory.cuh"
#include "upsweep/detail/tuning/keys.hpp"

namespace upsweep::impl::group_by {

/// The split of group numbers: their first bits are the partition, the last `local_bits` the group within it.
struct PartitionBits {
  static constexpr int kMostLocal = gpu::tuning::kPartitionsOrder.most_local;
  static constexpr int kPassBits = gpu::tuning::kPartitionsOrder.pass_bits;  // bits per pass of the sort

  /// Minimizes the number of passes, and then the number of groups per partition.
  explicit PartitionBits(int bits) {
    const int passes = bits <= kMostLocal ? 0 : (bits - kMostLocal + kPassBits - 1) / kPassBits;
    local_bits = std::max(bits - passes * kPassBits, 0);
    is_sorted = passes > 0;
  }
  [[nodiscard]] int locals() const { return 1 << local_bits; }

  int local_bits;
  bool is_sorted;  ///< there is more than one partition
};

/// Maximum number of rows of a tile.
inline constexpr std::int64_t kTileRows = gpu::tuning::kPartitionsOrder.tile_rows;

/// tiles[p] ← the number of tiles of partition p.
inline __global__ void __launch_bounds__(kThreads)
    count_tiles(const std::int64_t* offsets, std::int64_t partitions, std::uint32_t* tiles) {
  const std::int64_t p = own_index();
  if (p < partitions) tiles[p] = static_cast<std::uint32_t>((offsets[p + 1] - offsets[p] + kTileRows - 1) / kTileRows);
  if (p == partitions) tiles[p] = 0;
}

template <class In>
struct PartitionsCall {
  const std::uint32_t* numbers;  ///< in the order of the partitions
  const In* values;
  const std::int64_t* offsets;  ///< of the partitions
  const std::uint32_t* before;  ///< number of tiles before each partition, and of all
  std::int64_t partitions;
  int local_bits;
  int vote_words;
  SizeCheck check;
  WarpTotal<In>* totals;  ///< for each tile, one total per group of a partition
  std::uint32_t* rows;    ///< for each tile, one count per group; null: rows are not counted
  std::uint32_t* is_too_large;
};

/// Returns the partition of a tile.
__device__ inline std::int64_t partition_of(const std::uint32_t* before, std::int64_t partitions, std::uint32_t tile) {
  return gpu::last_where(0, partitions - 1, [&](std::int64_t partition) { return before[partition] <= tile; });
}

/// A block's tables in its shared memory, for `locals` groups.
template <class Total>
struct PartitionTables {
  Total* totals;         ///< of each warp
  std::uint32_t* rows;   ///< of each group
  std::uint32_t* votes;  ///< of each warp

  __host__ __device__ PartitionTables(gpu::detail::SharedArrays& memory, int locals, int warps, int vote_words)
      : totals(memory.take<Total>(locals * warps)),
        rows(memory.take<std::uint32_t>(locals)),
        votes(memory.take<std::uint32_t>(warps * kLaneRows * vote_words)) {}
};

template <class In>
__global__ void fold_partitions(const __grid_constant__ PartitionsCall<In> call) {
  using Total = WarpTotal<In>;
  extern __shared__ __align__(16) std::byte memory[];
  const std::uint32_t tile = blockIdx.x;
  if (tile >= call.before[call.partitions]) return;
  const auto thread = static_cast<int>(threadIdx.x);
  const auto threads = static_cast<int>(blockDim.x);
  const int warps = threads / 32;
  const int locals = 1 << call.local_bits;
  gpu::detail::SharedArrays arrays(memory);
  const auto [totals, rows, votes] = PartitionTables<Total>(arrays, locals, warps, call.vote_words);
  for (int i = thread; i < locals * warps; i += threads) totals[i] = no_sum<Total>();
  for (int i = thread; i < locals; i += threads) rows[i] = 0;
  for (int i = thread; i < warps * kLaneRows * call.vote_words; i += threads) votes[i] = 0;
  __syncthreads();  // all sums are empty before a row is folded

  const std::int64_t partition = partition_of(call.before, call.partitions, tile);
  const std::int64_t begin = call.offsets[partition] + (tile - call.before[partition]) * kTileRows;
  const auto count = static_cast<int>(::min(call.offsets[partition + 1] - begin, kTileRows));
  const int warp = thread / 32;
  WarpSums<In> sums(totals + warp * locals, votes + warp * kLaneRows * call.vote_words, call.vote_words);
  for (int at = warp * 32 * kLaneRows; at < count; at += threads * kLaneRows) {
    LaneRow<In> lane[kLaneRows];
#pragma unroll
    for (int r = 0; r < kLaneRows; ++r) {
      const int i = at + r * 32 + thread % 32;
      lane[r].is_row = i < count;
      lane[r].at = lane[r].is_row ? static_cast<int>(__ldcs(call.numbers + begin + i)) & (locals - 1) : 0;
      lane[r].value = lane[r].is_row ? __ldcs(call.values + begin + i) : In{};
    }
#pragma unroll
    for (int r = 0; r < kLaneRows; ++r) {
      if (call.rows != nullptr && lane[r].is_row) atomicAdd(&rows[lane[r].at], 1U);
      if (call.check.is_large(lane[r].value)) *call.is_too_large = 1;
    }
    __syncwarp();
    sums.add(lane);
  }
  __syncthreads();  // all rows are folded before a total is read

  for (int i = thread; i < locals; i += threads) {
    Total total = totals[i];
    for (int w = 1; w < warps; ++w) total += totals[w * locals + i];
    call.totals[std::int64_t{tile} * locals + i] = total;
    if (call.rows != nullptr) call.rows[std::int64_t{tile} * locals + i] = rows[i];
  }
}

/// out[g], counts[g] ← the sums over the tiles of group g's partition.
template <class In, class Out>
__global__ void __launch_bounds__(kThreads)
    add_tiles(PartitionsCall<In> call, std::int64_t groups, Out* out, std::int64_t* counts) {
  const std::int64_t g = own_index();
  if (g >= groups) return;
  const std::int64_t partition = g >> call.local_bits;
  const std::int64_t local = g & ((1 << call.local_bits) - 1);
  auto total = no_sum<WarpTotal<In>>();
  std::int64_t rows = 0;
  for (std::uint32_t tile = call.before[partition]; tile < call.before[partition + 1]; ++tile) {
    const std::int64_t at = (std::int64_t{tile} << call.local_bits) + local;
    total += call.totals[at];
    if (call.rows != nullptr) rows += call.rows[at];
  }
  out[g] = static_cast<Out>(total);
  if (counts != nullptr) counts[g] = rows;
}

/// Calls f(std::type_identity<Out>{}) with the type of a sum: the type of the values, or 64 bits of the same
/// signedness.
template <class In, class F>
void visit_sum(Type out, F f) {
  if constexpr (std::is_integral_v<In> && sizeof(In) < 8) {
    using Wide = std::conditional_t<std::is_signed_v<In>, std::int64_t, std::uint64_t>;
    if (size_of(out) == 8) return f(std::type_identity<Wide>{});
  }
  f(std::type_identity<In>{});
}

/// Sums numbered rows. Returns false, and writes nothing, if values are so large that their sum may not fit 64 bits.
template <class Key, class In>
bool sum_by_partitions(const gpu::Policy& policy, const Call& call, const NumberedItems<Key>& items) {
  constexpr const char* kWhat = "sums by partitions";
  using Total = WarpTotal<In>;
  const PartitionBits split(items.bits());
  const std::int64_t n = call.n;
  const std::int64_t groups = items.groups();
  const std::int64_t partitions = gpu::divided_up(groups, split.locals());
  const std::int64_t most_tiles = partitions + n / kTileRows;
  std::int64_t* offsets = nullptr;
  std::uint32_t* before = nullptr;
  In* sorted = nullptr;
  PartitionsCall<In> sums{};
  const DeviceParts memory(policy, [&](gpu::ScratchParts& all) {
    offsets = all.take<std::int64_t>(partitions + 1);
    before = all.take<std::uint32_t>(partitions + 1);
    if (split.is_sorted) sorted = all.take<In>(n);
    sums.totals = all.take<Total>(most_tiles << split.local_bits);
    if (call.out_counts != nullptr) sums.rows = all.take<std::uint32_t>(most_tiles << split.local_bits);
    sums.is_too_large = all.take<std::uint32_t>(1);
  });
  gpu::require(cudaMemsetAsync(sums.is_too_large, 0, sizeof *sums.is_too_large, policy.stream), kWhat);
  if (split.is_sorted) items.sort(call.in, sizeof(In), sorted, split.local_bits);
  sums.numbers = split.is_sorted ? items.sorted() : items.numbers();
  sums.values = split.is_sorted ? sorted : static_cast<const In*>(call.in);
  write_offsets(policy, sums.numbers, n, split.local_bits, offsets);
  gpu::require(gpu::detail::launch(grid_of(partitions + 1, policy.stream), count_tiles, offsets, partitions, before),
               kWhat);
  run_cub(
      policy,
      [&](void* scratch, std::size_t& bytes) {
        return cub::DeviceScan::ExclusiveSum(scratch, bytes, before, before, partitions + 1, policy.stream);
      },
      kWhat);
  sums.offsets = offsets;
  sums.before = before;
  sums.partitions = partitions;
  sums.local_bits = split.local_bits;
  sums.vote_words = 128;
  sums.check = SizeCheck::of(call.checked, n);
  const int warps = n / partitions < 8192 ? 4 : 8;
  const gpu::detail::Grid grid{
      .blocks = static_cast<unsigned>(most_tiles),
      .threads = static_cast<unsigned>(32 * warps),
      .stream = policy.stream,
      .shared_bytes = gpu::detail::shared_bytes_of<PartitionTables<Total>>(split.locals(), warps, sums.vote_words)};
  gpu::require(gpu::detail::launch_large<PartitionsCall<In>>(grid, policy.device, fold_partitions<In>, sums), kWhat);
  if (sums.check.least_large > 0) {
    std::uint32_t is_too_large = 0;
    gpu::fetch(&is_too_large, sums.is_too_large, sizeof is_too_large, policy.stream);
    if (is_too_large != 0) return false;
  }
  visit_sum<In>(call.out_type, [&]<class Out>(std::type_identity<Out>) {
    gpu::require(gpu::detail::launch(grid_of(groups, policy.stream), add_tiles<In, Out>, sums, groups,
                                     static_cast<Out*>(call.out), call.out_counts),
                 kWhat);
  });
  gpu::require(cudaStreamSynchronize(policy.stream), kWhat);
  return true;
}

}  // namespace upsweep::impl::group_by
