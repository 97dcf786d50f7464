// SPDX-License-Identifier: Apache-2.0
// problems/keys/by_key/reference.hpp: the answer that every rung of by-key is compared with: a loop over the keys, and
// the references of lists for the values of each run.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "climb/list_reference.hpp"
#include "upsweep/error.hpp"

namespace upsweep::impl::by_key {

/// Returns whether two keys are equal; NaN equals NaN.
template <class Key>
bool are_equal(Key a, Key b) {
  return a == b || (a != a && b != b);
}

/// Returns where each run of equal keys begins, and n.
template <class Key>
std::vector<std::int64_t> expected_offsets(const Key* keys, std::int64_t n) {
  std::vector<std::int64_t> offsets;
  for (std::int64_t i = 0; i < n; ++i) {
    if (i == 0 || !are_equal(keys[i - 1], keys[i])) offsets.push_back(i);
  }
  offsets.push_back(n);
  return offsets;
}

template <class T>
bool same_bits(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;  // NOLINT(bugprone-suspicious-memory-comparison): the bits are promised
}

/// Returns the first run whose key or fold is wrong, compared bit by bit, or kNoIndex.
template <class Key, class In, class Out, class Op>
std::int64_t first_wrong_fold(const std::vector<std::int64_t>& offsets, const Key* keys, const In* values,
                              const Key* out_keys, const Out* out, Op op, Out init) {
  for (std::size_t r = 0; r + 1 < offsets.size(); ++r) {
    const Out right = reference::expected_fold(values, offsets[r], offsets[r + 1], op, init);
    if (!same_bits(out_keys[r], keys[offsets[r]]) || !same_bits(out[r], right)) return static_cast<std::int64_t>(r);
  }
  return kNoIndex;
}

/// Returns the first wrong element of scans, compared bit by bit, or kNoIndex.
template <class In, class Out, class Op>
std::int64_t first_wrong_scan(const std::vector<std::int64_t>& offsets, const In* values, const Out* out, Op op,
                              Out init, bool exclusive) {
  std::vector<Out> right(static_cast<std::size_t>(offsets.back()));
  for (std::size_t r = 0; r + 1 < offsets.size(); ++r) {
    reference::expected_scan(values, offsets[r], offsets[r + 1], op, init, exclusive, right.data());
  }
  for (std::int64_t i = 0; i < offsets.back(); ++i) {
    if (!same_bits(out[i], right[static_cast<std::size_t>(i)])) return i;
  }
  return kNoIndex;
}

}  // namespace upsweep::impl::by_key
