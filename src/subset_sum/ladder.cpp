// SPDX-License-Identifier: Apache-2.0
// subset_sum/ladder.cpp: the rungs of the subset sum ladder, in order. Which one solves an instance is plan.cpp's to say.
#include "subset_sum/ladder.hpp"

#include <bit>
#include <span>

#include "subset_sum/cuda_limits.hpp"
#include "subset_sum/limits.hpp"
#include "subset_sum/rungs.hpp"

namespace upsweep {
namespace {

using detail::SubsetSumCall;

const char* any_call(const SubsetSumCall&, const Policy&) noexcept { return nullptr; }

const char* simd_refusal(const SubsetSumCall&, const Policy& policy) noexcept { return isa_refusal(policy.isa); }

const char* enumerate_refusal(const SubsetSumCall& call, const Policy&) noexcept {
  return call.n > subset_sum::kMostEnumerated ? "has a sum per subset: for up to 30 items" : nullptr;
}

const char* fills_refusal(const SubsetSumCall& call) noexcept {
  return call.sums != nullptr ? "decides about one target: it fills no bitmap" : nullptr;
}

const char* lists_refusal(const SubsetSumCall& call, const Policy&) noexcept {
  return call.n > subset_sum::kMostInLists ? "has a list of 2^(n/2) sums: for up to 66 items" : fills_refusal(call);
}

bool is_exact(const SubsetSumCall& call) { return call.below == 0 && call.above == 0; }

const char* residues_refusal(const SubsetSumCall& call, const Policy&) noexcept {
  if (call.n > subset_sum::kMostByResidues) return "looks at 2^(n/2) pairs: for up to 72 items";
  return is_exact(call) ? fills_refusal(call) : "finds one sum, not the nearest of several";
}

// ---- On a GPU: whether it is there at all is asked before (backend_refusal).

const char* slices_refusal(const SubsetSumCall& call, const Policy&) noexcept {
  return call.n > subset_sum::kSlicesItems ? "looks at every subset: for up to 20 items" : nullptr;
}

const char* two_list_refusal(const SubsetSumCall& call, const Policy&) noexcept {
  if (call.n > subset_sum::kTwoListItems) return "has a list of 2^(n/2) sums: for up to 64 items";
  return is_exact(call) ? fills_refusal(call) : "finds one sum, not the nearest of several";
}

constexpr const char* kByteTraffic = "3 bytes per sum and item";
constexpr const char* kBitTraffic = "3 bits per sum and item";

constexpr Rung<SubsetSumCall> kLadder[] = {
    {{.id = "cpu.table", .idea = "a column of bytes per item", .needs = "any CPU", .traffic = kByteTraffic},
     &any_call,
     &subset_sum::cpu_table},
    {{.id = "cpu.columns", .idea = "two columns in turn", .needs = "any CPU", .traffic = kByteTraffic},
     &any_call,
     &subset_sum::cpu_columns},
    {{.id = "cpu.threads", .idea = "each column split over threads", .needs = "any CPU", .traffic = kByteTraffic},
     &any_call,
     &subset_sum::cpu_threads},
    {{.id = "cpu.bits", .idea = "a bit per sum, shifted and or'ed", .needs = "any CPU", .traffic = kBitTraffic},
     &any_call,
     &subset_sum::cpu_bits},
    {{.id = "cpu.bits_simd",
      .idea = "vectors, items in a wavefront, only where sums are",
      .needs = "AVX2, AVX-512 or baseline",
      .traffic = "2 bits per sum and pass of up to 16 items"},
     &simd_refusal,
     &subset_sum::cpu_bits_simd},
    {{.id = "cpu.enumerate",
      .idea = "the sum of every subset",
      .needs = "any CPU; up to 30 items",
      .traffic = "the bitmap, where one is filled"},
     &enumerate_refusal,
     &subset_sum::cpu_enumerate},
    {{.id = "cpu.meet_in_the_middle",
      .idea = "the sums of both halves as sorted lists",
      .needs = "any CPU; up to 66 items",
      .traffic = "40 bytes per sum of a half"},
     &lists_refusal,
     &subset_sum::cpu_meet_in_the_middle},
    {{.id = "cpu.schroeppel_shamir",
      .idea = "those lists piece by piece, from quarters",
      .needs = "any CPU; up to 72 items",
      .traffic = "none: its lists fit the cache"},
     &residues_refusal,
     &subset_sum::cpu_schroeppel_shamir},
    {{.id = "cuda.array_ops",
      .idea = "a copy and an OR of whole columns per item",
      .needs = "any GPU",
      .traffic = "5 bytes per sum and item",
      .backend = Backend::cuda},
     &any_call,
     subset_sum::cuda_array_ops,
     subset_sum::cuda_array_ops_workspace},
    {{.id = "cuda.column",
      .idea = "a kernel per column, a sum per thread",
      .needs = "any GPU",
      .traffic = kByteTraffic,
      .backend = Backend::cuda},
     &any_call,
     subset_sum::cuda_column,
     subset_sum::cuda_column_workspace},
    {{.id = "cuda.agglomerated",
      .idea = "several sums per thread, round-robin",
      .needs = "any GPU",
      .traffic = kByteTraffic,
      .backend = Backend::cuda},
     &any_call,
     subset_sum::cuda_agglomerated,
     subset_sum::cuda_agglomerated_workspace},
    {{.id = "cuda.bits",
      .idea = "a bit per sum, a kernel per item",
      .needs = "any GPU",
      .traffic = kBitTraffic,
      .backend = Backend::cuda},
     &any_call,
     subset_sum::cuda_bits,
     subset_sum::cuda_bits_workspace},
    {{.id = "cuda.bits_fused",
      .idea = "two items per pass of one persistent kernel",
      .needs = "any GPU with cooperative launches",
      .traffic = "2 bits per sum and pass",
      .backend = Backend::cuda},
     &any_call,
     subset_sum::cuda_bits_fused,
     subset_sum::cuda_bits_fused_workspace},
    {{.id = "cuda.slices",
      .idea = "blocks look for the sums of their slice",
      .needs = "any GPU; up to 20 items",
      .traffic = "the bitmap, once",
      .backend = Backend::cuda},
     &slices_refusal,
     subset_sum::cuda_slices,
     subset_sum::cuda_slices_workspace},
    {{.id = "cuda.two_list",
      .idea = "the sums of both halves as sorted lists",
      .needs = "any GPU; up to 64 items",
      .traffic = "40 bytes per sum of a half",
      .backend = Backend::cuda},
     &two_list_refusal,
     subset_sum::cuda_two_list,
     subset_sum::cuda_two_list_workspace},
};

constexpr std::span<const Rung<SubsetSumCall>> kRungs = kLadder;

}  // namespace

std::vector<RungInfo> subset_sum_ladder() { return infos(kRungs); }

const Rung<SubsetSumCall>& subset_sum_rung(const SubsetSumCall& call, const Policy& policy) {
  return named_rung(kRungs, call, policy);
}

namespace subset_sum {

bool tells_parts(std::string_view rung) {
  return rung == "cpu.enumerate" || rung == "cpu.meet_in_the_middle" || rung == "cpu.schroeppel_shamir" ||
         rung == "cuda.two_list";
}

bool fills(std::string_view rung) { return !tells_parts(rung) || rung == "cpu.enumerate"; }

std::string_view filling_rung(std::int64_t n, std::int64_t limit, bool on_device) {
  // A subset costs about what 16 words of a bitmap cost that goes through memory once per item.
  const bool few = n <= kMostEnumerated && std::int64_t{1} << n <= limit / 64 / 16 * std::max<std::int64_t>(n, 1);
  if (on_device) return n <= kSlicesItems ? "cuda.slices" : "cuda.bits_fused";
  return few ? "cpu.enumerate" : "cpu.bits_simd";
}

}  // namespace subset_sum
}  // namespace upsweep
