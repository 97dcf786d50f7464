// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/cpu_enumerate.cpp: computes all 2^n sums one after the other: for few items and any target.
//
// Idea   The sums of the first half of the items (up to ten) are a list. Every subset sum of the other items is added
//        to the whole list.
// Cost   8 KB of memory and, to fill, the bitmap. Work 2^n, depth 2^n.
// Needs  Any CPU; up to 30 items.
// Limit  The work doubles with each item. cpu.meet_in_the_middle handles twice the number of items with the same work.
// From   The verification in "Notes on GPU Programming with Julia" (E. Aubanel 2021): the power set.
#include "problems/subset_sum/rung.hpp"

#include <array>
#include <bit>

#include "problems/subset_sum/bitmap.hpp"

namespace upsweep::impl::subset_sum {
namespace {

constexpr std::int64_t kMostInList = 10;  // 1024 sums, 8 KB: a sixth of L1

/// A list of all sums of the first items, and an enumeration of the sums of the others.
class PowerSet {
 public:
  PowerSet(const std::int64_t* items, std::int64_t n)
      : left_(std::min((n + 1) / 2, kMostInList)), others_(items + left_), other_count_(n - left_) {
    for (std::int64_t j = 0; j < left_; ++j) {
      const auto item = static_cast<Sum>(items[j]);
      for (std::size_t i = 0; i < count_; ++i) list_[count_ + i] = list_[i] + item;
      count_ *= 2;
    }
  }
  [[nodiscard]] std::int64_t left_items() const { return left_; }
  [[nodiscard]] std::uint64_t bases() const { return std::uint64_t{1} << other_count_; }

  /// Calls visit(subset, base, list, count) for every sum of the other items. If it returns false, stops and returns
  /// false. Subset k + 1 differs from subset k by the items of the bits that change: two on average.
  template <class Visit>
  bool for_each_base(Visit visit) const {
    // [guide: subsets]
    Sum base = 0;
    for (std::uint64_t k = 0;; ++k) {
      if (!visit(k, base, list_.data(), count_)) return false;
      if (k + 1 == bases()) return true;
      const int low = std::countr_one(k);  // these items are removed, and the next one is added
      for (int j = 0; j < low; ++j) base -= static_cast<Sum>(others_[j]);
      base += static_cast<Sum>(others_[low]);
    }
    // [guide: end]
  }

 private:
  std::int64_t left_;
  const std::int64_t* others_;
  std::int64_t other_count_;
  std::size_t count_ = 1;
  std::array<Sum, std::size_t{1} << kMostInList> list_{};
};

// Number of lists between two reports of the progress: 10 ms.
constexpr std::uint64_t kAskEvery = 1 << 14;

bool asks(std::uint64_t k) { return k % kAskEvery == kAskEvery - 1; }

Status fill(const detail::SubsetSumCall& call) {
  // Items larger than the target are left out: their sums might not even fit 64 bits.
  std::array<std::int64_t, kMostEnumerated> items{};
  const auto* const last = std::copy_if(call.items, call.items + call.n, items.begin(),
                                        [&](std::int64_t item) { return item <= call.target; });
  const PowerSet sets(items.data(), last - items.begin());
  const auto target = static_cast<Sum>(call.target);
  std::fill_n(call.sums, words_of(call.target), Word{0});
  const bool done = sets.for_each_base([&](std::uint64_t k, Sum base, const Sum* list, std::size_t count) {
    for (std::size_t i = 0; i < count && base <= target; ++i) {
      if (list[i] <= target - base) add(call.sums, static_cast<std::int64_t>(base + list[i]));
    }
    return !asks(k) || go_on(call, static_cast<std::int64_t>(k), static_cast<std::int64_t>(sets.bases()));
  });
  return done ? Status{} : kInterrupted;
}

Status decide(detail::SubsetSumCall& call) {
  const PowerSet sets(call.items, call.n);
  const Sum least = static_cast<Sum>(call.target) - static_cast<Sum>(call.below);
  const Sum width = static_cast<Sum>(call.below) + static_cast<Sum>(call.above);
  Nearest nearest(call);
  bool interrupted = false;
  sets.for_each_base([&](std::uint64_t k, Sum base, const Sum* list, std::size_t count) {
    // One subtraction and comparison per sum, which the compiler vectorizes: few lists contain an accepted sum.
    const Sum offset = base - least;
    unsigned any = 0;
    for (std::size_t i = 0; i < count; ++i) any |= list[i] + offset <= width ? 1U : 0U;
    for (std::size_t i = 0; any != 0 && i < count; ++i) nearest.meet(base + list[i], list[i]);
    interrupted = asks(k) && !go_on(call, static_cast<std::int64_t>(k), static_cast<std::int64_t>(sets.bases()));
    return !interrupted && !(call.early_stop && nearest.exact());
  });
  if (interrupted) return kInterrupted;
  nearest.write_to(call, sets.left_items());
  return {};
}

Status run(detail::SubsetSumCall& call, const Policy&) noexcept {
  return call.sums != nullptr ? fill(call) : decide(call);
}

const char* refusal(const detail::SubsetSumCall& call, const Policy&) noexcept {
  return call.n > kMostEnumerated ? "computes a sum per subset: supports at most 30 items" : nullptr;
}

}  // namespace

extern const Rung cpu_enumerate{.info = {.id = "cpu.enumerate",
                                         .idea = "the sum of every subset",
                                         .needs = "any CPU; up to 30 items",
                                         .traffic = "the bitmap, if one is filled",
                                         .cost = "2^n, 2^n",
                                         .limit = "the work doubles with each item",
                                         .threads = Threads::one},
                                .refusal = refusal,
                                .run = run};

}  // namespace upsweep::impl::subset_sum
