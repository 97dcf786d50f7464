// SPDX-License-Identifier: Apache-2.0
// core/list_length.hpp: the length of one list, its possible errors, and offsets that stay invalid after an error.
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

  /// Returns the length of a valid list. It is below 0 if the length exceeds int64.
  [[nodiscard]] UPSWEEP_HOST_DEVICE constexpr std::int64_t length() const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(stop) - static_cast<std::uint64_t>(start));
  }
  [[nodiscard]] UPSWEEP_HOST_DEVICE constexpr Code check(bool strict) const {
    if (stop < start) return Code::stop_before_start;
    if (strict && is_negative()) return Code::negative_start;
    return length() < 0 ? Code::overflow : Code::ok;
  }
  /// Returns the length, or a number below 0 for a bad list.
  [[nodiscard]] UPSWEEP_HOST_DEVICE constexpr std::int64_t length_or_bad(bool strict) const {
    const auto from = static_cast<std::int64_t>(start);
    const auto to = static_cast<std::int64_t>(stop);
    // A length below 0 means that the stop is before the start, or that the length exceeds int64. But a length that
    // wraps upwards (modulo 2^64) looks valid.
    const std::int64_t wraps = to & ~from;
    const std::int64_t refused = strict ? from : 0;
    return length() | ((wraps | refused) & kSign);
  }

  [[nodiscard]] UPSWEEP_HOST_DEVICE constexpr bool is_negative() const {
    if constexpr (std::is_signed_v<T>) return start < 0;
    return false;
  }
};

/// Adds lengths. A bad length, and a sum that exceeds int64, are below 0, and so are all sums that follow. In that
/// sense it is associative. Lengths are not negative, so a sum of some of them exceeds int64 only if the sum of all
/// before does. That sum wraps to below 0 first.
struct Extend {
  UPSWEEP_HOST_DEVICE constexpr std::int64_t operator()(std::int64_t a, std::int64_t b) const {
    return Add{}(a, b) | ((a | b) & kSign);
  }

  // ---- Several at once: the signs are combined in parallel with the sums, not between them.

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

  /// Replaces every length by the offset before it. Returns the offset after the last.
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
