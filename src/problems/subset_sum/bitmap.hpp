// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/bitmap.hpp: a bit per sum: what the rungs that fill a bitmap share, and how a decision is read
// from it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "problems/subset_sum/nearest.hpp"
#include "problems/subset_sum/rung.hpp"
#include "system/interruption.hpp"
#include "system/pages.hpp"
#include "upsweep/detail/subset_sum_call.hpp"

namespace upsweep::impl::subset_sum {

using Word = std::uint64_t;
using detail::words_of;

inline bool has(const Word* sums, std::int64_t sum) { return (sums[sum / 64] >> (sum % 64) & 1) != 0; }
inline void add(Word* sums, std::int64_t sum) { sums[sum / 64] |= Word{1} << (sum % 64); }

/// Clears the bits past `target` in its word.
inline void clear_past(Word* sums, std::int64_t target) {
  if (target % 64 != 63) sums[target / 64] &= (Word{1} << (target % 64 + 1)) - 1;
}

inline constexpr std::int64_t kNoSum = -1;

/// Returns the maximum of the sums in least … from, or kNoSum.
inline std::int64_t greatest_up_to(const Word* sums, std::int64_t from, std::int64_t least) {
  for (std::int64_t w = from / 64; w >= least / 64; --w) {
    Word word = sums[w];
    if (w == from / 64 && from % 64 != 63) word &= (Word{1} << (from % 64 + 1)) - 1;
    if (word == 0) continue;
    const std::int64_t sum = w * 64 + 63 - std::countl_zero(word);
    return sum >= least ? sum : kNoSum;
  }
  return kNoSum;
}

/// Returns the minimum of the sums in from … most, or kNoSum.
inline std::int64_t least_from(const Word* sums, std::int64_t from, std::int64_t most) {
  for (std::int64_t w = from / 64; w <= most / 64; ++w) {
    Word word = sums[w];
    if (w == from / 64) word &= ~Word{0} << (from % 64);
    if (word == 0) continue;
    const std::int64_t sum = w * 64 + std::countr_zero(word);
    return sum <= most ? sum : kNoSum;
  }
  return kNoSum;
}

/// Reads from a bitmap of 0 … target + above the sum nearest to the target among those that the call accepts.
inline void read_decision(detail::SubsetSumCall& call, const Word* sums) {
  const std::int64_t under = greatest_up_to(sums, call.target, call.target - call.below);
  const std::int64_t over = under == call.target ? kNoSum : least_from(sums, call.target, call.target + call.above);
  Nearest nearest(call);
  if (under != kNoSum) nearest.meet(static_cast<Sum>(under), 0);
  if (over != kNoSum) nearest.meet(static_cast<Sum>(over), 0);
  nearest.write_to(call, -1);
}

/// Runs `fill(call)`, which fills call.sums for call.target: the caller's bitmap, or a temporary one for a decision.
template <class Fill>
Status fill_or_decide(detail::SubsetSumCall& call, Fill fill) noexcept {
  return with_memory_for(kNoSums, [&] {
    if (call.sums != nullptr) return fill(call);
    detail::SubsetSumCall filling = call;
    filling.target = call.target + call.above;
    cpu::Pages<Word> sums(words_of(filling.target));
    filling.sums = sums.data();
    const Status status = fill(filling);
    if (status.ok()) read_decision(call, sums.data());
    return status;
  });
}

/// Reports the progress. Returns false if the search must stop.
inline bool go_on(const detail::SubsetSumCall& call, double done) {
  return call.progress == nullptr || !*call.progress || (*call.progress)(done);
}
inline bool go_on(const detail::SubsetSumCall& call, std::int64_t done, std::int64_t all) {
  return go_on(call, static_cast<double>(done) / static_cast<double>(all));
}

}  // namespace upsweep::impl::subset_sum
