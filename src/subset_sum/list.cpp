// SPDX-License-Identifier: Apache-2.0
// subset_sum/list.cpp: the first few solutions in order: a walk through the choices that knows where no solution is.
//
// With item after item taken first and left out then, solutions come in the order of subset_sum.hpp. What is asked at each
// step, whether the items still to come can add up to the rest, is looked up: in a bitmap for each item, of the sums of
// those behind it (n·S bits, and every solution then takes n steps); or, where those would be too large, only in the
// middle, in the sorted sums of the second half, so that up to 2^(n/2) choices of the first half are walked through.
#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "core/ladder.hpp"
#include "core/memory.hpp"
#include "cpu/bit_kernels.hpp"
#include "cpu/pages.hpp"
#include "subset_sum/bitmap.hpp"
#include "subset_sum/ladder.hpp"
#include "subset_sum/plan.hpp"
#include "subset_sum/reductions.hpp"
#include "subset_sum/run.hpp"

namespace upsweep {
namespace {

using detail::SearchProgress;
using subset_sum::Word;
using subset_sum::words_of;

constexpr std::string_view kByBitmaps = "cpu.bits_simd";
constexpr std::string_view kByHalves = "cpu.meet_in_the_middle";

/// The items up to the target in their own order, divided by what they have in common.
struct Items {
  std::vector<std::int64_t> values;
  std::vector<std::int64_t> positions;
  std::vector<std::int64_t> rests;  // rests[i]: of the items from i on; one more than there are items
  std::int64_t target;
  bool impossible = false;

  Items(const std::int64_t* items, std::int64_t n, std::int64_t sum) : target(sum) {
    std::int64_t divisor = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      if (items[i] > target) continue;
      values.push_back(items[i]);
      positions.push_back(i);
      divisor = std::gcd(divisor, items[i]);
    }
    if (divisor > 1) {
      impossible = target % divisor != 0;
      target /= divisor;
      for (std::int64_t& value : values) value /= divisor;
    }
    rests.assign(values.size() + 1, 0);
    for (std::size_t i = values.size(); i-- > 0;) rests[i] = rests[i + 1] + values[i];
  }
  [[nodiscard]] std::int64_t count() const { return std::ssize(values); }
};

void tell(const SearchProgress& progress, double done) {
  if (progress && !progress(done)) throw Error(Code::interrupted, "the search was interrupted");
}

/// Where solutions go; full, there may be as many as asked for.
class Solutions {
 public:
  Solutions(const Items& items, std::int64_t count, const SearchProgress& progress)
      : items_(items), count_(count), progress_(progress), most_bytes_(static_cast<double>(available_memory())) {}

  void take(std::int64_t item) { taken_.push_back(item); }
  std::int64_t put_back() {
    const std::int64_t item = taken_.back();
    taken_.pop_back();
    return item;
  }
  [[nodiscard]] bool any_taken() const { return !taken_.empty(); }
  void keep() {
    if (found_.size() % kAskEvery == 0)
      tell(progress_, static_cast<double>(found_.size()) / static_cast<double>(count_));
    bytes_ +=
        static_cast<double>(sizeof(std::vector<std::int64_t>) + taken_.size() * sizeof(std::int64_t) + kPerAllocation);
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
  static constexpr std::size_t kAskEvery = 4096;
  static constexpr std::size_t kPerAllocation = 32;  // bytes
  const Items& items_;
  std::int64_t count_;
  const SearchProgress& progress_;
  double most_bytes_;
  double bytes_ = 0;
  std::vector<std::int64_t> taken_;
  std::vector<std::vector<std::int64_t>> found_;
};

// ------------------------------------------------------------------------------------------------ a bitmap for each item

/// Bits of the bitmap of the items from i on.
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
    // One behind the other, with a word in front that the kernel reads.
    std::int64_t words = 1;
    for (std::size_t i = 0; i <= n; ++i) {
      places_.push_back(words);
      words += words_of(most_from(items, i));
    }
    words_ = cpu::Pages<Word>(words);
    subset_sum::add(sums(n), 0);
    for (std::size_t i = n; i-- > 0;) {
      tell(progress, static_cast<double>(n - i) / static_cast<double>(n));
      const std::int64_t count = words_of(most_from(items, i));
      const std::int64_t before = words_of(most_from(items, i + 1));
      std::copy_n(sums(i + 1), before, sums(i));
      const std::int64_t whole = items.values[i] / 64;
      const auto shift = static_cast<int>(items.values[i] % 64);
      // The lowest word has nothing below it, whatever lies there in memory.
      sums(i)[whole] |= sums(i + 1)[0] << shift;
      const std::int64_t moved = std::min(before, count - whole);
      kernels.shift_or(sums(i) + whole + 1, sums(i + 1) + 1, moved - 1, shift);
      // What the last word loses upward goes into the next one, if that is still of interest.
      if (shift != 0 && whole + moved < count) sums(i)[whole + moved] |= sums(i + 1)[moved - 1] >> (64 - shift);
    }
  }

  /// Keeps every solution; there is one. Whatever is left at any step can be reached.
  void walk(Solutions& solutions) const {
    std::int64_t rest = items_.target;
    std::size_t i = 0;
    for (;;) {
      for (; rest > 0; ++i) {
        if (!reaches(i + 1, rest - items_.values[i])) continue;
        solutions.take(static_cast<std::int64_t>(i));
        rest -= items_.values[i];
      }
      solutions.keep();
      // Back to the last item taken without which the rest can be reached, too.
      do {
        if (solutions.full() || !solutions.any_taken()) return;
        i = static_cast<std::size_t>(solutions.put_back());
        rest += items_.values[i++];
      } while (!reaches(i, rest));
    }
  }
  [[nodiscard]] bool reaches(std::size_t i, std::int64_t rest) const {
    return rest >= 0 && rest <= most_from(items_, i) && subset_sum::has(sums(i), rest);
  }

 private:
  [[nodiscard]] Word* sums(std::size_t i) { return words_.data() + places_[i]; }
  [[nodiscard]] const Word* sums(std::size_t i) const { return words_.data() + places_[i]; }

  const Items& items_;
  std::vector<std::int64_t> places_;  // of each bitmap
  cpu::Pages<Word> words_;
};

// --------------------------------------------------------------------------------------------------------------- halves

double half_bytes(const Items& items) { return std::ldexp(16.0, static_cast<int>((items.count() + 1) / 2)); }

/// Items first … last - 1, the second half of them as a list of sums and, for what is found there, as halves again.
class Halves {
 public:
  Halves(const Items& items, std::size_t first, std::size_t last, const SearchProgress& progress)
      : items_(items), first_(first), middle_(first + (last - first) / 2) {
    if (last - first < 2) middle_ = last;
    sums_.push_back(0);
    for (std::size_t i = middle_; i < last; ++i) {
      tell(progress, 0);
      std::vector<std::int64_t> moved = sums_;
      for (std::int64_t& sum : moved) sum += items.values[i];
      std::vector<std::int64_t> both(2 * sums_.size());
      std::merge(sums_.begin(), sums_.end(), moved.begin(), moved.end(), both.begin());
      sums_.swap(both);
    }
    if (middle_ < last) second_ = std::make_unique<Halves>(items, middle_, last, progress);
  }

  /// Keeps every solution for the rest; `share` is what of the whole walk this is, 0 where nobody needs to know.
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
    if (share >= kLeastShare) tell(progress, done_);
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

/// Throws unknown_rung and unsupported for a rung that lists nothing.
void require_way(const Policy& policy) {
  (void)subset_sum_rung({}, policy);
  if (policy.rung == kByBitmaps || policy.rung == kByHalves) return;
  throw Error(Code::unsupported, std::string(policy.rung) + ": several solutions are found by " +
                                     std::string(kByBitmaps) + " and " + std::string(kByHalves) + " only");
}

/// Which of the two, by what they need. Throws out_of_memory.
std::string_view choose_way(const Policy& policy, const Items& items) {
  constexpr std::int64_t kMostInHalves = 60;
  constexpr double kPerByte = 0.05e-9;  // of bitmaps
  constexpr double kPerChoice = 100e-9;
  SubsetSumWay bitmaps{.rung = kByBitmaps, .seconds = kPerByte * bitmap_bytes(items), .bytes = bitmap_bytes(items)};
  SubsetSumWay halves{.rung = kByHalves, .bytes = half_bytes(items)};
  halves.seconds = kPerChoice * halves.bytes / 16;
  if (items.count() > kMostInHalves) halves.reason = "for up to 60 items";
  if (policy.rung == kByBitmaps) halves.reason = "not asked for";
  if (policy.rung == kByHalves) bitmaps.reason = "not asked for";
  return subset_sum::choose(subset_sum::with_memory_reasons({bitmaps, halves})).rung;
}

SubsetSums list(const Policy& policy, const std::int64_t* items, std::int64_t n, std::int64_t target,
                std::int64_t count, const SearchProgress& progress) {
  require_policy(policy);
  if (count < 1)
    throw Error(Code::invalid_argument, "at least 1 solution can be asked for, not " + std::to_string(count));
  const subset_sum::Instance checked(items, n, target, {.reduce = false});
  const Items ours(items, n, target);
  if (!policy.rung.empty()) require_way(policy);
  SubsetSums answer{.rung = "none"};
  if (checked.impossible || ours.impossible) return answer;
  Solutions solutions(ours, count, progress);
  if (ours.target == 0 || ours.target == ours.rests[0]) {
    for (std::int64_t i = 0; ours.target > 0 && i < ours.count(); ++i) solutions.take(i);
    solutions.keep();
    answer.found = std::move(solutions).found();
    return answer;
  }
  answer.rung = choose_way(policy, ours);
  if (answer.rung == kByBitmaps) {
    const Bitmaps bitmaps(ours, policy, progress);
    if (bitmaps.reaches(0, ours.target)) bitmaps.walk(solutions);
  } else {
    Halves halves(ours, 0, ours.values.size(), progress);
    halves.walk(ours.target, solutions, progress, 1);
  }
  answer.found = std::move(solutions).found();
  return answer;
}

}  // namespace

SubsetSums detail::list_subset_sums(const Policy& policy, const std::int64_t* items, std::int64_t n,
                                    std::int64_t target, std::int64_t count, const SearchProgress& progress) {
  return subset_sum::with_memory([&] { return list(policy, items, n, target, count, progress); });
}

}  // namespace upsweep
