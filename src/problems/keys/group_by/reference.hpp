// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/reference.hpp: the answer that every rung is compared with: a map, and the rows of each key
// one after the other.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "upsweep/error.hpp"

namespace upsweep::impl::group_by {

/// The groups of keys, in the order of their first rows.
template <class Key>
struct ExpectedGroups {
  ExpectedGroups(const Key* rows, std::int64_t n) : number(static_cast<std::size_t>(n)) {
    std::unordered_map<Key, std::uint32_t> numbers;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto [at, is_new] = numbers.try_emplace(rows[i], static_cast<std::uint32_t>(keys.size()));
      if (is_new) keys.push_back(rows[i]);
      if (is_new) counts.push_back(0);
      ++counts[at->second];
      number[static_cast<std::size_t>(i)] = at->second;
    }
  }

  std::vector<Key> keys;
  std::vector<std::int64_t> counts;
  std::vector<std::uint32_t> number;  ///< each row's group
};

/// Returns each group's fold, computed in the order of the rows.
template <class Out, class Key, class In, class Op>
std::vector<Out> expected_folds(const ExpectedGroups<Key>& groups, const In* values, Op op) {
  std::vector<Out> folds(groups.keys.size(), Op::template identity<Out>());
  for (std::size_t i = 0; i < groups.number.size(); ++i) {
    Out& fold = folds[groups.number[i]];
    fold = op(fold, static_cast<Out>(values[i]));
  }
  return folds;
}

template <class T>
bool same_bits(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;  // NOLINT(bugprone-suspicious-memory-comparison): the bits are promised
}

/// Returns the first group whose key, fold or count (unless null) is wrong, compared bit by bit, or kNoIndex.
template <class Key, class Out>
std::int64_t first_wrong_group(const ExpectedGroups<Key>& groups, const std::vector<Out>& folds, const Key* keys,
                               const Out* out, const std::int64_t* counts) {
  for (std::size_t g = 0; g < folds.size(); ++g) {
    const bool is_right = keys[g] == groups.keys[g] && same_bits(out[g], folds[g]) &&
                          (counts == nullptr || counts[g] == groups.counts[g]);
    if (!is_right) return static_cast<std::int64_t>(g);
  }
  return kNoIndex;
}

/// The same for float sums, which may differ by the rounding errors of their additions in any order.
template <class Key, class T>
std::int64_t first_far_sum(const ExpectedGroups<Key>& groups, const T* values, const Key* keys, const T* out,
                           const std::int64_t* counts) {
  std::vector<long double> sums(groups.keys.size());
  std::vector<long double> magnitudes(groups.keys.size());
  for (std::size_t i = 0; i < groups.number.size(); ++i) {
    sums[groups.number[i]] += static_cast<long double>(values[i]);
    magnitudes[groups.number[i]] += std::abs(static_cast<long double>(values[i]));
  }
  for (std::size_t g = 0; g < sums.size(); ++g) {
    const long double bound = static_cast<long double>(groups.counts[g]) *
                              static_cast<long double>(std::numeric_limits<T>::epsilon()) * magnitudes[g];
    const bool is_near = std::abs(static_cast<long double>(out[g]) - sums[g]) <= bound;
    if (keys[g] != groups.keys[g] || !is_near || (counts != nullptr && counts[g] != groups.counts[g])) {
      return static_cast<std::int64_t>(g);
    }
  }
  return kNoIndex;
}

}  // namespace upsweep::impl::group_by
