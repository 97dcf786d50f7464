// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/cuda_partitioned.cu: partitions rows by hashes; each tile of a partition has a shared table.
//
// Idea   Rows are sorted by the first bits of their hashes. The number of bits is chosen so that a partition's keys fit
//        a block's table in shared memory. Blocks take equal tiles of the sorted rows, each from one partition or from
//        a few adjacent ones.
// Cost   Keys read twice and values once at random; one or two passes read and write partitions and rows. Work n, depth
//        n divided by the threads.
// Needs  Any GPU. The memory of cuda.hash, and 24 bytes per row.
// Limit  Keys and values that are read at random, after one or two passes.
// From   Radix-partitioned joins: Sioulas et al., "Hardware-Conscious Hash-Joins on GPUs" (ICDE 2019).
#include <cstdint>
#include <limits>

#include "problems/keys/group_by/device_rung.hpp"

#if UPSWEEP_HAS_CUDA
#include <cub/device/device_radix_sort.cuh>

#include "problems/keys/group_by/device_sums.cuh"
#include "upsweep/detail/tuning/keys.hpp"
#endif

namespace upsweep::impl::group_by {

#if UPSWEEP_HAS_CUDA
namespace {

/// Number of rows of a block's tile.
constexpr std::int64_t kTileRows = gpu::tuning::kGroups.block_rows;

template <class Key>
__global__ void __launch_bounds__(kThreads)
    write_partitions(const Key* keys, std::int64_t n, Secret by, std::uint32_t* partitions, std::uint32_t* rows) {
  const std::int64_t i = own_index();
  if (i >= n) return;
  partitions[i] = static_cast<std::uint32_t>(device_hash(by, keys[i]) >> 32);
  rows[i] = static_cast<std::uint32_t>(i);
}

template <class Key, class T>
__global__ void __launch_bounds__(kThreads) fold_tiles(SumTable<Key, T> all, const std::uint32_t* rows) {
  __shared__ typename BlockTable<Key, T>::Table shared_table;
  const BlockTable<Key, T> own(all, shared_table);
  const std::int64_t first = std::int64_t{blockIdx.x} * kTileRows;
  const std::int64_t end = ::min(first + kTileRows, all.n);
  for (std::int64_t i = first + threadIdx.x; i < end; i += kThreads) own.fold(rows[i]);
  own.empty();
}

struct Fill {
  template <class Key, class T>
  void operator()(const SumTable<Key, T>& sums, const gpu::Policy& policy) const {
    constexpr const char* kWhat = "partitioning rows by their hashes";
    const std::int64_t n = sums.n;
    std::uint32_t* partitions[2] = {};
    std::uint32_t* rows[2] = {};
    const DeviceParts memory(policy, [&](gpu::ScratchParts& all) {
      for (auto& one : partitions) one = all.take<std::uint32_t>(n);
      for (auto& one : rows) one = all.take<std::uint32_t>(n);
    });
    gpu::require(gpu::detail::launch(grid_of(n, policy.stream), write_partitions<Key>, sums.keys, n, sums.table.by,
                                     partitions[0], rows[0]),
                 kWhat);
    int bits = 8;  // one pass of the sort
    while (bits < 16 && (n >> bits) > kTileRows) bits = 16;
    run_cub(
        policy,
        [&](void* scratch, std::size_t& bytes) {
          return cub::DeviceRadixSort::SortPairs(scratch, bytes, partitions[0], partitions[1], rows[0], rows[1], n,
                                                 32 - bits, 32, policy.stream);
        },
        kWhat);
    const gpu::detail::Grid grid{
        .blocks = static_cast<unsigned>(gpu::divided_up(n, kTileRows)), .threads = kThreads, .stream = policy.stream};
    gpu::require(gpu::detail::launch(grid, fold_tiles<Key, T>, sums, rows[1]), kWhat);
  }
};

Status launch(Call& call, const Policy&) noexcept { return launch_table(call, Fill{}); }

}  // namespace
#endif

namespace {

const char* partitioned_refusal(const Call& call, const Policy& policy) noexcept {
  if (call.n > std::numeric_limits<std::uint32_t>::max()) return "it numbers rows in 32 bits: cuda.sort takes more";
  return few_types_refusal(call, policy);
}

}  // namespace

extern const Rung cuda_partitioned{
    .info = {.id = "cuda.partitioned",
             .idea = "rows partitioned by hash, tables in shared memory",
             .needs = "any GPU",
             .traffic = "partitions and rows read and written, keys and values at random, groups written",
             .cost = "n, n/threads",
             .limit = "values at random",
             .determinism = Determinism::no,
             .host_adds = true},
    .refusal = partitioned_refusal,
    .run = launch};

}  // namespace upsweep::impl::group_by
