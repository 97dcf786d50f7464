// SPDX-License-Identifier: Apache-2.0
// tests/key_runs.hpp: keys in runs of many lengths.
#pragma once

#include <cstdint>
#include <iterator>
#include <vector>

namespace upsweep::tests {

/// Makes n keys in runs of 1 … `longest`.
template <class T>
std::vector<T> runs_of(std::int64_t n, std::int64_t longest) {
  std::vector<T> keys;
  std::uint64_t state = 1;
  for (std::int64_t key = 0; std::ssize(keys) < n; ++key) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const auto length = static_cast<std::int64_t>(1 + (state >> 33) % static_cast<std::uint64_t>(longest));
    for (std::int64_t i = 0; i < length && std::ssize(keys) < n; ++i) keys.push_back(static_cast<T>(key % 100));
  }
  return keys;
}

/// Repeats one key per list, once for each of its elements; empty lists have no key.
template <class T>
std::vector<T> keys_of(const std::vector<std::int64_t>& lengths) {
  std::vector<T> keys;
  std::int64_t key = 0;
  for (const std::int64_t length : lengths) {
    keys.insert(keys.end(), static_cast<std::size_t>(length), static_cast<T>(key % 100));
    key += length > 0 ? 1 : 0;
  }
  return keys;
}

}  // namespace upsweep::tests
