// SPDX-License-Identifier: Apache-2.0
// awkward/tuning.hpp: how Awkward Array's kernels divide their work, as data.
#pragma once

#include <cstdint>

namespace upsweep::awkward {

/// Lists or elements of a range. Derived: a thread is woken for four ranges, which are about 30 to 200 us of work.
inline constexpr std::int64_t kRange = 8 * 1024;

/// The maximum number of lists that are one range without a count. It writes exactly its elements. Not measured.
inline constexpr std::int64_t kUncounted = 256;

/// The number of lists that are reduced, and then checked for NaN while they are in the cache. Not measured.
inline constexpr std::int64_t kListsAtATime = 128 * 1024;

/// The length up to which lists are short. Longer lists are slow next to short ones. Not measured.
inline constexpr std::int64_t kShortList = 31;

}  // namespace upsweep::awkward
