// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/search.cpp: splits a target between two halves of the values, until every half is one value.
//
// A rung that works with lists returns how the target is split. A rung that fills bitmaps fills one for each half. A
// sum in the first whose rest to the target is in the second is a split. The two halves take as long as the whole
// would. All further halves together take as long again, because their targets add up to the first target (H. Kellerer,
// U. Pferschy, D. Pisinger, "Knapsack Problems", 2004, section 3.3, where only values are kept and items are found by
// recursion).
#include "problems/subset_sum/search.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <exception>
#include <numeric>
#include <utility>

#include "problems/subset_sum/bitmap.hpp"
#include "problems/subset_sum/ladder.hpp"
#include "system/pages.hpp"

namespace upsweep::impl::subset_sum {
namespace {

/// Returns the bits in reverse order.
Word reversed(Word word) {
  word = __builtin_bswap64(word);
  word = (word >> 4 & 0x0F0F0F0F0F0F0F0FU) | (word & 0x0F0F0F0F0F0F0F0FU) << 4;
  word = (word >> 2 & 0x3333333333333333U) | (word & 0x3333333333333333U) << 2;
  return (word >> 1 & 0x5555555555555555U) | (word & 0x5555555555555555U) << 1;
}

/// Returns bits first … first + 63 of a bitmap of the sums 0 … most; bits outside are 0.
Word window(const Word* sums, std::int64_t most, std::int64_t first) {
  if (first <= -64 || first > most) return 0;
  const std::int64_t word = first >= 0 ? first / 64 : -1;
  const auto shift = static_cast<int>(first - word * 64);
  const Word low = word >= 0 ? sums[word] : 0;
  const Word high = word + 1 < words_of(most) ? sums[word + 1] : 0;
  return shift == 0 ? low : low >> shift | high << (64 - shift);
}

/// Returns the smallest sum on the left whose rest to the target is a sum on the right, or kNoSum.
std::int64_t least_split(const Word* left, std::int64_t left_most, const Word* right, std::int64_t right_most,
                         std::int64_t target) {
  for (std::int64_t w = std::max<std::int64_t>(target - right_most, 0) / 64; w < words_of(left_most); ++w) {
    if (left[w] == 0) continue;
    // Bit b is sum 64w + b; its rest target - 64w - b is bit 63 - b of the window that ends at target - 64w.
    const Word both = left[w] & reversed(window(right, right_most, target - 64 * w - 63));
    if (both != 0) return 64 * w + std::countr_zero(both);
  }
  return kNoSum;
}

/// Some values with their positions in the whole instance.
struct Values {
  std::vector<std::int64_t> values;
  std::vector<std::size_t> places;

  [[nodiscard]] Values share(std::size_t first, std::size_t last) const {
    const auto at = [](const auto& all, std::size_t i) { return all.begin() + static_cast<std::ptrdiff_t>(i); };
    return {{at(values, first), at(values, last)}, {at(places, first), at(places, last)}};
  }
};

/// A bitmap of the sums 0 … most.
struct Bitmap {
  std::int64_t most;
  cpu::Pages<Word> bits;
};

/// A guess: some values are taken, and some stay open to make up the rest.
struct Likely {
  Values open;
  std::vector<std::size_t> taken;
  std::int64_t rest = 0;
  std::int64_t half = 0;  ///< half of the sum of the open values
};

/// Runs a rung and reports the progress. Rungs do not throw: an exception of the progress is kept until the rung
/// returns.
void run_reporting(const Search& search, detail::SubsetSumCall& call, std::string_view rung, ProgressRange range) {
  std::exception_ptr thrown;
  const detail::SearchProgress progress = [&](double done) {
    try {
      return search.progress(range.between(0, done).end);
    } catch (...) {
      thrown = std::current_exception();
      return false;
    }
  };
  call.progress = search.progress ? &progress : nullptr;
  try {
    search.solver.run(call, rung);
  } catch (const Error&) {
    if (thrown) std::rethrow_exception(thrown);
    throw;
  }
  call.progress = nullptr;
}

detail::SubsetSumCall decide(const Search& search, const std::vector<std::int64_t>& values, std::int64_t target,
                             std::string_view rung, ProgressRange range) {
  detail::SubsetSumCall call{.items = values.data(), .n = std::ssize(values), .target = target};
  run_reporting(search, call, rung, range);
  return call;
}

SubsetSumWay choose_way(const Search& search, const std::vector<std::int64_t>& values, std::int64_t target) {
  return choose(search.solver.ways_left({.values = values, .target = target, .witness = true}));
}

/// Fills a bitmap of the values' sums up to the target, or up to the sum of all values.
Bitmap fill(const Search& search, const std::int64_t* values, std::int64_t n, std::int64_t target,
            std::string_view rung, ProgressRange range) {
  std::int64_t most = 0;
  for (std::int64_t i = 0; i < n; ++i) most += std::min(target - most, values[i]);
  Bitmap sums{most, cpu::Pages<Word>(words_of(most))};
  detail::SubsetSumCall call{.items = values, .n = n, .target = most, .sums = sums.bits.data()};
  run_reporting(search, call, rung, range);
  return sums;
}

/// Returns how much of the target the first left_count values make up.
std::int64_t split(const Search& search, const Values& values, std::int64_t target, ProgressRange range,
                   std::size_t& left_count) {
  const std::string_view rung = choose_way(search, values.values, target).rung;
  if (tells_sides(rung)) {
    const detail::SubsetSumCall call = decide(search, values.values, target, rung, range);
    left_count = static_cast<std::size_t>(call.left_items);
    return call.left_sum;
  }
  left_count = values.values.size() / 2;
  const std::int64_t* const items = values.values.data();
  const auto left = static_cast<std::int64_t>(left_count);
  const Bitmap lower = fill(search, items, left, target, rung, range.between(0, 0.5));
  const Bitmap upper =
      fill(search, items + left, std::ssize(values.values) - left, target, rung, range.between(0.5, 1));
  return least_split(lower.bits.data(), lower.most, upper.bits.data(), upper.most, target);
}

/// Toggles chosen[] for some values that add up to the target; they must exist.
void toggle(const Search& search, Values values, std::int64_t target, ProgressRange range, std::vector<bool>& chosen) {
  // Values above the target are left out. If the values to leave out add up to less than the target, they are searched.
  for (;;) {
    if (target == 0) return;
    std::size_t kept = 0;
    std::int64_t total = 0;
    for (std::size_t i = 0; i < values.values.size(); ++i) {
      if (values.values[i] > target) continue;
      total += values.values[i];
      values.values[kept] = values.values[i];
      values.places[kept++] = values.places[i];
    }
    values.values.resize(kept);
    values.places.resize(kept);
    if (total - target >= target) break;
    for (const std::size_t place : values.places) chosen[place] = !chosen[place];
    target = total - target;
  }
  if (values.values.size() == 1) {
    chosen[values.places[0]] = !chosen[values.places[0]];
    return;
  }
  std::size_t left_count = 0;
  const std::int64_t left_sum = split(search, values, target, range.between(0, 0.5), left_count);
  toggle(search, values.share(0, left_count), left_sum, range.between(0.5, 0.75), chosen);
  toggle(search, values.share(left_count, values.values.size()), target - left_sum, range.between(0.75, 1), chosen);
}

/// Returns how much of the target the values of a checkpoint make up: the rest that later values do not.
std::int64_t sum_before(const Search& search, const Checkpoint& before, const std::vector<std::int64_t>& later,
                        std::int64_t target, ProgressRange range) {
  const std::int64_t most = std::min(before.most, target);
  if (most == target && has(before.sums.data(), target)) return target;
  const Bitmap sums = fill(search, later.data(), std::ssize(later), target, "cpu.bits_simd", range);
  return least_split(before.sums.data(), most, sums.bits.data(), sums.most, target);
}

void find(const Search& search, const Values& all, const detail::SubsetSumCall& decided, ProgressRange range,
          std::vector<bool>& chosen) {
  const auto n = std::ssize(all.values);
  if (decided.left_items >= 0) {
    const auto left = static_cast<std::size_t>(decided.left_items);
    toggle(search, all.share(0, left), decided.left_sum, range.between(0, 0.5), chosen);
    toggle(search, all.share(left, all.values.size()), decided.sum - decided.left_sum, range.between(0.5, 1), chosen);
    return;
  }
  if (decided.checkpoints == nullptr) return toggle(search, all, decided.sum, range, chosen);
  // Returns the values from number `first` to before `last` in the order in which they were added to the bitmap.
  const auto added = [&](std::int64_t first, std::int64_t last) {
    const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
    return decided.early_stop ? all.share(at(n - last), at(n - first)) : all.share(at(first), at(last));
  };
  std::int64_t last = decided.used < 0 ? n : decided.used;
  std::int64_t rest = decided.sum;
  std::vector<Checkpoint>& kept = decided.checkpoints->kept;
  const double step = 1.0 / static_cast<double>(kept.size() + 1);
  for (double done = 0; !kept.empty(); done += step) {
    const Checkpoint before = std::move(kept.back());
    kept.pop_back();
    if (before.items >= last) continue;
    Values later = added(before.items, last);
    const std::int64_t sum = sum_before(search, before, later.values, rest, range.between(done, done + step / 2));
    toggle(search, std::move(later), rest - sum, range.between(done + step / 2, done + step), chosen);
    last = before.items;
    rest = sum;
  }
  toggle(search, added(0, last), rest, range.between(1 - step, 1), chosen);
}

/// Makes a guess: `count` values, evenly spread over all, stay open. The largest other values are taken until the rest
/// is about half of the sum of the open values. Most subsets of the open values have sums near that.
Likely likely(const std::vector<std::int64_t>& values, std::int64_t target, std::int64_t count) {
  const auto n = static_cast<std::int64_t>(values.size());
  Likely guess;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto place = static_cast<std::size_t>(i * n / count);
    guess.open.values.push_back(values[place]);
    guess.open.places.push_back(place);
  }
  guess.half = std::accumulate(guess.open.values.begin(), guess.open.values.end(), std::int64_t{0}) / 2;
  guess.rest = target;
  auto next_open = guess.open.places.rbegin();
  for (std::size_t i = values.size(); i-- > 0;) {
    if (next_open != guess.open.places.rend() && *next_open == i) {
      ++next_open;
    } else if (guess.rest - values[i] >= guess.half) {
      guess.rest -= values[i];
      guess.taken.push_back(i);
    }
  }
  return guess;
}

}  // namespace

detail::SubsetSumCall call_of(const Instance& instance) {
  return {.items = instance.values.data(),
          .n = std::ssize(instance.values),
          .target = instance.target,
          .below = instance.below,
          .above = instance.above,
          .upper_first = instance.upper_first};
}

detail::SubsetSumCall decide(const Search& search, const Instance& instance, bool early_stop, std::string_view rung,
                             ProgressRange range, Checkpoints& checkpoints, const detail::SharedSearch* shared) {
  detail::SubsetSumCall call = call_of(instance);
  call.early_stop = early_stop;
  call.shared = shared;
  call.checkpoints = &checkpoints;
  run_reporting(search, call, rung, range);
  return call;
}

void find(const Search& search, const std::vector<std::int64_t>& values, const detail::SubsetSumCall& decided,
          ProgressRange range, std::vector<bool>& chosen) {
  std::vector<std::size_t> places(values.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  find(search, {values, std::move(places)}, decided, range, chosen);
}

bool find_likely(const Search& search, const std::vector<std::int64_t>& values, std::int64_t target, double seconds,
                 bool witness, std::vector<bool>& chosen, std::string_view& rung) {
  constexpr double kLikely = 4;  // minimum number of expected solutions
  const auto n = static_cast<std::int64_t>(values.size());
  for (const std::int64_t count : {16, 24, 32, 40, 48}) {
    if (count > n) return false;
    Likely guess = likely(values, target, count);
    const double expected = std::ldexp(1.0, static_cast<int>(count)) / (static_cast<double>(guess.half) + 1);
    if (guess.rest > 2 * guess.half || expected < kLikely) continue;
    const SubsetSumWay way = choose_way(search, guess.open.values, guess.rest);
    if (way.seconds > seconds) return false;
    seconds -= way.seconds;
    const detail::SubsetSumCall decided = decide(search, guess.open.values, guess.rest, way.rung, {0, 0});
    if (!decided.reachable) continue;
    rung = way.rung;
    if (witness) {
      for (const std::size_t place : guess.taken) chosen[place] = true;
      find(search, guess.open, decided, {0, 1}, chosen);
    }
    return true;
  }
  return false;
}

}  // namespace upsweep::impl::subset_sum
