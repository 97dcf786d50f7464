// SPDX-License-Identifier: Apache-2.0
// problems/lists/combinations/reference.hpp: the reference answer that all rungs of combinations and cartesian products
// are checked against.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "upsweep/error.hpp"

namespace upsweep::impl::combinations {

/// Makes the tuples of one list after another, each from the previous tuple.
class ExpectedTuples {
 public:
  enum class Kind : std::uint8_t { without_replacement, with_replacement, cartesian };

  ExpectedTuples(Kind kind, std::int64_t n) : kind_(kind), tuple_(static_cast<std::size_t>(n)) {}

  /// Moves to the first tuple of a list with `starts` and `stops` for every position. Returns false if there is none.
  bool first(std::vector<std::int64_t> starts, std::vector<std::int64_t> stops) {
    starts_ = std::move(starts);
    stops_ = std::move(stops);
    return fill_from(0);
  }
  /// Moves to the next tuple, if there is one: adds 1 to the last position that can grow, and resets those after it.
  bool next() {
    for (std::size_t d = tuple_.size(); d-- > 0;) {
      const std::vector<std::int64_t> before = tuple_;
      ++tuple_[d];
      if (tuple_[d] < stops_[d] && fill_from(d + 1)) return true;
      tuple_ = before;
    }
    return false;
  }
  [[nodiscard]] const std::vector<std::int64_t>& tuple() const { return tuple_; }

 private:
  bool fill_from(std::size_t d) {
    for (; d < tuple_.size(); ++d) {
      tuple_[d] = starts_[d];
      if (d > 0 && kind_ == Kind::without_replacement) tuple_[d] = tuple_[d - 1] + 1;
      if (d > 0 && kind_ == Kind::with_replacement) tuple_[d] = tuple_[d - 1];
      if (tuple_[d] >= stops_[d]) return false;
    }
    return true;
  }

  Kind kind_;
  std::vector<std::int64_t> tuple_;
  std::vector<std::int64_t> starts_;
  std::vector<std::int64_t> stops_;
};

}  // namespace upsweep::impl::combinations
