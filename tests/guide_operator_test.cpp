// SPDX-License-Identifier: Apache-2.0
// tests/guide_operator_test.cpp: the examples of docs/guide/operators.md: custom operators on the CPU, and checks of
// them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "upsweep/reduce.hpp"
#include "upsweep/scan.hpp"

namespace {

// [guide: element]
/// The data about a range of numbers that is needed to find the maximum sum of adjacent numbers. It suffices for this
/// range, and for longer ranges that contain it.
struct Stretch {
  std::int64_t sum;   // the sum of the whole range
  std::int64_t head;  // the maximum sum of a range that starts where this range starts
  std::int64_t tail;  // the maximum sum of a range that ends where this range ends
  std::int64_t best;  // the maximum sum of a range within this range
  bool operator==(const Stretch&) const = default;
};

Stretch of(std::int64_t x) { return {x, x, x, x}; }
// [guide: end]

// [guide: operator]
/// Left, then right.
struct Join {
  Stretch operator()(const Stretch& left, const Stretch& right) const {
    return {left.sum + right.sum, std::max(left.head, left.sum + right.head),
            std::max(right.tail, left.tail + right.sum), std::max({left.best, right.best, left.tail + right.head})};
  }
};
// [guide: end]

// [guide: law]
/// Whether the operator is associative on these elements, which every rung assumes.
template <class T, class Op>
bool is_associative(const std::vector<T>& some, Op op) {
  for (const T& a : some) {
    for (const T& b : some) {
      for (const T& c : some) {
        if (!(op(op(a, b), c) == op(a, op(b, c)))) return false;
      }
    }
  }
  return true;
}
// [guide: end]

std::vector<Stretch> stretches(std::size_t n) {
  std::mt19937_64 random(7);
  std::vector<Stretch> made(n);
  for (auto& one : made) one = of(static_cast<std::int64_t>(random() % 201) - 100);
  return made;
}

/// J. Kadane's loop, from left to right.
std::vector<std::int64_t> best_so_far(const std::vector<Stretch>& numbers) {
  std::vector<std::int64_t> best;
  std::int64_t ending_here = 0;
  for (const Stretch& number : numbers) {
    ending_here = best.empty() ? number.sum : std::max(number.sum, ending_here + number.sum);
    best.push_back(best.empty() ? ending_here : std::max(best.back(), ending_here));
  }
  return best;
}

TEST(GuideOperator, JoinIsAssociativeAndTheMeanOfTwoIsNot) {
  const auto numbers = stretches(12);
  std::vector<Stretch> joined = numbers;
  for (std::size_t i = 1; i < joined.size(); ++i) joined[i] = Join{}(joined[i - 1], numbers[i]);
  EXPECT_TRUE(is_associative(joined, Join{}));

  // [guide: not associative]
  const auto mean_of_two = [](double a, double b) { return (a + b) / 2; };
  EXPECT_FALSE(is_associative(std::vector<double>{1, 2, 4}, mean_of_two));
  // [guide: end]
}

TEST(GuideOperator, ScansAndReductionsAreThoseOfTheLoop) {
  for (const std::size_t n : {std::size_t{1}, std::size_t{1000}, std::size_t{2'000'000}}) {
    const auto numbers = stretches(n);
    const auto expected = best_so_far(numbers);

    // [guide: call]
    std::vector<Stretch> prefixes(numbers.size());
    upsweep::inclusive_scan(upsweep::par, numbers, prefixes, Join{});  // prefixes[i].best: within numbers 0 … i

    const Stretch all = upsweep::reduce(upsweep::par, numbers.data() + 1, std::ssize(numbers) - 1, numbers[0], Join{});
    // [guide: end]

    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(prefixes[i].best, expected[i]) << "at " << i << " of " << n;
    EXPECT_EQ(all, prefixes.back());
  }
}

}  // namespace
