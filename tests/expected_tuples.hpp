// SPDX-License-Identifier: Apache-2.0
// tests/expected_tuples.hpp: the reference's combinations and cartesian products of lists, for the tests of every
// backend.
#pragma once

#include <cstdint>
#include <vector>

#include "problems/lists/combinations/reference.hpp"

namespace upsweep::tests {

using Positions = std::vector<std::int64_t>;
using Kind = impl::combinations::ExpectedTuples::Kind;

/// The expected result: position d of all tuples, and their offsets.
struct Expected {
  Kind kind;
  std::int64_t n;
  Positions offsets{0};
  std::vector<Positions> out;

  Expected(Kind of, std::int64_t positions) : kind(of), n(positions), out(static_cast<std::size_t>(positions)) {}

  void add(const Positions& starts, const Positions& stops) {
    impl::combinations::ExpectedTuples tuples(kind, n);
    if (tuples.first(starts, stops)) {
      do {
        for (std::size_t d = 0; d < out.size(); ++d) out[d].push_back(tuples.tuple()[d]);
      } while (tuples.next());
    }
    offsets.push_back(std::ssize(out[0]));
  }
  void add(std::int64_t start, std::int64_t stop) {
    const auto positions = static_cast<std::size_t>(n);
    add(Positions(positions, start), Positions(positions, stop));
  }
  [[nodiscard]] std::int64_t total() const { return offsets.back(); }
};

inline Kind kind_of(bool replacement) { return replacement ? Kind::with_replacement : Kind::without_replacement; }

inline Expected expected_of(const Positions& lists, std::int64_t n, bool replacement) {
  Expected expected(kind_of(replacement), n);
  for (std::size_t i = 1; i < lists.size(); ++i) expected.add(lists[i - 1], lists[i]);
  return expected;
}

}  // namespace upsweep::tests
