// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/on_device.cpp: subset sums on a GPU: bitmaps in its memory, and whole instances whose first step
// runs there.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include "cuda/device_call.hpp"
#include "problems/subset_sum/bitmap.hpp"
#include "problems/subset_sum/ladder.hpp"
#include "problems/subset_sum/rung.hpp"
#include "problems/subset_sum/solver.hpp"
#include "system/pages.hpp"
#include "upsweep/detail/tuning/subset_sum.hpp"
#include "upsweep/machine.hpp"

namespace upsweep {
namespace {

using detail::SubsetSumCall;
using impl::subset_sum::Question;
using impl::subset_sum::Word;
using impl::subset_sum::words_of;

/// Throws device_memory before sizes are computed that might not even fit 64 bits.
void require_device_fits(std::string_view rung, const SubsetSumCall& call, int device) {
  const double bitmaps = static_cast<double>(call.target) / 8 * 2;
  const double bytes = bitmaps + impl::subset_sum::table_bytes(rung, call.n, call.target);
  const auto there = static_cast<double>(gpu::devices().at(static_cast<std::size_t>(device)).memory_bytes);
  if (bytes <= there) return;
  throw Error(Code::device_memory,
              std::string(rung) + ": needs " + bytes_text(bytes) + " of memory; the GPU has " + bytes_text(there));
}

gpu::Policy filling(const gpu::Policy& policy, const SubsetSumCall& call) {
  return policy.rung.empty() ? policy.with_rung(impl::subset_sum::filling_rung(call.n, call.target, true)) : policy;
}

/// Fills the bitmap at call.sums, in host memory, or decides.
void run_and_wait(const gpu::Policy& policy, SubsetSumCall& call) {
  SubsetSumCall there = call;
  gpu::CallOnDevice on_device(policy, there, &subset_sum_rung);
  gpu::require_no_capture(policy.stream, "reachable_sums_async");
  if (call.sums == nullptr && impl::subset_sum::tells_sides(policy.rung)) {
    on_device.allocate();
    on_device.run();
    there.launch = nullptr;
    call = there;
    return;
  }
  there.target = call.target + (call.sums == nullptr ? call.above : 0);
  require_device_fits(on_device.rung().id, there, policy.device);
  const std::int64_t bytes = words_of(there.target) * std::int64_t{sizeof(Word)};
  there.sums = static_cast<Word*>(on_device.allocate(bytes));
  on_device.run();
  if (call.sums != nullptr) {
    gpu::fetch(call.sums, there.sums, bytes, policy.stream);
  } else if (call.below == 0 && call.above == 0) {
    Word word = 0;
    gpu::fetch(&word, there.sums + call.target / 64, sizeof word, policy.stream);
    call.reachable = (word >> (call.target % 64) & 1) != 0;
    call.sum = call.target;
  } else {
    cpu::Pages<Word> sums(words_of(there.target));
    gpu::fetch(sums.data(), there.sums, bytes, policy.stream);
    impl::subset_sum::read_decision(call, sums.data());
  }
}

/// Returns the costs of the ways on the GPU. To find items, bitmaps are copied to the host.
std::vector<SubsetSumWay> ways_on_device(const Question& question, int device) {
  const gpu::Device there = gpu::devices().at(static_cast<std::size_t>(device));
  const auto costs = gpu::tuning::tuning_for(10 * there.major + there.minor, gpu::tuning::kSubsetDeviceCosts);
  const auto memory = static_cast<double>(there.memory_bytes);
  const auto n = std::ssize(question.values);
  const double bits = static_cast<double>(question.target) + static_cast<double>(question.above) + 1;
  // Items are found from two bitmaps on the host. The nearest of several sums is found from the bitmap that was filled.
  const double on_host = question.witness ? bits / 4 : question.exact() ? 0 : bits / 8;
  const auto fits = [&](SubsetSumWay way) {
    if (way.reason.empty() && way.bytes > 0.95 * memory) {
      way.reason = "needs " + bytes_text(way.bytes) + " of the GPU's memory";
    }
    return way;
  };
  SubsetSumWay fused{
      .rung = "cuda.bits_fused", .bytes = bits / 8 * 2, .reason = impl::subset_sum::memory_reason(on_host)};
  fused.seconds = costs.start + (question.witness ? 2 : 1) * bits * static_cast<double>(n) * costs.per_bit +
                  on_host * costs.per_byte_fetched;
  // cuda.slices enumerates few items.
  SubsetSumWay slices{.rung = "cuda.slices", .seconds = costs.start, .bytes = bits / 8};
  if (!question.exact()) slices.seconds += bits / 8 * costs.per_byte_fetched;
  if (n > impl::subset_sum::kSlicesItems) slices.reason = impl::subset_sum::too_many(n, impl::subset_sum::kSlicesItems);
  SubsetSumWay lists{.rung = "cuda.two_list", .bytes = std::ldexp(24.0, static_cast<int>((n + 1) / 2))};
  lists.seconds = 10 * costs.start + costs.per_listed * std::ldexp(1.0, static_cast<int>((n + 1) / 2));
  if (n > impl::subset_sum::kTwoListItems)
    lists.reason = impl::subset_sum::too_many(n, impl::subset_sum::kTwoListItems);
  if (!question.exact()) lists.reason = impl::subset_sum::kOneSum;
  return {fits(fused), fits(slices), fits(lists)};
}

impl::subset_sum::Solver solver_on(gpu::Policy policy) {
  policy.workspace = nullptr;  // the memory that a search needs is known only step by step
  const auto ways = [=](const Question& question) { return ways_on_device(question, policy.device); };
  return {.rung = policy.rung,
          .require = [=](SubsetSumCall call) { (void)gpu::CallOnDevice(policy, call, &subset_sum_rung); },
          .run =
              [=](SubsetSumCall& call, std::string_view by) {
                if (by.starts_with("cuda.")) {
                  run_and_wait(policy.with_rung(by), call);
                } else {
                  impl::subset_sum::run_on_cpu(Policy{.rung = by}, call);
                }
              },
          .ways = ways,
          // The rest is mostly small: it runs wherever it is fastest.
          .ways_left =
              [=](const Question& question) {
                std::vector<SubsetSumWay> all = impl::subset_sum::ways_for(question);
                for (auto& way : ways(question)) all.push_back(std::move(way));
                return all;
              }};
}

}  // namespace

std::string_view detail::run_reachable_sums(const gpu::Policy& asked, SubsetSumCall& call) {
  impl::subset_sum::require_fill(call);
  const gpu::Policy policy = filling(asked, call);
  gpu::CallOnDevice on_device(policy, call, &subset_sum_rung);
  gpu::require_device_memory(call.sums, policy.device, "sums");
  require_device_fits(on_device.rung().id, call, policy.device);
  on_device.allocate();
  on_device.run();
  return on_device.rung().id;
}

gpu::WorkspaceSize detail::reachable_sums_workspace(const gpu::Policy& asked, const SubsetSumCall& call) {
  SubsetSumCall there = call;
  const gpu::CallOnDevice on_device(filling(asked, call), there, &subset_sum_rung);
  require_device_fits(on_device.rung().id, there, asked.device);
  return on_device.workspace();
}

SubsetSum detail::solve_subset_sum(const gpu::Policy& policy, const std::int64_t* items, std::int64_t n,
                                   std::int64_t target, const SubsetSumOptions& options) {
  const gpu::CurrentDevice current(policy.device);
  return impl::subset_sum::solve(solver_on(policy), items, n, target, options);
}

SubsetSumPlan detail::plan_subset_sum(const gpu::Policy& policy, const std::int64_t* items, std::int64_t n,
                                      std::int64_t target, const SubsetSumOptions& options) {
  const gpu::CurrentDevice current(policy.device);
  return impl::subset_sum::plan_of(solver_on(policy), items, n, target, options);
}

}  // namespace upsweep
