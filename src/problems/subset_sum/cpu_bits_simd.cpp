// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/cpu_bits_simd.cpp: the bitmap in vectors, several items per pass, on every core, only where sums
// can be.
//
// Idea   cpu.bits with 512 sums per step. Items follow each other through a block while it is in cache (wavefront.hpp).
//        Only words that can contain a sum are processed: in ascending order, the first few items reach only the lowest
//        words. A call that only decides also skips words from which the target can no longer be reached. It adds large
//        items first and ends once the target is reached. A tile in which every sum is reached is skipped from then on;
//        with many random items, this is soon most of the bitmap. Threads process equal work units of the other tiles.
// Cost   S/8 bytes of memory; S/8 bytes read and written per pass of up to 16 items. Work n·S/512, depth n·S/(512·p).
// Needs  AVX2 or AVX-512; otherwise SSE2.
// Limit  The caches, and the cost proportional to S. For few items and a large S, use lists of sums
//        (cpu.meet_in_the_middle).
// From   The shift-or of bitsets; skewed tiling of loops over time (M. Wolfe 1986, "wavefront").
#include "problems/subset_sum/rung.hpp"

#include <cstring>
#include <numeric>
#include <vector>

#include "cpu/parallel.hpp"
#include "cpu/tuning/subset_sum.hpp"
#include "cpu/work_partition.hpp"
#include "problems/subset_sum/checkpoints.hpp"
#include "problems/subset_sum/wavefront.hpp"

namespace upsweep::impl::subset_sum {
namespace {

/// Calls do_share(first, last) for shares of `words` words, with the number of threads that this work is worth.
template <class DoShare>
void in_shares(std::int64_t words, int threads, DoShare do_share) {
  constexpr std::int64_t kLeastShare = cpu::tuning::kSubsetWork.bitmap_words;
  cpu::for_each_work_unit(words, kLeastShare, threads, [&](cpu::WorkUnit unit) {
    do_share(unit.first, static_cast<std::size_t>(unit.last - unit.first) * sizeof(Word));
  });
}

/// Adds the items in order to the bitmap of 0 … limit. Only the sums from `least` on must be right in the end. `watch`
/// is called after the number of items that it requests, or from time to time, and returns whether the bitmap is
/// enough. Its arguments are the number of items added and their sum (or the limit). Returns the number of items added,
/// or -1 if interrupted.
template <class Watch>
std::int64_t add_items(const detail::SubsetSumCall& call, Word* sums, const std::vector<std::int64_t>& items,
                       std::int64_t least, std::int64_t limit, const Policy& policy, const Watch& watch) {
  const std::int64_t largest = items.empty() ? 0 : std::max(items.front(), items.back());
  // With more threads than cores, threads would wait for each other.
  const int threads = std::min(cpu::worker_count(policy.threads), cpu::hardware_threads());
  Wavefront wavefront(sums, words_of(limit), largest, policy.isa, threads);
  const auto n = static_cast<std::int64_t>(items.size());
  Word total = 0;  // may wrap (modulo 2^64) with very many items: then all sums matter, and least is 0
  for (const std::int64_t item : items) total += static_cast<Word>(item);
  // The first sum that matters if the items to come add up to `rest`.
  const auto from = [&](Word rest) {
    return static_cast<Word>(least) > rest ? least - static_cast<std::int64_t>(rest) : 0;
  };
  const auto sums_between = [&](Word rest, std::int64_t prefix) {
    return static_cast<double>(std::max<std::int64_t>(prefix - from(rest), 0));
  };
  double work = 0;  // number of sums to which items are added
  std::int64_t prefix = 0;
  Word rest = total;
  for (const std::int64_t item : items) {
    prefix = std::min(limit, prefix + item);
    rest -= static_cast<Word>(item);
    work += sums_between(rest, prefix);
  }
  double done = 0;
  prefix = 0;    // sum of the items that are added
  rest = total;  // sum of the items to come
  std::int64_t j = 0;
  const auto next_pass = [&]() -> Wavefront::Pass {
    if (j == n) return {};
    const std::int64_t* const next = items.data() + j;
    const std::int64_t count = wavefront.items_of_pass(next, n - j, words_of(std::min(limit, prefix + next[0])));
    const std::int64_t reached = std::min(limit, std::accumulate(next, next + count, prefix));
    // The first item of the pass is added to all words that the other items read.
    return {next, count, from(rest - static_cast<Word>(next[0])) / 64, words_of(reached)};
  };
  Wavefront::Pass next = next_pass();
  std::vector<Wavefront::Pass> passes;  // passes of one region
  while (j < n && !watch.has_enough(j, prefix)) {
    if (!go_on(call, std::min(done / work, 1.0))) return -1;
    passes.clear();
    do {
      const Wavefront::Pass& pass = passes.emplace_back(next);
      const std::int64_t added = std::accumulate(pass.items, pass.items + pass.count, std::int64_t{0});
      prefix = std::min(limit, prefix + added);
      rest -= static_cast<Word>(added);
      done += sums_between(rest, prefix) * static_cast<double>(pass.count);
      j += pass.count;
      next = next_pass();
    } while (j < n && !watch.is_due(j) && wavefront.goes_with(passes, next));
    wavefront.run(passes);
  }
  return j;
}

struct WatchNothing {
  static bool is_due(std::int64_t) { return false; }
  static bool has_enough(std::int64_t, std::int64_t) { return false; }
};

Status fill(const detail::SubsetSumCall& call, const Policy& policy) {
  const auto items = ascending_items(call, call.target);
  in_shares(words_of(call.target), policy.threads,
            [&](std::int64_t first, std::size_t bytes) { std::memset(call.sums + first, 0, bytes); });
  add(call.sums, 0);
  if (add_items(call, call.sums, items, 0, call.target, policy, WatchNothing{}) < 0) return kInterrupted;
  clear_past(call.sums, call.target);
  return {};
}

Checkpoint copy_of(const Word* sums, std::int64_t items, std::int64_t most, int threads) {
  Checkpoint copy{items, most, cpu::Pages<Word>(words_of(most))};
  in_shares(words_of(most), threads,
            [&](std::int64_t first, std::size_t bytes) { std::memcpy(copy.sums.data() + first, sums + first, bytes); });
  return copy;
}

/// Ends a decision early, and keeps checkpoints.
struct WatchDecision {
  const detail::SubsetSumCall& call;
  const Word* sums;
  std::int64_t n;
  int threads;

  [[nodiscard]] bool copy_is_due(std::int64_t added) const {
    return call.checkpoints != nullptr && call.checkpoints->is_due(added, n);
  }
  [[nodiscard]] bool is_due(std::int64_t added) const { return call.early_stop || copy_is_due(added); }
  [[nodiscard]] bool has_enough(std::int64_t added, std::int64_t prefix) const {
    if (call.early_stop && has(sums, call.target)) return true;
    if (copy_is_due(added)) call.checkpoints->kept.push_back(copy_of(sums, added, prefix, threads));
    return false;
  }
};

Status decide(detail::SubsetSumCall& call, const Policy& policy) {
  const std::int64_t limit = call.target + call.above;
  auto items = ascending_items(call, limit);
  // Large items reach the target after the fewest items. If all items are added, small items first touch fewer words.
  if (call.early_stop) std::reverse(items.begin(), items.end());
  cpu::Pages<Word> sums(words_of(limit));
  add(sums.data(), 0);
  const WatchDecision watch{call, sums.data(), std::ssize(items), policy.threads};
  const std::int64_t added = add_items(call, sums.data(), items, call.target - call.below, limit, policy, watch);
  if (added < 0) return kInterrupted;
  call.used = added;
  read_decision(call, sums.data());
  return {};
}

Status run(detail::SubsetSumCall& call, const Policy& policy) noexcept {
  return with_memory_for(kNoSums, [&] { return call.sums != nullptr ? fill(call, policy) : decide(call, policy); });
}

}  // namespace

extern const Rung cpu_bits_simd{.info = {.id = "cpu.bits_simd",
                                         .idea = "vectors, items in a wavefront, only reachable words",
                                         .needs = "AVX2, AVX-512 or baseline",
                                         .traffic = "2 bits per sum and pass of up to 16 items",
                                         .cost = "n·S/512, n·S/(512·p); less if tiles fill up",
                                         .limit = "the caches, and S"},
                                .refusal = needs_isa,
                                .run = run};

}  // namespace upsweep::impl::subset_sum
