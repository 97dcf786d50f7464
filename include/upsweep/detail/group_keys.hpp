// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/group_keys.hpp: keys of floats and text, and several keys, as numbers of groups.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <ranges>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "upsweep/detail/scan_call.hpp"

namespace upsweep::detail {

template <class T>
inline constexpr bool kIsTextKey = std::is_convertible_v<const T&, std::string_view>;
/// Keys that are numbered on the host before they are grouped.
template <class T>
inline constexpr bool kIsNumberedKey = std::is_floating_point_v<T> || kIsTextKey<T>;

/// An array of elements in host memory, of any type.
template <class R>
concept KeyArray = std::ranges::random_access_range<const R> && std::ranges::sized_range<const R>;
template <class R>
using KeyOf = std::remove_cvref_t<std::ranges::range_reference_t<const R>>;

template <class T>
std::size_t hash_of_key(const T& key) {
  if constexpr (std::is_floating_point_v<T>) {
    return key != key ? 1 : std::hash<T>()(key + T{0});  // -0.0 + 0.0 is 0.0
  } else if constexpr (kIsTextKey<T>) {
    return std::hash<std::string_view>()(key);
  } else {
    return std::hash<T>()(key);
  }
}

template <class T>
bool are_equal_keys(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a == b || (a != a && b != b);
  } else if constexpr (kIsTextKey<T>) {
    return std::string_view(a) == std::string_view(b);
  } else {
    return a == b;
  }
}

/// The rows' groups, numbered in the order of their first rows.
struct NumberedKeys {
  std::vector<std::int64_t> groups;  ///< of each row
  std::vector<std::int64_t> firsts;  ///< the first row of each group
};

/// Numbers the groups of rows in which all keys are equal. Throws Error unequal_lengths.
template <KeyArray... Keys>
NumberedKeys numbered_keys(const Keys&... keys) {
  const std::int64_t rows = std::min({static_cast<std::int64_t>(std::ranges::size(keys))...});
  (require_equal_lengths(static_cast<std::int64_t>(std::ranges::size(keys)), rows), ...);
  const auto at = [](const auto& array, std::int64_t row) -> decltype(auto) {
    return std::ranges::begin(array)[static_cast<std::ptrdiff_t>(row)];
  };
  const auto hash = [&](std::int64_t row) {
    std::size_t all = 0;
    ((all = (all ^ hash_of_key<KeyOf<Keys>>(at(keys, row))) * 0x9E3779B97F4A7C15U, all ^= all >> 29), ...);
    return all;
  };
  const auto equal = [&](std::int64_t a, std::int64_t b) {
    return (are_equal_keys<KeyOf<Keys>>(at(keys, a), at(keys, b)) && ...);
  };
  std::unordered_map<std::int64_t, std::int64_t, decltype(hash), decltype(equal)> known(16, hash, equal);
  NumberedKeys all;
  all.groups.reserve(static_cast<std::size_t>(rows));
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto [found, is_new] = known.try_emplace(row, static_cast<std::int64_t>(all.firsts.size()));
    if (is_new) all.firsts.push_back(row);
    all.groups.push_back(found->second);
  }
  return all;
}

/// Writes the key of each group.
template <class Keys, class OutKeys>
void put_keys(const Keys& keys, const NumberedKeys& numbered, OutKeys& out_keys) {
  const auto first = std::ranges::begin(keys);
  const auto first_out = std::ranges::begin(out_keys);
  for (std::size_t g = 0; g < numbered.firsts.size(); ++g) {
    const auto& key = first[static_cast<std::ptrdiff_t>(numbered.firsts[g])];
    auto&& to = first_out[static_cast<std::ptrdiff_t>(g)];
    if constexpr (std::is_floating_point_v<KeyOf<Keys>>) {
      to = key + KeyOf<Keys>{0};
    } else {
      to = key;
    }
  }
}

}  // namespace upsweep::detail
