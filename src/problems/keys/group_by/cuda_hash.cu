// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/cuda_hash.cu: one hash table in device memory, a thread for each row, atomics.
//
// Idea   A thread searches for its row's key from the slot that the hash gives. It takes an empty slot by
//        compare-and-swap, and adds its value to the slot's sum.
// Cost   Keys read twice, first by a sketch that determines the size of the table; values once. For each row a slot is
//        read and a sum changed at random. Work n, depth that of the key with most rows.
// Needs  Any GPU. Memory of 51 bytes per group.
// Limit  Rows of one key wait for each other at its slot, which is worst if there are few keys. Many keys miss the
//        cache. cuda.shared solves the problem of few keys, cuda.partitioned that of many keys. Float sums depend on
//        the order of the atomics, which changes from run to run.
// From   Alcantara et al., "Real-Time Parallel Hashing on the GPU" (SIGGRAPH Asia 2009); cuDF's groupby.
#include "problems/keys/group_by/device_rung.hpp"

#if UPSWEEP_HAS_CUDA
#include "problems/keys/group_by/device_sums.cuh"
#endif

namespace upsweep::impl::group_by {

#if UPSWEEP_HAS_CUDA
namespace {

template <class Key, class T>
__global__ void __launch_bounds__(kThreads) fold_rows(SumTable<Key, T> sums) {
  const std::int64_t i = own_index();
  if (i < sums.n) sums.fold(i);
}

struct Fill {
  template <class Key, class T>
  void operator()(const SumTable<Key, T>& sums, const gpu::Policy& policy) const {
    gpu::require(gpu::detail::launch(grid_of(sums.n, policy.stream), fold_rows<Key, T>, sums), "folding rows");
  }
};

Status launch(Call& call, const Policy&) noexcept { return launch_table(call, Fill{}); }

}  // namespace
#endif

extern const Rung cuda_hash{.info = {.id = "cuda.hash",
                                     .idea = "one hash table, a thread per row, atomics",
                                     .needs = "any GPU",
                                     .traffic = "keys and values read, slots changed at random, groups written",
                                     .cost = "n, rows of the most frequent key",
                                     .limit = "rows of one key wait for each other; many keys miss the cache",
                                     .determinism = Determinism::no,
                                     .host_adds = true},
                            .refusal = few_types_refusal,
                            .run = launch};

}  // namespace upsweep::impl::group_by
