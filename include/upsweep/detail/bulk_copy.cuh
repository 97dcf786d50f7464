// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/bulk_copy.cuh: bulk copies between global and shared memory on Hopper, and their barriers.
#pragma once

#include <cstdint>

namespace upsweep::gpu::detail {

__device__ __forceinline__ std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

/// A barrier in shared memory (PTX mbarrier). The parity of its phase alternates. A waiter names the parity of the
/// phase that it waits for.
struct Barrier {
  std::uint64_t word;

  __device__ void init(int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0],%1;" ::"r"(shared_address(&word)), "r"(arrivals));
  }
  /// Releases to the waiting threads what this thread wrote and what it has seen.
  __device__ void arrive() {
    asm volatile("mbarrier.arrive.shared::cta.b64 _,[%0];" ::"r"(shared_address(&word)) : "memory");
  }
  /// Arrives. The phase also waits until bulk copies have transferred `bytes` bytes.
  __device__ void arrive_expecting(std::uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _,[%0],%1;" ::"r"(shared_address(&word)), "r"(bytes)
                 : "memory");
  }
  __device__ void wait(std::uint32_t parity) {
    std::uint32_t done = 0;
    do {
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p,[%1],%2; selp.u32 %0,1,0,p; }"
                   : "=r"(done)
                   : "r"(shared_address(&word)), "r"(parity)
                   : "memory");
    } while (done == 0);
  }
};

/// Copies `bytes` bytes. Addresses and bytes must be multiples of 16.
__device__ __forceinline__ void bulk_load(void* to, const void* from, std::uint32_t bytes, Barrier& full) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0],[%1],%2,[%3];" ::"r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(&full.word))
      : "memory");
}
__device__ __forceinline__ void bulk_store(void* to, const void* from, std::uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0],[%1],%2;" ::"l"(to), "r"(shared_address(from)),
               "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/// Waits until at most kPending groups of this thread still read shared memory.
template <int kPending>
__device__ __forceinline__ void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}
/// Orders ordinary writes to shared memory before bulk copies that follow.
__device__ __forceinline__ void fence_before_bulk() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

}  // namespace upsweep::gpu::detail
