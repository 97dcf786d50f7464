// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/cuda_shared.cu: a small table for each block in shared memory, later added to a global table.
//
// Idea   Persistent blocks take rows in strides and fold them into separate tables in shared memory. In shared memory
//        atomics cost little, and no other block uses the table. A key that does not fit the block's table goes into
//        the global table. In the end each block adds its table to the global table.
// Cost   Keys and values read; for few keys little more. Work n, depth n divided by the resident threads.
// Needs  Any GPU. The memory of cuda.hash.
// Limit  More keys than a block's table can hold: then most rows are looked up twice. In cuda.partitioned each block
//        sees only few keys.
// From   Karnagel et al., "Optimizing GPU-accelerated Group-By and Aggregation" (ADMS 2015).
#include "problems/keys/group_by/device_rung.hpp"

#if UPSWEEP_HAS_CUDA
#include "problems/keys/group_by/device_sums.cuh"
#include "upsweep/detail/tuning/keys.hpp"
#endif

namespace upsweep::impl::group_by {

#if UPSWEEP_HAS_CUDA
namespace {

template <class Key, class T>
__global__ void __launch_bounds__(kThreads) fold_strides(SumTable<Key, T> all) {
  __shared__ typename BlockTable<Key, T>::Table shared_table;
  const BlockTable<Key, T> own(all, shared_table);
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = own_index(); i < all.n; i += stride) own.fold(i);
  own.empty();
}

/// Blocks per multiprocessor: the number of tables that fit its shared memory. A few more cost nothing.
constexpr int kBlocks = gpu::tuning::kGroups.shared_blocks;

struct Fill {
  int multiprocessors;

  template <class Key, class T>
  void operator()(const SumTable<Key, T>& sums, const gpu::Policy& policy) const {
    auto grid = grid_of(sums.n, policy.stream);
    grid.blocks = ::min(grid.blocks.x, static_cast<unsigned>(kBlocks * multiprocessors));
    gpu::require(gpu::detail::launch(grid, fold_strides<Key, T>, sums), "folding rows in shared memory");
  }
};

Status launch(Call& call, const Policy&) noexcept { return launch_table(call, Fill{call.launch->multiprocessors}); }

}  // namespace
#endif

extern const Rung cuda_shared{.info = {.id = "cuda.shared",
                                       .idea = "a table per block in shared memory, then a global one",
                                       .needs = "any GPU",
                                       .traffic = kOnePass,
                                       .cost = "n, n/threads",
                                       .limit = "more keys than a block's table can hold",
                                       .determinism = Determinism::no,
                                       .host_adds = true},
                              .refusal = few_types_refusal,
                              .run = launch};

}  // namespace upsweep::impl::group_by
