// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/cpu_schroeppel_shamir.cpp: the two lists of sums block by block, each block made from the sums of
// two quarters.
//
// Idea   Choose some M near 2^(n/4). If the sum of the left half has remainder c modulo M, the sum of the right half
//        has the remainder of S - c. For each c in turn, about 2^(n/4) pairs of sums of the first two quarters have
//        remainder c. These pairs are matched with the pairs of the other two quarters. Each thread processes one c at
//        a time.
// Cost   2^(n/4) sums in each of six lists, which fit in L2 up to n = 60. Work 2^(n/2), depth 2^(n/2)/p.
// Needs  Any CPU; up to 72 items; decides, for one exact target.
// Limit  The work doubles with every two items. Only a smaller target makes it faster: with a bitmap.
// From   R. Schroeppel, A. Shamir 1981, who produce the lists in order with heaps. By remainders instead, in parallel
//        and without heaps: N. Howgrave-Graham, A. Joux, "New generic algorithms for hard knapsacks", 2010.
#include "problems/subset_sum/rung.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <iterator>
#include <memory>
#include <optional>
#include <vector>

#include "cpu/parallel.hpp"
#include "cpu/tuning/subset_sum.hpp"
#include "problems/subset_sum/bitmap.hpp"

namespace upsweep::impl::subset_sum {
namespace {

bool is_prime(Sum value) {
  for (Sum d = 2; d * d <= value; ++d) {
    if (value % d == 0) return false;
  }
  return value > 1;
}

/// Returns a prime, so that sums of items with a common divisor are still spread over its remainders.
Sum modulus_for(Sum least) {
  while (!is_prime(least)) ++least;
  return least;
}

/// All sums of some items, ordered by their remainders.
class Quarter {
 public:
  Quarter(const std::int64_t* items, std::int64_t n, Sum modulus) : first_(modulus + 1) {
    std::vector<Sum> sums{0};
    for (std::int64_t j = 0; j < n; ++j) {
      const std::size_t count = sums.size();
      for (std::size_t i = 0; i < count; ++i) sums.push_back(sums[i] + static_cast<Sum>(items[j]));
    }
    std::sort(sums.begin(), sums.end());
    sums.erase(std::unique(sums.begin(), sums.end()), sums.end());
    size_ = sums.size();
    for (const Sum sum : sums) ++first_[sum % modulus + 1];
    longest_ = *std::max_element(first_.begin(), first_.end());
    for (Sum r = 0; r < modulus; ++r) first_[r + 1] += first_[r];
    sums_.resize(size_ + kAtATime);  // loads may extend past the end
    remainders_.resize(size_);
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    for (const Sum sum : sums) {
      const auto remainder = static_cast<std::uint32_t>(sum % modulus);
      remainders_[next[remainder]] = remainder;
      sums_[next[remainder]++] = sum;
    }
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  /// Number of sums with the most frequent remainder.
  [[nodiscard]] std::uint32_t longest() const { return longest_; }

  /// Writes to `pairs` the sums of one of these and one of `other` that have the remainder. Returns their number.
  std::size_t add_up(const Quarter& other, Sum remainder, std::vector<Sum>& pairs) const {
    const Sum modulus = first_.size() - 1;
    std::size_t count = 0;
    // [guide: pairs]
    for (std::size_t i = 0; i < size_; ++i) {
      const Sum wanted = remainder - remainders_[i] + (remainder < remainders_[i] ? modulus : 0);
      const std::size_t begin = other.first_[wanted];
      const std::size_t found = other.first_[wanted + 1] - begin;
      if (count + found + kAtATime > pairs.size()) pairs.resize(2 * (count + found + kAtATime));
      // Their number, one on average, is unpredictable. So four sums are always computed, and only those that exist
      // count.
      for (std::size_t k = 0; k < kAtATime; ++k) pairs[count + k] = sums_[i] + other.sums_[begin + k];
      for (std::size_t k = kAtATime; k < found; ++k) pairs[count + k] = sums_[i] + other.sums_[begin + k];
      count += found;
    }
    // [guide: end]
    return count;
  }

 private:
  static constexpr std::size_t kAtATime = 4;
  std::size_t size_ = 0;
  std::uint32_t longest_ = 0;
  std::vector<std::uint32_t> first_;       // begin of each remainder in sums_
  std::vector<std::uint32_t> remainders_;  // remainder of each sum
  std::vector<Sum> sums_;
};

/// A set that may contain more than was inserted, but never less: a bit per hash value.
class Filter {
 public:
  /// Makes a filter with 32 bits for each of `expected` sums: a thirty-second of the other sums pass.
  explicit Filter(std::size_t expected) : shift_(64 - std::max(static_cast<int>(std::bit_width(32 * expected)), 6)) {
    words_.resize(std::size_t{1} << (58 - shift_));
  }
  void clear() { std::fill(words_.begin(), words_.end(), Word{0}); }
  void put(Sum sum) { words_[hash(sum) / 64] |= Word{1} << (hash(sum) % 64); }
  [[nodiscard]] std::size_t may_hold(Sum sum) const { return words_[hash(sum) / 64] >> (hash(sum) % 64) & 1; }

 private:
  // Fibonacci hashing: the upper bits of the product with 2^64 divided by the golden ratio.
  [[nodiscard]] std::size_t hash(Sum sum) const { return (sum * 0x9E3779B97F4A7C15U) >> shift_; }
  int shift_;
  std::vector<Word> words_;
};

// Minimum number of pairs per thread.
constexpr std::int64_t kLeastShare = cpu::tuning::kSubsetWork.matched_pairs;

constexpr Sum kNoClass = detail::SharedSearch::kNone;

// A shared search can stop early only between two rounds. With this number of rounds, it runs at most an eighth longer
// than necessary, and waits for the slowest process eight times.
constexpr Sum kRounds = 8;

/// The data that every thread reads.
struct Search {
  Sum target;
  Sum modulus;
  Quarter quarter[4];
  Sum step = 1;                      // distance between two classes of this process
  Sum end = 0;                       // end of the classes of this round
  std::atomic<Sum> next{0};          // next class to process
  std::atomic<Sum> found{kNoClass};  // lowest class with a solution
  std::atomic<bool> interrupted{false};

  Search(const detail::SubsetSumCall& call, Sum m)
      : target(static_cast<Sum>(call.target)),
        modulus(m),
        quarter{quarter_of(call, 0, m), quarter_of(call, 1, m), quarter_of(call, 2, m), quarter_of(call, 3, m)} {}

  /// Returns the number of pairs of two quarters, of the larger half.
  [[nodiscard]] std::size_t pairs() const {
    return std::max(quarter[0].size() * quarter[1].size(), quarter[2].size() * quarter[3].size());
  }
  /// Returns whether the remainders are spread so that no class is much larger than the others.
  [[nodiscard]] bool is_even() const {
    // With equally many sums and remainders, the most frequent remainder has about ten sums.
    constexpr std::uint32_t kMost = 64;
    return std::all_of(std::begin(quarter), std::end(quarter), [](const Quarter& q) { return q.longest() <= kMost; });
  }
  static std::int64_t border(std::int64_t n, int which) {
    const std::int64_t half = n / 2;
    return which == 0 ? 0 : which == 1 ? half / 2 : which == 2 ? half : which == 3 ? half + (n - half) / 2 : n;
  }
  static Quarter quarter_of(const detail::SubsetSumCall& call, int which, Sum m) {
    const std::int64_t first = border(call.n, which);
    return {call.items + first, border(call.n, which + 1) - first, m};
  }
};

/// The lists of a class, which a thread reuses.
struct Lists {
  explicit Lists(std::size_t expected) : filter(expected), lefts(expected), rights(expected) {}
  Filter filter;
  std::vector<Sum> lefts;
  std::vector<Sum> rights;
};

/// Returns the smallest left sum of the class that is part of a solution. Almost no sum is. Filters exclude most sums
/// without a branch: first right sums by the left sums, then left sums by the remaining right sums.
std::optional<Sum> least_left(const Search& search, Sum remainder, Lists& lists) {
  const auto& [filter, lefts, rights] = lists;
  const std::size_t left_count = search.quarter[0].add_up(search.quarter[1], remainder, lists.lefts);
  lists.filter.clear();
  for (std::size_t i = 0; i < left_count; ++i) lists.filter.put(lefts[i]);

  const Sum wanted = (search.target % search.modulus + search.modulus - remainder) % search.modulus;
  const std::size_t right_count = search.quarter[2].add_up(search.quarter[3], wanted, lists.rights);
  std::size_t lacking = 0;  // rights ← the rest to the target; a negative rest cannot be a sum
  for (std::size_t i = 0; i < right_count; ++i) {
    const Sum lacks = search.target - rights[i];
    lists.rights[lacking] = lacks;
    lacking += filter.may_hold(lacks);
  }

  lists.filter.clear();
  for (std::size_t i = 0; i < lacking; ++i) lists.filter.put(rights[i]);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < left_count; ++i) {
    const Sum left = lefts[i];
    lists.lefts[kept] = left;
    kept += filter.may_hold(left);
  }
  std::sort(lists.lefts.begin(), lists.lefts.begin() + static_cast<std::ptrdiff_t>(kept));
  std::optional<Sum> least;
  for (std::size_t i = 0; i < lacking; ++i) {
    const bool is_solution =
        std::binary_search(lefts.begin(), lefts.begin() + static_cast<std::ptrdiff_t>(kept), rights[i]);
    if (is_solution && !(least && *least <= rights[i])) least = rights[i];
  }
  return least;
}

Lists lists_for(const Search& search) { return Lists(search.pairs() / search.modulus + 16); }

/// Runs one worker of a round. Classes are taken in order, so that the lowest class with a solution is found with any
/// number of threads.
void take_classes(Search& search, const detail::SubsetSumCall& call, int worker) {
  Lists lists = lists_for(search);
  for (;;) {
    const Sum c = search.next.fetch_add(search.step, std::memory_order_relaxed);
    if (c >= search.end || search.interrupted.load(std::memory_order_relaxed)) return;
    Sum known = search.found.load(std::memory_order_relaxed);
    if (call.early_stop && c > known) return;
    if (worker == 0 && !go_on(call, static_cast<std::int64_t>(c), static_cast<std::int64_t>(search.modulus))) {
      search.interrupted.store(true, std::memory_order_relaxed);
    }
    if (c > known || !least_left(search, c, lists)) continue;
    while (c < known && !search.found.compare_exchange_weak(known, c, std::memory_order_relaxed)) {
    }
  }
}

std::unique_ptr<Search> make_search(const detail::SubsetSumCall& call) {
  // Items may be multiples of a modulus, by chance or by choice: then another modulus is tried.
  constexpr int kTries = 16;
  Sum modulus = modulus_for(Sum{1} << (call.n + 2) / 4);
  auto search = std::make_unique<Search>(call, modulus);
  for (int i = 0; i < kTries && !search->is_even(); ++i) {
    modulus = modulus_for(modulus + modulus / 8 + 1);
    search = std::make_unique<Search>(call, modulus);
  }
  return search;
}

/// Searches the classes begin … end - 1, or every `processes`th class of them, from `process` on.
Status search_classes(Search& search, const detail::SubsetSumCall& call, const Policy& policy, Sum begin, Sum end) {
  const auto process = static_cast<Sum>(call.shared != nullptr ? call.shared->process : 0);
  search.step = static_cast<Sum>(call.shared != nullptr ? call.shared->processes : 1);
  search.next = begin + (process + search.step - begin % search.step) % search.step;
  search.end = end;
  const auto pairs = static_cast<std::int64_t>(search.pairs());
  const int workers = cpu::workers_for(pairs / static_cast<std::int64_t>(search.step), kLeastShare, policy.threads);
  cpu::run_allocating_workers(workers, [&](int worker) { take_classes(search, call, worker); });
  if (search.interrupted) return kInterrupted;
  // If others were faster, the calling thread may have processed few classes. It now reports at least how many are
  // done.
  const Sum done = std::min(search.next.load(), end);
  const bool goes_on = go_on(call, static_cast<std::int64_t>(done), static_cast<std::int64_t>(search.modulus));
  return goes_on ? Status{} : kInterrupted;
}

void write_result(const Search& search, detail::SubsetSumCall& call) {
  call.left_items = Search::border(call.n, 2);
  call.reachable = search.found != kNoClass;
  call.sum = call.target;
  if (!call.reachable) return;
  Lists lists = lists_for(search);
  call.left_sum = static_cast<std::int64_t>(*least_left(search, search.found, lists));
}

Status decide(detail::SubsetSumCall& call, const Policy& policy) {
  const auto search = make_search(call);
  const Status status = search_classes(*search, call, policy, 0, search->modulus);
  if (status.ok()) write_result(*search, call);
  return status;
}

/// Searches with several processes, in rounds. After each round all processes know what was found. A process that fails
/// informs the others.
Status decide_together(detail::SubsetSumCall& call, const Policy& policy) {
  using detail::SharedSearch;
  std::unique_ptr<Search> search;
  Status status = with_memory_for(kNoLists, [&] {
    search = make_search(call);
    return Status{};
  });
  for (Sum round = 0; round < kRounds; ++round) {
    if (status.ok()) {
      status = with_memory_for(kNoLists, [&] {
        const Sum begin = search->modulus * round / kRounds;
        return search_classes(*search, call, policy, begin, search->modulus * (round + 1) / kRounds);
      });
    }
    const auto mine = status.ok() ? static_cast<std::int64_t>(search->found.load()) : SharedSearch::kFailed;
    const std::int64_t least = call.shared->least(mine);
    if (!status.ok()) return status;
    if (least == SharedSearch::kFailed) return kInterrupted;
    search->found = static_cast<Sum>(least);
    if (call.early_stop && search->found != kNoClass) break;
  }
  return with_memory_for(kNoLists, [&] {
    write_result(*search, call);
    return Status{};
  });
}

Status run(detail::SubsetSumCall& call, const Policy& policy) noexcept {
  if (call.shared != nullptr) return decide_together(call, policy);
  return with_memory_for(kNoLists, [&] { return decide(call, policy); });
}

const char* refusal(const detail::SubsetSumCall& call, const Policy&) noexcept {
  return call.n > kMostByResidues ? "computes 2^(n/2) pairs: supports at most 72 items" : one_sum_refusal(call);
}

}  // namespace

extern const Rung cpu_schroeppel_shamir{.info = {.id = "cpu.schroeppel_shamir",
                                                 .idea = "both halves' lists block by block, from quarters",
                                                 .needs = "any CPU; up to 72 items",
                                                 .traffic = "none: its lists fit the cache",
                                                 .cost = "2^(n/2), 2^(n/2)/p",
                                                 .limit = "the work doubles with every two items"},
                                        .refusal = refusal,
                                        .run = run};

}  // namespace upsweep::impl::subset_sum
