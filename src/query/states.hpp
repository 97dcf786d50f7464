// SPDX-License-Identifier: Apache-2.0
// query/states.hpp: what aggregates have come to, group after group, in as few bytes as they need.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "query/plan.hpp"
#include "upsweep/table.hpp"

namespace upsweep::query {

/// What an aggregate has come to in a group.
class State {
 public:
  Int128 exact = 0;        ///< the sum, the least or the greatest; of text: an entry of the groups' dictionary
  std::int64_t count = 0;  ///< rows that went in

  /// How many times 2^128 a sum exceeds `exact`; not 0 means that it does not fit.
  [[nodiscard]] std::int64_t high() const { return high_; }
  void set_high(std::int64_t high) { high_ = high; }
  /// Of floats, in place of `exact`.
  [[nodiscard]] double real() const { return std::bit_cast<double>(high_); }
  void set_real(double real) { high_ = std::bit_cast<std::int64_t>(real); }

 private:
  std::int64_t high_ = 0;  ///< of floats the bits of the value
};

/// What aggregates have come to, one group after the other: in half the memory until one comes to more than 64 bits, and in a
/// quarter where all of them are counts.
class States {
 public:
  explicit States(const Plan& plan);

  /// `aggregate`: whose state number i is.
  [[nodiscard]] State get(std::size_t i, std::size_t aggregate) const {
    if (is_wide_) return wide_[i];
    State state;
    if (are_counts_) {
      state.count = counts_[i];
    } else if (are_real_[aggregate] != 0) {
      state.count = narrow_[i].count;
      state.set_real(std::bit_cast<double>(narrow_[i].word));
    } else {
      state.count = narrow_[i].count;
      state.exact = narrow_[i].word;
    }
    return state;
  }
  /// By several threads at a time where these are wide or it fits.
  void set(std::size_t i, std::size_t aggregate, const State& state) {
    if (are_counts_) {
      counts_[i] = state.count;
      return;
    }
    if (!is_wide_ && are_real_[aggregate] == 0 && !(state.high() == 0 && fits(state.exact))) widen();
    if (is_wide_) {
      wide_[i] = state;
    } else {
      narrow_[i] = {are_real_[aggregate] != 0 ? std::bit_cast<std::int64_t>(state.real())
                                              : static_cast<std::int64_t>(state.exact),
                    state.count};
    }
  }
  [[nodiscard]] std::int64_t& count(std::size_t i) {
    return are_counts_ ? counts_[i] : is_wide_ ? wide_[i].count : narrow_[i].count;
  }
  /// Adds to a sum, which wraps around as State::high() says: whether it fits is asked when it is given out, as what comes later
  /// may bring it back, and an average always fits.
  void add_exact(std::size_t i, Int128 value) {
    if (!is_wide_) {
      std::int64_t sum = 0;
      if (fits(value) && !__builtin_add_overflow(narrow_[i].word, static_cast<std::int64_t>(value), &sum)) {
        narrow_[i].word = sum;
        return;
      }
      widen();
    }
    State& sum = wide_[i];
    if (__builtin_add_overflow(sum.exact, value, &sum.exact)) sum.set_high(sum.high() + (value < 0 ? -1 : 1));
  }
  /// As State::high() has it.
  void add_high(std::size_t i, std::int64_t high) {
    if (high == 0) return;
    if (!is_wide_) widen();
    wide_[i].set_high(wide_[i].high() + high);
  }
  /// Counts a row for each of a group's aggregates, the first of which is number `first`, and adds to those of `sums` a value each.
  void add_row(std::size_t first, std::span<const std::size_t> sums, const std::uint64_t* values) {
    const std::size_t width = are_real_.size();
    if (is_wide_ || are_counts_) {
      for (std::size_t a = 0; a < width; ++a) ++count(first + a);
      return add_all(first, sums, values);
    }
    Narrow* const row = narrow_.data() + first;
    for (std::size_t a = 0; a < width; ++a) ++row[a].count;
    for (; !sums.empty(); sums = sums.subspan(1), ++values) {
      Narrow& state = row[sums[0]];
      std::int64_t sum = 0;
      if (are_real_[sums[0]] != 0) {
        sum = std::bit_cast<std::int64_t>(std::bit_cast<double>(state.word) + std::bit_cast<double>(*values));
      } else if (__builtin_add_overflow(state.word, static_cast<std::int64_t>(*values), &sum)) {
        return add_all(first, sums, values);
      }
      state.word = sum;
    }
  }
  void add_real(std::size_t i, double value) {
    if (is_wide_) return wide_[i].set_real(wide_[i].real() + value);
    narrow_[i].word = std::bit_cast<std::int64_t>(std::bit_cast<double>(narrow_[i].word) + value);
  }
  void ask_for(std::size_t i) const {
    if (are_counts_) {
      __builtin_prefetch(counts_.data() + i, 1);
    } else if (is_wide_) {
      __builtin_prefetch(wide_.data() + i, 1);
    } else {
      __builtin_prefetch(narrow_.data() + i, 1);
    }
  }

  [[nodiscard]] bool are_wide() const { return is_wide_; }
  void widen();
  [[nodiscard]] std::size_t size() const {
    return are_counts_ ? counts_.size() : is_wide_ ? wide_.size() : narrow_.size();
  }
  [[nodiscard]] std::int64_t bytes() const {
    return static_cast<std::int64_t>(counts_.capacity() * sizeof(std::int64_t) + narrow_.capacity() * sizeof(Narrow) +
                                     wide_.capacity() * sizeof(State));
  }
  void clear() {
    resize(0);
    is_wide_ = false;
  }
  /// Those that are new are of no row.
  void resize(std::size_t size) {
    if (are_counts_) {
      counts_.resize(size);
    } else if (is_wide_) {
      wide_.resize(size);
    } else {
      narrow_.resize(size);
    }
  }
  void push_back() {
    if (are_counts_) {
      counts_.push_back(0);
    } else if (is_wide_) {
      wide_.emplace_back();
    } else {
      narrow_.emplace_back();
    }
  }

 private:
  struct Narrow {
    std::int64_t word = 0;  ///< State::exact, or the bits of State::real()
    std::int64_t count = 0;
  };

  static bool fits(Int128 value) { return value == static_cast<std::int64_t>(value); }
  void add_all(std::size_t first, std::span<const std::size_t> sums, const std::uint64_t* values) {
    for (const std::size_t a : sums) {
      if (are_real_[a] != 0) {
        add_real(first + a, std::bit_cast<double>(*values++));
      } else {
        add_exact(first + a, static_cast<std::int64_t>(*values++));
      }
    }
  }

  std::vector<std::uint8_t> are_real_;  ///< by aggregate
  bool are_counts_;
  bool is_wide_ = false;
  std::vector<std::int64_t> counts_;
  std::vector<Narrow> narrow_;
  std::vector<State> wide_;
};

}  // namespace upsweep::query
