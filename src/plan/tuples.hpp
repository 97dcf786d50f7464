// SPDX-License-Identifier: Apache-2.0
// plan/tuples.hpp: the combinations of the elements of a list, in lexicographic order.
#pragma once

#include <cstdint>

#include "plan/kernels.hpp"

namespace upsweep::plan::detail {

/// The maximum number of members of a tuple.
inline constexpr int kMostMembers = 8;

/// Returns the number of tuples of k of `length` elements, or kMostTuples if there are more.
inline constexpr std::int64_t kMostTuples = std::int64_t{1} << 31;
[[nodiscard]] std::int64_t tuple_count(std::int64_t length, int k, bool replacement) noexcept;

/// Returns the table of a member for Kernels::tuples, or null if tuples of k do not fit tables.
[[nodiscard]] const std::int32_t* tuple_table(int k, bool replacement, int member) noexcept;

/// Writes a member of each tuple of elements first … first + length - 1. Returns the end.
std::int32_t* put_tuples(std::int32_t first, std::int64_t length, int k, bool replacement, int member,
                         std::int32_t* out) noexcept;

}  // namespace upsweep::plan::detail
