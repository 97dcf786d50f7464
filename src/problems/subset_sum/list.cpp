// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/list.cpp: lists the first few solutions in order: a search that skips choices without a solution.
//
// Each item is first taken, then left out. So solutions are found in the order of subset_sum.hpp. Each step must know
// whether the items after it can add up to the rest of the target. There are two ways to look this up:
// - A bitmap for each item, of the sums of the items after it: n·S bits. Every solution then takes n steps.
// - If bitmaps would be too large, a look-up only in the middle of the items, in the sorted sums of the second half.
// Then up to 2^(n/2)
//   choices of the first half are tried.
#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "cpu/bit_kernels.hpp"
#include "problems/subset_sum/bitmap.hpp"
#include "problems/subset_sum/ladder.hpp"
#include "problems/subset_sum/plan.hpp"
#include "problems/subset_sum/reductions.hpp"
#include "system/memory.hpp"
#include "system/pages.hpp"

namespace upsweep {
namespace {

using detail::SearchProgress;
using impl::subset_sum::Word;
using impl::subset_sum::words_of;

constexpr std::string_view kByBitmaps = "cpu.bits_simd";
constexpr std::string_view kByHalves = "cpu.meet_in_the_middle";

constexpr std::int64_t kMostInHalves = 60;

std::string too_many(std::int64_t n) {
  return "lists solutions of up to " + std::to_string(kMostInHalves) + " items, not " + std::to_string(n);
}

/// Throws unknown_rung, or unsupported for a rung that cannot list the solutions of n items.
void require_way(const Policy& policy, std::int64_t n) {
  if (policy.rung.empty()) return;
  (void)subset_sum_rung({}, policy);
  if (policy.rung == kByBitmaps || (policy.rung == kByHalves && n <= kMostInHalves)) return;
  if (policy.rung == kByHalves) throw Error(Code::unsupported, std::string(kByHalves) + " " + too_many(n));
  throw Error(Code::unsupported, std::string(policy.rung) + ": does not list several solutions; use " +
                                     std::string(kByBitmaps) + " or " + std::string(kByHalves) + " instead");
}

/// The items up to the target in their original order, divided by their gcd.
struct Items {
  std::vector<std::int64_t> values;
  std::vector<std::int64_t> positions;
  std::vector<std::int64_t> rests;  // rests[i]: sum of the items from i on; one more element than there are items
  std::int64_t target;
  bool impossible;
  std::vector<std::string> steps;  // the reductions, as text

  /// Throws Error for an invalid policy or instance.
  Items(const Policy& policy, const std::int64_t* items, std::int64_t n, std::int64_t sum) : target(sum) {
    require_policy(policy);
    const impl::subset_sum::Instance checked(items, n, target, {.reduce = false});
    impossible = checked.impossible;
    steps = checked.steps;
    std::int64_t divisor = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      if (items[i] > target) continue;
      values.push_back(items[i]);
      positions.push_back(i);
      divisor = std::gcd(divisor, items[i]);
    }
    if (divisor > 1) {
      impossible = impossible || target % divisor != 0;
      target /= divisor;
      for (std::int64_t& value : values) value /= divisor;
    }
    rests.assign(values.size() + 1, 0);
    for (std::size_t i = values.size(); i-- > 0;) rests[i] = rests[i + 1] + values[i];
    require_way(policy, count());
  }
  [[nodiscard]] std::int64_t count() const { return std::ssize(values); }
  /// Whether there is nothing to search: no item, or all of them.
  [[nodiscard]] bool is_plain() const { return target == 0 || target == rests[0]; }
};

void report(const SearchProgress& progress, double done) {
  if (progress && !progress(done)) throw Error(Code::interrupted, "the search was interrupted");
}

// The share of the reported work for making bitmaps: the length of the search is not known.
constexpr double kShareOfTables = 0.5;

/// Collects solutions; full once it has the requested number.
class Solutions {
 public:
  /// The reported progress continues from `begin`. Solutions may use the memory that is available now.
  Solutions(const Items& items, std::int64_t count, const SearchProgress& progress, double begin)
      : items_(items),
        count_(count),
        progress_(progress),
        begin_(begin),
        most_bytes_(static_cast<double>(available_memory())) {}

  void take(std::int64_t item) { taken_.push_back(item); }
  std::int64_t put_back() {
    const std::int64_t item = taken_.back();
    taken_.pop_back();
    return item;
  }
  [[nodiscard]] bool any_taken() const { return !taken_.empty(); }
  /// Counts a step. Reports the progress now and then, which may throw interrupted.
  void count_step() {
    constexpr std::int64_t kAskEvery = 1 << 17;  // a millisecond
    if (++steps_ % kAskEvery != 0) return;
    const double share = static_cast<double>(found_.size()) / static_cast<double>(count_);
    report(progress_, begin_ + (1 - begin_) * share);
  }
  void keep() {
    count_step();
    bytes_ += static_cast<double>(kPerSolution + taken_.size() * sizeof(std::int64_t));
    if (bytes_ > most_bytes_) {
      throw Error(Code::out_of_memory,
                  "no memory left after " + std::to_string(found_.size()) + " solutions: ask for fewer");
    }
    auto& solution = found_.emplace_back();
    solution.reserve(taken_.size());
    for (const std::int64_t item : taken_) solution.push_back(items_.positions[static_cast<std::size_t>(item)]);
  }
  [[nodiscard]] bool full() const { return std::ssize(found_) >= count_; }
  [[nodiscard]] std::vector<std::vector<std::int64_t>> found() && { return std::move(found_); }

 private:
  // Bytes: an allocation's overhead, and its vector three times, for the moment when the outer vector grows.
  static constexpr std::size_t kPerSolution = 32 + 3 * sizeof(std::vector<std::int64_t>);
  const Items& items_;
  std::int64_t count_;
  const SearchProgress& progress_;
  double begin_;
  double most_bytes_;
  double bytes_ = 0;
  std::int64_t steps_ = 0;
  std::vector<std::int64_t> taken_;
  std::vector<std::vector<std::int64_t>> found_;
};

// ---------------------------------------------------------------------------------------------- a bitmap for each item

/// Returns the largest sum of the bitmap of the items from i on.
std::int64_t most_from(const Items& items, std::size_t i) { return std::min(items.target, items.rests[i]); }

double bitmap_bytes(const Items& items) {
  double bytes = 0;
  for (std::size_t i = 0; i <= items.values.size(); ++i)
    bytes += static_cast<double>(words_of(most_from(items, i))) * 8;
  return bytes;
}

class Bitmaps {
 public:
  Bitmaps(const Items& items, const Policy& policy, const SearchProgress& progress) : items_(items) {
    const auto& kernels = cpu::bit_kernels(policy.isa);
    const std::size_t n = items.values.size();
    // Bitmaps are stored one after another, with a word before the first that the kernel reads.
    std::int64_t words = 1;
    for (std::size_t i = 0; i <= n; ++i) {
      places_.push_back(words);
      words += words_of(most_from(items, i));
    }
    words_ = cpu::Pages<Word>(words);
    impl::subset_sum::add(sums(n), 0);
    for (std::size_t i = n; i-- > 0;) {
      report(progress, kShareOfTables * static_cast<double>(n - i) / static_cast<double>(n));
      const std::int64_t count = words_of(most_from(items, i));
      const std::int64_t before = words_of(most_from(items, i + 1));
      std::copy_n(sums(i + 1), before, sums(i));
      const std::int64_t whole = items.values[i] / 64;
      const auto shift = static_cast<int>(items.values[i] % 64);
      // There is no sum below the lowest word, whatever the memory there contains.
      sums(i)[whole] |= sums(i + 1)[0] << shift;
      const std::int64_t moved = std::min(before, count - whole);
      kernels.shift_or(sums(i) + whole + 1, sums(i + 1) + 1, moved - 1, shift);
      // The bits that are shifted out of the last word go into the next word, if it is part of the bitmap.
      if (shift != 0 && whole + moved < count) sums(i)[whole + moved] |= sums(i + 1)[moved - 1] >> (64 - shift);
    }
  }

  /// Keeps every solution; there is at least one. The rest is reachable at every step.
  void walk(Solutions& solutions) const {
    std::int64_t rest = items_.target;
    std::size_t i = 0;
    for (;;) {
      for (; rest > 0; ++i) {
        solutions.count_step();
        if (!reaches(i + 1, rest - items_.values[i])) continue;
        solutions.take(static_cast<std::int64_t>(i));
        rest -= items_.values[i];
      }
      solutions.keep();
      // Go back to the last taken item without which the rest is also reachable.
      do {
        if (solutions.full() || !solutions.any_taken()) return;
        solutions.count_step();
        i = static_cast<std::size_t>(solutions.put_back());
        rest += items_.values[i++];
      } while (!reaches(i, rest));
    }
  }
  [[nodiscard]] bool reaches(std::size_t i, std::int64_t rest) const {
    return rest >= 0 && rest <= most_from(items_, i) && impl::subset_sum::has(sums(i), rest);
  }

 private:
  [[nodiscard]] Word* sums(std::size_t i) { return words_.data() + places_[i]; }
  [[nodiscard]] const Word* sums(std::size_t i) const { return words_.data() + places_[i]; }

  const Items& items_;
  std::vector<std::int64_t> places_;  // position of each bitmap
  cpu::Pages<Word> words_;
};

// -------------------------------------------------------------------------------------------------------------- halves

double half_bytes(const Items& items) { return std::ldexp(16.0, static_cast<int>((items.count() + 1) / 2)); }

/// Items first … last - 1. The second half is a list of sums and, to find its items, is itself divided into halves.
class Halves {
 public:
  Halves(const Items& items, std::size_t first, std::size_t last, const SearchProgress& progress)
      : items_(items), first_(first), middle_(first + (last - first) / 2) {
    if (last - first < 2) middle_ = last;
    sums_.push_back(0);
    for (std::size_t i = middle_; i < last; ++i) {
      report(progress, 0);
      std::vector<std::int64_t> moved = sums_;
      for (std::int64_t& sum : moved) sum += items.values[i];
      std::vector<std::int64_t> both(2 * sums_.size());
      std::merge(sums_.begin(), sums_.end(), moved.begin(), moved.end(), both.begin());
      sums_.swap(both);
    }
    if (middle_ < last) second_ = std::make_unique<Halves>(items, middle_, last, progress);
  }

  /// Keeps every solution for the rest. `share` is this call's share of the whole search; 0 if it is not reported.
  void walk(std::int64_t rest, Solutions& solutions, const SearchProgress& progress, double share) {
    done_ = 0;
    walk(first_, rest, solutions, progress, share);
  }

 private:
  void walk(std::size_t i, std::int64_t rest, Solutions& solutions, const SearchProgress& progress, double share) {
    constexpr double kLeastShare = 1.0 / 4096;
    if (rest < 0 || rest > items_.rests[i] || solutions.full()) {
      done_ += share;
      return;
    }
    if (i == middle_) {
      done_ += share;
      if (!std::binary_search(sums_.begin(), sums_.end(), rest)) return;
      if (second_ == nullptr || rest == 0) return solutions.keep();
      return second_->walk(rest, solutions, {}, 0);
    }
    if (share >= kLeastShare) report(progress, done_);
    solutions.take(static_cast<std::int64_t>(i));
    walk(i + 1, rest - items_.values[i], solutions, progress, share / 2);
    solutions.put_back();
    walk(i + 1, rest, solutions, progress, share / 2);
  }

  const Items& items_;
  std::size_t first_;
  std::size_t middle_;
  double done_ = 0;
  std::vector<std::int64_t> sums_;  // of the second half, ascending
  std::unique_ptr<Halves> second_;
};

/// Returns the costs of the two ways to list solutions.
std::vector<SubsetSumWay> ways_to_list(const Policy& policy, const Items& items) {
  constexpr double kPerByte = 0.05e-9;  // of bitmaps
  constexpr double kPerChoice = 100e-9;
  SubsetSumWay bitmaps{.rung = kByBitmaps, .seconds = kPerByte * bitmap_bytes(items), .bytes = bitmap_bytes(items)};
  SubsetSumWay halves{.rung = kByHalves, .bytes = half_bytes(items)};
  halves.seconds = kPerChoice * halves.bytes / 16;
  if (items.count() > kMostInHalves) halves.reason = too_many(items.count());
  if (policy.rung == kByBitmaps) halves.reason = "not requested";
  if (policy.rung == kByHalves) bitmaps.reason = "not requested";
  return impl::subset_sum::with_memory_reasons({bitmaps, halves});
}

/// Returns whether a single search, if it is much faster than the list, finds that there is no solution.
bool has_none(const std::int64_t* items, std::int64_t n, std::int64_t target, double seconds,
              const SearchProgress& progress) {
  constexpr double kMuchSooner = 0.1;
  SubsetSumOptions options{.witness = false};
  const SubsetSumPlan plan = detail::plan_subset_sum(par, items, n, target, options);
  if (plan.rung == "none") return !detail::solve_subset_sum(par, items, n, target, options);
  if (plan.rung.empty() || impl::subset_sum::choose(plan.ways).seconds > kMuchSooner * seconds) return false;
  const SearchProgress hidden = [&](double) { return !progress || progress(0); };
  options.progress = hidden;
  return !detail::solve_subset_sum(par, items, n, target, options);
}

SubsetSums list(const Policy& policy, const std::int64_t* items, std::int64_t n, std::int64_t target,
                std::int64_t count, const SearchProgress& progress) {
  if (count < 1) {
    throw Error(Code::invalid_argument, "the number of solutions must be at least 1, not " + std::to_string(count));
  }
  const Items ours(policy, items, n, target);
  SubsetSums answer{.rung = "none"};
  if (ours.impossible) return answer;
  // walk(solutions) keeps the solutions that it finds.
  const auto found_by = [&](double begin, auto walk) {
    Solutions solutions(ours, count, progress, begin);
    walk(solutions);
    answer.found = std::move(solutions).found();
    return std::move(answer);
  };
  if (ours.is_plain()) {
    return found_by(0, [&](Solutions& solutions) {
      for (std::int64_t i = 0; ours.target > 0 && i < ours.count(); ++i) solutions.take(i);
      solutions.keep();
    });
  }
  const SubsetSumWay way = impl::subset_sum::choose(ways_to_list(policy, ours));
  answer.rung = way.rung;
  if (policy.rung.empty() && has_none(items, n, target, way.seconds, progress)) return answer;
  if (answer.rung == kByBitmaps) {
    const Bitmaps bitmaps(ours, policy, progress);
    return found_by(kShareOfTables, [&](Solutions& solutions) {
      if (bitmaps.reaches(0, ours.target)) bitmaps.walk(solutions);
    });
  }
  Halves halves(ours, 0, ours.values.size(), progress);
  return found_by(0, [&](Solutions& solutions) { halves.walk(ours.target, solutions, progress, 1); });
}

SubsetSumPlan make_plan(const Policy& policy, const std::int64_t* items, std::int64_t n, std::int64_t target) {
  const Items ours(policy, items, n, target);
  SubsetSumPlan plan{.items = ours.count(), .target = ours.target, .rung = "none", .steps = ours.steps};
  for (const std::int64_t value : ours.values) plan.largest = std::max(plan.largest, value);
  if (ours.impossible || ours.is_plain()) return plan;
  plan.ways = ways_to_list(policy, ours);
  plan.rung = impl::subset_sum::any_can(plan.ways) ? impl::subset_sum::choose(plan.ways).rung : policy.rung;
  return plan;
}

}  // namespace

SubsetSums detail::list_subset_sums(const Policy& policy, const std::int64_t* items, std::int64_t n,
                                    std::int64_t target, std::int64_t count, const SearchProgress& progress) {
  return impl::subset_sum::with_memory([&] { return list(policy, items, n, target, count, progress); });
}

SubsetSumPlan detail::plan_subset_list(const Policy& policy, const std::int64_t* items, std::int64_t n,
                                       std::int64_t target) {
  return impl::subset_sum::with_memory([&] { return make_plan(policy, items, n, target); });
}

}  // namespace upsweep
