// SPDX-License-Identifier: Apache-2.0
// core/list_length.hpp: one list, what may be wrong with it, and offsets that stay wrong once they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "upsweep/error.hpp"
#include "upsweep/operators.hpp"

namespace upsweep::impl {

inline constexpr std::int64_t kSign = std::numeric_limits<std::int64_t>::min();

template <class T>
struct List {
  T start;
  T stop;

  /// Of a valid list: below 0 where it leaves int64.
  [[nodiscard]] UPSWEEP_HOST_DEVICE constexpr std::int64_t length() const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(stop) - static_cast<std::uint64_t>(start));
  }
  [[nodiscard]] UPSWEEP_HOST_DEVICE constexpr Code check(bool strict) const {
    if (stop < start) return Code::stop_before_start;
    if (strict && is_negative()) return Code::negative_start;
    return length() < 0 ? Code::overflow : Code::ok;
  }
  /// The length; below 0 for a bad list.
  [[nodiscard]] UPSWEEP_HOST_DEVICE constexpr std::int64_t length_or_bad(bool strict) const {
    const auto from = static_cast<std::int64_t>(start);
    const auto to = static_cast<std::int64_t>(stop);
    // A length below 0 is a stop before its start, or leaves int64; but what wraps around upwards looks valid.
    const std::int64_t wraps = to & ~from;
    const std::int64_t refused = strict ? from : 0;
    return length() | ((wraps | refused) & kSign);
  }

  [[nodiscard]] UPSWEEP_HOST_DEVICE constexpr bool is_negative() const {
    if constexpr (std::is_signed_v<T>) return start < 0;
    return false;
  }
};

/// Adds lengths; what is bad or leaves int64 is below 0, and so is all that follows it. Associative in that sense: lengths
/// are not negative, so a sum of some of them leaves int64 only where the sum of all before does too, and then wraps to
/// below 0 first.
struct Extend {
  UPSWEEP_HOST_DEVICE constexpr std::int64_t operator()(std::int64_t a, std::int64_t b) const {
    return Add{}(a, b) | ((a | b) & kSign);
  }

  // ---- Several at once: the signs beside the sums, not between them.

  template <std::size_t kCount>
  UPSWEEP_HOST_DEVICE constexpr std::int64_t fold(const std::int64_t (&lengths)[kCount]) const {
    std::int64_t sum = lengths[0];
    std::int64_t signs = lengths[0];
    for (std::size_t i = 1; i < kCount; ++i) {
      sum = Add{}(sum, lengths[i]);
      signs |= lengths[i] | sum;
    }
    return sum | (signs & kSign);
  }

  /// Every length becomes the offset before it; returns the one after the last.
  template <std::size_t kCount>
  UPSWEEP_HOST_DEVICE constexpr std::int64_t scan_exclusive(std::int64_t before,
                                                            std::int64_t (&lengths)[kCount]) const {
    std::int64_t sum = before;
    std::int64_t signs = before;
    for (std::size_t i = 0; i < kCount; ++i) {
      const std::int64_t length = lengths[i];
      lengths[i] = sum | (signs & kSign);
      sum = Add{}(sum, length);
      signs |= length | sum;
    }
    return sum | (signs & kSign);
  }
};

}  // namespace upsweep::impl
