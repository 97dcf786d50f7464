// SPDX-License-Identifier: Apache-2.0
// ragged/list.hpp: one list, what may be wrong with it, and offsets that stay wrong once they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "upsweep/error.hpp"
#include "upsweep/operators.hpp"

namespace upsweep::ragged {

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
  /// The length, or -1 for a bad list.
  [[nodiscard]] UPSWEEP_HOST_DEVICE constexpr std::int64_t length_or_bad(bool strict) const {
    const std::int64_t valid = length();
    return stop < start || (strict && is_negative()) || valid < 0 ? -1 : valid;
  }

  [[nodiscard]] UPSWEEP_HOST_DEVICE constexpr bool is_negative() const {
    if constexpr (std::is_signed_v<T>) return start < 0;
    return false;
  }
};

/// Adds lengths; what is bad or leaves int64 is -1, and so is all that follows it. Associative: lengths are not
/// negative, so a sum of some of them leaves int64 only where the sum of all before does too.
struct Extend {
  UPSWEEP_HOST_DEVICE constexpr std::int64_t operator()(std::int64_t a, std::int64_t b) const {
    const std::int64_t sum = Add{}(a, b);
    return (a | b | sum) < 0 ? -1 : sum;
  }

  // ---- Several at once: plain additions where no length is bad or so long that some of them could leave int64.

  template <std::size_t kCount>
  UPSWEEP_HOST_DEVICE constexpr std::int64_t fold(const std::int64_t (&lengths)[kCount]) const {
    std::int64_t all = lengths[0];
    std::int64_t sum = lengths[0];
    for (std::size_t i = 1; i < kCount; ++i) {
      all |= lengths[i];
      sum = Add{}(sum, lengths[i]);
    }
    if (are_short<kCount>(all)) return sum;
    sum = lengths[0];
    for (std::size_t i = 1; i < kCount; ++i) sum = (*this)(sum, lengths[i]);
    return sum;
  }

  /// Every length becomes the offset before it; returns the one behind the last.
  template <std::size_t kCount>
  UPSWEEP_HOST_DEVICE constexpr std::int64_t scan_exclusive(std::int64_t before,
                                                            std::int64_t (&lengths)[kCount]) const {
    std::int64_t all = lengths[0];
    std::int64_t sum = before;
    for (std::size_t i = 0; i < kCount; ++i) {
      all |= lengths[i];
      sum = Add{}(sum, lengths[i]);
    }
    // Offsets grow by less than 2^63 here: if one left int64, so does the last.
    if (are_short<kCount>(all) && (before | sum) >= 0) {
      for (std::size_t i = 0; i < kCount; ++i) {
        const std::int64_t after = Add{}(before, lengths[i]);
        lengths[i] = before;
        before = after;
      }
      return before;
    }
    for (std::size_t i = 0; i < kCount; ++i) {
      const std::int64_t after = (*this)(before, lengths[i]);
      lengths[i] = before;
      before = after;
    }
    return before;
  }

 private:
  /// None is negative, and kCount of them do not leave int64.
  template <std::size_t kCount>
  UPSWEEP_HOST_DEVICE static constexpr bool are_short(std::int64_t all) {
    static_assert(kCount <= 16);
    return static_cast<std::uint64_t>(all) >> 59 == 0;
  }
};

}  // namespace upsweep::ragged
