// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/problem.cpp: the subset-sum ladder in order, and bitmaps of reachable sums: validate, run, throw
// failures as Errors. plan.cpp decides which rung solves an instance.
#include <algorithm>
#include <string>

#include "core/ladder.hpp"
#include "problems/subset_sum/ladder.hpp"
#include "problems/subset_sum/plan.hpp"
#include "problems/subset_sum/rung.hpp"
#include "upsweep/subset_sum.hpp"

namespace upsweep {

using detail::SubsetSumCall;

namespace impl::subset_sum {

// The ladder, starting with the naive loop. Every rung is declared in the file of its name.
extern const Rung cpu_table, cpu_columns, cpu_threads, cpu_bits, cpu_bits_simd, cpu_enumerate, cpu_meet_in_the_middle,
    cpu_schroeppel_shamir, cuda_array_ops, cuda_column, cuda_agglomerated, cuda_bits, cuda_bits_fused, cuda_slices,
    cuda_two_list;

constexpr const Rung* kRungs[] = {&cpu_table,
                                  &cpu_columns,
                                  &cpu_threads,
                                  &cpu_bits,
                                  &cpu_bits_simd,
                                  &cpu_enumerate,
                                  &cpu_meet_in_the_middle,
                                  &cpu_schroeppel_shamir,
                                  &cuda_array_ops,
                                  &cuda_column,
                                  &cuda_agglomerated,
                                  &cuda_bits,
                                  &cuda_bits_fused,
                                  &cuda_slices,
                                  &cuda_two_list};
constexpr Ladder<SubsetSumCall> kLadder = kRungs;

std::vector<RungInfo> rungs() { return infos(kLadder); }

bool tells_sides(std::string_view rung) {
  return rung == "cpu.enumerate" || rung == "cpu.meet_in_the_middle" || rung == "cpu.schroeppel_shamir" ||
         rung == "cuda.two_list";
}

bool fills(std::string_view rung) { return !tells_sides(rung) || rung == "cpu.enumerate"; }

std::string_view filling_rung(std::int64_t n, std::int64_t limit, bool on_device) {
  // A subset costs about the same as 16 words of a bitmap that is read from memory once per item.
  const bool few = n <= kMostEnumerated && std::int64_t{1} << n <= limit / 64 / 16 * std::max<std::int64_t>(n, 1);
  if (on_device) return n <= kSlicesItems ? "cuda.slices" : "cuda.bits_fused";
  return few ? "cpu.enumerate" : "cpu.bits_simd";
}

}  // namespace impl::subset_sum

const Rung<SubsetSumCall>& subset_sum_rung(const SubsetSumCall& call, const Policy& policy) {
  return named_rung(impl::subset_sum::kLadder, call, policy);
}

void impl::subset_sum::require_fill(const SubsetSumCall& call) {
  if (call.target < 0) {
    throw Error(Code::invalid_argument, "the limit must be at least 0, not " + std::to_string(call.target));
  }
  detail::require_array(call.sums, 1, "sums");
  require_positive(call.items, call.n);
}

void impl::subset_sum::require_positive(const std::int64_t* items, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    if (items[i] > 0) continue;
    throw Error(Code::not_positive,
                "item " + std::to_string(i) + " is " + std::to_string(items[i]) + ": every item must be at least 1", i);
  }
}

void detail::require_items(const std::int64_t* items, std::int64_t n) {
  require_array(items, n, "items");
  impl::subset_sum::require_positive(items, n);
}

void impl::subset_sum::run_on_cpu(const Policy& policy, SubsetSumCall& call) {
  const auto& rung = subset_sum_rung(call, policy);
  const Status status = rung.run(call, policy);
  if (status.code == Code::interrupted) throw Error(Code::interrupted, "the search was interrupted");
  if (!status.ok()) throw_status(status, rung.info.id);
}

std::string_view detail::run_reachable_sums(const Policy& policy, SubsetSumCall& call) {
  require_policy(policy);
  impl::subset_sum::require_fill(call);
  const std::string_view id =
      policy.rung.empty() ? impl::subset_sum::filling_rung(call.n, call.target, false) : policy.rung;
  const Policy by_name = policy.with_rung(id);
  const auto& rung = subset_sum_rung(call, by_name);
  impl::subset_sum::require_memory({.rung = id, .bytes = impl::subset_sum::table_bytes(id, call.n, call.target)});
  impl::subset_sum::run_on_cpu(by_name, call);
  return rung.info.id;
}

}  // namespace upsweep
