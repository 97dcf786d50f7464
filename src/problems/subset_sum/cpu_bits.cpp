// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/cpu_bits.cpp: a bit per sum: the bitmap is ORed with itself, shifted by the item.
//
// Idea   The sums with an item are the sums without it, shifted by its value: sums |= sums << item, 64 of them per
//        step. The loop works in place from the top word down, because it reads only words below the word that it
//        writes.
// Cost   S/8 bytes of memory; per item S/8 written, 2·S/8 read. Work n·S/64, depth n·S/64.
// Needs  Any CPU.
// Limit  One core, one word per step, and the whole bitmap from memory for every item. Next: cpu.bits_simd.
// From   std::bitset in programming contests; the note in "Notes on GPU Programming with Julia" (E. Aubanel 2021) that
//        its bytes trade space for speed.
#include "problems/subset_sum/bitmap.hpp"
#include "problems/subset_sum/rung.hpp"

namespace upsweep::impl::subset_sum {
namespace {

// [guide: shift]
void shift_or(Word* sums, std::int64_t words, std::int64_t item) {
  const std::int64_t whole = item / 64;
  const auto shift = static_cast<int>(item % 64);
  for (std::int64_t i = words - 1; i >= whole; --i) {
    Word moved = sums[i - whole] << shift;
    if (shift != 0 && i > whole) moved |= sums[i - whole - 1] >> (64 - shift);
    sums[i] |= moved;
  }
}
// [guide: end]

Status run(detail::SubsetSumCall& call, const Policy&) noexcept {
  return fill_or_decide(call, [](detail::SubsetSumCall& fill) -> Status {
    const std::int64_t words = words_of(fill.target);
    std::fill_n(fill.sums, words, Word{0});
    add(fill.sums, 0);
    for (std::int64_t j = 0; j < fill.n; ++j) {
      if (!go_on(fill, j, fill.n)) return kInterrupted;
      shift_or(fill.sums, words, fill.items[j]);
    }
    clear_past(fill.sums, fill.target);
    return {};
  });
}

}  // namespace

extern const Rung cpu_bits{.info = {.id = "cpu.bits",
                                    .idea = "a bit per sum, shifted and ORed",
                                    .needs = "any CPU",
                                    .traffic = kBitTraffic,
                                    .cost = "n·S/64, n·S/64",
                                    .limit = "one core, 64 sums per step, the bitmap from memory per item",
                                    .threads = Threads::one},
                           .run = run};

}  // namespace upsweep::impl::subset_sum
