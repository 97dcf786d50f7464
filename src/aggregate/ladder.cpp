// SPDX-License-Identifier: Apache-2.0
// aggregate/ladder.cpp: the rungs of the aggregate ladder, in order, and which one the API runs.
#include "aggregate/ladder.hpp"

#include <span>

#include "aggregate/rungs.hpp"

namespace upsweep {
namespace {

using detail::AggregateCall;

const char* any_call(const AggregateCall&, const Policy&) noexcept { return nullptr; }

const char* simd_refusal(const AggregateCall&, const Policy& policy) noexcept { return isa_refusal(policy.isa); }

// ---- On a GPU: whether it is there at all is asked before (backend_refusal).

const char* host_adds_refusal(const AggregateCall& call, const Policy&) noexcept {
  return call.waits ? nullptr : "the host adds up what its kernel leaves: only calls that wait run it";
}

constexpr const char* kTouched = "keys, and lines of kept rows";
constexpr const char* kSectors = "keys, and sectors of kept rows";

constexpr Rung<AggregateCall> kLadder[] = {
    {{.id = "cpu.serial", .idea = "one loop, row after row", .needs = "any CPU", .traffic = kTouched},
     &any_call,
     &aggregate::cpu_serial},
    {{.id = "cpu.threads", .idea = "threads take blocks of rows", .needs = "any CPU", .traffic = kTouched},
     &any_call,
     &aggregate::cpu_threads},
    {{.id = "cpu.predicate_first",
      .idea = "vectors of keys, then the payload that is kept",
      .needs = "AVX2, AVX-512 or baseline",
      .traffic = kTouched},
     &simd_refusal,
     &aggregate::cpu_predicate_first},
    {{.id = "cuda.select",
      .idea = "a product per row; the host adds up all of them",
      .needs = "any GPU",
      .traffic = "as below, and n products written, sent, read",
      .backend = Backend::cuda,
      .host_adds = true},
     &host_adds_refusal,
     aggregate::cuda_select,
     aggregate::cuda_select_workspace},
    {{.id = "cuda.interleaved",
      .idea = "blocks sum by a tree of strided neighbours",
      .needs = "any GPU",
      .traffic = kSectors,
      .backend = Backend::cuda,
      .host_adds = true},
     &host_adds_refusal,
     aggregate::cuda_interleaved,
     aggregate::cuda_interleaved_workspace},
    {{.id = "cuda.sequential",
      .idea = "the tree folds halves: no bank conflicts",
      .needs = "any GPU",
      .traffic = kSectors,
      .backend = Backend::cuda,
      .host_adds = true},
     &host_adds_refusal,
     aggregate::cuda_sequential,
     aggregate::cuda_sequential_workspace},
    {{.id = "cuda.unrolled",
      .idea = "the tree's last warp without loop or barrier",
      .needs = "any GPU",
      .traffic = kSectors,
      .backend = Backend::cuda,
      .host_adds = true},
     &host_adds_refusal,
     aggregate::cuda_unrolled,
     aggregate::cuda_unrolled_workspace},
    {{.id = "cuda.two_loads",
      .idea = "two rows per thread, half as many blocks",
      .needs = "any GPU",
      .traffic = kSectors,
      .backend = Backend::cuda,
      .host_adds = true},
     &host_adds_refusal,
     aggregate::cuda_two_loads,
     aggregate::cuda_two_loads_workspace},
    {{.id = "cuda.reduce_again",
      .idea = "a second kernel sums the blocks' sums",
      .needs = "any GPU",
      .traffic = kSectors,
      .backend = Backend::cuda,
      .host_adds = true},
     &host_adds_refusal,
     aggregate::cuda_reduce_again,
     aggregate::cuda_reduce_again_workspace},
    {{.id = "cuda.occupancy",
      .idea = "two_loads in the block that fills the GPU best",
      .needs = "any GPU",
      .traffic = kSectors,
      .backend = Backend::cuda,
      .host_adds = true},
     &host_adds_refusal,
     aggregate::cuda_occupancy,
     aggregate::cuda_occupancy_workspace},
    {{.id = "cuda.shuffle",
      .idea = "many rows per thread, warps sum by shuffles",
      .needs = "any GPU",
      .traffic = kSectors,
      .backend = Backend::cuda},
     &any_call,
     aggregate::cuda_shuffle,
     aggregate::cuda_shuffle_workspace},
    {{.id = "cuda.cub",
      .idea = "cub::DeviceReduce over products by index",
      .needs = "any GPU",
      .traffic = kSectors,
      .kind = Kind::library,
      .backend = Backend::cuda},
     &any_call,
     aggregate::cuda_cub,
     aggregate::cuda_cub_workspace},
    {{.id = "cuda.zero_copy",
      .idea = "columns stay in the host's pinned memory",
      .needs = "any GPU; pinned, managed or device memory",
      .traffic = kSectors,
      .backend = Backend::cuda,
      .host_memory = true},
     &any_call,
     aggregate::cuda_zero_copy,
     aggregate::cuda_zero_copy_workspace},
    {{.id = "cuda.fused",
      .idea = "one kernel: keys by 16 bytes, kept rows queued",
      .needs = "any GPU",
      .traffic = kSectors,
      .backend = Backend::cuda},
     &any_call,
     aggregate::cuda_fused,
     aggregate::cuda_fused_workspace},
};

constexpr std::span<const Rung<AggregateCall>> kRungs = kLadder;
constexpr const Rung<AggregateCall>& kSerial = kLadder[0];
constexpr const Rung<AggregateCall>& kPredicateFirst = kLadder[2];
static_assert(kSerial.info.id == "cpu.serial" && kPredicateFirst.info.id == "cpu.predicate_first");

constexpr const Rung<AggregateCall>& kFused = kRungs.back();
static_assert(kFused.info.id == "cuda.fused");

// Below two vectors of keys the loop is as fast as finding out which vectors there are.
constexpr std::int64_t kSerialRows = 32;

}  // namespace

std::vector<RungInfo> aggregate_ladder() { return infos(kRungs); }

const Rung<AggregateCall>& aggregate_rung(const AggregateCall& call, const Policy& policy) {
  if (!policy.rung.empty()) return named_rung(kRungs, call, policy);
  if (call.launch != nullptr) return kFused;
  return call.n < kSerialRows ? kSerial : kPredicateFirst;
}

}  // namespace upsweep
