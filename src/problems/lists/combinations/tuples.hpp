// SPDX-License-Identifier: Apache-2.0
// problems/lists/combinations/tuples.hpp: counts tuples, and walks the tuples of one list from any tuple on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "cpu/kernels.hpp"
#include "upsweep/error.hpp"

namespace upsweep::impl::combinations {

/// Returns the number of ways to choose n of `elements` elements, or kNoIndex if it exceeds int64.
inline std::int64_t combinations_of(std::int64_t elements, std::int64_t n, bool replacement) {
  if (elements == 0) return 0;  // n >= 1
  std::int64_t size = elements;
  if (replacement && __builtin_add_overflow(elements, n - 1, &size)) return kNoIndex;  // there are at least `size` ways
  if (n > size) return 0;
  cpu::Int128 ways = 1;
  for (std::int64_t j = 1; j <= std::min(n, size - n); ++j) {
    ways = ways * (size - j + 1) / j;  // = C(size, j), which grows with j
    if (ways > std::numeric_limits<std::int64_t>::max()) return kNoIndex;
  }
  return static_cast<std::int64_t>(ways);
}

/// Walks the tuples of one list of each input in lexicographic order. Tuples are digits; the last digit varies fastest.
class Walk {
 public:
  /// Combinations of n elements.
  Walk(std::int64_t n, bool replacement)
      : kind_(replacement ? Kind::with_replacement : Kind::without_replacement),
        digits_(static_cast<std::size_t>(n)),
        lengths_(1) {}
  /// One element of each of n lists.
  explicit Walk(std::int64_t n)
      : kind_(Kind::cartesian), digits_(static_cast<std::size_t>(n)), lengths_(static_cast<std::size_t>(n)) {}

  /// The length of list d (combinations have one list). Set the lengths before start().
  [[nodiscard]] std::int64_t& length(std::int64_t d) { return lengths_[static_cast<std::size_t>(d)]; }
  [[nodiscard]] std::int64_t inputs() const { return std::ssize(lengths_); }

  /// Moves to tuple number `rank`, which must exist.
  void start(std::int64_t rank) {
    for (std::int64_t d = 0; d < n(); ++d) {
      const std::int64_t all = ways(d, least(d));
      std::int64_t low = least(d);
      std::int64_t high = most(d);
      while (low < high) {  // finds the last digit that at most `rank` tuples precede
        const std::int64_t middle = low + (high - low + 1) / 2;
        if (all - ways(d, middle) <= rank) {
          low = middle;
        } else {
          high = middle - 1;
        }
      }
      rank -= all - ways(d, low);
      place(d) = low;
    }
  }

  [[nodiscard]] std::int64_t n() const { return std::ssize(digits_); }
  [[nodiscard]] std::int64_t digit(std::int64_t d) const { return digits_[static_cast<std::size_t>(d)]; }
  /// Number of tuples from this one on that differ only in the last digit, which grows by one.
  [[nodiscard]] std::int64_t run() const { return most(n() - 1) - digit(n() - 1) + 1; }

  /// Advances by `count` tuples of the run. Past the last tuple, the digits are undefined.
  void skip(std::int64_t count) {
    const bool ends = count == run();
    place(n() - 1) += count;
    if (!ends) return;
    std::int64_t d = n() - 2;
    while (d >= 0 && digit(d) == most(d)) --d;
    if (d < 0) return;
    ++place(d);
    for (++d; d < n(); ++d) place(d) = least(d);
  }

 private:
  enum class Kind : std::uint8_t { without_replacement, with_replacement, cartesian };

  std::int64_t& place(std::int64_t d) { return digits_[static_cast<std::size_t>(d)]; }
  [[nodiscard]] std::int64_t length_of(std::int64_t d) const { return lengths_[static_cast<std::size_t>(d)]; }

  [[nodiscard]] std::int64_t least(std::int64_t d) const {
    if (kind_ == Kind::cartesian || d == 0) return 0;
    return digit(d - 1) + (kind_ == Kind::with_replacement ? 0 : 1);
  }
  [[nodiscard]] std::int64_t most(std::int64_t d) const {
    if (kind_ == Kind::cartesian) return length_of(d) - 1;
    return length_of(0) - (kind_ == Kind::with_replacement ? 1 : n() - d);
  }
  /// Number of tuples of digits d and later whose first digit is `value` or more.
  [[nodiscard]] std::int64_t ways(std::int64_t d, std::int64_t value) const {
    if (kind_ != Kind::cartesian) {
      return combinations_of(length_of(0) - value, n() - d, kind_ == Kind::with_replacement);
    }
    std::int64_t product = length_of(d) - value;
    for (++d; d < n(); ++d) product *= length_of(d);
    return product;
  }

  Kind kind_;
  std::vector<std::int64_t> digits_;
  std::vector<std::int64_t> lengths_;
};

}  // namespace upsweep::impl::combinations
